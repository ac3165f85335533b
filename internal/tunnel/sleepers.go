package tunnel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/lane"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/sleep"
)

// sleepCheck is the interval between an agent's checks for clients that are away.
const sleepCheck = 15 * time.Second

// Reasons for the end of a tunnel whose client is away, for users.
const (
	endedForMemory = "it slept longest when the sleeping sessions of this workspace reached the memory limit; connect again"
	endedForTime   = "it slept for longer than this deployment keeps sessions; connect again"
)

// client is an agent's end of one tunnel.
type client struct {
	lane     *lane.Lane // nil for an older client
	observed sleep.Client
	asleep   atomic.Bool

	// QUIC's BytesSent at the last check that found new data from the client, and at the
	// previous such check. Guarded by Listener.mu.
	sent, sentBefore uint64
}

// observe notes the number of received packets, and returns the state of the tunnel. The
// memory of streams that QUIC alone carries is estimated from the bytes that may be in flight.
func (k *client) observe(c *quic.Conn, now time.Time) sleep.Tunnel[*quic.Conn] {
	s := c.ConnectionStats()
	k.observed.Observe(s.PacketsReceived+k.lane.Stats().RxRecords, now)
	silent := k.observed.Silent(now)
	if silent == 0 {
		k.sent, k.sentBefore = s.BytesSent, k.sent
	}
	held, unsent := k.lane.Held()
	held += min(s.CongestionWindow, s.BytesSent-k.sentBefore)
	return sleep.Tunnel[*quic.Conn]{Key: c, Silent: silent, Held: held, Unsent: unsent}
}

// Asleep reports whether the client of the request is away: its laptop is closed or offline.
// An agent detects that after some minutes.
func (r *Request) Asleep() bool { return r.client.asleep.Load() }

// SleepLimits limit the tunnels of an agent whose clients are away.
type SleepLimits struct {
	// Memory is the maximum memory of all sleeping tunnels in bytes, see package sleep; 0
	// means sleep.DefaultLimit.
	Memory uint64
	// Time is how long a tunnel is kept without any packet from its client; 0 means without a
	// limit.
	Time time.Duration
}

// SetSleepLimits changes the limits. A lower time limit that was set when the listener started
// still applies to tunnels that are already open.
func (l *Listener) SetSleepLimits(limits SleepLimits) {
	if limits.Memory == 0 {
		limits.Memory = sleep.DefaultLimit
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = limits
}

// watchSleepers checks which clients are away, and ends the tunnels that exceed the limits,
// until the listener stops.
func (l *Listener) watchSleepers() {
	lifecycle.Every(l.stopping, sleepCheck, func(context.Context) { l.endSleepers(time.Now()) })
}

func (l *Listener) endSleepers(now time.Time) {
	all, limit := l.observe(now)
	end := func(t sleep.Tunnel[*quic.Conn], reason string) {
		l.c.Log.Warn("ended the session of a client that is away", "slept", t.Silent, "reason", reason, "limit_bytes", limit.Memory, "limit", limit.Time)
		_ = t.Key.CloseWithError(closedByAgent, reason)
	}
	for _, t := range all {
		if limit.Time > 0 && t.Asleep() && t.Silent >= limit.Time {
			end(t, endedForTime)
		}
	}
	for _, t := range sleep.Excess(all, limit.Memory) {
		end(t, endedForMemory)
	}
}

// observe returns the state of all tunnels, and the limits.
func (l *Listener) observe(now time.Time) ([]sleep.Tunnel[*quic.Conn], SleepLimits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]sleep.Tunnel[*quic.Conn], 0, len(l.conns))
	for c, k := range l.conns {
		t := k.observe(c, now)
		k.asleep.Store(t.Asleep())
		all = append(all, t)
	}
	return all, l.limit
}

// forgetSession removes the session of a tunnel that has ended. If the client did not end the
// tunnel, it may be away; the agent notifies the client when it returns.
func (l *Listener) forgetSession(s relay.Session, c *quic.Conn) {
	<-c.Context().Done() // AcceptStream returns shortly before the cause is set
	err := context.Cause(c.Context())
	e, closed := errors.AsType[*quic.ApplicationError](err)
	_, idle := errors.AsType[*quic.IdleTimeoutError](err)
	switch {
	case closed && !e.Remote:
		l.path.End(s, e.ErrorMessage)
	case idle:
		l.path.End(s, endedForTime)
	default:
		l.path.Forget(s)
	}
}

// Wake makes the tunnel check its paths at once, for example after the machine has slept. The
// tunnel also detects that without Wake, but later.
func (c *Conn) Wake() { c.path.Wake() }

const (
	// silenceCheck is the interval between a client's checks for a silent agent.
	silenceCheck = time.Minute
	// silenceLimit is how long an agent that the relay reports as connected may be silent:
	// more than three times keepAlive. A longer silence means that the agent lost the session
	// and cannot report that.
	silenceLimit = 15 * time.Minute
)

// watchSilence ends the tunnel when its agent is connected but silent for silenceLimit.
// Outages do not count.
func (c *Conn) watchSilence(every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	var received uint64
	silent := time.Duration(0)
	for {
		select {
		case <-c.Done():
			return
		case <-t.C:
		}
		if now := c.conn.ConnectionStats().PacketsReceived + c.lane.Stats().RxRecords; now != received || c.Interrupted() {
			received, silent = now, 0
			continue
		}
		if silent += every; silent >= silenceLimit {
			c.path.Fail(codersdk.Errorf(codersdk.CodeUnavailable, "The agent no longer knows this connection; connect again"))
			return
		}
	}
}
