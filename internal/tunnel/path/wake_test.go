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

// TestWakeDialsAtOnce ends an outage of hours, in which the waits between attempts to dial
// became long: when the machine wakes up or has another address, the next attempt starts at
// once, and it does not wait for one that hangs.
func TestWakeDialsAtOnce(t *testing.T) {
	refused := errors.New("no network")
	for name, c := range map[string]struct {
		hangs bool // an attempt of the outage never ends
		wake  func(*atomic.Int64, *atomic.Bool)
		limit time.Duration
	}{
		"the wall clock jumped":                     {false, func(jump *atomic.Int64, _ *atomic.Bool) { jump.Store(int64(8 * time.Hour)) }, watchEvery},
		"the wall clock jumped while a dial hangs":  {true, func(jump *atomic.Int64, _ *atomic.Bool) { jump.Store(int64(8 * time.Hour)) }, watchEvery},
		"the machine has another address":           {false, func(_ *atomic.Int64, moved *atomic.Bool) { moved.Store(true) }, lookAround + watchEvery},
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

// TestWakeDoubtsTheLink has the machine sleep with a link that died in silence: another one
// is in use half a second after the wake-up.
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
		if took := time.Since(start); took > watchEvery+headStart+50*time.Millisecond {
			t.Errorf("replaced after %v", took)
		}
		_ = p.Close()
	})
}

// TestEndedSessionsAreBounded bounds the ends that an agent remembers, and how often it
// reports one.
func TestEndedSessionsAreBounded(t *testing.T) {
	var n endings
	for i := range maxEndings + 10 {
		n.add(relay.Session{byte(i), byte(i >> 8)}, &ending{text: "ended"})
	}
	if len(n.by) != maxEndings || len(n.order) != maxEndings {
		t.Errorf("%d and %d are remembered", len(n.by), len(n.order))
	}
	if n.knows(relay.Session{0, 0}) {
		t.Error("the oldest is still known")
	}
	last := relay.Session{byte((maxEndings + 9) % 256), byte((maxEndings + 9) >> 8)}
	if n.due(last, time.Second) == nil || n.due(last, time.Second+tellEvery-1) != nil || n.due(last, time.Second+tellEvery) == nil {
		t.Error("an end is reported too often, or too rarely")
	}
}
