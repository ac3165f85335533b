package path

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// TestDialsOverlap has attempts to dial that hang, as in an outage, and one that
// fails for good.
func TestDialsOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		p := New(Config{Relay: func(ctx context.Context) (relay.Link, error) {
			if tries++; tries < 3 {
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
