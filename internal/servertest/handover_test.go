package servertest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/handedover"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// readyStock imports a template that hands workspaces over first, and returns it with its
// only prebuilt workspace, whose agent runs and writes to marks.
func readyStock(t *testing.T, s *servertest.Server, files map[string]string) (tpl codersdk.Template, preset *uuid.UUID, ready codersdk.Workspace, marks string) {
	t.Helper()
	all := map[string]string{
		"main.tf": "locals { coder_claim_first = true }",
		"graph.state.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "${prebuilt}-${owner}", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "${token}",
			"apps": [{"slug": "web", "url": "http://localhost:1"}],
			"scripts": [{"displayName": "Start", "script": "echo \"$CODER_WORKSPACE_OWNER_NAME\" >> \"$MARKS\"", "runOnStart": true}]}]}]}}`,
	}
	for name, text := range files {
		all[name] = text
	}
	v := stockVersion(t, s, uuid.Nil, 1, all)
	tpl, err := s.Client.CreateTemplate(t.Context(), "default", codersdk.CreateTemplateRequest{Name: "ready", TemplateVersionID: v.ID})
	must(t, err)
	marks = inside(t, s, prebuilt(t, s, shelved(1))[0].ID)
	ready = prebuilt(t, s, func(ws []codersdk.Workspace) bool { return len(ws) == 1 && settled(ws[0]) })[0]
	must(t, s.Client.UpdatePrebuildsSettings(t.Context(), codersdk.PrebuildsSettings{ReconciliationPaused: true}))
	return tpl, presetOf(t, s.Client, v), ready, marks
}

// serving waits until the agent of a workspace is ready for its owner, whatever the build does.
func serving(t *testing.T, c *codersdk.Client, workspace uuid.UUID) codersdk.Workspace {
	t.Helper()
	return testwait.Value(t, "the agent serves its owner", func() codersdk.Workspace {
		w, err := c.Workspace(t.Context(), workspace, nil)
		must(t, err)
		return w
	}, func(w codersdk.Workspace) bool {
		if len(w.LatestBuild.Resources) != 1 || len(w.LatestBuild.Resources[0].Agents) != 1 {
			return false
		}
		a := w.LatestBuild.Resources[0].Agents[0]
		return a.Status == codersdk.WorkspaceAgentStatusConnected && a.LifecycleState == codersdk.WorkspaceAgentLifecycleReady
	})
}

// owners returns the owners for whom the start script ran.
func owners(t *testing.T, marks string) string {
	t.Helper()
	b, err := os.ReadFile(marks)
	must(t, err)
	return strings.Join(strings.Fields(string(b)), " ")
}

// TestHandOverBeforeTheBuild: while the only provisioner is busy, a claimed workspace serves
// its owner; the build of the claim adopts the agent, which goes on.
func TestHandOverBeforeTheBuild(t *testing.T) {
	s := servertest.Start(t, often)
	ctx := t.Context()
	tpl, preset, ready, marks := readyStock(t, s, nil)
	busy := stockVersion(t, s, uuid.Nil, 0, map[string]string{"apply.start.jsonl": `{"hang": true}`})
	other, err := s.Client.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "busy", TemplateVersionID: busy.ID})
	must(t, err)
	blocker, err := s.Client.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "blocker", TemplateID: other.ID})
	must(t, err)
	testwait.Until(t, "the provisioner is busy", func() bool {
		b, err := s.Client.WorkspaceBuild(ctx, blocker.LatestBuild.ID)
		must(t, err)
		return b.Job.Status == codersdk.ProvisionerJobStatusRunning
	})

	ann, _ := s.Member(t, "ann")
	ttl := int64(3600_000)
	w, err := ann.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "mine", TemplateID: tpl.ID, TemplateVersionPresetID: preset, TTLMS: &ttl})
	must(t, err)
	b := w.LatestBuild
	if w.ID != ready.ID || w.OwnerName != "ann" || w.Name != "mine" || b.BuildNumber != 2 || b.Job.Status != codersdk.ProvisionerJobStatusPending || !handedover.Serves(b) || b.Deadline == nil {
		t.Fatalf("%s/%s, build %d is %s, handed over %t, deadline %v", w.OwnerName, w.Name, b.BuildNumber, b.Job.Status, handedover.Serves(b), b.Deadline)
	}
	agent, before := b.Resources[0].Agents[0], ready.LatestBuild.Resources[0].Agents[0]
	if agent.ID == before.ID {
		t.Errorf("agent %s is that of the account of prebuilt workspaces", agent.ID)
	}
	w = serving(t, ann, w.ID)
	if w.LatestBuild.Job.Status != codersdk.ProvisionerJobStatusPending {
		t.Errorf("the build is %s", w.LatestBuild.Job.Status)
	}
	if got := owners(t, marks); got != "prebuilds ann" {
		t.Errorf("the start script ran for %s", got)
	}
	// The next one finds none that is ready.
	bob, _ := s.Member(t, "bob")
	if second, err := bob.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "mine", TemplateID: tpl.ID, TemplateVersionPresetID: preset}); err != nil || second.ID == w.ID || handedover.Serves(second.LatestBuild) {
		t.Errorf("%+v, %v", second.LatestBuild, err)
	}

	must(t, s.Client.CancelWorkspaceBuild(ctx, blocker.LatestBuild.ID, nil))
	follow(t, ann, "/workspacebuilds/"+b.ID.String()+"/logs")
	w = serving(t, ann, w.ID)
	after := w.LatestBuild.Resources[0].Agents[0]
	if w.LatestBuild.Job.Status != codersdk.ProvisionerJobStatusSucceeded || w.LatestBuild.Resources[0].Name != "claim-ann" {
		t.Errorf("the build is %s, its resource %s", w.LatestBuild.Job.Status, w.LatestBuild.Resources[0].Name)
	}
	if after.ID != agent.ID || after.Scripts[0] != agent.Scripts[0] || after.Apps[0].ID != agent.Apps[0].ID || len(after.LogSources) != len(agent.LogSources) {
		t.Errorf("the build made another agent:\n%+v\n%+v", agent, after)
	}
	if got := owners(t, marks); got != "prebuilds ann" {
		t.Errorf("the start script ran for %s", got)
	}
}

// TestHandOverSurvivesAFailedBuild: the workspace stays with its owner and goes on, and so it
// does when the build is tried again.
func TestHandOverSurvivesAFailedBuild(t *testing.T) {
	s := servertest.Start(t, often)
	ctx := t.Context()
	tpl, preset, ready, marks := readyStock(t, s, map[string]string{"apply.claim.jsonl": `{"error": "the disk is full"}`})
	ann, _ := s.Member(t, "ann")
	w, err := ann.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "mine", TemplateID: tpl.ID, TemplateVersionPresetID: preset})
	must(t, err)
	var agent uuid.UUID
	for number := int32(2); number <= 3; number++ {
		if number > 2 {
			_, err = ann.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
			must(t, err)
		}
		b, err := ann.WorkspaceBuildByNumber(ctx, "ann", "mine", number)
		must(t, err)
		follow(t, ann, "/workspacebuilds/"+b.ID.String()+"/logs")
		w = serving(t, ann, w.ID)
		got := w.LatestBuild.Resources[0].Agents[0].ID
		if w.ID != ready.ID || w.LatestBuild.Status != codersdk.WorkspaceStatusFailed || !handedover.Serves(w.LatestBuild) || agent != uuid.Nil && got != agent {
			t.Fatalf("build %d is %s, handed over %t, agent %s, before %s", number, w.LatestBuild.Status, handedover.Serves(w.LatestBuild), got, agent)
		}
		agent = got
	}
	if got := owners(t, marks); got != "prebuilds ann" {
		t.Errorf("the start script ran for %s", got)
	}
	// It can be deleted like any other.
	b, err := ann.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete})
	must(t, err)
	follow(t, ann, "/workspacebuilds/"+b.ID.String()+"/logs")
	if _, err := ann.WorkspaceByOwnerAndName(ctx, "me", "mine", nil); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("got %v", err)
	}
}
