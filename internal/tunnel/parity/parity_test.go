package parity

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// across has a parity travel.
func across(t *testing.T, y Parity) *Parity {
	t.Helper()
	got, err := Parse(y.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestParityMends loses packets at random, of batches of any sizes. What is made is
// what was lost, and nothing else; a packet that is lost alone is made, but for a few:
// one in some hundred ends as another does that was kept.
func TestParityMends(t *testing.T) {
	alone, mended := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var out Out
		var in In
		in.Mend(&Parity{}, 0) // it is known that parities come
		out.Lost(0)
		now := func() time.Duration { return 0 }
		lost, group, losses := map[string]bool{}, 0, 0
		most := []int{0, 1, 1, 1, 3}[r.IntN(5)] // of a group
		for range 200 {
			seg := big + 1 + r.IntN(biggest-big)
			if r.IntN(4) == 0 {
				seg = 1 + r.IntN(big)
			}
			b := make([]byte, seg*r.IntN(16)+1+r.IntN(seg))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			var ready []*Parity
			out.Sent(b, seg, 0, func(y Parity) { ready = append(ready, across(t, y)) })
			_ = udp.EachSegment(b, seg, func(p []byte) error {
				if len(p) <= big {
					return nil
				}
				if losses < most && r.IntN(groupSize) == 0 {
					lost[string(p)] = true
					losses++
				} else {
					in.Keep(p, now)
				}
				if group++; group == groupSize {
					y := ready[0]
					ready = ready[1:]
					made := in.Mend(y, 0)
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
	var out Out
	count := 0
	send := func(now time.Duration, n int) {
		out.Sent(make([]byte, n*1280), 1280, now, func(Parity) { count++ })
	}
	send(0, 64)
	if count != 0 {
		t.Errorf("%d parities without a loss", count)
	}
	out.Lost(0)
	send(time.Millisecond, 64)
	send(2*time.Millisecond, few)
	if count != 2 {
		t.Errorf("%d parities of two groups", count)
	}
	send(3*time.Millisecond+fewAge, 1)
	if count != 3 {
		t.Errorf("%d parities, and none of the group that fills slowly", count)
	}
	send(lasts, 64)
	if count != 3 {
		t.Errorf("%d parities long after a loss", count)
	}
}

// TestParityForgets drops packets when parities stop coming.
func TestParityForgets(t *testing.T) {
	var in In
	b := bytes.Repeat([]byte{1}, 1280)
	now := time.Duration(0)
	in.Keep(b, func() time.Duration { return now })
	if in.kept != nil {
		t.Error("packets are kept before a parity came")
	}
	in.Mend(&Parity{}, now)
	now = 2 * lasts
	for range maxKept {
		in.Keep(b, func() time.Duration { return now })
	}
	if in.kept != nil {
		t.Error("packets are kept forever")
	}
}
