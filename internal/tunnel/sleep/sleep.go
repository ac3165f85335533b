// Package sleep decides which tunnels of an agent sleep, and which of them end because all
// together need too much memory.
//
// A tunnel sleeps while nothing comes from its client: the laptop is closed, or offline. It
// is kept without a limit of time. Each costs memory: Base, and what it holds of streams,
// which the flow control bounds. When the sleeping ones hold more than the agent's limit,
// those that sleep longest end.
package sleep

import (
	"cmp"
	"slices"
	"time"
)

const (
	// Base is the memory in bytes that a sleeping tunnel counts for besides what it holds
	// of streams: its connection, an SSH session in it, and their goroutines.
	Base = 256 << 10
	// DefaultLimit is the limit in bytes where the server states none.
	DefaultLimit = 64 << 20

	// quiet is how long a client may be silent until it sleeps: an idle one is heard every
	// four minutes, and may lose one packet.
	quiet = 9 * time.Minute
	// overdue is the same for a client that owes an acknowledgement of data.
	overdue = time.Minute
)

// Client observes the client of one tunnel. Its methods may not be called at the same time.
type Client struct {
	received uint64
	heard    time.Time
}

// Observe notes how much the agent has received from the client so far, in any unit. The
// first call counts as a sign of the client.
func (c *Client) Observe(received uint64, now time.Time) {
	if c.heard.IsZero() || received != c.received {
		c.received, c.heard = received, now
	}
}

// Silent returns how long nothing has come from the client.
func (c *Client) Silent(now time.Time) time.Duration { return now.Sub(c.heard) }

// Tunnel is the state of a tunnel. K names it.
type Tunnel[K any] struct {
	Key    K
	Silent time.Duration // nothing has come from the client for so long
	Held   uint64        // bytes of streams, sent without an acknowledgement or not yet read
	Unsent bool          // some of them are without an acknowledgement
}

// Asleep reports whether a tunnel sleeps.
func (t Tunnel[K]) Asleep() bool { return t.Silent >= quiet || t.Unsent && t.Silent >= overdue }

// Memory returns the bytes that a sleeping tunnel counts for.
func (t Tunnel[K]) Memory() uint64 { return Base + t.Held }

// Excess returns the tunnels that end so that the sleeping ones of all need at most limit
// bytes: those that sleep longest, in this order.
func Excess[K any](all []Tunnel[K], limit uint64) (end []Tunnel[K]) {
	asleep := slices.DeleteFunc(slices.Clone(all), func(t Tunnel[K]) bool { return !t.Asleep() })
	slices.SortStableFunc(asleep, func(a, b Tunnel[K]) int { return cmp.Compare(b.Silent, a.Silent) })
	sum := uint64(0)
	for _, t := range asleep {
		sum += t.Memory()
	}
	for _, t := range asleep {
		if sum <= limit {
			break
		}
		sum -= t.Memory()
		end = append(end, t)
	}
	return end
}
