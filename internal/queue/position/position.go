// Package position returns the positions of pending jobs among the jobs of their tag set and
// engine, in the order in which they are claimed, from 1.
//
// PostgreSQL cannot return the position of a row in an index without counting. So the order
// of a queue is read as a whole and cached for ten times the duration of that read. A short
// queue is read for nearly every request, one with 100,000 jobs a few times a second,
// whatever the number of requests. A position is at most that old.
package position

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of the cache.
const (
	maxJobs = 1_000_000       // of one queue; jobs after that have no position
	share   = 10              // an order is cached for this multiple of the duration of its read
	idle    = 1 * time.Minute // an order that is not requested for this long is dropped
)

// Queue identifies the jobs that the same provisioners can run.
type Queue struct {
	TagSet      int64
	Provisioner string // engine, such as terraform
}

// Place is the position of a job: Position of Size, from 1; zero for a job that is no longer
// pending.
type Place struct{ Position, Size int }

// Board caches the orders of queues. It is safe for concurrent use.
type Board struct {
	now func() time.Time

	mu     sync.Mutex
	orders map[Queue]*order
}

// New returns an empty Board.
func New() *Board { return &Board{now: time.Now, orders: map[Queue]*order{}} }

// order is the cached order of a queue.
type order struct {
	mu     sync.Mutex // held during a read
	places map[uuid.UUID]int
	read   time.Time     // time of the read
	took   time.Duration // duration of the read
	asked  time.Time     // guarded by the board's mutex
}

// Places returns the positions of jobs of a queue, without jobs that are not pending. Jobs
// that are missing in the cache cause a read, so a job that was just added is found.
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

// order returns the cached order of a queue and drops orders that were not requested lately.
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
