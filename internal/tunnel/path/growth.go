package path

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
)

// QUIC's congestion window doubles with each round trip during slow start. Slow start ends
// once round trips take 4 ms longer for a moment. A busy machine, Wi-Fi, or the slow start
// of the relay's own TCP connection can each cause that.
//
// From then on the window grows by one packet per round trip. A fast path with long round
// trips stays almost empty for minutes. So slow start is restarted for a connection that
// only its window limits, on a path without a queue and with few losses. The means is QUIC's
// connection migration, because QUIC knows no bandwidth for a new path.
//
// An agent's path shows its QUIC another address of the client, as if a NAT had rebound it.
// A client probes a path and switches to it, although it is the same path. The client marks
// the packet with the path challenge, and the agent's path removes the mark. It shows that
// packet to QUIC with another address: QUIC does not answer a challenge from a known one.
//
// The window is also restarted after packets moved to another path. Statistics of the
// previous path, above all its shortest round trip, do not apply to the new path.

const (
	// growthMinPeriod is the least period over which a connection is measured.
	// growthMinTrips is the least number of round trips in that period.
	growthMinPeriod = 200 * time.Millisecond
	growthMinTrips  = 8
	// growthSample is the interval between samples of the round trip within the period.
	growthSample = 5 * time.Millisecond
	// growthShortRTT is a round trip so short that the window grows fast enough anyway.
	growthShortRTT = 2 * time.Millisecond
	// growthJitter is how much longer than the shortest a round trip may be on a path
	// without a queue.
	growthJitter = 4 * time.Millisecond
	// growthLoss is the number of packets of which one may be lost by chance, on a path
	// with spare capacity. A queue that overflows loses more.
	growthLoss = 200
	// growthMinWait is the least time between two restarts. The time doubles, up to
	// growthMaxWait, while restarts do not help.
	growthMinWait = 500 * time.Millisecond
	growthMaxWait = 16 * time.Second
	// growthQueueMemory is how long a window at which a queue was seen is remembered.
	// Queues in the first growthSettle after a restart do not count: traffic is unsteady then.
	growthQueueMemory = 10 * time.Second
	growthSettle      = time.Second
	// growthProbeTimeout bounds the probe of a path.
	growthProbeTimeout = 2 * time.Second

	// challengeSize is the size in bytes of the packet with QUIC's path challenge, and
	// challengeMark is the byte that a client puts before it.
	challengeSize = 1200
	challengeMark = probe.Mark + 1
)

// growth holds what is known about the growth of a connection's window. checkGrowth may be
// called by several goroutines at once.
type growth struct {
	nextSample atomic.Int64 // when to sample the round trip, as Path.elapsed
	probing    atomic.Bool  // a client probes its path
	pathMoved  atomic.Bool  // packets moved to another path since the last restart
	restart    func()       // restarts slow start

	mu sync.Mutex
	// nextCheck is when to check next. It is set at the last check, because after an outage
	// round trips seem as long as the outage was.
	nextCheck     time.Duration
	minRTT        time.Duration // the shortest round trip since lastCheck; 0: no sample
	lastCheck     time.Duration
	lastStats     quic.ConnectionStats // at lastCheck
	lastRestart   time.Duration
	restartWait   time.Duration // the least time between lastRestart and the next restart
	restartWindow uint64        // the window before the last restart
	queueWindow   uint64        // the last window at which there was a queue; 0: none
	queueSeen     time.Duration // when that queue was seen
}

// checkGrowth restarts slow start when that is due, and starts sending parity packets when
// packets were lost. It is called before packets are sent.
func (e *Peer) checkGrowth(c *quic.Conn, now time.Duration) {
	g := &e.growth
	if int64(now) < g.nextSample.Load() || !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	g.nextSample.Store(int64(now + growthSample))
	s := c.ConnectionStats()
	if g.minRTT == 0 || s.LatestRTT < g.minRTT {
		g.minRTT = s.LatestRTT
	}
	if now < g.nextCheck {
		return
	}
	was, minRTT, period := g.lastStats, g.minRTT, now-g.lastCheck
	minPeriod := max(growthMinPeriod, growthMinTrips*s.SmoothedRTT)
	g.lastStats, g.minRTT, g.lastCheck, g.nextCheck = s, 0, now, now+minPeriod
	if s.PacketsLost > was.PacketsLost {
		e.parityOut.Lost(now)
	}
	if s.CongestionWindow >= 2*g.restartWindow {
		g.restartWait = growthMinWait
	}
	if period > 2*minPeriod {
		return // the connection paused, so the period is too long to judge
	}
	moved := g.pathMoved.Load()
	if moved {
		g.queueWindow = 0 // it belongs to the previous path, as does the shortest round trip
	} else if hasQueue(s, minRTT) && now-g.lastRestart > growthSettle {
		g.queueWindow, g.queueSeen = s.CongestionWindow, now
	}
	hasCapacity := g.queueWindow == 0 || now-g.queueSeen > growthQueueMemory || s.CongestionWindow < g.queueWindow/2
	moved = moved && windowUsed(was, s, period)
	if !moved && !(hasCapacity && limitedByWindow(was, s, minRTT, period)) || now-g.lastRestart < g.restartWait {
		return
	}
	g.pathMoved.Store(false)
	g.lastRestart, g.restartWindow = now, s.CongestionWindow
	g.restartWait = min(2*max(g.restartWait, growthMinWait), growthMaxWait)
	g.lastCheck = 0 // so that the next check, after the restart, only stores the statistics
	g.restart()
}

// limitedByWindow reports whether, between two checks, only its slowly growing window
// limited a connection, on a path with spare capacity.
func limitedByWindow(was, is quic.ConnectionStats, minRTT, period time.Duration) bool {
	if is.MinRTT < growthShortRTT || hasQueue(is, minRTT) || is.PacketsLost > was.PacketsLost+(is.PacketsSent-was.PacketsSent)/growthLoss {
		return false
	}
	return windowUsed(was, is, period) && is.CongestionWindow < was.CongestionWindow*5/4
}

// windowUsed reports whether a connection sent about as much as its window allows.
func windowUsed(was, is quic.ConnectionStats, period time.Duration) bool {
	if is.SmoothedRTT <= 0 {
		return false
	}
	return float64(is.BytesSent-was.BytesSent) > 0.7*float64(was.CongestionWindow)*float64(period)/float64(is.SmoothedRTT)
}

// hasQueue reports whether packets wait in a queue on the path. Then even minRTT, the
// shortest of many round trips, is longer than that of the empty path. The average round
// trip is no evidence: packets also wait for a busy processor, but not all of them.
func hasQueue(s quic.ConnectionStats, minRTT time.Duration) bool {
	return minRTT > s.MinRTT+max(growthJitter, s.MinRTT/8)
}

// changeAddress restarts slow start of an agent's connection: it alternates the port of the
// address that QUIC sees.
func (e *Peer) changeAddress() {
	a := *e.addr.Load()
	a.Port = 1 + a.Port%2
	e.addr.Store(&a)
}

// pathSwitcher returns the function that restarts slow start of a client's connection.
func (e *Peer) pathSwitcher(c *quic.Conn, t *quic.Transport) func() {
	var last *quic.Path
	return func() {
		if !e.growth.probing.CompareAndSwap(false, true) {
			return
		}
		go func() {
			defer e.growth.probing.Store(false)
			ctx, cancel := context.WithTimeout(c.Context(), growthProbeTimeout)
			defer cancel()
			next, err := c.AddPath(t)
			if err != nil {
				return
			}
			if next.Probe(ctx) != nil || next.Switch() != nil {
				_ = next.Close() // an older agent may not answer
				return
			}
			if last != nil {
				_ = last.Close()
			}
			last = next
		}()
	}
}

// addMark puts a mark before a packet with a client's path challenge, and returns other
// packets unchanged.
func (e *Peer) addMark(b []byte) []byte {
	if len(b) != challengeSize || !e.growth.probing.Load() {
		return b
	}
	return append([]byte{challengeMark}, b...)
}

// removeMark returns a packet without its mark, and the address from which QUIC sees it come.
func (e *Peer) removeMark(b []byte) ([]byte, net.Addr) {
	if len(b) == 1+challengeSize && b[0] == challengeMark {
		return b[1:], e.challengeAddr()
	}
	return b, e.addr.Load()
}
