package queue

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// lostError reports that a claim is lost; its code is CodePrecondition.
type lostError struct{ err error }

func (e lostError) Error() string { return e.err.Error() }
func (e lostError) Unwrap() error { return e.err }

// Lost reports whether err means that the worker no longer holds the job and must stop
// without sending anything more.
func Lost(err error) bool {
	_, ok := errors.AsType[lostError](err)
	return ok
}

func asError(err error) (*codersdk.Error, bool) { return errors.AsType[*codersdk.Error](err) }

// held locks a job and checks that w holds it with that fence. Every write on behalf of a
// worker calls it, so that a former holder cannot change the job.
func (s *Service) held(ctx context.Context, q *sqlc.Queries, w Worker, id string, fence int64) (sqlc.ProvisionerJob, Job, error) {
	jobID, err := uuid.Parse(id)
	if err != nil {
		return sqlc.ProvisionerJob{}, Job{}, codersdk.Invalid("job_id", "%.40q is not a UUID", id)
	}
	row, err := q.QueueLock(ctx, jobID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return row.ProvisionerJob, Job{}, lostError{codersdk.Errorf(codersdk.CodePrecondition, "Job %s not found", jobID)}
	}
	if err != nil {
		return row.ProvisionerJob, Job{}, err
	}
	r := row.ProvisionerJob
	switch {
	case r.CompletedAt != nil:
		err = lostError{codersdk.Errorf(codersdk.CodePrecondition, "Job %s is finished", jobID)}
	case r.StartedAt == nil || r.Fence != fence || r.WorkerID == nil || *r.WorkerID != w.ID:
		err = lostError{codersdk.Errorf(codersdk.CodePrecondition, "Job %s is not, or no longer, assigned to this provisioner", jobID)}
	}
	return r, jobOf(r, row.Tags), err
}

// Update stores log lines, results of an import and the state of a build, renews the
// lease, and returns whether the job is being canceled. (PRV-18, PRV-22)
func (s *Service) Update(ctx context.Context, w Worker, fence int64, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	resp, said, err := s.storeLogs(ctx, w, fence, req)
	if err == nil && !said {
		resp, err = s.update(ctx, w, fence, req)
	}
	if err != nil {
		return nil, err
	}
	if len(req.Logs) > 0 {
		s.Hub.Publish(notify.Job(uuid.MustParse(req.JobId)))
	}
	return resp, nil
}

// update stores an update in a transaction.
func (s *Service) update(ctx context.Context, w Worker, fence int64, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	var resp *provisionerd.UpdateJobResponse
	lease := w.Lease
	if lease <= 0 {
		lease = s.Lease
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, job, err := s.held(ctx, q, w, req.JobId, fence)
		if err != nil {
			return err
		}
		resp = &provisionerd.UpdateJobResponse{}
		if hasResult(req) {
			h, err := s.handler(job)
			if err != nil {
				return err
			}
			learned, err := h.Update(ctx, q, job, req)
			if err != nil {
				return err
			}
			if learned != nil {
				resp = learned
			}
		}
		length, overflowed, err := s.addLogs(ctx, q, row, req.Logs)
		if err != nil {
			return err
		}
		resp.Canceled = row.CanceledAt != nil
		return q.QueueRenew(ctx, sqlc.QueueRenewParams{
			ID: job.ID, LogsLength: length, LogsOverflowed: overflowed, Resumable: req.Resumable, LeaseMs: lease.Milliseconds(),
		})
	})
	return resp, err
}

// Complete stores the result of a successful job. If the job's handler rejects the result,
// the job fails with that reason and keeps the state in the result.
func (s *Service) Complete(ctx context.Context, w Worker, fence int64, done *provisionerd.CompletedJob) error {
	var job Job
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		_, j, err := s.held(ctx, q, w, done.JobId, fence)
		if err != nil {
			return err
		}
		job = j
		if kindOfCompleted(done) != j.Type {
			return refused{codersdk.Invalid("type", "the result is not that of a %s job", j.Type)}
		}
		h, err := s.handler(j)
		if err != nil {
			return err
		}
		if err := h.Complete(ctx, q, j, done); err != nil {
			return refused{err}
		}
		if err := addTimings(ctx, q, j.ID, done.GetWorkspaceBuild().GetTimings()); err != nil {
			return err
		}
		return s.endJob(ctx, q, j, sqlc.QueueEndParams{ID: j.ID, Succeeded: true})
	})
	if r, ok := errors.AsType[refused](err); ok && ctx.Err() == nil && !codersdk.Is(r.err, codersdk.CodeUnavailable) {
		s.Log.Warn("rejected the result of a job; it fails", "job", job.ID, "type", job.Type, "error", r.err)
		failed := &provisionerd.FailedJob{JobId: done.JobId, Error: "The server cannot use the result: " + message(r.err)}
		if b := done.GetWorkspaceBuild(); b != nil {
			failed.Type = &provisionerd.FailedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.FailedJob_WorkspaceBuild{State: b.State, Timings: b.Timings}}
		}
		return s.Fail(ctx, w, fence, failed)
	}
	if err != nil {
		return err
	}
	s.changed(ctx, job)
	return nil
}

// refused is an error of a handler about a result.
type refused struct{ err error }

func (e refused) Error() string { return e.err.Error() }
func (e refused) Unwrap() error { return e.err }

func kindOfCompleted(done *provisionerd.CompletedJob) codersdk.ProvisionerJobType {
	switch done.Type.(type) {
	case *provisionerd.CompletedJob_WorkspaceBuild_:
		return codersdk.ProvisionerJobTypeWorkspaceBuild
	case *provisionerd.CompletedJob_TemplateImport_:
		return codersdk.ProvisionerJobTypeTemplateVersionImport
	case *provisionerd.CompletedJob_TemplateDryRun_, *provisionerd.CompletedJob_WorkspacePlan:
		return codersdk.ProvisionerJobTypeTemplateVersionDryRun
	}
	return ""
}

// Fail stores the remains of a failed job. A job that was being canceled becomes canceled,
// and its log has the reason.
func (s *Service) Fail(ctx context.Context, w Worker, fence int64, failed *provisionerd.FailedJob) error {
	var job Job
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, j, err := s.held(ctx, q, w, failed.JobId, fence)
		if err != nil {
			return err
		}
		job = j
		if row.CanceledAt == nil {
			return s.fail(ctx, q, j, failed, outcome{})
		}
		if err := s.note(ctx, q, row, provisioner.LogLevel_INFO, "Canceled: "+failed.Error); err != nil {
			return err
		}
		return s.fail(ctx, q, j, failed, outcome{canceled: true})
	})
	if err != nil {
		return err
	}
	s.changed(ctx, job)
	return nil
}

// outcome is the result of an unsuccessful job.
type outcome struct{ canceled bool }

// fail ends a locked job without success.
func (s *Service) fail(ctx context.Context, q *sqlc.Queries, j Job, failed *provisionerd.FailedJob, o outcome) error {
	h, err := s.handler(j)
	if err != nil {
		return err
	}
	failed.JobId = j.ID.String()
	failed.Error = clean(failed.Error, maxError)
	if failed.Error == "" {
		failed.Error = "The provisioner reported no reason"
	}
	j.Canceled = o.canceled
	if err := h.Fail(ctx, q, j, failed); err != nil {
		// A job whose handler can never accept it must not return to the queue forever.
		if len(failed.GetWorkspaceBuild().GetState()) > 0 || !codersdk.Is(err, codersdk.CodeInvalid, codersdk.CodeNotFound) {
			return err
		}
		s.Log.Error("cannot record the remains of a failed job", "job", j.ID, "type", j.Type, "error", err)
	}
	if err := addTimings(ctx, q, j.ID, failed.GetWorkspaceBuild().GetTimings()); err != nil {
		return err
	}
	end := sqlc.QueueEndParams{ID: j.ID, Error: failed.Error, ErrorCode: clean(failed.ErrorCode, 100)}
	if o.canceled {
		end.Error, end.ErrorCode, end.Canceled = "", "", true
	}
	return s.endJob(ctx, q, j, end)
}

// endJob ends a job and releases jobs that waited for it because of their template's limit.
func (s *Service) endJob(ctx context.Context, q *sqlc.Queries, j Job, end sqlc.QueueEndParams) error {
	if err := q.QueueEnd(ctx, end); err != nil || j.TemplateID == uuid.Nil {
		return err
	}
	capped, err := q.QueueHolds(ctx, j.TemplateID)
	if err != nil || !capped {
		return err
	}
	_, err = q.QueueLetGo(ctx, j.TemplateID)
	return err
}

// LetGo releases builds of a template up to its limit, which the same transaction changed.
// The caller calls Wake after the commit.
func (s *Service) LetGo(ctx context.Context, q *sqlc.Queries, templateID uuid.UUID) error {
	_, err := q.QueueLetGo(ctx, templateID)
	return err
}

// changed notifies watchers of a job's status.
func (s *Service) changed(ctx context.Context, j Job) {
	s.Hub.Publish(notify.Job(j.ID), notify.Interrupt(j.ID))
	if j.TemplateID != uuid.Nil {
		s.Wake(j.OrganizationID) // the job's end may have released another build
	}
	if h, err := s.handler(j); err == nil {
		h.Changed(context.WithoutCancel(ctx), j)
	}
}

func addTimings(ctx context.Context, q *sqlc.Queries, id uuid.UUID, ts []*provisioner.Timing) error {
	p := sqlc.QueueAddTimingsParams{JobID: id}
	for _, t := range ts {
		if t.GetStart() == nil || t.GetEnd() == nil || len(p.Stage) == maxTimings {
			continue
		}
		p.StartedAt = append(p.StartedAt, t.Start.AsTime())
		p.EndedAt = append(p.EndedAt, t.End.AsTime())
		p.Stage = append(p.Stage, clean(t.Stage, 100))
		p.Source = append(p.Source, clean(t.Source, 1000))
		p.Action = append(p.Action, clean(t.Action, 100))
		p.Resource = append(p.Resource, clean(t.Resource, 1000))
	}
	if len(p.Stage) == 0 {
		return nil
	}
	return q.QueueAddTimings(ctx, p)
}

// Limits of what a provisioner can send.
const (
	maxError   = 64 << 10
	maxTimings = 10_000
	maxLine    = 64 << 10
	minLine    = 16      // what an empty line counts as
	maxLogs    = 1 << 20 // for each job (PRV-22)
	follow     = 10 * time.Second
)
