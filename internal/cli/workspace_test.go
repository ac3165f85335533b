package cli

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func (h *house) builds(w codersdk.Workspace) int {
	h.t.Helper()
	all, err := h.Client.WorkspaceBuilds(h.t.Context(), w.ID, nil)
	h.must(err)
	return len(all)
}

// TestNoBuildForNothing: what is stopped is not stopped again, nor what runs
// started, unless something of it changes. (WS-06)
func TestNoBuildForNothing(t *testing.T) {
	h := newHouse(t, nil)
	h.template("plain", map[string]string{"readme.md": "Nothing."})
	h.ok("create", "dev", "-t", "plain", "--yes")
	w, err := h.Client.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	h.must(err)
	for _, c := range []struct {
		line   string
		says   string
		builds int
	}{
		{"start dev", "Workspace dev is already started.", 1},
		{"stop dev --yes", "Stopped workspace dev.", 2},
		{"stop dev", "Workspace dev is already stopped.", 2},
		{"stop dev --yes", "Workspace dev is already stopped.", 2},
		{"restart dev --yes", "Workspace dev is restarted.", 3}, // there is nothing to stop
		{"restart dev --yes", "Workspace dev is restarted.", 5},
		{"start dev --no-wait", "Workspace dev is already started.", 5},
		{"update dev", "already on the active version", 5},
	} {
		out, _ := h.ok(strings.Fields(c.line)...)
		if n := h.builds(w); n != c.builds || !strings.Contains(out, c.says) {
			t.Errorf("coder %s: %d builds, want %d; it says %q", c.line, n, c.builds, out)
		}
	}
}

// TestStartWithNewValues: a workspace that runs is built again when the values
// of its parameters are given.
func TestStartWithNewValues(t *testing.T) {
	h := newHouse(t, nil)
	h.template("sized", map[string]string{
		"graph.jsonl": `{"complete": {"parameters": [{"name": "size", "type": "string", "mutable": true, "defaultValue": "s"}]}}`,
	})
	h.ok("create", "dev", "-t", "sized", "--yes")
	w, err := h.Client.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	h.must(err)
	h.ok("start", "dev", "--parameter", "size=l")
	if n := h.builds(w); n != 2 {
		t.Errorf("%d builds after a start with another value, want 2", n)
	}
	if out, _ := h.ok("start", "dev", "--parameter", "size=l"); h.builds(w) != 2 || !strings.Contains(out, "already started") {
		t.Errorf("%d builds after a start with the value that it has, want 2; %s", h.builds(w), out)
	}
	w, err = h.Client.Workspace(t.Context(), w.ID, nil)
	h.must(err)
	values, err := h.Client.WorkspaceBuildParameters(t.Context(), w.LatestBuild.ID)
	h.must(err)
	if len(values) != 1 || values[0].Value != "l" {
		t.Errorf("the values are %+v", values)
	}
}

// TestTemplatesDeleteRefused: a refusal is one line that says it once.
func TestTemplatesDeleteRefused(t *testing.T) {
	h := newHouse(t, nil)
	h.template("plain", map[string]string{"readme.md": "Nothing."})
	h.ok("create", "dev", "-t", "plain", "--yes")
	out, errs, status := h.run("templates", "delete", "plain", "--yes")
	if status != 1 || out != "" || errs != "error: The template plain still has 1 workspace(s); delete them first\n" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}
