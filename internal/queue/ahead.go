package queue

import (
	"context"
	"encoding/json"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// ClassAhead is the Priority of dry runs that plan ahead. They run after all other jobs, and
// have the Handler of RegisterAhead. A server without such a Handler, or of an earlier version,
// runs them as other dry runs.
const ClassAhead = 2

// RegisterAhead sets the handler of jobs of ClassAhead, under the same rules as Register.
func (s *Service) RegisterAhead(h Handler) { s.ahead = h }

// Idle returns the number of idle slots of connected provisioners that can run a job.
func (s *Service) Idle(ctx context.Context, j sqlc.QueueJobRow) (int64, error) {
	tags, err := json.Marshal(j.Tags)
	if err != nil {
		return 0, err
	}
	return s.Store.PlanAheadIdle(ctx, sqlc.PlanAheadIdleParams{
		OrganizationID: j.ProvisionerJob.OrganizationID, Provisioner: j.ProvisionerJob.Provisioner, StaleMs: stale.Milliseconds(), Tags: tags,
	})
}
