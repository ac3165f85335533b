package workspace

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// CancelWorkspaceBuild ends a build that waits and asks the provisioner of one
// that runs to stop. With expect, pending or running, it does so only while
// the build is that. Where the template does not let users cancel, its
// administrators still may. (WS-11)
func (s *Service) CancelWorkspaceBuild(ctx context.Context, actor access.Subject, id uuid.UUID, expect string) error {
	if expect != "" && expect != string(coder.ProvisionerJobStatusPending) && expect != string(coder.ProvisionerJobStatusRunning) {
		return coder.Invalid("expect_status", "%.40q must be pending or running", expect)
	}
	b, w, err := s.findBuild(ctx, actor, coder.RBACActionUpdate, id)
	if err != nil {
		return err
	}
	t, err := s.Store.WorkspaceTemplate(ctx, w.TemplateID)
	if err != nil {
		return err
	}
	if !t.AllowUserCancelWorkspaceJobs && !actor.Can(coder.RBACActionUpdate, templateObject(t)) {
		return coder.Errorf(coder.CodeForbidden, "Template %q does not let builds be canceled by other than its administrators", t.Name)
	}
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		status, err := q.BuildJobStatus(ctx, b.JobID)
		if err != nil {
			return err
		}
		if expect != "" && status != expect {
			return coder.Errorf(coder.CodePrecondition, "The build is %s and not %s, so it was not canceled", status, expect)
		}
		if err := s.Queue.Cancel(ctx, q, b.JobID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeWorkspaceBuild, ResourceID: id,
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

// BuildJob gives the job of a build, for its logs.
func (s *Service) BuildJob(ctx context.Context, actor access.Subject, id uuid.UUID) (uuid.UUID, error) {
	b, _, err := s.findBuild(ctx, actor, coder.RBACActionRead, id)
	return b.JobID, err
}

// BuildParameters gives the values that a build ran with.
func (s *Service) BuildParameters(ctx context.Context, actor access.Subject, id uuid.UUID) ([]coder.WorkspaceBuildParameter, error) {
	b, _, err := s.findBuild(ctx, actor, coder.RBACActionRead, id)
	return b.Parameters, err
}

// BuildResources gives what a build made.
func (s *Service) BuildResources(ctx context.Context, actor access.Subject, id uuid.UUID) ([]coder.WorkspaceResource, error) {
	b, _, err := s.findBuild(ctx, actor, coder.RBACActionRead, id)
	if err != nil {
		return nil, err
	}
	m, err := resource.Load(ctx, s.Store.Queries, s.now(), []uuid.UUID{b.JobID})
	return m[b.JobID], err
}

// BuildState gives the Terraform state that a build left, empty when it left
// none. It holds secrets; only administrators of the template may have it. (WS-10)
func (s *Service) BuildState(ctx context.Context, actor access.Subject, id uuid.UUID) ([]byte, error) {
	if _, _, err := s.findForState(ctx, actor, id); err != nil {
		return nil, err
	}
	state, err := s.Store.BuildState(ctx, id)
	if coder.Is(err, coder.CodeNotFound) {
		return []byte{}, nil
	}
	return state, err
}

// UpdateBuildState replaces the Terraform state kept with a build, from which
// the next one starts. Only administrators of the template may. (WS-10)
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
		if err := q.BuildPutState(ctx, id, orEmpty(state), s.now()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeWorkspaceBuild, ResourceID: id, OrganizationID: w.OrganizationID, Target: w.Name,
			Fields: map[string]any{"workspace_name": w.Name, "workspace_id": w.ID, "build_number": b.BuildNumber, "state_replaced": true},
		})
	})
}

func (s *Service) findForState(ctx context.Context, actor access.Subject, id uuid.UUID) (sqlc.WorkspaceBuild, sqlc.Workspace, error) {
	b, w, err := s.findBuild(ctx, actor, coder.RBACActionRead, id)
	if err != nil {
		return b, w, err
	}
	admin, err := s.managesTemplate(ctx, s.Store.Queries, actor, w.TemplateID)
	if err == nil && !admin {
		err = coder.Errorf(coder.CodeForbidden, "Only administrators of the template may see or replace the state of a build")
	}
	return b, w, err
}

// BuildTimings says how long the steps of a build took: those of the
// provisioner, of the agents' scripts, and of the agents to connect. (WS-25)
func (s *Service) BuildTimings(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.WorkspaceBuildTimings, error) {
	b, _, err := s.findBuild(ctx, actor, coder.RBACActionRead, id)
	if err != nil {
		return coder.WorkspaceBuildTimings{}, err
	}
	return s.timings(ctx, b.JobID)
}

// WorkspaceTimings is BuildTimings of the latest build.
func (s *Service) WorkspaceTimings(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.WorkspaceBuildTimings, error) {
	if _, err := s.find(ctx, actor, coder.RBACActionRead, id); err != nil {
		return coder.WorkspaceBuildTimings{}, err
	}
	latest, err := s.Store.BuildLatest(ctx, id)
	if err != nil {
		return coder.WorkspaceBuildTimings{}, err
	}
	return s.timings(ctx, latest.WorkspaceBuild.JobID)
}

func (s *Service) timings(ctx context.Context, jobID uuid.UUID) (coder.WorkspaceBuildTimings, error) {
	out := coder.WorkspaceBuildTimings{AgentConnectionTimings: []coder.AgentConnectionTiming{}, AgentScriptTimings: []coder.AgentScriptTiming{}}
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
			out.AgentConnectionTimings = append(out.AgentConnectionTimings, coder.AgentConnectionTiming{
				StartedAt: a.CreatedAt, EndedAt: *a.FirstConnectedAt, Stage: coder.TimingStageConnect,
				WorkspaceAgentID: a.ID, WorkspaceAgentName: a.Name,
			})
		}
	}
	scripts, err := s.Store.BuildScriptTimings(ctx, jobID)
	if err != nil {
		return out, err
	}
	for _, r := range scripts {
		t := coder.AgentScriptTiming{
			StartedAt: r.StartedAt, EndedAt: r.EndedAt, ExitCode: int64(r.ExitCode), Stage: coder.TimingStage(r.Stage),
			Status: r.Status, WorkspaceAgentID: r.AgentID, WorkspaceAgentName: r.AgentName,
		}
		if i := slices.IndexFunc(r.Scripts, func(x coder.WorkspaceAgentScript) bool { return x.ID == r.ScriptID }); i >= 0 {
			t.DisplayName = r.Scripts[i].DisplayName
		}
		out.AgentScriptTimings = append(out.AgentScriptTimings, t)
	}
	return out, nil
}

// ExternalAgentCredentials gives the token of an agent that its user starts
// somewhere else, and the command to start it with. (WS-27)
func (s *Service) ExternalAgentCredentials(ctx context.Context, actor access.Subject, id uuid.UUID, agent string) (coder.ExternalAgentCredentials, error) {
	var out coder.ExternalAgentCredentials
	if _, err := s.findLive(ctx, actor, coder.RBACActionUpdate, id); err != nil {
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
	if a.Token == nil {
		return out, coder.Errorf(coder.CodeInvalid, "Agent %q authenticates by the identity of its machine and has no token", agent)
	}
	script := s.AccessURL.JoinPath("api", "v2", "init-script", a.OperatingSystem, a.Architecture)
	out.AgentToken = a.Token.String()
	if a.OperatingSystem == "windows" {
		out.Command = fmt.Sprintf(`$env:CODER_AGENT_TOKEN=%q; iwr -useb %q | iex`, out.AgentToken, script)
	} else {
		out.Command = fmt.Sprintf(`curl -fsSL %q | CODER_AGENT_TOKEN=%q sh`, script, out.AgentToken)
	}
	return out, nil
}
