package sshd_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh/agent"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// shout answers every connection with what it read, in capitals, once it read
// all of it: it shows that the ends of both ways are passed on.
func shout(t *testing.T, l net.Listener) {
	t.Helper()
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				b, err := io.ReadAll(nc)
				if err == nil {
					_, _ = io.WriteString(nc, strings.ToUpper(string(b)))
				}
			}()
		}
	}()
}

func ask(t *testing.T, nc net.Conn) {
	t.Helper()
	defer nc.Close()
	if _, err := io.WriteString(nc, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := nc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(nc); err != nil || string(b) != "HELLO" {
		t.Errorf("%v: %q", err, b)
	}
}

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLocalForward(t *testing.T) {
	addr, _ := serve(t)
	c := dial(t, addr)
	for network, at := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s.sock")} {
		t.Run(network, func(t *testing.T) {
			l := listen(t, network, at)
			shout(t, l)
			nc, err := c.Dial(network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			ask(t, channelConn{nc})
		})
	}
	if _, err := c.Dial("tcp", "127.0.0.1:1"); err == nil {
		t.Error("a port where nobody listens was reached")
	}
}

// channelConn finds CloseWrite below the client's net.Conn.
type channelConn struct{ net.Conn }

func (c channelConn) CloseWrite() error {
	return c.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

func TestRemoteForward(t *testing.T) {
	addr, _ := serve(t)
	path := filepath.Join(t.TempDir(), "sub", "r.sock")
	for network, at := range map[string]string{"tcp": "127.0.0.1:0", "unix": path} {
		t.Run(network, func(t *testing.T) {
			c := dial(t, addr)
			l, err := c.Listen(network, at)
			if err != nil {
				t.Fatal(err)
			}
			shout(t, l)
			nc, err := (&net.Dialer{}).DialContext(t.Context(), network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			ask(t, nc)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if nc, err := (&net.Dialer{}).DialContext(t.Context(), network, l.Addr().String()); err == nil {
				nc.Close()
				t.Error("the forward still listens")
			}
			again, err := c.Listen(network, at)
			if err != nil {
				t.Fatalf("listen again: %v", err)
			}
			c.Close() // and with the connection, its forwards
			testwait.Until(t, "the connection is refused", func() bool {
				nc, err := (&net.Dialer{}).DialContext(t.Context(), network, again.Addr().String())
				if err == nil {
					nc.Close()
				}
				return err != nil
			})
		})
	}
}

func TestAgentForward(t *testing.T) {
	addr, _ := serve(t)
	c := dial(t, addr)
	ring := agent.NewKeyring()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Add(agent.AddedKey{PrivateKey: key, Comment: "my key"}); err != nil {
		t.Fatal(err)
	}
	if err := agent.ForwardToAgent(c, ring); err != nil {
		t.Fatal(err)
	}
	s := session(t, c)
	if err := agent.RequestAgentForwarding(s); err != nil {
		t.Fatal(err)
	}
	out, err := s.Output("ssh-add -l")
	if err != nil || !strings.Contains(string(out), "my key") {
		t.Errorf("%v: %q", err, out)
	}
}
