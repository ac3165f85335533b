package path

import (
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// TestStuck has windows that hold a connection back, and what looks like it.
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
		is   quic.ConnectionStats
		low  time.Duration
		want bool
	}{
		"held back":          {is, 20 * ms, true},
		"not used":           {with(func(s *quic.ConnectionStats) { s.BytesSent = 300_000 }), 20 * ms, false},
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
		if got := stuck(base, c.is, c.low, 200*ms); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestShown has the packet with which a client asks for a check of its path come
// from another address, and no other.
func TestShown(t *testing.T) {
	e := New(Config{}).peer([16]byte{1})
	ask := make([]byte, askSize)
	ask[0] = 0x40
	if got := e.mark(ask); len(got) != askSize {
		t.Error("a packet is marked that nobody asks with")
	}
	e.growth.asking.Store(true)
	got, from := e.shown(e.mark(ask))
	if len(got) != askSize || got[0] != 0x40 || from.String() == e.addr.Load().String() {
		t.Errorf("%d bytes from %s", len(got), from)
	}
	if s, ok := SessionOf(from); !ok || s != e.session {
		t.Error("it came from another session")
	}
	got, from = e.shown(e.mark(ask[:askSize-1]))
	if len(got) != askSize-1 || from.String() != e.addr.Load().String() {
		t.Errorf("%d bytes from %s", len(got), from)
	}
	before := e.addr.Load().String()
	e.readdress()
	if e.addr.Load().String() == before || e.addr.Load().String() == e.asks().String() {
		t.Error("the address is the one before")
	}
}
