package queue

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue/position"
)

// Job returns the API view of one job.
func (s *Service) Job(ctx context.Context, q *sqlc.Queries, id uuid.UUID) (codersdk.ProvisionerJob, error) {
	jobs, err := s.Jobs(ctx, q, []uuid.UUID{id})
	if err != nil {
		return codersdk.ProvisionerJob{}, err
	}
	j, ok := jobs[id]
	if !ok {
		return j, codersdk.NotFound()
	}
	return j, nil
}

// Jobs returns the API views of jobs; unknown IDs are skipped. Pending jobs have their
// position in the queue and the number of matching provisioners. (PRV-16)
func (s *Service) Jobs(ctx context.Context, q *sqlc.Queries, ids []uuid.UUID) (map[uuid.UUID]codersdk.ProvisionerJob, error) {
	out := make(map[uuid.UUID]codersdk.ProvisionerJob, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := q.QueueJobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var pending []uuid.UUID
	queues := map[position.Queue][]uuid.UUID{}
	for _, r := range rows {
		j := jobView(r)
		if j.Status == codersdk.ProvisionerJobStatusPending {
			pending = append(pending, j.ID)
			if p := r.ProvisionerJob; !p.Held {
				in := position.Queue{TagSet: p.TagSetID, Provisioner: p.Provisioner}
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

func jobView(r sqlc.QueueJobsRow) codersdk.ProvisionerJob {
	p := r.ProvisionerJob
	j := codersdk.ProvisionerJob{
		AvailableWorkers: []string{}, CanceledAt: p.CanceledAt, CompletedAt: p.CompletedAt, CreatedAt: p.CreatedAt,
		Error: p.Error, ErrorCode: codersdk.JobErrorCode(p.ErrorCode), FileID: p.FileID, ID: p.ID, InitiatorID: p.InitiatorID,
		LogsOverflowed: p.LogsOverflowed, OrganizationID: p.OrganizationID, StartedAt: p.StartedAt,
		Status: codersdk.ProvisionerJobStatus(p.Status), Tags: r.Tags, Type: codersdk.ProvisionerJobType(p.Type),
		WorkerID: p.WorkerID, WorkerName: p.WorkerName,
		Metadata: codersdk.ProvisionerJobMetadata{
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

// Timings returns the durations of the steps of a job.
func (s *Service) Timings(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) ([]codersdk.ProvisionerTiming, error) {
	rows, err := q.QueueTimings(ctx, jobID)
	if err != nil {
		return nil, err
	}
	out := make([]codersdk.ProvisionerTiming, 0, len(rows))
	for _, r := range rows {
		out = append(out, codersdk.ProvisionerTiming{
			JobID: r.JobID, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Stage: codersdk.TimingStage(r.Stage),
			Source: r.Source, Action: r.Action, Resource: r.Resource,
		})
	}
	return out, nil
}
