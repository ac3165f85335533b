package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

func TestEveryWaitsAnIntervalBeforeEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		start := time.Now()
		var calls []time.Duration
		lifecycle.Every(ctx, 10*time.Second, func(context.Context) { calls = append(calls, time.Since(start)) })
		if want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}; !slices.Equal(calls, want) {
			t.Errorf("called at %v, want %v", calls, want)
		}
		if time.Since(start) != 35*time.Second {
			t.Errorf("returned after %v, not when the context ended", time.Since(start))
		}
	})
}

func TestPoll(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name  string
		ends  int // the call that ends the loop; 0: none
		err   error
		wakes []time.Duration
		want  []time.Duration
		is    error
	}{
		{"done at once", 1, nil, nil, []time.Duration{0}, nil},
		{"polls", 3, nil, nil, []time.Duration{0, 10 * time.Second, 20 * time.Second}, nil},
		{"woken", 3, nil, []time.Duration{time.Second, 2 * time.Second}, []time.Duration{0, time.Second, 2 * time.Second}, nil},
		{"fails", 2, broken, nil, []time.Duration{0, 10 * time.Second}, broken},
		{"context ends", 0, nil, []time.Duration{22 * time.Second}, []time.Duration{0, 10 * time.Second, 20 * time.Second, 22 * time.Second}, context.DeadlineExceeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
				defer cancel()
				start := time.Now()
				wake := make(chan struct{}, len(test.wakes))
				for _, at := range test.wakes {
					time.AfterFunc(at, func() { wake <- struct{}{} })
				}
				var calls []time.Duration
				err := lifecycle.Poll(ctx, 10*time.Second, wake, func(context.Context) (bool, error) {
					calls = append(calls, time.Since(start))
					if len(calls) == test.ends {
						return test.err == nil, test.err
					}
					return false, nil
				})
				if !errors.Is(err, test.is) {
					t.Errorf("got %v, want %v", err, test.is)
				}
				if !slices.Equal(calls, test.want) {
					t.Errorf("called at %v, want %v", calls, test.want)
				}
			})
		})
	}
}
