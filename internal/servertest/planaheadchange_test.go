package servertest_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// owned reads everything of the owner that a template can.
var owned = strings.Replace(planned, "${data.coder_workspace_owner.me.name}",
	"${join(\" \", [data.coder_workspace_owner.me.name, data.coder_workspace_owner.me.full_name, data.coder_workspace_owner.me.ssh_public_key, "+
		"jsonencode(data.coder_workspace_owner.me.groups), jsonencode(data.coder_workspace_owner.me.rbac_roles), data.coder_workspace.me.template_version])}", 1)

// TestAStalePlanIsDiscarded changes one input of a planned start after the other, through the
// API: the start plans again and comes to the state of a build without a plan. Without a
// change the start uses its plan.
func TestAStalePlanIsDiscarded(t *testing.T) {
	h := newHouse(t, nil)
	w := h.stopped("dev", owned)
	c, ctx, n := h.Client, t.Context(), 0
	request := codersdk.CreateWorkspaceBuildRequest{}
	word := func() string { n++; return "x" + string(rune('a'+n)) }
	group, err := c.CreateGroup(ctx, "default", codersdk.CreateGroupRequest{Name: "admins"})
	fatal(t, err)
	me, err := c.User(ctx, "me")
	fatal(t, err)
	changes := map[string]func(){
		"nothing": func() {},
		"owner's name": func() {
			_, err := c.UpdateUserProfile(ctx, "me", codersdk.UpdateUserProfileRequest{Username: word(), Name: word()})
			fatal(t, err)
		},
		"group": func() {
			_, err := c.UpdateGroup(ctx, group.ID, codersdk.PatchGroupRequest{AddUsers: []string{me.ID.String()}})
			fatal(t, err)
		},
		"role": func() {
			_, err := c.UpdateOrganizationMemberRoles(ctx, "default", "me", codersdk.UpdateRoles{Roles: []string{"organization-auditor"}})
			fatal(t, err)
		},
		"SSH key": func() {
			_, err := c.RegenerateGitSSHKey(ctx, "me")
			fatal(t, err)
		},
		"parameter": func() {
			request.RichParameterValues = []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "7"}}
		},
		"version": func() {
			request.TemplateVersionID = h.version(w.TemplateID, owned+"# "+word()).ID
		},
		"state": func() {
			b, err := c.Workspace(ctx, w.ID, nil)
			fatal(t, err)
			state := regexp.MustCompile(`"serial": *\d+`).ReplaceAll(h.state(b.LatestBuild.ID), []byte(`"serial": 99`))
			fatal(t, c.UpdateWorkspaceBuildState(ctx, b.LatestBuild.ID, codersdk.UpdateWorkspaceBuildStateRequest{State: state}))
		},
		"another build": func() {
			h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
			_, err := h.db.Exec(ctx, `DELETE FROM workspace_plans`) // the one that may have been made since
			fatal(t, err)
		},
	}
	for name, change := range changes {
		h.ahead(w)
		request = codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart}
		change()
		b, log := h.build(w, request)
		if uses := strings.Contains(log, applied); uses != (name == "nothing") {
			t.Errorf("after a change of %s the start uses its plan: %t\n%s", name, uses, log)
		}
		got := h.state(b.ID)
		h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
		_, err := h.db.Exec(ctx, `DELETE FROM workspace_plans`)
		fatal(t, err)
		request.RichParameterValues = nil // those of the previous build
		b, log = h.build(w, request)
		if name != "another build" && strings.Contains(log, applied) {
			continue // it was planned again at once
		}
		compare(t, h.state(b.ID), got)
		h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	}
}

// slow is a template whose start takes seconds to plan.
const slow = planned + `
locals {
  work = data.coder_workspace.me.start_count == 0 ? 0 : sum([for a in range(60) : length([for b in range(1000) : md5("${a} ${b}")])])
}
resource "terraform_data" "work" {
  count = data.coder_workspace.me.start_count
  input = local.work
}
`

// planning waits until the start of a workspace is being planned and returns the job.
func (h *house) planning() uuid.UUID {
	h.t.Helper()
	return testwait.Value(h.t, "a start is being planned", func() (id uuid.UUID) {
		_ = h.db.QueryRow(h.t.Context(), `SELECT id FROM provisioner_jobs WHERE priority = 2 AND started_at IS NOT NULL AND completed_at IS NULL`).Scan(&id)
		return id
	}, func(id uuid.UUID) bool { return id != uuid.Nil }, testwait.Every(5*time.Millisecond))
}

// TestPlansGiveWay: when all provisioners are busy and one of them plans ahead, a user's build
// takes its place at once. The workspace is planned again later.
func TestPlansGiveWay(t *testing.T) {
	h := newHouse(t, nil)
	w := h.stopped("slow", slow)
	id := h.planning()
	var waited []time.Duration
	for _, name := range []string{"one", "two", "three"} {
		b, err := h.Client.CreateWorkspace(t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: w.TemplateID})
		fatal(t, err)
		if name == "three" {
			continue // it waits for the other two
		}
		var wait float64
		testwait.Until(t, "the build is picked up", func() bool {
			return h.db.QueryRow(t.Context(), `SELECT extract(epoch FROM j.started_at - j.created_at)::float8 FROM provisioner_jobs j JOIN workspace_builds b ON b.job_id = j.id
				WHERE b.id = $1 AND j.started_at IS NOT NULL`, b.LatestBuild.ID).Scan(&wait) == nil
		}, testwait.Every(5*time.Millisecond))
		waited = append(waited, time.Duration(wait*float64(time.Second)))
	}
	t.Logf("the builds waited %v", waited)
	var status string
	fatal(t, h.db.QueryRow(t.Context(), `SELECT status FROM provisioner_jobs WHERE id = $1`, id).Scan(&status))
	if status != "canceled" {
		t.Errorf("the job that planned is %s", status)
	}
	var early int
	fatal(t, h.db.QueryRow(t.Context(), `SELECT count(*) FROM provisioner_jobs a JOIN provisioner_jobs u ON u.priority < 2 AND u.created_at < a.started_at AND (u.started_at IS NULL OR u.started_at > a.started_at)
		WHERE a.priority = 2`).Scan(&early))
	if early > 0 {
		t.Errorf("%d jobs that plan ahead were started while a user's job waited", early)
	}
	h.ahead(w)
	if _, log := h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart}); !strings.Contains(log, applied) {
		t.Errorf("the start does not use its plan:\n%s", log)
	}
}

// TestALostPlannerIsReplaced: when the provisioner that plans is lost, another one plans, and
// nothing of the first one is kept.
func TestALostPlannerIsReplaced(t *testing.T) {
	h := newHouse(t, nil)
	w := h.stopped("slow", slow)
	id := h.planning()
	_, err := h.db.Exec(t.Context(), `UPDATE provisioner_jobs SET lease_expires_at = now() - interval '1 minute', fence = fence + 1 WHERE id = $1`, id)
	fatal(t, err)
	h.ahead(w)
	var fence int64
	fatal(t, h.db.QueryRow(t.Context(), `SELECT fence FROM provisioner_jobs WHERE id = $1`, id).Scan(&fence))
	if fence < 3 {
		t.Errorf("the job was claimed under the fence %d", fence)
	}
	if _, log := h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart}); !strings.Contains(log, applied) {
		t.Errorf("the start does not use its plan:\n%s", log)
	}
}

// TestPlansAreSealed: the database does not show what a plan contains, and a reason does not
// either.
func TestPlansAreSealed(t *testing.T) {
	h := newHouse(t, func(c *server.Config) {
		c.Database.EncryptionKeys = []string{"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}
	})
	r := h.ahead(h.stopped("dev", planned))
	if r.KeyID == "" || bytes.Contains(r.Plan, []byte("basis")) || len(r.Key) != 32 {
		t.Errorf("a plan of %d bytes is stored with the key %q: %.40q", len(r.Plan), r.KeyID, r.Plan)
	}
}

// TestATemplateWithoutPlans: the reason is recorded, and starts plan.
func TestATemplateWithoutPlans(t *testing.T) {
	h := newHouse(t, nil)
	w := h.stopped("dev", planned+"locals { token = data.coder_workspace_owner.me.session_token }")
	r := testwait.Value(t, "the workspace was examined", func() row { return h.row(w) }, func(r row) bool { return r.Reason != "" })
	if want := "main.tf:30: the template reads a token that is issued for each build"; r.Reason != want || len(r.Plan) > 0 {
		t.Errorf("the reason is %q, want %q", r.Reason, want)
	}
	if _, log := h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart}); !strings.Contains(log, "Planning:") {
		t.Errorf("the start did not plan:\n%s", log)
	}
}
