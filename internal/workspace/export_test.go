package workspace

import (
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/search"
)

// SearchParams returns the parameters of the query, for tests that look at the plan of a search.
func (s *Service) SearchParams(actor access.Subject, filter Search) (sqlc.WorkspaceSearchParams, error) {
	return search.Params(actor, filter, s.now())
}

// JobsOf is search.JobsOf.
func JobsOf(status codersdk.WorkspaceStatus) (transitions, jobs []string) {
	return search.JobsOf(status)
}
