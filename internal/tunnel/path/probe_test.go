package path

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/parity"
)

func bothKeys(t testing.TB) (client, agent *probeKeys) {
	t.Helper()
	secret := bytes.Repeat([]byte("0123456789"), 4)
	client, err := newKeys(secret, false)
	if err != nil {
		t.Fatal(err)
	}
	if agent, err = newKeys(secret, true); err != nil {
		t.Fatal(err)
	}
	return client, agent
}

// someParity is of two packets.
func someParity() *parity.Parity {
	y, err := parity.Parse(append([]byte{2, 4, 0, 0, 3, 1, 2, 3, 4}, bytes.Repeat([]byte{7}, 1024)...))
	if err != nil {
		panic(err)
	}
	return y
}

func someProbes() []probe {
	a, b := netip.MustParseAddrPort("192.0.2.1:4242"), netip.MustParseAddrPort("[2001:db8::1]:65535")
	return []probe{
		{kind: probePing, tx: 7}, {kind: probePing, tx: 1 << 63, chosen: true, seen: a}, {kind: probePong, tx: 9, seen: b},
		{kind: probeCandidates}, {kind: probeCandidates, addrs: []netip.AddrPort{a, b}}, {kind: probeCandidates, forbid: true}, {kind: probeRelayOnly},
		{kind: probeWire, tx: 11, port: 65535}, {kind: probeHello, tx: 11},
		{kind: probeParity, parity: someParity()},
	}
}

// TestProbes sends each kind, padded and not, and wants it once and from the
// other end only.
func TestProbes(t *testing.T) {
	client, agent := bothKeys(t)
	for _, m := range someProbes() {
		for _, size := range []int{0, PacketSize} {
			b := client.seal(m, size)
			if len(b) < size || size > 0 && len(b) != size {
				t.Errorf("%d bytes, not %d", len(b), size)
			}
			if _, err := client.open(b); err == nil {
				t.Error("an end takes its own probe")
			}
			got, err := agent.open(b)
			if m.kind == probePing && !m.seen.IsValid() {
				got.seen = netip.AddrPort{} // no address reads as the zero one
			}
			if err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("%+v came as %+v, %v", m, got, err)
			}
			if _, err := agent.open(b); err == nil {
				t.Errorf("%+v is taken twice", m)
			}
		}
	}
}

// TestForgedProbes changes each byte.
func TestForgedProbes(t *testing.T) {
	client, agent := bothKeys(t)
	b := client.seal(someProbes()[1], 0)
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 1
		if _, err := agent.open(c); err == nil {
			t.Errorf("byte %d was changed", i)
		}
		if _, err := agent.open(b[:i]); err == nil {
			t.Errorf("cut to %d bytes", i)
		}
	}
	if _, err := agent.open(b); err != nil {
		t.Error("after all that the real one is refused")
	}
}

// TestReorderedProbes takes probes in any order, each once, and none that is
// too old to know.
func TestReorderedProbes(t *testing.T) {
	client, agent := bothKeys(t)
	var all [][]byte
	for range 64 {
		all = append(all, client.seal(someProbes()[0], 0))
	}
	old := all[0]
	r := rand.New(rand.NewPCG(1, 1))
	for range 3 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		taken := 0
		for _, b := range all {
			if _, err := agent.open(b); err == nil {
				taken++
			}
		}
		if taken != len(all) && taken != 0 {
			t.Errorf("%d of %d were taken", taken, len(all))
		}
	}
	for range 200 {
		_, _ = agent.open(client.seal(someProbes()[0], 0))
	}
	if _, err := agent.open(old); err == nil {
		t.Error("an old one is taken")
	}
}

// FuzzProbe gives both parsers whatever comes: what was not sealed is not taken,
// and what is sealed reads as what was meant, or not at all.
func FuzzProbe(f *testing.F) {
	client, agent := bothKeys(f)
	for _, m := range someProbes() {
		f.Add(m.body())
		f.Add(client.seal(m, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := agent.open(b); err == nil && !bytes.HasPrefix(b, append([]byte{probeMark}, agent.id[:]...)) {
			t.Error("rubbish is taken")
		}
		m, err := parseProbe(b)
		if err != nil {
			return
		}
		again, err := parseProbe(m.body())
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%+v reads again as %+v, %v", m, again, err)
		}
	})
}
