package path

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// across seals a parity and opens it at the other end.
func across(t *testing.T, from, to *probeKeys, y parity) *parity {
	t.Helper()
	m, err := to.open(from.seal(probe{kind: probeParity, parity: &y}, 0))
	if err != nil {
		t.Fatal(err)
	}
	return m.parity
}

// TestParityMends loses packets at random, of batches of any sizes. What is made is
// what was lost, and nothing else; a packet that is lost alone is made, but for a few:
// one in some hundred ends as another does that was kept.
func TestParityMends(t *testing.T) {
	client, agent := bothKeys(t)
	alone, mended := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var out parityOut
		var in parityIn
		in.mend(&parity{}, 0) // it is known that parities come
		out.lost(0)
		now := func() time.Duration { return 0 }
		lost, group, losses := map[string]bool{}, 0, 0
		most := []int{0, 1, 1, 1, 3}[r.IntN(5)] // of a group
		for range 200 {
			seg := bigPacket + 1 + r.IntN(maxPacket-bigPacket)
			if r.IntN(4) == 0 {
				seg = 1 + r.IntN(bigPacket)
			}
			b := make([]byte, seg*r.IntN(16)+1+r.IntN(seg))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			var ready []*parity
			out.sent(b, seg, 0, func(y parity) { ready = append(ready, across(t, client, agent, y)) })
			_ = EachSegment(b, seg, func(p []byte) error {
				if len(p) <= bigPacket {
					return nil
				}
				if losses < most && r.IntN(parityGroup) == 0 {
					lost[string(p)] = true
					losses++
				} else {
					in.keep(p, now)
				}
				if group++; group == parityGroup {
					y := ready[0]
					ready = ready[1:]
					made := in.mend(y, 0)
					if made != nil && !lost[string(made)] {
						t.Fatalf("seed %d: made a packet that was not lost", seed)
					}
					if losses == 1 {
						alone++
					}
					if losses != 1 && made != nil {
						t.Fatalf("seed %d: made one of %d", seed, losses)
					}
					delete(lost, string(made))
					if made != nil {
						mended++
					}
					group, losses = 0, 0
				}
				return nil
			})
			if len(ready) > 0 {
				t.Fatal("a parity too many")
			}
		}
	}
	if alone == 0 || mended < alone*98/100 {
		t.Errorf("made %d of %d", mended, alone)
	}
}

// TestParityOnlyWhenLost wants none without losses, none long after, and one of a
// group that fills slowly.
func TestParityOnlyWhenLost(t *testing.T) {
	var out parityOut
	count := 0
	send := func(now time.Duration, n int) {
		out.sent(make([]byte, n*PacketSize), PacketSize, now, func(parity) { count++ })
	}
	send(0, 64)
	if count != 0 {
		t.Errorf("%d parities without a loss", count)
	}
	out.lost(0)
	send(time.Millisecond, 64)
	send(2*time.Millisecond, parityFew)
	if count != 2 {
		t.Errorf("%d parities of two groups", count)
	}
	send(3*time.Millisecond+parityAge, 1)
	if count != 3 {
		t.Errorf("%d parities, and none of the group that fills slowly", count)
	}
	send(parityLasts, 64)
	if count != 3 {
		t.Errorf("%d parities long after a loss", count)
	}
}

// TestParityForgets lets go of the packets when no parities come any more.
func TestParityForgets(t *testing.T) {
	var in parityIn
	b := bytes.Repeat([]byte{1}, PacketSize)
	now := time.Duration(0)
	in.keep(b, func() time.Duration { return now })
	if in.kept != nil {
		t.Error("packets are kept before a parity came")
	}
	in.mend(&parity{}, now)
	now = 2 * parityLasts
	for range parityKept {
		in.keep(b, func() time.Duration { return now })
	}
	if in.kept != nil {
		t.Error("packets are kept for ever")
	}
}
