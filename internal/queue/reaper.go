package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxClaims is the number of attempts of a job whose provisioners were lost.
const maxClaims = 3

// reap ends jobs that cannot end otherwise. Every replica runs it; row locks prevent
// duplicates. It starts one lease after the server, so that provisioners have time to
// reconnect after an outage of this server.
func (s *Service) reap(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(s.Lease):
	}
	lifecycle.Every(ctx, s.Reap, func(ctx context.Context) {
		if err := s.reapOnce(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot check for lost jobs; retrying", "error", err)
		}
	})
}

func (s *Service) reapOnce(ctx context.Context) error {
	lost, err := s.Store.QueueExpired(ctx, s.ForceCancel.Milliseconds())
	if err != nil {
		return err
	}
	var errs []error // one job that cannot be ended does not block the others
	for _, id := range lost {
		if err := s.reapLost(ctx, id); err != nil {
			errs = append(errs, fmt.Errorf("job %s: %w", id, err))
		}
	}
	errs = append(errs, s.letGo(ctx))
	waiting, err := s.Store.QueueUnserved(ctx, s.Unserved.Milliseconds())
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, w := range waiting {
		if err := s.reapUnserved(ctx, w.ID); err != nil {
			errs = append(errs, fmt.Errorf("job %s: %w", w.ID, err))
		}
	}
	return errors.Join(errs...)
}

// letGo releases builds after a raised limit or a finished build, if the server that made
// the change did not.
func (s *Service) letGo(ctx context.Context) error {
	templates, err := s.Store.QueueHeldTemplates(ctx)
	for _, t := range templates {
		if err := s.Store.Tx(ctx, func(q *sqlc.Queries) error { return s.LetGo(ctx, q, t.ID) }); err != nil {
			return err
		}
		s.Wake(t.OrganizationID)
	}
	return err
}

// reapLost ends a job whose lease has expired, or that does not end after it was canceled.
func (s *Service) reapLost(ctx context.Context, id uuid.UUID) error {
	var job Job
	var why string
	var again bool
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		why = ""
		row, err := q.QueueLock(ctx, id)
		if err != nil {
			return err
		}
		r := row.ProvisionerJob
		job = jobOf(r, row.Tags)
		forced := r.CanceledAt != nil && row.Now.Sub(*r.CanceledAt) > s.ForceCancel
		if r.CompletedAt != nil || r.StartedAt == nil || !row.Expired && !forced {
			return nil // another replica was faster
		}
		switch {
		case row.Expired:
			why = fmt.Sprintf("The provisioner %q was lost: its last update was at %s.", r.WorkerName, r.UpdatedAt.UTC().Format(time.RFC3339))
		default:
			why = fmt.Sprintf("The provisioner %q did not end the job within %s after it was canceled.", r.WorkerName, s.ForceCancel)
		}
		again, err = s.giveUp(ctx, q, r, job, why)
		return err
	})
	if err != nil || why == "" {
		return err
	}
	s.Log.Warn("a job was lost by its provisioner", "job", id, "type", job.Type, "reason", why, "run_again", again)
	if again {
		s.Hub.Publish(notify.Jobs(job.OrganizationID))
	}
	s.changed(ctx, job)
	return nil
}

// giveUp takes a locked job from its provisioner. Imports and dry runs are run again. A
// build that has reported its whole state is continued by another provisioner. Other
// builds fail with the last known state.
func (s *Service) giveUp(ctx context.Context, q *sqlc.Queries, r sqlc.ProvisionerJob, job Job, why string) (again bool, err error) {
	build := job.Type == codersdk.ProvisionerJobTypeWorkspaceBuild
	if (!build || r.Resumable || s.unbegun(r)) && r.CanceledAt == nil && r.Fence < maxClaims {
		then := " The job is run again."
		if build && r.Resumable {
			then = " Another provisioner continues the build from the last reported state."
		}
		if err := s.note(ctx, q, r, provisioner.LogLevel_WARN, why+then); err != nil {
			return false, err
		}
		_, err := q.QueueRelease(ctx, r.ID, r.Fence)
		return true, err
	}
	failed := &provisionerd.FailedJob{Error: why}
	switch {
	case build && r.Resumable:
		failed.Error += " The last reported state is kept. " +
			"Resources that the provisioner was creating at that moment may exist without being in the state; " +
			"check for them before the next build."
		if r.Fence >= maxClaims {
			failed.Error = fmt.Sprintf("%s It was tried %d times.", failed.Error, r.Fence)
		}
	case build:
		failed.Error += " The state from before the build is kept. Resources that the build created may exist without being in the state; " +
			"check for them before the next build."
	}
	if err := s.note(ctx, q, r, provisioner.LogLevel_ERROR, failed.Error); err != nil {
		return false, err
	}
	return false, s.fail(ctx, q, job, failed, outcome{})
}

// unbegun reports whether a build's provisioner sent no update at all. A provisioner that
// supports leases sends one before it changes anything, so nothing was changed.
func (s *Service) unbegun(r sqlc.ProvisionerJob) bool {
	return r.UpdatedAt.Equal(*r.StartedAt) && r.LeaseMs != UpstreamLease.Milliseconds()
}

// reapUnserved fails a job that no connected provisioner could run for Config.Unserved.
func (s *Service) reapUnserved(ctx context.Context, id uuid.UUID) error {
	var job Job
	var failed *provisionerd.FailedJob
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		failed = nil
		row, err := q.QueueLock(ctx, id)
		if err != nil {
			return err
		}
		r := row.ProvisionerJob
		if r.StartedAt != nil || r.CompletedAt != nil {
			return nil
		}
		job = jobOf(r, row.Tags)
		failed = &provisionerd.FailedJob{Error: fmt.Sprintf("No provisioner that can run this job was connected for %s: it must support %s and have %s.",
			s.Unserved, r.Provisioner, tagsText(row.Tags))}
		return s.fail(ctx, q, job, failed, outcome{})
	})
	if err != nil || failed == nil {
		return err
	}
	s.Log.Warn("failed a job that no provisioner can run", "job", id, "type", job.Type, "tags", job.Tags)
	s.changed(ctx, job)
	return nil
}

// tagsText formats a tag set for a sentence.
func tagsText(t codersdk.Tags) string {
	if t.Untagged() {
		return "no tags"
	}
	return "the tags " + strings.ReplaceAll(t.Key(), ",", ", ")
}
