package fairshare

import (
	"math"
	"testing"

	"github.com/google/uuid"
)

// play takes n jobs, each of the organization whose turn it is among those that
// wait, and counts them.
func play(t *turns, n int, weights map[uuid.UUID]int, waiting ...uuid.UUID) map[uuid.UUID]int {
	got := map[uuid.UUID]int{}
	for range n {
		order := append([]uuid.UUID{}, waiting...)
		t.order(order)
		t.took(order[0], weights[order[0]])
		got[order[0]]++
	}
	return got
}

func TestTurns(t *testing.T) {
	a, b, c := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	weights := map[uuid.UUID]int{a: 1, b: 3, c: 100}

	t.Run("in proportion at every moment", func(t *testing.T) {
		var turn turns
		got := map[uuid.UUID]int{}
		for n := 1; n <= 400; n++ {
			for o, k := range play(&turn, 1, weights, a, b) {
				got[o] += k
			}
			if math.Abs(float64(got[b])-0.75*float64(n)) > 1 {
				t.Fatalf("of %d jobs %d are of the one with weight 3", n, got[b])
			}
		}
	})
	t.Run("nobody starves", func(t *testing.T) {
		var turn turns
		if got := play(&turn, 1010, weights, a, c); got[a] < 9 || got[a] > 11 {
			t.Fatalf("with weight 1 beside 100: %d of 1010 jobs", got[a])
		}
	})
	t.Run("no credit for having had nothing", func(t *testing.T) {
		var turn turns
		play(&turn, 1000, weights, b)
		if got := play(&turn, 40, weights, a, b); got[a] < 9 || got[a] > 11 {
			t.Fatalf("the one that was idle got %d of 40", got[a])
		}
	})
	t.Run("and no debt for having been alone", func(t *testing.T) {
		var turn turns
		play(&turn, 1000, weights, a)
		if got := play(&turn, 40, weights, a, b); got[a] < 9 || got[a] > 11 {
			t.Fatalf("the one that was alone got %d of 40", got[a])
		}
	})
	t.Run("a rest begins anew", func(t *testing.T) {
		var turn turns
		play(&turn, 5, weights, a, b)
		turn.rest()
		if turn.clock != 0 || len(turn.ends) != 0 {
			t.Fatal("something is left")
		}
	})
}
