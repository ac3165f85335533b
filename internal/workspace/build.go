package workspace

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/parameter"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/event"
)

// plan is a build to be created.
type plan struct {
	workspace  sqlc.Workspace
	version    sqlc.WorkspaceVersionRow
	transition codersdk.WorkspaceTransition
	reason     codersdk.BuildReason
	number     int32
	given      []codersdk.WorkspaceBuildParameter
	previous   *sqlc.WorkspaceBuild // nil for the first build
	succeeded  bool                 // the previous build
	presetID   *uuid.UUID
	state      []byte // replaces the state of the previous build
	orphan     bool
	claim      bool            // the build claims a prebuilt workspace
	stock      *resource.Stock // agents that are handed over before the build, nil for none
	logLevel   codersdk.ProvisionerLogLevel
	initiator  uuid.UUID // Nil means the actor
	followed   bool      // a start follows its success
	rehearsal  bool      // the transaction is rolled back
}

// input is the payload of a build job.
type input struct {
	codersdk.ProvisionerJobInput
	WorkspaceID uuid.UUID                    `json:"workspace_id"`
	LogLevel    codersdk.ProvisionerLogLevel `json:"log_level,omitempty"`
	Claim       bool                         `json:"claim,omitempty"`
	Followed    bool                         `json:"followed,omitempty"`
}

// notifyUpdated notifies of a start with another version than that of the previous build.
func notifyUpdated(ctx context.Context, q *sqlc.Queries, actor access.Subject, p plan) error {
	version := p.version.TemplateVersion.ID
	if p.transition != codersdk.WorkspaceTransitionStart || p.previous == nil || p.previous.TemplateVersionID == version {
		return nil
	}
	return event.Updated(ctx, q, actor, p.workspace.ID, version)
}

// errDryRun rolls back the transaction of a build that was only checked.
var errDryRun = errors.New("dry run")

// CreateWorkspaceBuild requests a build of a workspace. While another build is
// unfinished, the error is CodeConflict and names it. (WS-03)
func (s *Service) CreateWorkspaceBuild(
	ctx context.Context,
	actor access.Subject,
	workspaceID uuid.UUID,
	req codersdk.CreateWorkspaceBuildRequest,
) (codersdk.WorkspaceBuild, error) {
	var none codersdk.WorkspaceBuild
	action, err := checkBuildRequest(req)
	if err != nil {
		return none, err
	}
	w, err := s.findLive(ctx, actor, action, workspaceID)
	if err != nil {
		return none, err
	}
	if err := s.checkSpecial(ctx, actor, w, req); err != nil {
		return none, err
	}
	next, err := s.checkFollowUp(ctx, actor, w, req)
	if err != nil {
		return none, err
	}
	var made codersdk.WorkspaceBuild
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		p, err := s.planNext(ctx, q, actor, workspaceID, req)
		if err != nil {
			return err
		}
		p.followed = next != nil
		id, err := s.addBuild(ctx, q, actor, p)
		if err == nil && next != nil {
			err = s.putFollowUp(ctx, q, actor, p.workspace, id, *next)
		}
		if err == nil {
			err = notifyUpdated(ctx, q, actor, p)
		}
		if err != nil || !req.DryRun {
			made.ID = id
			return err
		}
		if made, err = s.views.BuildIn(ctx, q, id); err != nil {
			return err
		}
		return errDryRun
	})
	if errors.Is(err, errDryRun) {
		return made, nil
	}
	if err != nil {
		return none, err
	}
	s.Queue.Wake(w.OrganizationID)
	s.Hub.Publish(notify.Workspace(w.ID))
	return s.views.Build(ctx, made.ID)
}

// reasons are the reasons that a client can set.
var reasons = []codersdk.CreateWorkspaceBuildReason{
	codersdk.CreateWorkspaceBuildReasonCLI, codersdk.CreateWorkspaceBuildReasonDashboard, codersdk.CreateWorkspaceBuildReasonJetbrainsConnection,
	codersdk.CreateWorkspaceBuildReasonSSHConnection, codersdk.CreateWorkspaceBuildReasonTaskManualPause, codersdk.CreateWorkspaceBuildReasonVSCodeConnection,
}

// checkBuildRequest rejects contradictory requests and returns the action that the
// actor must be allowed to do.
func checkBuildRequest(req codersdk.CreateWorkspaceBuildRequest) (codersdk.RBACAction, error) {
	switch {
	case req.Orphan && req.Transition != codersdk.WorkspaceTransitionDelete:
		return "", codersdk.Invalid("orphan", "only a delete can orphan resources")
	case req.Orphan && len(req.State) > 0:
		return "", codersdk.Invalid("state", "a delete that orphans resources cannot set a state")
	case req.LogLevel != "" && req.LogLevel != codersdk.ProvisionerLogLevelDebug:
		return "", codersdk.Invalid("log_level", "%q is not a log level; the only one is debug", req.LogLevel)
	case req.Reason != "" && !slices.Contains(reasons, req.Reason):
		return "", codersdk.Invalid("reason", "%q is not a reason that clients can set", req.Reason)
	}
	switch req.Transition {
	case codersdk.WorkspaceTransitionStart:
		return codersdk.RBACActionStart, nil
	case codersdk.WorkspaceTransitionStop:
		return codersdk.RBACActionStop, nil
	case codersdk.WorkspaceTransitionDelete:
		return codersdk.RBACActionDelete, nil
	}
	return "", codersdk.Invalid("transition", "%q must be start, stop or delete", req.Transition)
}

// checkSpecial restricts requests that bypass Terraform, or reveal more of it, to
// administrators of the template. (WS-09, WS-10, CP-17)
func (s *Service) checkSpecial(ctx context.Context, actor access.Subject, w sqlc.Workspace, req codersdk.CreateWorkspaceBuildRequest) error {
	if !req.Orphan && len(req.State) == 0 && req.LogLevel == "" {
		return nil
	}
	admin, err := s.managesTemplate(ctx, s.Store.Queries, actor, w.TemplateID)
	switch {
	case err != nil:
		return err
	case !admin && req.Orphan:
		return codersdk.Errorf(codersdk.CodeForbidden, "Only administrators of the template can delete a workspace without its resources")
	case !admin && len(req.State) > 0:
		return codersdk.Errorf(codersdk.CodeForbidden, "Only administrators of the template can set the state of a build")
	case !admin && req.LogLevel != "":
		return codersdk.Errorf(codersdk.CodeForbidden, "Only administrators of the template can request the debug log")
	case req.LogLevel != "" && !s.AllowDebugLogs:
		return codersdk.Errorf(codersdk.CodeInvalid,
			"Terraform debug logs are disabled on this server; an operator can enable them with --enable-terraform-debug-mode")
	}
	return nil
}

// planNext locks the workspace and plans its next build.
func (s *Service) planNext(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	workspaceID uuid.UUID,
	req codersdk.CreateWorkspaceBuildRequest,
) (plan, error) {
	w, err := q.WorkspaceForUpdate(ctx, workspaceID)
	if err != nil {
		return plan{}, err
	}
	if err := live(w); err != nil {
		return plan{}, err
	}
	latest, err := q.BuildLatest(ctx, workspaceID)
	if err != nil {
		return plan{}, err
	}
	return s.planAfter(ctx, q, actor, w, latest, req)
}

// planAfter plans the build of a locked workspace after its latest build.
func (s *Service) planAfter(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	w sqlc.Workspace,
	latest sqlc.BuildLatestRow,
	req codersdk.CreateWorkspaceBuildRequest,
) (plan, error) {
	before := latest.WorkspaceBuild
	if err := finished(w, before, latest.JobStatus); err != nil {
		return plan{}, err
	}
	if w.DormantAt != nil && req.Transition == codersdk.WorkspaceTransitionStart {
		return plan{}, codersdk.Errorf(codersdk.CodeConflict, "Workspace %q is dormant; activate it before you start it", w.Name)
	}
	v, err := s.versionForNext(ctx, q, actor, w, before, req)
	if err != nil {
		return plan{}, err
	}
	p := plan{
		workspace: w, version: v, transition: req.Transition, reason: codersdk.BuildReasonInitiator, number: before.BuildNumber + 1,
		given: req.RichParameterValues, previous: &before, presetID: req.TemplateVersionPresetID,
		succeeded: latest.JobStatus == string(codersdk.ProvisionerJobStatusSucceeded),
		state:     req.State, orphan: req.Orphan, logLevel: req.LogLevel,
	}
	if req.Reason != "" {
		p.reason = codersdk.BuildReason(req.Reason)
	}
	return p, nil
}

// finished rejects a build while another is unfinished.
func finished(w sqlc.Workspace, b sqlc.WorkspaceBuild, status string) error {
	switch codersdk.ProvisionerJobStatus(status) {
	case codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning, codersdk.ProvisionerJobStatusCanceling:
		return codersdk.Errorf(
			codersdk.CodeConflict,
			"Build %d (%s) of workspace %q is still %s; wait for it or cancel it first",
			b.BuildNumber,
			b.Transition,
			w.Name,
			status,
		)
	}
	return nil
}

// versionForNext returns the version of the next build: the requested version, else the
// version of the previous build, unless the workspace follows the active version.
// Stops and deletes can always use the previous version. (TPL-14)
func (s *Service) versionForNext(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	w sqlc.Workspace,
	before sqlc.WorkspaceBuild,
	req codersdk.CreateWorkspaceBuildRequest,
) (sqlc.WorkspaceVersionRow, error) {
	t, err := q.WorkspaceTemplate(ctx, w.TemplateID)
	if err != nil {
		return sqlc.WorkspaceVersionRow{}, err
	}
	starts := req.Transition == codersdk.WorkspaceTransitionStart
	bound := starts && t.RequireActiveVersion && !actor.Can(codersdk.RBACActionUpdate, templateObject(t))
	id := req.TemplateVersionID
	switch {
	case id == uuid.Nil && starts && (bound || w.AutomaticUpdates == string(codersdk.AutomaticUpdatesAlways)):
		id = t.ActiveVersionID
	case id == uuid.Nil:
		id = before.TemplateVersionID
	}
	v, err := q.WorkspaceVersion(ctx, id)
	if err != nil {
		return v, orInvalid(err, "template_version_id", "version not found")
	}
	switch {
	case v.Template.ID != w.TemplateID:
		return v, codersdk.Invalid("template_version_id", "version %q belongs to another template", v.TemplateVersion.Name)
	case bound && id != t.ActiveVersionID:
		return v, codersdk.Errorf(codersdk.CodeForbidden, "Template %q requires its active version", t.Name)
	case starts && v.TemplateVersion.Archived && id != before.TemplateVersionID:
		return v, codersdk.Invalid("template_version_id", "version %q is archived; choose another", v.TemplateVersion.Name)
	}
	return v, usable(v)
}

// addBuild inserts a build, its job and its audit entry, and returns its ID. The caller
// wakes the queue after the commit.
func (s *Service) addBuild(ctx context.Context, q *sqlc.Queries, actor access.Subject, p plan) (uuid.UUID, error) {
	if err := s.checkLinks(ctx, q, p); err != nil {
		return uuid.Nil, err
	}
	values, preset, err := s.parameters(ctx, q, p)
	if err != nil {
		return uuid.Nil, err
	}
	tags, err := p.tags(s.Vault, values)
	if err != nil {
		return uuid.Nil, err
	}
	w, v, now := p.workspace, p.version.TemplateVersion, s.now()
	id, jobID := uuid.New(), uuid.New()
	initiator, class := onBehalf(actor, w)
	if p.initiator != uuid.Nil {
		initiator, class = p.initiator, 0
	}
	if p.rehearsal {
		class = queue.ClassAhead // the turns of the owner's jobs stay as they are
	}
	in := input{WorkspaceID: w.ID, LogLevel: p.logLevel, Claim: p.claim, Followed: p.followed}
	in.TemplateVersionID, in.WorkspaceBuildID = v.ID, id
	err = s.Queue.Add(ctx, q, queue.NewJob{
		ID: jobID, OrganizationID: w.OrganizationID, InitiatorID: initiator, FileID: p.version.FileID,
		Type: codersdk.ProvisionerJobTypeWorkspaceBuild, Provisioner: p.version.Provisioner, Tags: tags, Input: in,
		TemplateID: w.TemplateID, Priority: class,
	})
	if err == nil && p.keeps() {
		err = q.ResourceMove(ctx, jobID, p.previous.JobID)
	}
	if err != nil {
		return uuid.Nil, err
	}
	err = q.BuildInsert(ctx, sqlc.BuildInsertParams{
		ID: id, WorkspaceID: w.ID, TemplateVersionID: v.ID, PresetID: preset, BuildNumber: p.number,
		Transition: string(p.transition), InitiatorID: initiator, Reason: string(p.reason), JobID: jobID,
		Parameters: values, Now: now,
	})
	if err != nil {
		return uuid.Nil, err
	}
	if err := s.handOver(ctx, q, p, id, jobID); err != nil {
		return uuid.Nil, err
	}
	if len(p.state) > 0 {
		if err := s.Vault.PutState(ctx, q, id, p.state, now); err != nil {
			return uuid.Nil, err
		}
	}
	if p.orphan {
		if err := s.orphan(ctx, q, w, id, jobID); err != nil {
			return uuid.Nil, err
		}
	}
	return id, audit.Record(ctx, q, actor, p.entry(id))
}

// orphan deletes a workspace without a provisioner; its build succeeds at once.
func (s *Service) orphan(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, buildID, jobID uuid.UUID) error {
	if err := q.BuildEndJob(ctx, s.now(), jobID); err != nil {
		return err
	}
	if err := s.dropTokens(ctx, q, w, buildID); err != nil {
		return err
	}
	if err := event.Deleted(ctx, q, w, buildID); err != nil {
		return err
	}
	return q.WorkspaceDelete(ctx, s.now(), w.ID)
}

// parameters returns the values of the build and the preset that they came from, if
// any.
func (s *Service) parameters(ctx context.Context, q *sqlc.Queries, p plan) ([]codersdk.WorkspaceBuildParameter, *uuid.UUID, error) {
	v := p.version.TemplateVersion
	in := parameter.Values{Given: p.given}
	in.Create, in.Transition = p.previous == nil, p.transition
	preset := p.presetID
	if preset != nil && *preset != uuid.Nil {
		i := slices.IndexFunc(v.Presets, func(x codersdk.StoredPreset) bool { return x.ID == *preset })
		if i < 0 {
			return nil, nil, codersdk.Invalid("template_version_preset_id", "preset not found in version %q of the template", v.Name)
		}
		in.Preset = v.Presets[i].Parameters
	} else {
		preset = nil
	}
	if p.previous != nil {
		in.Previous = p.previous.Parameters
	}
	values, err := s.forms.Resolve(ctx, q, v, p.workspace.OwnerID, in)
	if best := fitting(v.Presets, values); err == nil && preset == nil && in.Create && best != nil {
		preset = &best.ID
	}
	return values, preset, err
}

// tags returns the tags of the job: those of the version, overridden by the result of
// its coder_workspace_tags for these values. (TPL-04)
func (p plan) tags(vault *dbcrypt.Vault, values []codersdk.WorkspaceBuildParameter) (codersdk.Tags, error) {
	v := p.version.TemplateVersion
	tags := codersdk.Tags{}
	maps.Copy(tags, v.Tags)
	if len(v.WorkspaceTags) > 0 {
		variables, parameters := map[string]string{}, map[string]string{}
		clear, err := vault.OpenVariables(v.ID, v.Variables, v.VariablesKeyID)
		if err != nil {
			return nil, err
		}
		for _, x := range clear {
			variables[x.Name] = x.Value
		}
		for _, x := range values {
			parameters[x.Name] = x.Value
		}
		more, err := terraform.EvalTags(v.WorkspaceTags, variables, parameters)
		if err != nil {
			return nil, err
		}
		maps.Copy(tags, more)
	}
	if err := codersdk.CheckTags("tags", tags); err != nil {
		return nil, err
	}
	return codersdk.NormalizeTags(p.workspace.OwnerID, tags), nil
}

// entry returns the audit entry of a build.
func (p plan) entry(id uuid.UUID) audit.Entry {
	action := codersdk.AuditActionStart
	switch p.transition {
	case codersdk.WorkspaceTransitionStop:
		action = codersdk.AuditActionStop
	case codersdk.WorkspaceTransitionDelete:
		action = codersdk.AuditActionDelete
	}
	return audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeWorkspaceBuild, ResourceID: id, OrganizationID: p.workspace.OrganizationID,
		Target: p.workspace.Name, Icon: p.version.Template.Icon,
		Fields: map[string]any{
			"workspace_name": p.workspace.Name, "workspace_id": p.workspace.ID, "build_number": p.number,
			"build_reason": p.reason, "orphan": p.orphan,
		},
	}
}
