package queue

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/standing"
)

// Job gives one job as people see it.
func (s *Service) Job(ctx context.Context, q *sqlc.Queries, id uuid.UUID) (coder.ProvisionerJob, error) {
	jobs, err := s.Jobs(ctx, q, []uuid.UUID{id})
	if err != nil {
		return coder.ProvisionerJob{}, err
	}
	j, ok := jobs[id]
	if !ok {
		return j, coder.NotFound()
	}
	return j, nil
}

// Jobs gives jobs as people see them; ids that do not exist are left out.
// Pending ones have their place in the queue and who could take them. (PRV-16)
func (s *Service) Jobs(ctx context.Context, q *sqlc.Queries, ids []uuid.UUID) (map[uuid.UUID]coder.ProvisionerJob, error) {
	out := make(map[uuid.UUID]coder.ProvisionerJob, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := q.QueueJobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var pending []uuid.UUID
	queues := map[standing.Queue][]uuid.UUID{}
	for _, r := range rows {
		j := jobView(r)
		if j.Status == coder.ProvisionerJobStatusPending {
			pending = append(pending, j.ID)
			if p := r.ProvisionerJob; !p.Held {
				in := standing.Queue{TagSet: p.TagSetID, Provisioner: p.Provisioner}
				queues[in] = append(queues[in], j.ID)
			}
		}
		out[j.ID] = j
	}
	if len(pending) == 0 {
		return out, nil
	}
	for queue, jobs := range queues {
		places, err := s.places.Places(ctx, q, queue, jobs)
		if err != nil {
			return nil, err
		}
		for id, p := range places {
			j := out[id]
			j.QueuePosition, j.QueueSize = p.Position, p.Size
			out[id] = j
		}
	}
	workers, err := q.QueueWorkers(ctx, pending, stale.Milliseconds())
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		j := out[w.JobID]
		j.AvailableWorkers = append(j.AvailableWorkers, w.DaemonID.String())
		out[w.JobID] = j
	}
	return out, nil
}

func jobView(r sqlc.QueueJobsRow) coder.ProvisionerJob {
	p := r.ProvisionerJob
	j := coder.ProvisionerJob{
		AvailableWorkers: []string{}, CanceledAt: p.CanceledAt, CompletedAt: p.CompletedAt, CreatedAt: p.CreatedAt,
		Error: p.Error, ErrorCode: coder.JobErrorCode(p.ErrorCode), FileID: p.FileID, ID: p.ID, InitiatorID: p.InitiatorID,
		LogsOverflowed: p.LogsOverflowed, OrganizationID: p.OrganizationID, StartedAt: p.StartedAt,
		Status: coder.ProvisionerJobStatus(p.Status), Tags: r.Tags, Type: coder.ProvisionerJobType(p.Type),
		WorkerID: p.WorkerID, WorkerName: p.WorkerName,
		Metadata: coder.ProvisionerJobMetadata{
			TemplateID: r.TemplateID, TemplateName: r.TemplateName, TemplateDisplayName: r.TemplateDisplayName,
			TemplateIcon: r.TemplateIcon, TemplateVersionName: r.TemplateVersionName,
			WorkspaceID: r.WorkspaceID, WorkspaceName: r.WorkspaceName,
		},
	}
	if err := json.Unmarshal(p.Input, &j.Input); err != nil {
		j.Input.Error = "the job's input cannot be read"
	}
	return j
}

// Timings gives how long the steps of a job took.
func (s *Service) Timings(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) ([]coder.ProvisionerTiming, error) {
	rows, err := q.QueueTimings(ctx, jobID)
	if err != nil {
		return nil, err
	}
	out := make([]coder.ProvisionerTiming, 0, len(rows))
	for _, r := range rows {
		out = append(out, coder.ProvisionerTiming{
			JobID: r.JobID, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Stage: coder.TimingStage(r.Stage),
			Source: r.Source, Action: r.Action, Resource: r.Resource,
		})
	}
	return out, nil
}
