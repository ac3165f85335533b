package servertest_test

import (
	"encoding/json"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// next returns what a client reads about the next start of a workspace.
func (h *house) next(w codersdk.Workspace) (out codersdk.WorkspacePlanAhead) {
	h.t.Helper()
	r, err := h.Client.Request(h.t.Context(), "GET", "/workspaces/"+w.ID.String()+"/plan-ahead", nil, nil)
	fatal(h.t, err)
	defer func() { _ = r.Body.Close() }()
	fatal(h.t, json.NewDecoder(r.Body).Decode(&out))
	return out
}

// TestUsersReadWhyThereIsNoPlan: while a workspace is stopped its page shows whether the start
// is planned. Text of Terraform, which can contain values, is not shown.
func TestUsersReadWhyThereIsNoPlan(t *testing.T) {
	h := newHouse(t, nil)
	w := h.stopped("dev", planned)
	plan := testwait.Value(t, "the start is planned", func() codersdk.WorkspacePlanAhead { return h.next(w) },
		func(p codersdk.WorkspacePlanAhead) bool { return p.PlannedAt != nil })
	if !plan.Enabled || plan.Reason != "" {
		t.Errorf("%+v", plan)
	}
	because := func(want string) {
		t.Helper()
		if got := h.next(w); got.Reason != want || got.PlannedAt != nil {
			t.Errorf("%+v, want the reason %q", got, want)
		}
	}
	set := func(column, value string) {
		t.Helper()
		_, err := h.db.Exec(t.Context(), `UPDATE workspace_plans SET plan = '', job_id = NULL, `+column+` = `+value)
		fatal(t, err)
	}
	set("reason = 'because', public_reason", "'main.tf:3: the template reads the date'")
	because("main.tf:3: the template reads the date")
	set("public_reason = '', reason", "'the password is hunter2'")
	because("the plan failed; a start shows the error")
	h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	because("the workspace is not stopped")

}

// TestUsersReadThatPlansAreOff: without the option the endpoint reports so.
func TestUsersReadThatPlansAreOff(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Workspaces.PlansAhead = 0 })
	w := h.stopped("dev", planned)
	if got := h.next(w); got.Enabled || got.PlannedAt != nil {
		t.Errorf("%+v", got)
	}
}
