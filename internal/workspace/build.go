package workspace

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// plan is a build that is to be asked for.
type plan struct {
	workspace  sqlc.Workspace
	version    sqlc.WorkspaceVersionRow
	transition coder.WorkspaceTransition
	reason     coder.BuildReason
	number     int32
	given      []coder.WorkspaceBuildParameter
	previous   *sqlc.WorkspaceBuild // nil for the first
	presetID   *uuid.UUID
	state      []byte // to start from, instead of that of the build before
	orphan     bool
	claim      bool // of what was built for nobody
	logLevel   coder.ProvisionerLogLevel
}

// input is what the job of a build carries.
type input struct {
	coder.ProvisionerJobInput
	WorkspaceID uuid.UUID                 `json:"workspace_id"`
	LogLevel    coder.ProvisionerLogLevel `json:"log_level,omitempty"`
	Claim       bool                      `json:"claim,omitempty"`
}

// errDryRun undoes the transaction of a build that was only to be tried.
var errDryRun = errors.New("dry run")

// CreateWorkspaceBuild asks for a build of a workspace. While another is
// unfinished the error is CodeConflict and names it. (WS-03)
func (s *Service) CreateWorkspaceBuild(ctx context.Context, actor access.Subject, workspaceID uuid.UUID, req coder.CreateWorkspaceBuildRequest) (coder.WorkspaceBuild, error) {
	var none coder.WorkspaceBuild
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
	var made coder.WorkspaceBuild
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		p, err := s.planNext(ctx, q, actor, workspaceID, req)
		if err != nil {
			return err
		}
		id, err := s.addBuild(ctx, q, actor, p)
		if err != nil || !req.DryRun {
			made.ID = id
			return err
		}
		if made, err = oneOf(s.showBuilds(ctx, q, []uuid.UUID{id})); err != nil {
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
	return s.buildNow(ctx, made.ID)
}

// reasons are those that a client may give.
var reasons = []coder.CreateWorkspaceBuildReason{
	coder.CreateWorkspaceBuildReasonCLI, coder.CreateWorkspaceBuildReasonDashboard, coder.CreateWorkspaceBuildReasonJetbrainsConnection,
	coder.CreateWorkspaceBuildReasonSSHConnection, coder.CreateWorkspaceBuildReasonTaskManualPause, coder.CreateWorkspaceBuildReasonVSCodeConnection,
}

// checkBuildRequest refuses what contradicts itself and gives the action that
// the actor must be allowed.
func checkBuildRequest(req coder.CreateWorkspaceBuildRequest) (coder.RBACAction, error) {
	switch {
	case req.Orphan && req.Transition != coder.WorkspaceTransitionDelete:
		return "", coder.Invalid("orphan", "only a delete can orphan resources")
	case req.Orphan && len(req.State) > 0:
		return "", coder.Invalid("state", "a delete that orphans resources takes no state")
	case req.LogLevel != "" && req.LogLevel != coder.ProvisionerLogLevelDebug:
		return "", coder.Invalid("log_level", "%q is not a log level; the only one is debug", req.LogLevel)
	case req.Reason != "" && !slices.Contains(reasons, req.Reason):
		return "", coder.Invalid("reason", "%q is not a reason that a client may give", req.Reason)
	}
	switch req.Transition {
	case coder.WorkspaceTransitionStart:
		return coder.RBACActionStart, nil
	case coder.WorkspaceTransitionStop:
		return coder.RBACActionStop, nil
	case coder.WorkspaceTransitionDelete:
		return coder.RBACActionDelete, nil
	}
	return "", coder.Invalid("transition", "%q must be start, stop or delete", req.Transition)
}

// checkSpecial refuses to all but administrators of the template what goes
// around Terraform or shows more of it. (WS-09, WS-10, CP-17)
func (s *Service) checkSpecial(ctx context.Context, actor access.Subject, w sqlc.Workspace, req coder.CreateWorkspaceBuildRequest) error {
	if !req.Orphan && len(req.State) == 0 && req.LogLevel == "" {
		return nil
	}
	admin, err := s.managesTemplate(ctx, s.Store.Queries, actor, w.TemplateID)
	switch {
	case err != nil:
		return err
	case !admin && req.Orphan:
		return coder.Errorf(coder.CodeForbidden, "Only administrators of the template may delete a workspace and leave its resources behind")
	case !admin && len(req.State) > 0:
		return coder.Errorf(coder.CodeForbidden, "Only administrators of the template may give a build its state")
	case !admin && req.LogLevel != "":
		return coder.Errorf(coder.CodeForbidden, "Only administrators of the template may ask for the debug log")
	case req.LogLevel != "" && !s.AllowDebugLogs:
		return coder.Errorf(coder.CodeInvalid, "This server does not give Terraform's debug log; its operator can allow it with --enable-terraform-debug-mode")
	}
	return nil
}

// planNext locks the workspace and works out its next build.
func (s *Service) planNext(ctx context.Context, q *sqlc.Queries, actor access.Subject, workspaceID uuid.UUID, req coder.CreateWorkspaceBuildRequest) (plan, error) {
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

// planAfter works out the build of a locked workspace that follows its latest.
func (s *Service) planAfter(ctx context.Context, q *sqlc.Queries, actor access.Subject, w sqlc.Workspace, latest sqlc.BuildLatestRow, req coder.CreateWorkspaceBuildRequest) (plan, error) {
	before := latest.WorkspaceBuild
	if err := finished(w, before, latest.JobStatus); err != nil {
		return plan{}, err
	}
	if w.DormantAt != nil && req.Transition == coder.WorkspaceTransitionStart {
		return plan{}, coder.Errorf(coder.CodeConflict, "Workspace %q is dormant; wake it before you start it", w.Name)
	}
	v, err := s.versionForNext(ctx, q, actor, w, before, req)
	if err != nil {
		return plan{}, err
	}
	p := plan{
		workspace: w, version: v, transition: req.Transition, reason: coder.BuildReasonInitiator, number: before.BuildNumber + 1,
		given: req.RichParameterValues, previous: &before, presetID: req.TemplateVersionPresetID,
		state: req.State, orphan: req.Orphan, logLevel: req.LogLevel,
	}
	if req.Reason != "" {
		p.reason = coder.BuildReason(req.Reason)
	}
	return p, nil
}

// finished refuses a build while another is under way.
func finished(w sqlc.Workspace, b sqlc.WorkspaceBuild, status string) error {
	switch coder.ProvisionerJobStatus(status) {
	case coder.ProvisionerJobStatusPending, coder.ProvisionerJobStatusRunning, coder.ProvisionerJobStatusCanceling:
		return coder.Errorf(coder.CodeConflict, "Build %d (%s) of workspace %q is still %s; wait for it or cancel it first", b.BuildNumber, b.Transition, w.Name, status)
	}
	return nil
}

// versionForNext gives the version of the next build: the one asked for, else
// that of the build before, unless the workspace follows the active one.
// Stopping and deleting always may use the version that is there. (TPL-14)
func (s *Service) versionForNext(ctx context.Context, q *sqlc.Queries, actor access.Subject, w sqlc.Workspace, before sqlc.WorkspaceBuild, req coder.CreateWorkspaceBuildRequest) (sqlc.WorkspaceVersionRow, error) {
	t, err := q.WorkspaceTemplate(ctx, w.TemplateID)
	if err != nil {
		return sqlc.WorkspaceVersionRow{}, err
	}
	starts := req.Transition == coder.WorkspaceTransitionStart
	bound := starts && t.RequireActiveVersion && !actor.Can(coder.RBACActionUpdate, templateObject(t))
	id := req.TemplateVersionID
	switch {
	case id == uuid.Nil && starts && (bound || w.AutomaticUpdates == string(coder.AutomaticUpdatesAlways)):
		id = t.ActiveVersionID
	case id == uuid.Nil:
		id = before.TemplateVersionID
	}
	v, err := q.WorkspaceVersion(ctx, id)
	if err != nil {
		return v, orInvalid(err, "template_version_id", "there is no such version")
	}
	switch {
	case v.Template.ID != w.TemplateID:
		return v, coder.Invalid("template_version_id", "version %q is not one of the workspace's template", v.TemplateVersion.Name)
	case bound && id != t.ActiveVersionID:
		return v, coder.Errorf(coder.CodeForbidden, "Template %q lets workspaces use its active version only", t.Name)
	case starts && v.TemplateVersion.Archived && id != before.TemplateVersionID:
		return v, coder.Invalid("template_version_id", "version %q is archived; choose another", v.TemplateVersion.Name)
	}
	return v, usable(v)
}

// addBuild writes a build, its job and its audit entry, and gives its id. The
// caller wakes the queue after its commit.
func (s *Service) addBuild(ctx context.Context, q *sqlc.Queries, actor access.Subject, p plan) (uuid.UUID, error) {
	values, preset, err := s.parameters(ctx, q, p)
	if err != nil {
		return uuid.Nil, err
	}
	tags, err := p.tags(values)
	if err != nil {
		return uuid.Nil, err
	}
	w, v, now := p.workspace, p.version.TemplateVersion, s.now()
	id, jobID := uuid.New(), uuid.New()
	initiator, class := onBehalf(actor, w)
	in := input{WorkspaceID: w.ID, LogLevel: p.logLevel, Claim: p.claim}
	in.TemplateVersionID, in.WorkspaceBuildID = v.ID, id
	err = s.Queue.Add(ctx, q, queue.NewJob{
		ID: jobID, OrganizationID: w.OrganizationID, InitiatorID: initiator, FileID: p.version.FileID,
		Type: coder.ProvisionerJobTypeWorkspaceBuild, Provisioner: p.version.Provisioner, Tags: tags, Input: in,
		TemplateID: w.TemplateID, Priority: class,
	})
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
	if len(p.state) > 0 {
		if err := q.BuildPutState(ctx, id, p.state, now); err != nil {
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

// orphan deletes a workspace without a provisioner: its build is over at once.
func (s *Service) orphan(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, buildID, jobID uuid.UUID) error {
	if err := q.BuildEndJob(ctx, s.now(), jobID); err != nil {
		return err
	}
	if err := s.dropTokens(ctx, q, w, buildID); err != nil {
		return err
	}
	return q.WorkspaceDelete(ctx, s.now(), w.ID)
}

// parameters gives the values that the build runs with and the preset that
// they came from, if any.
func (s *Service) parameters(ctx context.Context, q *sqlc.Queries, p plan) ([]coder.WorkspaceBuildParameter, *uuid.UUID, error) {
	v := p.version.TemplateVersion
	opts := coder.ParameterOptions{Create: p.previous == nil, Transition: p.transition}
	preset := p.presetID
	if preset != nil && *preset != uuid.Nil {
		i := slices.IndexFunc(v.Presets, func(x coder.Preset) bool { return x.ID == *preset })
		if i < 0 {
			return nil, nil, coder.Invalid("template_version_preset_id", "version %q of the template has no such preset", v.Name)
		}
		opts.Preset = v.Presets[i].Parameters
	} else {
		preset = nil
	}
	var previous []coder.WorkspaceBuildParameter
	if p.previous != nil {
		previous = p.previous.Parameters
	}
	defs, given, err := s.forms.Resolve(ctx, q, v, p.workspace.OwnerID, p.given, previous, opts.Preset)
	if err != nil {
		return nil, nil, err
	}
	values, err := coder.ResolveParameters(defs, given, previous, opts)
	if best := fitting(v.Presets, values); err == nil && preset == nil && opts.Create && best != nil {
		preset = &best.ID
	}
	return values, preset, err
}

// tags gives what the job asks of its provisioner: the tags of the version and
// above them what its coder_workspace_tags come to with these values. (TPL-04)
func (p plan) tags(values []coder.WorkspaceBuildParameter) (coder.Tags, error) {
	v := p.version.TemplateVersion
	tags := coder.Tags{}
	maps.Copy(tags, v.Tags)
	if len(v.WorkspaceTags) > 0 {
		variables, parameters := map[string]string{}, map[string]string{}
		for _, x := range v.Variables {
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
	if err := coder.CheckTags("tags", tags); err != nil {
		return nil, err
	}
	return coder.NormalizeTags(p.workspace.OwnerID, tags), nil
}

// entry is the audit entry of a build.
func (p plan) entry(id uuid.UUID) audit.Entry {
	action := coder.AuditActionStart
	switch p.transition {
	case coder.WorkspaceTransitionStop:
		action = coder.AuditActionStop
	case coder.WorkspaceTransitionDelete:
		action = coder.AuditActionDelete
	}
	return audit.Entry{
		Action: action, ResourceType: coder.ResourceTypeWorkspaceBuild, ResourceID: id, OrganizationID: p.workspace.OrganizationID,
		Target: p.workspace.Name, Icon: p.version.Template.Icon,
		Fields: map[string]any{
			"workspace_name": p.workspace.Name, "workspace_id": p.workspace.ID, "build_number": p.number,
			"build_reason": p.reason, "orphan": p.orphan,
		},
	}
}
