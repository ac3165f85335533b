package standing

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Line is the jobs of one initiator in a queue and class: they are taken one
// after the other, in turn with those of others.
type Line struct {
	Queue
	Class     int16 // the smaller is more urgent
	Initiator uuid.UUID
}

// Turns gives the turns of new jobs. A transaction does not see what others
// have not committed yet, and to let them wait for one another's commits would
// let an initiator add only one job for each write to the disk; so the turns
// that this server gave lately are kept here. Of two servers that add jobs for
// one initiator in the same moment, both may give the same turn, and the
// initiator gets one job more in a round than others.
//
// It is safe for concurrent use.
type Turns struct {
	now func() time.Time

	mu    sync.Mutex
	lines map[Line]*line
	swept time.Time
}

type line struct {
	mu     sync.Mutex // held while a turn is found
	latest int64      // turn given, 0 for none
	asked  time.Time  // guarded by the mutex of Turns
}

// NewTurns knows of no turn that was given.
func NewTurns() *Turns { return &Turns{now: time.Now, lines: map[Line]*line{}} }

// Next gives the turn of a new job, which is committed, or given up, within a
// minute.
func (t *Turns) Next(ctx context.Context, q *sqlc.Queries, of Line) (int64, error) {
	l := t.line(of)
	l.mu.Lock()
	defer l.mu.Unlock()
	// This only reads, and so waits for nobody while it is locked.
	turn, err := q.QueueTurn(ctx, sqlc.QueueTurnParams{
		TagSetID: of.TagSet, Provisioner: of.Provisioner, Priority: of.Class, InitiatorID: of.Initiator, Latest: l.latest,
	})
	if err == nil {
		l.latest = turn
	}
	return turn, err
}

// line gives what is known of a line, and forgets those that nobody asked for lately.
func (t *Turns) line(of Line) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if now.Sub(t.swept) > idle {
		for k, l := range t.lines {
			if now.Sub(l.asked) > idle {
				delete(t.lines, k)
			}
		}
		t.swept = now
	}
	l := t.lines[of]
	if l == nil {
		l = &line{}
		t.lines[of] = l
	}
	l.asked = now
	return l
}
