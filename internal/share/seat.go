package share

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Seat is the place of one of the server's own provisioners, which takes one
// job at a time. It is safe for concurrent use.
type Seat struct {
	s    *Service
	like queue.Daemon // but for the organization

	settling sync.Mutex // held while rows come and go

	mu      sync.Mutex
	open    int                // connections, of which the one before may end a moment after the next began
	rows    map[uuid.UUID]*row // by organization; those that are gone too
	job     uuid.UUID          // that it has, or had last
	of      uuid.UUID          // that job's organization
	working bool               // on that job
}

// row is a seat's row in an organization.
type row struct {
	id   uuid.UUID
	gone func() // nil when it is not there
}

// Seat gives a place to a provisioner that describes itself so; the
// organization does not matter. It is taken with Open.
func (s *Service) Seat(d queue.Daemon) *Seat {
	d.Shared = uuid.New()
	return &Seat{s: s, like: d, rows: map[uuid.UUID]*row{}}
}

// Open lets the provisioner appear in the organizations that are served, until
// close is called.
func (t *Seat) Open(ctx context.Context) (close func(), err error) {
	t.s.mu.Lock()
	t.s.seats[t] = struct{}{}
	t.s.mu.Unlock()
	t.mu.Lock()
	t.open++
	t.mu.Unlock()
	if err := t.settle(ctx); err != nil {
		t.close()
		return nil, err
	}
	t.s.tell()
	return t.close, nil
}

func (t *Seat) close() {
	t.settling.Lock()
	defer t.settling.Unlock()
	t.mu.Lock()
	if t.open--; t.open > 0 {
		t.mu.Unlock()
		return
	}
	left := t.leave(func(uuid.UUID) bool { return true })
	t.mu.Unlock()
	t.s.mu.Lock()
	delete(t.s.seats, t)
	t.s.mu.Unlock()
	for _, gone := range left {
		gone()
	}
}

// leave marks rows as gone, and gives what tells the database so. It is called
// with the lock held.
func (t *Seat) leave(which func(uuid.UUID) bool) (left []func()) {
	for o, r := range t.rows {
		if r.gone != nil && which(o) {
			left = append(left, r.gone)
			r.gone = nil
		}
	}
	return left
}

// settle makes the rows of the organizations that are served now, and leaves
// the others, but for that of the job that runs.
func (t *Seat) settle(ctx context.Context) error {
	t.settling.Lock()
	defer t.settling.Unlock()
	served := t.s.served()
	t.mu.Lock()
	if t.open == 0 {
		t.mu.Unlock()
		return nil
	}
	missing := slices.DeleteFunc(slices.Collect(maps.Keys(served)), func(o uuid.UUID) bool { return t.rows[o] != nil && t.rows[o].gone != nil })
	left := t.leave(func(o uuid.UUID) bool { return served[o] == 0 && !(t.working && o == t.of) })
	t.mu.Unlock()
	for _, gone := range left {
		gone()
	}
	var errs []error
	for _, o := range missing {
		d := t.like
		d.OrganizationID = o
		id, gone, err := t.s.Queue.Hello(ctx, d)
		if err != nil {
			errs = append(errs, err) // the others are served all the same
			continue
		}
		t.mu.Lock()
		t.rows[o] = &row{id, gone}
		t.mu.Unlock()
	}
	return errors.Join(errs...)
}

// organizations gives those in which it is there.
func (t *Seat) organizations() []uuid.UUID {
	served := t.s.served()
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []uuid.UUID{}
	for o, r := range t.rows {
		if r.gone != nil && served[o] > 0 {
			out = append(out, o)
		}
	}
	return out
}

// worker gives what the provisioner is in an organization; without an id where
// it has never been.
func (t *Seat) worker(organization uuid.UUID) queue.Worker {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := queue.Worker{OrganizationID: organization, Name: t.like.Name, Tags: t.like.Tags, Provisioners: t.like.Provisioners}
	if r := t.rows[organization]; r != nil {
		w.ID = r.id
	}
	return w
}

// hold notes which job it has.
func (t *Seat) hold(job, organization uuid.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.job, t.of, t.working = job, organization, true
}

// Acquire waits for a job, as queue.Service.Acquire does, and takes it.
func (t *Seat) Acquire(ctx context.Context) (*provisionerd.AcquiredJob, error) {
	for {
		if err := t.rest(ctx); err != nil {
			return nil, err
		}
		news := t.s.listen()
		job, w, ok, err := t.s.take(ctx, t)
		if ok {
			if a, err := t.s.Queue.Begin(ctx, w, job); a != nil || err != nil {
				return a, err
			}
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var again <-chan time.Time
		if err != nil {
			t.s.Log.Warn("cannot claim jobs, trying again soon", "provisioner", t.like.Name, "error", err)
			again = time.After(time.Second)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		case <-again:
		}
	}
}

// rest notes that its job is over, and leaves that job's organization if it is
// not served any more.
func (t *Seat) rest(ctx context.Context) error {
	t.mu.Lock()
	left := t.working && t.s.served()[t.of] == 0
	t.working = false
	t.mu.Unlock()
	if left {
		return t.settle(ctx)
	}
	return nil
}

// Holder gives what the provisioner is to a job: the worker of the job's
// organization. Whether it holds the job is for the queue to say.
func (t *Seat) Holder(ctx context.Context, jobID string) (queue.Worker, error) {
	t.mu.Lock()
	job, of := t.job, t.of
	t.mu.Unlock()
	if id, err := uuid.Parse(jobID); err == nil && id != job { // an earlier one, perhaps of an earlier process
		of, err = t.s.Queue.OrganizationOf(ctx, id)
		if err != nil && !coder.Is(err, coder.CodeNotFound) {
			return queue.Worker{}, err
		}
	}
	return t.worker(of), nil
}
