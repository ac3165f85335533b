package fairshare

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Seat is a built-in provisioner, which runs one job at a time. It is safe for concurrent use.
type Seat struct {
	s    *Service
	like queue.Daemon // without organization and tools

	settling sync.Mutex // held while rows are added or removed

	mu      sync.Mutex
	tools   []string           // of the latest connection
	open    int                // connections; a new one may start before the previous one ends
	rows    map[uuid.UUID]*row // by organization, including rows that are offline
	job     uuid.UUID          // the current or last job
	of      uuid.UUID          // organization of that job
	working bool               // the job is running
}

// row is a seat's row in an organization.
type row struct {
	id   uuid.UUID
	gone func() // nil while the row is offline
}

// Seat returns a seat for a provisioner with that description, whose organization is ignored. Open starts
// its use.
func (s *Service) Seat(d queue.Daemon) *Seat {
	d.Shared = uuid.New()
	return &Seat{s: s, like: d, rows: map[uuid.UUID]*row{}}
}

// Open adds the provisioner with the given tools to the served organizations until close is called.
func (t *Seat) Open(ctx context.Context, tools []string) (close func(), err error) {
	t.s.mu.Lock()
	t.s.seats[t] = struct{}{}
	t.s.mu.Unlock()
	t.mu.Lock()
	t.open++
	t.tools = tools
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

// leave marks rows as offline and returns the function that updates the database. The caller holds the
// lock.
func (t *Seat) leave(which func(uuid.UUID) bool) (left []func()) {
	for o, r := range t.rows {
		if r.gone != nil && which(o) {
			left = append(left, r.gone)
			r.gone = nil
		}
	}
	return left
}

// settle adds rows in the served organizations and removes the others, except that of the running job.
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
	tools := t.tools
	t.mu.Unlock()
	for _, gone := range left {
		gone()
	}
	var errs []error
	for _, o := range missing {
		d := t.like
		d.OrganizationID, d.Tools = o, tools
		id, gone, err := t.s.Queue.Hello(ctx, d)
		if err != nil {
			errs = append(errs, err) // serve the other organizations nevertheless
			continue
		}
		t.mu.Lock()
		t.rows[o] = &row{id, gone}
		t.mu.Unlock()
	}
	return errors.Join(errs...)
}

// organizations returns the organizations with an online row.
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

// worker returns the Worker of an organization; without an ID if the seat has no row there.
func (t *Seat) worker(organization uuid.UUID) queue.Worker {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := queue.Worker{OrganizationID: organization, Name: t.like.Name, Tags: t.like.Tags, Provisioners: t.like.Provisioners}
	if r := t.rows[organization]; r != nil {
		w.ID = r.id
	}
	return w
}

// hold records the current job.
func (t *Seat) hold(job, organization uuid.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.job, t.of, t.working = job, organization, true
}

// Acquire waits for a job, like queue.Service.Acquire, and claims it.
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
			t.s.Log.Warn("cannot claim jobs; retrying", "provisioner", t.like.Name, "error", err)
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

// rest records the end of the job, and leaves the job's organization if it is no longer served.
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

// Holder returns the Worker for a job: that of the job's organization. The queue checks whether it holds
// the job.
func (t *Seat) Holder(ctx context.Context, jobID string) (queue.Worker, error) {
	t.mu.Lock()
	job, of := t.job, t.of
	t.mu.Unlock()
	if id, err := uuid.Parse(jobID); err == nil && id != job { // an earlier job, perhaps of an earlier process
		of, err = t.s.Queue.OrganizationOf(ctx, id)
		if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			return queue.Worker{}, err
		}
	}
	return t.worker(of), nil
}
