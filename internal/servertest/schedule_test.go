package servertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// await watches a workspace until it is as wanted.
func await(t *testing.T, s *servertest.Server, w codersdk.Workspace, what string, wanted func(codersdk.Workspace) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := errors.New("seen")
	err := codersdk.Follow(ctx, s.Client, "/workspaces/"+w.ID.String()+"/watch-ws", nil, func(e codersdk.ServerSentEvent) error {
		if e.Type != codersdk.ServerSentEventTypeData {
			return nil
		}
		b, err := json.Marshal(e.Data)
		must(t, err)
		must(t, json.Unmarshal(b, &w))
		if wanted(w) {
			return seen
		}
		return nil
	})
	if !errors.Is(err, seen) {
		t.Fatalf("%s: %v; it was %+v", what, err, w.LatestBuild)
	}
}

// TestByThemselves has workspaces on a whole server live a whole life by
// themselves: they start on their schedule, stop at their deadline, rest, and
// are deleted; and what a start that failed left is stopped.
func TestByThemselves(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Workspaces.AutobuildPollInterval = 100 * time.Millisecond })
	ctx := t.Context()
	tpl := priced(t, s, "tpl", "0")
	ms := func(n int64) *int64 { return &n }
	always, hour := "* * * * *", ms(3600_000)
	w, err := s.Client.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: tpl.ID, TTLMS: hour})
	must(t, err)
	ended := func(transition codersdk.WorkspaceTransition, reason codersdk.BuildReason) func(codersdk.Workspace) bool {
		return func(w codersdk.Workspace) bool {
			b := w.LatestBuild
			return b.Transition == transition && b.Reason == reason && b.Job.Status == codersdk.ProvisionerJobStatusSucceeded
		}
	}
	await(t, s, w, "it runs", ended(codersdk.WorkspaceTransitionStart, codersdk.BuildReasonInitiator))

	sql(t, s, `UPDATE workspace_builds SET deadline = now() - interval '1 second'`)
	await(t, s, w, "it stops", ended(codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop))

	must(t, s.Client.UpdateWorkspaceAutostart(ctx, w.ID, codersdk.UpdateWorkspaceAutostartRequest{Schedule: &always}))
	sql(t, s, `UPDATE workspace_builds SET created_at = now() - interval '1 hour'`)
	sql(t, s, `UPDATE workspaces SET next_start_at = date_trunc('minute', now())`)
	await(t, s, w, "it starts", ended(codersdk.WorkspaceTransitionStart, codersdk.BuildReasonAutostart))
	must(t, s.Client.UpdateWorkspaceAutostart(ctx, w.ID, codersdk.UpdateWorkspaceAutostartRequest{}))

	_, err = s.Client.UpdateTemplate(ctx, tpl.ID, codersdk.UpdateTemplateMeta{TimeTilDormantMS: hour, TimeTilDormantAutodeleteMS: hour, FailureTTLMS: ms(1)})
	must(t, err)
	sql(t, s, `UPDATE workspaces SET last_used_at = now() - interval '1 hour'`)
	await(t, s, w, "it rests", func(w codersdk.Workspace) bool {
		return w.DormantAt != nil && w.DeletingAt != nil && ended(codersdk.WorkspaceTransitionStop, codersdk.BuildReasonDormancy)(w)
	})
	sql(t, s, `UPDATE workspaces SET deleting_at = now()`)
	await(t, s, w, "it is deleted", ended(codersdk.WorkspaceTransitionDelete, codersdk.BuildReasonDormancy))

	other, err := s.Client.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "other", TemplateID: tpl.ID})
	must(t, err)
	await(t, s, other, "the other runs", ended(codersdk.WorkspaceTransitionStart, codersdk.BuildReasonInitiator))
	sql(t, s, `UPDATE provisioner_jobs SET error = 'it broke' WHERE id = $1`, other.LatestBuild.Job.ID)
	sql(t, s, `UPDATE workspace_builds SET failed_at = now() WHERE id = $1`, other.LatestBuild.ID)
	await(t, s, other, "what is left of the other stops", ended(codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop))
}
