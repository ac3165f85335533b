package workspace_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// restart is a stop that a start follows.
func restart(reason codersdk.CreateWorkspaceBuildReason) codersdk.CreateWorkspaceBuildRequest {
	return codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop, Reason: reason, OnSuccess: &codersdk.WorkspaceBuildOnSuccess{}}
}

func (h *house) followUps() (n int) {
	h.t.Helper()
	h.must(h.store.Pool().QueryRow(h.t.Context(), `SELECT count(*) FROM workspace_build_follow_ups`).Scan(&n))
	return n
}

// finishUnheard finishes the next job, and the server ends right behind its commit.
func (h *house) finishUnheard() {
	h.t.Helper()
	a := h.acquire()
	h.exec(`UPDATE provisioner_jobs SET input = input - 'followed'`)
	h.finish(a, "stopped")
}

func TestAStartFollowsAStop(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	h.build(h.ann, w.ID, restart(codersdk.CreateWorkspaceBuildReasonVSCodeConnection))
	if h.followUps() != 1 {
		t.Error("nothing is to follow")
	}
	h.FollowUps(t.Context()) // the stop is not over
	h.finish(h.acquire(), "stopped")
	b := h.get(h.ann, w.ID).LatestBuild
	if b.BuildNumber != 3 || b.Transition != codersdk.WorkspaceTransitionStart || b.InitiatorID != h.ann.UserID || b.Reason != codersdk.BuildReasonVSCodeConnection || h.followUps() != 0 {
		t.Errorf("build %d is a %s for %s by %s, and %d are to follow", b.BuildNumber, b.Transition, b.Reason, b.InitiatorName, h.followUps())
	}
	h.finish(h.acquire(), "started")
	h.FollowUps(t.Context())
	if b := h.get(h.ann, w.ID).LatestBuild; b.BuildNumber != 3 || b.Status != codersdk.WorkspaceStatusRunning {
		t.Errorf("build %d, %s", b.BuildNumber, b.Status)
	}
}

// TestAStartFollowsAStopAfterACrash: the server that took the end of the stop was
// gone before it could add the start.
func TestAStartFollowsAStopAfterACrash(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	h.build(h.ann, w.ID, restart(""))
	h.finishUnheard()
	if b := h.get(h.ann, w.ID).LatestBuild; b.BuildNumber != 2 || b.Status != codersdk.WorkspaceStatusStopped || h.followUps() != 1 {
		t.Fatalf("build %d, %s", b.BuildNumber, b.Status)
	}
	h.FollowUps(t.Context())
	h.FollowUps(t.Context())
	if b := h.get(h.ann, w.ID).LatestBuild; b.BuildNumber != 3 || b.Transition != codersdk.WorkspaceTransitionStart || h.followUps() != 0 {
		t.Errorf("build %d, %s", b.BuildNumber, b.Transition)
	}
}

func TestNoStartFollows(t *testing.T) {
	h := open(t)
	for name, end := range map[string]func(w codersdk.Workspace){
		"a stop that failed": func(codersdk.Workspace) { h.fail(h.acquire(), "") },
		"a stop that another build followed": func(w codersdk.Workspace) {
			h.finishUnheard()
			h.build(h.ann, w.ID, start)
			h.FollowUps(t.Context())
			h.finish(h.acquire(), "started")
		},
		"a stop of a user who is suspended": func(codersdk.Workspace) {
			a := h.acquire()
			h.exec(`UPDATE users SET status = 'suspended' WHERE id = $1`, h.ann.UserID)
			h.finish(a, "stopped")
			h.exec(`UPDATE users SET status = 'active' WHERE id = $1`, h.ann.UserID)
		},
	} {
		w := h.running(h.ann, "dev-"+uuid.NewString()[:8])
		h.build(h.ann, w.ID, restart(""))
		end(h.get(h.ann, w.ID))
		before := h.get(h.ann, w.ID).LatestBuild.BuildNumber
		h.FollowUps(t.Context())
		if b := h.get(h.ann, w.ID).LatestBuild; b.BuildNumber != before || h.followUps() != 0 {
			t.Errorf("%s: build %d, %s, and %d are to follow", name, b.BuildNumber, b.Transition, h.followUps())
		}
	}
}

func TestFollowUpsThatAreRefused(t *testing.T) {
	h := open(t)
	w := h.running(h.ann, "dev")
	next := func(o codersdk.WorkspaceBuildOnSuccess) codersdk.CreateWorkspaceBuildRequest {
		return codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop, OnSuccess: &o}
	}
	after := restart("")
	after.Transition = codersdk.WorkspaceTransitionStart
	for name, req := range map[string]codersdk.CreateWorkspaceBuildRequest{
		"after a start":         after,
		"a delete":              next(codersdk.WorkspaceBuildOnSuccess{Transition: codersdk.WorkspaceTransitionDelete}),
		"a version of nobody":   next(codersdk.WorkspaceBuildOnSuccess{TemplateVersionID: uuid.New()}),
		"an unknown parameter":  next(codersdk.WorkspaceBuildOnSuccess{RichParameterValues: []codersdk.WorkspaceBuildParameter{{Name: "nothing", Value: "x"}}}),
		"a reason of no client": next(codersdk.WorkspaceBuildOnSuccess{Reason: "weather"}),
	} {
		_, err := h.CreateWorkspaceBuild(t.Context(), h.ann, w.ID, req)
		if !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b := h.get(h.ann, w.ID).LatestBuild; b.BuildNumber != 1 || h.followUps() != 0 {
		t.Errorf("a refused request made build %d", b.BuildNumber)
	}
	for text, want := range map[string]codersdk.WorkspaceTransition{
		`{"on_success": "start"}`: "start", `{"on_success": {}}`: "", `{"on_success": {"transition": "start"}}`: "start",
	} {
		var req codersdk.CreateWorkspaceBuildRequest
		if err := json.Unmarshal([]byte(text), &req); err != nil || req.OnSuccess == nil || req.OnSuccess.Transition != want {
			t.Errorf("%s is %+v, %v", text, req.OnSuccess, err)
		}
	}
	for text, none := range map[string]bool{`{}`: true, `{"on_success": null}`: true, `{"on_success": ""}`: true, `{"on_success": {}}`: false, `{"on_success": "start"}`: false} {
		var req codersdk.CreateWorkspaceBuildRequest
		if err := json.Unmarshal([]byte(text), &req); err != nil || req.OnSuccess.None() != none {
			t.Errorf("%s: no start follows: %v, %v", text, req.OnSuccess.None(), err)
		}
	}
}
