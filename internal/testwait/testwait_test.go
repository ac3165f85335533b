package testwait_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// failure is a test whose message is kept.
type failure struct{ message string }

func (f *failure) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failed returns the message of the failure that run causes.
func failed(t *testing.T, run func(testwait.Failer)) string {
	t.Helper()
	f, ended := &failure{}, make(chan struct{})
	go func() {
		defer close(ended)
		run(f)
	}()
	<-ended
	return f.message
}

func TestUntilReturnsWhenTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, polls := time.Now(), 0
		testwait.Until(t, "the tenth poll", func() bool { polls++; return polls == 10 })
		if took := time.Since(start); polls != 10 || took > 200*time.Millisecond {
			t.Errorf("%d polls in %s", polls, took)
		}
		start, polls = time.Now(), 0
		testwait.Until(t, "the tenth poll", func() bool { polls++; return polls == 10 }, testwait.Every(time.Second))
		if took := time.Since(start); took != 9*time.Second {
			t.Errorf("ten polls, one a second, took %s", took)
		}
	})
}

func TestAConditionThatNeverHoldsFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, last := time.Now(), time.Time{}
		got := failed(t, func(f testwait.Failer) {
			testwait.Until(f, "the agent is ready", func() bool { last = time.Now(); return false },
				testwait.Within(time.Minute), testwait.Showing(func() string { return "its log" }))
		})
		if want := "not within 1m0s: the agent is ready\nits log"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if last.Sub(start) != time.Minute {
			t.Errorf("the last poll was after %s", last.Sub(start))
		}
	})
}

func TestValueReturnsTheValueAndShowsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		next := func() int { n++; return n }
		if got := testwait.Value(t, "three", next, func(n int) bool { return n == 3 }); got != 3 {
			t.Errorf("got %d", got)
		}
		got := failed(t, func(f testwait.Failer) {
			testwait.Value(f, "the build has ended", func() string { return "running" }, func(string) bool { return false })
		})
		if want := "not within 2m0s: the build has ended; last value: running"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		go func() { c <- 7 }()
		if got := testwait.Receive(t, "a number", c); got != 7 {
			t.Errorf("got %d", got)
		}
		got := failed(t, func(f testwait.Failer) { testwait.Receive(f, "a number", c, testwait.Within(time.Second)) })
		if want := "not within 1s: a number"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		close(c)
		if got := testwait.Receive(t, "the end", c); got != 0 {
			t.Errorf("got %d", got)
		}
	})
}
