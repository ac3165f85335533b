package sshd

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// dialTimeout bounds the dial of a forwarded connection.
const dialTimeout = 10 * time.Second

// directTCP connects a channel to an address, resolved inside the workspace.
// (ssh -L, -D, -W)
func (c *connection) directTCP(ctx context.Context, nch ssh.NewChannel) {
	var p struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if ssh.Unmarshal(nch.ExtraData(), &p) != nil || p.Port > 65535 {
		_ = nch.Reject(ssh.ConnectionFailed, "cannot parse the forward")
		return
	}
	c.dial(ctx, nch, "tcp", net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))))
}

// directUnix connects a channel to a Unix socket in the workspace.
func (c *connection) directUnix(ctx context.Context, nch ssh.NewChannel) {
	var p struct {
		Path     string
		Reserved string
		Zero     uint32
	}
	if ssh.Unmarshal(nch.ExtraData(), &p) != nil {
		_ = nch.Reject(ssh.ConnectionFailed, "cannot parse the forward")
		return
	}
	c.dial(ctx, nch, "unix", p.Path)
}

func (c *connection) dial(ctx context.Context, nch ssh.NewChannel, network, address string) {
	d := net.Dialer{Timeout: dialTimeout}
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		_ = nch.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, requests, err := nch.Accept()
	if err != nil {
		nc.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	splice(ctx, ch, nc)
}

// splice copies in both directions until both have ended or ctx does, and then
// closes both. The end of one direction does not end the other.
func splice(ctx context.Context, ch ssh.Channel, nc net.Conn) {
	stop := context.AfterFunc(ctx, func() { ch.Close(); nc.Close() })
	defer stop()
	defer ch.Close()
	defer nc.Close()
	var both sync.WaitGroup
	both.Go(func() {
		_, err := io.Copy(nc, ch)
		if w, ok := nc.(interface{ CloseWrite() error }); ok && err == nil {
			_ = w.CloseWrite() // the peer has disconnected
		} else {
			nc.Close()
		}
	})
	both.Go(func() {
		_, err := io.Copy(ch, nc)
		if err == nil {
			_ = ch.CloseWrite() // the peer has disconnected
		} else {
			ch.Close()
		}
	})
	both.Wait()
}

// forwardTCP listens in the workspace for the client. (ssh -R)
func (c *connection) forwardTCP(ctx context.Context, payload []byte) (bool, []byte) {
	var p struct {
		Host string
		Port uint32
	}
	if ssh.Unmarshal(payload, &p) != nil || p.Port > 65535 {
		return false, nil
	}
	host := p.Host
	switch host {
	case "", "localhost":
		host = "127.0.0.1" // listen on loopback by default
	case "*":
		host = ""
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(p.Port))))
	if err != nil {
		c.log.InfoContext(ctx, "remote forward cannot listen", "host", p.Host, "port", p.Port, "error", err)
		return false, nil
	}
	var reply []byte
	port := p.Port
	if addr, ok := l.Addr().(*net.TCPAddr); ok && port == 0 {
		port = uint32(addr.Port)
		reply = ssh.Marshal(struct{ Port uint32 }{port})
	}
	ok := c.accept(ctx, tcpName(p.Host, port), l, "forwarded-tcpip", func(from net.Conn) []byte {
		originHost, originPort := "127.0.0.1", 0
		if a, ok := from.RemoteAddr().(*net.TCPAddr); ok {
			originHost, originPort = a.IP.String(), a.Port
		}
		return ssh.Marshal(struct {
			Host       string
			Port       uint32
			OriginHost string
			OriginPort uint32
		}{p.Host, port, originHost, uint32(originPort)})
	})
	return ok, reply
}

func (c *connection) cancelForwardTCP(payload []byte) bool {
	var p struct {
		Host string
		Port uint32
	}
	return ssh.Unmarshal(payload, &p) == nil && c.closeForward(tcpName(p.Host, p.Port))
}

func tcpName(host string, port uint32) string { return "tcp " + host + " " + strconv.Itoa(int(port)) }

// forwardUnix listens on a Unix socket in the workspace for the client.
func (c *connection) forwardUnix(ctx context.Context, payload []byte) bool {
	var p struct{ Path string }
	if ssh.Unmarshal(payload, &p) != nil || p.Path == "" {
		return false
	}
	removeStale(ctx, p.Path)
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o700); err != nil {
		return false
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", p.Path)
	if err != nil {
		c.log.InfoContext(ctx, "remote forward cannot listen", "path", p.Path, "error", err)
		return false
	}
	if err := os.Chmod(p.Path, 0o600); err != nil {
		l.Close()
		return false
	}
	return c.accept(ctx, "unix "+p.Path, l, "forwarded-streamlocal@openssh.com", func(net.Conn) []byte {
		return ssh.Marshal(struct{ Path, Reserved string }{p.Path, ""})
	})
}

func (c *connection) cancelForwardUnix(payload []byte) bool {
	var p struct{ Path string }
	return ssh.Unmarshal(payload, &p) == nil && c.closeForward("unix "+p.Path)
}

// removeStale removes a socket without a listener.
func removeStale(ctx context.Context, path string) {
	fi, err := os.Lstat(path)
	if err != nil || fi.Mode()&os.ModeSocket == 0 {
		return
	}
	if nc, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path); err == nil {
		nc.Close()
		return
	}
	os.Remove(path)
}

// accept opens a channel for every connection of l, until the forward or the
// SSH connection is closed.
func (c *connection) accept(ctx context.Context, name string, l net.Listener, channelType string, data func(net.Conn) []byte) bool {
	c.mu.Lock()
	if _, taken := c.forwards[name]; taken || c.closed {
		c.mu.Unlock()
		l.Close()
		return false
	}
	c.forwards[name] = l
	c.mu.Unlock()
	c.wait.Go(func() { c.acceptLoop(ctx, l, channelType, data) })
	return true
}

func (c *connection) acceptLoop(ctx context.Context, l net.Listener, channelType string, data func(net.Conn) []byte) {
	for {
		nc, err := l.Accept()
		if err != nil {
			if isTransient(err) {
				select {
				case <-time.After(50 * time.Millisecond):
					continue
				case <-ctx.Done():
				}
			}
			return
		}
		c.wait.Go(func() {
			ch, requests, err := c.ssh.OpenChannel(channelType, data(nc))
			if err != nil {
				nc.Close()
				return
			}
			go ssh.DiscardRequests(requests)
			splice(ctx, ch, nc)
		})
	}
}

// isTransient reports whether Accept can be retried: too many files are open.
func isTransient(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && (errno == syscall.EMFILE || errno == syscall.ENFILE || errno == syscall.ECONNABORTED)
}

func (c *connection) closeForward(name string) bool {
	c.mu.Lock()
	l, ok := c.forwards[name]
	delete(c.forwards, name)
	c.mu.Unlock()
	return ok && l.Close() == nil
}

func (c *connection) closeForwards() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, l := range c.forwards {
		l.Close()
	}
}

// forwardAgent listens on a socket for programs that use the client's SSH
// agent. (ssh -A)
func (s *session) forwardAgent() bool {
	if s.agent != nil || s.started {
		return s.agent != nil
	}
	dir, err := os.MkdirTemp("", "coder-agent-")
	if err != nil {
		return false
	}
	l, err := (&net.ListenConfig{}).Listen(s.ctx, "unix", filepath.Join(dir, "keys.sock"))
	if err != nil {
		os.Remove(dir)
		return false
	}
	s.agent = l
	s.wait.Go(func() {
		s.acceptLoop(s.ctx, l, "auth-agent@openssh.com", func(net.Conn) []byte { return nil })
	})
	return true
}
