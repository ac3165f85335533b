// Package sshd is the SSH server inside a workspace. It speaks on connections
// that somebody else made and authenticated (streams of the tunnel), so it asks
// for no password or key and listens on nothing; to its clients it is an
// ordinary server: shells, commands, terminals, signals, sftp, and forwards of
// ports, sockets and the key agent. Everything runs as the user of this process.
// Only AES-GCM is offered: the tunnel below encrypts already, and GCM is the
// cheapest cipher that every client has. (AG-10)
package sshd

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// Config is what a Server needs.
type Config struct {
	// HostKeySeed is the ed25519 seed of the host key, 32 bytes.
	HostKeySeed []byte
	Log         *slog.Logger
	// Env is the environment of every process, as os.Environ gives it.
	Env []string
	// Dir is where sessions begin; when it cannot be entered they begin at home.
	Dir string
	// MOTDFile is shown at the begin of interactive shells; "" for none.
	MOTDFile string
	// Gate holds sessions back until it returns; say tells the person who
	// waits. An error refuses the session with its text. Nil holds nothing. A
	// client passes it by with Options.NoWait, or for one session with the
	// environment variable CODER_SSH_WAIT=no.
	Gate func(ctx context.Context, say func(string)) error
	// NoFileTransfer refuses sftp and the usual commands that copy files. It is a
	// reminder and no wall: a shell can do what they do.
	NoFileTransfer bool
	// Prepare is given the command of each session before it begins, to change
	// how it is run. Nil changes nothing.
	Prepare func(*exec.Cmd)
}

// handshakeTimeout bounds how long a client may take to begin.
const handshakeTimeout = 30 * time.Second

// Server serves SSH. It is safe for concurrent use.
type Server struct {
	c      Config
	user   account
	ssh    *ssh.ServerConfig
	counts [kinds]atomic.Int64
}

// New gives a server. The error says that the seed is not one.
func New(c Config) (*Server, error) {
	if len(c.HostKeySeed) != ed25519.SeedSize {
		return nil, fmt.Errorf("the seed of the SSH host key has %d bytes, not %d", len(c.HostKeySeed), ed25519.SeedSize)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	key, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(c.HostKeySeed))
	if err != nil {
		return nil, fmt.Errorf("make the SSH host key: %w", err)
	}
	conf := &ssh.ServerConfig{
		NoClientAuth:  true,
		ServerVersion: "SSH-2.0-coder",
		Config: ssh.Config{
			Ciphers: []string{ssh.CipherAES128GCM, ssh.CipherAES256GCM},
		},
	}
	conf.AddHostKey(key)
	return &Server{c: c, user: currentAccount(c.Env), ssh: conf}, nil
}

// Counts says how many sessions of each kind are open.
type Counts struct {
	SSH, VSCode, JetBrains int64
}

// Counts gives the open sessions.
func (s *Server) Counts() Counts {
	return Counts{SSH: s.counts[kindSSH].Load(), VSCode: s.counts[kindVSCode].Load(), JetBrains: s.counts[kindJetBrains].Load()}
}

// Options are what one client wants otherwise.
type Options struct {
	NoWait bool // the gate holds none of its sessions
}

// connection is one client, with what it may have several sessions share.
type connection struct {
	*Server
	Options
	ssh  *ssh.ServerConn
	log  *slog.Logger
	wait sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	forwards map[string]net.Listener // of remote forwards, by what the client calls them
}

// ServeConn serves one client until it leaves, the connection breaks, or ctx
// ends, and returns when nothing of it runs any more but processes that left
// their session on purpose. It closes nc.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	defer nc.Close()
	slow := time.AfterFunc(handshakeTimeout, func() { nc.Close() })
	sc, channels, requests, err := ssh.NewServerConn(nc, s.ssh)
	if !slow.Stop() && err == nil {
		err = fmt.Errorf("no handshake within %s", handshakeTimeout)
	}
	if err != nil {
		return fmt.Errorf("SSH handshake: %w", err)
	}
	defer sc.Close()
	c := &connection{Server: s, Options: o, ssh: sc, log: s.c.Log, forwards: map[string]net.Listener{}}
	c.wait.Go(func() { c.globalRequests(ctx, requests) })
	for ch := range channels {
		c.wait.Go(func() { c.channel(ctx, ch) })
	}
	cancel()
	c.closeForwards()
	c.wait.Wait()
	return nil
}

// channel serves one channel that the client opened.
func (c *connection) channel(ctx context.Context, ch ssh.NewChannel) {
	switch ch.ChannelType() {
	case "session":
		c.session(ctx, ch)
	case "direct-tcpip":
		c.directTCP(ctx, ch)
	case "direct-streamlocal@openssh.com":
		c.directUnix(ctx, ch)
	default:
		_ = ch.Reject(ssh.UnknownChannelType, "this server knows no channels of type "+ch.ChannelType()) // the client is gone
	}
}

// globalRequests answers what concerns the whole connection.
func (c *connection) globalRequests(ctx context.Context, requests <-chan *ssh.Request) {
	for r := range requests {
		ok, payload := false, []byte(nil)
		switch r.Type {
		case "keepalive@openssh.com":
			ok = true
		case "tcpip-forward":
			ok, payload = c.forwardTCP(ctx, r.Payload)
		case "cancel-tcpip-forward":
			ok = c.cancelForwardTCP(r.Payload)
		case "streamlocal-forward@openssh.com":
			ok = c.forwardUnix(ctx, r.Payload)
		case "cancel-streamlocal-forward@openssh.com":
			ok = c.cancelForwardUnix(r.Payload)
		}
		if r.WantReply {
			_ = r.Reply(ok, payload) // the client is gone
		}
	}
}
