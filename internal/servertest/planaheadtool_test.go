package servertest_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// startPlanned stops a workspace of a template, waits for the plan of its start, and starts it,
// which must only apply.
func (h *house) startPlanned(source string) (codersdk.Workspace, codersdk.WorkspaceBuild) {
	h.t.Helper()
	w := h.stopped("dev", source)
	h.ahead(w)
	b, log := h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	if !strings.Contains(log, applied) || strings.Contains(log, "Planning:") || b.Status != codersdk.WorkspaceStatusRunning {
		h.t.Errorf("the workspace is %s, and the start did not use its plan:\n%s", b.Status, log)
	}
	return w, b
}

// TestOpenTofuAppliesItsPlan: a start is planned and applied by OpenTofu.
func TestOpenTofuAppliesItsPlan(t *testing.T) {
	if _, err := exec.LookPath("tofu"); err != nil {
		t.Skip("tofu is not on PATH")
	}
	list := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "terraform")) // it would be preferred
		return err == nil
	})
	t.Setenv("PATH", strings.Join(list, string(filepath.ListSeparator)))
	h := newHouse(t, nil)
	_, b := h.startPlanned(planned)
	if !bytes.Contains(h.state(b.ID), []byte("registry.opentofu.org/coder/coder")) {
		t.Error("the state is not one of OpenTofu")
	}
}

// TestAPlanUsesStoredModules: the modules that the server stores are part of the plan. Without
// them there is none.
func TestAPlanUsesStoredModules(t *testing.T) {
	repository := t.TempDir()
	fatal(t, os.WriteFile(filepath.Join(repository, "main.tf"), []byte(`resource "terraform_data" "of_module" {}`), 0o600))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	h := newHouse(t, nil)
	w, b := h.startPlanned(planned + "module \"m\" {\n  source = \"git::file://" + repository + "\"\n}\n")
	if !bytes.Contains(h.state(b.ID), []byte("of_module")) {
		t.Error("the resource of the module is missing")
	}
	_, err := h.Client.UpdateTemplate(t.Context(), w.TemplateID, codersdk.UpdateTemplateMeta{DisableModuleCache: new(true)})
	fatal(t, err)
	h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	r := testwait.Value(t, "the workspace was examined", func() row { return h.row(w) }, func(r row) bool { return r.Reason != "" || len(r.Plan) > 0 })
	if !strings.HasSuffix(r.Reason, `the source of module "m" is not stored`) {
		t.Errorf("the reason is %q", r.Reason)
	}
}
