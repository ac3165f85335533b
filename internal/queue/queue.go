// Package queue hands jobs to provisioners: claimed with SKIP LOCKED among the
// tag sets a provisioner matches, held under a lease that updates renew, and
// fenced, so that whoever lost a claim can change nothing. It knows no job's
// meaning: template and workspace register a Handler each. (PRV-11, PRV-18, PRV-31)
package queue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Job is a claimed job as its Handler sees it.
type Job struct {
	ID, OrganizationID, InitiatorID, FileID uuid.UUID
	Type                                    coder.ProvisionerJobType
	Provisioner                             string
	Tags                                    coder.Tags
	Input                                   json.RawMessage
	CreatedAt, StartedAt                    time.Time
	Fence                                   int64
	TemplateID                              uuid.UUID // whose cap it counts for; Nil for none
}

// NewJob is a job to add.
type NewJob struct {
	ID, OrganizationID, InitiatorID, FileID uuid.UUID
	Type                                    coder.ProvisionerJobType
	Provisioner                             string     // terraform or echo
	Tags                                    coder.Tags // normalized
	Priority                                int16      // lower goes first; 0 for people, 1 for what nobody waits for
	TemplateID                              uuid.UUID  // of a build, for its template's cap; Nil for none
	Input                                   any        // marshalled to JSON; holds the fields of coder.ProvisionerJobInput
}

// Handler gives jobs of one type their meaning. Complete, Fail and Update run
// inside the transaction that checks the fence; whatever they return undoes
// it. The messages are the provisioner wire's, used as plain data.
type Handler interface {
	// Prepare fills what the provisioner needs: the type-specific part and the
	// source archive are set; id, fence, times and names are the queue's.
	Prepare(ctx context.Context, job Job) (*provisionerd.AcquiredJob, error)
	// Update takes what an import learns early and the state that a build
	// tells while it runs, or that was found later; logs are the queue's.
	Update(ctx context.Context, q *sqlc.Queries, job Job, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error)
	// Complete takes the result of a job that succeeded.
	Complete(ctx context.Context, q *sqlc.Queries, job Job, done *provisionerd.CompletedJob) error
	// Fail takes what remains of a job that failed, was canceled, or was lost;
	// failed may hold nothing but the error.
	Fail(ctx context.Context, q *sqlc.Queries, job Job, failed *provisionerd.FailedJob) error
	// Changed is called after a commit that changed the job's status, to send hints.
	Changed(ctx context.Context, job Job)
}
