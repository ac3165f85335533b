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

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// Worker is a provisioner daemon that requests jobs.
type Worker struct {
	ID, OrganizationID uuid.UUID
	Name               string
	Tags               codersdk.Tags // normalized
	Provisioners       []string      // supported engines
	// Lease is the lease of its jobs; 0 means that of the Config.
	Lease time.Duration
}

const (
	batch  = 32 // maximum number of jobs of one claim
	claims = 2  // concurrent claims of an organization; each waits for the disk
)

// Acquire waits for a job that w can run and claims it. A job that cannot be prepared
// fails, and the wait continues. When ctx ends, Acquire returns its error and claims
// nothing. (PRV-31)
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

// begin prepares a claimed job for its worker; it returns nil if that fails, which fails
// the job.
func (s *Service) begin(ctx context.Context, w Worker, job Job) (*provisionerd.AcquiredJob, error) {
	traced := s.traceWait(ctx, job)
	preparing, span := s.Tracer.Start(traced, "queue prepare", tracing.KindInternal)
	a, err := s.prepare(preparing, w, job)
	tracing.End(span, err)
	if err == nil {
		a.TraceMetadata = tracing.Carry(traced)
		s.changed(ctx, job)
		return a, nil
	}
	if ctx.Err() != nil || codersdk.Is(err, codersdk.CodeUnavailable) {
		s.Release(context.WithoutCancel(ctx), w, job.ID, job.Fence)
		return nil, err
	}
	s.Log.Error("cannot prepare a job; it fails", "job", job.ID, "type", job.Type, "error", err)
	failed := &provisionerd.FailedJob{JobId: job.ID.String(), Error: "The server cannot prepare the job: " + message(err)}
	return nil, s.Fail(ctx, w, job.Fence, failed) // otherwise its lease expires, and the reaper fails it
}

// traceWait records how long a job waited for its worker. It returns ctx with the
// trace that the job belongs to. A job of the server itself starts a trace.
func (s *Service) traceWait(ctx context.Context, job Job) context.Context {
	ctx = tracing.Continue(ctx, job.Trace)
	waited := s.Tracer.Record(ctx, "queue wait", tracing.Past{Start: job.CreatedAt, End: job.StartedAt},
		tracing.String("coder.job.id", job.ID.String()), tracing.String("coder.job.type", string(job.Type)),
		tracing.String("coder.organization.id", job.OrganizationID.String()))
	if len(job.Trace) == 0 {
		return waited
	}
	return ctx
}

// message returns the part of an error that users can read.
func message(err error) string {
	if e, ok := asError(err); ok {
		if e.Detail != "" {
			return e.Message + ": " + e.Detail
		}
		return e.Message
	}
	return "an internal error; see the server's log"
}

// prepare returns what a worker needs to run a claimed job.
func (s *Service) prepare(ctx context.Context, w Worker, job Job) (*provisionerd.AcquiredJob, error) {
	h, err := s.handler(job)
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

// Release returns a claimed job to the queue that its worker did not receive.
func (s *Service) Release(ctx context.Context, w Worker, jobID uuid.UUID, fence int64) {
	n, err := s.Store.QueueRelease(ctx, jobID, fence)
	if err != nil {
		s.Log.Warn("cannot return a job to the queue; its lease will expire", "job", jobID, "error", err)
		return
	}
	if n > 0 {
		s.Hub.Publish(notify.Jobs(w.OrganizationID), notify.Job(jobID))
	}
}

// Keep renews the lease of a job on its way to its worker, which cannot renew it before
// the job has arrived.
func (s *Service) Keep(ctx context.Context, w Worker, jobID uuid.UUID, fence int64) error {
	lease := w.Lease
	if lease <= 0 {
		lease = s.Lease
	}
	return s.Store.QueueKeep(ctx, lease.Milliseconds(), jobID, fence)
}

// dispatcher assigns the jobs of one organization to the daemons that wait on this
// server. Only the dispatcher claims, so that for a thousand waiting daemons a hint costs
// one query, and a claim for each group that has jobs.
type dispatcher struct {
	s    *Service
	org  uuid.UUID
	kick chan struct{}

	mu       sync.Mutex
	groups   map[string]*group
	claiming int
}

// group is a set of waiters with the same tags, engines and lease.
type group struct {
	key      string
	like     Worker
	waiters  []*waiter // waiters that are not part of a running claim
	claiming int       // number of running claims
	look     bool      // there may be a job
}

type waiter struct {
	w    Worker
	got  chan Job // capacity 1
	gone bool     // the waiter has left
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

// wait returns a claimed job.
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
	case job := <-me.got: // the job arrived at the same moment
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
			d.lookWherePending(ctx)
		case <-backup.C:
			d.lookWherePending(ctx)
		case <-d.kick:
		}
		d.pass(ctx)
	}
}

// lookWherePending marks the groups for which jobs are pending. If it cannot know, or
// there is only one group, it marks all: their claims find out.
func (d *dispatcher) lookWherePending(ctx context.Context) {
	d.mu.Lock()
	many := len(d.groups) > 1
	d.mu.Unlock()
	matches := func(Worker) bool { return true }
	if many {
		if sets, err := d.s.Store.QueuePending(ctx, d.org); err == nil {
			matches = func(w Worker) bool {
				return slices.ContainsFunc(sets, func(p sqlc.QueuePendingRow) bool {
					return slices.Contains(w.Provisioners, p.Provisioner) && w.Tags.Match(p.Tags)
				})
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.groups {
		g.look = g.look || matches(g.like)
	}
}

// pass starts a claim for every group that may have jobs, groups with the fewest tags
// first, so that specialized daemons stay free for specialized jobs. Groups that must
// wait are claimed for when another claim ends.
func (d *dispatcher) pass(ctx context.Context) {
	for {
		g, waiters := d.next()
		if g == nil {
			return
		}
		d.s.work.Go(func() {
			jobs, err := d.claim(ctx, g.like, waiters)
			if err != nil && ctx.Err() == nil {
				d.s.Log.Warn("cannot claim jobs; retrying", "organization", d.org, "error", err)
				time.AfterFunc(time.Second, d.wake)
			}
			d.hand(ctx, g, waiters, jobs, err != nil)
			if err == nil {
				d.wake()
			}
		})
	}
}

// next removes waiters from a group for a claim, until hand returns them.
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

// forget removes a group without waiters.
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
		if r.ProvisionerJob.Priority != ClassAhead {
			d.s.serve(r.ProvisionerJob.InitiatorID)
		}
	}
	return out, nil
}

// maxServed is the maximum number of remembered initiators.
const maxServed = 1000

// serve records that a job of the initiator was claimed.
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

// lately returns the initiators that were served last, the latest at the end.
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

// hand passes the jobs to their waiters and returns the other waiters to the group. The
// job of a waiter that has left is returned to the queue.
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
