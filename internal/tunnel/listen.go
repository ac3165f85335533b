package tunnel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/lane"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// headerTimeout bounds the time until a client has sent the first line of a stream.
const headerTimeout = 30 * time.Second

// ListenConfig configures a Listener.
type ListenConfig struct {
	Identity *Identity
	AgentID  uuid.UUID
	ClientCA []byte // DER of the Authority's certificate
	Relay    Relay
	Direct   Direct
	// Handle serves one stream in its own goroutine; the stream is closed when Handle returns.
	// The context ends with the tunnel, or with Stop.
	Handle func(ctx context.Context, r *Request)
	Log    *slog.Logger
	Now    func() time.Time // nil: time.Now
	// DialProxy dials workspace proxies to which clients want the agent to connect; nil
	// refuses such requests.
	DialProxy ProxyDialer
	// Sleep limits the tunnels whose clients are away.
	Sleep SleepLimits

	protocols []string // for tests; nil: all
}

// Listener is an agent's end of all its tunnels. It is a lifecycle.Service.
type Listener struct {
	c          ListenConfig
	path       *path.Path
	transport  *quic.Transport
	ln         *quic.Listener
	handlers   sync.WaitGroup
	proxyLinks proxyLinks
	stopping   context.Context // ends with Stop
	stop       context.CancelFunc

	mu         sync.Mutex
	conns      map[*quic.Conn]*client
	endedStats Stats // of tunnels that have ended
	limit      SleepLimits
}

// Listen returns a listener; Start starts it.
func Listen(c ListenConfig) (*Listener, error) {
	if c.Identity == nil || c.AgentID == uuid.Nil || c.Relay == nil || c.Handle == nil {
		return nil, errors.New("a tunnel listener needs an identity, an agent, a relay and a handler")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	l := &Listener{c: c, conns: make(map[*quic.Conn]*client)}
	l.SetSleepLimits(c.Sleep)
	l.stopping, l.stop = context.WithCancel(context.Background())
	return l, nil
}

// Start starts to dial the relay and to serve clients. It does not wait for the relay.
func (l *Listener) Start(context.Context) error {
	l.path = path.New(path.Config{
		Relay: l.c.Relay, Hello: relay.TextServe(relay.InstanceOf(l.c.Identity.Certificate())),
		Text: func(text string) {
			if s, err := relay.ParseAttached(text); err == nil {
				l.path.Returned(s)
			}
		},
		Final: func(error) bool { return false }, Log: l.c.Log, Follow: true, Outage: rareDials,
	})
	if why := l.c.Direct.openSocket(l.path); why != "" {
		l.c.Log.Debug("tunnels go through the relay only", "reason", why)
	}
	l.path.Start()
	l.transport = &quic.Transport{Conn: l.path.PacketConn()}
	v := verifier{authority: l.c.ClientCA, agentID: l.c.AgentID, now: l.c.Now}
	secrets := agentTLS(l.c.Identity.tls(nil), v, l.c.protocols, func(err error) {
		l.c.Log.Warn("refused the certificate of a tunnel client", "error", err)
	})
	ln, err := l.transport.Listen(secrets, quicConfig(0, maxStreams, l.c.Sleep.Time))
	if err != nil {
		_ = l.path.Close()
		return fmt.Errorf("listen for tunnels: %w", err)
	}
	l.ln = ln
	l.handlers.Go(l.acceptTunnels)
	l.handlers.Go(l.watchSleepers)
	return nil
}

// Stop ends all tunnels, notifies the clients, and waits for the handlers until ctx ends. If
// Start was not called or failed, it does nothing.
func (l *Listener) Stop(ctx context.Context) error {
	if l.ln == nil {
		return nil
	}
	err := l.ln.Close()
	l.mu.Lock()
	conns := make([]*quic.Conn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.CloseWithError(closedByAgent, "the agent is stopping")
	}
	l.stop()
	done := make(chan struct{})
	go func() {
		l.handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	_ = l.path.Close()
	return errors.Join(err, l.transport.Close())
}

// Connected reports whether a link to the relay is up.
func (l *Listener) Connected() bool { return l.path.Online() }

// acceptTunnels serves tunnels until the listener is closed.
func (l *Listener) acceptTunnels() {
	for {
		c, err := l.ln.Accept(context.Background())
		if err != nil {
			return
		}
		k := &client{}
		s, ok := path.SessionOf(c.RemoteAddr())
		if ok {
			k.lane = openLane(c, true, l.path, l.path.Accepted(s, c), l.c.Log)
		}
		l.mu.Lock()
		l.conns[c] = k
		l.mu.Unlock()
		l.handlers.Go(func() {
			l.serveTunnel(c, k)
			l.mu.Lock()
			delete(l.conns, c)
			l.endedStats.add(c.ConnectionStats(), k.lane)
			l.mu.Unlock()
			if ok {
				l.forgetSession(s, c)
			}
		})
	}
}

// serveTunnel accepts the streams of one tunnel.
func (l *Listener) serveTunnel(c *quic.Conn, k *client) {
	certificates := c.ConnectionState().TLS.PeerCertificates
	if len(certificates) == 0 || len(certificates[0].URIs) != 1 {
		_ = c.CloseWithError(closedByAgent, "no certificate")
		return
	}
	grant, err := parseGrant(certificates[0].URIs[0]) // verified in the handshake
	if err != nil {
		_ = c.CloseWithError(closedByAgent, err.Error())
		return
	}
	explain := func(err error) error { return connError(err) }
	f := flows{conn: c}
	for {
		q, err := c.AcceptStream(context.Background())
		if err != nil {
			return
		}
		s := &Stream{Stream: k.lane.Stream(q), local: c.LocalAddr(), remote: c.RemoteAddr(), explain: explain}
		l.handlers.Go(func() { l.serveStream(c.Context(), &Request{Grant: grant, stream: s, flows: &f, client: k}) })
	}
}

// serveStream reads the first line of a stream and serves the request.
func (l *Listener) serveStream(ctx context.Context, r *Request) {
	s := r.stream
	defer s.Close()
	_ = s.SetReadDeadline(time.Now().Add(headerTimeout))
	line, err := readLine(s)
	if err == nil {
		r.Kind, r.Arg, err = parseHeader(line)
	}
	if err != nil {
		r.Reject(err)
		return
	}
	_ = s.SetReadDeadline(time.Time{})
	switch {
	case r.Kind == kindPing:
		_, _ = r.Accept()
	case r.Kind == kindSpeed:
		r.serveSpeed()
	case !r.Grant.Allows(r.Kind):
		l.c.Log.Warn("refused a stream that the client's certificate does not allow", "kind", r.Kind, "user_id", r.Grant.UserID)
		r.Reject(fmt.Errorf("this connection may not use %.32q", r.Kind))
	case r.Kind == KindRelay:
		l.serveRelay(ctx, r)
	default:
		l.c.Handle(ctx, r)
		r.Reject(errors.New("the agent does not serve this"))
	}
}

// Request is a client's request for a stream, already checked against its certificate. Accept
// or Reject answers it; only the first answer counts.
type Request struct {
	Kind, Arg string
	Grant     Grant // of the client

	stream   *Stream
	flows    *flows
	client   *client
	answered atomic.Bool
}

// Accept confirms the request to the client and returns the stream.
func (r *Request) Accept() (*Stream, error) {
	if r.answered.Swap(true) {
		return nil, errors.New("the request has been answered")
	}
	if _, err := r.stream.Write(formatStatus(nil)); err != nil {
		return nil, err
	}
	return r.stream, nil
}

// Reject refuses the request; the client's user sees the message of err.
func (r *Request) Reject(err error) {
	if !r.answered.Swap(true) {
		_, _ = r.stream.Write(formatStatus(err))
	}
}

// Stats is the traffic of a listener's tunnels since its start, seen from the agent.
type Stats struct {
	Tunnels              int // open now
	RxBytes, TxBytes     uint64
	RxPackets, TxPackets uint64
	LostPackets          uint64        // of the sent ones
	Window               uint64        // sum of the congestion windows in bytes
	MedianRTT            time.Duration // of the open tunnels; 0 if there are none
}

func (s *Stats) add(c quic.ConnectionStats, beside *lane.Lane) {
	r := beside.Stats()
	s.RxBytes += c.BytesReceived + r.RxBytes
	s.TxBytes += c.BytesSent + r.TxBytes
	s.RxPackets += c.PacketsReceived + r.RxRecords
	s.TxPackets += c.PacketsSent + r.TxRecords
	s.LostPackets += c.PacketsLost
}

// Stats returns the sum over all tunnels, including those that have ended.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.endedStats
	s.Tunnels = len(l.conns)
	rtts := make([]time.Duration, 0, len(l.conns))
	for c, k := range l.conns {
		cs := c.ConnectionStats()
		s.add(cs, k.lane)
		s.Window += cs.CongestionWindow
		rtts = append(rtts, cs.SmoothedRTT)
	}
	if len(rtts) > 0 {
		slices.Sort(rtts)
		s.MedianRTT = rtts[len(rtts)/2]
	}
	return s
}
