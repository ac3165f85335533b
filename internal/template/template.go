package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Query filters a list of templates; zero fields match all.
type Query struct {
	OrganizationID uuid.UUID
	Organization   string // name or id
	ExactName      string
	Name           string // part of the name
	Words          string // part of the name or display name
	Author         string
	Deprecated     *bool
	HasAITask      *bool // of the active version
	HasExternal    *bool // agents of the active version
	Page           codersdk.Page
}

// maxRows is the largest page of templates.
const maxRows = 1000

// Templates lists a page of the templates that actor can see, by name.
func (s *Service) Templates(ctx context.Context, actor access.Subject, query Query) ([]codersdk.Template, error) {
	f := actor.Filter(codersdk.RBACResourceTemplate)
	if query.Author == "me" {
		query.Author = actor.Username
	}
	p := sqlc.TemplateListParams{
		SeeAll: f.All, SeeOrganizations: f.OrganizationIDs, MemberOf: f.MemberOf, UserKey: f.UserKey, GroupKeys: f.GroupKeys,
		Narrowed: f.IDs != nil, OnlyIds: f.IDs,
		OrganizationName: query.Organization, ExactName: query.ExactName, Name: query.Name, Words: query.Words,
		Author: query.Author, Deprecated: query.Deprecated, HasAiTask: query.HasAITask, HasExternalAgent: query.HasExternal,
		RowLimit: query.Page.Rows(maxRows), RowOffset: query.Page.Skip(),
	}
	if query.OrganizationID != uuid.Nil {
		p.OrganizationID = &query.OrganizationID
	}
	rows, err := s.Store.TemplateList(ctx, p)
	if err != nil {
		return nil, err
	}
	out := make([]codersdk.Template, 0, len(rows))
	for _, r := range rows {
		out = append(out, view(sqlc.TemplateByIDRow(r)))
	}
	return out, s.addTimes(ctx, out)
}

// Template returns one template.
func (s *Service) Template(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.Template, error) {
	r, err := s.Store.TemplateByID(ctx, id)
	if err != nil {
		return codersdk.Template{}, err
	}
	if err := actor.Check(codersdk.RBACActionRead, object(r.Template)); err != nil {
		return codersdk.Template{}, err
	}
	out := []codersdk.Template{view(r)}
	err = s.addTimes(ctx, out)
	return out[0], err
}

// TemplateByName returns a template of an organization by its name.
func (s *Service) TemplateByName(ctx context.Context, actor access.Subject, organizationID uuid.UUID, name string) (codersdk.Template, error) {
	id, err := s.Store.TemplateIDByName(ctx, organizationID, name)
	if err != nil {
		return codersdk.Template{}, err
	}
	return s.Template(ctx, actor, id)
}

// CreateTemplate creates a template from a version that belongs to no template. The import of
// the version may still be pending or running; workspaces can be created once it has
// succeeded. All members of the organization can use the template unless the request says
// otherwise.
func (s *Service) CreateTemplate(
	ctx context.Context,
	actor access.Subject,
	organizationID uuid.UUID,
	req codersdk.CreateTemplateRequest,
) (codersdk.Template, error) {
	var none codersdk.Template
	if err := actor.Check(codersdk.RBACActionCreate, access.Object{Type: codersdk.RBACResourceTemplate, OrganizationID: organizationID}); err != nil {
		return none, err
	}
	row := newRow(organizationID, actor.UserID, req)
	if err := check(row); err != nil {
		return none, err
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		v, err := q.VersionLock(ctx, req.TemplateVersionID)
		if codersdk.Is(err, codersdk.CodeNotFound) || err == nil && v.OrganizationID != organizationID {
			return codersdk.Invalid("template_version_id", "version not found in this organization")
		}
		if err != nil {
			return err
		}
		if v.TemplateID != nil {
			return codersdk.Invalid("template_version_id", "the version %s belongs to another template", v.Name)
		}
		job, err := s.Queue.Job(ctx, q, v.JobID)
		if err != nil {
			return err
		}
		switch job.Status {
		case codersdk.ProvisionerJobStatusSucceeded, codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning:
		default:
			return notImported("template_version_id", v.Name, job.Status)
		}
		if row.Provisioner, err = q.VersionProvisioner(ctx, v.JobID); err != nil {
			return err
		}
		if err := q.TemplateInsert(ctx, insertParams(row, s)); err != nil {
			return taken(err, "templates_name", "name", "template", row.Name)
		}
		if err := q.VersionTake(ctx, row.ID, s.now(), v.ID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeTemplate, ResourceID: row.ID,
			OrganizationID: organizationID, Target: row.Name, Icon: row.Icon, Diff: audit.Diff(nil, settingsOf(row)),
		})
	})
	if err != nil {
		return none, err
	}
	return s.Template(ctx, access.System(), row.ID)
}

func notImported(field, name string, status codersdk.ProvisionerJobStatus) error {
	return codersdk.Invalid(field, "the import of version %s is %s; only successfully imported versions can be used", name, status)
}

// DeleteTemplate deletes a template without workspaces.
func (s *Service) DeleteTemplate(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		t, err := lock(ctx, q, actor, codersdk.RBACActionDelete, id)
		if err != nil {
			return err
		}
		n, err := q.TemplateWorkspaceCount(ctx, id)
		if err != nil {
			return err
		}
		if n > 0 {
			return codersdk.Errorf(codersdk.CodePrecondition, "The template %s still has %d workspace(s); delete them first", t.Name, n)
		}
		if err := q.TemplateDelete(ctx, s.now(), id); err != nil {
			return err
		}
		if err := notification.Enqueue(ctx, q, notification.Event{
			Template: notification.TemplateDeleted, TemplateID: id, InitiatorID: notification.InitiatorOf(actor),
		}); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionDelete, ResourceType: codersdk.ResourceTypeTemplate, ResourceID: id,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon, Diff: audit.Diff(settingsOf(t), nil),
		})
	})
}

// UpdateActiveTemplateVersion sets the active version, which new workspaces use, if the
// current active version is the one that the request expects. (TPL-05)
func (s *Service) UpdateActiveTemplateVersion(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.UpdateActiveTemplateVersion) error {
	versionID := req.ID
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		t, err := lock(ctx, q, actor, codersdk.RBACActionUpdate, id)
		if err != nil {
			return err
		}
		v, err := q.VersionByID(ctx, versionID)
		if codersdk.Is(err, codersdk.CodeNotFound) || err == nil && (v.TemplateVersion.TemplateID == nil || *v.TemplateVersion.TemplateID != id) {
			return codersdk.Invalid("id", "version not found in template %s", t.Name)
		}
		if err != nil {
			return err
		}
		if status := codersdk.ProvisionerJobStatus(v.JobStatus); status != codersdk.ProvisionerJobStatusSucceeded {
			return notImported("id", v.TemplateVersion.Name, status)
		}
		if v.TemplateVersion.Archived {
			return codersdk.Invalid("id", "the version %s is archived; unarchive it first", v.TemplateVersion.Name)
		}
		if t.ActiveVersionID == versionID {
			return nil
		}
		if req.IfActiveVersionID != nil && *req.IfActiveVersionID != t.ActiveVersionID {
			return s.otherActive(ctx, q, t)
		}
		if err := q.TemplateSetActiveVersion(ctx, id, versionID, s.now()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeTemplate, ResourceID: id,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon,
			Diff: codersdk.AuditDiff{"active_version_id": {Old: t.ActiveVersionID, New: versionID}},
		})
	})
}

// otherActive returns the error for an active version that changed in the meantime.
func (s *Service) otherActive(ctx context.Context, q *sqlc.Queries, t sqlc.Template) error {
	now, err := q.VersionByID(ctx, t.ActiveVersionID)
	if err != nil {
		return err
	}
	return codersdk.Errorf(
		codersdk.CodePrecondition,
		"The version %s of the template %s became active after you opened it, so nothing was published. Reload it and publish again.",
		now.TemplateVersion.Name,
		t.Name,
	)
}
