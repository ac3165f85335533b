package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxClaims bounds how often a job is run again after its provisioner was lost.
const maxClaims = 3

// reap ends what can no longer end by itself. Every replica does it; the row
// lock decides who is first. It begins a lease after the start: when this
// server was away, provisioners get as long to come back with their jobs.
func (s *Service) reap(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(s.Lease):
	}
	t := time.NewTicker(s.Reap)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := s.reapOnce(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot look for lost jobs, trying again soon", "error", err)
		}
	}
}

func (s *Service) reapOnce(ctx context.Context) error {
	lost, err := s.Store.QueueExpired(ctx, s.ForceCancel.Milliseconds())
	if err != nil {
		return err
	}
	var errs []error // one job that cannot be ended does not keep the others
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

// letGo makes up for a cap that was raised, or a build that ended, without
// anybody letting go what waited for that.
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

// reapLost deals with a job whose provisioner went silent, or that does not
// end though it was canceled.
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
		forced := r.CanceledAt != nil && time.Since(*r.CanceledAt) > s.ForceCancel
		if r.CompletedAt != nil || r.StartedAt == nil || !row.Expired && !forced {
			return nil // someone was faster
		}
		switch {
		case row.Expired:
			why = fmt.Sprintf("The provisioner %q was lost: nothing was heard of it since %s.", r.WorkerName, r.UpdatedAt.UTC().Format(time.RFC3339))
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

// giveUp takes a locked job from its provisioner. What has no effect outside
// is run again; so is a build that told all it made, which another provisioner
// goes on with. Anything else fails with the state that is known.
func (s *Service) giveUp(ctx context.Context, q *sqlc.Queries, r sqlc.ProvisionerJob, job Job, why string) (again bool, err error) {
	build := job.Type == coder.ProvisionerJobTypeWorkspaceBuild
	if (!build || r.Resumable || s.unbegun(r)) && r.CanceledAt == nil && r.Fence < maxClaims {
		then := " The job is run again."
		if build && r.Resumable {
			then = " The build goes on elsewhere, from the last state that was heard."
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
		failed.Error += " The last state that was heard is kept. What the provisioner was making at that moment may exist without being in the state: look for it before the next build."
		if r.Fence >= maxClaims {
			failed.Error = fmt.Sprintf("%s It was tried %d times.", failed.Error, r.Fence)
		}
	case build:
		failed.Error += " The state from before the build is kept. What the build made since may exist without being in the state: look for it before the next build."
	}
	if err := s.note(ctx, q, r, provisioner.LogLevel_ERROR, failed.Error); err != nil {
		return false, err
	}
	return false, s.fail(ctx, q, job, failed, outcome{})
}

// unbegun says that a build's provisioner never said a word. One that knows of
// leases says one before it does anything, so nothing was done.
func (s *Service) unbegun(r sqlc.ProvisionerJob) bool {
	return r.UpdatedAt.Equal(*r.StartedAt) && r.LeaseMs != UpstreamLease.Milliseconds()
}

// reapUnserved fails a job that nobody could take for so long that nobody will.
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
		failed = &provisionerd.FailedJob{Error: fmt.Sprintf("No provisioner that could take this job was seen for %s: it must run %s jobs and have %s.", s.Unserved, r.Provisioner, tagsText(row.Tags))}
		return s.fail(ctx, q, job, failed, outcome{})
	})
	if err != nil || failed == nil {
		return err
	}
	s.Log.Warn("a job that no provisioner can take failed", "job", id, "type", job.Type, "tags", job.Tags)
	s.changed(ctx, job)
	return nil
}

// tagsText names a tag set in a sentence.
func tagsText(t coder.Tags) string {
	if t.Untagged() {
		return "no tags"
	}
	return "the tags " + strings.ReplaceAll(t.Key(), ",", ", ")
}
