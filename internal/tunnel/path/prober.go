package path

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
)

const (
	// idleAfter is how long a tunnel without packets keeps its direct path proven. The
	// first packets of an idle tunnel take the relay, until a ping is answered.
	idleAfter = 30 * time.Second
	// idlePingInterval is short enough to keep the NAT mappings on the path alive.
	idlePingInterval = 20 * time.Second
	// maxIdlePackets bounds the packets per idlePingInterval of a tunnel that stays idle.
	maxIdlePackets = 6
	// relayPingInterval is the interval between round trip measurements through the relay.
	relayPingInterval = 10 * time.Second
	// addrCheckInterval is the interval between checks of the addresses of this machine.
	addrCheckInterval = 2 * time.Second
	// A search without success is repeated after minSearchInterval. The interval doubles
	// with each search up to maxSearchInterval. The loss of a path resets the interval.
	maxSearchInterval = time.Minute
	minSearchInterval = 6 * time.Second
	// bigPacket is the size in bytes above which a packet counts as big. A ping of
	// PacketSize follows big packets, because a path may begin to lose only those.
	bigPacket = 1000
)

// searchRounds returns when candidates are sent and pinged, as times since the start of a search.
func searchRounds() []time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 5 * time.Second}
}

// pingTimeout is how long a ping may stay unanswered before the path in use is left.
const pingTimeout = directTimeout - pingInterval

// prober searches for a direct path on behalf of a client, and monitors the path that it
// found. The agent only answers and follows.
type prober struct {
	p    *Path
	d    *directSocket
	e    *Peer
	wake chan struct{}
	idle atomic.Bool // run sleeps until packets are sent
	// woken is set after the machine slept: what the prober knows of the network may be wrong.
	woken atomic.Bool

	mu        sync.Mutex
	remote    []netip.AddrPort // candidate addresses of the agent
	answered  bool             // the agent has sent candidates
	forbidden bool             // the agent allows no direct paths
	pings     map[uint64]pingSent
	rtts      map[netip.AddrPort]time.Duration  // of paths that answered; the invalid address is the relay's
	seen      map[netip.AddrPort]netip.AddrPort // this end's address as the agent saw it, by the agent's address
	chosen    netip.AddrPort                    // the path in use; not valid for the relay
	// unanswered is when the first of the unanswered pings was sent: small and big pings; 0: none.
	unanswered [2]time.Duration
	why        string // why there is no direct path

	// Only run uses the fields below.
	lastActive    time.Duration // when the tunnel last had packets
	countedSince  time.Duration // since when packets are counted while idle
	countedBefore uint64        // Peer.moved at the last count
	searchStart   time.Duration
	nextRound     int
	lastPing      time.Duration
	lastRelayPing time.Duration
	searchWait    time.Duration // from the start of this search until the next
	lastAddrCheck time.Duration
	localAddrs    []netip.Addr
}

// pingSent is a ping that is not yet answered.
type pingSent struct {
	to  netip.AddrPort
	at  time.Duration
	big int // 1 or 0
}

// Reasons why there is no direct path.
const (
	whySearching = "looking for a direct path"
	whyForbidden = "the agent's side does not allow direct connections"
	whySilent    = "the agent has not sent its addresses"
	whyNothing   = "the agent has no address to try"
)

func newProber(p *Path, e *Peer) *prober {
	return &prober{
		p: p, d: p.direct, e: e, wake: make(chan struct{}, 1), why: whySearching,
		pings: make(map[uint64]pingSent), rtts: make(map[netip.AddrPort]time.Duration), seen: make(map[netip.AddrPort]netip.AddrPort),
	}
}

// run probes until the path is closed.
func (q *prober) run() {
	q.localAddrs, q.searchWait = q.d.local(), minSearchInterval
	q.startSearch(q.p.elapsed())
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-q.p.closed:
			return
		case <-q.wake:
		case <-t.C:
		}
		q.idle.Store(false)
		t.Reset(q.tick(q.p.elapsed()))
	}
}

// wakeIfIdle wakes run if the tunnel is idle. It is called before packets are sent.
func (q *prober) wakeIfIdle() {
	if q.idle.Load() {
		q.signalWake()
	}
}

func (q *prober) signalWake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// tick runs the actions that are due and returns the time until the next tick.
func (q *prober) tick(now time.Duration) time.Duration {
	if q.woken.Swap(false) {
		q.localAddrs, q.lastAddrCheck, q.searchWait = q.d.local(), now, minSearchInterval
		q.lastActive, q.countedSince, q.lastPing = now, now, 0
		q.startSearch(now)
	}
	idle, hasPackets := q.updateIdle(now)
	if now-q.lastAddrCheck >= addrCheckInterval {
		q.lastAddrCheck = now
		if a := q.d.local(); !slices.Equal(a, q.localAddrs) {
			q.localAddrs = a
			q.p.c.Log.Debug("the addresses of this machine changed")
			q.p.checkRelayLink()
			q.startSearch(now)
		}
	}
	q.leaveDeadPath(now)
	q.mu.Lock()
	chosen, forbid := q.chosen, q.forbidden
	q.mu.Unlock()
	if q.nextRound < len(searchRounds()) {
		if forbid {
			q.nextRound = len(searchRounds())
		} else if now-q.searchStart >= searchRounds()[q.nextRound] {
			q.nextRound++
			q.runSearchRound()
		}
	}
	if !idle && now-q.lastRelayPing > relayPingInterval {
		q.lastRelayPing = now
		q.sendPing(netip.AddrPort{}, 0)
	}
	if chosen.IsValid() {
		every := pingInterval
		if idle && !hasPackets {
			every = idlePingInterval
		}
		if now-q.lastPing >= every-time.Millisecond {
			q.pingChosen(now)
		}
	} else if q.nextRound >= len(searchRounds()) && now-q.searchStart > q.searchWait && !idle {
		q.searchWait = min(2*q.searchWait, maxSearchInterval)
		q.startSearch(now)
	}
	return q.untilNextTick(now, idle, chosen.IsValid())
}

// updateIdle reports whether the tunnel is idle, and whether there were any packets. Even an
// idle tunnel may have a few packets, such as QUIC's own.
func (q *prober) updateIdle(now time.Duration) (idle, hasPackets bool) {
	moved := q.e.moved.Load() - q.countedBefore
	idle = now-q.lastActive > idleAfter
	switch {
	case moved > maxIdlePackets || !idle && moved > 0:
		q.countedBefore += moved
		q.lastActive, q.countedSince = now, now
		return false, true
	case idle && now-q.countedSince > idlePingInterval:
		q.countedBefore += moved
		q.countedSince = now
	}
	return idle, moved > 0
}

// untilNextTick returns the time until the next tick.
func (q *prober) untilNextTick(now time.Duration, idle, direct bool) time.Duration {
	searching := q.nextRound < len(searchRounds())
	switch {
	case searching:
		return max(time.Millisecond, min(searchRounds()[q.nextRound]-(now-q.searchStart), pingInterval))
	case !idle && direct:
		return pingInterval / 3
	case !idle:
		return addrCheckInterval
	}
	q.idle.Store(true)
	return idlePingInterval
}

// startSearch starts the search rounds from the first.
func (q *prober) startSearch(now time.Duration) {
	q.searchStart, q.nextRound = now, 0
	q.mu.Lock()
	defer q.mu.Unlock()
	for a := range q.rtts {
		if a.IsValid() && a != q.chosen {
			delete(q.rtts, a)
		}
	}
	if !q.chosen.IsValid() && !q.forbidden && q.why == "" {
		q.why = whySearching
	}
}

// runSearchRound sends the candidates of this end to the agent and pings the agent's.
func (q *prober) runSearchRound() {
	q.d.gatherCandidates(func(own []netip.AddrPort) {
		q.p.sendProbe(q.e, probe.Message{Kind: probe.Candidates, Addrs: own}, netip.AddrPort{}, 0)
	})
	q.mu.Lock()
	remote := slices.Clone(q.remote)
	if q.nextRound >= len(searchRounds()) && !q.chosen.IsValid() && !q.forbidden {
		switch {
		case !q.answered:
			q.why = whySilent
		case len(remote) == 0:
			q.why = whyNothing
		default:
			q.why = fmt.Sprintf("none of the agent's %d addresses answers by UDP", len(remote))
		}
	}
	q.mu.Unlock()
	for _, a := range remote {
		q.sendPing(a, PacketSize)
	}
}

// sendPing sends a ping of at least size bytes to an address, or through the relay if to is
// not valid.
func (q *prober) sendPing(to netip.AddrPort, size int) {
	tx := rand.Uint64()
	now := q.p.elapsed()
	q.mu.Lock()
	for old, s := range q.pings {
		if now-s.at > 5*time.Second {
			delete(q.pings, old)
		}
	}
	s := pingSent{to: to, at: now}
	if size > bigPacket {
		s.big = 1
	}
	q.pings[tx] = s
	m := probe.Message{Kind: probe.Ping, Tx: tx, Chosen: to.IsValid() && to == q.chosen, Seen: q.seen[to]}
	if m.Chosen && q.unanswered[s.big] == 0 {
		q.unanswered[s.big] = now
	}
	q.mu.Unlock()
	q.p.sendProbe(q.e, m, to, size)
}

// pingChosen pings over the path in use. The ping has PacketSize bytes if big packets were
// sent, or if a big ping is unanswered.
func (q *prober) pingChosen(now time.Duration) {
	q.lastPing = now
	big := q.e.big.Swap(false)
	q.mu.Lock()
	to := q.chosen
	big = big || q.unanswered[1] != 0
	q.mu.Unlock()
	size := 0
	if big {
		size = PacketSize
	}
	q.sendPing(to, size)
}

// addCandidates adds addresses at which the agent may be reached, and pings the new ones.
func (q *prober) addCandidates(addrs []netip.AddrPort, forbid bool) {
	q.mu.Lock()
	var fresh []netip.AddrPort
	for _, a := range addrs {
		if !slices.Contains(q.remote, a) && len(q.remote) < 2*probe.MaxCandidates {
			q.remote = append(q.remote, a)
			fresh = append(fresh, a)
		}
	}
	q.answered, q.forbidden = true, forbid
	if forbid {
		q.why = whyForbidden
	}
	q.mu.Unlock()
	for _, a := range fresh {
		q.sendPing(a, PacketSize)
	}
}

// handlePong handles the answer to a ping. The answer counts only if it came over the path
// of the ping.
func (q *prober) handlePong(m probe.Message, from netip.AddrPort) {
	now := q.p.elapsed()
	q.mu.Lock()
	s, ok := q.pings[m.Tx]
	if !ok || s.to != from {
		q.mu.Unlock()
		return
	}
	delete(q.pings, m.Tx)
	rtt := now - s.at
	if old, ok := q.rtts[from]; ok {
		rtt = (7*old + rtt) / 8
	}
	q.rtts[from] = rtt
	if !from.IsValid() {
		q.mu.Unlock()
		return
	}
	q.seen[from] = m.Seen
	move := !q.chosen.IsValid() || from != q.chosen && rtt < q.rtts[q.chosen]*8/10
	if move {
		q.chosen, q.why = from, ""
	}
	if from == q.chosen {
		q.unanswered[0] = 0
		if move || s.big == 1 {
			q.unanswered[1] = 0
		}
	}
	current := from == q.chosen
	q.mu.Unlock()
	if !current {
		return
	}
	if t := q.e.direct.Load(); t != nil && t.to == from {
		t.markProven(now)
		return
	}
	t := &directPath{to: from}
	t.markProven(now)
	q.e.direct.Store(t)
	q.e.closeWireUnless(from.Addr())
	q.e.growth.pathMoved.Store(true)
	q.p.c.Log.Debug("the tunnel goes directly", "to", from, "rtt", rtt)
	q.sendPing(from, 0) // shows the agent which path is chosen
	q.signalWake()
}

// leaveDeadPath returns to the relay when the chosen path does not answer.
func (q *prober) leaveDeadPath(now time.Duration) {
	q.mu.Lock()
	dead := false
	for _, since := range q.unanswered {
		dead = dead || q.chosen.IsValid() && since != 0 && now-since >= pingTimeout
	}
	to := q.chosen
	q.mu.Unlock()
	if dead {
		q.leavePath(to, nil)
		q.searchWait = minSearchInterval
		q.startSearch(now)
	}
}

// leavePath returns to the relay if the chosen path goes to an address. err is the reason;
// nil: the path stopped answering.
func (q *prober) leavePath(to netip.AddrPort, err error) {
	q.mu.Lock()
	if q.chosen != to {
		q.mu.Unlock()
		return
	}
	q.why = fmt.Sprintf("the direct path to %s stopped answering", to)
	if err != nil {
		q.why = fmt.Sprintf("the direct path to %s failed: %v", to, err)
	}
	q.p.c.Log.Debug("the tunnel goes through the relay", "reason", q.why)
	q.chosen, q.unanswered = netip.AddrPort{}, [2]time.Duration{}
	delete(q.rtts, to)
	q.mu.Unlock()
	q.e.direct.Store(nil)
	q.e.closeWireUnless(netip.Addr{})
	q.p.sendProbe(q.e, probe.Message{Kind: probe.RelayOnly}, netip.AddrPort{}, 0)
	q.p.Returned(q.e.session)
	q.signalWake()
}
