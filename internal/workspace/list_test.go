package workspace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// names returns the workspaces that a search finds, as owner/name.
func (h *house) names(actor access.Subject, s workspace.Search) string {
	h.t.Helper()
	got, err := h.Workspaces(h.t.Context(), actor, s)
	h.must(err)
	var out []string
	for _, w := range got.Workspaces {
		out = append(out, w.OwnerName+"/"+w.Name)
	}
	if s.Limit == 0 && got.Count != len(out) {
		h.t.Errorf("count %d of %d", got.Count, len(out))
	}
	return strings.Join(out, " ")
}

func TestSearch(t *testing.T) {
	h := open(t)
	dev := h.running(h.ann, "dev")
	gone := h.running(h.ann, "gone")
	h.build(h.ann, gone.ID, remove)
	h.finish(h.acquire(), "")
	stopped := h.running(h.bob, "stopped")
	h.build(h.bob, stopped.ID, stop)
	h.finish(h.acquire(), "")
	other, _ := h.newTemplate("other", spec{parameters: []codersdk.TemplateVersionParameter{{Name: "size", Type: "string", DefaultValue: "m"}}})
	w, err := h.CreateWorkspace(t.Context(), h.bob, uuid.Nil, h.bob.UserID, codersdk.CreateWorkspaceRequest{Name: "waits", TemplateID: other})
	h.must(err)
	h.exec(`UPDATE templates SET active_version_id = $1 WHERE id = $2`, h.newVersion(other, "v2", spec{}), other)
	h.exec(`UPDATE workspaces SET dormant_at = now() WHERE id = $1`, stopped.ID)
	h.exec(`UPDATE workspaces SET last_used_at = '2020-01-01' WHERE id = $1`, w.ID)
	h.exec(`UPDATE workspace_agents SET first_connected_at = now(), last_connected_at = now() WHERE id = $1`, dev.LatestBuild.Resources[0].Agents[0].ID)
	yes, no := true, false
	for _, c := range []struct {
		what string
		s    workspace.Search
		want string
	}{
		{"everything", workspace.Search{}, "ann/dev bob/stopped bob/waits"},
		{"owner", workspace.Search{Owner: "BOB"}, "bob/stopped bob/waits"},
		{"owner by id", workspace.Search{OwnerID: h.ann.UserID}, "ann/dev"},
		{"part of the name", workspace.Search{Name: "E"}, "ann/dev bob/stopped"},
		{"a percent sign is no wildcard", workspace.Search{Name: "%"}, ""},
		{"exact name", workspace.Search{NameExact: "de"}, ""},
		{"template", workspace.Search{Template: "Other"}, "bob/waits"},
		{"template by id", workspace.Search{Template: h.template.String()}, "ann/dev bob/stopped"},
		{"organization", workspace.Search{Organization: "main"}, "ann/dev bob/stopped bob/waits"},
		{"no organization", workspace.Search{Organization: "none"}, ""},
		{"id", workspace.Search{IDs: []uuid.UUID{dev.ID, gone.ID}}, "ann/dev"},
		{"running", workspace.Search{Status: "running"}, "ann/dev"},
		{"stopped", workspace.Search{Status: "stopped"}, "bob/stopped"},
		{"pending", workspace.Search{Status: "pending"}, "bob/waits"},
		{"deleted", workspace.Search{Status: "deleted"}, "ann/gone"},
		{"connected", workspace.Search{AgentStatus: "connected"}, "ann/dev"},
		{"connecting", workspace.Search{AgentStatus: "connecting"}, ""},
		{"healthy", workspace.Search{Healthy: &yes}, "ann/dev"},
		{"unhealthy", workspace.Search{Healthy: &no}, ""},
		{"dormant", workspace.Search{Dormant: &yes}, "bob/stopped"},
		{"not dormant", workspace.Search{Dormant: &no}, "ann/dev bob/waits"},
		{"outdated", workspace.Search{Outdated: &yes}, "bob/waits"},
		{"shared", workspace.Search{Shared: &yes}, ""},
		{"tasks", workspace.Search{HasAITask: &yes}, ""},
		{"external agents", workspace.Search{HasExternalAgent: &no}, "ann/dev bob/stopped bob/waits"},
		{"used before", workspace.Search{LastUsedBefore: new(time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC))}, "bob/waits"},
		{"used after", workspace.Search{LastUsedAfter: new(time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC))}, "ann/dev bob/stopped"},
		{"parameter", workspace.Search{Parameters: []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "m"}}}, "bob/waits"},
		{"other parameter", workspace.Search{Parameters: []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "l"}}}, ""},
		{"two terms", workspace.Search{Owner: "bob", Status: "stopped", Dormant: &yes}, "bob/stopped"},
		{"a page", workspace.Search{Limit: 1, Offset: 1}, "bob/stopped"},
		{"by name, descending", workspace.Search{Sort: "name", Descending: true}, "bob/waits bob/stopped ann/dev"},
		{"by owner, descending", workspace.Search{Sort: "owner", Descending: true}, "bob/stopped bob/waits ann/dev"},
		{"by template, descending", workspace.Search{Sort: "template", Descending: true}, "bob/waits ann/dev bob/stopped"},
		{"by status", workspace.Search{Sort: "status"}, "bob/waits ann/dev bob/stopped"},
		{"by status, descending", workspace.Search{Sort: "status", Descending: true}, "bob/stopped ann/dev bob/waits"},
		{"by last use", workspace.Search{Sort: "last_used", Limit: 1}, "bob/waits"},
		{"by autostop, a page", workspace.Search{Sort: "autostop", Limit: 1, Offset: 2}, "bob/waits"},
	} {
		if got := h.names(h.admin, c.s); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
	h.clock = func() time.Time { return time.Now().Add(codersdk.AgentInactiveTimeout + time.Second) }
	if got := h.names(h.admin, workspace.Search{AgentStatus: "disconnected", Healthy: &no}); got != "ann/dev" {
		t.Errorf("silent agents: %q", got)
	}
	h.clock = time.Now
	h.exec(`UPDATE workspace_agents SET lifecycle_state = 'start_error' WHERE id = $1`, dev.LatestBuild.Resources[0].Agents[0].ID)
	if got := h.names(h.admin, workspace.Search{Status: "running", Healthy: &no}); got != "ann/dev" {
		t.Errorf("failed start scripts: %q", got)
	}
	failed, err := h.Workspaces(t.Context(), h.admin, workspace.Search{Status: "failed", Template: "other", Limit: 1, Sort: "name", Counts: true})
	h.must(err)
	want := []codersdk.WorkspaceCount{
		{Status: "running", TemplateName: "docker", Unhealthy: true, Count: 1},
		{Status: "stopped", TemplateName: "docker", Dormant: true, Count: 1},
		{Status: "pending", TemplateName: "other", Outdated: true, Count: 1},
	}
	if !slices.Equal(failed.Counts, want) {
		t.Errorf("counts: %+v", failed.Counts)
	}
	if others, err := h.Workspaces(t.Context(), h.bob, workspace.Search{Owner: "ann", Counts: true}); err != nil || len(others.Counts) > 0 {
		t.Errorf("counts of others' workspaces: %+v, %v", others.Counts, err)
	}
	last, err := h.Workspaces(t.Context(), h.admin, workspace.Search{Limit: 5, Offset: 9})
	if err != nil || last.Count != 3 || len(last.Workspaces) != 0 {
		t.Errorf("behind the last page: %d, %v", last.Count, err)
	}
}

func TestWhoSeesWhat(t *testing.T) {
	h := open(t)
	mine := h.create(h.ann, "mine")
	yours := h.create(h.bob, "yours")
	if got := h.names(h.ann, workspace.Search{}); got != "ann/mine" {
		t.Errorf("ann sees %q", got)
	}
	h.must(h.FavoriteWorkspace(t.Context(), h.admin, yours.ID, true))
	if got := h.names(h.admin, workspace.Search{}); got != "bob/yours ann/mine" {
		t.Errorf("favorites first: %q", got)
	}
	if got := h.names(h.bob, workspace.Search{}); got != "bob/yours" || h.get(h.bob, yours.ID).Favorite {
		t.Errorf("favorites are one's own: %q", got)
	}
	h.must(h.FavoriteWorkspace(t.Context(), h.admin, yours.ID, false))
	wantCode(t, h.FavoriteWorkspace(t.Context(), h.ann, yours.ID, true), codersdk.CodeNotFound)
	h.exec(`UPDATE workspaces SET user_acl = jsonb_build_object($1::text, 'use') WHERE id = $2`, h.ann.UserID.String(), yours.ID)
	if got := h.names(h.ann, workspace.Search{}); got != "ann/mine bob/yours" {
		t.Errorf("ann sees %q of what is shared with her", got)
	}
	outsider := h.ann
	outsider.OrganizationRoles = nil
	if got := h.names(outsider, workspace.Search{}); got != "" {
		t.Errorf("who left the organization sees %q", got)
	}
	narrow := h.admin
	narrow.Scopes = []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderAll}
	narrow.AllowList = []codersdk.APIAllowListTarget{{Type: codersdk.RBACResourceWorkspace, ID: mine.ID.String()}}
	if got := h.names(narrow, workspace.Search{}); got != "ann/mine" {
		t.Errorf("a token for one workspace sees %q", got)
	}
}

func TestPagesOfBuilds(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	for range 4 {
		h.build(h.ann, w.ID, start)
		h.finish(h.acquire(), "")
	}
	numbers := func(p workspace.Page) string {
		t.Helper()
		bs, err := h.Builds(t.Context(), h.ann, w.ID, p)
		h.must(err)
		out := ""
		for _, b := range bs {
			out += fmt.Sprint(b.BuildNumber)
		}
		return out
	}
	third, err := h.BuildByNumber(t.Context(), h.ann, h.ann.UserID, "DEV", 3)
	h.must(err)
	for want, p := range map[string]workspace.Page{
		"54321": {}, "54": {Limit: 2}, "32": {Limit: 2, Offset: 2}, "21": {After: third.ID}, "54 ": {Since: third.CreatedAt},
	} {
		if got := numbers(p); got != strings.TrimSpace(want) {
			t.Errorf("%+v: %s, want %s", p, got, want)
		}
	}
	_, err = h.Builds(t.Context(), h.ann, w.ID, workspace.Page{After: uuid.New()})
	wantCode(t, err, codersdk.CodeInvalid)
	_, err = h.BuildByNumber(t.Context(), h.ann, h.ann.UserID, "dev", 9)
	wantCode(t, err, codersdk.CodeNotFound)
	_, err = h.Builds(t.Context(), h.bob, w.ID, workspace.Page{})
	wantCode(t, err, codersdk.CodeNotFound)
}

func TestWatch(t *testing.T) {
	h := open(t)
	w := h.create(h.ann, "dev")
	wantCode(t, h.Watch(t.Context(), h.bob, w.ID, nil), codersdk.CodeNotFound)
	done := errors.New("seen enough")
	seen := make(chan codersdk.Workspace, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- h.Watch(t.Context(), h.ann, w.ID, func(m json.RawMessage) error {
			var w codersdk.Workspace
			if err := json.Unmarshal(m, &w); err != nil {
				return err
			}
			seen <- w
			if w.LatestBuild.Status == codersdk.WorkspaceStatusRunning {
				return done
			}
			return nil
		})
	}()
	wait := func(s codersdk.WorkspaceStatus) {
		t.Helper()
		for {
			select {
			case w := <-seen:
				if w.LatestBuild.Status == s {
					return
				}
			case <-time.After(testwait.Limit):
				t.Fatalf("nothing told that the workspace is %s", s)
			}
		}
	}
	wait(codersdk.WorkspaceStatusPending)
	a := h.acquire()
	wait(codersdk.WorkspaceStatusStarting)
	h.finish(a, "", agentResource("main"))
	wait(codersdk.WorkspaceStatusRunning)
	if err := <-ended; !errors.Is(err, done) {
		t.Errorf("the watch ended with %v", err)
	}
}

// TestWatchWithoutHints changes a workspace without a hint to the watchers.
func TestWatchWithoutHints(t *testing.T) {
	h := open(t, func(c *workspace.Config) { c.WatchPoll = 10 * time.Millisecond })
	w := h.running(h.ann, "dev")
	done := errors.New("seen enough")
	calls := 0
	err := h.Watch(t.Context(), h.ann, w.ID, func(m json.RawMessage) error {
		if calls++; calls == 1 {
			h.exec(`UPDATE workspaces SET name = 'changed'`)
			return nil
		}
		if !strings.Contains(string(m), `"name":"changed"`) {
			t.Errorf("call %d brings nothing new", calls)
		}
		return done
	})
	if !errors.Is(err, done) || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
	first := true
	err = h.Watch(t.Context(), h.ann, w.ID, func(json.RawMessage) error {
		if !first {
			return done
		}
		first = false
		h.exec(`UPDATE workspaces SET owner_id = $1`, h.bob.UserID)
		return nil
	})
	wantCode(t, err, codersdk.CodeNotFound) // she may no longer see it
}

// seed makes 10,000 running workspaces of a hundred owners.
func seed(h *house) {
	h.t.Helper()
	h.exec(`
		WITH people AS (
			INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
			SELECT gen_random_uuid(), 'u' || n, 'user' || n, 'password', 'active', now(), now() FROM generate_series(1, 99) n RETURNING id
		), owners AS (SELECT id FROM people UNION ALL SELECT $1::uuid),
		made AS (
			INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
			SELECT gen_random_uuid(), $2, o.id, $3, 'w' || n, now(), now(), now() FROM owners o, generate_series(1, 100) n RETURNING id
		), jobs AS (
			INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at)
			SELECT id, $2, $1, 'workspace_build', 'echo', (SELECT min(id) FROM job_tag_sets), $4, '{}', now(), now(), now() FROM made RETURNING id
		), builds AS (
			INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
			SELECT id, id, $5, 1, 'start', $1, 'initiator', id, now(), now() FROM jobs RETURNING id
		), resources AS (
			INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at)
			SELECT id, id, 'start', 'container', 'dev', now() FROM builds RETURNING id
		)
		INSERT INTO workspace_agents (id, resource_id, name, token, operating_system, architecture, created_at, updated_at)
		SELECT id, id, 'main', id, 'linux', 'amd64', now(), now() FROM resources`, h.ann.UserID, h.org, h.template, h.file, h.version)
	h.exec(`ANALYZE`)
}

// BenchmarkWorkspaces lists 50 of 10,000 workspaces, as their administrator
// and as an owner of a hundred.
func BenchmarkWorkspaces(b *testing.B) {
	h := open(b)
	seed(h)
	for name, c := range map[string]struct {
		actor access.Subject
		s     workspace.Search
	}{
		"all":     {h.admin, workspace.Search{Limit: 50}},
		"own":     {h.ann, workspace.Search{Limit: 50, OwnerID: h.ann.UserID}},
		"running": {h.admin, workspace.Search{Limit: 50, Status: codersdk.WorkspaceStatusRunning}},
		"agents":  {h.admin, workspace.Search{Limit: 50, AgentStatus: codersdk.WorkspaceAgentStatusConnecting}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				got, err := h.Workspaces(b.Context(), c.actor, c.s)
				if err != nil || len(got.Workspaces) != 50 {
					b.Fatal(len(got.Workspaces), err)
				}
			}
		})
	}
}

// TestJobsOfStatuses: a search for a status finds those builds that have it,
// for each transition and each state of a job.
func TestJobsOfStatuses(t *testing.T) {
	for _, tr := range []codersdk.WorkspaceTransition{codersdk.WorkspaceTransitionStart, codersdk.WorkspaceTransitionStop, codersdk.WorkspaceTransitionDelete} {
		for _, j := range []codersdk.ProvisionerJobStatus{
			codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning, codersdk.ProvisionerJobStatusSucceeded,
			codersdk.ProvisionerJobStatusCanceling, codersdk.ProvisionerJobStatusCanceled, codersdk.ProvisionerJobStatusFailed,
		} {
			for _, status := range []codersdk.WorkspaceStatus{
				codersdk.WorkspaceStatusPending, codersdk.WorkspaceStatusStarting, codersdk.WorkspaceStatusRunning, codersdk.WorkspaceStatusStopping,
				codersdk.WorkspaceStatusStopped, codersdk.WorkspaceStatusFailed, codersdk.WorkspaceStatusCanceling, codersdk.WorkspaceStatusCanceled,
				codersdk.WorkspaceStatusDeleting, codersdk.WorkspaceStatusDeleted,
			} {
				transitions, jobs := workspace.JobsOf(status)
				found := slices.Contains(transitions, string(tr)) && slices.Contains(jobs, string(j))
				if has := codersdk.NewWorkspaceStatus(tr, j) == status; found != has {
					t.Errorf("%s %s is found as %s: %v", tr, j, status, found)
				}
			}
		}
	}
}
