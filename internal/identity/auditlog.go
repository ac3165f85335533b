package identity

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
)

// AuditSearch narrows the audit log.
type AuditSearch struct {
	audit.Search
	Organization string // id, name or "default"; sets OrganizationID
}

// AuditLogs gives a page of the audit log that the actor may see, the latest
// first, and the count of all rows that match.
func (s *Service) AuditLogs(ctx context.Context, actor access.Subject, f AuditSearch) (coder.AuditLogResponse, error) {
	if f.Organization != "" {
		o, err := s.OrganizationByRef(ctx, actor, f.Organization)
		if err != nil {
			return coder.AuditLogResponse{}, err
		}
		f.OrganizationID = o.ID
	}
	return audit.Logs(ctx, s.c.Store.Queries, actor, f.Search)
}
