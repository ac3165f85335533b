package template

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// versionObject is the access object of a version: its template or, without one, any template
// of the organization.
func versionObject(r sqlc.VersionByIDRow) access.Object {
	o := access.Object{Type: codersdk.RBACResourceTemplate, OrganizationID: r.TemplateVersion.OrganizationID}
	if r.TemplateVersion.TemplateID != nil {
		o.ID, o.UserACL, o.GroupACL = *r.TemplateVersion.TemplateID, r.UserACL, r.GroupACL
	}
	return o
}

// version returns a version if actor can do the action on it.
func version(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.RBACAction, id uuid.UUID) (sqlc.VersionByIDRow, error) {
	r, err := q.VersionByID(ctx, id)
	if err != nil {
		return r, err
	}
	if r.TemplateDeletedAt != nil {
		return r, codersdk.NotFound()
	}
	return r, actor.Check(action, versionObject(r))
}

func creatorOf(r sqlc.VersionByIDRow) codersdk.MinimalUser {
	return codersdk.MinimalUser{ID: r.TemplateVersion.CreatedBy, Username: r.Creator, Name: r.CreatorName, AvatarURL: r.CreatorAvatarUrl}
}

// TemplateVersion returns one version. While its import is pending, the result has the number
// of matching provisioners.
func (s *Service) TemplateVersion(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.TemplateVersion, error) {
	var out codersdk.TemplateVersion
	err := s.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		r, err := version(ctx, q, actor, codersdk.RBACActionRead, id)
		if err != nil {
			return err
		}
		job, err := s.Queue.Job(ctx, q, r.TemplateVersion.JobID)
		if err != nil {
			return err
		}
		out = versionView(r.TemplateVersion, creatorOf(r), job)
		if job.Status != codersdk.ProvisionerJobStatusPending {
			return nil
		}
		m, warning, err := s.Queue.Outlook(ctx, q, job.ID)
		out.MatchedProvisioners, out.ProvisionerWarning = &m, warning
		return err
	})
	return out, err
}

// TemplateVersionByName returns the version of a template with that name.
func (s *Service) TemplateVersionByName(ctx context.Context, actor access.Subject, templateID uuid.UUID, name string) (codersdk.TemplateVersion, error) {
	id, err := s.Store.VersionIDByName(ctx, templateID, name)
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	return s.TemplateVersion(ctx, actor, id)
}

// TemplateVersionByNames returns a version by the names of its template and its own.
func (s *Service) TemplateVersionByNames(
	ctx context.Context,
	actor access.Subject,
	organizationID uuid.UUID,
	template, name string,
) (codersdk.TemplateVersion, error) {
	id, err := s.Store.TemplateIDByName(ctx, organizationID, template)
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	return s.TemplateVersionByName(ctx, actor, id, name)
}

// PreviousTemplateVersion returns the version created before the named one.
func (s *Service) PreviousTemplateVersion(
	ctx context.Context,
	actor access.Subject,
	organizationID uuid.UUID,
	template, name string,
) (codersdk.TemplateVersion, error) {
	v, err := s.TemplateVersionByNames(ctx, actor, organizationID, template, name)
	if err != nil {
		return v, err
	}
	id, err := s.Store.VersionPrevious(ctx, v.ID)
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	return s.TemplateVersion(ctx, actor, id)
}

// Page selects a part of a list, after a version.
type Page struct {
	AfterID         uuid.UUID
	Limit, Offset   int
	IncludeArchived bool
	NewestFirst     bool
}

// TemplateVersions lists the versions of a template, the oldest first unless p.NewestFirst.
func (s *Service) TemplateVersions(ctx context.Context, actor access.Subject, templateID uuid.UUID, p Page) ([]codersdk.TemplateVersion, error) {
	t, err := s.Store.TemplateByID(ctx, templateID)
	if err != nil {
		return nil, err
	}
	if err := actor.Check(codersdk.RBACActionRead, object(t.Template)); err != nil {
		return nil, err
	}
	params := sqlc.VersionListParams{
		TemplateID: templateID, IncludeArchived: p.IncludeArchived, NewestFirst: p.NewestFirst,
		RowLimit: int32(p.Limit), RowOffset: int32(p.Offset),
	}
	if p.AfterID != uuid.Nil {
		params.AfterID = &p.AfterID
	}
	out := []codersdk.TemplateVersion{}
	err = s.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		rows, err := q.VersionList(ctx, params)
		if err != nil {
			return err
		}
		ids := make([]uuid.UUID, 0, len(rows))
		for _, r := range rows {
			ids = append(ids, r.TemplateVersion.JobID)
		}
		jobs, err := s.Queue.Jobs(ctx, q, ids)
		if err != nil {
			return err
		}
		for _, r := range rows {
			v := r.TemplateVersion
			who := codersdk.MinimalUser{ID: v.CreatedBy, Username: r.Creator, Name: r.CreatorName, AvatarURL: r.CreatorAvatarUrl}
			out = append(out, versionView(v, who, jobs[v.JobID]))
		}
		return nil
	})
	return out, err
}

// UpdateTemplateVersion renames a version or changes its message.
func (s *Service) UpdateTemplateVersion(
	ctx context.Context,
	actor access.Subject,
	id uuid.UUID,
	req codersdk.PatchTemplateVersionRequest,
) (codersdk.TemplateVersion, error) {
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		r, err := version(ctx, q, actor, codersdk.RBACActionUpdate, id)
		if err != nil {
			return err
		}
		if r.TemplateVersion, err = q.VersionLock(ctx, id); err != nil {
			return err
		}
		v, diff := r.TemplateVersion, codersdk.AuditDiff{}
		if err := req.Check("version", v.UpdatedAt); err != nil {
			return err
		}
		if req.Name != "" && req.Name != v.Name {
			if err := codersdk.CheckVersionName("name", req.Name); err != nil {
				return err
			}
			diff["name"] = codersdk.AuditDiffField{Old: v.Name, New: req.Name}
			v.Name = req.Name
		}
		if req.Message != nil && *req.Message != v.Message {
			if err := checkMessage(*req.Message); err != nil {
				return err
			}
			diff["message"] = codersdk.AuditDiffField{Old: v.Message, New: *req.Message}
			v.Message = *req.Message
		}
		if len(diff) == 0 {
			return nil
		}
		if err := q.VersionPatch(ctx, sqlc.VersionPatchParams{ID: id, Name: v.Name, Message: v.Message, Now: s.now()}); err != nil {
			return taken(err, "template_versions_name", "name", "version", v.Name)
		}
		return s.record(ctx, q, actor, codersdk.AuditActionWrite, v, diff)
	})
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	return s.TemplateVersion(ctx, actor, id)
}

func checkMessage(m string) error {
	if len(m) > 1<<20 || strings.ContainsRune(m, 0) {
		return codersdk.Invalid("message", "must be UTF-8 text of at most 1 MiB")
	}
	return nil
}

// record writes an audit entry for a version.
func (s *Service) record(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	action codersdk.AuditAction,
	v sqlc.TemplateVersion,
	diff codersdk.AuditDiff,
) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeTemplateVersion, ResourceID: v.ID,
		OrganizationID: v.OrganizationID, Target: v.Name, Diff: diff,
	})
}

// CancelTemplateVersion cancels the import of a version.
func (s *Service) CancelTemplateVersion(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	var job uuid.UUID
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		r, err := version(ctx, q, actor, codersdk.RBACActionUpdate, id)
		if err != nil {
			return err
		}
		job = r.TemplateVersion.JobID
		if err := s.Queue.Cancel(ctx, q, job); err != nil {
			return err
		}
		return s.record(ctx, q, actor, codersdk.AuditActionWrite, r.TemplateVersion, codersdk.AuditDiff{"job_status": {Old: r.JobStatus, New: "canceled"}})
	})
	if err == nil {
		s.Queue.Canceled(job)
	}
	return err
}

// ArchiveTemplateVersion archives a version that is neither active nor used by a workspace, or
// unarchives it if archived is false. (TPL-06)
func (s *Service) ArchiveTemplateVersion(ctx context.Context, actor access.Subject, id uuid.UUID, archived bool) error {
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		r, err := version(ctx, q, actor, codersdk.RBACActionUpdate, id)
		if err != nil {
			return err
		}
		v := r.TemplateVersion
		if v.Archived == archived {
			return nil
		}
		if archived {
			if err := mayHide(ctx, q, v); err != nil {
				return err
			}
		}
		if err := q.VersionSetArchived(ctx, id, archived, s.now()); err != nil {
			return err
		}
		return s.record(ctx, q, actor, codersdk.AuditActionWrite, v, codersdk.AuditDiff{"archived": {Old: !archived, New: archived}})
	})
}

func mayHide(ctx context.Context, q *sqlc.Queries, v sqlc.TemplateVersion) error {
	if v.TemplateID == nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "The version %s belongs to no template and cannot be archived", v.Name)
	}
	t, err := q.TemplateLock(ctx, *v.TemplateID)
	if err != nil {
		return err
	}
	if t.ActiveVersionID == v.ID {
		return codersdk.Errorf(codersdk.CodeInvalid, "The version %s is active; activate another version first", v.Name)
	}
	used, err := q.VersionInUse(ctx, v.ID)
	if err != nil {
		return err
	}
	if used {
		return codersdk.Errorf(codersdk.CodeInvalid, "The version %s is used by a workspace; update or delete the workspace first", v.Name)
	}
	return nil
}

// ArchiveTemplateVersions archives the versions of a template whose import failed, or with
// all every unused version, and returns their IDs.
func (s *Service) ArchiveTemplateVersions(ctx context.Context, actor access.Subject, templateID uuid.UUID, all bool) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		t, err := lock(ctx, q, actor, codersdk.RBACActionUpdate, templateID)
		if err != nil {
			return err
		}
		if ids, err = q.VersionArchiveUnused(ctx, s.now(), templateID, all); err != nil || len(ids) == 0 {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeTemplate, ResourceID: t.ID,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon,
			Diff: codersdk.AuditDiff{"archived_versions": {Old: []uuid.UUID{}, New: ids}},
		})
	})
	return ids, err
}
