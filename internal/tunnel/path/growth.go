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

// QUIC's congestion window doubles with each round trip at first, and ends that when
// round trips take 4 ms longer for a moment: which a busy machine, Wi-Fi, or the
// relay's TCP connection that begins slowly itself, all do. From then on it grows by
// one packet per round trip, and a fast path over a distance stays almost empty for
// minutes. So a connection that only its window holds back, on a path without a
// queue and with few losses, starts again: with the migration that QUIC has for new paths,
// since a new path is of unknown width.
//
// An agent has its connection see another address of the client, as if a router had
// changed it. A client has it check and switch to a path, which is the same one; the
// packet that asks for the check bears a mark, on which the agent's path shows its
// QUIC another address, for from a known one it would not answer.

const (
	// growthLook is the least time over which a connection is looked at, and
	// growthTrips are the least round trips.
	growthLook  = 200 * time.Millisecond
	growthTrips = 8
	// growthSample is how often, between, a round trip is taken note of.
	growthSample = 5 * time.Millisecond
	// growthShort is a round trip in which a window grows quickly enough anyway.
	growthShort = 2 * time.Millisecond
	// growthSlack is by how much round trips may be longer than the shortest on a
	// path without a queue.
	growthSlack = 4 * time.Millisecond
	// growthLoss is of how many packets one may be lost, by chance, on a way that has
	// room: where a queue overflows it is more.
	growthLoss = 200
	// growthAgain is how long after a new beginning the next may come. The time
	// doubles up to growthRarely while it does not help.
	growthAgain  = 500 * time.Millisecond
	growthRarely = 16 * time.Second
	// growthFull is for how long it is remembered at which window a queue was seen,
	// but not in the first growthSettle after a beginning, when all is unsteady.
	growthFull   = 10 * time.Second
	growthSettle = time.Second
	// growthCheck bounds the check of a path.
	growthCheck = 2 * time.Second

	// askSize is the size of the packet that asks for it, and askMark comes before.
	askSize = 1200
	askMark = probe.Mark + 1
)

// The same happens after packets took another way: what was learned of the one
// before, above all the shortest round trip, says nothing of it.

// growth is what is known of a connection's window. Its methods may be called by
// several goroutines at once.
type growth struct {
	next    atomic.Int64 // when to take note, as path.since
	asking  atomic.Bool  // a client checks its path
	moved   atomic.Bool  // packets take another way
	restart func()       // starts the window again

	mu    sync.Mutex
	due   time.Duration // when to look, as of the last look: after an outage round trips seem as long as it was
	low   time.Duration // the shortest round trip noted since at; 0: none was
	at    time.Duration // of was
	was   quic.ConnectionStats
	since time.Duration // the last new beginning
	wait  time.Duration // until the next
	from  uint64        // the window before it
	full  uint64        // the last window with which there was a queue
	seen  time.Duration // when
}

// look starts the window again when it is time to, and has parities sent when packets were lost;
// it is called with what is sent.
func (e *Peer) look(c *quic.Conn, now time.Duration) {
	g := &e.growth
	if int64(now) < g.next.Load() || !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	g.next.Store(int64(now + growthSample))
	s := c.ConnectionStats()
	if g.low == 0 || s.LatestRTT < g.low {
		g.low = s.LatestRTT
	}
	if now < g.due {
		return
	}
	was, low, took := g.was, g.low, now-g.at
	over := max(growthLook, growthTrips*s.SmoothedRTT)
	g.was, g.low, g.at, g.due = s, 0, now, now+over
	if s.PacketsLost > was.PacketsLost {
		e.parityOut.Lost(now)
	}
	if s.CongestionWindow >= 2*g.from {
		g.wait = growthAgain
	}
	if took > 2*over {
		return // there was a pause
	}
	moved := g.moved.Load()
	if moved {
		g.full = 0 // of another way, as the shortest round trip is
	} else if queued(s, low) && now-g.since > growthSettle {
		g.full, g.seen = s.CongestionWindow, now
	}
	wide := g.full == 0 || now-g.seen > growthFull || s.CongestionWindow < g.full/2
	moved = moved && used(was, s, took)
	if !moved && !(wide && stuck(was, s, low, took)) || now-g.since < g.wait {
		return
	}
	g.moved.Store(false)
	g.since, g.from = now, s.CongestionWindow
	g.wait = min(2*max(g.wait, growthAgain), growthRarely)
	g.at = 0 // what comes next is not compared with what was
	g.restart()
}

// stuck reports that between two looks only its window held a connection back, and grew
// slowly, on a path that has room.
func stuck(was, is quic.ConnectionStats, low, took time.Duration) bool {
	if is.MinRTT < growthShort || queued(is, low) || is.PacketsLost > was.PacketsLost+(is.PacketsSent-was.PacketsSent)/growthLoss {
		return false
	}
	return used(was, is, took) && is.CongestionWindow < was.CongestionWindow*5/4
}

// used reports that a connection sent about what its window lets it.
func used(was, is quic.ConnectionStats, took time.Duration) bool {
	if is.SmoothedRTT <= 0 {
		return false
	}
	return float64(is.BytesSent-was.BytesSent) > 0.7*float64(was.CongestionWindow)*float64(took)/float64(is.SmoothedRTT)
}

// queued reports that packets wait on the way: even the quickest of many, low, took
// longer than the way is. The usual round trip says nothing of it: at a busy
// processor packets wait as well, but not all of them.
func queued(s quic.ConnectionStats, low time.Duration) bool {
	return low > s.MinRTT+max(growthSlack, s.MinRTT/8)
}

// readdress starts the window of an agent's connection again.
func (e *Peer) readdress() {
	a := *e.addr.Load()
	a.Port = 1 + a.Port%2
	e.addr.Store(&a)
}

// switcher returns the function that starts the window of a client's connection again.
func (e *Peer) switcher(c *quic.Conn, t *quic.Transport) func() {
	var last *quic.Path
	return func() {
		if !e.growth.asking.CompareAndSwap(false, true) {
			return
		}
		go func() {
			defer e.growth.asking.Store(false)
			ctx, cancel := context.WithTimeout(c.Context(), growthCheck)
			defer cancel()
			next, err := c.AddPath(t)
			if err != nil {
				return
			}
			if next.Probe(ctx) != nil || next.Switch() != nil {
				_ = next.Close() // an agent of before may not answer
				return
			}
			if last != nil {
				_ = last.Close()
			}
			last = next
		}()
	}
}

// mark returns the packet with which a client asks for a check of its path, marked;
// other packets as they are.
func (e *Peer) mark(b []byte) []byte {
	if len(b) != askSize || !e.growth.asking.Load() {
		return b
	}
	return append([]byte{askMark}, b...)
}

// shown returns a packet as QUIC sees it, and the address that it came from.
func (e *Peer) shown(b []byte) ([]byte, net.Addr) {
	if len(b) == 1+askSize && b[0] == askMark {
		return b[1:], e.asks()
	}
	return b, e.addr.Load()
}
