package switchboard

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

const (
	// warmIdle is how long the server's tunnel to an agent stays without streams.
	warmIdle = 5 * time.Minute
	// warmDial bounds the making of one, whoever waits for it.
	warmDial = 15 * time.Second
	// restartedWait is between two looks for the link of an agent that was restarted.
	restartedWait = 50 * time.Millisecond
)

// Target is an agent that the server itself reaches, for its apps, terminals
// and questions.
type Target struct {
	AgentID, WorkspaceID uuid.UUID
	Certificate          []byte // that the agent registered
}

// warm holds the server's own tunnels: one per agent in use, shared by all
// requests, dropped when idle.
type warm struct {
	mu      sync.Mutex
	closed  bool
	tunnels map[uuid.UUID]*warmTunnel
}

// warmTunnel is a tunnel that is being made, or used.
type warmTunnel struct {
	instance relay.Instance
	ready    chan struct{} // closed when conn or err is set
	conn     *tunnel.Conn
	err      error

	// Guarded by warm.mu.
	users int
	idle  *time.Timer // ends the tunnel, while nobody uses it
}

// Open opens a stream to an agent on behalf of the server, in the warm tunnel to
// it. The errors have the code unavailable when the agent cannot be reached
// now, precondition when it refuses. The stream has CloseWrite.
func (b *Board) Open(ctx context.Context, to Target, kind, arg string) (net.Conn, error) {
	for again := true; ; again = false {
		w, err := b.borrow(to)
		if err != nil {
			return nil, err
		}
		s, err := w.open(ctx, kind, arg)
		if err == nil {
			return &warmStream{Stream: s, release: sync.OnceFunc(func() { b.giveBack(to.AgentID, w) })}, nil
		}
		dead := w.dead()
		if dead {
			b.drop(to.AgentID, w)
		}
		b.giveBack(to.AgentID, w)
		// A tunnel that ended before is no reason to fail: another is made, once.
		if !dead || !again || w.err != nil || ctx.Err() != nil {
			return nil, err
		}
	}
}

// borrow gives the tunnel to an agent, beginning to make it when there is none.
func (b *Board) borrow(to Target) (*warmTunnel, error) {
	instance := relay.InstanceOf(to.Certificate)
	b.warm.mu.Lock()
	defer b.warm.mu.Unlock()
	if b.warm.closed {
		return nil, coder.Errorf(coder.CodeUnavailable, "The server is stopping")
	}
	w := b.warm.tunnels[to.AgentID]
	if w == nil || w.instance != instance || w.dead() {
		w = &warmTunnel{instance: instance, ready: make(chan struct{})}
		b.warm.tunnels[to.AgentID] = w // users of the old one keep it
		go w.dial(b, to)
	}
	w.users++
	if w.idle != nil {
		w.idle.Stop()
		w.idle = nil
	}
	return w, nil
}

func (w *warmTunnel) dial(b *Board, to Target) {
	ctx, cancel := context.WithTimeout(context.Background(), warmDial)
	defer cancel()
	defer close(w.ready)
	for start := time.Now(); ; {
		w.conn, w.err = b.DialAgent(ctx, tunnel.Grant{
			WorkspaceID: to.WorkspaceID, AgentID: to.AgentID, // of no user: those whom it serves come and go
			Actions: []string{tunnel.KindTCP, tunnel.KindPTY, tunnel.KindAgentAPI},
		}, to.Certificate)
		// An agent that was restarted registers before its link is here.
		if websocket.CloseStatus(w.err) != relay.StatusRestarted || time.Since(start) > patience {
			return
		}
		time.Sleep(restartedWait)
	}
}

func (w *warmTunnel) open(ctx context.Context, kind, arg string) (*tunnel.Stream, error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		return nil, coder.Errorf(coder.CodeUnavailable, "The agent does not answer").WithCause(ctx.Err())
	}
	if w.err != nil {
		return nil, w.err
	}
	if err := w.conn.Await(ctx, patience); err != nil {
		return nil, err
	}
	return w.conn.Open(ctx, kind, arg)
}

// dead says that the tunnel could not be made or has ended.
func (w *warmTunnel) dead() bool {
	select {
	case <-w.ready:
		return w.err != nil || w.conn.Err() != nil
	default:
		return false
	}
}

// drop forgets a dead tunnel.
func (b *Board) drop(agentID uuid.UUID, w *warmTunnel) {
	b.warm.mu.Lock()
	defer b.warm.mu.Unlock()
	if b.warm.tunnels[agentID] == w {
		delete(b.warm.tunnels, agentID)
	}
}

// giveBack counts a user off. The last one of a tunnel that is still the
// agent's starts the clock; the last one of any other ends it.
func (b *Board) giveBack(agentID uuid.UUID, w *warmTunnel) {
	b.warm.mu.Lock()
	defer b.warm.mu.Unlock()
	w.users--
	if w.users > 0 {
		return
	}
	if b.warm.tunnels[agentID] != w || b.warm.closed {
		go w.close()
		return
	}
	w.idle = time.AfterFunc(warmIdle, func() {
		b.warm.mu.Lock()
		defer b.warm.mu.Unlock()
		if w.users == 0 && b.warm.tunnels[agentID] == w {
			delete(b.warm.tunnels, agentID)
			go w.close()
		}
	})
}

func (w *warmTunnel) close() {
	<-w.ready
	if w.conn != nil {
		_ = w.conn.Close() // nobody is left who could be told
	}
}

// closeWarm ends all of the server's own tunnels.
func (b *Board) closeWarm() {
	b.warm.mu.Lock()
	b.warm.closed = true
	all := b.warm.tunnels
	b.warm.tunnels = nil
	for _, w := range all {
		if w.idle != nil {
			w.idle.Stop()
		}
	}
	b.warm.mu.Unlock()
	var wait sync.WaitGroup
	for _, w := range all {
		wait.Go(w.close)
	}
	wait.Wait()
}

// warmStream is a stream that gives its tunnel back.
type warmStream struct {
	*tunnel.Stream
	release func()
}

// Close ends the stream; the tunnel stays.
func (s *warmStream) Close() error {
	defer s.release()
	return s.Stream.Close()
}
