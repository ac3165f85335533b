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

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Reconnect intervals.
const (
	// refusedWait is the maximum wait while the server refuses the token: its
	// build may not be finished, or the workspace may be deleted.
	refusedWait = 30 * time.Second
	// patience is the period for which a refused token is retried at the usual
	// rate.
	patience = 10 * time.Minute
	// steady is the minimum duration of a connection after which the reconnect
	// is immediate.
	steady = 10 * time.Second
	// standAside is the wait after another process with the same token took
	// over. It doubles each time up to standAsideLimit; otherwise both would
	// take over from each other forever.
	standAside      = 5 * time.Minute
	standAsideLimit = 4 * time.Hour
	// callTimeout bounds one call.
	callTimeout = 30 * time.Second
)

// keepConnected maintains the control connection until ctx ends.
func (a *Agent) keepConnected(ctx context.Context) {
	wait, said := lifecycle.Backoff{Limit: a.c.Backoff}, ""
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
			a.log.Error("another process with this agent's token took over; waiting. Is the agent running twice?", "for", aside)
			a.standAside(ctx, aside)
			aside = min(2*aside, standAsideLimit)
			continue
		}
		if errors.Is(err, errClaimed) {
			a.log.Info("the workspace was claimed; reinitializing for its new owner")
			wait.Reset()
			continue
		}
		if wait.Limit = a.c.Backoff; refused(err) && time.Since(begin) > patience {
			wait.Limit = max(wait.Limit, refusedWait)
		}
		if text := err.Error(); connected || text != said { // log each error once
			said = text
			a.log.Warn("not connected to the server; retrying", "error", err)
		}
		wait.Sleep(ctx)
	}
}

// errDisplaced is returned when another process took over.
var errDisplaced = errors.New("another process with this agent's token took over")

// pingOnDial wraps the relay dialer and pings the server on every reconnect. If
// another process with the same token took over the link, the ping reports it.
// Otherwise both processes would keep taking the link from each other until the
// next regular ping.
func (a *Agent) pingOnDial(dial tunnel.Relay) tunnel.Relay {
	var dialed atomic.Bool
	return func(ctx context.Context) (tunnel.Link, error) {
		if dialed.Swap(true) {
			select {
			case a.now <- struct{}{}:
			default:
			}
		}
		return dial(ctx)
	}
}

// standAside closes the tunnels, so that clients use the process that took
// over, and waits.
func (a *Agent) standAside(ctx context.Context, d time.Duration) {
	a.mu.Lock()
	l := a.life
	a.mu.Unlock()
	if err := l.listener.Load().Stop(ctx); err != nil {
		a.log.Warn("tunnels did not close in time", "error", err)
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return
	}
	if err := l.listen(); err != nil {
		a.log.Error("cannot serve clients", "error", err)
	}
}

// refused reports whether the server refused the agent for a reason that
// retries cannot fix soon.
func refused(err error) bool {
	return codersdk.Is(err, codersdk.CodeUnauthenticated, codersdk.CodeConflict, codersdk.CodeForbidden, codersdk.CodeNotFound)
}

// connectOnce dials the server, initializes the agent, and serves the
// connection until it ends. connected reports whether the manifest was
// received. The error is never nil.
func (a *Agent) connectOnce(ctx context.Context) (connected bool, err error) {
	if err := a.authenticate(ctx); err != nil {
		return false, err
	}
	dial, cancel := context.WithTimeout(ctx, callTimeout)
	ws, err := a.server().Dial(dial, "/workspaceagents/me/rpc", url.Values{"version": {agentrpc.Version}})
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
	g.Go(func() error { return a.reports.Send(ctx, c, a.log) })
	g.Go(func() error { return a.sendStats(ctx, c) })
	g.Go(func() error { return a.awaitClaim(ctx) })
	g.Go(func() error { return a.acceptHints(ctx, session, c) })
	g.Go(func() error {
		select {
		case <-session.CloseChan():
			return errors.New("the connection was closed")
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	err = g.Wait()
	session.Close()
	return true, err
}

// hello fetches the manifest and starts what it declares, once for each agent
// that the token belongs to over time.
func (a *Agent) hello(ctx context.Context, c agentrpc.DRPCAgentClient) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a.mu.Lock()
	before := a.life
	a.mu.Unlock()
	req := &agentrpc.HelloRequest{Version: a.c.Version, Subsystems: a.c.Subsystems, Certificate: a.identity.Certificate(), Hints: true}
	if before != nil {
		req.ExpandedDirectory = before.dir
	}
	m, err := c.Hello(ctx, req)
	if err != nil {
		return fmt.Errorf("fetch the manifest: %w", err)
	}
	if before != nil && string(before.manifest.AgentId) == string(m.AgentId) && sameDeclaration(before.manifest, m) {
		before.listener.Load().SetSleepLimits(sleepLimits(m)) // the server may run with other options now
		if err := a.fetchSecrets(ctx, c); err != nil {
			a.log.Warn("the user secrets are not up to date; trying again later", "error", err)
		}
		return nil
	}
	if err := a.fetchFirstSecrets(ctx, c); err != nil {
		return err
	}
	if before != nil {
		// A claim or a newer build reused the token, so this process now is another
		// agent; or the build of a claim changed what the template declares.
		a.log.Info("the workspace was rebuilt; reinitializing")
		before.stop(ctx)
		a.reports.Reset()
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

// ping sends heartbeats until one fails.
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
		if agentrpc.CodeOf(err) == codersdk.CodeConflict && strings.Contains(err.Error(), agentrpc.TookOver) {
			return errDisplaced
		}
		if err != nil {
			return fmt.Errorf("ping the server: %w", err)
		}
	}
}

// pingOnce sends a heartbeat with the users of open tunnels, and closes the
// tunnels of users who lost access. The relay does that itself, but direct
// tunnels bypass the server.
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
			a.log.Info("a user lost access to this workspace; closing their tunnels", "user_id", user)
			l.listener.Load().End(user)
		}
	}
	return nil
}

// multiplexed is a DRPC connection with one stream per call.
type multiplexed struct{ session *yamux.Session }

// Close closes the connection.
func (m *multiplexed) Close() error { return m.session.Close() }

// Closed returns a channel that is closed with the connection.
func (m *multiplexed) Closed() <-chan struct{} { return m.session.CloseChan() }

// Invoke makes one call.
func (m *multiplexed) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	stream, err := m.session.OpenStream()
	if err != nil {
		return err
	}
	conn := drpcconn.New(stream)
	if err := conn.Invoke(ctx, rpc, enc, in, out); err != nil {
		_ = conn.Close() // the first error is more specific
		return err
	}
	return conn.Close()
}

// NewStream returns an error, because the service has no streaming calls.
func (m *multiplexed) NewStream(context.Context, string, drpc.Encoding) (drpc.Stream, error) {
	return nil, errors.New("the agent service has no streaming calls")
}
