package standing

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// Line is the jobs of one initiator in a queue and class: they are taken one
// after the other, in turn with those of others.
type Line struct {
	Queue
	Class     int16 // the smaller is more urgent
	Initiator uuid.UUID
}

// Turns gives the turns of new jobs by start-time fair queueing. Jobs of one
// line have even turns one after the other. The first of somebody who was not
// served for as long as others have waited comes at once: its turn is odd, right
// before what is next.
//
// A transaction does not see what others have not committed yet, and to let
// them wait for one another's commits would let an initiator add only one job
// for each write to the disk; so the turns that this server gave lately are kept
// here. Of two servers that add jobs for one initiator in the same moment, both
// may give the same turn, and the initiator gets one job more in a round than
// others.
//
// It is safe for concurrent use.
type Turns struct {
	now func() time.Time

	mu    sync.Mutex
	given map[Line]given
	swept time.Time
}

type given struct {
	turn int64 // the latest
	at   time.Time
}

// NewTurns knows of no turn that was given.
func NewTurns() *Turns { return &Turns{now: time.Now, given: map[Line]given{}} }

// Next gives the turn of a new job. clock, which is even, is that of its queue
// and class, and latest the latest turn of its line, as the caller's transaction
// sees them.
func (t *Turns) Next(of Line, clock, latest int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if now.Sub(t.swept) > idle { // by then they are committed, or given up
		for k, g := range t.given {
			if now.Sub(g.at) > idle {
				delete(t.given, k)
			}
		}
		t.swept = now
	}
	latest = max(latest, t.given[of].turn)
	turn := clock - 1
	if latest >= turn {
		turn = latest/2*2 + 2
	}
	t.given[of] = given{turn, now}
	return turn
}
