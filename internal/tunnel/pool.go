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
	// Patience is how long a Pool waits for an agent that is not connected: an agent that has
	// just started, or one that is redialing its link.
	Patience = 2 * time.Second
	// warmIdle is how long a tunnel without streams stays open.
	warmIdle = 5 * time.Minute
	// warmDial bounds the dialing of a tunnel for all callers that wait for it.
	warmDial = 15 * time.Second
	// restartedWait is the delay before dialing a restarted agent again.
	restartedWait = 50 * time.Millisecond
)

// Target is an agent to which a server or a workspace proxy opens tunnels on its own behalf:
// for apps, terminals and API requests.
type Target struct {
	AgentID, WorkspaceID uuid.UUID
	// Certificate is the one that the agent registered. It is nil if only Dial learns it; then
	// Dial detects a restarted agent.
	Certificate []byte
}

// Pool keeps the tunnels of one process: one per agent in use, shared by all requests, closed
// when idle. It is safe for concurrent use.
type Pool struct {
	// Dial opens a tunnel. Its errors have the code unavailable if the agent cannot be reached
	// now.
	Dial func(context.Context, Target) (*Conn, error)

	mu      sync.Mutex
	closed  bool
	tunnels map[uuid.UUID]*warmTunnel
}

// warmTunnel is a tunnel that is being opened or used.
type warmTunnel struct {
	instance relay.Instance
	ready    chan struct{} // closed when conn or err is set
	conn     *Conn
	err      error

	// Guarded by Pool.mu.
	users int
	idle  *time.Timer // closes the tunnel after warmIdle without users
}

// Open opens a stream to an agent in the pool's tunnel to it. The errors have the code
// unavailable if the agent cannot be reached now, and precondition if the agent refuses. The
// stream has CloseWrite.
func (p *Pool) Open(ctx context.Context, to Target, kind, arg string) (net.Conn, error) {
	for again := true; ; again = false {
		w, err := p.acquireTunnel(to)
		if err != nil {
			return nil, err
		}
		s, err := w.openStream(ctx, kind, arg)
		if err == nil {
			return &warmStream{Stream: s, release: sync.OnceFunc(func() { p.releaseTunnel(to.AgentID, w) })}, nil
		}
		dead := w.dead()
		if dead {
			p.removeTunnel(to.AgentID, w)
		}
		p.releaseTunnel(to.AgentID, w)
		// A tunnel that has ended does not fail the call: Open dials another one, once.
		if !dead || !again || w.err != nil || ctx.Err() != nil {
			return nil, err
		}
	}
}

// acquireTunnel returns the tunnel to an agent. It starts to dial if there is none.
func (p *Pool) acquireTunnel(to Target) (*warmTunnel, error) {
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
		p.tunnels[to.AgentID] = w // users of the old tunnel keep it
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
		// A restarted agent registers before it dials its link.
		if websocket.CloseStatus(w.err) != relay.StatusRestarted || time.Since(start) > Patience {
			return
		}
		time.Sleep(restartedWait)
	}
}

func (w *warmTunnel) openStream(ctx context.Context, kind, arg string) (*Stream, error) {
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

// dead reports whether the tunnel could not be opened or has ended.
func (w *warmTunnel) dead() bool {
	select {
	case <-w.ready:
		return w.err != nil || w.conn.Err() != nil
	default:
		return false
	}
}

// removeTunnel removes a dead tunnel.
func (p *Pool) removeTunnel(agentID uuid.UUID, w *warmTunnel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tunnels[agentID] == w {
		delete(p.tunnels, agentID)
	}
}

// releaseTunnel removes a user of a tunnel. After its last user an agent's current tunnel
// closes when idle for warmIdle; any other tunnel closes at once.
func (p *Pool) releaseTunnel(agentID uuid.UUID, w *warmTunnel) {
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
		_ = w.conn.Close() // no caller is left to receive the error
	}
}

// Close ends all tunnels. Open fails from then on.
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

// warmStream is a stream that releases its tunnel on Close.
type warmStream struct {
	*Stream
	release func()
}

// Close ends the stream; the tunnel stays open.
func (s *warmStream) Close() error {
	defer s.release()
	return s.Stream.Close()
}
