// Package testwait waits in tests for the work of other goroutines, processes
// and servers. Where a test can wait on a channel or in a testing/synctest
// bubble, it does; this package is for state that can only be polled.
package testwait

import (
	"fmt"
	"time"
)

// Limit is how long a condition may take. It is far more than any condition
// needs on a busy machine: it ends a test that hangs and measures nothing.
const Limit = 2 * time.Minute

// Polling starts at the shortest interval and slows down to the longest.
const (
	shortest = time.Millisecond
	longest  = 50 * time.Millisecond
)

// Failer is a running test. *testing.T, *testing.B and *testscript.TestScript
// implement it.
type Failer interface {
	// Fatalf ends the test, which failed.
	Fatalf(format string, args ...any)
}

type config struct {
	limit time.Duration
	every time.Duration // 0: from shortest to longest
	state func() string
}

// Option changes how a function of this package waits.
type Option func(*config)

// Every sets a fixed interval between polls, for servers that limit the rate of
// requests. Without it the interval grows from 1 ms to 50 ms.
func Every(d time.Duration) Option { return func(c *config) { c.every = d } }

// Within sets how long the condition may take, instead of [Limit].
func Within(d time.Duration) Option { return func(c *config) { c.limit = d } }

// Showing adds to the failure message what state returns then, such as the
// output of a process.
func Showing(state func() string) Option { return func(c *config) { c.state = state } }

// Until polls done until it returns true. what names the condition in the
// message of the failure. Call it from the test's own goroutine, because it may
// call Fatalf.
func Until(t Failer, what string, done func() bool, options ...Option) {
	help(t)()
	c := configure(options)
	if !c.poll(done) {
		c.fail(t, what, "")
	}
}

// Value polls get until wanted accepts its value, and returns that value. The
// message of the failure shows the last value.
func Value[T any](t Failer, what string, get func() T, wanted func(T) bool, options ...Option) T {
	help(t)()
	c := configure(options)
	var last T
	if !c.poll(func() bool { last = get(); return wanted(last) }) {
		c.fail(t, what, fmt.Sprintf("; last value: %+v", last))
	}
	return last
}

// Receive returns the next value of a channel, or the zero value of a closed
// channel.
func Receive[T any](t Failer, what string, from <-chan T, options ...Option) T {
	help(t)()
	c := configure(options)
	late := time.NewTimer(c.limit)
	defer late.Stop()
	select {
	case v := <-from:
		return v
	case <-late.C:
		c.fail(t, what, "")
	}
	var none T
	return none
}

// Pause lets time pass as a part of what is tested, such as the length of an
// outage. It is not for waiting until something has happened.
func Pause(d time.Duration) { <-time.After(d) }

func configure(options []Option) config {
	c := config{limit: Limit}
	for _, o := range options {
		o(&c)
	}
	return c
}

// poll reports whether done returned true in time. It polls once more at the
// end: a process that was not scheduled for long may have missed its moment.
func (c config) poll(done func() bool) bool {
	interval := c.every
	if interval == 0 {
		interval = shortest
	}
	for end := time.Now().Add(c.limit); ; {
		if done() {
			return true
		}
		left := time.Until(end)
		if left <= 0 {
			return false
		}
		time.Sleep(min(interval, left))
		if c.every == 0 {
			interval = min(interval*3/2, longest)
		}
	}
}

func (c config) fail(t Failer, what, last string) {
	help(t)()
	if c.state != nil {
		last += "\n" + c.state()
	}
	t.Fatalf("not within %s: %s%s", c.limit, what, last)
}

// help returns t.Helper, if t has it, for the calling function to call itself.
func help(t Failer) func() {
	if h, ok := t.(interface{ Helper() }); ok {
		return h.Helper
	}
	return func() {}
}
