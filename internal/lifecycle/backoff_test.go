package lifecycle_test

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

func TestBackoff(t *testing.T) {
	b := lifecycle.Backoff{Limit: 2 * time.Second}
	for range 3 {
		for i, about := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 2 * time.Second} {
			if got := b.Next(); got < about/2 || got >= about+about/2 {
				t.Errorf("wait %d is %s, not about %s", i, got, about)
			}
		}
		b.Reset()
	}
	// A crowd is spread.
	var early int
	for range 1000 {
		if (&lifecycle.Backoff{}).Next() < 500*time.Millisecond {
			early++
		}
	}
	if early < 300 || early > 700 {
		t.Errorf("%d of 1000 come in the first half of the time", early)
	}
}
