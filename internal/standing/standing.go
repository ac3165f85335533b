// Package standing tells where pending jobs stand among those of their tag set
// and kind: the order in which they are taken, numbered from 1.
//
// The order is that of an index, and the number of a row in an index is
// nothing that PostgreSQL tells without counting. So the order of a queue is
// read whole, at most a tenth of the time, and a job's place is looked up in
// what was read: a short queue is read anew for nearly everybody who asks, one
// of 100,000 jobs a few times a second, however many ask. A place is as old as
// ten times what its queue takes to read.
package standing

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Bounds of what is kept.
const (
	maxJobs = 1_000_000       // of one queue; those behind have no place
	share   = 10              // a reading is kept for so many times as long as it took
	idle    = 1 * time.Minute // a queue that nobody asks for is forgotten
)

// Queue is the jobs that the same provisioners take.
type Queue struct {
	TagSet      int64
	Provisioner string // kind of job, such as terraform
}

// Place is where a job stands: Position of Size, from 1; zero for one that is
// not waiting any more.
type Place struct{ Position, Size int }

// Board keeps the orders that were read last. It is safe for concurrent use.
type Board struct {
	now func() time.Time

	mu     sync.Mutex
	orders map[Queue]*order
}

// New gives an empty board.
func New() *Board { return &Board{now: time.Now, orders: map[Queue]*order{}} }

// order is a queue as it was read.
type order struct {
	mu     sync.Mutex // held while it is read
	places map[uuid.UUID]int
	read   time.Time     // when
	took   time.Duration // how long that took
	asked  time.Time     // guarded by the board's mutex
}

// Places gives the places of jobs of a queue; jobs that do not wait are left
// out. A job that was just added is found, since what is not known is read.
func (b *Board) Places(ctx context.Context, q *sqlc.Queries, queue Queue, jobs []uuid.UUID) (map[uuid.UUID]Place, error) {
	o := b.order(queue)
	o.mu.Lock()
	defer o.mu.Unlock()
	fresh := b.now().Sub(o.read) < share*o.took
	for _, id := range jobs {
		if _, known := o.places[id]; !known {
			fresh = false
		}
	}
	if !fresh {
		began := b.now()
		ids, err := q.QueueOrder(ctx, queue.TagSet, queue.Provisioner, maxJobs)
		if err != nil {
			return nil, err
		}
		o.places = make(map[uuid.UUID]int, len(ids))
		for i, id := range ids {
			o.places[id] = i + 1
		}
		o.read = b.now()
		o.took = o.read.Sub(began)
	}
	out := make(map[uuid.UUID]Place, len(jobs))
	for _, id := range jobs {
		if p, waits := o.places[id]; waits {
			out[id] = Place{p, len(o.places)}
		}
	}
	return out, nil
}

// order gives what is known of a queue, and forgets queues that nobody asked
// for lately.
func (b *Board) order(queue Queue) *order {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for k, o := range b.orders {
		if now.Sub(o.asked) > idle {
			delete(b.orders, k)
		}
	}
	o := b.orders[queue]
	if o == nil {
		o = &order{}
		b.orders[queue] = o
	}
	o.asked = now
	return o
}
