package path

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// TestDialsOverlap has attempts to dial that hang, as in an outage, and one that
// fails for good.
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
		if took := time.Since(start); took != 2*overlap {
			t.Errorf("took %v", took)
		}
		final := errors.New("final")
		p.c.Relay = func(context.Context) (relay.Link, error) { return nil, final }
		if _, err := p.dial(t.Context()); !errors.Is(err, final) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDialsAreBegunAgain has what was begun in an outage hang for ever, as a
// connection does whose first packet was lost: whenever the outage ends, an
// attempt begins soon after. One that is slow and not lost may take its time.
func TestDialsAreBegunAgain(t *testing.T) {
	for _, outage := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, dialLimit - time.Second} {
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
			if late := time.Since(start) - outage; late > overlap {
				t.Errorf("an outage of %v was noticed to be over %v late", outage, late)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		const slow = 4 * overlap
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
