package servertest_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestMainJob walks from an uploaded template to a stopped workspace over the
// real API, with a built-in provisioner and the echo engine.
func TestMainJob(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, c := t.Context(), s.Client
	archive, err := echo.Archive(map[string]string{
		"plan.jsonl":  `{"log": {"level": "INFO", "output": "planned"}}`,
		"apply.jsonl": `{"log": {"level": "INFO", "output": "applied"}}`,
		"graph.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "${token}"}]}]}}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, c, "/templateversions/"+v.ID.String()+"/logs")
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "echo", TemplateVersionID: v.ID})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: tpl.ID})
	if err != nil {
		t.Fatal(err)
	}
	if log := follow(t, c, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/logs"); !strings.Contains(log, "applied") {
		t.Errorf("the build's log lacks the apply:\n%s", log)
	}
	if w, err = c.Workspace(ctx, w.ID, nil); err != nil {
		t.Fatal(err)
	}
	if w.LatestBuild.Status != codersdk.WorkspaceStatusRunning || len(w.LatestBuild.Resources) != 1 || len(w.LatestBuild.Resources[0].Agents) != 1 {
		t.Fatalf("after the build: %s %+v, error %q", w.LatestBuild.Status, w.LatestBuild.Resources, w.LatestBuild.Job.Error)
	}
	b, err := c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, c, "/workspacebuilds/"+b.ID.String()+"/logs")
	if _, err := c.Workspace(ctx, w.ID, nil); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("the deleted workspace: %v", err)
	}
}

func follow(t testing.TB, c *codersdk.Client, path string) string {
	t.Helper()
	var b strings.Builder
	if err := codersdk.Follow(t.Context(), c, path, url.Values{"follow": {"true"}}, func(l codersdk.ProvisionerJobLog) error {
		b.WriteString(l.Stage + ": " + l.Output + "\n")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
