package tunnel

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// idleAfter is how long a tunnel without packets keeps its direct path
	// proven. After that its first packets take the relay, until one ping is
	// answered.
	idleAfter = 30 * time.Second
	// idlePing keeps the mappings of routers on the way alive.
	idlePing = 20 * time.Second
	// lookAround is how often the addresses of this machine are looked at.
	lookAround = 2 * time.Second
	// searchAgain is how long after a search without success the next begins.
	searchAgain = time.Minute
	// bulk is after how many packets a ping is as big as the biggest of them.
	bulk = 16
)

// rounds is when candidates are told and pinged, after the begin of a search.
func rounds() []time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 5 * time.Second}
}

// prober is a client's search for a direct path, and the watch over the one that
// was found. The agent only answers and follows.
type prober struct {
	p    *path
	d    *directs
	e    *peer
	wake chan struct{}
	idle atomic.Bool // sleeps until something is sent

	mu       sync.Mutex
	remote   []netip.AddrPort // where the agent may be
	answered bool             // the agent told something
	forbid   bool             // the agent has no direct paths
	pings    map[uint64]pingSent
	rtts     map[netip.AddrPort]time.Duration // of paths that answered; the relay's has no address
	seen     map[netip.AddrPort]netip.AddrPort
	chosen   netip.AddrPort
	silent   time.Duration // when the first ping that was not answered was sent; 0: none
	why      string        // there is no direct path

	// Only run uses these.
	active     time.Duration
	moved      uint64
	begun      time.Duration // the search
	round      int           // the next
	lastPing   time.Duration
	lastRelay  time.Duration
	pingMoved  uint64
	looked     time.Duration
	interfaces []netip.Addr
}

// pingSent is a question that has no answer yet.
type pingSent struct {
	to netip.AddrPort
	at time.Duration
}

// Why there is no direct path.
const (
	whySearching = "looking for a direct path"
	whyForbidden = "the agent's side does not allow direct connections"
	whySilent    = "the agent's side has not told where it can be reached"
	whyNothing   = "the agent has no address that could be tried"
)

func newProber(p *path, e *peer) *prober {
	return &prober{
		p: p, d: p.direct, e: e, wake: make(chan struct{}, 1), why: whySearching,
		pings: make(map[uint64]pingSent), rtts: make(map[netip.AddrPort]time.Duration), seen: make(map[netip.AddrPort]netip.AddrPort),
	}
}

// run probes until the path is closed.
func (q *prober) run() {
	q.interfaces = q.d.local()
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
	if moved := q.e.moved.Load(); moved != q.moved {
		q.moved, q.active = moved, now
	}
	if now-q.looked >= lookAround {
		q.looked = now
		if a := q.d.local(); !slices.Equal(a, q.interfaces) {
			q.interfaces = a
			q.p.log.Debug("the addresses of this machine changed")
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
	if now-q.lastRelay > 10*time.Second {
		q.lastRelay = now
		q.ping(netip.AddrPort{}, 0)
	}
	idle := now-q.active > idleAfter
	if chosen.IsValid() {
		every := pingEvery
		if idle {
			every = idlePing
		}
		if now-q.lastPing >= every-time.Millisecond {
			q.pingChosen(now)
		}
	} else if q.round >= len(rounds()) && now-q.begun > searchAgain && !idle {
		q.search(now)
	}
	return q.nap(now, idle, chosen.IsValid())
}

// nap is the time until the next tick.
func (q *prober) nap(now time.Duration, idle, direct bool) time.Duration {
	searching := q.round < len(rounds())
	switch {
	case searching:
		return max(time.Millisecond, min(rounds()[q.round]-(now-q.begun), pingEvery))
	case !idle && direct:
		return pingEvery
	case !idle:
		return lookAround
	}
	q.idle.Store(true)
	return idlePing
}

// search begins the rounds anew.
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
		q.p.probe(q.e, probe{kind: probeCandidates, addrs: own}, netip.AddrPort{}, 0)
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
		q.ping(a, packetSize)
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
	q.pings[tx] = pingSent{to, now}
	m := probe{kind: probePing, tx: tx, chosen: to.IsValid() && to == q.chosen, seen: q.seen[to]}
	if m.chosen && q.silent == 0 {
		q.silent = now
	}
	q.mu.Unlock()
	q.p.probe(q.e, m, to, size)
}

// pingChosen asks by the path in use: with as much as it carries when it carries
// much, since a path may begin to lose big packets alone.
func (q *prober) pingChosen(now time.Duration) {
	q.lastPing = now
	size := 0
	if moved := q.e.moved.Load(); moved-q.pingMoved > bulk {
		size = packetSize
		q.pingMoved = moved
	}
	q.mu.Lock()
	to := q.chosen
	q.mu.Unlock()
	q.ping(to, size)
}

// offered notes where the agent may be.
func (q *prober) offered(addrs []netip.AddrPort, forbid bool) {
	q.mu.Lock()
	var fresh []netip.AddrPort
	for _, a := range addrs {
		if !slices.Contains(q.remote, a) && len(q.remote) < 2*maxCandidates {
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
		q.ping(a, packetSize)
	}
}

// pong takes an answer. It counts when it came by the way that was asked.
func (q *prober) pong(m probe, from netip.AddrPort) {
	now := q.p.since()
	q.mu.Lock()
	s, ok := q.pings[m.tx]
	if !ok || s.to != from {
		q.mu.Unlock()
		return
	}
	delete(q.pings, m.tx)
	rtt := now - s.at
	if old, ok := q.rtts[from]; ok {
		rtt = (7*old + rtt) / 8
	}
	q.rtts[from] = rtt
	if !from.IsValid() {
		q.mu.Unlock()
		return
	}
	q.seen[from] = m.seen
	move := !q.chosen.IsValid() || from != q.chosen && rtt < q.rtts[q.chosen]*8/10
	if move {
		q.chosen, q.why = from, ""
	}
	if from == q.chosen {
		q.silent = 0
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
	q.p.log.Debug("the tunnel goes directly", "to", from, "rtt", rtt)
	q.ping(from, 0) // tells the agent
	q.poke()
}

// leaveDead goes back to the relay when the chosen path does not answer.
func (q *prober) leaveDead(now time.Duration) {
	q.mu.Lock()
	dead := q.chosen.IsValid() && q.silent != 0 && now-q.silent > trust
	to := q.chosen
	q.mu.Unlock()
	if dead {
		q.failed(to, nil)
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
	q.p.log.Debug("the tunnel goes through the relay", "reason", q.why)
	q.chosen, q.silent = netip.AddrPort{}, 0
	delete(q.rtts, to)
	q.mu.Unlock()
	q.e.direct.Store(nil)
	q.p.probe(q.e, probe{kind: probeRelayOnly}, netip.AddrPort{}, 0)
	q.p.returned(q.e.session)
	q.poke()
}
