package workspace

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// CancelWorkspaceBuild cancels a pending build and asks the provisioner of a running
// build to stop. With expect, pending or running, it does so only if the build has that
// status. If the template does not let users cancel, its administrators still can.
// (WS-11)
func (s *Service) CancelWorkspaceBuild(ctx context.Context, actor access.Subject, id uuid.UUID, expect string) error {
	if expect != "" && expect != string(codersdk.ProvisionerJobStatusPending) && expect != string(codersdk.ProvisionerJobStatusRunning) {
		return codersdk.Invalid("expect_status", "%.40q must be pending or running", expect)
	}
	b, w, err := s.findBuild(ctx, actor, codersdk.RBACActionUpdate, id)
	if err != nil {
		return err
	}
	t, err := s.Store.WorkspaceTemplate(ctx, w.TemplateID)
	if err != nil {
		return err
	}
	if !t.AllowUserCancelWorkspaceJobs && !actor.Can(codersdk.RBACActionUpdate, templateObject(t)) {
		return codersdk.Errorf(codersdk.CodeForbidden, "Only administrators of template %q can cancel its builds", t.Name)
	}
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		status, err := q.BuildJobStatus(ctx, b.JobID)
		if err != nil {
			return err
		}
		if expect != "" && status != expect {
			return codersdk.Errorf(codersdk.CodePrecondition, "The build is %s, not %s, so it was not canceled", status, expect)
		}
		if err := s.Queue.Cancel(ctx, q, b.JobID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeWorkspaceBuild, ResourceID: id,
			OrganizationID: w.OrganizationID, Target: w.Name, Icon: t.Icon,
			Fields: map[string]any{"workspace_name": w.Name, "workspace_id": w.ID, "build_number": b.BuildNumber, "canceled": true},
		})
	})
	if err != nil {
		return err
	}
	s.Queue.Canceled(b.JobID)
	s.Hub.Publish(notify.Workspace(w.ID))
	return nil
}

// BuildJob returns the job of a build, for its logs.
func (s *Service) BuildJob(ctx context.Context, actor access.Subject, id uuid.UUID) (uuid.UUID, error) {
	b, _, err := s.findBuild(ctx, actor, codersdk.RBACActionRead, id)
	return b.JobID, err
}

// BuildParameters returns the parameter values of a build.
func (s *Service) BuildParameters(ctx context.Context, actor access.Subject, id uuid.UUID) ([]codersdk.WorkspaceBuildParameter, error) {
	b, _, err := s.findBuild(ctx, actor, codersdk.RBACActionRead, id)
	return b.Parameters, err
}

// BuildResources returns the resources that a build created.
func (s *Service) BuildResources(ctx context.Context, actor access.Subject, id uuid.UUID) ([]codersdk.WorkspaceResource, error) {
	b, _, err := s.findBuild(ctx, actor, codersdk.RBACActionRead, id)
	if err != nil {
		return nil, err
	}
	m, err := resource.Load(ctx, s.Store.Queries, s.now(), []uuid.UUID{b.JobID})
	return m[b.JobID], err
}

// BuildState returns the Terraform state of a workspace after a build: the state that
// the build left or, if it left none, the state that it started from; empty if there was
// none. The state contains secrets; only administrators of the template can read it.
// (WS-10)
func (s *Service) BuildState(ctx context.Context, actor access.Subject, id uuid.UUID) ([]byte, error) {
	b, _, err := s.findForState(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	state, err := s.Vault.StateUpTo(ctx, s.Store.Queries, b.WorkspaceID, b.BuildNumber)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return []byte{}, nil
	}
	return state, err
}

// UpdateBuildState replaces the Terraform state of a build, from which the next build
// starts. Only administrators of the template can do it. (WS-10)
func (s *Service) UpdateBuildState(ctx context.Context, actor access.Subject, id uuid.UUID, state []byte) error {
	b, w, err := s.findForState(ctx, actor, id)
	if err != nil {
		return err
	}
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		status, err := q.BuildJobStatus(ctx, b.JobID)
		if err != nil {
			return err
		}
		if err := finished(w, b, status); err != nil {
			return err
		}
		if err := s.Vault.PutState(ctx, q, id, state, s.now()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeWorkspaceBuild, ResourceID: id, OrganizationID: w.OrganizationID, Target: w.Name,
			Fields: map[string]any{"workspace_name": w.Name, "workspace_id": w.ID, "build_number": b.BuildNumber, "state_replaced": true},
		})
	})
}

func (s *Service) findForState(ctx context.Context, actor access.Subject, id uuid.UUID) (sqlc.WorkspaceBuild, sqlc.Workspace, error) {
	b, w, err := s.findBuild(ctx, actor, codersdk.RBACActionRead, id)
	if err != nil {
		return b, w, err
	}
	admin, err := s.managesTemplate(ctx, s.Store.Queries, actor, w.TemplateID)
	if err == nil && !admin {
		err = codersdk.Errorf(codersdk.CodeForbidden, "Only administrators of the template can read or replace the state of a build")
	}
	return b, w, err
}

// BuildTimings returns the timeline of a build: the steps of the provisioner, the
// scripts of the agents, and the connections of the agents. (WS-25)
func (s *Service) BuildTimings(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.WorkspaceBuildTimings, error) {
	b, _, err := s.findBuild(ctx, actor, codersdk.RBACActionRead, id)
	if err != nil {
		return codersdk.WorkspaceBuildTimings{}, err
	}
	return s.timings(ctx, b.JobID)
}

// WorkspaceTimings returns the BuildTimings of the latest build.
func (s *Service) WorkspaceTimings(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.WorkspaceBuildTimings, error) {
	if _, err := s.find(ctx, actor, codersdk.RBACActionRead, id); err != nil {
		return codersdk.WorkspaceBuildTimings{}, err
	}
	latest, err := s.Store.BuildLatest(ctx, id)
	if err != nil {
		return codersdk.WorkspaceBuildTimings{}, err
	}
	return s.timings(ctx, latest.WorkspaceBuild.JobID)
}

func (s *Service) timings(ctx context.Context, jobID uuid.UUID) (codersdk.WorkspaceBuildTimings, error) {
	out := codersdk.WorkspaceBuildTimings{AgentConnectionTimings: []codersdk.AgentConnectionTiming{}, AgentScriptTimings: []codersdk.AgentScriptTiming{}}
	var err error
	if out.ProvisionerTimings, err = s.Queue.Timings(ctx, s.Store.Queries, jobID); err != nil {
		return out, err
	}
	agents, err := s.Store.BuildAgentTimings(ctx, jobID)
	if err != nil {
		return out, err
	}
	for _, a := range agents {
		if a.FirstConnectedAt != nil {
			out.AgentConnectionTimings = append(out.AgentConnectionTimings, codersdk.AgentConnectionTiming{
				StartedAt: a.CreatedAt, EndedAt: *a.FirstConnectedAt, Stage: codersdk.TimingStageConnect,
				WorkspaceAgentID: a.ID, WorkspaceAgentName: a.Name,
			})
		}
	}
	scripts, err := s.Store.BuildScriptTimings(ctx, jobID)
	if err != nil {
		return out, err
	}
	for _, r := range scripts {
		t := codersdk.AgentScriptTiming{
			StartedAt: r.StartedAt, EndedAt: r.EndedAt, ExitCode: int64(r.ExitCode), Stage: codersdk.TimingStage(r.Stage),
			Status: r.Status, WorkspaceAgentID: r.AgentID, WorkspaceAgentName: r.AgentName,
		}
		if i := slices.IndexFunc(r.Scripts, func(x codersdk.WorkspaceAgentScript) bool { return x.ID == r.ScriptID }); i >= 0 {
			t.DisplayName = r.Scripts[i].DisplayName
		}
		out.AgentScriptTimings = append(out.AgentScriptTimings, t)
	}
	return out, nil
}

// ExternalAgentCredentials returns the token of an agent that the user starts on another
// machine, and the command that starts it. (WS-27)
func (s *Service) ExternalAgentCredentials(ctx context.Context, actor access.Subject, id uuid.UUID, agent string) (codersdk.ExternalAgentCredentials, error) {
	var out codersdk.ExternalAgentCredentials
	if _, err := s.findLive(ctx, actor, codersdk.RBACActionUpdate, id); err != nil {
		return out, err
	}
	latest, err := s.Store.BuildLatest(ctx, id)
	if err != nil {
		return out, err
	}
	a, err := s.Store.BuildAgentToken(ctx, latest.WorkspaceBuild.JobID, agent)
	if err != nil {
		return out, err
	}
	token, err := s.Vault.OpenAgentToken(a.ID, a.Token, a.Kept, a.KeyID)
	if err != nil {
		return out, err
	}
	if token == nil {
		return out, codersdk.Errorf(codersdk.CodeInvalid, "Agent %q authenticates with its instance identity and has no token", agent)
	}
	script := s.AccessURL.JoinPath("api", "v2", "init-script", a.OperatingSystem, a.Architecture)
	out.AgentToken = token.String()
	if a.OperatingSystem == "windows" {
		out.Command = fmt.Sprintf(`$env:CODER_AGENT_TOKEN=%q; iwr -useb %q | iex`, out.AgentToken, script)
	} else {
		out.Command = fmt.Sprintf(`curl -fsSL %q | CODER_AGENT_TOKEN=%q sh`, script, out.AgentToken)
	}
	return out, nil
}
