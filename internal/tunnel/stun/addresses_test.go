package stun

import (
	"net/netip"
	"slices"
	"testing"
	"time"
)

// TestAddresses: only responses to requests of the running round count, an address lasts for two intervals after
// its last response, and rounds have a least distance.
func TestAddresses(t *testing.T) {
	a := NewAddresses()
	first, second := netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("192.0.2.2:2")
	list := func(now time.Duration, want ...netip.AddrPort) {
		t.Helper()
		if got := a.List(now); !slices.Equal(got, want) {
			t.Errorf("after %s: %v, want %v", now, got, want)
		}
	}
	request := func() (id ID) {
		a.NewRequest()
		for id = range a.pending { // the only one
		}
		return id
	}

	if !a.StartQuery(0) || a.StartQuery(0) {
		t.Error("want one round at a time")
	}
	one := request()
	a.AddResponse(one, second, time.Second)
	select {
	case <-a.Updated():
	default:
		t.Error("the new address is not reported")
	}
	a.AddResponse(one, first, time.Second) // a second response to the same request
	list(time.Second, second)
	late := request()
	a.EndQuery()
	a.AddResponse(late, first, time.Second)
	list(time.Second, second)

	if a.StartQuery(queryInterval - 1) {
		t.Error("a round started too early")
	}
	if !a.StartQuery(queryInterval) {
		t.Error("no round started after the interval")
	}
	a.AddResponse(request(), first, queryInterval)
	list(queryInterval, first, second)
	list(time.Second+2*queryInterval, first, second)
	list(time.Second+2*queryInterval+1, first)
}
