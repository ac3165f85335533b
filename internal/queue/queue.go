// Package queue assigns jobs to provisioners. A provisioner claims the jobs of matching tag
// sets with SKIP LOCKED and holds each under a lease, which its updates renew. Every claim
// has a fence, and every later write checks it, so a provisioner whose lease was lost
// cannot change the job. The queue does not interpret jobs: template and workspace register
// a Handler each. (PRV-11, PRV-18, PRV-31)
package queue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Job is a claimed job as passed to its Handler.
type Job struct {
	ID, OrganizationID, InitiatorID, FileID uuid.UUID
	Type                                    codersdk.ProvisionerJobType
	Provisioner                             string
	Tags                                    codersdk.Tags
	Input                                   json.RawMessage
	CreatedAt, StartedAt                    time.Time
	Fence                                   int64
	Priority                                int16             // of NewJob
	TemplateID                              uuid.UUID         // template whose limit applies; Nil for none
	Canceled                                bool              // of Handler.Fail: a user canceled the job
	Trace                                   map[string]string // trace context of the request that created the job; empty without one
}

// NewJob is a job to be added.
type NewJob struct {
	ID, OrganizationID, InitiatorID, FileID uuid.UUID
	Type                                    codersdk.ProvisionerJobType
	Provisioner                             string        // terraform or echo
	Tags                                    codersdk.Tags // normalized
	Priority                                int16         // lower first: 0 for requests of users, 1 for automatic jobs, or ClassAhead
	TemplateID                              uuid.UUID     // for a build: template whose limit applies; Nil for none
	Input                                   any           // encoded as JSON; contains the fields of codersdk.ProvisionerJobInput
}

// Handler implements the jobs of one type. Complete, Fail and Update run inside the
// transaction that checks the fence; their errors roll it back. The messages are those of
// the provisioner protocol, used as plain data.
type Handler interface {
	// Prepare returns the inputs of the provisioner: the type-specific part and the source
	// archive. The queue adds ID, fence, times and names.
	Prepare(ctx context.Context, job Job) (*provisionerd.AcquiredJob, error)
	// Update stores early results of an import, and the state that a build reports while it
	// runs or that was recovered later. The queue stores the logs.
	Update(ctx context.Context, q *sqlc.Queries, job Job, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error)
	// Complete stores the result of a successful job.
	Complete(ctx context.Context, q *sqlc.Queries, job Job, done *provisionerd.CompletedJob) error
	// Fail stores the remains of a job that failed, was canceled, or was lost; failed may
	// have nothing but the error.
	Fail(ctx context.Context, q *sqlc.Queries, job Job, failed *provisionerd.FailedJob) error
	// Changed is called after a commit that changed the job's status, to send notifications.
	Changed(ctx context.Context, job Job)
}
