package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Worker is a provisioner daemon that asks for jobs.
type Worker struct {
	ID, OrganizationID uuid.UUID
	Name               string
	Tags               coder.Tags // normalized
	Provisioners       []string   // kinds of jobs it can do
	// Lease is how long it may be silent; 0 means that of the Config.
	Lease time.Duration
}

const (
	batch  = 32 // jobs that one claim hands out at most
	claims = 2  // claims of one organization at once: each waits for the disk
)

// Acquire waits for a job that w may run and claims it. A job that cannot be
// prepared fails and the wait goes on. When ctx ends the error is its own and
// nothing is claimed. (PRV-31)
func (s *Service) Acquire(ctx context.Context, w Worker) (*provisionerd.AcquiredJob, error) {
	w = s.leased(w)
	for {
		job, err := s.wait(ctx, w)
		if err != nil {
			return nil, err
		}
		if a, err := s.begin(ctx, w, job); a != nil || err != nil {
			return a, err
		}
	}
}

// begin makes of a claimed job what its worker needs; nil when that cannot be
// done and the job failed.
func (s *Service) begin(ctx context.Context, w Worker, job Job) (*provisionerd.AcquiredJob, error) {
	a, err := s.prepare(ctx, w, job)
	if err == nil {
		s.changed(ctx, job)
		return a, nil
	}
	if ctx.Err() != nil || coder.Is(err, coder.CodeUnavailable) {
		s.Release(context.WithoutCancel(ctx), w, job.ID, job.Fence)
		return nil, err
	}
	s.Log.Error("cannot prepare a job, so it fails", "job", job.ID, "type", job.Type, "error", err)
	failed := &provisionerd.FailedJob{JobId: job.ID.String(), Error: "The server cannot prepare the job: " + message(err)}
	return nil, s.Fail(ctx, w, job.Fence, failed) // or its lease runs out, and the reaper fails it
}

// message is what people may read of an error.
func message(err error) string {
	if e, ok := asError(err); ok {
		if e.Detail != "" {
			return e.Message + ": " + e.Detail
		}
		return e.Message
	}
	return "an internal error, which is in the server's log"
}

// prepare makes of a claimed job what its worker needs.
func (s *Service) prepare(ctx context.Context, w Worker, job Job) (*provisionerd.AcquiredJob, error) {
	h, err := s.handler(job.Type)
	if err != nil {
		return nil, err
	}
	a, err := h.Prepare(ctx, job)
	if err != nil {
		return nil, err
	}
	a.JobId = job.ID.String()
	a.CreatedAt = job.CreatedAt.UnixMilli()
	a.Provisioner = job.Provisioner
	a.Fence = job.Fence
	a.LeaseMilliseconds = w.Lease.Milliseconds()
	return a, nil
}

// Release puts a claimed job back that its worker never got.
func (s *Service) Release(ctx context.Context, w Worker, jobID uuid.UUID, fence int64) {
	n, err := s.Store.QueueRelease(ctx, jobID, fence)
	if err != nil {
		s.Log.Warn("cannot put a job back; its lease will run out", "job", jobID, "error", err)
		return
	}
	if n > 0 {
		s.Hub.Publish(notify.Jobs(w.OrganizationID), notify.Job(jobID))
	}
}

// Keep renews the lease of a job that is on its way to its worker, who cannot
// speak for it before it has arrived.
func (s *Service) Keep(ctx context.Context, w Worker, jobID uuid.UUID, fence int64) error {
	lease := w.Lease
	if lease <= 0 {
		lease = s.Lease
	}
	return s.Store.QueueKeep(ctx, lease.Milliseconds(), jobID, fence)
}

// dispatcher hands the jobs of one organization to the daemons that wait on
// this server. It alone claims, so that a thousand waiting daemons cost one
// query per different tag set and hint, not a thousand.
type dispatcher struct {
	s    *Service
	org  uuid.UUID
	kick chan struct{}

	mu       sync.Mutex
	groups   map[string]*group
	claiming int
}

// group is the waiters that are alike: same tags, kinds and lease.
type group struct {
	key      string
	like     Worker
	waiters  []*waiter // those that no claim is made for now
	claiming int       // claims being made
	look     bool      // there may be work
}

type waiter struct {
	w    Worker
	got  chan Job // capacity 1
	gone bool     // it waits no longer
}

func (s *Service) dispatcher(org uuid.UUID) *dispatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.dispatchers[org]
	if d == nil {
		d = &dispatcher{s: s, org: org, kick: make(chan struct{}, 1), groups: map[string]*group{}}
		s.dispatchers[org] = d
		s.spawn(d.run)
	}
	return d
}

// wait gives a claimed job.
func (s *Service) wait(ctx context.Context, w Worker) (Job, error) {
	d := s.dispatcher(w.OrganizationID)
	kinds := slices.Sorted(slices.Values(w.Provisioners))
	key := strings.Join(append(kinds, w.Lease.String(), w.Tags.Key()), ";")
	me := &waiter{w: w, got: make(chan Job, 1)}
	d.mu.Lock()
	g := d.groups[key]
	if g == nil {
		g = &group{key: key, like: w}
		d.groups[key] = g
	}
	g.waiters = append(g.waiters, me)
	g.look = true
	d.mu.Unlock()
	d.wake()
	select {
	case job := <-me.got:
		return job, nil
	case <-ctx.Done():
	}
	d.mu.Lock()
	me.gone = true
	if i := slices.Index(g.waiters, me); i >= 0 {
		g.waiters = slices.Delete(g.waiters, i, i+1)
	}
	d.forget(g)
	d.mu.Unlock()
	select {
	case job := <-me.got: // it came at the same moment
		s.Release(context.WithoutCancel(ctx), w, job.ID, job.Fence)
	default:
	}
	return Job{}, ctx.Err()
}

func (d *dispatcher) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

func (d *dispatcher) run(ctx context.Context) {
	hints, done := d.s.Hub.Subscribe(notify.Jobs(d.org))
	defer done()
	backup := time.NewTicker(d.s.Poll)
	defer backup.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hints:
			d.lookAll()
		case <-backup.C:
			d.lookAll()
		case <-d.kick:
		}
		d.pass(ctx)
	}
}

func (d *dispatcher) lookAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.groups {
		g.look = true
	}
}

// pass begins a claim for every group that may have work, those with the
// fewest tags first, so that special daemons stay free for special jobs. What
// cannot begin now does when a claim ends.
func (d *dispatcher) pass(ctx context.Context) {
	for {
		g, waiters := d.next()
		if g == nil {
			return
		}
		d.s.work.Go(func() {
			jobs, err := d.claim(ctx, g.like, waiters)
			if err != nil && ctx.Err() == nil {
				d.s.Log.Warn("cannot claim jobs, trying again soon", "organization", d.org, "error", err)
				time.AfterFunc(time.Second, d.wake)
			}
			d.hand(ctx, g, waiters, jobs, err != nil)
			if err == nil {
				d.wake()
			}
		})
	}
}

// next takes waiters out of a group for a claim, until hand puts them back.
func (d *dispatcher) next() (*group, []*waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.claiming == claims {
		return nil, nil
	}
	groups := slices.SortedFunc(maps.Values(d.groups), func(a, b *group) int {
		return cmp.Compare(len(a.like.Tags), len(b.like.Tags))
	})
	for _, g := range groups {
		if g.look && len(g.waiters) > 0 {
			g.look = false // a hint during the claim sets it again
			n := min(len(g.waiters), batch)
			waiters := slices.Clone(g.waiters[:n])
			g.waiters = slices.Delete(g.waiters, 0, n)
			g.claiming++
			d.claiming++
			return g, waiters
		}
	}
	return nil, nil
}

// forget drops a group that nobody waits in.
func (d *dispatcher) forget(g *group) {
	if len(g.waiters) == 0 && g.claiming == 0 && d.groups[g.key] == g {
		delete(d.groups, g.key)
	}
}

func (d *dispatcher) claim(ctx context.Context, like Worker, waiters []*waiter) ([]claimed, error) {
	p := sqlc.QueueClaimParams{OrganizationID: d.org, Provisioners: like.Provisioners, LeaseMs: like.Lease.Milliseconds(), Served: d.s.lately()}
	for _, w := range waiters {
		p.WorkerIds = append(p.WorkerIds, w.w.ID)
		p.WorkerNames = append(p.WorkerNames, w.w.Name)
	}
	var err error
	if p.Tags, err = json.Marshal(like.Tags); err != nil {
		return nil, err
	}
	rows, err := d.s.Store.QueueClaim(ctx, p)
	if err != nil {
		return nil, err
	}
	out := make([]claimed, 0, len(rows))
	for _, r := range rows {
		out = append(out, claimed{jobOf(r.ProvisionerJob, r.Tags), *r.ProvisionerJob.WorkerID})
		d.s.serve(r.ProvisionerJob.InitiatorID)
	}
	return out, nil
}

// maxServed bounds the initiators that are remembered as served.
const maxServed = 1000

// serve notes that a job of somebody was claimed.
func (s *Service) serve(initiator uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.served, initiator); i >= 0 {
		s.served = slices.Delete(s.served, i, i+1)
	}
	if s.served = append(s.served, initiator); len(s.served) > maxServed {
		s.served = slices.Delete(s.served, 0, len(s.served)-maxServed)
	}
}

// lately gives who was served lately, the latest at the end.
func (s *Service) lately() []uuid.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return orEmpty(slices.Clone(s.served))
}

// claimed is a job and the daemon row it was claimed for.
type claimed struct {
	job    Job
	worker uuid.UUID
}

// hand gives the jobs to the waiters they were claimed for, and lets the others
// wait on. Whoever left meanwhile is not waited for: the job goes back.
func (d *dispatcher) hand(ctx context.Context, g *group, waiters []*waiter, jobs []claimed, failed bool) {
	var back []Job
	d.mu.Lock()
	g.look = g.look || failed || len(jobs) == len(waiters)
	for _, c := range jobs {
		i := slices.IndexFunc(waiters, func(w *waiter) bool { return w.w.ID == c.worker && !w.gone })
		if i < 0 {
			back = append(back, c.job)
			continue
		}
		waiters[i].got <- c.job
		waiters = slices.Delete(waiters, i, i+1)
	}
	waiters = slices.DeleteFunc(waiters, func(w *waiter) bool { return w.gone })
	g.waiters = append(waiters, g.waiters...)
	g.claiming--
	d.claiming--
	d.forget(g)
	d.mu.Unlock()
	for _, job := range back {
		d.s.Release(ctx, g.like, job.ID, job.Fence)
	}
}
