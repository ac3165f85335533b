package servertest_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// planned is a template whose start can be planned ahead.
const planned = `terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}
data "coder_parameter" "size" {
  name    = "size"
  type    = "number"
  default = 2
  mutable = true
}
resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
}
resource "coder_app" "web" {
  agent_id = coder_agent.main.id
  slug     = "web"
  url      = "http://localhost:8080"
}
resource "terraform_data" "host" {
  count = data.coder_workspace.me.start_count
  input = "${data.coder_workspace_owner.me.name}-${data.coder_parameter.size.value}-${coder_agent.main.token}"
  provisioner "local-exec" {
    command = "true"
  }
}
`

// house is a server with real Terraform.
type house struct {
	*servertest.Server
	t  testing.TB
	db *pgx.Conn
}

func newHouse(t testing.TB, change func(*server.Config)) *house {
	_, err := exec.LookPath("terraform")
	if _, tofu := exec.LookPath("tofu"); err != nil && tofu != nil {
		t.Skip("terraform is not on PATH: this test of the real thing does not run")
	}
	t.Setenv("TF_CLI_CONFIG_FILE", "/nonexistent")
	s := servertest.Start(t, func(c *server.Config) {
		c.Provisioning.Engines, c.Provisioning.Daemons, c.Workspaces.PlansAhead = []string{"terraform"}, 2, 10
		if change != nil {
			change(c)
		}
	})
	db, err := pgx.Connect(t.Context(), s.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(t.Context()) })
	return &house{Server: s, t: t, db: db}
}

// version imports a template version; template is Nil for the first one.
func (h *house) version(template uuid.UUID, source string) codersdk.TemplateVersion {
	h.t.Helper()
	up, err := h.Client.Upload(h.t.Context(), "application/x-tar", bytes.NewReader(testtar.Of(h.t, map[string]string{"main.tf": source})))
	fatal(h.t, err)
	v, err := h.Client.CreateTemplateVersion(h.t.Context(), "default", codersdk.CreateTemplateVersionRequest{
		TemplateID: template, FileID: uuid.MustParse(up.Hash), Provisioner: "terraform", StorageMethod: "file",
	})
	fatal(h.t, err)
	return testwait.Value(h.t, "the version is imported", func() codersdk.TemplateVersion {
		v, err := h.Client.TemplateVersion(h.t.Context(), v.ID)
		fatal(h.t, err)
		if v.Job.Status == codersdk.ProvisionerJobStatusFailed {
			h.t.Fatal(v.Job.Error)
		}
		return v
	}, func(v codersdk.TemplateVersion) bool { return v.Job.Status == codersdk.ProvisionerJobStatusSucceeded }, testwait.Every(200*time.Millisecond))
}

// stopped creates a workspace of a template and stops it.
func (h *house) stopped(name, source string) codersdk.Workspace {
	h.t.Helper()
	t, err := h.Client.CreateTemplate(h.t.Context(), "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: h.version(uuid.Nil, source).ID})
	fatal(h.t, err)
	w, err := h.Client.CreateWorkspace(h.t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: t.ID})
	fatal(h.t, err)
	h.wait(w.LatestBuild.ID)
	h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	return w
}

// build runs a build and returns its log.
func (h *house) build(w codersdk.Workspace, req codersdk.CreateWorkspaceBuildRequest) (codersdk.WorkspaceBuild, string) {
	h.t.Helper()
	b, err := h.Client.CreateWorkspaceBuild(h.t.Context(), w.ID, req)
	fatal(h.t, err)
	return h.wait(b.ID)
}

func (h *house) wait(build uuid.UUID) (codersdk.WorkspaceBuild, string) {
	h.t.Helper()
	log := follow(h.t, h.Client, "/workspacebuilds/"+build.String()+"/logs")
	b, err := h.Client.WorkspaceBuild(h.t.Context(), build)
	fatal(h.t, err)
	if b.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		h.t.Fatalf("build %d is %s: %s\n%s", b.BuildNumber, b.Job.Status, b.Job.Error, log)
	}
	return b, log
}

// row is the row of workspace_plans of a workspace.
type row struct {
	Plan, Key []byte
	KeyID     string
	Reason    string
}

func (h *house) row(w codersdk.Workspace) (r row) {
	h.t.Helper()
	err := h.db.QueryRow(h.t.Context(), `SELECT plan, key, plan_key_id, reason FROM workspace_plans WHERE workspace_id = $1`, w.ID).Scan(&r.Plan, &r.Key, &r.KeyID, &r.Reason)
	if err != nil && err != pgx.ErrNoRows {
		h.t.Fatal(err)
	}
	return r
}

// ahead waits until the start of a workspace is planned.
func (h *house) ahead(w codersdk.Workspace) row {
	h.t.Helper()
	return testwait.Value(h.t, "the start is planned", func() row { return h.row(w) }, func(r row) bool {
		if r.Reason != "" {
			h.t.Fatalf("there is no plan: %s", r.Reason)
		}
		return len(r.Plan) > 0
	})
}

const applied = "is applied\n"

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAStartAppliesItsPlan: a stopped workspace is planned, its start only applies, and the
// workspace is that of a build that plans.
func TestAStartAppliesItsPlan(t *testing.T) {
	h := newHouse(t, nil)
	w := h.stopped("dev", planned)
	h.ahead(w)
	began := time.Now()
	b, log := h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	t.Logf("the start took %s\n%s", time.Since(began), log)
	if !strings.Contains(log, applied) || strings.Contains(log, "Planning:") {
		t.Errorf("the start did not use the plan:\n%s", log)
	}
	if r := h.row(w); len(r.Plan) > 0 {
		t.Error("the plan of a start that began is still kept")
	}
	if len(b.Resources) == 0 || b.Status != codersdk.WorkspaceStatusRunning {
		t.Errorf("the build is %s with %d resources", b.Status, len(b.Resources))
	}
	// Another start plans, and comes to the same state.
	before := h.state(b.ID)
	h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	h.ahead(w)
	_, err := h.db.Exec(t.Context(), `DELETE FROM workspace_plans`)
	fatal(t, err)
	again, log := h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	if strings.Contains(log, applied) {
		t.Fatalf("the second start used a plan:\n%s", log)
	}
	compare(t, before, h.state(again.ID))
}
