package workspace

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/event"
)

// CreateWorkspace creates a workspace and requests its first build, a start; or it
// claims a matching prebuilt workspace and requests its next build. If organizationID
// is not Nil, the template must belong to it. (WS-01)
func (s *Service) CreateWorkspace(
	ctx context.Context,
	actor access.Subject,
	organizationID, ownerID uuid.UUID,
	req codersdk.CreateWorkspaceRequest,
) (codersdk.Workspace, error) {
	if err := codersdk.CheckName("name", req.Name); err != nil {
		return codersdk.Workspace{}, err
	}
	v, err := s.versionForNew(ctx, actor, organizationID, ownerID, req)
	if err != nil {
		return codersdk.Workspace{}, err
	}
	if err := s.checkOwner(ctx, actor, v.Template.OrganizationID, ownerID); err != nil {
		return codersdk.Workspace{}, err
	}
	if err := s.requireLinks(ctx, ownerID, v.TemplateVersion); err != nil {
		return codersdk.Workspace{}, err
	}
	w, err := s.newWorkspace(v.Template, ownerID, req)
	if err != nil {
		return codersdk.Workspace{}, err
	}
	asked := plan{
		workspace: w, version: v, transition: codersdk.WorkspaceTransitionStart, reason: codersdk.BuildReasonInitiator,
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
			Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeWorkspace, ResourceID: w.ID,
			OrganizationID: w.OrganizationID, Target: w.Name, Icon: v.Template.Icon, Diff: audit.Diff(nil, audited(w)),
		}
		if claimed {
			e.Fields = map[string]any{"prebuilt": true}
		}
		if err := event.Created(ctx, q, actor, w, v.TemplateVersion.ID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, e)
	})
	if err != nil {
		return codersdk.Workspace{}, err
	}
	s.Queue.Wake(w.OrganizationID)
	s.Hub.Publish(notify.Workspace(w.ID))
	if made.claim { // The previous owner is gone; a new prebuild must replace this one.
		s.Hub.Publish(notify.Sharing(w.ID), notify.Kind(string(codersdk.RBACResourcePrebuiltWorkspace)))
	}
	return s.views.Workspace(ctx, actor, w.ID)
}

// versionForNew returns the version of a new workspace: the requested version, or the
// active version of the requested template.
func (s *Service) versionForNew(
	ctx context.Context,
	actor access.Subject,
	organizationID, ownerID uuid.UUID,
	req codersdk.CreateWorkspaceRequest,
) (sqlc.WorkspaceVersionRow, error) {
	var none sqlc.WorkspaceVersionRow
	if (req.TemplateID == uuid.Nil) == (req.TemplateVersionID == uuid.Nil) {
		return none, codersdk.Invalid("template_id", "set either template_id or template_version_id")
	}
	field, versionID := "template_version_id", req.TemplateVersionID
	if versionID == uuid.Nil {
		field = "template_id"
		t, err := s.Store.WorkspaceTemplate(ctx, req.TemplateID)
		if err != nil {
			return none, orInvalid(err, field, "template not found")
		}
		versionID = t.ActiveVersionID
	}
	v, err := s.Store.WorkspaceVersion(ctx, versionID)
	if err != nil {
		return none, orInvalid(err, field, "template version not found")
	}
	t := v.Template
	o := templateObject(t)
	switch {
	case !actor.Can(codersdk.RBACActionRead, o), t.DeletedAt != nil, organizationID != uuid.Nil && organizationID != t.OrganizationID:
		return none, codersdk.Invalid(field, "template not found, or you do not have access to it")
	case !actor.Can(codersdk.RBACActionUse, o):
		return none, codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to create workspaces from template %q", t.Name)
	case t.DeprecationMessage != "":
		return none, codersdk.Errorf(codersdk.CodeInvalid, "Template %q is deprecated; new workspaces cannot use it", t.Name).
			WithDetail("%s", t.DeprecationMessage)
	case v.TemplateVersion.Archived:
		return none, codersdk.Invalid(field, "version %q is archived; choose another", v.TemplateVersion.Name)
	case t.RequireActiveVersion && versionID != t.ActiveVersionID && !actor.Can(codersdk.RBACActionUpdate, o):
		return none, codersdk.Errorf(codersdk.CodeForbidden, "Template %q requires its active version", t.Name)
	}
	return v, usable(v)
}

// orInvalid turns "not found" into an error about the field that named the object.
func orInvalid(err error, field, detail string) error {
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return codersdk.Invalid(field, "%s", detail)
	}
	return err
}

// usable checks that builds can use the version.
func usable(v sqlc.WorkspaceVersionRow) error {
	switch codersdk.ProvisionerJobStatus(v.JobStatus) {
	case codersdk.ProvisionerJobStatusSucceeded:
		return nil
	case codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning:
		return codersdk.Errorf(codersdk.CodePrecondition, "Version %q of template %q is still being imported; try again when its import has finished",
			v.TemplateVersion.Name, v.Template.Name)
	}
	err := codersdk.Errorf(codersdk.CodePrecondition, "The import of version %q of template %q did not succeed; choose another version",
		v.TemplateVersion.Name, v.Template.Name)
	if v.JobError != "" {
		err = err.WithDetail("%s", v.JobError)
	}
	return err
}

func (s *Service) checkOwner(ctx context.Context, actor access.Subject, organizationID, ownerID uuid.UUID) error {
	if err := actor.Check(codersdk.RBACActionCreate, access.Object{Type: codersdk.RBACResourceWorkspace, OrganizationID: organizationID,
		OwnerID: ownerID}); err != nil {
		return err
	}
	o, err := s.Store.WorkspaceOwner(ctx, organizationID, ownerID)
	switch {
	case err != nil:
		return err
	case o.DeletedAt != nil || o.Status == string(codersdk.UserStatusSuspended):
		return codersdk.Errorf(codersdk.CodeInvalid, "User %q is not active and cannot own a new workspace", o.Username)
	case !o.IsMember:
		return codersdk.Errorf(codersdk.CodeForbidden, "User %q is not a member of the template's organization", o.Username)
	}
	return nil
}

// newWorkspace returns the row of a new workspace with checked settings.
func (s *Service) newWorkspace(t sqlc.Template, ownerID uuid.UUID, req codersdk.CreateWorkspaceRequest) (sqlc.Workspace, error) {
	now := s.now()
	w := sqlc.Workspace{
		ID: uuid.New(), OrganizationID: t.OrganizationID, OwnerID: ownerID, TemplateID: t.ID, Name: req.Name,
		AutomaticUpdates: string(codersdk.AutomaticUpdatesNever), CreatedAt: now, UpdatedAt: now, LastUsedAt: now,
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

// taken explains the conflict of two workspaces with one name.
func taken(err error, name string) error {
	if postgres.Constraint(err) == "workspaces_name" {
		e := codersdk.Invalid("name", "%q already exists as a workspace of this owner; choose another name", name)
		e.Code = codersdk.CodeConflict
		return e
	}
	return err
}

// templateObject is the access object of a template.
func templateObject(t sqlc.Template) access.Object {
	return access.Object{
		Type: codersdk.RBACResourceTemplate, ID: t.ID, OrganizationID: t.OrganizationID, UserACL: t.UserACL, GroupACL: t.GroupACL,
	}
}
