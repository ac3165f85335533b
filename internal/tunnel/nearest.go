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

// Settings for the choice between the relays of the server and of workspace proxies.
const (
	// directWait is how long a tunnel may take to find a direct path before the client
	// measures latencies. Short commands end before that.
	directWait = 2 * time.Second
	relayWait  = 200 * time.Millisecond // the same where there are no direct paths
	// measureSoon is the interval between the first two measurements. It doubles up to
	// measureRarely, so that a measurement distorted by load is corrected soon.
	measureSoon   = 10 * time.Second
	measureRarely = 5 * time.Minute
	// measureLimit bounds the duration of a measurement.
	measureLimit = 5 * time.Second
	// maxMeasured is the maximum number of workspace proxies in a measurement.
	maxMeasured = 32
	// tokensFresh is the age up to which the tokens of a grant are used.
	tokensFresh = relayTokenLifetime / 2
	// onlineWait is how long the relay of a workspace proxy may take to report the agent,
	// which is already connected there.
	onlineWait = 10 * time.Second
	// avoidMin and avoidMax bound the time for which the client avoids a workspace proxy that
	// failed. The time doubles with every failure.
	avoidMin = 20 * time.Second
	avoidMax = 30 * time.Minute
)

// nearest selects the relay with the lowest latency for the relayed traffic of a tunnel.
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

	interval time.Duration // interval of measurements
	avoid    map[uuid.UUID]*avoided
	used     atomic.Pointer[proxyUse]
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
	stream *Stream // keeps the agent's link open
}

// newNearest returns the relay selection of a tunnel whose grant lists workspace proxies.
func newNearest(conn *Conn, c *codersdk.Client, agentID uuid.UUID, id *Identity) *nearest {
	return &nearest{
		conn: conn, client: c, agentID: agentID, id: id, log: conn.log, grant: conn.grant, granted: time.Now(),
		session: conn.session, hello: relay.TextAttach(conn.session, relay.InstanceOf(conn.grant.AgentCertificate)),
		dial: DialProxy(c.HTTP), avoid: map[uuid.UUID]*avoided{},
	}
}

// activeProxy returns the workspace proxy in use, or nil for the server's relay.
func (n *nearest) activeProxy() *proxyUse {
	if n == nil {
		return nil
	}
	if u := n.used.Load(); u != nil && !u.detour.Gone() {
		return u
	}
	return nil
}

// run selects a relay again and again until the tunnel ends.
func (n *nearest) run(ctx context.Context) {
	wait := directWait
	if n.conn.noDirect != "" {
		wait = relayWait
	}
	for pauseUntil(ctx, wait, nil) {
		wait = n.selectRelay(ctx)
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
			n.avoidProxy(u.proxy.ID)
			n.setProxy(nil)
		}
	}
	n.setProxy(nil)
}

// pauseUntil waits for a duration, or until ended is closed. It returns false if ctx has
// ended.
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

// selectRelay measures the relays, switches to the best one, and returns the time until the
// next selection.
func (n *nearest) selectRelay(ctx context.Context) (next time.Duration) {
	if n.conn.Path() == RouteDirect {
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
	if u := n.activeProxy(); u != nil {
		current = u.proxy.ID
	}
	n.interval = min(max(2*n.interval, measureSoon), measureRarely)
	next = n.interval/2 + rand.N(n.interval)
	if len(proxies) == 0 {
		if current != uuid.Nil {
			n.setProxy(nil)
		}
		return n.nextSelection(next)
	}
	latencies := n.measure(ctx, proxies)
	if ctx.Err() != nil {
		return 0
	}
	best := chooseRelay(current, latencies)
	switch {
	case best == current:
	case best == uuid.Nil:
		n.setProxy(nil)
	default:
		if err := n.switchToProxy(ctx, proxies[best]); err != nil && ctx.Err() == nil {
			n.log.Debug("cannot use a workspace proxy", "proxy", proxies[best].Name, "error", err)
			n.avoidProxy(best)
			return 0 // try the next best
		}
		n.log.Debug("a workspace proxy relays", "proxy", proxies[best].Name, "latency", latencies[best], "server", latencies[uuid.Nil])
	}
	return n.nextSelection(next)
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

// nextSelection returns the time until the first failed workspace proxy may be used again, but
// at most limit.
func (n *nearest) nextSelection(limit time.Duration) time.Duration {
	for _, p := range n.grant.Proxies {
		if a := n.avoid[p.ID]; a != nil {
			if left := time.Until(a.until); left > 0 {
				limit = min(limit, left)
			}
		}
	}
	return limit
}

// avoidProxy excludes a workspace proxy that failed from the selection for some time.
func (n *nearest) avoidProxy(id uuid.UUID) {
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

// measure returns the latencies of the server, as uuid.Nil, and of the workspace proxies that
// answer.
func (n *nearest) measure(ctx context.Context, proxies map[uuid.UUID]codersdk.TunnelProxy) map[uuid.UUID]time.Duration {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	out := map[uuid.UUID]time.Duration{}
	var mu sync.Mutex
	var all sync.WaitGroup
	measureRelay := func(id uuid.UUID, u *url.URL) {
		all.Go(func() {
			for range 2 { // the faster request shows the latency of the network better
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
	measureRelay(uuid.Nil, n.client.URL)
	for id, p := range proxies {
		if u, err := proxyURL(p.URL); err == nil {
			measureRelay(id, u)
		}
	}
	all.Wait()
	return out
}

// switchToProxy connects the agent and this client to a workspace proxy. Packets use the
// previous relay until both are connected.
func (n *nearest) switchToProxy(ctx context.Context, p codersdk.TunnelProxy) error {
	dialCtx, cancel := context.WithTimeout(ctx, 2*proxyDialTimeout)
	defer cancel()
	stream, err := n.conn.Open(dialCtx, KindRelay, p.URL+" "+p.AgentToken)
	if err != nil {
		return err
	}
	link, err := n.dial(dialCtx, p.URL, p.ClientToken)
	if err != nil {
		stream.abort()
		return err
	}
	d, err := n.openDetour(ctx, link)
	if err != nil {
		stream.abort()
		return err
	}
	go func() { // the agent closes the stream when it has lost its link
		_, _ = io.Copy(io.Discard, stream)
		d.Close()
	}()
	d.Use(n.session)
	n.setProxy(&proxyUse{proxy: p, detour: d, stream: stream})
	return nil
}

// openDetour waits until the relay at the other side of a link reports the agent, which may
// connect after the client. The detour ends if the relay later reports that the agent has
// left.
func (n *nearest) openDetour(ctx context.Context, link relay.Link) (*path.Detour, error) {
	online, left := make(chan struct{}), make(chan struct{})
	markOnline, markLeft := sync.OnceFunc(func() { close(online) }), sync.OnceFunc(func() { close(left) })
	var wasOnline bool // only the receiving goroutine uses it
	d, err := n.conn.path.Detour(link, n.hello, relay.TextDetach, func(text string) {
		switch {
		case text == relay.TextOnline:
			wasOnline = true
			markOnline()
		case text == relay.TextOffline && wasOnline:
			markLeft()
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

// setProxy sets the workspace proxy in use, nil for the server's relay, and closes the
// previous one.
func (n *nearest) setProxy(u *proxyUse) {
	if old := n.used.Swap(u); old != nil {
		old.detour.Close()
		old.stream.abort()
	}
}
