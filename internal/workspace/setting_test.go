package workspace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

func TestCreateRequestsThatAreRefused(t *testing.T) {
	h := open(t)
	ctx := t.Context()
	h.create(h.ann, "Taken")
	stranger := h.user("stranger")
	h.exec(`DELETE FROM organization_members WHERE user_id = $1`, stranger.UserID)
	old, _ := h.newTemplate("old", spec{})
	h.exec(`UPDATE templates SET deprecation_message = 'use docker' WHERE id = $1`, old)
	private, _ := h.newTemplate("private", spec{})
	h.exec(`UPDATE templates SET group_acl = '{}' WHERE id = $1`, private)
	archived := h.newVersion(h.template, "archived", spec{})
	h.exec(`UPDATE template_versions SET archived = true WHERE id = $1`, archived)
	importing := h.newVersion(h.template, "importing", spec{unfinished: true})
	needs, _ := h.newTemplate("needs", spec{parameters: []codersdk.TemplateVersionParameter{{Name: "size", Type: "string", Required: true}}})
	strict, _ := h.newTemplate("strict", spec{})
	h.exec(`UPDATE templates SET allow_user_autostart = false, allow_user_autostop = false WHERE id = $1`, strict)
	type req = codersdk.CreateWorkspaceRequest
	for name, c := range map[string]struct {
		req  req
		code codersdk.Code
		says string
	}{
		"no name":          {req{TemplateID: h.template}, codersdk.CodeInvalid, "name is required"},
		"bad name":         {req{TemplateID: h.template, Name: "a_b"}, codersdk.CodeInvalid, "letters"},
		"reserved name":    {req{TemplateID: h.template, Name: "New"}, codersdk.CodeInvalid, "reserved"},
		"taken name":       {req{TemplateID: h.template, Name: "tAKEN"}, codersdk.CodeConflict, "\"tAKEN\" already exists as a workspace of this owner"},
		"no template":      {req{Name: "x"}, codersdk.CodeInvalid, "either"},
		"two templates":    {req{Name: "x", TemplateID: h.template, TemplateVersionID: h.version}, codersdk.CodeInvalid, "either"},
		"unknown template": {req{Name: "x", TemplateID: uuid.New()}, codersdk.CodeInvalid, "template not found"},
		"unknown version":  {req{Name: "x", TemplateVersionID: uuid.New()}, codersdk.CodeInvalid, "template version not found"},
		"private template": {req{Name: "x", TemplateID: private}, codersdk.CodeInvalid, "do not have access to it"},
		"deprecated":       {req{Name: "x", TemplateID: old}, codersdk.CodeInvalid, "use docker"},
		"archived version": {req{Name: "x", TemplateVersionID: archived}, codersdk.CodeInvalid, "archived"},
		"importing":        {req{Name: "x", TemplateVersionID: importing}, codersdk.CodePrecondition, "still being imported"},
		"lacks parameter":  {req{Name: "x", TemplateID: needs}, codersdk.CodeInvalid, "size"},
		"bad schedule":     {req{Name: "x", TemplateID: h.template, AutostartSchedule: new("@daily")}, codersdk.CodeInvalid, "five cron fields"},
		"no schedules":     {req{Name: "x", TemplateID: strict, AutostartSchedule: new("0 9 * * *")}, codersdk.CodeInvalid, "does not allow autostart"},
		"short ttl":        {req{Name: "x", TemplateID: h.template, TTLMS: new(int64(59_999))}, codersdk.CodeInvalid, "one minute"},
		"no ttls":          {req{Name: "x", TemplateID: strict, TTLMS: new(int64(60_000))}, codersdk.CodeInvalid, "does not allow changes"},
		"updates":          {req{Name: "x", TemplateID: h.template, AutomaticUpdates: "maybe"}, codersdk.CodeInvalid, "always or never"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.CreateWorkspace(ctx, h.ann, uuid.Nil, h.ann.UserID, c.req)
			wantCode(t, err, c.code)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
	ok := req{Name: "x", TemplateID: h.template}
	_, err := h.CreateWorkspace(ctx, h.bob, uuid.Nil, h.ann.UserID, ok)
	wantCode(t, err, codersdk.CodeForbidden)
	_, err = h.CreateWorkspace(ctx, h.admin, uuid.Nil, stranger.UserID, ok)
	wantCode(t, err, codersdk.CodeForbidden)
	_, err = h.CreateWorkspace(ctx, h.ann, uuid.New(), h.ann.UserID, ok)
	wantCode(t, err, codersdk.CodeInvalid)
	got, err := h.Workspaces(ctx, h.admin, workspace.Search{})
	h.must(err)
	if got.Count != 1 {
		t.Errorf("refused requests left %d workspaces", got.Count-1)
	}
	_, err = h.CreateWorkspace(ctx, h.admin, h.org, h.ann.UserID, ok)
	h.must(err)
}

func TestTagsOfABuild(t *testing.T) {
	h := open(t)
	template, _ := h.newTemplate("tagged", spec{
		parameters: []codersdk.TemplateVersionParameter{{Name: "zone", Type: "string", DefaultValue: "eu", Mutable: true}},
		variables:  []codersdk.TemplateVersionVariable{{Name: "kind", Type: "string", Value: "metal"}},
		tags:       codersdk.Tags{"cluster": "a", "zone": "none"},
		workspaceTags: map[string]string{
			"zone": `data.coder_parameter.zone.value`, "kind": `"bare-${var.kind}"`,
		},
	})
	w, err := h.CreateWorkspace(t.Context(), h.ann, uuid.Nil, h.ann.UserID, codersdk.CreateWorkspaceRequest{
		Name: "x", TemplateID: template, RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "zone", Value: "us"}},
	})
	h.must(err)
	want := codersdk.Tags{"cluster": "a", "zone": "us", "kind": "bare-metal", "scope": "organization", "owner": ""}
	if got := codersdk.Tags(w.LatestBuild.Job.Tags); got.Key() != want.Key() {
		t.Errorf("tags %v, want %v", got, want)
	}
	if m := w.LatestBuild.MatchedProvisioners; m == nil || m.Count != 0 {
		t.Errorf("no provisioner has these tags, but %+v match", m)
	}
}

func TestVersionsOfBuilds(t *testing.T) {
	h := open(t)
	ctx := t.Context()
	w := h.running(h.ann, "dev")
	second := h.newVersion(h.template, "v2", spec{parameters: []codersdk.TemplateVersionParameter{{Name: "size", Type: "string", Required: true}}})
	h.exec(`UPDATE templates SET active_version_id = $1`, second)
	if !h.get(h.ann, w.ID).Outdated {
		t.Error("a workspace of an old version is not outdated")
	}
	mismatch := func() bool {
		t.Helper()
		r, err := h.ResolveAutostart(ctx, h.ann, w.ID)
		h.must(err)
		return r.ParameterMismatch
	}
	if mismatch() {
		t.Error("a workspace that stays with its version has no mismatch")
	}
	b := h.build(h.ann, w.ID, start)
	if b.TemplateVersionID != h.version {
		t.Error("a start moved to another version by itself")
	}
	h.finish(h.acquire(), "")
	h.must(h.UpdateWorkspaceAutomaticUpdates(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceAutomaticUpdatesRequest{AutomaticUpdates: "always"}))
	if !mismatch() {
		t.Error("a required parameter without a value is no mismatch")
	}
	_, err := h.CreateWorkspaceBuild(ctx, h.ann, w.ID, start)
	wantCode(t, err, codersdk.CodeInvalid)
	withSize := codersdk.CreateWorkspaceBuildRequest{Transition: "start", RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "m"}}}
	if b := h.build(h.ann, w.ID, withSize); b.TemplateVersionID != second {
		t.Error("a workspace that follows the active version did not")
	}
	h.finish(h.acquire(), "")
	if mismatch() {
		t.Error("still a mismatch")
	}
	h.must(h.UpdateWorkspaceAutomaticUpdates(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceAutomaticUpdatesRequest{AutomaticUpdates: "never"}))
	h.exec(`UPDATE templates SET require_active_version = true`)
	back := codersdk.CreateWorkspaceBuildRequest{Transition: "start", TemplateVersionID: h.version}
	_, err = h.CreateWorkspaceBuild(ctx, h.ann, w.ID, back)
	wantCode(t, err, codersdk.CodeForbidden)
	if b := h.build(h.admin, w.ID, back); b.TemplateVersionID != h.version {
		t.Error("an administrator may choose the version")
	}
	h.finish(h.acquire(), "")
	if b := h.build(h.ann, w.ID, stop); b.TemplateVersionID != h.version {
		t.Error("a stop moved to another version")
	}
}

func TestRename(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	ctx := t.Context()
	h.must(h.UpdateWorkspace(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceRequest{Name: "dev"}))
	wantCode(t, h.UpdateWorkspace(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceRequest{Name: "other"}), codersdk.CodeInvalid)
	if h.get(h.ann, w.ID).AllowRenames {
		t.Error("the workspace says that it can be renamed")
	}

	h = open(t, func(c *workspace.Config) { c.AllowRenames = true })
	w = h.running(h.ann, "dev")
	h.create(h.ann, "taken")
	h.create(h.bob, "free")
	wantCode(t, h.UpdateWorkspace(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceRequest{Name: "no_good"}), codersdk.CodeInvalid)
	wantCode(t, h.UpdateWorkspace(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceRequest{Name: "Taken"}), codersdk.CodeConflict)
	wantCode(t, h.UpdateWorkspace(ctx, h.bob, w.ID, codersdk.UpdateWorkspaceRequest{Name: "mine"}), codersdk.CodeNotFound)
	h.must(h.UpdateWorkspace(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceRequest{Name: "free"}))
	if got, err := h.WorkspaceByOwnerAndName(ctx, h.ann, h.ann.UserID, "FREE", false); err != nil || got.ID != w.ID {
		t.Errorf("not found under its new name: %v", err)
	}
	var n int
	h.must(h.store.Pool().QueryRow(ctx, `SELECT count(*) FROM audit_logs WHERE action = 'write' AND diff -> 'name' ->> 'new' = 'free'`).Scan(&n))
	if n != 1 {
		t.Errorf("%d audit rows tell of the renaming", n)
	}
}

func TestSettings(t *testing.T) {
	h := open(t)
	ctx := t.Context()
	now := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC) // a Friday
	h.clock = func() time.Time { return now }
	w := h.running(h.ann, "dev")
	h.exec(`UPDATE templates SET autostart_days = '{monday,tuesday}', time_til_dormant_autodelete_ms = 3600000`)
	h.must(h.UpdateWorkspaceAutostart(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceAutostartRequest{Schedule: new("CRON_TZ=Europe/Lisbon 30 9 * * 1-5")}))
	got := h.get(h.ann, w.ID)
	if want := time.Date(2026, 3, 9, 9, 30, 0, 0, time.UTC); got.NextStartAt == nil || !got.NextStartAt.Equal(want) {
		t.Errorf("next start %v, want %v", got.NextStartAt, want)
	}
	h.must(h.UpdateWorkspaceAutostart(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceAutostartRequest{}))
	if got = h.get(h.ann, w.ID); got.AutostartSchedule != nil || got.NextStartAt != nil {
		t.Errorf("the schedule was not cleared: %v", got.AutostartSchedule)
	}
	h.must(h.UpdateWorkspaceTTL(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceTTLRequest{TTLMS: new(int64(60_000))}))
	wantCode(t, h.UpdateWorkspaceTTL(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceTTLRequest{TTLMS: new(int64(-1))}), codersdk.CodeInvalid)
	wantCode(t, h.UpdateWorkspaceTTL(ctx, h.bob, w.ID, codersdk.UpdateWorkspaceTTLRequest{}), codersdk.CodeNotFound)
	if got = h.get(h.ann, w.ID); *got.TTLMS != 60_000 || got.LatestBuild.Deadline != nil {
		t.Errorf("ttl %v; the running build's deadline is %v", *got.TTLMS, got.LatestBuild.Deadline)
	}
	got, err := h.UpdateWorkspaceDormancy(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceDormancy{Dormant: true})
	h.must(err)
	if got.DormantAt == nil || got.DeletingAt == nil || !got.DeletingAt.Equal(now.Add(time.Hour)) {
		t.Errorf("dormant %v, deleting %v", got.DormantAt, got.DeletingAt)
	}
	now = now.Add(time.Minute)
	got, err = h.UpdateWorkspaceDormancy(ctx, h.ann, w.ID, codersdk.UpdateWorkspaceDormancy{})
	h.must(err)
	if got.DormantAt != nil || got.DeletingAt != nil || !got.LastUsedAt.Equal(now) {
		t.Errorf("awake: %+v", got)
	}
}

func TestUsage(t *testing.T) {
	h := open(t)
	ctx := t.Context()
	now := time.Now().UTC().Truncate(time.Second)
	h.clock = func() time.Time { return now }
	w := h.running(h.ann, "dev")
	now = now.Add(time.Hour)
	agent := w.LatestBuild.Resources[0].Agents[0].ID
	type req = codersdk.PostWorkspaceUsageRequest
	wantCode(t, h.PostWorkspaceUsage(ctx, h.ann, w.ID, req{AgentID: agent}), codersdk.CodeInvalid)
	wantCode(t, h.PostWorkspaceUsage(ctx, h.ann, w.ID, req{AgentID: agent, AppName: "emacs"}), codersdk.CodeInvalid)
	wantCode(t, h.PostWorkspaceUsage(ctx, h.ann, w.ID, req{AgentID: uuid.New(), AppName: "ssh"}), codersdk.CodeInvalid)
	wantCode(t, h.PostWorkspaceUsage(ctx, h.bob, w.ID, req{}), codersdk.CodeNotFound)
	h.must(h.PostWorkspaceUsage(ctx, h.ann, w.ID, req{AgentID: agent, AppName: "ssh"}))
	if got := h.get(h.ann, w.ID).LastUsedAt; !got.Equal(now) {
		t.Errorf("last used %v, want %v", got, now)
	}
	seconds := func() (all, ssh, jetbrains int) {
		h.must(h.store.Pool().QueryRow(ctx, `SELECT coalesce(sum(seconds), 0), coalesce(sum(ssh_seconds), 0), coalesce(sum(jetbrains_seconds), 0) FROM workspace_usage WHERE workspace_id = $1`, w.ID).Scan(&all, &ssh, &jetbrains))
		return all, ssh, jetbrains
	}
	if all, ssh, jetbrains := seconds(); all != 60 || ssh != 60 || jetbrains != 0 {
		t.Errorf("one report counts %d s, %d of ssh, %d of JetBrains", all, ssh, jetbrains)
	}
	// Reports that come more often count for the time between them.
	h.must(h.PostWorkspaceUsage(ctx, h.ann, w.ID, req{AgentID: agent, AppName: "ssh"}))
	now = now.Add(20 * time.Second)
	h.must(h.PostWorkspaceUsage(ctx, h.ann, w.ID, req{AgentID: agent, AppName: "ssh"}))
	h.must(h.PostWorkspaceUsage(ctx, h.ann, w.ID, req{AgentID: agent, AppName: "jetbrains"}))
	if all, ssh, jetbrains := seconds(); all != 140 || ssh != 80 || jetbrains != 60 {
		t.Errorf("four reports count %d s, %d of ssh, %d of JetBrains", all, ssh, jetbrains)
	}
}

func TestTimings(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	a := w.LatestBuild.Resources[0].Agents[0]
	h.exec(`UPDATE workspace_agents SET first_connected_at = now()`)
	h.exec(`INSERT INTO workspace_agent_script_timings VALUES ($1, $2, now(), now(), 1, 'start', 'exit_failure')`, a.ID, a.Scripts[0].ID)
	got, err := h.WorkspaceTimings(t.Context(), h.ann, w.ID)
	h.must(err)
	if len(got.AgentConnectionTimings) != 1 || got.AgentConnectionTimings[0].WorkspaceAgentName != "main" {
		t.Errorf("connections %+v", got.AgentConnectionTimings)
	}
	if len(got.AgentScriptTimings) != 1 || got.AgentScriptTimings[0].DisplayName != "Start" || got.AgentScriptTimings[0].ExitCode != 1 {
		t.Errorf("scripts %+v", got.AgentScriptTimings)
	}
}

func TestHealth(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	h.clock = func() time.Time { return time.Now().Add(121 * time.Second) }
	got := h.get(h.ann, w.ID)
	agent := got.LatestBuild.Resources[0].Agents[0]
	if got.Health.Healthy || agent.Status != codersdk.WorkspaceAgentStatusTimeout || got.Health.FailingAgents[0] != agent.ID.String() {
		t.Errorf("health %+v, agent %s", got.Health, agent.Status)
	}
}

func TestExternalAgent(t *testing.T) {
	h := open(t)
	ctx := t.Context()
	w := h.create(h.ann, "dev")
	external, windows, inside := agentResource("main"), agentResource("pc"), agentResource("inside")
	external.Type, windows.Type = "coder_external_agent", "coder_external_agent"
	windows.Agents[0].OperatingSystem = "windows"
	h.finish(h.acquire(), "", external, windows, inside)
	got, err := h.ExternalAgentCredentials(ctx, h.ann, w.ID, "MAIN")
	h.must(err)
	token := external.Agents[0].GetToken()
	want := `curl -fsSL "https://coder.example/api/v2/init-script/linux/amd64" | CODER_AGENT_TOKEN="` + token + `" sh`
	if got.AgentToken != token || got.Command != want {
		t.Errorf("got %+v, want the command %s", got, want)
	}
	if got, err = h.ExternalAgentCredentials(ctx, h.ann, w.ID, "pc"); err != nil || !strings.Contains(got.Command, "iwr") {
		t.Errorf("on Windows: %+v, %v", got, err)
	}
	_, err = h.ExternalAgentCredentials(ctx, h.ann, w.ID, "inside")
	wantCode(t, err, codersdk.CodeNotFound)
	_, err = h.ExternalAgentCredentials(ctx, h.bob, w.ID, "main")
	wantCode(t, err, codersdk.CodeNotFound)
}
