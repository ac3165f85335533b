package path

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// TestDialsOverlap checks dial attempts that hang, as in an outage, and an attempt that fails
// with a final error.
func TestDialsOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		p := New(Config{Relay: func(ctx context.Context) (relay.Link, error) {
			if tries.Add(1) < 3 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			l, _ := relay.LinkPipe()
			return l, nil
		}, Final: func(error) bool { return false }})
		start := time.Now()
		l, err := p.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.Close(0, "")
		if took := time.Since(start); took != 2*redialInterval {
			t.Errorf("took %v", took)
		}
		final := errors.New("final")
		p.c.Relay = func(context.Context) (relay.Link, error) { return nil, final }
		if _, err := p.dial(t.Context()); !errors.Is(err, final) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDialsAreBegunAgain lets dial attempts of an outage hang forever, as after the loss of a
// connection's first packet. An attempt must start within redialInterval of the end of the
// outage. A slow attempt that still makes progress must not be canceled.
func TestDialsAreBegunAgain(t *testing.T) {
	for _, outage := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, dialTimeout - time.Second} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			p := New(Config{Relay: func(ctx context.Context) (relay.Link, error) {
				if time.Since(start) < outage {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				l, _ := relay.LinkPipe()
				return l, nil
			}, Final: func(error) bool { return false }})
			l, err := p.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			l.Close(0, "")
			if late := time.Since(start) - outage; late > redialInterval {
				t.Errorf("dialed %[2]v after the end of an outage of %[1]v", outage, late)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		const slow = 4 * redialInterval
		p := New(Config{Relay: func(ctx context.Context) (relay.Link, error) {
			select {
			case <-time.After(slow):
				l, _ := relay.LinkPipe()
				return l, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, Final: func(error) bool { return false }})
		l, err := p.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.Close(0, "")
	})
}

// quietLink is a link that receives no messages and answers a ping after the time answer.
type quietLink struct {
	answer time.Duration
	sent   chan string
	closed chan struct{}
	once   sync.Once
}

func newQuietLink(answer time.Duration) *quietLink {
	return &quietLink{answer: answer, sent: make(chan string, 100), closed: make(chan struct{})}
}

func (l *quietLink) Send(_ bool, b []byte) error {
	l.sent <- string(b)
	return nil
}

func (l *quietLink) Receive() (*relay.Message, error) {
	<-l.closed
	return nil, errors.New("closed")
}

func (l *quietLink) Ping(ctx context.Context) error {
	select {
	case <-time.After(l.answer):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *quietLink) Close(websocket.StatusCode, string) { l.once.Do(func() { close(l.closed) }) }

// TestSilentLinkIsReplaced checks that a link that dies without an error is replaced within
// 1.7 seconds. A slow link stays in use, although another is dialed.
func TestSilentLinkIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		answer, dial time.Duration
		replaced     bool
	}{
		"dead":                   {time.Hour, 100 * time.Millisecond, true},
		"slow":                   {900 * time.Millisecond, 1800 * time.Millisecond, false},
		"dead, and nothing else": {time.Hour, dialTimeout, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := newQuietLink(c.answer), newQuietLink(0)
				var tries atomic.Int32
				p := New(Config{
					Relay: func(ctx context.Context) (relay.Link, error) {
						if tries.Add(1) == 1 {
							return first, nil
						}
						select {
						case <-time.After(c.dial):
							return second, nil
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					},
					Hello: "hello", Final: func(error) bool { return false }, Log: slog.New(slog.DiscardHandler), Outage: time.Hour,
				})
				start := time.Now()
				p.Start()
				<-first.sent
				select {
				case <-first.closed:
					if c.answer < time.Hour {
						t.Error("a slow link was closed")
					}
					if c.replaced {
						<-second.sent
					}
					if took := time.Since(start); c.replaced && took > 1700*time.Millisecond || !c.replaced && took < 2*relay.LeastSilence {
						t.Errorf("after %v", took)
					}
				case <-time.After(10 * time.Second):
					if c.answer == time.Hour {
						t.Error("a dead link is still in use")
					}
				}
				_ = p.Close()
			})
		})
	}
}

// TestBusyLinkIsRarelyDoubted checks that the next link may be silent for longer after links
// that answered late, until links answer quickly.
func TestBusyLinkIsRarelyDoubted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Relay: func(ctx context.Context) (relay.Link, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		const late, quick = 900 * time.Millisecond, 10 * time.Millisecond
		answers := []time.Duration{late, late, late, late, quick, quick, quick, quick}
		for i, want := range []time.Duration{2, 4, 8, 8, 4, 2, 1, 1} {
			if p.checkLink(t.Context(), newQuietLink(answers[i])); p.patience.Silence() != want*relay.LeastSilence {
				t.Errorf("after answer %d: %v", i, p.patience.Silence())
			}
		}
	})
}
