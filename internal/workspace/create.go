package workspace

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// CreateWorkspace makes a workspace for an owner and asks for its first build,
// a start; or it takes one that stands ready and asks for its next. With an organization, the template must be of it; Nil takes that of
// the template. (WS-01)
func (s *Service) CreateWorkspace(ctx context.Context, actor access.Subject, organizationID, ownerID uuid.UUID, req coder.CreateWorkspaceRequest) (coder.Workspace, error) {
	if err := coder.CheckName("name", req.Name); err != nil {
		return coder.Workspace{}, err
	}
	v, err := s.versionForNew(ctx, actor, organizationID, ownerID, req)
	if err != nil {
		return coder.Workspace{}, err
	}
	if err := s.checkOwner(ctx, actor, v.Template.OrganizationID, ownerID); err != nil {
		return coder.Workspace{}, err
	}
	w, err := s.newWorkspace(v.Template, ownerID, req)
	if err != nil {
		return coder.Workspace{}, err
	}
	asked := plan{
		workspace: w, version: v, transition: coder.WorkspaceTransitionStart, reason: coder.BuildReasonInitiator,
		given: req.RichParameterValues, presetID: req.TemplateVersionPresetID, number: 1,
	}
	var made plan
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		made = asked
		claimed, err := s.claim(ctx, q, &made)
		if err != nil {
			return err
		}
		if w = made.workspace; !claimed {
			if err := q.WorkspaceInsert(ctx, insertParams(w)); err != nil {
				return taken(err, w.Name)
			}
		}
		if _, err := s.addBuild(ctx, q, actor, made); err != nil {
			return err
		}
		e := audit.Entry{
			Action: coder.AuditActionCreate, ResourceType: coder.ResourceTypeWorkspace, ResourceID: w.ID,
			OrganizationID: w.OrganizationID, Target: w.Name, Icon: v.Template.Icon, Diff: audit.Diff(nil, audited(w)),
		}
		if claimed {
			e.Fields = map[string]any{"prebuilt": true}
		}
		return audit.Record(ctx, q, actor, e)
	})
	if err != nil {
		return coder.Workspace{}, err
	}
	s.Queue.Wake(w.OrganizationID)
	s.Hub.Publish(notify.Workspace(w.ID))
	if made.claim { // who was there is there no more, and another is to take its place
		s.Hub.Publish(notify.Sharing(w.ID), notify.Kind(string(coder.RBACResourcePrebuiltWorkspace)))
	}
	return s.showNow(ctx, actor, w.ID)
}

// versionForNew gives the version that a new workspace is to use: the one
// named, or the active one of the template named.
func (s *Service) versionForNew(ctx context.Context, actor access.Subject, organizationID, ownerID uuid.UUID, req coder.CreateWorkspaceRequest) (sqlc.WorkspaceVersionRow, error) {
	var none sqlc.WorkspaceVersionRow
	if (req.TemplateID == uuid.Nil) == (req.TemplateVersionID == uuid.Nil) {
		return none, coder.Invalid("template_id", "give either a template_id or a template_version_id")
	}
	field, versionID := "template_version_id", req.TemplateVersionID
	if versionID == uuid.Nil {
		field = "template_id"
		t, err := s.Store.WorkspaceTemplate(ctx, req.TemplateID)
		if err != nil {
			return none, orInvalid(err, field, "there is no such template")
		}
		versionID = t.ActiveVersionID
	}
	v, err := s.Store.WorkspaceVersion(ctx, versionID)
	if err != nil {
		return none, orInvalid(err, field, "there is no such version of a template")
	}
	t := v.Template
	o := templateObject(t)
	switch {
	case !actor.Can(coder.RBACActionRead, o), t.DeletedAt != nil, organizationID != uuid.Nil && organizationID != t.OrganizationID:
		return none, coder.Invalid(field, "there is no such template here, or you may not use it")
	case !actor.Can(coder.RBACActionUse, o):
		return none, coder.Errorf(coder.CodeForbidden, "You may not make workspaces of template %q", t.Name)
	case t.DeprecationMessage != "":
		return none, coder.Errorf(coder.CodeInvalid, "Template %q is deprecated, so nobody can make new workspaces of it", t.Name).WithDetail("%s", t.DeprecationMessage)
	case v.TemplateVersion.Archived:
		return none, coder.Invalid(field, "version %q is archived; choose another", v.TemplateVersion.Name)
	case t.RequireActiveVersion && versionID != t.ActiveVersionID && !actor.Can(coder.RBACActionUpdate, o):
		return none, coder.Errorf(coder.CodeForbidden, "Template %q lets workspaces use its active version only", t.Name)
	}
	return v, usable(v)
}

// orInvalid makes of "not found" an error about the field that named it.
func orInvalid(err error, field, detail string) error {
	if coder.Is(err, coder.CodeNotFound) {
		return coder.Invalid(field, "%s", detail)
	}
	return err
}

// usable says whether builds can use the version.
func usable(v sqlc.WorkspaceVersionRow) error {
	switch coder.ProvisionerJobStatus(v.JobStatus) {
	case coder.ProvisionerJobStatusSucceeded:
		return nil
	case coder.ProvisionerJobStatusPending, coder.ProvisionerJobStatusRunning:
		return coder.Errorf(coder.CodePrecondition, "Version %q of template %q is still being imported; try again when its import has ended", v.TemplateVersion.Name, v.Template.Name)
	}
	return coder.Errorf(coder.CodePrecondition, "The import of version %q of template %q did not succeed; choose another version", v.TemplateVersion.Name, v.Template.Name)
}

func (s *Service) checkOwner(ctx context.Context, actor access.Subject, organizationID, ownerID uuid.UUID) error {
	if err := actor.Check(coder.RBACActionCreate, access.Object{Type: coder.RBACResourceWorkspace, OrganizationID: organizationID, OwnerID: ownerID}); err != nil {
		return err
	}
	o, err := s.Store.WorkspaceOwner(ctx, organizationID, ownerID)
	switch {
	case err != nil:
		return err
	case o.DeletedAt != nil || o.Status == string(coder.UserStatusSuspended):
		return coder.Errorf(coder.CodeInvalid, "User %q is not active and cannot own a new workspace", o.Username)
	case !o.IsMember:
		return coder.Errorf(coder.CodeForbidden, "User %q is not a member of the template's organization", o.Username)
	}
	return nil
}

// newWorkspace makes the row of a new workspace, checking its settings.
func (s *Service) newWorkspace(t sqlc.Template, ownerID uuid.UUID, req coder.CreateWorkspaceRequest) (sqlc.Workspace, error) {
	now := s.now()
	w := sqlc.Workspace{
		ID: uuid.New(), OrganizationID: t.OrganizationID, OwnerID: ownerID, TemplateID: t.ID, Name: req.Name,
		AutomaticUpdates: string(coder.AutomaticUpdatesNever), CreatedAt: now, UpdatedAt: now, LastUsedAt: now,
	}
	if req.AutomaticUpdates != "" {
		if err := checkAutomaticUpdates(req.AutomaticUpdates); err != nil {
			return w, err
		}
		w.AutomaticUpdates = string(req.AutomaticUpdates)
	}
	var err error
	if w.AutostartSchedule, err = checkAutostart(t, req.AutostartSchedule); err != nil {
		return w, err
	}
	w.NextStartAt = NextStart(t, w, now)
	ttl := req.TTLMS
	if ttl == nil && t.DefaultTTLMS > 0 {
		ttl = &t.DefaultTTLMS
	}
	if w.TTLMS, err = checkTTL(t, ttl); err != nil {
		return w, err
	}
	return w, nil
}

func insertParams(w sqlc.Workspace) sqlc.WorkspaceInsertParams {
	return sqlc.WorkspaceInsertParams{
		ID: w.ID, OrganizationID: w.OrganizationID, OwnerID: w.OwnerID, TemplateID: w.TemplateID, Name: w.Name,
		AutomaticUpdates: w.AutomaticUpdates, AutostartSchedule: w.AutostartSchedule, TTLMS: w.TTLMS,
		NextStartAt: w.NextStartAt, Now: w.CreatedAt,
	}
}

// taken explains the conflict of two workspaces of one name.
func taken(err error, name string) error {
	if postgres.Constraint(err) == "workspaces_name" {
		e := coder.Invalid("name", "%q is the name of another workspace of this owner", name)
		e.Code = coder.CodeConflict
		return e
	}
	return err
}

// templateObject is a template as access sees it.
func templateObject(t sqlc.Template) access.Object {
	return access.Object{
		Type: coder.RBACResourceTemplate, ID: t.ID, OrganizationID: t.OrganizationID, UserACL: t.UserACL, GroupACL: t.GroupACL,
	}
}
