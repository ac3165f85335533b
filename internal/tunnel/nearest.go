package tunnel

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// How a client chooses among the relays of the server and of workspace proxies.
const (
	// directWait is how long a tunnel may take to find a direct path before latencies
	// are measured. Short commands end before that.
	directWait = 2 * time.Second
	relayWait  = 200 * time.Millisecond // the same where there are no direct paths
	// measureSoon is the interval between the first two measurements. It doubles up to
	// measureRarely: one that a busy moment distorted is corrected soon.
	measureSoon   = 10 * time.Second
	measureRarely = 5 * time.Minute
	// measureLimit bounds the requests of a measurement.
	measureLimit = 5 * time.Second
	// maxMeasured is the maximum number of workspace proxies that are measured.
	maxMeasured = 32
	// tokensFresh is the age up to which the tokens of a grant are used.
	tokensFresh = relayTokenLifetime / 2
	// onlineWait is how long the relay of a workspace proxy may take to report the
	// agent, which is connected there already.
	onlineWait = 10 * time.Second
	// avoidMin and avoidMax bound the time in which a workspace proxy that failed is
	// not used. It doubles with every failure.
	avoidMin = 20 * time.Second
	avoidMax = 30 * time.Minute
)

// nearest keeps the relayed part of a tunnel at the relay with the lowest latency.
type nearest struct {
	conn    *Conn
	client  *codersdk.Client
	agentID uuid.UUID
	id      *Identity
	session relay.Session
	hello   string
	dial    ProxyDialer
	log     *slog.Logger
	grant   codersdk.TunnelGrant
	granted time.Time

	again time.Duration // until the next measurement
	avoid map[uuid.UUID]*avoided
	used  atomic.Pointer[proxyUse]
}

// avoided is a workspace proxy that failed.
type avoided struct {
	until time.Time
	next  time.Duration
}

// proxyUse is a workspace proxy in use.
type proxyUse struct {
	proxy  codersdk.TunnelProxy
	detour *path.Detour
	stream *Stream // keeps the agent's link
}

// newNearest returns the chooser of a tunnel whose grant lists workspace proxies.
func newNearest(conn *Conn, c *codersdk.Client, agentID uuid.UUID, id *Identity) *nearest {
	return &nearest{
		conn: conn, client: c, agentID: agentID, id: id, log: conn.log, grant: conn.grant, granted: time.Now(),
		session: conn.session, hello: relay.TextAttach(conn.session, relay.InstanceOf(conn.grant.AgentCertificate)),
		dial: DialProxy(c.HTTP), avoid: map[uuid.UUID]*avoided{},
	}
}

// live returns the workspace proxy in use, nil for the server's relay.
func (n *nearest) live() *proxyUse {
	if n == nil {
		return nil
	}
	if u := n.used.Load(); u != nil && !u.detour.Gone() {
		return u
	}
	return nil
}

// run chooses a relay again and again until the tunnel ends.
func (n *nearest) run(ctx context.Context) {
	wait := directWait
	if n.conn.why != "" {
		wait = relayWait
	}
	for pauseUntil(ctx, wait, nil) {
		wait = n.choose(ctx)
		var ended <-chan struct{}
		if u := n.used.Load(); u != nil {
			ended = u.detour.Ended()
		}
		if !pauseUntil(ctx, wait, ended) {
			break
		}
		wait = 0
		if u := n.used.Load(); u != nil && u.detour.Gone() {
			n.log.Debug("a workspace proxy no longer relays; using the server", "proxy", u.proxy.Name)
			n.failed(u.proxy.ID)
			n.use(nil)
		}
	}
	n.use(nil)
}

// pauseUntil waits for a time, or until ended is closed. It returns false when ctx ends.
func pauseUntil(ctx context.Context, d time.Duration, ended <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-ended:
	}
	return ctx.Err() == nil
}

// choose measures the relays, moves to the best one, and returns when to do so again.
func (n *nearest) choose(ctx context.Context) (again time.Duration) {
	if n.conn.Path() == WayDirect {
		return directWait
	}
	if time.Since(n.granted) > tokensFresh {
		g, err := n.client.GrantTunnel(ctx, n.agentID, codersdk.TunnelRequest{PublicKey: n.id.PublicKey()})
		if err != nil {
			return avoidMin
		}
		n.grant, n.granted = g, time.Now()
	}
	proxies := n.candidates()
	current := uuid.Nil
	if u := n.live(); u != nil {
		current = u.proxy.ID
	}
	n.again = min(max(2*n.again, measureSoon), measureRarely)
	again = n.again/2 + rand.N(n.again)
	if len(proxies) == 0 {
		if current != uuid.Nil {
			n.use(nil)
		}
		return n.soonest(again)
	}
	latencies := n.measure(ctx, proxies)
	if ctx.Err() != nil {
		return 0
	}
	best := chooseRelay(current, latencies)
	switch {
	case best == current:
	case best == uuid.Nil:
		n.use(nil)
	default:
		if err := n.move(ctx, proxies[best]); err != nil && ctx.Err() == nil {
			n.log.Debug("cannot use a workspace proxy", "proxy", proxies[best].Name, "error", err)
			n.failed(best)
			return 0 // the next best
		}
		n.log.Debug("a workspace proxy relays", "proxy", proxies[best].Name, "latency", latencies[best], "server", latencies[uuid.Nil])
	}
	return n.soonest(again)
}

// candidates returns the workspace proxies that may be used now.
func (n *nearest) candidates() map[uuid.UUID]codersdk.TunnelProxy {
	out := map[uuid.UUID]codersdk.TunnelProxy{}
	for _, p := range n.grant.Proxies {
		if a := n.avoid[p.ID]; len(out) < maxMeasured && (a == nil || !time.Now().Before(a.until)) {
			out[p.ID] = p
		}
	}
	return out
}

// soonest returns the time until the first failed workspace proxy may be used again, at
// most again.
func (n *nearest) soonest(again time.Duration) time.Duration {
	for _, p := range n.grant.Proxies {
		if a := n.avoid[p.ID]; a != nil {
			if left := time.Until(a.until); left > 0 {
				again = min(again, left)
			}
		}
	}
	return again
}

// failed has a workspace proxy avoided for a time.
func (n *nearest) failed(id uuid.UUID) {
	a := n.avoid[id]
	if a == nil {
		a = &avoided{next: avoidMin}
		n.avoid[id] = a
	}
	if time.Since(a.until) > avoidMax {
		a.next = avoidMin // it worked for a long time
	}
	a.until = time.Now().Add(a.next/2 + rand.N(a.next))
	a.next = min(2*a.next, avoidMax)
}

// measure returns the latencies of the server, as uuid.Nil, and of workspace proxies, of
// those that answer.
func (n *nearest) measure(ctx context.Context, proxies map[uuid.UUID]codersdk.TunnelProxy) map[uuid.UUID]time.Duration {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	out := map[uuid.UUID]time.Duration{}
	var mu sync.Mutex
	var all sync.WaitGroup
	ask := func(id uuid.UUID, u *url.URL) {
		all.Go(func() {
			for range 2 { // the faster one says more about the network
				took, err := n.client.Latency(ctx, u)
				if err != nil {
					return
				}
				mu.Lock()
				if best, ok := out[id]; !ok || took < best {
					out[id] = took
				}
				mu.Unlock()
			}
		})
	}
	ask(uuid.Nil, n.client.URL)
	for id, p := range proxies {
		if u, err := proxyURL(p.URL); err == nil {
			ask(id, u)
		}
	}
	all.Wait()
	return out
}

// move has the agent and this client meet at a workspace proxy. Until they have, packets
// travel as before.
func (n *nearest) move(ctx context.Context, p codersdk.TunnelProxy) error {
	asking, cancel := context.WithTimeout(ctx, 2*meetDial)
	defer cancel()
	stream, err := n.conn.Open(asking, KindRelay, p.URL+" "+p.AgentToken)
	if err != nil {
		return err
	}
	link, err := n.dial(asking, p.URL, p.ClientToken)
	if err != nil {
		stream.abort()
		return err
	}
	d, err := n.detour(ctx, link)
	if err != nil {
		stream.abort()
		return err
	}
	go func() { // the agent closes the stream when it has lost its link
		_, _ = io.Copy(io.Discard, stream)
		d.Close()
	}()
	d.Use(n.session)
	n.use(&proxyUse{proxy: p, detour: d, stream: stream})
	return nil
}

// detour waits until the relay at the other side of a link reports the agent. It may
// see the client first. When it later reports that the agent has left, the detour ends.
func (n *nearest) detour(ctx context.Context, link relay.Link) (*path.Detour, error) {
	online, left := make(chan struct{}), make(chan struct{})
	seen, gone := sync.OnceFunc(func() { close(online) }), sync.OnceFunc(func() { close(left) })
	var met bool // only the receiving goroutine uses it
	d, err := n.conn.path.Detour(link, n.hello, relay.TextDetach, func(text string) {
		switch {
		case text == relay.TextOnline:
			met = true
			seen()
		case text == relay.TextOffline && met:
			gone()
		}
	})
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(onlineWait)
	defer late.Stop()
	select {
	case <-online:
		go func() {
			select {
			case <-left:
				d.Close()
			case <-d.Ended():
			}
		}()
		return d, nil
	case <-d.Ended():
		err = errors.New("it closed the connection")
	case <-late.C:
		err = errors.New("the agent is not connected to it")
	case <-ctx.Done():
		err = ctx.Err()
	}
	d.Close()
	return nil, err
}

// use notes the workspace proxy in use, nil for the server's relay, and leaves the one
// before.
func (n *nearest) use(u *proxyUse) {
	if old := n.used.Swap(u); old != nil {
		old.detour.Close()
		old.stream.abort()
	}
}
