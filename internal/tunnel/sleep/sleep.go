// Package sleep decides which tunnels of an agent sleep, and which of them end because they
// need too much memory together.
//
// A tunnel sleeps while no packet arrives from its client: the laptop is closed, or offline.
// A sleeping tunnel is kept without a time limit. It needs memory: Base, and its
// unacknowledged and unread stream data, which flow control bounds. When the sleeping
// tunnels need more than the agent's limit, those that have slept longest end.
package sleep

import (
	"cmp"
	"slices"
	"time"
)

const (
	// Base is the memory in bytes that a sleeping tunnel counts for besides its stream data:
	// its connection, an SSH session in it, and their goroutines.
	Base = 256 << 10
	// DefaultLimit is the memory limit in bytes if the server sends none.
	DefaultLimit = 64 << 20

	// quiet is the silence after which a client sleeps. An idle client sends a packet every
	// four minutes, and may lose one.
	quiet = 9 * time.Minute
	// overdue is the same for a client that has not acknowledged data.
	overdue = time.Minute
)

// Client observes the client of one tunnel. Its methods must not be called concurrently.
type Client struct {
	received uint64
	heard    time.Time
}

// Observe notes how much the agent has received from the client so far, in any unit. The first
// call counts as received data.
func (c *Client) Observe(received uint64, now time.Time) {
	if c.heard.IsZero() || received != c.received {
		c.received, c.heard = received, now
	}
}

// Silent returns the time since data last arrived from the client.
func (c *Client) Silent(now time.Time) time.Duration { return now.Sub(c.heard) }

// Tunnel is the state of a tunnel. Key identifies it.
type Tunnel[K any] struct {
	Key    K
	Silent time.Duration // time since data last arrived from the client
	Held   uint64        // bytes of streams, sent without an acknowledgement or not yet read
	Unsent bool          // some of these bytes lack an acknowledgement
}

// Asleep reports whether a tunnel sleeps.
func (t Tunnel[K]) Asleep() bool { return t.Silent >= quiet || t.Unsent && t.Silent >= overdue }

// Memory returns the bytes that a sleeping tunnel counts for.
func (t Tunnel[K]) Memory() uint64 { return Base + t.Held }

// Excess returns the tunnels to end so that the remaining sleeping tunnels need at most limit
// bytes: those that have slept longest, in this order.
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
