package probe

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/parity"
)

func bothKeys(t testing.TB) (client, agent *Keys) {
	t.Helper()
	secret := bytes.Repeat([]byte("0123456789"), 4)
	client, err := NewKeys(secret, false)
	if err != nil {
		t.Fatal(err)
	}
	if agent, err = NewKeys(secret, true); err != nil {
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

func someProbes() []Message {
	a, b := netip.MustParseAddrPort("192.0.2.1:4242"), netip.MustParseAddrPort("[2001:db8::1]:65535")
	return []Message{
		{Kind: Ping, Tx: 7}, {Kind: Ping, Tx: 1 << 63, Chosen: true, Seen: a}, {Kind: Pong, Tx: 9, Seen: b},
		{Kind: Candidates}, {Kind: Candidates, Addrs: []netip.AddrPort{a, b}}, {Kind: Candidates, Forbid: true}, {Kind: RelayOnly},
		{Kind: Wire, Tx: 11, Port: 65535}, {Kind: Hello, Tx: 11},
		{Kind: Mend, Parity: someParity()},
	}
}

// TestProbes sends each kind, padded and not, and wants it once and from the
// other end only.
func TestProbes(t *testing.T) {
	client, agent := bothKeys(t)
	for _, m := range someProbes() {
		for _, size := range []int{0, 1280} {
			b := client.Seal(m, size)
			if len(b) < size || size > 0 && len(b) != size {
				t.Errorf("%d bytes, not %d", len(b), size)
			}
			if _, err := client.Open(b); err == nil {
				t.Error("an end takes its own probe")
			}
			got, err := agent.Open(b)
			if m.Kind == Ping && !m.Seen.IsValid() {
				got.Seen = netip.AddrPort{} // no address reads as the zero one
			}
			if err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("%+v came as %+v, %v", m, got, err)
			}
			if _, err := agent.Open(b); err == nil {
				t.Errorf("%+v is taken twice", m)
			}
		}
	}
}

// TestForgedProbes changes each byte.
func TestForgedProbes(t *testing.T) {
	client, agent := bothKeys(t)
	b := client.Seal(someProbes()[1], 0)
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 1
		if _, err := agent.Open(c); err == nil {
			t.Errorf("byte %d was changed", i)
		}
		if _, err := agent.Open(b[:i]); err == nil {
			t.Errorf("cut to %d bytes", i)
		}
	}
	if _, err := agent.Open(b); err != nil {
		t.Error("after all that the real one is refused")
	}
}

// TestReorderedProbes takes probes in any order, each once, and none that is
// too old to know.
func TestReorderedProbes(t *testing.T) {
	client, agent := bothKeys(t)
	var all [][]byte
	for range 64 {
		all = append(all, client.Seal(someProbes()[0], 0))
	}
	old := all[0]
	r := rand.New(rand.NewPCG(1, 1))
	for range 3 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		taken := 0
		for _, b := range all {
			if _, err := agent.Open(b); err == nil {
				taken++
			}
		}
		if taken != len(all) && taken != 0 {
			t.Errorf("%d of %d were taken", taken, len(all))
		}
	}
	for range 200 {
		_, _ = agent.Open(client.Seal(someProbes()[0], 0))
	}
	if _, err := agent.Open(old); err == nil {
		t.Error("an old one is taken")
	}
}

// FuzzProbe returns both parsers whatever comes: what was not sealed is not taken,
// and what is sealed reads as what was meant, or not at all.
func FuzzProbe(f *testing.F) {
	client, agent := bothKeys(f)
	for _, m := range someProbes() {
		f.Add(m.body())
		f.Add(client.Seal(m, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := agent.Open(b); err == nil && !bytes.HasPrefix(b, append([]byte{Mark}, agent.ID[:]...)) {
			t.Error("rubbish is taken")
		}
		m, err := parse(b)
		if err != nil {
			return
		}
		again, err := parse(m.body())
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%+v reads again as %+v, %v", m, again, err)
		}
	})
}
