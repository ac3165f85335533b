package tunnel

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

const (
	// Patience is how long a Pool waits for an agent that is not connected: one
	// that has just started, or whose link is being dialed again.
	Patience = 2 * time.Second
	// warmIdle is how long a tunnel stays without streams.
	warmIdle = 5 * time.Minute
	// warmDial bounds the dialing of one for all that wait for it.
	warmDial = 15 * time.Second
	// restartedWait is between two looks for the link of an agent that was restarted.
	restartedWait = 50 * time.Millisecond
)

// Target is an agent that a server or a workspace proxy itself reaches, for its
// apps, terminals and questions.
type Target struct {
	AgentID, WorkspaceID uuid.UUID
	// Certificate is the one that the agent registered; nil if only who dials
	// learns it, and Dial then finds an agent that was restarted.
	Certificate []byte
}

// Pool holds tunnels of one process: one per agent in use, shared by all
// requests, dropped when idle. It is safe for concurrent use.
type Pool struct {
	// Dial makes a tunnel. Its errors have the code unavailable when the agent
	// cannot be reached now.
	Dial func(context.Context, Target) (*Conn, error)

	mu      sync.Mutex
	closed  bool
	tunnels map[uuid.UUID]*warmTunnel
}

// warmTunnel is a tunnel that is being made, or used.
type warmTunnel struct {
	instance relay.Instance
	ready    chan struct{} // closed when conn or err is set
	conn     *Conn
	err      error

	// Guarded by Pool.mu.
	users int
	idle  *time.Timer // ends the tunnel, while nobody uses it
}

// Open opens a stream to an agent, in the warm tunnel to it. The errors have the
// code unavailable when the agent cannot be reached now, precondition when it
// refuses. The stream has CloseWrite.
func (p *Pool) Open(ctx context.Context, to Target, kind, arg string) (net.Conn, error) {
	for again := true; ; again = false {
		w, err := p.borrow(to)
		if err != nil {
			return nil, err
		}
		s, err := w.open(ctx, kind, arg)
		if err == nil {
			return &warmStream{Stream: s, release: sync.OnceFunc(func() { p.giveBack(to.AgentID, w) })}, nil
		}
		dead := w.dead()
		if dead {
			p.drop(to.AgentID, w)
		}
		p.giveBack(to.AgentID, w)
		// A tunnel that ended before is no reason to fail: another is made, once.
		if !dead || !again || w.err != nil || ctx.Err() != nil {
			return nil, err
		}
	}
}

// borrow returns the tunnel to an agent, beginning to make it when there is none.
func (p *Pool) borrow(to Target) (*warmTunnel, error) {
	instance := relay.InstanceOf(to.Certificate)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The server is stopping")
	}
	if p.tunnels == nil {
		p.tunnels = make(map[uuid.UUID]*warmTunnel)
	}
	w := p.tunnels[to.AgentID]
	if w == nil || w.instance != instance || w.dead() {
		w = &warmTunnel{instance: instance, ready: make(chan struct{})}
		p.tunnels[to.AgentID] = w // users of the old one keep it
		go w.dial(p, to)
	}
	w.users++
	if w.idle != nil {
		w.idle.Stop()
		w.idle = nil
	}
	return w, nil
}

func (w *warmTunnel) dial(p *Pool, to Target) {
	ctx, cancel := context.WithTimeout(context.Background(), warmDial)
	defer cancel()
	defer close(w.ready)
	for start := time.Now(); ; {
		w.conn, w.err = p.Dial(ctx, to)
		// An agent that was restarted registers before its link is here.
		if websocket.CloseStatus(w.err) != relay.StatusRestarted || time.Since(start) > Patience {
			return
		}
		time.Sleep(restartedWait)
	}
}

func (w *warmTunnel) open(ctx context.Context, kind, arg string) (*Stream, error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The agent does not answer").WithCause(ctx.Err())
	}
	if w.err != nil {
		return nil, w.err
	}
	if err := w.conn.Await(ctx, Patience); err != nil {
		return nil, err
	}
	return w.conn.Open(ctx, kind, arg)
}

// dead reports that the tunnel could not be made or has ended.
func (w *warmTunnel) dead() bool {
	select {
	case <-w.ready:
		return w.err != nil || w.conn.Err() != nil
	default:
		return false
	}
}

// drop forgets a dead
func (p *Pool) drop(agentID uuid.UUID, w *warmTunnel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tunnels[agentID] == w {
		delete(p.tunnels, agentID)
	}
}

// giveBack counts a user off. The last one of a tunnel that is still the
// agent's starts the clock; the last one of any other ends it.
func (p *Pool) giveBack(agentID uuid.UUID, w *warmTunnel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.users--
	if w.users > 0 {
		return
	}
	if p.tunnels[agentID] != w || p.closed {
		go w.close()
		return
	}
	w.idle = time.AfterFunc(warmIdle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if w.users == 0 && p.tunnels[agentID] == w {
			delete(p.tunnels, agentID)
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

// Close ends all tunnels; there are no others after it.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := p.tunnels
	p.tunnels = nil
	for _, w := range all {
		if w.idle != nil {
			w.idle.Stop()
		}
	}
	p.mu.Unlock()
	var wait sync.WaitGroup
	for _, w := range all {
		wait.Go(w.close)
	}
	wait.Wait()
}

// warmStream is a stream that gives its tunnel back.
type warmStream struct {
	*Stream
	release func()
}

// Close ends the stream; the tunnel stays.
func (s *warmStream) Close() error {
	defer s.release()
	return s.Stream.Close()
}
