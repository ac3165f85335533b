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
	return o.at(time.Now())
}

// Observe records a time that the other machine reported between sent and now. sent needs a monotonic
// reading, which time.Now returns.
func (c *Clock) Observe(remote, sent time.Time) {
	now := time.Now()
	c.set(remote.Add(now.Sub(sent)/2), now)
}

// observeSecond records that the other machine's clock showed the second that begins with date, between
// sent and now. A clock that agrees with that stays as it is. Others move by the least that agrees, so
// that observations in different moments of a second do not make the clock jump.
func (c *Clock) observeSecond(date, sent time.Time) {
	now := time.Now()
	earliest, latest := date, date.Add(time.Second+now.Sub(sent))
	switch o := c.last.Load(); {
	case o == nil || o.at(now).Before(earliest):
		c.set(earliest, now)
	case o.at(now).After(latest):
		c.set(latest, now)
	}
}

func (c *Clock) set(remote, local time.Time) {
	c.last.Store(&observed{remote: remote.Round(0), local: local})
}

// at returns the other machine's time at a local time.
func (o *observed) at(local time.Time) time.Time { return o.remote.Add(local.Sub(o.local)) }

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
			t.clock.observeSecond(date, sent)
		}
	}
	return resp, err
}
