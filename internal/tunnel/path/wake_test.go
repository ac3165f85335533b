package path

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// TestWakeDialsAtOnce ends an outage of hours, in which the waits between dial attempts became
// long. When the machine wakes up or gets another address, the next attempt must start at
// once. It must not wait for an attempt that hangs.
func TestWakeDialsAtOnce(t *testing.T) {
	refused := errors.New("no network")
	for name, c := range map[string]struct {
		hangs bool // dial attempts during the outage never return
		wake  func(*atomic.Int64, *atomic.Bool)
		limit time.Duration
	}{
		"the wall clock jumped":                     {false, func(jump *atomic.Int64, _ *atomic.Bool) { jump.Store(int64(8 * time.Hour)) }, watchInterval},
		"the wall clock jumped while a dial hangs":  {true, func(jump *atomic.Int64, _ *atomic.Bool) { jump.Store(int64(8 * time.Hour)) }, watchInterval},
		"the machine has another address":           {false, func(_ *atomic.Int64, moved *atomic.Bool) { moved.Store(true) }, addrCheckInterval + watchInterval},
		"nothing happened, and the wait has passed": {false, func(*atomic.Int64, *atomic.Bool) {}, 2 * backoffLong},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var jump atomic.Int64
				var moved, up atomic.Bool
				dialed := make(chan relay.Link, 1)
				p := New(Config{
					Relay: func(ctx context.Context) (relay.Link, error) {
						if !up.Load() {
							if c.hangs {
								<-ctx.Done()
							}
							return nil, refused
						}
						mine, theirs := relay.LinkPipe()
						select {
						case dialed <- theirs:
						default:
						}
						return mine, nil
					},
					Hello: "hello", Final: func(error) bool { return false }, Log: slog.New(slog.DiscardHandler), Outage: time.Minute,
					Text: func(string) {}, Now: func() time.Time { return time.Now().Add(time.Duration(jump.Load())) },
					Addresses: func() []netip.Addr {
						if moved.Load() {
							return []netip.Addr{netip.MustParseAddr("10.0.0.2")}
						}
						return []netip.Addr{netip.MustParseAddr("10.0.0.1")}
					},
				})
				p.Start()
				time.Sleep(3*time.Hour + 100*time.Millisecond)
				up.Store(true)
				c.wake(&jump, &moved)
				start := time.Now()
				<-dialed
				if took := time.Since(start); took > c.limit {
					t.Errorf("dialed after %v", took)
				}
				_ = p.Close()
			})
		})
	}
}

// TestWakeDoubtsTheLink lets the machine sleep with a link that died without an error. Another
// link must be in use half a second after the machine wakes up.
func TestWakeDoubtsTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var jump atomic.Int64
		first, second := newQuietLink(time.Hour), newQuietLink(0)
		var tries atomic.Int32
		p := New(Config{
			Relay: func(context.Context) (relay.Link, error) {
				if tries.Add(1) == 1 {
					return first, nil
				}
				return second, nil
			},
			Hello: "hello", Final: func(error) bool { return false }, Log: slog.New(slog.DiscardHandler), Outage: time.Hour,
			Now: func() time.Time { return time.Now().Add(time.Duration(jump.Load())) },
		})
		p.Start()
		<-first.sent
		jump.Store(int64(8 * time.Hour))
		start := time.Now()
		<-second.sent
		if took := time.Since(start); took > watchInterval+headStart+50*time.Millisecond {
			t.Errorf("replaced after %v", took)
		}
		_ = p.Close()
	})
}

// TestEndedSessionsAreBounded checks how many ended sessions an agent remembers, and how often
// the agent notifies a client.
func TestEndedSessionsAreBounded(t *testing.T) {
	var n endings
	for i := range maxEndings + 10 {
		n.add(relay.Session{byte(i), byte(i >> 8)}, &ending{text: "ended"})
	}
	if len(n.bySession) != maxEndings || len(n.order) != maxEndings {
		t.Errorf("%d and %d are remembered", len(n.bySession), len(n.order))
	}
	if n.contains(relay.Session{0, 0}) {
		t.Error("the oldest session is still remembered")
	}
	last := relay.Session{byte((maxEndings + 9) % 256), byte((maxEndings + 9) >> 8)}
	if n.takeDue(last, time.Second) == nil || n.takeDue(last, time.Second+endedInterval-1) != nil || n.takeDue(last, time.Second+endedInterval) == nil {
		t.Error("a client is notified too often, or too rarely")
	}
}
