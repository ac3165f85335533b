package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestExternalWorkspaces: the commands create a workspace whose agent its user
// starts, print how to start the agent, and list such workspaces alone. (WS-27)
func TestExternalWorkspaces(t *testing.T) {
	h := newHouse(t, nil)
	const token = "5f0c7a3e-3c1a-4d2e-9f51-6a1c2b3d4e5f"
	agent := func(name, token string) string {
		return `{"type": "coder_external_agent", "name": "` + name + `", "agents": [{"id": "` + name + `", "name": "` + name +
			`", "operatingSystem": "linux", "architecture": "amd64", "token": "` + token + `"}]}`
	}
	h.template("external", map[string]string{"graph.jsonl": `{"complete": {"hasExternalAgents": true, "resources": [` + agent("main", token) + `]}}`})
	h.template("plain", map[string]string{"readme.md": "Nothing."})

	out, _ := h.ok("external-workspaces", "create", "lab", "-t", "external", "--yes")
	if !strings.Contains(out, "/init-script/linux/amd64") || !strings.Contains(out, token) {
		t.Errorf("create prints %q, want the command with the token", out)
	}
	if _, errs, status := h.run("external-workspaces", "create", "other", "-t", "plain", "--yes"); status != 1 || !strings.Contains(errs, "has no external agent") || !strings.Contains(errs, "coder create") {
		t.Errorf("a template without an external agent: status %d, %q", status, errs)
	}
	if _, errs, status := h.run("show", "other"); status != 1 {
		t.Errorf("the refused workspace exists: status %d, %q", status, errs)
	}
	h.ok("create", "dev", "-t", "plain", "--yes")

	var got map[string]string
	out, _ = h.ok("external-workspaces", "agent-instructions", "lab", "-o", "json")
	if err := json.Unmarshal([]byte(out), &got); err != nil || got["auth_token"] != token || got["auth_type"] != "token" ||
		got["agent_name"] != "main" || got["workspace_name"] != "lab" || !strings.HasPrefix(got["init_script"], "curl ") {
		t.Errorf("agent-instructions: %v, %s", err, out)
	}
	if out, _ := h.ok("external-workspaces", "agent-instructions", "lab.main"); !strings.Contains(out, "start agent main") || !strings.Contains(out, token) {
		t.Errorf("agent-instructions as text: %q", out)
	}
	for _, c := range []struct{ line, says string }{
		{"agent-instructions dev", "workspace dev has no external agent"},
		{"agent-instructions lab.other", `has no external agent "other"; it has main`},
		{"agent-instructions nowhere", "you have no workspace nowhere"},
		{"-O elsewhere agent-instructions lab", "not in elsewhere"},
		{"-O elsewhere list", `organization "elsewhere" not found`},
	} {
		if _, errs, status := h.run(append([]string{"external-workspaces"}, strings.Fields(c.line)...)...); status != 1 || !strings.Contains(errs, c.says) {
			t.Errorf("%s: status %d, %q, want %q", c.line, status, errs, c.says)
		}
	}

	var rows []struct{ Name string }
	out, _ = h.ok("external-workspaces", "list", "-o", "json")
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 1 || rows[0].Name != "lab" {
		t.Errorf("list: %v, %+v", err, rows)
	}
	if out, _ = h.ok("external-workspaces", "list", "--all"); !strings.Contains(out, "/lab") || strings.Contains(out, "/dev") || !strings.HasPrefix(out, "WORKSPACE") {
		t.Errorf("list --all: %q", out)
	}
}
