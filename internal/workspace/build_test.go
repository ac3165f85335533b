package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

var (
	start  = codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart}
	stop   = codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop}
	remove = codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete}
)

func TestLifeOfAWorkspace(t *testing.T) {
	h := open(t)
	ctx := t.Context()
	made := h.create(h.ann, "dev")
	if made.LatestBuild.Status != codersdk.WorkspaceStatusPending || made.LatestBuild.BuildNumber != 1 {
		t.Fatalf("a new workspace is %s with build %d", made.LatestBuild.Status, made.LatestBuild.BuildNumber)
	}
	if m := made.LatestBuild.MatchedProvisioners; m == nil || m.Count != 1 || m.Available != 1 {
		t.Errorf("matched provisioners of a waiting build: %+v", m)
	}
	if !made.Health.Healthy || made.OwnerName != "ann" || made.TemplateName != "docker" || made.OrganizationName != "main" || made.Outdated {
		t.Errorf("unexpected workspace %+v", made)
	}
	job := h.acquire()
	if s := h.get(h.ann, made.ID).LatestBuild.Status; s != codersdk.WorkspaceStatusStarting {
		t.Errorf("while its start runs a workspace is %s", s)
	}
	res := agentResource("main")
	h.finish(job, "one", res, &provisioner.Resource{Name: "home", Type: "docker_volume"})
	w := h.get(h.ann, made.ID)
	if w.LatestBuild.Status != codersdk.WorkspaceStatusRunning || w.LatestBuild.DailyCost != 3 || w.LatestBuild.MatchedProvisioners != nil {
		t.Errorf("after its start a workspace is %s at cost %d", w.LatestBuild.Status, w.LatestBuild.DailyCost)
	}
	checkResources(t, w.LatestBuild.Resources)
	checkToken(t, h, res.Agents[0].GetToken())

	h.build(h.ann, made.ID, stop)
	job = h.acquire()
	if got := string(job.GetWorkspaceBuild().State); got != "one" {
		t.Errorf("a stop starts from the state %q", got)
	}
	h.finish(job, "two", &provisioner.Resource{Name: "home", Type: "docker_volume"})
	if s := h.get(h.ann, made.ID).LatestBuild.Status; s != codersdk.WorkspaceStatusStopped {
		t.Errorf("after its stop a workspace is %s", s)
	}
	h.build(h.ann, made.ID, remove)
	h.finish(h.acquire(), "{}")
	if w := h.get(h.ann, made.ID); w.LatestBuild.Status != codersdk.WorkspaceStatusDeleted || w.LatestBuild.BuildNumber != 3 {
		t.Errorf("after its delete a workspace is %s", w.LatestBuild.Status)
	}
	_, err := h.Workspace(ctx, h.ann, made.ID, false)
	wantCode(t, err, codersdk.CodeNotFound)
	_, err = h.CreateWorkspaceBuild(ctx, h.ann, made.ID, start)
	wantCode(t, err, codersdk.CodeNotFound)
	h.create(h.ann, "dev") // the name is free again
}

// TestReadWhole reads a workspace while its builds end: one that runs tells what
// its start has made, whenever it is asked.
func TestReadWhole(t *testing.T) {
	h := open(t)
	w := h.create(h.ann, "dev")
	for range 15 {
		job := h.acquire()
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					got, err := h.Workspace(t.Context(), h.ann, w.ID, false)
					if err != nil {
						t.Error(err)
						return
					}
					if b := got.LatestBuild; b.Job.CompletedAt != nil {
						if b.DailyCost != 3 || b.UpdatedAt.Before(*b.Job.CompletedAt) || len(b.Resources) != 1 {
							t.Errorf("a workspace that is %s costs %d, changed %s before its job's end, and has %d resources", b.Status, b.DailyCost, b.Job.CompletedAt.Sub(b.UpdatedAt), len(b.Resources))
						}
						return
					}
				}
			})
		}
		h.finish(job, "one", agentResource("main"))
		readers.Wait()
		h.build(h.ann, w.ID, stop)
		h.finish(h.acquire(), "two")
		h.build(h.ann, w.ID, start)
	}
}

func checkResources(t *testing.T, rs []codersdk.WorkspaceResource) {
	t.Helper()
	if len(rs) != 2 || rs[0].Name != "dev" || rs[1].Name != "home" || len(rs[0].Agents) != 1 {
		t.Fatalf("unexpected resources %+v", rs)
	}
	a := rs[0].Agents[0]
	if diff := cmp.Diff(map[string]string{"A": "1", "B": "3"}, a.EnvironmentVariables); diff != "" {
		t.Error("environment:", diff)
	}
	if a.Status != codersdk.WorkspaceAgentStatusConnecting || !a.Health.Healthy || a.StartupScriptBehavior != codersdk.WorkspaceAgentStartupScriptBehaviorBlocking {
		t.Errorf("unexpected agent %+v", a)
	}
	if len(a.Scripts) != 1 || a.Scripts[0].Timeout != 30*time.Second || len(a.LogSources) != 1 || a.LogSources[0].ID != a.Scripts[0].LogSourceID {
		t.Errorf("unexpected scripts %+v %+v", a.Scripts, a.LogSources)
	}
	if diff := cmp.Diff([]codersdk.DisplayApp{codersdk.DisplayAppVSCode, codersdk.DisplayAppSSHHelper}, a.DisplayApps); diff != "" {
		t.Error("display apps:", diff)
	}
	if len(a.Apps) != 1 || a.Apps[0].Slug != "main-code" || a.Apps[0].DisplayName != "main-code" || a.Apps[0].Health != codersdk.WorkspaceAppHealthInitializing {
		t.Errorf("unexpected apps %+v", a.Apps)
	}
}

func checkToken(t *testing.T, h *house, want string) {
	t.Helper()
	var got []byte
	h.must(h.store.Pool().QueryRow(t.Context(), `SELECT token_hash FROM workspace_agents WHERE token IS NULL`).Scan(&got))
	if !bytes.Equal(got, dbcrypt.HashAgentToken(uuid.MustParse(want))) {
		t.Errorf("%x is not the hash of the token %s of Terraform", got, want)
	}
}

func TestWhatAProvisionerIsTold(t *testing.T) {
	h := open(t)
	template, v := h.newTemplate("full", spec{
		parameters: []codersdk.TemplateVersionParameter{{Name: "size", Type: "string", DefaultValue: "s", Mutable: true}},
		variables:  []codersdk.TemplateVersionVariable{{Name: "key", Value: "secret", Sensitive: true}},
	})
	second := uuid.New()
	for id, name := range map[uuid.UUID]string{second: "second", uuid.New(): "deleted"} {
		h.exec(`INSERT INTO organizations (id, name, created_at, updated_at, deleted_at) VALUES ($1, $2, now(), now(), CASE WHEN $2 = 'deleted' THEN now() END)`, id, name)
		h.exec(`INSERT INTO organization_members (organization_id, user_id, roles, created_at, updated_at) VALUES ($1, $2, '{organization-auditor}', now() + interval '1 hour', now())`, id, h.ann.UserID)
	}
	w, err := h.CreateWorkspace(t.Context(), h.ann, h.org, h.ann.UserID, codersdk.CreateWorkspaceRequest{
		Name: "dev", TemplateID: template, RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "m"}},
	})
	h.must(err)
	h.must(h.store.LinkPut(t.Context(), sqlc.LinkPutParams{
		UserID: h.ann.UserID, LoginType: "oidc", Issuer: "https://id.example", Subject: "ann", AccessToken: "of the provider", Claims: []byte(`{}`), Now: time.Now(),
	}))
	a := h.acquire()
	b := a.GetWorkspaceBuild()
	m := b.Metadata
	if string(a.TemplateSourceArchive) != "the source" || a.UserName != "ann" || len(b.State) != 0 || len(b.PreviousParameterValues) != 0 {
		t.Errorf("unexpected job %v", a)
	}
	want := &provisioner.Metadata{
		CoderUrl: "https://coder.example", WorkspaceName: "dev", WorkspaceOwner: "ann", WorkspaceId: w.ID.String(),
		WorkspaceOwnerId: h.ann.UserID.String(), WorkspaceOwnerEmail: "ann@example.com", TemplateName: "full", TemplateVersion: "v1",
		WorkspaceOwnerSessionToken: "token-" + w.LatestBuild.ID.String(), TemplateId: template.String(), WorkspaceOwnerName: "Full ann",
		WorkspaceOwnerGroups: []string{"Everyone"}, WorkspaceOwnerSshPublicKey: "public", WorkspaceOwnerSshPrivateKey: "private",
		WorkspaceBuildId: w.LatestBuild.ID.String(), WorkspaceOwnerLoginType: "password", TemplateVersionId: v.String(), WorkspaceOwnerOidcAccessToken: "of the provider",
		WorkspaceOwnerRbacRoles: []*provisioner.Role{
			{Name: "member"}, {Name: "organization-member", OrgId: h.org.String()},
			{Name: "organization-member", OrgId: second.String()}, {Name: "organization-auditor", OrgId: second.String()},
		},
	}
	if m.String() != want.String() {
		t.Errorf("got  %v\nwant %v", m, want)
	}
	if b.RichParameterValues[0].Value != "m" || b.VariableValues[0].Value != "secret" || !b.VariableValues[0].Sensitive {
		t.Errorf("values: %v %v", b.RichParameterValues, b.VariableValues)
	}
	h.finish(a, "one")
	h.build(h.ann, w.ID, codersdk.CreateWorkspaceBuildRequest{
		Transition: codersdk.WorkspaceTransitionStart, RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "l"}},
	})
	a = h.acquire()
	b = a.GetWorkspaceBuild()
	if b.RichParameterValues[0].Value != "l" || b.PreviousParameterValues[0].Value != "m" || string(b.State) != "one" {
		t.Errorf("second build: %v", b)
	}
	h.finish(a, "two")
	if len(h.tokens) != 1 {
		t.Errorf("after its second start a workspace has the tokens %v", h.tokens)
	}
	h.build(h.ann, w.ID, stop)
	a = h.acquire()
	if a.GetWorkspaceBuild().Metadata.WorkspaceOwnerSessionToken != "" || a.GetWorkspaceBuild().Metadata.WorkspaceTransition != provisioner.WorkspaceTransition_STOP {
		t.Errorf("stop: %v", a.GetWorkspaceBuild().Metadata)
	}
	h.finish(a, "")
	if len(h.tokens) != 0 {
		t.Errorf("after its stop a workspace has the tokens %v", h.tokens)
	}
}

func TestOneUnfinishedBuild(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	var wg sync.WaitGroup
	errs := make(chan error, 20)
	for range 20 {
		wg.Go(func() {
			_, err := h.CreateWorkspaceBuild(context.Background(), h.ann, w.ID, stop)
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	made := 0
	for err := range errs {
		if err == nil {
			made++
			continue
		}
		wantCode(t, err, codersdk.CodeConflict)
		if !strings.Contains(err.Error(), `Build 2 (stop) of workspace "dev" is still pending`) {
			t.Errorf("the message does not name the build: %v", err)
		}
	}
	if made != 1 {
		t.Fatalf("%d builds were made at once", made)
	}
	bs, err := h.Builds(t.Context(), h.ann, w.ID, workspace.Page{})
	h.must(err)
	if len(bs) != 2 || bs[0].BuildNumber != 2 {
		t.Errorf("builds: %d", len(bs))
	}
}

func TestFailureKeepsStateAndWorkspace(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	h.build(h.ann, w.ID, remove)
	h.fail(h.acquire(), "half gone")
	got := h.get(h.ann, w.ID)
	if got.LatestBuild.Status != codersdk.WorkspaceStatusFailed || got.LatestBuild.Job.Error != "it broke" {
		t.Errorf("after a failed delete a workspace is %s: %s", got.LatestBuild.Status, got.LatestBuild.Job.Error)
	}
	if _, err := h.Workspace(t.Context(), h.ann, w.ID, false); err != nil {
		t.Errorf("a failed delete lost the workspace: %v", err)
	}
	h.build(h.ann, w.ID, remove)
	a := h.acquire()
	if s := string(a.GetWorkspaceBuild().State); s != "half gone" {
		t.Errorf("the next delete starts from %q", s)
	}
	h.fail(a, "") // lost: nothing is known of the state
	h.build(h.ann, w.ID, remove)
	a = h.acquire()
	if s := string(a.GetWorkspaceBuild().State); s != "half gone" {
		t.Errorf("after a lost build the next starts from %q", s)
	}
	h.finish(a, "")
	if s := h.get(h.ann, w.ID).LatestBuild.Status; s != codersdk.WorkspaceStatusDeleted {
		t.Errorf("status %s", s)
	}
}

func TestResultsThatCannotBeUsed(t *testing.T) {
	h := open(t)
	w := h.create(h.ann, "dev")
	a := h.acquire()
	h.finish(a, "state", agentResource("main"), agentResource("MAIN"))
	got := h.get(h.ann, w.ID).LatestBuild
	if got.Status != codersdk.WorkspaceStatusFailed || !strings.Contains(got.Job.Error, "Two agents are named") || len(got.Resources) != 0 {
		t.Fatalf("status %s, error %q", got.Status, got.Job.Error)
	}
	state, err := h.BuildState(t.Context(), h.admin, got.ID)
	h.must(err)
	if string(state) != "state" {
		t.Errorf("what was made is forgotten: %q", state)
	}
}

func TestOrphan(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	orphan := remove
	orphan.Orphan = true
	_, err := h.CreateWorkspaceBuild(t.Context(), h.ann, w.ID, orphan)
	wantCode(t, err, codersdk.CodeForbidden)
	b := h.build(h.admin, w.ID, orphan)
	if b.Status != codersdk.WorkspaceStatusDeleted || b.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Errorf("an orphaned workspace is %s", b.Status)
	}
	_, err = h.Workspace(t.Context(), h.ann, w.ID, false)
	wantCode(t, err, codersdk.CodeNotFound)
	if len(h.tokens) != 0 {
		t.Errorf("the owner's token outlived the workspace: %v", h.tokens)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if a, err := h.queue.Acquire(ctx, h.worker); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a provisioner got %v, %v", a, err)
	}
}

func TestCancel(t *testing.T) {
	h := open(t)
	ctx := t.Context()
	w := h.create(h.ann, "dev")
	b := w.LatestBuild.ID
	wantCode(t, h.CancelWorkspaceBuild(ctx, h.ann, b, "done"), codersdk.CodeInvalid)
	wantCode(t, h.CancelWorkspaceBuild(ctx, h.ann, b, "running"), codersdk.CodePrecondition)
	wantCode(t, h.CancelWorkspaceBuild(ctx, h.bob, b, ""), codersdk.CodeNotFound)
	h.must(h.CancelWorkspaceBuild(ctx, h.ann, b, "pending"))
	if s := h.get(h.ann, w.ID).LatestBuild.Status; s != codersdk.WorkspaceStatusCanceled {
		t.Errorf("after cancelling a waiting build: %s", s)
	}
	wantCode(t, h.CancelWorkspaceBuild(ctx, h.ann, b, ""), codersdk.CodePrecondition)

	next := h.build(h.ann, w.ID, start)
	a := h.acquire()
	h.exec(`UPDATE templates SET allow_user_cancel_workspace_jobs = false`)
	wantCode(t, h.CancelWorkspaceBuild(ctx, h.ann, next.ID, ""), codersdk.CodeForbidden)
	h.must(h.CancelWorkspaceBuild(ctx, h.admin, next.ID, "running"))
	if s := h.get(h.ann, w.ID).LatestBuild.Status; s != codersdk.WorkspaceStatusCanceling {
		t.Errorf("while cancelling: %s", s)
	}
	resp, err := h.queue.Update(ctx, h.worker, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId})
	h.must(err)
	if !resp.Canceled {
		t.Error("the provisioner was not told")
	}
	_, err = h.CreateWorkspaceBuild(ctx, h.ann, w.ID, start)
	wantCode(t, err, codersdk.CodeConflict)
	h.fail(a, "some")
	if s := h.get(h.ann, w.ID).LatestBuild.Status; s != codersdk.WorkspaceStatusCanceled {
		t.Errorf("afterwards: %s", s)
	}
}

func TestBuildRequestsThatAreRefused(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	_, elsewhere := h.newTemplate("other", spec{})
	unfinished := h.newVersion(h.template, "v2", spec{unfinished: true})
	type req = codersdk.CreateWorkspaceBuildRequest
	for name, c := range map[string]struct {
		req  req
		code codersdk.Code
	}{
		"no transition":      {req{}, codersdk.CodeInvalid},
		"unknown transition": {req{Transition: "restart"}, codersdk.CodeInvalid},
		"orphaning start":    {req{Transition: "start", Orphan: true}, codersdk.CodeInvalid},
		"orphan with state":  {req{Transition: "delete", Orphan: true, State: []byte("x")}, codersdk.CodeInvalid},
		"log level":          {req{Transition: "start", LogLevel: "trace"}, codersdk.CodeInvalid},
		"debug by a member":  {req{Transition: "start", LogLevel: "debug"}, codersdk.CodeForbidden},
		"state by a member":  {req{Transition: "start", State: []byte("x")}, codersdk.CodeForbidden},
		"reason":             {req{Transition: "start", Reason: "autostart"}, codersdk.CodeInvalid},
		"foreign version":    {req{Transition: "start", TemplateVersionID: elsewhere}, codersdk.CodeInvalid},
		"unknown version":    {req{Transition: "start", TemplateVersionID: uuid.New()}, codersdk.CodeInvalid},
		"unfinished version": {req{Transition: "start", TemplateVersionID: unfinished}, codersdk.CodePrecondition},
		"unknown parameter":  {req{Transition: "start", RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "x"}}}, codersdk.CodeInvalid},
		"unknown preset":     {req{Transition: "start", TemplateVersionPresetID: new(uuid.New())}, codersdk.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.CreateWorkspaceBuild(t.Context(), h.ann, w.ID, c.req)
			wantCode(t, err, c.code)
		})
	}
	_, err := h.CreateWorkspaceBuild(t.Context(), h.bob, w.ID, stop)
	wantCode(t, err, codersdk.CodeNotFound)
	_, err = h.CreateWorkspaceBuild(t.Context(), h.admin, w.ID, req{Transition: "start", LogLevel: "debug"})
	wantCode(t, err, codersdk.CodeInvalid) // the server does not allow it
	h.exec(`UPDATE workspaces SET dormant_at = now()`)
	_, err = h.CreateWorkspaceBuild(t.Context(), h.ann, w.ID, start)
	wantCode(t, err, codersdk.CodeConflict)
}

func TestDryRunChangesNothing(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	try := stop
	try.DryRun = true
	b := h.build(h.ann, w.ID, try)
	if b.BuildNumber != 2 || b.Status != codersdk.WorkspaceStatusPending {
		t.Errorf("unexpected trial %+v", b)
	}
	if got := h.get(h.ann, w.ID).LatestBuild.BuildNumber; got != 1 {
		t.Errorf("a dry run left build %d behind", got)
	}
}

func TestState(t *testing.T) {
	h := open(t)
	ctx := t.Context()
	w := h.running(h.ann, "dev")
	_, err := h.BuildState(ctx, h.ann, w.LatestBuild.ID)
	wantCode(t, err, codersdk.CodeForbidden)
	wantCode(t, h.UpdateBuildState(ctx, h.ann, w.LatestBuild.ID, nil), codersdk.CodeForbidden)
	_, err = h.BuildState(ctx, h.bob, w.LatestBuild.ID)
	wantCode(t, err, codersdk.CodeNotFound)
	got, err := h.BuildState(ctx, h.admin, w.LatestBuild.ID)
	h.must(err)
	if string(got) != "state of dev" {
		t.Errorf("state %q", got)
	}
	h.must(h.UpdateBuildState(ctx, h.admin, w.LatestBuild.ID, []byte("mended")))
	h.build(h.ann, w.ID, stop)
	a := h.acquire()
	if s := string(a.GetWorkspaceBuild().State); s != "mended" {
		t.Errorf("the next build starts from %q", s)
	}
	h.finish(a, "")
	b := h.build(h.admin, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart, State: []byte("pushed")})
	wantCode(t, h.UpdateBuildState(ctx, h.admin, b.ID, []byte("x")), codersdk.CodeConflict)
	a = h.acquire()
	if s := string(a.GetWorkspaceBuild().State); s != "pushed" {
		t.Errorf("a build with a state of its own starts from %q", s)
	}
	h.finish(a, "third")
	// After a build that left no state, the workspace has the one before.
	failed := h.build(h.ann, w.ID, stop)
	h.fail(h.acquire(), "")
	got, err = h.BuildState(ctx, h.admin, failed.ID)
	h.must(err)
	if string(got) != "third" {
		t.Errorf("after a build that failed without a state the state is %q", got)
	}
	half := h.build(h.ann, w.ID, stop)
	h.fail(h.acquire(), "half")
	if got, err = h.BuildState(ctx, h.admin, half.ID); err != nil || string(got) != "half" {
		t.Errorf("after a build that failed halfway the state is %q, %v", got, err)
	}
}

func TestDeadlineFollowsTTL(t *testing.T) {
	h := open(t)
	now := time.Now().UTC().Truncate(time.Second)
	h.clock = func() time.Time { return now }
	h.exec(`UPDATE templates SET default_ttl_ms = 3600000`)
	w := h.running(h.ann, "dev")
	if d := w.LatestBuild.Deadline; d == nil || !d.Equal(now.Add(time.Hour)) || *w.TTLMS != 3600000 {
		t.Fatalf("deadline %v, ttl %v", d, w.TTLMS)
	}
	ctx := t.Context()
	wantCode(t, h.ExtendWorkspace(ctx, h.ann, w.ID, codersdk.PutExtendWorkspaceRequest{}), codersdk.CodeInvalid)
	soon, later := now.Add(29*time.Minute), now.Add(5*time.Hour)
	wantCode(t, h.ExtendWorkspace(ctx, h.ann, w.ID, codersdk.PutExtendWorkspaceRequest{Deadline: &soon}), codersdk.CodeInvalid)
	h.must(h.ExtendWorkspace(ctx, h.ann, w.ID, codersdk.PutExtendWorkspaceRequest{Deadline: &later}))
	if d := h.get(h.ann, w.ID).LatestBuild.Deadline; !d.Equal(later) {
		t.Errorf("extended to %v", d)
	}
	h.build(h.ann, w.ID, stop)
	h.finish(h.acquire(), "")
	if d := h.get(h.ann, w.ID).LatestBuild.Deadline; d != nil {
		t.Errorf("a stopped workspace has the deadline %v", d)
	}
	wantCode(t, h.ExtendWorkspace(ctx, h.ann, w.ID, codersdk.PutExtendWorkspaceRequest{Deadline: &later}), codersdk.CodeConflict)
}
