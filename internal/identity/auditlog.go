package identity

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
)

// AuditSearch narrows the audit log.
type AuditSearch struct {
	audit.Search
	Organization string // id, name or "default"; sets OrganizationID
}

// AuditLogs returns a page of the audit log that the actor can see, the newest
// first, and the count of all matching rows.
func (s *Service) AuditLogs(ctx context.Context, actor access.Subject, f AuditSearch) (codersdk.AuditLogResponse, error) {
	if f.Organization != "" {
		o, err := s.OrganizationByRef(ctx, actor, f.Organization)
		if err != nil {
			return codersdk.AuditLogResponse{}, err
		}
		f.OrganizationID = o.ID
	}
	return audit.Logs(ctx, s.c.Store.Queries, actor, f.Search)
}
