package tunnel

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/lane"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// DialConfig names an agent, the paths to it, and the identity of the caller.
type DialConfig struct {
	Identity         *Identity
	Certificate      []byte // DER, issued by the Authority for Identity
	AgentCertificate []byte // DER, pinned
	Relay            Relay
	Direct           Direct
	Log              *slog.Logger // nil: nothing is logged
	// Waiting is called when the relay reports that the agent is not connected and Dial waits
	// for it. It may be nil.
	Waiting func()
	// Patience is how long Dial waits for an agent that is not connected; 0
	// means until its context ends.
	Patience time.Duration
	// Outage is the time without any packet from the agent after which the tunnel ends; 0
	// means that only the agent ends it.
	Outage time.Duration

	protocols []string // for tests; nil: all
}

// Conn is the client's end of a tunnel. It is safe for concurrent use. It survives outages of
// any length, unless DialConfig.Outage or the agent limits them.
type Conn struct {
	grant     codersdk.TunnelGrant
	conn      *quic.Conn
	path      *path.Path
	peer      *path.Peer
	lane      *lane.Lane // nil for an older agent
	noDirect  string     // reason why this end has no direct paths; "" if they are enabled
	transport *quic.Transport
	agent     *agentStatus
	flows     flows
	session   relay.Session
	nearest   *nearest // nil: the server's relay only
	log       *slog.Logger
}

// Dial opens a tunnel. The context bounds only the dialing. Errors have the code unavailable
// if the agent does not answer, and forbidden if one end does not trust the other.
func Dial(ctx context.Context, c DialConfig) (*Conn, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	var session relay.Session
	if _, err := rand.Read(session[:]); err != nil {
		return nil, err
	}
	agent := &agentStatus{change: make(chan struct{})}
	var p *path.Path
	p = path.New(path.Config{
		Relay: c.Relay, Hello: relay.TextAttach(session, relay.InstanceOf(c.AgentCertificate)), Bye: relay.TextDetach,
		Text: func(text string) {
			agent.set(text == relay.TextOffline)
			if text == relay.TextOnline {
				p.Returned(session)
			}
		},
		Final: isPermanent, Log: c.Log, Outage: rareDials,
	})
	why := c.Direct.openSocket(p)
	p.Start()
	t := &quic.Transport{Conn: p.PacketConn()}
	conn, err := dialQUIC(ctx, c, t, p, agent, session)
	if err != nil {
		_ = p.Close()
		_ = t.Close()
		return nil, err
	}
	e := p.Dialed(session, conn, t)
	l := openLane(conn, false, p, e, c.Log)
	out := &Conn{conn: conn, path: p, peer: e, lane: l, noDirect: why, transport: t, agent: agent, session: session, log: c.Log, flows: flows{conn: conn}}
	go out.watchSilence(silenceCheck)
	return out, nil
}

// agentStatus is the last status of the agent that the relay reported.
type agentStatus struct {
	mu      sync.Mutex
	offline bool
	change  chan struct{}
}

func (a *agentStatus) set(offline bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.offline != offline {
		a.offline = offline
		close(a.change)
		a.change = make(chan struct{})
	}
}

func (a *agentStatus) get() (offline bool, change <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.offline, a.change
}

// dialQUIC tries handshakes until one succeeds, one fails permanently, or the context ends. It
// waits while the agent is offline.
func dialQUIC(ctx context.Context, c DialConfig, t *quic.Transport, p *path.Path, agent *agentStatus, s relay.Session) (*quic.Conn, error) {
	secrets := clientTLS(c.Identity.tls(c.Certificate), c.AgentCertificate, c.protocols)
	var patience <-chan time.Time
	if c.Patience > 0 {
		patience = time.After(c.Patience)
	}
	for {
		offline, change := agent.get()
		if offline {
			if c.Waiting != nil {
				c.Waiting()
			}
			select {
			case <-change:
				continue
			case <-patience:
				return nil, errOffline()
			case <-p.Closed():
				return nil, pathError(p.Reason())
			case <-ctx.Done():
				return nil, dialTimeout(ctx, p, agent)
			}
		}
		attempt, cancel := context.WithCancel(ctx)
		go func() {
			select {
			case <-change:
				cancel()
			case <-attempt.Done():
			}
		}()
		conn, err := t.Dial(attempt, path.Addr(s), secrets, quicConfig(keepAlive, -1, c.Outage))
		canceled := attempt.Err() != nil
		cancel()
		_, handshake := errors.AsType[*quic.HandshakeTimeoutError](err)
		_, idle := errors.AsType[*quic.IdleTimeoutError](err)
		switch {
		case err == nil:
			return conn, nil
		case p.Reason() != nil:
			return nil, pathError(p.Reason())
		case ctx.Err() != nil:
			return nil, dialTimeout(ctx, p, agent)
		case !canceled && !handshake && !idle:
			return nil, connError(err)
		}
	}
}

// dialTimeout returns an error that names the end that did not answer in time.
func dialTimeout(ctx context.Context, p *path.Path, agent *agentStatus) error {
	text := "The agent does not answer"
	if offline, _ := agent.get(); offline {
		text = "The agent is not connected to the server"
	} else if !p.Online() {
		text = "The server does not answer"
		if err := p.LastError(); err != nil {
			return codersdk.Errorf(codersdk.CodeUnavailable, "%s", text).WithDetail("%s", err).WithCause(ctx.Err())
		}
	}
	return codersdk.Errorf(codersdk.CodeUnavailable, "%s", text).WithCause(ctx.Err())
}

// isPermanent reports whether an error ends a client's path: the server no longer knows the
// agent or the client, or the agent is another instance.
func isPermanent(err error) bool {
	switch websocket.CloseStatus(err) {
	case relay.StatusRestarted, relay.StatusRefused:
		return true
	}
	return codersdk.Is(err, codersdk.CodeNotFound, codersdk.CodeForbidden, codersdk.CodeUnauthenticated)
}

// pathError explains to users why a path ended.
func pathError(err error) error {
	switch {
	case err == nil || errors.Is(err, net.ErrClosed):
		return net.ErrClosed
	case websocket.CloseStatus(err) == relay.StatusRestarted:
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent was restarted, which ended the connection; connect again").WithCause(err)
	}
	if e, ok := errors.AsType[path.EndedError](err); ok {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent ended the connection: %s", e.Text)
	}
	if e, ok := errors.AsType[websocket.CloseError](err); ok {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The server ended the connection: %s", e.Reason)
	}
	return err
}

// Open opens a stream of a kind, with that kind's argument, and waits until the agent has
// accepted it. The context bounds only the opening. The error has the code precondition if the
// agent refused.
func (c *Conn) Open(ctx context.Context, kind, arg string) (*Stream, error) {
	line, err := formatHeader(kind, arg)
	if err != nil {
		return nil, err
	}
	q, err := c.conn.OpenStreamSync(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.explain(err)
	}
	s := &Stream{Stream: c.lane.Stream(q), local: c.conn.LocalAddr(), remote: c.conn.RemoteAddr(), explain: c.explain}
	stop := context.AfterFunc(ctx, s.abort)
	answer, err := sendHeader(s, line)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		if err = parseStatus(answer); err == nil {
			return s, nil
		}
		err = codersdk.Errorf(codersdk.CodePrecondition, "The agent refused %q", kind).WithDetail("%s", err)
	} else if ctx.Err() != nil {
		err = ctx.Err()
	}
	s.abort()
	return nil, err
}

// sendHeader sends the line that opens a stream, and returns the agent's answer.
func sendHeader(s *Stream, line []byte) (string, error) {
	if _, err := s.Write(line); err != nil {
		return "", err
	}
	return readLine(s)
}

// Ping returns the round trip time to the agent, including the opening of a stream.
func (c *Conn) Ping(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	s, err := c.Open(ctx, kindPing, "")
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	return took, s.Close()
}

// Grant returns the server's response to DialAgent: the SSH host key and the granted actions.
// It is empty after Dial.
func (c *Conn) Grant() codersdk.TunnelGrant { return c.grant }

// Interrupted reports whether there is no path to the agent now.
func (c *Conn) Interrupted() bool {
	if c.Path() == RouteDirect || c.nearest.activeProxy() != nil {
		return false
	}
	offline, _ := c.agent.get()
	return offline || !c.path.Online()
}

func errOffline() error {
	return codersdk.Errorf(codersdk.CodeUnavailable, "The agent is not connected to the server")
}

// Await waits up to patience for an agent that is not connected to the server. The error has
// the code unavailable.
func (c *Conn) Await(ctx context.Context, patience time.Duration) error {
	offline, change := c.agent.get()
	if !offline {
		return nil
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-change:
		return nil
	case <-c.Done():
		return c.Err()
	case <-late.C:
	case <-ctx.Done():
	}
	return errOffline()
}

// Stats returns the traffic of the tunnel, seen from the client.
func (c *Conn) Stats() Stats {
	cs := c.conn.ConnectionStats()
	s := Stats{Tunnels: 1, Window: cs.CongestionWindow, MedianRTT: cs.SmoothedRTT}
	s.add(cs, c.lane)
	return s
}

// Done is closed when the tunnel has ended.
func (c *Conn) Done() <-chan struct{} { return c.conn.Context().Done() }

// Err returns the reason why the tunnel has ended, or nil while it is open.
func (c *Conn) Err() error {
	if c.conn.Context().Err() == nil {
		return nil
	}
	return c.explain(context.Cause(c.conn.Context()))
}

// explain returns the reason why the tunnel ended. The path's reason takes precedence over
// err.
func (c *Conn) explain(err error) error {
	if r := c.path.Reason(); r != nil {
		return pathError(r)
	}
	return connError(err)
}

// Close ends the tunnel and all its streams at once. Written data that has not arrived is
// lost.
func (c *Conn) Close() error {
	err := c.conn.CloseWithError(closedByUser, "")
	_ = c.path.Close()
	return errors.Join(err, c.transport.Close())
}

var _ net.Conn = (*Stream)(nil)
