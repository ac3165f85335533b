// Package planahead plans the next start of stopped workspaces while provisioners are idle, so
// that the start only applies (see docs/decisions/0010-plans-ahead.md). A Service adds one job
// at a time, of the workspace that was stopped last, if no job waits and another slot stays idle.
// When a job of a user waits, it cancels its own. Package savedplan keeps the plans.
//
// No pending work is stored: each check reads the current state and decides. A replica that
// crashes leaves a job, which the queue ends, and at most a plan, which a later build compares
// with its inputs before it uses it.
package planahead

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/ahead"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/savedplan"
)

// Config configures a Service.
type Config struct {
	Store      *postgres.Store
	Queue      *queue.Service
	Workspaces *workspace.Service
	Hub        *notify.Hub
	Log        *slog.Logger
	Now        func() time.Time
	// Plans is the number of plans that are kept; 0 plans nothing.
	Plans int
	// Interval is the time between checks for workspaces to plan; 0 means 5 seconds.
	Interval time.Duration
}

// Service plans ahead between Start and Stop.
type Service struct {
	Config
	lifecycle.Loop
	more     chan struct{} // a job ended
	working  atomic.Bool   // a job of this class may be unfinished
	verdicts *ahead.Cache
}

// candidates is the number of stopped workspaces that are examined for each plan that is kept,
// because templates of some prevent plans. It bounds the work of a check.
const candidates = 5

// rest is the time after which all workspaces are examined again although no job changed.
const rest = time.Minute

// spare is the number of idle slots that must be left for other jobs.
const spare = 1

// New returns a Service. If it plans, it registers with the queue.
func New(c Config) *Service {
	if c.Interval <= 0 {
		c.Interval = 5 * time.Second
	}
	s := &Service{Config: c, more: make(chan struct{}, 1), verdicts: ahead.NewCache()}
	s.Run = s.run
	if c.Plans > 0 {
		c.Queue.RegisterAhead(planner{s})
	}
	return s
}

func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

func (s *Service) run(ctx context.Context) {
	if s.Plans <= 0 {
		if err := s.trim(ctx, s.now()); err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot delete the plans that are no longer used", "error", err)
		}
		return
	}
	jobs, done := s.Hub.Subscribe("jobs") // of all organizations
	defer done()
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	changed, checked := true, time.Time{} // whether jobs changed since all workspaces were planned, and when
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-jobs:
			changed = true
			if s.working.Load() {
				_, err = s.giveWay(ctx)
			}
		case <-s.more:
			changed, err = s.Check(ctx)
		case now := <-tick.C:
			if changed || now.Sub(checked) > rest {
				checked = now
				changed, err = s.Check(ctx)
			}
		}
		changed = changed || err != nil
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot plan ahead; retrying", "error", err)
		}
	}
}

// giveWay cancels jobs of this class if another job waits. It reports whether none must be
// added now.
func (s *Service) giveWay(ctx context.Context) (busy bool, err error) {
	mine, err := s.Store.PlanAheadUnfinished(ctx, queue.ClassAhead)
	if err != nil {
		return true, err
	}
	s.working.Store(len(mine) > 0)
	waiting, err := s.Store.PlanAheadWaiting(ctx, queue.ClassAhead)
	if err != nil || !waiting {
		return len(mine) > 0, err
	}
	for _, j := range mine {
		err := s.Store.Tx(ctx, func(q *sqlc.Queries) error { return s.Queue.Cancel(ctx, q, j.ID) })
		if codersdk.Is(err, codersdk.CodePrecondition, codersdk.CodeNotFound) {
			continue // it ended
		}
		if err != nil {
			return true, err
		}
		s.Queue.Canceled(j.ID)
	}
	return true, nil
}

// Check removes plans that are no longer wanted and adds a job for the next workspace, if
// provisioners are idle. Workspaces that cannot be planned are recorded with the reason. It
// reports whether there may be more to plan.
func (s *Service) Check(ctx context.Context) (more bool, err error) {
	if busy, err := s.giveWay(ctx); busy || err != nil {
		return true, err
	}
	since := s.now().Add(-savedplan.MaxAge)
	if err := s.trim(ctx, since); err != nil {
		return true, err
	}
	for {
		next, err := s.Store.PlanAheadNext(ctx, int32(s.Plans*candidates), since, int32(s.Plans))
		if err != nil || len(next) == 0 {
			return false, err
		}
		if again, err := s.plan(ctx, next[0].ID, next[0].BuildNumber); err != nil || !again {
			return true, err
		}
	}
}

// trim deletes plans from before a time, and the oldest ones beyond the number that is kept.
func (s *Service) trim(ctx context.Context, since time.Time) error {
	n, err := s.Store.PlanAheadTrim(ctx, since, int32(s.Plans))
	if err == nil {
		s.Workspaces.Plans.Metrics.Trimmed(n.Old, n.Surplus, n.Kept)
	}
	return err
}

// plan adds the job of a workspace. It reports whether to continue with the next one, because
// this one cannot be planned.
func (s *Service) plan(ctx context.Context, workspaceID uuid.UUID, number int32) (again bool, err error) {
	r, err := s.Workspaces.Rehearse(ctx, workspaceID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return false, nil // locked or deleted: the next check shows which
	}
	why, err := s.whyNot(ctx, r, err)
	if err != nil {
		return false, err
	}
	put := sqlc.PlanAheadPutParams{WorkspaceID: workspaceID, BuildNumber: number, Reason: why, Now: s.now()}
	if why != "" {
		s.Log.Debug("a workspace is not planned ahead", "workspace", workspaceID, "reason", why)
		return true, s.Store.PlanAheadPut(ctx, put)
	}
	if idle, err := s.Queue.Idle(ctx, r.Job); err != nil || idle <= spare {
		return false, err
	}
	j := r.Job.ProvisionerJob
	id := uuid.New()
	put.JobID, put.BuildNumber = &id, r.BuildNumber
	in := input{WorkspaceID: workspaceID}
	in.TemplateVersionID = r.VersionID
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		err := s.Queue.Add(ctx, q, queue.NewJob{
			ID: id, OrganizationID: j.OrganizationID, InitiatorID: r.Workspace.OwnerID, FileID: j.FileID,
			Type: codersdk.ProvisionerJobTypeTemplateVersionDryRun, Provisioner: j.Provisioner, Tags: r.Job.Tags, Priority: queue.ClassAhead, Input: in,
		})
		if err != nil {
			return err
		}
		return q.PlanAheadPut(ctx, put)
	})
	if err != nil {
		return false, err
	}
	s.working.Store(true)
	s.Queue.Wake(j.OrganizationID)
	return false, nil
}

// input is the payload of a job.
type input struct {
	codersdk.ProvisionerJobInput
	WorkspaceID uuid.UUID `json:"workspace_id"`
}
