package share

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// turns is start-time fair queueing: everybody's next job starts, on a clock of
// its own, when their job before ended, but not before the clock; a job takes
// 1/weight. Whoever starts first is next, and the clock shows their start. So
// who has nothing waiting earns nothing, and nobody waits for longer than their
// weight says. The zero value is ready.
type turns struct {
	clock float64
	ends  map[uuid.UUID]float64
}

// order sorts organizations by whose turn it is.
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

// took notes that a job of an organization was taken.
func (t *turns) took(organization uuid.UUID, weight int) {
	if t.ends == nil {
		t.ends = map[uuid.UUID]float64{}
	}
	t.clock = t.start(organization)
	t.ends[organization] = t.clock + 1/float64(max(weight, 1))
}

// rest is called when nothing waits: all begin anew.
func (t *turns) rest() { *t = turns{} }
