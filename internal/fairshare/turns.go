package fairshare

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// turns implements start-time fair queueing: the next job of an organization starts, on a virtual clock,
// when its previous job ended, but not before the clock; a job takes 1/weight. The earliest start is next
// and advances the clock. So an organization without pending jobs accumulates nothing, and none waits
// longer than its weight implies. The zero value is ready.
type turns struct {
	clock float64
	ends  map[uuid.UUID]float64
}

// order sorts organizations by their turn.
func (t *turns) order(organizations []uuid.UUID) {
	slices.SortFunc(organizations, func(a, b uuid.UUID) int {
		x, y := t.start(a), t.start(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return bytes.Compare(a[:], b[:])
	})
}

func (t *turns) start(organization uuid.UUID) float64 {
	return max(t.clock, t.ends[organization])
}

// took records that a job of an organization was claimed.
func (t *turns) took(organization uuid.UUID, weight int) {
	if t.ends == nil {
		t.ends = map[uuid.UUID]float64{}
	}
	t.clock = t.start(organization)
	t.ends[organization] = t.clock + 1/float64(max(weight, 1))
}

// rest restarts the clock when no job is pending.
func (t *turns) rest() { *t = turns{} }
