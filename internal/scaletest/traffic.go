package scaletest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// maxOutstanding is the number of ticks of a connection whose answers have not
// arrived, at which the connection skips ticks.
const maxOutstanding = 100

// connectTimeout bounds how long a connection to a workspace may take until it
// carries traffic.
const connectTimeout = time.Minute

// Ways to reach a workspace.
const (
	WayTerminal = "terminal" // web terminal, through the server
	WaySSH      = "ssh"      // tunnel, with an SSH session in it
	AppEcho     = "wsec"     // WebSocket app that sends back what it receives
	AppDiscard  = "wsdi"     // WebSocket app that only reads
	AppRandom   = "wsra"     // WebSocket app that only writes
)

// Traffic sends bytes to workspaces at a constant rate and measures when they
// come back.
type Traffic struct {
	Client       *codersdk.Client
	Way          string // one of the ways above
	BytesPerTick int    // positive
	TickInterval time.Duration
	Duration     time.Duration // of the traffic, after the connection is made
}

// Tasks returns one task for each workspace.
func (t Traffic) Tasks(all []codersdk.Workspace) []Task {
	out := make([]Task, len(all))
	for i, w := range all {
		out[i] = Task{Name: w.OwnerName + "/" + w.Name, Do: func(ctx context.Context, r *Recorder) error { return t.run(ctx, r, w) }}
	}
	return out
}

func (t Traffic) run(ctx context.Context, r *Recorder, w codersdk.Workspace) error {
	agents := agentsOf(w)
	if len(agents) == 0 {
		return errors.New("the workspace has no agent")
	}
	began := time.Now()
	s, err := t.connect(ctx, w, agents[0])
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer s.Close()
	r.Observe("connect", time.Since(began))
	ctx, cancel := context.WithTimeout(ctx, t.Duration)
	defer cancel()
	defer context.AfterFunc(ctx, func() { s.Close() })()
	return t.exchange(ctx, r, s)
}

func (t Traffic) connect(ctx context.Context, w codersdk.Workspace, agent codersdk.WorkspaceAgent) (io.ReadWriteCloser, error) {
	switch t.Way {
	case WaySSH:
		return dialSSH(ctx, t.Client, agent)
	case WayTerminal:
		return dialTerminal(ctx, t.Client, agent)
	}
	return dialApp(ctx, t.Client, w, agent, t.Way)
}

// exchange sends and receives until ctx ends, which is success.
func (t Traffic) exchange(ctx context.Context, r *Recorder, s io.ReadWriter) error {
	sent := make(chan time.Time, maxOutstanding)
	var g errgroup.Group
	if t.Way != AppRandom {
		g.Go(func() error {
			err := t.send(ctx, r, s, sent)
			close(sent)
			return err
		})
	}
	if t.Way != AppDiscard {
		g.Go(func() error { return t.receive(ctx, r, s, sent) })
	}
	err := g.Wait()
	if ctx.Err() == context.DeadlineExceeded {
		return nil
	}
	if err == nil {
		err = errors.New("the connection ended early")
	}
	return err
}

// send writes one tick after the other.
func (t Traffic) send(ctx context.Context, r *Recorder, s io.Writer, sent chan<- time.Time) error {
	payload := make([]byte, t.BytesPerTick)
	for i := range payload {
		payload[i] = 'a' + byte(i%26)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	lifecycle.Every(ctx, t.TickInterval, func(ctx context.Context) {
		if t.Way != AppDiscard {
			select {
			case sent <- time.Now():
			default:
				r.Add("ticks skipped", 1)
				return
			}
		}
		began := time.Now()
		n, err := s.Write(payload)
		r.Add("bytes sent", int64(n))
		r.Observe("write", time.Since(began))
		if err != nil {
			stop(fmt.Errorf("write: %w", err))
		}
	})
	return context.Cause(ctx)
}

// receive reads the answers. The duration of a tick ends when its last byte has
// arrived.
func (t Traffic) receive(ctx context.Context, r *Recorder, s io.Reader, sent <-chan time.Time) error {
	buf := make([]byte, t.BytesPerTick)
	for {
		n, err := io.ReadFull(s, buf)
		r.Add("bytes received", int64(n))
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if t.Way == AppRandom {
			continue
		}
		select {
		case at, ok := <-sent:
			if !ok {
				return nil
			}
			r.Observe("echo", time.Since(at))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sshStream is the standard input and output of a command in a workspace.
type sshStream struct {
	io.Reader
	io.WriteCloser
	conn   *tunnel.Conn
	client *ssh.Client
}

// Close ends the command and the tunnel.
func (s *sshStream) Close() error {
	return errors.Join(s.client.Close(), s.conn.Close())
}

// dialSSH runs cat in a workspace over an SSH session.
func dialSSH(ctx context.Context, c *codersdk.Client, agent codersdk.WorkspaceAgent) (_ io.ReadWriteCloser, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := tunnel.DialAgent(ctx, c, agent.ID, tunnel.Options{Outage: tunnel.ServerOutage})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	stream, err := conn.Open(ctx, tunnel.KindSSH, "")
	if err != nil {
		return nil, err
	}
	if err := stream.SetDeadline(time.Now().Add(connectTimeout)); err != nil {
		return nil, err
	}
	client, err := sshClient(stream, conn.Grant().SSHHostKey)
	if err != nil {
		return nil, err
	}
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	out := &sshStream{conn: conn, client: client}
	if out.Reader, err = session.StdoutPipe(); err != nil {
		return nil, err
	}
	if out.WriteCloser, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	if err := session.Start("exec cat"); err != nil {
		return nil, err
	}
	return out, stream.SetDeadline(time.Time{})
}

// sshClient starts an SSH connection. The tunnel has authenticated both ends.
func sshClient(stream net.Conn, hostKey string) (*ssh.Client, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(hostKey))
	if err != nil {
		return nil, fmt.Errorf("host key of the workspace: %w", err)
	}
	c, channels, requests, err := ssh.NewClientConn(stream, "", &ssh.ClientConfig{User: "coder", HostKeyCallback: ssh.FixedHostKey(key)})
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(c, channels, requests), nil
}
