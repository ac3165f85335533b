// Package machine runs commands and reads and writes files in a workspace. It
// speaks SSH and SFTP through a tunnel to the workspace's agent, which the
// server grants to the caller's token like one of 'coder ssh'.
package machine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/google/uuid"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// dialTimeout is how long Dial waits for the agent.
const dialTimeout = 20 * time.Second

// Options describes how to connect.
type Options struct {
	Log *slog.Logger // nil logs nothing
	// NoDirect is the reason for no direct connection to the agent; "" allows one.
	NoDirect string
	// OS is the operating system of the agent, as Go names it.
	OS string
}

// Machine is an SSH connection to a workspace's agent. It is safe for
// concurrent use.
type Machine struct {
	conn    *tunnel.Conn
	client  *ssh.Client
	windows bool
}

// Dial connects to an agent that is connected to the server. The context bounds
// the dialing only. The caller closes the Machine.
func Dial(ctx context.Context, c *codersdk.Client, agentID uuid.UUID, o Options) (_ *Machine, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := tunnel.DialAgent(ctx, c, agentID, tunnel.Options{Log: o.Log, NoDirect: o.NoDirect, Outage: tunnel.ServerOutage})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	stream, err := conn.Open(ctx, tunnel.KindSSH, "no-wait")
	if err != nil {
		return nil, err
	}
	client, err := newSSHClient(ctx, stream, conn.Grant().SSHHostKey)
	if err != nil {
		return nil, err
	}
	return &Machine{conn: conn, client: client, windows: o.OS == "windows"}, nil
}

// newSSHClient starts SSH on a stream. The tunnel has authenticated both ends; the
// host key from the server is checked in addition.
func newSSHClient(ctx context.Context, stream net.Conn, hostKey string) (*ssh.Client, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(hostKey))
	if err != nil {
		return nil, fmt.Errorf("read the host key of the workspace: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = stream.Close() })()
	c, channels, requests, err := ssh.NewClientConn(stream, "", &ssh.ClientConfig{User: "coder", HostKeyCallback: ssh.FixedHostKey(key)})
	if err != nil {
		return nil, fmt.Errorf("start SSH in the workspace: %w", err)
	}
	return ssh.NewClient(c, channels, requests), nil
}

// Close ends everything that runs over the connection.
func (m *Machine) Close() error {
	return errors.Join(m.client.Close(), m.conn.Close())
}

// Files are the files of a workspace.
type Files = sftp.Client

// Files returns a client for the workspace's files. Relative paths start at the
// home directory. It ends with ctx.
func (m *Machine) Files(ctx context.Context) (*Files, error) {
	context.AfterFunc(ctx, func() { _ = m.client.Close() })
	files, err := sftp.NewClient(m.client)
	if err != nil {
		return nil, fmt.Errorf("open the files of the workspace: %w", err)
	}
	return files, nil
}

// Home returns the home directory of the workspace's user, which must have a
// POSIX shell.
func (m *Machine) Home(ctx context.Context) (string, error) {
	got, err := m.Run(ctx, `printf %s "$HOME"`, 8<<10)
	if err != nil {
		return "", err
	}
	if got.ExitCode != 0 || got.Output == "" {
		return "", codersdk.Errorf(codersdk.CodePrecondition, "The workspace has no home directory; use an absolute path")
	}
	return got.Output, nil
}
