package position_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/queue/position"
)

func TestTurns(t *testing.T) {
	a := position.Line{Queue: position.Queue{TagSet: 1, Provisioner: "terraform"}, Initiator: uuid.New()}
	b := a
	b.Initiator = uuid.New()
	turns := position.NewTurns()
	for _, step := range []struct {
		what                string
		line                position.Line
		clock, latest, want int64
	}{
		{"the first of a newcomer comes right before what is next", a, 100, 0, 99},
		{"the second comes with what is next, though the first is not seen yet", a, 100, 0, 100},
		{"the third after the second", a, 100, 99, 102},
		{"another newcomer is not behind them", b, 100, 0, 99},
		{"who was served long ago comes next, once", b, 200, 100, 199},
		{"what the database knows counts when it is later", a, 100, 120, 122},
	} {
		if got := turns.Next(step.line, step.clock, step.latest); got != step.want {
			t.Errorf("%s: turn %d, want %d", step.what, got, step.want)
		}
	}
}

func TestTurnsAtOnce(t *testing.T) {
	turns := position.NewTurns()
	line := position.Line{Initiator: uuid.New()}
	var mu sync.Mutex
	seen := map[int64]bool{}
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			n := turns.Next(line, 1000, 0)
			mu.Lock()
			defer mu.Unlock()
			if seen[n] {
				t.Errorf("turn %d was given twice", n)
			}
			seen[n] = true
		})
	}
	all.Wait()
}
