// Package sshd is the SSH server inside a workspace. Its connections are
// streams of the tunnel, which are already authenticated, so it requires no
// password or key and listens on nothing. Otherwise it is an ordinary server:
// shells, commands, terminals, signals, sftp, and forwards of ports, sockets
// and the SSH agent. Everything runs as the user of this process. Only AES-GCM
// is offered: the tunnel already encrypts, and GCM is the cheapest cipher that
// every client supports. (AG-10)
package sshd

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Config configures a Server.
type Config struct {
	// HostKeySeed is the ed25519 seed of the host key, 32 bytes.
	HostKeySeed []byte
	Log         *slog.Logger
	// Env is the environment of every process, in the form of os.Environ.
	Env []string
	// MoreEnv returns variables that are added for each new process, over those of
	// Env; nil adds none. It is called concurrently.
	MoreEnv func() []string
	// Dir is the working directory of sessions; if it is not accessible, they
	// start in the home directory.
	Dir string
	// MOTDFile is shown at the start of interactive shells; "" disables it.
	MOTDFile string
	// Gate blocks sessions until it returns; say writes to the waiting user. An
	// error rejects the session with its text. Nil disables the gate. Clients
	// skip it with Options.NoWait, or for one session with the environment
	// variable CODER_SSH_WAIT=no.
	Gate func(ctx context.Context, say func(string)) error
	// NoFileTransfer refuses sftp and the common commands that copy files. It
	// is not a security boundary: a shell can copy files too.
	NoFileTransfer bool
	// Prepare is called with the command of each session before it starts, and
	// may change it. Nil changes nothing.
	Prepare func(*exec.Cmd)
}

// handshakeTimeout bounds the SSH handshake.
const handshakeTimeout = 30 * time.Second

// Server serves SSH. It is safe for concurrent use.
type Server struct {
	c    Config
	user account
	ssh  *ssh.ServerConfig
	open open
}

// New returns a server. It returns an error for an invalid seed.
func New(c Config) (*Server, error) {
	if len(c.HostKeySeed) != ed25519.SeedSize {
		return nil, fmt.Errorf("the seed of the SSH host key has %d bytes; want %d", len(c.HostKeySeed), ed25519.SeedSize)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	key, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(c.HostKeySeed))
	if err != nil {
		return nil, fmt.Errorf("create the SSH host key: %w", err)
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

// Options configures one client connection.
type Options struct {
	NoWait bool // skip the gate for all its sessions
	// App is the app that the connection is counted for. The connection then
	// counts as one session while it lasts, in place of the sessions in it: an
	// editor may have no session and only forward ports. If empty, each session
	// counts, according to CODER_SSH_SESSION_TYPE.
	App string
	// Away reports that the client is away for long, such as a closed laptop. What the
	// connection counts for then does not count; nil means never.
	Away func() bool
}

// connection is one client, with the state that its sessions share.
type connection struct {
	*Server
	Options
	ssh  *ssh.ServerConn
	log  *slog.Logger
	wait sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	forwards map[string]net.Listener // listeners of remote forwards, by the client's name for them
}

// ServeConn serves one client until it disconnects, the connection fails, or
// ctx ends. It returns when all processes of the client have ended, except those
// that left their session on purpose. It closes nc.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	defer nc.Close()
	slow := time.AfterFunc(handshakeTimeout, func() { nc.Close() })
	sc, channels, requests, err := ssh.NewServerConn(nc, s.ssh)
	if !slow.Stop() && err == nil {
		err = fmt.Errorf("no SSH handshake within %s", handshakeTimeout)
	}
	if err != nil {
		return fmt.Errorf("SSH handshake: %w", err)
	}
	defer sc.Close()
	c := &connection{Server: s, Options: o, ssh: sc, log: s.c.Log, forwards: map[string]net.Listener{}}
	if o.App != "" {
		defer s.open.add(kindOf(o.App), o.Away)()
	}
	c.wait.Go(func() { c.globalRequests(ctx, requests) })
	for ch := range channels {
		c.wait.Go(func() { c.channel(ctx, ch) })
	}
	cancel()
	c.closeForwards()
	c.wait.Wait()
	return nil
}

// channel serves one channel of the client.
func (c *connection) channel(ctx context.Context, ch ssh.NewChannel) {
	switch ch.ChannelType() {
	case "session":
		c.session(ctx, ch)
	case "direct-tcpip":
		c.directTCP(ctx, ch)
	case "direct-streamlocal@openssh.com":
		c.directUnix(ctx, ch)
	default:
		_ = ch.Reject(ssh.UnknownChannelType, "unknown channel type "+ch.ChannelType()) // the client has disconnected
	}
}

// globalRequests handles requests that concern the whole connection.
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
			_ = r.Reply(ok, payload) // the client has disconnected
		}
	}
}
