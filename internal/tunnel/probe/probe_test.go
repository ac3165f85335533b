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

// someParity returns the parity of two packets.
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

// TestProbes sends each kind, padded and not. A probe must be accepted once, and only from the
// other end.
func TestProbes(t *testing.T) {
	client, agent := bothKeys(t)
	for _, m := range someProbes() {
		for _, size := range []int{0, 1280} {
			b := client.Seal(m, size)
			if len(b) < size || size > 0 && len(b) != size {
				t.Errorf("%d bytes, not %d", len(b), size)
			}
			if _, err := client.Open(b); err == nil {
				t.Error("an end accepted its own probe")
			}
			got, err := agent.Open(b)
			if m.Kind == Ping && !m.Seen.IsValid() {
				got.Seen = netip.AddrPort{} // no address is decoded as the zero address
			}
			if err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("%+v was received as %+v, %v", m, got, err)
			}
			if _, err := agent.Open(b); err == nil {
				t.Errorf("%+v was accepted twice", m)
			}
		}
	}
}

// TestForgedProbes changes each byte of a probe.
func TestForgedProbes(t *testing.T) {
	client, agent := bothKeys(t)
	b := client.Seal(someProbes()[1], 0)
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 1
		if _, err := agent.Open(c); err == nil {
			t.Errorf("accepted with a change of byte %d", i)
		}
		if _, err := agent.Open(b[:i]); err == nil {
			t.Errorf("accepted when truncated to %d bytes", i)
		}
	}
	if _, err := agent.Open(b); err != nil {
		t.Error("the unchanged probe was refused afterwards")
	}
}

// TestReorderedProbes opens probes in any order. Each is accepted once, and a very old one is
// refused.
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
			t.Errorf("%d of %d were accepted", taken, len(all))
		}
	}
	for range 200 {
		_, _ = agent.Open(client.Seal(someProbes()[0], 0))
	}
	if _, err := agent.Open(old); err == nil {
		t.Error("an old probe was accepted")
	}
}

// FuzzProbe passes arbitrary bytes to both parsers. Unsealed data must be refused, and parsed
// data must survive another round trip.
func FuzzProbe(f *testing.F) {
	client, agent := bothKeys(f)
	for _, m := range someProbes() {
		f.Add(m.body())
		f.Add(client.Seal(m, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := agent.Open(b); err == nil && !bytes.HasPrefix(b, append([]byte{Mark}, agent.ID[:]...)) {
			t.Error("an unsealed probe was accepted")
		}
		m, err := parse(b)
		if err != nil {
			return
		}
		again, err := parse(m.body())
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%+v was parsed again as %+v, %v", m, again, err)
		}
	})
}
