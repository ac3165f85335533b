package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"golang.org/x/sync/errgroup"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
)

// Waits before the server is dialed again.
const (
	firstWait = 50 * time.Millisecond
	// refusedWait is the longest wait while the server refuses the token: the
	// build that made it may not be finished, or the workspace is gone.
	refusedWait = 30 * time.Second
	// patience is how long a refused token is tried at the usual pace.
	patience = 10 * time.Minute
	// steady is how long a connection must last for the next to be dialed at once.
	steady = 10 * time.Second
	// callTimeout bounds one call.
	callTimeout = 30 * time.Second
)

// connectForEver keeps the control connection until ctx ends.
func (a *Agent) connectForEver(ctx context.Context) {
	wait, said := time.Duration(0), ""
	for begin := time.Now(); ctx.Err() == nil; {
		dialed := time.Now()
		connected, err := a.connectOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if connected {
			begin = time.Now()
			if time.Since(dialed) > steady {
				wait = 0
			}
		}
		limit := a.c.Backoff
		if refused(err) && time.Since(begin) > patience {
			limit = max(limit, refusedWait)
		}
		wait = min(max(2*wait, firstWait), limit)
		if text := err.Error(); connected || text != said { // the same again says nothing new
			said = text
			a.log.Warn("not connected to the server; trying on", "error", err)
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
		}
	}
}

// refused says that the server knows why this agent may not connect.
func refused(err error) bool {
	return coder.Is(err, coder.CodeUnauthenticated, coder.CodeConflict, coder.CodeForbidden)
}

// connectOnce dials, says hello, and serves the connection until it ends.
// connected says that it came as far as the manifest. The error is never nil.
func (a *Agent) connectOnce(ctx context.Context) (connected bool, err error) {
	dial, cancel := context.WithTimeout(ctx, callTimeout)
	ws, err := a.client.Dial(dial, "/workspaceagents/me/rpc", url.Values{"version": {"1.0"}})
	cancel()
	if err != nil {
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
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.ping(ctx, c) })
	g.Go(func() error { return a.reports.send(ctx, c, a.log) })
	g.Go(func() error { return a.sendStats(ctx, c) })
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
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		_, err := c.Ping(call, &agentrpc.Empty{})
		cancel()
		if err != nil {
			return fmt.Errorf("ping the server: %w", err)
		}
	}
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
	return errors.Join(conn.Invoke(ctx, rpc, enc, in, out), conn.Close())
}

// NewStream is for streaming calls, of which the service has none.
func (m *multiplexed) NewStream(context.Context, string, drpc.Encoding) (drpc.Stream, error) {
	return nil, errors.New("the agent service has no streaming calls")
}
