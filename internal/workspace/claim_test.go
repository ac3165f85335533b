package workspace_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// stocked is a house with a template whose preset keeps some ready.
type stocked struct {
	*house
	preset uuid.UUID
}

func stock(t testing.TB, parameters ...codersdk.TemplateVersionParameter) stocked {
	h := stocked{open(t), uuid.New()}
	size := codersdk.TemplateVersionParameter{Name: "size", Type: codersdk.ParameterTypeString, Mutable: true, DefaultValue: "small"}
	h.template, h.version = h.newTemplate("stocked", spec{parameters: append(parameters, size), presets: []codersdk.StoredPreset{
		{ID: h.preset, Name: "Big", Parameters: []codersdk.PresetParameter{{Name: "size", Value: "big"}}, Prebuilds: &codersdk.PresetPrebuilds{Instances: 1}},
	}})
	h.exec(`INSERT INTO users (id, email, username, login_type, status, is_system, created_at, updated_at) VALUES ($1, 'p@localhost', 'prebuilds', 'none', 'active', true, now(), now())`, codersdk.PrebuildsUserID())
	h.exec(`INSERT INTO organization_members (organization_id, user_id, created_at, updated_at) VALUES ($1, $2, now(), now())`, h.org, codersdk.PrebuildsUserID())
	return h
}

// prebuild makes a workspace for nobody and leaves its build waiting.
func (h stocked) prebuild() uuid.UUID {
	h.t.Helper()
	id, err := h.Prebuild(h.t.Context(), h.version, h.preset, func(context.Context, *sqlc.Queries) (bool, error) { return true, nil })
	h.must(err)
	return id
}

// shelve makes one that is ready.
func (h stocked) shelve() uuid.UUID {
	h.t.Helper()
	id := h.prebuild()
	h.finish(h.acquire(), "state", free())
	h.ready(id)
	return id
}

// free is what costs nothing.
func free() *provisioner.Resource {
	r := agentResource("main")
	r.DailyCost = 0
	return r
}

func (h stocked) ready(id uuid.UUID) {
	h.exec(`UPDATE workspace_agents SET lifecycle_state = 'ready', first_connected_at = now(), last_connected_at = now() WHERE current_workspace_id = $1`, id)
}

func (h stocked) ask(who access.Subject, name string) (codersdk.Workspace, error) {
	return h.CreateWorkspace(h.t.Context(), who, uuid.Nil, who.UserID, codersdk.CreateWorkspaceRequest{Name: name, TemplateID: h.template, TemplateVersionPresetID: &h.preset})
}

func (h stocked) asked(who access.Subject, name string) codersdk.Workspace {
	h.t.Helper()
	w, err := h.ask(who, name)
	h.must(err)
	return w
}

func metadataOf(a *provisionerd.AcquiredJob) *provisioner.Metadata {
	return a.GetWorkspaceBuild().GetMetadata()
}

func TestClaim(t *testing.T) {
	h := stock(t)
	id := h.prebuild()
	a := h.acquire()
	if m := metadataOf(a); m.PrebuiltWorkspaceBuildStage != provisioner.PrebuiltWorkspaceBuildStage_CREATE || m.WorkspaceOwner != "prebuilds" || m.WorkspaceOwnerSessionToken != "" {
		t.Errorf("the first build is told %v", m)
	}
	r := free()
	token := r.Agents[0].GetToken()
	h.finish(a, "state", r)
	if w := h.get(h.admin, id); !w.IsPrebuild || w.OwnerName != "prebuilds" {
		t.Errorf("%+v", w)
	}

	if w := h.asked(h.bob, "early"); w.ID == id {
		t.Fatal("one whose agent is not ready was claimed")
	}
	h.finish(h.acquire(), "ordinary")
	h.ready(id)
	w := h.asked(h.ann, "mine")
	if w.ID != id || w.Name != "mine" || w.OwnerID != h.ann.UserID || w.IsPrebuild || w.LatestBuild.BuildNumber != 2 || w.LatestBuild.InitiatorID != h.ann.UserID {
		t.Errorf("%+v", w)
	}
	a = h.acquire()
	m := metadataOf(a)
	if m.PrebuiltWorkspaceBuildStage != provisioner.PrebuiltWorkspaceBuildStage_CLAIM || m.WorkspaceOwner != "ann" || m.WorkspaceName != "mine" || m.WorkspaceOwnerSessionToken == "" ||
		len(m.RunningAgentAuthTokens) != 1 || m.RunningAgentAuthTokens[0].Token != token || string(a.GetWorkspaceBuild().State) != "state" {
		t.Errorf("the claim is told %v", m)
	}
	// A claim that fails is tried again as one.
	h.fail(a, "state 2")
	h.build(h.ann, id, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	a = h.acquire()
	if m := metadataOf(a); m.PrebuiltWorkspaceBuildStage != provisioner.PrebuiltWorkspaceBuildStage_CLAIM || len(m.RunningAgentAuthTokens) != 1 {
		t.Errorf("the second try is told %v", m)
	}
	h.finish(a, "state 3")
	h.build(h.ann, id, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	if m := metadataOf(h.acquire()); m.PrebuiltWorkspaceBuildStage != provisioner.PrebuiltWorkspaceBuildStage_NONE || len(m.RunningAgentAuthTokens) != 0 {
		t.Errorf("a start after it is told %v", m)
	}
}

// TestClaimAtOnce: of many who ask each gets another one, and those for whom
// none is left make their own.
func TestClaimAtOnce(t *testing.T) {
	h := stock(t)
	for range 3 {
		h.shelve()
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	seen, claimed := map[uuid.UUID]bool{}, 0
	for i := range 8 {
		wait.Go(func() {
			w, err := h.ask(h.ann, "w"+string(rune('a'+i)))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[w.ID] {
				t.Errorf("two got %s", w.ID)
			}
			seen[w.ID] = true
			if w.LatestBuild.BuildNumber == 2 {
				claimed++
			}
		})
	}
	wait.Wait()
	if claimed != 3 || len(seen) != 8 {
		t.Errorf("%d of %d were claimed, want 3 of 8", claimed, len(seen))
	}
}

// TestClaimOrDelete: what is claimed is not deleted by the server, and what is
// deleted is not claimed.
func TestClaimOrDelete(t *testing.T) {
	h := stock(t)
	for i := range 8 {
		id := h.shelve()
		var wait sync.WaitGroup
		var w codersdk.Workspace
		var deleted uuid.UUID
		wait.Go(func() {
			var err error
			if w, err = h.ask(h.ann, "w"+string(rune('a'+i))); err != nil {
				t.Error(err)
			}
		})
		wait.Go(func() {
			var err error
			deleted, err = h.BuildAutomatically(t.Context(), id, codersdk.WorkspaceTransitionDelete, codersdk.BuildReasonInitiator,
				func(_ context.Context, _ *sqlc.Queries, w sqlc.Workspace, _ sqlc.BuildLatestRow) (bool, error) {
					return w.OwnerID == codersdk.PrebuildsUserID(), nil
				})
			if err != nil {
				t.Error(err)
			}
		})
		wait.Wait()
		if claimed, deleted := w.ID == id, deleted != uuid.Nil; claimed == deleted {
			t.Fatalf("claimed: %t, deleted: %t; want exactly one", claimed, deleted)
		}
		h.finish(h.acquire(), "x")
		if deleted != uuid.Nil {
			h.finish(h.acquire(), "x")
		}
		h.exec(`UPDATE workspaces SET deleted_at = now() WHERE id = $1 AND deleted_at IS NULL`, id)
	}
}

func TestClaimRefusals(t *testing.T) {
	h := stock(t, codersdk.TemplateVersionParameter{Name: "region", Type: codersdk.ParameterTypeString, DefaultValue: "eu"})
	id := h.shelve()
	ask := func(name string, values ...codersdk.WorkspaceBuildParameter) codersdk.Workspace {
		t.Helper()
		w, err := h.CreateWorkspace(t.Context(), h.ann, uuid.Nil, h.ann.UserID, codersdk.CreateWorkspaceRequest{Name: name, TemplateID: h.template, RichParameterValues: values})
		h.must(err)
		return w
	}
	if w := ask("small"); w.ID == id {
		t.Error("values that fit no preset claimed one")
	}
	if w := ask("elsewhere", codersdk.WorkspaceBuildParameter{Name: "size", Value: "big"}, codersdk.WorkspaceBuildParameter{Name: "region", Value: "us"}); w.ID == id {
		t.Error("what cannot be changed later was changed by a claim")
	}
	h.finish(h.acquire(), "x")
	h.finish(h.acquire(), "x")

	// What it costs must be within the budget.
	h.exec(`UPDATE workspace_builds SET daily_cost = 3 WHERE workspace_id = $1`, id)
	if w := h.asked(h.bob, "dear"); w.ID == id {
		t.Error("one that is too dear was claimed")
	}
	h.finish(h.acquire(), "x")
	h.exec(`UPDATE workspace_builds SET daily_cost = 0 WHERE workspace_id = $1`, id)

	// A name that is taken is refused, and the workspace stays where it is.
	_, err := h.ask(h.ann, "small")
	wantCode(t, err, codersdk.CodeConflict)
	if w := h.get(h.admin, id); !w.IsPrebuild {
		t.Error("a claim that was refused changed the owner")
	}
	for _, sql := range []string{
		`UPDATE workspace_agents SET lifecycle_state = 'start_error' WHERE current_workspace_id = $1`,
		`UPDATE workspace_agents SET disconnected_at = now() WHERE current_workspace_id = $1`,
		`UPDATE workspace_agents SET last_connected_at = now() - interval '1 minute' WHERE current_workspace_id = $1`,
		`INSERT INTO template_prebuilds (template_id, invalidated_at) SELECT template_id, now() FROM workspaces WHERE id = $1`,
	} {
		h.exec(sql, id)
		if w := h.asked(h.bob, "b"+uuid.NewString()[:8]); w.ID == id {
			t.Errorf("claimed in spite of: %s", sql)
		}
		h.finish(h.acquire(), "x")
		h.ready(id)
		h.exec(`UPDATE workspace_agents SET disconnected_at = NULL`)
	}
	h.exec(`DELETE FROM template_prebuilds`)

	// Values that come to the same as the preset claim it, and it can be asked for others.
	w := ask("fits", codersdk.WorkspaceBuildParameter{Name: "size", Value: "big"})
	if w.ID != id || w.LatestBuild.TemplateVersionPresetID == nil || *w.LatestBuild.TemplateVersionPresetID != h.preset {
		t.Errorf("%+v", w.LatestBuild)
	}
	if n := h.count(`SELECT count(*) FROM audit_logs WHERE resource_id = $1 AND user_id = $2 AND action = 'create' AND additional_fields->>'prebuilt' = 'true'`, id, h.ann.UserID); n != 1 {
		t.Errorf("%d rows in the audit log", n)
	}
}

// TestClaimAcrossVersions: one of another version is not what is asked for.
func TestClaimAcrossVersions(t *testing.T) {
	h := stock(t)
	id := h.shelve()
	v2 := h.newVersion(h.template, "v2", spec{presets: []codersdk.StoredPreset{{ID: uuid.New(), Name: "Big", Prebuilds: &codersdk.PresetPrebuilds{Instances: 1}}}})
	h.exec(`UPDATE templates SET active_version_id = $1 WHERE id = $2`, v2, h.template)
	_, err := h.ask(h.ann, "mine")
	wantCode(t, err, codersdk.CodeInvalid) // the preset is of the version before
	w, err := h.CreateWorkspace(t.Context(), h.ann, uuid.Nil, h.ann.UserID, codersdk.CreateWorkspaceRequest{Name: "mine", TemplateID: h.template})
	if err != nil || w.ID == id {
		t.Errorf("%v, %v", w.ID == id, err)
	}
}

// TestWhoMayChangePrebuilt: the permission for prebuilt workspaces is enough for
// those that nobody has claimed, and for no others.
func TestWhoMayChangePrebuilt(t *testing.T) {
	h := stock(t)
	id := h.shelve()
	keeper := h.user("keeper", access.RoleTemplateAdmin)
	keeper.SiteRoles = []string{access.RoleTemplateAdmin}
	if _, err := h.CreateWorkspaceBuild(t.Context(), h.bob, id, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete}); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a member: %v", err)
	}
	h.build(keeper, id, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	h.finish(h.acquire(), "stopped")
	if w := h.asked(h.bob, "own"); w.ID == id {
		t.Error("a stopped one was claimed")
	}
	h.finish(h.acquire(), "x")
	h.build(keeper, id, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	h.finish(h.acquire(), "started", free())
	h.ready(id)
	if w := h.asked(h.ann, "mine"); w.ID != id {
		t.Error("one that was started again is not claimed")
	}
	if m := metadataOf(h.acquire()); m.PrebuiltWorkspaceBuildStage != provisioner.PrebuiltWorkspaceBuildStage_CLAIM || len(m.RunningAgentAuthTokens) != 1 {
		t.Errorf("its claim is told %v", m)
	}
	_, err := h.CreateWorkspaceBuild(t.Context(), keeper, id, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete})
	wantCode(t, err, codersdk.CodeForbidden)
}

// TestPeopleFirst: builds of prebuilds wait for those of users, and state it.
func TestPeopleFirst(t *testing.T) {
	h := stock(t)
	id := h.prebuild()
	h.create(h.bob, "his")
	x, err := h.queue.Explain(t.Context(), access.System(), h.org, h.get(h.admin, id).LatestBuild.Job.ID)
	h.must(err)
	if x.QueuePosition != 2 || !strings.Contains(x.Summary, "builds that people asked for go first") {
		t.Errorf("%d: %s", x.QueuePosition, x.Summary)
	}
	if a := h.acquire(); a.GetWorkspaceBuild().GetWorkspaceName() != "his" {
		t.Errorf("first went %q", a.GetWorkspaceBuild().GetWorkspaceName())
	}
}
