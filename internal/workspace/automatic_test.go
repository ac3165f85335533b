package workspace_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func (h *house) automatic(id uuid.UUID, transition codersdk.WorkspaceTransition, reason codersdk.BuildReason) codersdk.WorkspaceBuild {
	h.t.Helper()
	made, err := h.BuildAutomatically(h.t.Context(), id, transition, reason, nil)
	h.must(err)
	b, err := h.Build(h.t.Context(), h.admin, made)
	h.must(err)
	return b
}

func (h *house) count(sql string, args ...any) (n int) {
	h.t.Helper()
	h.must(h.store.Pool().QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

func TestBuildAutomatically(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	b := h.automatic(w.ID, codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop)
	if b.BuildNumber != 2 || b.Reason != codersdk.BuildReasonAutostop || b.InitiatorID != h.ann.UserID || b.TemplateVersionID != h.version {
		t.Errorf("%+v", b)
	}
	if n := h.count(`SELECT count(*) FROM audit_logs WHERE resource_id = $1 AND user_id IS NULL AND action = 'stop' AND additional_fields->>'build_reason' = 'autostop'`, b.ID); n != 1 {
		t.Errorf("%d rows in the audit log", n)
	}
	_, err := h.BuildAutomatically(t.Context(), w.ID, codersdk.WorkspaceTransitionStart, codersdk.BuildReasonAutostart, nil)
	wantCode(t, err, codersdk.CodeConflict) // the stop waits still

	// A build that a user waits for goes first.
	other := h.create(h.bob, "his")
	if a := h.acquire(); a.GetWorkspaceBuild().GetWorkspaceName() != "his" {
		t.Errorf("the first job is of %q, want that of %q", a.GetWorkspaceBuild().GetWorkspaceName(), other.Name)
	}
	h.finish(h.acquire(), "stopped")

	// Deleted ones are left alone.
	h.exec(`UPDATE workspaces SET deleted_at = now() WHERE id = $1`, w.ID)
	if id, err := h.BuildAutomatically(t.Context(), w.ID, codersdk.WorkspaceTransitionStart, codersdk.BuildReasonAutostart, nil); id != uuid.Nil || err != nil {
		t.Error(id, err)
	}
}

// TestAutomaticVersions: who follows the active version gets it, and is told
// when it asks for what nobody gave.
func TestAutomaticVersions(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	h.automatic(w.ID, codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop)
	h.finish(h.acquire(), "stopped")
	v2 := h.newVersion(h.template, "v2", spec{})
	h.exec(`UPDATE templates SET active_version_id = $1 WHERE id = $2`, v2, h.template)
	if b := h.automatic(w.ID, codersdk.WorkspaceTransitionStart, codersdk.BuildReasonAutostart); b.TemplateVersionID != h.version {
		t.Error("a workspace moved to another version by itself")
	}
	h.finish(h.acquire(), "started")
	h.automatic(w.ID, codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop)
	h.finish(h.acquire(), "stopped")
	h.exec(`UPDATE templates SET require_active_version = true`)
	if b := h.automatic(w.ID, codersdk.WorkspaceTransitionStart, codersdk.BuildReasonAutostart); b.TemplateVersionID != v2 {
		t.Error("a workspace stayed on a version that its template does not allow")
	}
	h.finish(h.acquire(), "started")
	h.automatic(w.ID, codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop)
	h.finish(h.acquire(), "stopped")
	v3 := h.newVersion(h.template, "v3", spec{parameters: []codersdk.TemplateVersionParameter{{Name: "region", Type: codersdk.ParameterTypeString, Required: true, Mutable: true}}})
	h.exec(`UPDATE templates SET active_version_id = $1 WHERE id = $2`, v3, h.template)
	_, err := h.BuildAutomatically(t.Context(), w.ID, codersdk.WorkspaceTransitionStart, codersdk.BuildReasonAutostart, nil)
	wantCode(t, err, codersdk.CodeInvalid)
}

func TestDueDecides(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	build := func(wanted bool, fail error) (uuid.UUID, error) {
		return h.BuildAutomatically(t.Context(), w.ID, codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop,
			func(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, latest sqlc.BuildLatestRow) (bool, error) {
				if latest.WorkspaceBuild.BuildNumber != 1 || latest.JobStatus != "succeeded" {
					t.Errorf("due is shown %+v", latest)
				}
				h.must(q.WorkspaceRename(ctx, w.Name+"x", w.UpdatedAt, w.ID))
				return wanted, fail
			})
	}
	if _, err := build(true, errors.New("no")); err == nil || h.get(h.ann, w.ID).Name != "dev" {
		t.Error("what due did is kept after its error")
	}
	if id, err := build(false, nil); id != uuid.Nil || err != nil || h.get(h.ann, w.ID).Name != "devx" {
		t.Error(id, err, "want no build, and what due did")
	}
	if id, err := build(true, nil); id == uuid.Nil || err != nil || h.get(h.ann, w.ID).Name != "devxx" {
		t.Error(id, err, "want a build, and what due did")
	}
}

// TestManyBuildAutomatically: of many callers one builds, and the others are
// not held up.
func TestManyBuildAutomatically(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	var wait sync.WaitGroup
	made := make(chan uuid.UUID, 16)
	for range cap(made) {
		wait.Go(func() {
			id, err := h.BuildAutomatically(t.Context(), w.ID, codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop, nil)
			if err != nil && !codersdk.Is(err, codersdk.CodeConflict) {
				t.Error(err)
			}
			if id != uuid.Nil {
				made <- id
			}
		})
	}
	wait.Wait()
	if len(made) != 1 {
		t.Errorf("%d builds were made, want one", len(made))
	}
}
