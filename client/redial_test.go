package client_test

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/client"
)

func TestRedial(t *testing.T) {
	r := client.Redial{Limit: 2 * time.Second}
	for range 3 {
		for i, about := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 2 * time.Second} {
			if got := r.Next(); got < about/2 || got >= about+about/2 {
				t.Errorf("wait %d is %s, not about %s", i, got, about)
			}
		}
		r.Reset()
	}
	// A crowd is spread.
	var early int
	for range 1000 {
		if (&client.Redial{}).Next() < 500*time.Millisecond {
			early++
		}
	}
	if early < 300 || early > 700 {
		t.Errorf("%d of 1000 come in the first half of the time", early)
	}
}
