package parity

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// roundTrip encodes and decodes a parity.
func roundTrip(t *testing.T, y Parity) *Parity {
	t.Helper()
	got, err := Parse(y.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestParityMends loses packets at random, from batches of any sizes. Only lost packets may be
// restored. A packet that is the only loss of its group is restored, with few exceptions:
// about one in a few hundred has the same tag as another kept packet.
func TestParityMends(t *testing.T) {
	alone, mended := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var out Out
		var in In
		in.Mend(&Parity{}, 0) // the peer sends parities
		out.Lost(0)
		now := func() time.Duration { return 0 }
		lost, group, losses := map[string]bool{}, 0, 0
		most := []int{0, 1, 1, 1, 3}[r.IntN(5)] // losses per group
		for range 200 {
			seg := minSize + 1 + r.IntN(maxSize-minSize)
			if r.IntN(4) == 0 {
				seg = 1 + r.IntN(minSize)
			}
			b := make([]byte, seg*r.IntN(16)+1+r.IntN(seg))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			var ready []*Parity
			out.Sent(b, seg, 0, func(y Parity) { ready = append(ready, roundTrip(t, y)) })
			_ = udp.EachSegment(b, seg, func(p []byte) error {
				if len(p) <= minSize {
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
					restored := in.Mend(y, 0)
					if restored != nil && !lost[string(restored)] {
						t.Fatalf("seed %d: restored a packet that was not lost", seed)
					}
					if losses == 1 {
						alone++
					}
					if losses != 1 && restored != nil {
						t.Fatalf("seed %d: restored a packet of %d lost ones", seed, losses)
					}
					delete(lost, string(restored))
					if restored != nil {
						mended++
					}
					group, losses = 0, 0
				}
				return nil
			})
			if len(ready) > 0 {
				t.Fatal("an extra parity was sent")
			}
		}
	}
	if alone == 0 || mended < alone*98/100 {
		t.Errorf("restored %d of %d", mended, alone)
	}
}

// TestParityOnlyWhenLost expects no parity without losses or long after them, and one for a
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
	send(2*time.Millisecond, minGroup)
	if count != 2 {
		t.Errorf("%d parities for two groups", count)
	}
	send(3*time.Millisecond+minGroupAge, 1)
	if count != 3 {
		t.Errorf("%d parities, none of them for the group that fills slowly", count)
	}
	send(activePeriod, 64)
	if count != 3 {
		t.Errorf("%d parities long after a loss", count)
	}
}

// TestParityForgets checks that packets are dropped when parities stop arriving.
func TestParityForgets(t *testing.T) {
	var in In
	b := bytes.Repeat([]byte{1}, 1280)
	now := time.Duration(0)
	in.Keep(b, func() time.Duration { return now })
	if in.kept != nil {
		t.Error("packets are kept before a parity came")
	}
	in.Mend(&Parity{}, now)
	now = 2 * activePeriod
	for range maxKept {
		in.Keep(b, func() time.Duration { return now })
	}
	if in.kept != nil {
		t.Error("packets are kept forever")
	}
}
