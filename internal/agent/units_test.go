package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/startup"
)

// Start scripts, which run side by side, come in the order that they agree on.
func TestScriptsInOrder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are of a shell")
	}
	coderPath := filepath.Join(t.TempDir(), "coder")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", coderPath, "github.com/seed-2a7f8fe7/coder/cmd/coder-agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h := agenttest.New(t)
	u, _ := h.Serve("")
	done := filepath.Join(t.TempDir(), "done")
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		sync := coderPath + " exp sync "
		p.Scripts = []*provisioner.Script{
			{DisplayName: "Last", RunOnStart: true, Script: sync + "want last first second && " + sync + "start last && echo last >> " + done},
			{DisplayName: "Second", RunOnStart: true, Script: sync + "want second first && " + sync + "start second && echo second >> " + done + " && " + sync + "complete second"},
			{DisplayName: "First", RunOnStart: true, Script: "sleep 0.3; " + sync + "start first && echo first >> " + done + " && " + sync + "complete first"},
		}
	})
	dir, err := os.MkdirTemp("", "agent") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	stop := process(t, u, a.Token, func(c *agent.Config) { c.SocketServer, c.ScriptDataDir = true, dir })
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	if b, err := os.ReadFile(done); err != nil || string(b) != "first\nsecond\nlast\n" {
		t.Errorf("%q %v\n%s", b, err, logText(t, h, a.ID))
	}
	c, _ := shell(t, h, a)
	path := strings.TrimSpace(output(t, c, "echo $CODER_AGENT_SOCKET_PATH"))
	if id, err := (&startup.Client{Path: path}).Ping(t.Context()); err != nil || id != a.ID {
		t.Errorf("at %q: %s %v", path, id, err)
	}
	if out := output(t, c, coderPath+" exp sync ping"); !strings.Contains(out, a.ID.String()) {
		t.Errorf("%q", out)
	}
	c.Close()
	stop()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// A socket that cannot be where it is wanted is elsewhere, and without one no
// variable names one.
func TestSocketPath(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep", 25))
	for name, tc := range map[string]struct {
		change func(*agent.Config)
		served bool
	}{
		"turned off": {func(c *agent.Config) {
			c.SocketServer, c.Env = false, append(c.Env, "CODER_AGENT_SOCKET_PATH=/of/another")
		}, false},
		"no place": {func(c *agent.Config) { c.SocketServer, c.SocketPath = true, "/nowhere/at/all.sock" }, true},
		"too deep": {func(c *agent.Config) { c.SocketServer, c.ScriptDataDir = true, deep }, true},
	} {
		a := h.Workspace(strings.ReplaceAll(name, " ", "-"))
		process(t, u, a.Token, tc.change)
		reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
		c, _ := shell(t, h, a)
		path := strings.TrimSpace(output(t, c, "echo \"$CODER_AGENT_SOCKET_PATH\""))
		if tc.served != (path != "") {
			t.Errorf("%s: the variable is %q", name, path)
		}
		if !tc.served {
			continue
		}
		if id, err := (&startup.Client{Path: path}).Ping(t.Context()); err != nil || id != a.ID {
			t.Errorf("%s: at %q: %s %v", name, path, id, err)
		}
	}
}
