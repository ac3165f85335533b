package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Query narrows a list of templates; zero fields do not.
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
	Page           coder.Page
}

// maxRows bounds one page of templates.
const maxRows = 1000

// Templates lists a page of the templates that actor may see, by name.
func (s *Service) Templates(ctx context.Context, actor access.Subject, query Query) ([]coder.Template, error) {
	f := actor.Filter(coder.RBACResourceTemplate)
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
	out := make([]coder.Template, 0, len(rows))
	for _, r := range rows {
		out = append(out, view(sqlc.TemplateByIDRow(r)))
	}
	return out, s.addTimes(ctx, out)
}

// Template gives one template.
func (s *Service) Template(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.Template, error) {
	r, err := s.Store.TemplateByID(ctx, id)
	if err != nil {
		return coder.Template{}, err
	}
	if err := actor.Check(coder.RBACActionRead, object(r.Template)); err != nil {
		return coder.Template{}, err
	}
	out := []coder.Template{view(r)}
	err = s.addTimes(ctx, out)
	return out[0], err
}

// TemplateByName gives a template of an organization by its name.
func (s *Service) TemplateByName(ctx context.Context, actor access.Subject, organizationID uuid.UUID, name string) (coder.Template, error) {
	id, err := s.Store.TemplateIDByName(ctx, organizationID, name)
	if err != nil {
		return coder.Template{}, err
	}
	return s.Template(ctx, actor, id)
}

// CreateTemplate makes a template of a version that was imported and that no
// other template has. Everyone in the organization may use it unless the
// request says otherwise.
func (s *Service) CreateTemplate(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req coder.CreateTemplateRequest) (coder.Template, error) {
	var none coder.Template
	if err := actor.Check(coder.RBACActionCreate, access.Object{Type: coder.RBACResourceTemplate, OrganizationID: organizationID}); err != nil {
		return none, err
	}
	row := newRow(organizationID, actor.UserID, req)
	if err := check(row); err != nil {
		return none, err
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		v, err := q.VersionLock(ctx, req.TemplateVersionID)
		if coder.Is(err, coder.CodeNotFound) || err == nil && v.OrganizationID != organizationID {
			return coder.Invalid("template_version_id", "there is no such version in this organization")
		}
		if err != nil {
			return err
		}
		if v.TemplateID != nil {
			return coder.Invalid("template_version_id", "the version %s belongs to another template", v.Name)
		}
		job, err := s.Queue.Job(ctx, q, v.JobID)
		if err != nil {
			return err
		}
		if job.Status != coder.ProvisionerJobStatusSucceeded {
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
			Action: coder.AuditActionCreate, ResourceType: coder.ResourceTypeTemplate, ResourceID: row.ID,
			OrganizationID: organizationID, Target: row.Name, Icon: row.Icon, Diff: audit.Diff(nil, settingsOf(row)),
		})
	})
	if err != nil {
		return none, err
	}
	return s.Template(ctx, access.System(), row.ID)
}

func notImported(field, name string, status coder.ProvisionerJobStatus) error {
	return coder.Invalid(field, "the import of version %s is %s; only a version whose import succeeded can be used", name, status)
}

// DeleteTemplate removes a template that has no workspaces any more.
func (s *Service) DeleteTemplate(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		t, err := lock(ctx, q, actor, coder.RBACActionDelete, id)
		if err != nil {
			return err
		}
		n, err := q.TemplateWorkspaceCount(ctx, id)
		if err != nil {
			return err
		}
		if n > 0 {
			return coder.Errorf(coder.CodePrecondition, "The template %s still has %d workspace(s); delete them first", t.Name, n)
		}
		if err := q.TemplateDelete(ctx, s.now(), id); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionDelete, ResourceType: coder.ResourceTypeTemplate, ResourceID: id,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon, Diff: audit.Diff(settingsOf(t), nil),
		})
	})
}

// UpdateActiveTemplateVersion makes a version that was imported the one that
// new workspaces use, if the one that the request expects is active until
// then. (TPL-05)
func (s *Service) UpdateActiveTemplateVersion(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateActiveTemplateVersion) error {
	versionID := req.ID
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		t, err := lock(ctx, q, actor, coder.RBACActionUpdate, id)
		if err != nil {
			return err
		}
		v, err := q.VersionByID(ctx, versionID)
		if coder.Is(err, coder.CodeNotFound) || err == nil && (v.TemplateVersion.TemplateID == nil || *v.TemplateVersion.TemplateID != id) {
			return coder.Invalid("id", "the template %s has no such version", t.Name)
		}
		if err != nil {
			return err
		}
		if status := coder.ProvisionerJobStatus(v.JobStatus); status != coder.ProvisionerJobStatusSucceeded {
			return notImported("id", v.TemplateVersion.Name, status)
		}
		if v.TemplateVersion.Archived {
			return coder.Invalid("id", "the version %s is archived; unarchive it first", v.TemplateVersion.Name)
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
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeTemplate, ResourceID: id,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon,
			Diff: coder.AuditDiff{"active_version_id": {Old: t.ActiveVersionID, New: versionID}},
		})
	})
}

// otherActive says that somebody else made a version the active one meanwhile.
func (s *Service) otherActive(ctx context.Context, q *sqlc.Queries, t sqlc.Template) error {
	now, err := q.VersionByID(ctx, t.ActiveVersionID)
	if err != nil {
		return err
	}
	return coder.Errorf(coder.CodePrecondition, "The version %s of the template %s became the active one after it was opened here, so nothing was published: reload it and publish again",
		now.TemplateVersion.Name, t.Name)
}
