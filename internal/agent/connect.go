package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"golang.org/x/sync/errgroup"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Waits before the server is dialed again.
const (
	// refusedWait is the longest wait while the server refuses the token: the
	// build that made it may not be finished, or the workspace is gone.
	refusedWait = 30 * time.Second
	// patience is how long a refused token is tried at the usual pace.
	patience = 10 * time.Minute
	// steady is how long a connection must last for the next to be dialed at once.
	steady = 10 * time.Second
	// standAside is how long an agent stays away after another process with its
	// token took its place, twice as long each time, up to standAsideLimit: both
	// would take turns for ever otherwise.
	standAside      = 5 * time.Minute
	standAsideLimit = 4 * time.Hour
	// callTimeout bounds one call.
	callTimeout = 30 * time.Second
)

// connectForEver keeps the control connection until ctx ends.
func (a *Agent) connectForEver(ctx context.Context) {
	wait, said := client.Redial{Limit: a.c.Backoff}, ""
	aside := standAside
	for begin := time.Now(); ctx.Err() == nil; {
		dialed := time.Now()
		connected, err := a.connectOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if connected {
			begin = time.Now()
			if time.Since(dialed) > steady {
				wait.Reset()
			}
		}
		if connected && errors.Is(err, errDisplaced) {
			a.log.Error("another process with this agent's token took its place; this one stands aside. Is the agent running twice?", "for", aside)
			a.standAside(ctx, aside)
			aside = min(2*aside, standAsideLimit)
			continue
		}
		if errors.Is(err, errClaimed) {
			a.log.Info("somebody has claimed this workspace; beginning again for its new owner")
			wait.Reset()
			continue
		}
		if wait.Limit = a.c.Backoff; refused(err) && time.Since(begin) > patience {
			wait.Limit = max(wait.Limit, refusedWait)
		}
		if text := err.Error(); connected || text != said { // the same again says nothing new
			said = text
			a.log.Warn("not connected to the server; trying on", "error", err)
		}
		select {
		case <-time.After(wait.Next()):
		case <-ctx.Done():
		}
	}
}

// errDisplaced says that another process took over.
var errDisplaced = errors.New("another process with this agent's token took over")

// wary has the agent say that it lives whenever the relay is dialed again: if another
// process with its token took its link, it is told, and the two do not go on to take
// the link from one another until the next ping.
func (a *Agent) wary(dial tunnel.Relay) tunnel.Relay {
	var dialed atomic.Bool
	return func(ctx context.Context) (relay.Link, error) {
		if dialed.Swap(true) {
			select {
			case a.now <- struct{}{}:
			default:
			}
		}
		return dial(ctx)
	}
}

// standAside leaves clients to the process that took over, and waits.
func (a *Agent) standAside(ctx context.Context, d time.Duration) {
	a.mu.Lock()
	l := a.life
	a.mu.Unlock()
	if err := l.listener.Load().Stop(ctx); err != nil {
		a.log.Warn("tunnels did not end in time", "error", err)
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return
	}
	if err := l.listen(); err != nil {
		a.log.Error("clients cannot be served", "error", err)
	}
}

// refused says that the server knows why this agent may not connect.
func refused(err error) bool {
	return coder.Is(err, coder.CodeUnauthenticated, coder.CodeConflict, coder.CodeForbidden, coder.CodeNotFound)
}

// connectOnce dials, says hello, and serves the connection until it ends.
// connected says that it came as far as the manifest. The error is never nil.
func (a *Agent) connectOnce(ctx context.Context) (connected bool, err error) {
	if err := a.prove(ctx); err != nil {
		return false, err
	}
	dial, cancel := context.WithTimeout(ctx, callTimeout)
	ws, err := a.server().Dial(dial, "/workspaceagents/me/rpc", url.Values{"version": {"1.0"}})
	cancel()
	if err != nil {
		a.refused = refused(err)
		return false, err
	}
	defer ws.CloseNow()
	ws.SetReadLimit(4 << 20)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	conf := yamux.DefaultConfig()
	conf.KeepAliveInterval = a.c.PingInterval
	conf.LogOutput = io.Discard
	session, err := yamux.Client(websocket.NetConn(ctx, ws, websocket.MessageBinary), conf)
	if err != nil {
		return false, err
	}
	defer session.Close()
	c := agentrpc.NewDRPCAgentClient(&multiplexed{session})
	if err := a.hello(ctx, c); err != nil {
		return false, err
	}
	a.log.Info("connected to the server")
	a.online.Store(true)
	defer a.online.Store(false)
	a.control.Store(&c)
	defer a.control.Store(nil)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.ping(ctx, c) })
	g.Go(func() error { return a.reports.send(ctx, c, a.log) })
	g.Go(func() error { return a.sendStats(ctx, c) })
	g.Go(func() error { return a.awaitClaim(ctx) })
	g.Go(func() error {
		select {
		case <-session.CloseChan():
			return errors.New("the connection ended")
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	err = g.Wait()
	session.Close()
	return true, err
}

// hello fetches the manifest and begins what it declares, once for each agent
// that the token belongs to over time.
func (a *Agent) hello(ctx context.Context, c agentrpc.DRPCAgentClient) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a.mu.Lock()
	before := a.life
	a.mu.Unlock()
	req := &agentrpc.HelloRequest{Version: a.c.Version, Subsystems: a.c.Subsystems, Certificate: a.identity.Certificate()}
	if before != nil {
		req.ExpandedDirectory = before.dir
	}
	m, err := c.Hello(ctx, req)
	if err != nil {
		return fmt.Errorf("say hello to the server: %w", err)
	}
	if before != nil && string(before.manifest.AgentId) == string(m.AgentId) {
		return nil
	}
	if before != nil {
		// A newer build kept the token: this process is another agent from now on.
		a.log.Info("the workspace was built anew; beginning again")
		before.stop(ctx)
		a.reports.reset()
	}
	l, err := a.begin(m)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.life = l
	a.mu.Unlock()
	if l.dir == "" {
		return nil
	}
	req.ExpandedDirectory = l.dir
	_, err = c.Hello(ctx, req)
	return err
}

// ping says that the agent lives until it is not heard any more.
func (a *Agent) ping(ctx context.Context, c agentrpc.DRPCAgentClient) error {
	t := time.NewTicker(a.c.PingInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		case <-a.now:
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := a.pingOnce(call, c)
		cancel()
		if agentrpc.CodeOf(err) == coder.CodeConflict && strings.Contains(err.Error(), agentrpc.TookOver) {
			return errDisplaced
		}
		if err != nil {
			return fmt.Errorf("ping the server: %w", err)
		}
	}
}

// pingOnce says that the agent lives and who has tunnels to it, and ends those of
// who may not any more: the relay has, but a direct one knows of no server.
func (a *Agent) pingOnce(ctx context.Context, c agentrpc.DRPCAgentClient) error {
	a.mu.Lock()
	l := a.life
	a.mu.Unlock()
	req := &agentrpc.PingRequest{}
	for _, user := range l.listener.Load().Users() {
		req.Users = append(req.Users, user[:])
	}
	resp, err := c.Ping(ctx, req)
	if err != nil {
		return err
	}
	for _, b := range resp.Gone {
		if user, err := uuid.FromBytes(b); err == nil && user != uuid.Nil {
			a.log.Info("a user may not reach this workspace any more; their tunnels end", "user_id", user)
			l.listener.Load().End(user)
		}
	}
	return nil
}

// multiplexed is a DRPC connection that makes each call on a stream of its own.
type multiplexed struct{ session *yamux.Session }

// Close ends the connection.
func (m *multiplexed) Close() error { return m.session.Close() }

// Closed is closed with the connection.
func (m *multiplexed) Closed() <-chan struct{} { return m.session.CloseChan() }

// Invoke makes one call.
func (m *multiplexed) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	stream, err := m.session.OpenStream()
	if err != nil {
		return err
	}
	conn := drpcconn.New(stream)
	if err := conn.Invoke(ctx, rpc, enc, in, out); err != nil {
		_ = conn.Close() // the first error says more, and brings its code
		return err
	}
	return conn.Close()
}

// NewStream is for streaming calls, of which the service has none.
func (m *multiplexed) NewStream(context.Context, string, drpc.Encoding) (drpc.Stream, error) {
	return nil, errors.New("the agent service has no streaming calls")
}
