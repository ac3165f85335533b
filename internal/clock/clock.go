// Package clock follows the clock of another machine, so that processes of one deployment agree about the
// time. Servers follow their database, and agents their server. Changes of the machine's own clock have no
// effect: between observations, time passes as on the machine's monotonic clock.
package clock

import (
	"net/http"
	"sync/atomic"
	"time"
)

// observed is the other machine's time at a local time, which has a monotonic reading.
type observed struct{ remote, local time.Time }

// Clock is the clock of another machine. The zero value is the machine's own clock until the first
// observation. A Clock is safe for concurrent use.
type Clock struct{ last atomic.Pointer[observed] }

// Now returns the time of the other machine.
func (c *Clock) Now() time.Time {
	o := c.last.Load()
	if o == nil {
		return time.Now()
	}
	return o.remote.Add(time.Since(o.local))
}

// Observe records a time that the other machine reported between sent and now. sent needs a monotonic
// reading, which time.Now returns.
func (c *Clock) Observe(remote, sent time.Time) {
	now := time.Now()
	c.last.Store(&observed{remote: remote.Add(now.Sub(sent) / 2).Round(0), local: now})
}

// Client returns a copy of client, nil for the default one, that observes the Date of responses, which is
// exact to a second. Only responses of the machine to follow may come through it.
func (c *Clock) Client(client *http.Client) *http.Client {
	out := &http.Client{}
	if client != nil {
		*out = *client
	}
	if out.Transport == nil {
		out.Transport = http.DefaultTransport
	}
	out.Transport = transport{c, out.Transport}
	return out
}

type transport struct {
	clock *Clock
	next  http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := time.Now()
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			t.clock.Observe(date, sent)
		}
	}
	return resp, err
}
