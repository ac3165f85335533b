package servertest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/workspaces"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// often looks after prebuilt workspaces often.
func often(c *server.Config) {
	c.Workspaces.Prebuilds = workspaces.Prebuilds{Interval: 50 * time.Millisecond, Backoff: time.Hour, FailureLimit: 3}
}

// stockVersion imports a version whose preset keeps some workspaces.
func stockVersion(t *testing.T, s *servertest.Server, template uuid.UUID, instances int, files map[string]string) codersdk.TemplateVersion {
	t.Helper()
	all := map[string]string{
		"graph.plan.jsonl": fmt.Sprintf(`{"complete": {"presets": [{"name": "Big", "prebuild": {"instances": %d}}]}}`, instances),
		"graph.state.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "${prebuilt}-${owner}", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "${token}",
			"scripts": [{"displayName": "Start", "script": "echo \"$$ ${owner}\" >> \"$MARKS\"", "runOnStart": true}]}]}]}}`,
	}
	for name, text := range files {
		all[name] = text
	}
	for name := range all {
		all[name] = strings.ReplaceAll(all[name], "\n", "")
	}
	archive, err := echo.Archive(all)
	must(t, err)
	up, err := s.Client.Upload(t.Context(), "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := s.Client.CreateTemplateVersion(t.Context(), "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file", TemplateID: template})
	must(t, err)
	follow(t, s.Client, "/templateversions/"+v.ID.String()+"/logs")
	return v
}

// prebuilt returns the workspaces that nobody took, once fit says that they are
// as they should be.
func prebuilt(t *testing.T, s *servertest.Server, fit func([]codersdk.Workspace) bool) []codersdk.Workspace {
	t.Helper()
	return testwait.Value(t, "the prebuilt workspaces are as expected", func() []codersdk.Workspace {
		out, err := s.Client.Workspaces(t.Context(), url.Values{"q": {"owner:prebuilds"}})
		must(t, err)
		return out.Workspaces
	}, fit, testwait.Every(100*time.Millisecond))
}

// shelved reports whether so many are built.
func shelved(n int) func([]codersdk.Workspace) bool {
	return func(ws []codersdk.Workspace) bool {
		for _, w := range ws {
			if w.LatestBuild.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
				return false
			}
		}
		return len(ws) == n
	}
}

// settled reports whether the agents of a workspace are ready.
func settled(w codersdk.Workspace) bool {
	for _, r := range w.LatestBuild.Resources {
		for _, a := range r.Agents {
			if a.LifecycleState != codersdk.WorkspaceAgentLifecycleReady || a.Status != codersdk.WorkspaceAgentStatusConnected {
				return false
			}
		}
	}
	return w.LatestBuild.Job.Status == codersdk.ProvisionerJobStatusSucceeded && len(w.LatestBuild.Resources) > 0
}

// inside runs the real agent of a workspace until the test ends, and gives the
// file that its start script writes to.
func inside(t *testing.T, s *servertest.Server, workspace uuid.UUID) (marks string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.PostgresURL)
	must(t, err)
	var token uuid.UUID
	must(t, c.QueryRow(t.Context(), `SELECT t.token FROM workspace_agent_tokens t JOIN workspace_agents a ON a.id = t.agent_id WHERE a.current_workspace_id = $1`, workspace).Scan(&token))
	must(t, c.Close(t.Context()))
	marks = filepath.Join(t.TempDir(), "marks")
	a, err := agent.New(agent.Config{
		URL: s.AccessURL(), Token: token.String(), Log: slog.New(slog.DiscardHandler), Env: append(os.Environ(), "HOME="+t.TempDir(), "SHELL=/bin/sh", "MARKS="+marks),
		LogDir: t.TempDir(), ScriptDataDir: t.TempDir(), PingInterval: time.Hour, // so that nothing but the claim has it connect again
	})
	must(t, err)
	must(t, a.Start(t.Context()))
	t.Cleanup(func() { a.Stop(t.Context()) }) //nolint:errcheck // the test is over
	return marks
}

// TestPrebuilds: two workspaces are kept ready; a user takes one, in which the
// same agent goes on for them; another takes its place.
func TestPrebuilds(t *testing.T) {
	s := servertest.Start(t, often)
	ctx, c := t.Context(), s.Client
	v := stockVersion(t, s, uuid.Nil, 2, nil)
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "stock", TemplateVersionID: v.ID})
	must(t, err)
	presets, err := c.TemplateVersionPresets(ctx, v.ID)
	must(t, err)
	if len(presets) != 1 || presets[0].DesiredPrebuildInstances != 2 {
		t.Fatalf("%+v", presets)
	}
	before := prebuilt(t, s, shelved(2))
	marks := map[uuid.UUID]string{}
	for _, w := range before {
		marks[w.ID] = inside(t, s, w.ID)
		if !w.IsPrebuild || w.OwnerName != "prebuilds" || w.LatestBuild.Resources[0].Name != "create-prebuilds" {
			t.Errorf("%s of %s, %s", w.Name, w.OwnerName, w.LatestBuild.Resources[0].Name)
		}
	}
	prebuilt(t, s, func(ws []codersdk.Workspace) bool { return len(ws) == 2 && settled(ws[0]) && settled(ws[1]) })
	notAPerson(t, s)

	// Two users at once get two different ones.
	ann, _ := s.Member(t, "ann")
	bob, _ := s.Member(t, "bob")
	taken := make([]codersdk.Workspace, 2)
	var wait sync.WaitGroup
	for i, who := range []*codersdk.Client{ann, bob} {
		wait.Go(func() {
			var err error
			taken[i], err = who.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "mine", TemplateID: tpl.ID, TemplateVersionPresetID: &presets[0].ID})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for i, who := range []*codersdk.Client{ann, bob} {
		name, w := []string{"ann", "bob"}[i], taken[i]
		if w.OwnerName != name || w.Name != "mine" || w.IsPrebuild || marks[w.ID] == "" || w.LatestBuild.BuildNumber != 2 || w.ID == taken[1-i].ID {
			t.Fatalf("%s has %s/%s, build %d, known %t", name, w.OwnerName, w.Name, w.LatestBuild.BuildNumber, marks[w.ID] != "")
		}
		// The same process is the agent of the next build.
		w = testwait.Value(t, "the claimed workspace is ready", func() codersdk.Workspace {
			now, err := who.Workspace(ctx, w.ID, nil)
			must(t, err)
			return now
		}, settled, testwait.Every(100*time.Millisecond))
		if w.LatestBuild.Resources[0].Name != "claim-"+name {
			t.Errorf("the claim was told %s", w.LatestBuild.Resources[0].Name)
		}
		b, err := os.ReadFile(marks[w.ID])
		must(t, err)
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		if len(lines) != 2 || !strings.HasSuffix(lines[0], " prebuilds") || !strings.HasSuffix(lines[1], " "+name) {
			t.Errorf("its start script ran as %q", lines)
		}
	}
	prebuilt(t, s, func(ws []codersdk.Workspace) bool {
		return shelved(2)(ws) && marks[ws[0].ID] == "" && marks[ws[1].ID] == ""
	})
	if none, err := ann.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "ordinary", TemplateID: tpl.ID, TemplateVersionPresetID: &presets[0].ID}); err != nil || none.LatestBuild.BuildNumber != 1 {
		t.Errorf("build %d, %v", none.LatestBuild.BuildNumber, err)
	}
}

// notAPerson: the account is in no list of users, and nobody can sign in as it.
func notAPerson(t *testing.T, s *servertest.Server) {
	t.Helper()
	ctx, c := t.Context(), s.Client
	users, err := c.Users(ctx, nil)
	must(t, err)
	members, err := c.OrganizationMembers(ctx, "default")
	must(t, err)
	if users.Count != 1 || len(members) != 1 {
		t.Errorf("%d users, %d members; want the owner alone", users.Count, len(members))
	}
	groups, err := c.Groups(ctx, "default")
	must(t, err)
	found := false
	for _, g := range groups {
		if g.Name == "prebuilds" {
			found = true
			if g.QuotaAllowance != 0 || len(g.Members) != 0 || g.TotalMemberCount != 0 {
				t.Errorf("%+v", g)
			}
		}
	}
	if !found {
		t.Error("there is no group of prebuilt workspaces")
	}
	_, err = c.CreateToken(ctx, "prebuilds", codersdk.CreateTokenRequest{})
	refusedBecause(t, err, "is reserved for prebuilt workspaces")
	_, err = c.UpdateUserRoles(ctx, "prebuilds", codersdk.UpdateRoles{Roles: []string{"owner"}})
	refusedBecause(t, err, "is reserved for prebuilt workspaces")
	_, err = c.SuspendUser(ctx, "prebuilds")
	refusedBecause(t, err, "is reserved for prebuilt workspaces")
	refusedBecause(t, c.DeleteUser(ctx, "prebuilds"), "is reserved for prebuilt workspaces")
	refusedBecause(t, c.RemoveOrganizationMember(ctx, "default", "prebuilds"), "is reserved for prebuilt workspaces")
}

func refusedBecause(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want a refusal with %q", err, words)
	}
}

// TestPrebuildsFollowTheirTemplate: another active version, invalidation, a
// pause, and the end of the template.
func TestPrebuildsFollowTheirTemplate(t *testing.T) {
	s := servertest.Start(t, often)
	ctx, c := t.Context(), s.Client
	noAgent := map[string]string{"graph.state.jsonl": `{"complete": {}}`}
	v1 := stockVersion(t, s, uuid.Nil, 2, noAgent)
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "stock", TemplateVersionID: v1.ID})
	must(t, err)
	first := prebuilt(t, s, shelved(2))

	v2 := stockVersion(t, s, tpl.ID, 1, noAgent)
	must(t, c.UpdateActiveTemplateVersion(ctx, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: v2.ID}))
	second := prebuilt(t, s, func(ws []codersdk.Workspace) bool {
		return shelved(1)(ws) && ws[0].LatestBuild.TemplateVersionID == v2.ID
	})
	for _, w := range first {
		if w.ID == second[0].ID {
			t.Error("one of the version before is there still")
		}
	}

	got, err := c.InvalidatePrebuilds(ctx, tpl.ID)
	must(t, err)
	if len(got.Invalidated) != 1 || got.Invalidated[0] != (codersdk.InvalidatedPreset{PresetName: "Big", TemplateName: "stock", TemplateVersionName: v2.Name}) {
		t.Errorf("%+v", got)
	}
	third := prebuilt(t, s, func(ws []codersdk.Workspace) bool { return shelved(1)(ws) && ws[0].ID != second[0].ID })

	must(t, c.UpdatePrebuildsSettings(ctx, codersdk.PrebuildsSettings{ReconciliationPaused: true}))
	must(t, c.UpdatePrebuildsSettings(ctx, codersdk.PrebuildsSettings{ReconciliationPaused: true})) // it is so already
	if now, err := c.PrebuildsSettings(ctx); err != nil || !now.ReconciliationPaused {
		t.Errorf("%+v, %v", now, err)
	}
	ann, _ := s.Member(t, "ann")
	_, err = ann.PrebuildsSettings(ctx)
	refusedBecause(t, err, "do not have permission to read")
	_, err = ann.InvalidatePrebuilds(ctx, tpl.ID)
	refusedBecause(t, err, "do not have permission to update")
	w, err := ann.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "mine", TemplateID: tpl.ID, TemplateVersionPresetID: presetOf(t, c, v2)})
	must(t, err)
	if w.ID != third[0].ID {
		t.Error("while nothing is made, what is ready cannot be claimed")
	}
	if err := c.DeleteTemplate(ctx, tpl.ID); err == nil {
		t.Error("a template with a workspace was deleted")
	}
	follow(t, c, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/logs")
	b, err := ann.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete})
	must(t, err)
	follow(t, c, "/workspacebuilds/"+b.ID.String()+"/logs")
	prebuilt(t, s, shelved(0))
	must(t, c.UpdatePrebuildsSettings(ctx, codersdk.PrebuildsSettings{}))
	prebuilt(t, s, shelved(1))
	must(t, c.DeleteTemplate(ctx, tpl.ID))
	prebuilt(t, s, shelved(0))
}

func presetOf(t *testing.T, c *codersdk.Client, v codersdk.TemplateVersion) *uuid.UUID {
	t.Helper()
	presets, err := c.TemplateVersionPresets(t.Context(), v.ID)
	must(t, err)
	return &presets[0].ID
}

// TestPrebuildsThatFail are made once, and then nothing for long.
func TestPrebuildsThatFail(t *testing.T) {
	s := servertest.Start(t, often)
	ctx, c := t.Context(), s.Client
	v := stockVersion(t, s, uuid.Nil, 2, map[string]string{"apply.start.jsonl": `{"error": "no room"}`})
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "stock", TemplateVersionID: v.ID})
	must(t, err)
	failed := func(ws []codersdk.Workspace) bool {
		return len(ws) == 2 && ws[0].LatestBuild.Job.Status == codersdk.ProvisionerJobStatusFailed && ws[1].LatestBuild.Job.Status == codersdk.ProvisionerJobStatusFailed
	}
	before := prebuilt(t, s, failed)
	good := stockVersion(t, s, tpl.ID, 1, map[string]string{"graph.state.jsonl": `{"complete": {}}`})
	if again := prebuilt(t, s, failed); again[0].ID != before[0].ID || again[1].ID != before[1].ID {
		t.Error("others were made though the first failed")
	}
	must(t, c.UpdateActiveTemplateVersion(ctx, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: good.ID}))
	prebuilt(t, s, func(ws []codersdk.Workspace) bool {
		return shelved(1)(ws) && ws[0].LatestBuild.TemplateVersionID == good.ID
	})
}

// TestPrebuildsAreCheckedAtImport: what a template says and cannot be is its
// import's error.
func TestPrebuildsAreCheckedAtImport(t *testing.T) {
	s := servertest.Start(t, nil)
	v := stockVersion(t, s, uuid.Nil, 0, map[string]string{
		"graph.plan.jsonl": `{"complete": {"presets": [{"name": "Big", "prebuild": {"instances": 1, "scheduling": {"timezone": "UTC", "schedule": [{"cron": "0 8 * * *", "instances": 2}]}}}]}}`,
	})
	v, err := s.Client.TemplateVersion(t.Context(), v.ID)
	must(t, err)
	if v.Job.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(v.Job.Error, `"Big"`) || !strings.Contains(v.Job.Error, "the first field must be *") {
		t.Errorf("%s: %s", v.Job.Status, v.Job.Error)
	}
}
