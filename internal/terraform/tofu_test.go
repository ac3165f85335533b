package terraform

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/enginetest"
)

// TestOpenTofu is what every engine must do, and a build, with OpenTofu where
// there is one on the PATH.
func TestOpenTofu(t *testing.T) {
	tofu, err := exec.LookPath("tofu")
	if err != nil {
		t.Skip("no tofu on the PATH")
	}
	t.Setenv("TF_CLI_CONFIG_FILE", "/nonexistent")
	e, err := New(Config{CacheDir: t.TempDir(), Binary: tofu, Grace: 2 * time.Second, Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	if tool, err := e.Tool(t.Context()); err != nil || !strings.HasPrefix(tool, "tofu/") {
		t.Fatalf("the tool is %q, %v", tool, err)
	}
	j, _ := open(t, e, map[string]string{"main.tf": simple})
	_, graph := j.build(provisioner.WorkspaceTransition_START, nil)
	if len(graph.GetResources()) == 0 {
		t.Error("the build made nothing")
	}
	enginetest.Run(t, e, suiteTemplates(t))
}
