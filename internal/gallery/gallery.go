// Package gallery serves the pages on which templates are found, created and edited: what a
// list shows about templates, templates that are composed of a starter template and
// modules, and the check of a source before its import.
package gallery

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
)

// Service implements the use cases. It is safe for concurrent use.
type Service struct {
	Store *postgres.Store
	Forms *parameter.Forms
}

// signedIn checks that actor is a user or the server itself.
func signedIn(actor access.Subject) error {
	if actor.UserID == uuid.Nil && !actor.System {
		return codersdk.NotFound()
	}
	return nil
}

// object is the access object of a template.
func object(t sqlc.Template) access.Object {
	return access.Object{
		Type: codersdk.RBACResourceTemplate, ID: t.ID, OrganizationID: t.OrganizationID, UserACL: t.UserACL, GroupACL: t.GroupACL,
	}
}

// maxSummaries is the number of templates that one request can ask for.
const maxSummaries = 100

// Summaries returns the summaries of those of the templates that actor can read, in no
// particular order. The latest import is for those who can update the template.
func (s *Service) Summaries(ctx context.Context, actor access.Subject, ids []uuid.UUID) ([]templatesource.TemplateSummary, error) {
	if len(ids) > maxSummaries {
		return nil, codersdk.Invalid("ids", "at most %d templates are allowed", maxSummaries)
	}
	rows, err := s.Store.TemplateSummaries(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]templatesource.TemplateSummary, 0, len(rows))
	for _, r := range rows {
		if !actor.Can(codersdk.RBACActionRead, object(r.Template)) {
			continue
		}
		summary := templatesource.TemplateSummary{TemplateID: r.Template.ID, Workspaces: r.Workspaces}
		if actor.Can(codersdk.RBACActionUpdate, object(r.Template)) {
			summary.LatestImport = &templatesource.TemplateImport{
				VersionID: r.VersionID, VersionName: r.VersionName, CreatedAt: r.VersionCreatedAt.UTC(),
				Status: codersdk.ProvisionerJobStatus(r.JobStatus), Error: r.JobError,
			}
		}
		out = append(out, summary)
	}
	return out, nil
}
