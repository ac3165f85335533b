package sleep

import (
	"slices"
	"testing"
	"time"
)

// TestExcess checks that the tunnels that have slept longest end, and never one that is awake.
func TestExcess(t *testing.T) {
	long, longer, longest := 10*time.Minute, time.Hour, 8*time.Hour
	for name, c := range map[string]struct {
		all   []Tunnel[string]
		limit uint64
		want  []string
	}{
		"nothing":                     {nil, 0, nil},
		"all fit":                     {[]Tunnel[string]{{Key: "a", Silent: long}, {Key: "b", Silent: longest}}, 2 * Base, nil},
		"one too many":                {[]Tunnel[string]{{Key: "a", Silent: long}, {Key: "b", Silent: longest}, {Key: "c", Silent: longer}}, 2 * Base, []string{"b"}},
		"no memory":                   {[]Tunnel[string]{{Key: "a", Silent: long}, {Key: "b", Silent: longest}}, 0, []string{"b", "a"}},
		"stream data counts":          {[]Tunnel[string]{{Key: "a", Silent: longest, Held: 5}, {Key: "b", Silent: long, Held: 7}}, 2*Base + 7, []string{"a"}},
		"an idle one is awake":        {[]Tunnel[string]{{Key: "a", Silent: 8 * time.Minute}, {Key: "b", Silent: 0}}, 0, nil},
		"an acknowledgement is owed":  {[]Tunnel[string]{{Key: "a", Silent: 2 * time.Minute, Held: 1, Unsent: true}}, 0, []string{"a"}},
		"unread data does not count":  {[]Tunnel[string]{{Key: "a", Silent: 2 * time.Minute, Held: 1}}, 0, nil},
		"an awake one with much data": {[]Tunnel[string]{{Key: "a", Silent: time.Second, Held: 1 << 30, Unsent: true}, {Key: "b", Silent: long}}, Base, nil},
	} {
		var got []string
		for _, e := range Excess(c.all, c.limit) {
			got = append(got, e.Key)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q end, not %q", name, got, c.want)
		}
	}
}

// TestObserve checks that silence counts from the last received data.
func TestObserve(t *testing.T) {
	var c Client
	start := time.Now()
	c.Observe(0, start)
	for _, step := range []struct {
		at       time.Duration
		received uint64
		want     time.Duration
	}{{time.Second, 0, time.Second}, {time.Minute, 1, 0}, {time.Hour, 1, 59 * time.Minute}, {2 * time.Hour, 2, 0}} {
		c.Observe(step.received, start.Add(step.at))
		if got := c.Silent(start.Add(step.at)); got != step.want {
			t.Errorf("after %v: silent for %v, not %v", step.at, got, step.want)
		}
	}
}
