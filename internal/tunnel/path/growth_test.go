package path

import (
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// TestStuck checks limitedByWindow with connections that only their window limits, and with
// similar connections that have another limit.
func TestStuck(t *testing.T) {
	const ms = time.Millisecond
	base := quic.ConnectionStats{CongestionWindow: 100_000, MinRTT: 20 * ms, SmoothedRTT: 21 * ms, PacketsLost: 5}
	is := base
	is.BytesSent, is.CongestionWindow = 950_000, 101_000 // in 200 ms
	with := func(f func(*quic.ConnectionStats)) quic.ConnectionStats {
		c := is
		f(&c)
		return c
	}
	for name, c := range map[string]struct {
		is     quic.ConnectionStats
		minRTT time.Duration
		want   bool
	}{
		"limited by window":  {is, 20 * ms, true},
		"window not used":    {with(func(s *quic.ConnectionStats) { s.BytesSent = 300_000 }), 20 * ms, false},
		"growing":            {with(func(s *quic.ConnectionStats) { s.CongestionWindow = 150_000 }), 20 * ms, false},
		"a queue":            {with(func(s *quic.ConnectionStats) { s.SmoothedRTT = 26 * ms }), 25 * ms, false},
		"a busy processor":   {with(func(s *quic.ConnectionStats) { s.SmoothedRTT = 26 * ms }), 21 * ms, true},
		"a loss":             {with(func(s *quic.ConnectionStats) { s.PacketsLost++ }), 20 * ms, false},
		"few losses":         {with(func(s *quic.ConnectionStats) { s.PacketsSent, s.PacketsLost = 800, 9 }), 20 * ms, true},
		"many losses":        {with(func(s *quic.ConnectionStats) { s.PacketsSent, s.PacketsLost = 800, 10 }), 20 * ms, false},
		"a short way":        {with(func(s *quic.ConnectionStats) { s.MinRTT, s.SmoothedRTT = ms, ms }), ms, false},
		"nothing known":      {quic.ConnectionStats{}, 0, false},
		"a long way's noise": {with(func(s *quic.ConnectionStats) { s.MinRTT, s.SmoothedRTT, s.BytesSent = 100*ms, 110*ms, 190_000 }), 110 * ms, true},
	} {
		if got := limitedByWindow(base, c.is, c.minRTT, 200*ms); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestShown checks that the packet with a client's path challenge, and no other packet, is
// shown to QUIC with another address.
func TestShown(t *testing.T) {
	e := New(Config{}).peer([16]byte{1})
	challenge := make([]byte, challengeSize)
	challenge[0] = 0x40
	if got := e.addMark(challenge); len(got) != challengeSize {
		t.Error("a packet is marked although no path is probed")
	}
	e.growth.probing.Store(true)
	got, from := e.removeMark(e.addMark(challenge))
	if len(got) != challengeSize || got[0] != 0x40 || from.String() == e.addr.Load().String() {
		t.Errorf("%d bytes from %s", len(got), from)
	}
	if s, ok := SessionOf(from); !ok || s != e.session {
		t.Error("the marked packet came from another session")
	}
	got, from = e.removeMark(e.addMark(challenge[:challengeSize-1]))
	if len(got) != challengeSize-1 || from.String() != e.addr.Load().String() {
		t.Errorf("%d bytes from %s", len(got), from)
	}
	before := e.addr.Load().String()
	e.changeAddress()
	if e.addr.Load().String() == before || e.addr.Load().String() == e.challengeAddr().String() {
		t.Error("the address did not change, or is the one of path challenges")
	}
}
