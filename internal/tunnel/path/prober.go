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
	// idleAfter is how long a tunnel without packets keeps its direct path
	// proven. After that its first packets take the relay, until one ping is
	// answered.
	idleAfter = 30 * time.Second
	// idlePing keeps the mappings of routers on the way alive.
	idlePing = 20 * time.Second
	// fewPackets in that time do not end the idleness.
	fewPackets = 6
	// relayPing is how often the way through the relay is measured.
	relayPing = 10 * time.Second
	// lookAround is how often the addresses of this machine are looked at.
	lookAround = 2 * time.Second
	// searchAgain is how long after the begin of a search without success the next
	// begins at most; the first after the loss of a path comes after searchSoon.
	searchAgain = time.Minute
	searchSoon  = 6 * time.Second
	// bigPacket is the size above which a packet counts as big: a ping as big as
	// the biggest follows, since a path may begin to lose those alone.
	bigPacket = 1000
)

// rounds is when candidates are told and pinged, after the begin of a search.
func rounds() []time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 5 * time.Second}
}

// leaveAfter is how long a ping may have no answer before its path is given up.
const leaveAfter = trust - pingEvery

// prober is a client's search for a direct path, and the watch over the one that
// was found. The agent only answers and follows.
type prober struct {
	p    *Path
	d    *directs
	e    *Peer
	wake chan struct{}
	idle atomic.Bool // sleeps until something is sent
	// woken: the machine slept. Knowledge of the network may be wrong.
	woken atomic.Bool

	mu       sync.Mutex
	remote   []netip.AddrPort // where the agent may be
	answered bool             // the agent told something
	forbid   bool             // the agent has no direct paths
	pings    map[uint64]pingSent
	rtts     map[netip.AddrPort]time.Duration // of paths that answered; the relay's has no address
	seen     map[netip.AddrPort]netip.AddrPort
	chosen   netip.AddrPort
	silent   [2]time.Duration // when the first ping that was not answered was sent, small and big; 0: none
	why      string           // there is no direct path

	// Only run uses these.
	active     time.Duration // when there were packets last
	counted    time.Duration // since when they are counted, while idle
	moved      uint64
	begun      time.Duration // the search
	round      int           // the next
	lastPing   time.Duration
	lastRelay  time.Duration
	again      time.Duration // the time until the next search
	looked     time.Duration
	interfaces []netip.Addr
}

// pingSent is a question that has no answer yet.
type pingSent struct {
	to  netip.AddrPort
	at  time.Duration
	big int // 1 or 0
}

// Why there is no direct path.
const (
	whySearching = "looking for a direct path"
	whyForbidden = "the agent's side does not allow direct connections"
	whySilent    = "the agent's side has not told where it can be reached"
	whyNothing   = "the agent has no address that could be tried"
)

func newProber(p *Path, e *Peer) *prober {
	return &prober{
		p: p, d: p.direct, e: e, wake: make(chan struct{}, 1), why: whySearching,
		pings: make(map[uint64]pingSent), rtts: make(map[netip.AddrPort]time.Duration), seen: make(map[netip.AddrPort]netip.AddrPort),
	}
}

// run probes until the path is closed.
func (q *prober) run() {
	q.interfaces, q.again = q.d.local(), searchSoon
	q.search(q.p.since())
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
		t.Reset(q.tick(q.p.since()))
	}
}

// used is called before packets are sent.
func (q *prober) used() {
	if q.idle.Load() {
		q.poke()
	}
}

func (q *prober) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// tick does what is due and gives the time until the next.
func (q *prober) tick(now time.Duration) time.Duration {
	if q.woken.Swap(false) {
		q.interfaces, q.looked, q.again = q.d.local(), now, searchSoon
		q.active, q.counted, q.lastPing = now, now, 0
		q.search(now)
	}
	idle, some := q.look(now)
	if now-q.looked >= lookAround {
		q.looked = now
		if a := q.d.local(); !slices.Equal(a, q.interfaces) {
			q.interfaces = a
			q.p.c.Log.Debug("the addresses of this machine changed")
			q.p.suspect()
			q.search(now)
		}
	}
	q.leaveDead(now)
	q.mu.Lock()
	chosen, forbid := q.chosen, q.forbid
	q.mu.Unlock()
	if q.round < len(rounds()) {
		if forbid {
			q.round = len(rounds())
		} else if now-q.begun >= rounds()[q.round] {
			q.round++
			q.tellAndPing()
		}
	}
	if !idle && now-q.lastRelay > relayPing {
		q.lastRelay = now
		q.ping(netip.AddrPort{}, 0)
	}
	if chosen.IsValid() {
		every := pingEvery
		if idle && !some {
			every = idlePing
		}
		if now-q.lastPing >= every-time.Millisecond {
			q.pingChosen(now)
		}
	} else if q.round >= len(rounds()) && now-q.begun > q.again && !idle {
		q.again = min(2*q.again, searchAgain)
		q.search(now)
	}
	return q.nap(now, idle, chosen.IsValid())
}

// look reports whether the tunnel is idle, and if so whether there were some packets
// all the same, such as QUIC's own.
func (q *prober) look(now time.Duration) (idle, some bool) {
	moved := q.e.moved.Load() - q.moved
	idle = now-q.active > idleAfter
	switch {
	case moved > fewPackets || !idle && moved > 0:
		q.moved += moved
		q.active, q.counted = now, now
		return false, true
	case idle && now-q.counted > idlePing:
		q.moved += moved
		q.counted = now
	}
	return idle, moved > 0
}

// nap is the time until the next tick.
func (q *prober) nap(now time.Duration, idle, direct bool) time.Duration {
	searching := q.round < len(rounds())
	switch {
	case searching:
		return max(time.Millisecond, min(rounds()[q.round]-(now-q.begun), pingEvery))
	case !idle && direct:
		return pingEvery / 3
	case !idle:
		return lookAround
	}
	q.idle.Store(true)
	return idlePing
}

// search starts the rounds again.
func (q *prober) search(now time.Duration) {
	q.begun, q.round = now, 0
	q.mu.Lock()
	defer q.mu.Unlock()
	for a := range q.rtts {
		if a.IsValid() && a != q.chosen {
			delete(q.rtts, a)
		}
	}
	if !q.chosen.IsValid() && !q.forbid && q.why == "" {
		q.why = whySearching
	}
}

// tellAndPing is one round.
func (q *prober) tellAndPing() {
	q.d.gather(func(own []netip.AddrPort) {
		q.p.probe(q.e, probe.Message{Kind: probe.Candidates, Addrs: own}, netip.AddrPort{}, 0)
	})
	q.mu.Lock()
	remote := slices.Clone(q.remote)
	if q.round >= len(rounds()) && !q.chosen.IsValid() && !q.forbid {
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
		q.ping(a, PacketSize)
	}
}

// ping asks at an address, or through the relay.
func (q *prober) ping(to netip.AddrPort, size int) {
	tx := rand.Uint64()
	now := q.p.since()
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
	if m.Chosen && q.silent[s.big] == 0 {
		q.silent[s.big] = now
	}
	q.mu.Unlock()
	q.p.probe(q.e, m, to, size)
}

// pingChosen asks by the path in use, with as much as it carries.
func (q *prober) pingChosen(now time.Duration) {
	q.lastPing = now
	big := q.e.big.Swap(false)
	q.mu.Lock()
	to := q.chosen
	big = big || q.silent[1] != 0
	q.mu.Unlock()
	size := 0
	if big {
		size = PacketSize
	}
	q.ping(to, size)
}

// offered notes where the agent may be.
func (q *prober) offered(addrs []netip.AddrPort, forbid bool) {
	q.mu.Lock()
	var fresh []netip.AddrPort
	for _, a := range addrs {
		if !slices.Contains(q.remote, a) && len(q.remote) < 2*probe.MaxCandidates {
			q.remote = append(q.remote, a)
			fresh = append(fresh, a)
		}
	}
	q.answered, q.forbid = true, forbid
	if forbid {
		q.why = whyForbidden
	}
	q.mu.Unlock()
	for _, a := range fresh {
		q.ping(a, PacketSize)
	}
}

// pong takes an answer. It counts when it came by the way that was asked.
func (q *prober) pong(m probe.Message, from netip.AddrPort) {
	now := q.p.since()
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
		q.silent[0] = 0
		if move || s.big == 1 {
			q.silent[1] = 0
		}
	}
	current := from == q.chosen
	q.mu.Unlock()
	if !current {
		return
	}
	if t := q.e.direct.Load(); t != nil && t.to == from {
		t.prove(now)
		return
	}
	t := &directPath{to: from}
	t.prove(now)
	q.e.direct.Store(t)
	q.e.unwire(from.Addr())
	q.e.growth.moved.Store(true)
	q.p.c.Log.Debug("the tunnel goes directly", "to", from, "rtt", rtt)
	q.ping(from, 0) // tells the agent
	q.poke()
}

// leaveDead goes back to the relay when the chosen path does not answer.
func (q *prober) leaveDead(now time.Duration) {
	q.mu.Lock()
	dead := false
	for _, since := range q.silent {
		dead = dead || q.chosen.IsValid() && since != 0 && now-since >= leaveAfter
	}
	to := q.chosen
	q.mu.Unlock()
	if dead {
		q.failed(to, nil)
		q.again = searchSoon
		q.search(now)
	}
}

// failed takes the chosen path out of use.
func (q *prober) failed(to netip.AddrPort, err error) {
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
	q.chosen, q.silent = netip.AddrPort{}, [2]time.Duration{}
	delete(q.rtts, to)
	q.mu.Unlock()
	q.e.direct.Store(nil)
	q.e.unwire(netip.Addr{})
	q.p.probe(q.e, probe.Message{Kind: probe.RelayOnly}, netip.AddrPort{}, 0)
	q.p.Returned(q.e.session)
	q.poke()
}
