package position

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// Line is the jobs of one initiator in a queue and class. They are claimed one after the
// other, alternating with the jobs of other initiators.
type Line struct {
	Queue
	Class     int16 // smaller is more urgent
	Initiator uuid.UUID
}

// Turns assigns turns to new jobs by start-time fair queueing. Jobs of one line have
// successive even turns. The first job of an initiator who was not served for as long as
// others have waited is claimed first: its turn is odd, right before the next turn.
//
// A transaction does not see uncommitted jobs, and waiting for other commits would limit an
// initiator to one job per write to the disk. Therefore recent turns of this server are kept
// in memory. Two servers that add jobs for one initiator at the same moment may assign the
// same turn; the initiator then gets one additional job in a round.
//
// Turns is safe for concurrent use.
type Turns struct {
	now func() time.Time

	mu    sync.Mutex
	given map[Line]given
	swept time.Time
}

type given struct {
	turn int64 // the latest turn
	at   time.Time
}

// NewTurns returns a Turns without assigned turns.
func NewTurns() *Turns { return &Turns{now: time.Now, given: map[Line]given{}} }

// Next returns the turn of a new job. clock, which is even, is the clock of its queue and
// class, and latest the latest turn of its line, both as the caller's transaction sees them.
func (t *Turns) Next(of Line, clock, latest int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if now.Sub(t.swept) > idle { // by then those transactions have ended
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
