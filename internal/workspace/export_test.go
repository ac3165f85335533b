package workspace

import (
	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// SearchParams is searchParams, for tests that look at the plan of a search.
func (s *Service) SearchParams(actor access.Subject, search Search) (sqlc.WorkspaceSearchParams, error) {
	return s.searchParams(actor, search)
}

// JobsOf is jobsOf.
func JobsOf(status coder.WorkspaceStatus) (transitions, jobs []string) { return jobsOf(status) }
