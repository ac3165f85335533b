package agent_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func TestScriptsByTheClock(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{
			{DisplayName: "Every second", Script: "echo tick", Cron: "* * * * * *"},
			{DisplayName: "Never", Script: "echo never", Cron: "nonsense"},
		}
	})
	process(t, u, a.Token)
	testwait.Until(t, "two ticks", func() bool { return strings.Count(logText(t, h, a.ID), "tick") >= 2 })
	if strings.Contains(logText(t, h, a.ID), "never") {
		t.Error("a script without a readable schedule ran")
	}
}

func TestHealthOfApps(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	var broken atomic.Bool
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer app.Close()
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Apps = []*provisioner.App{{Slug: "code", Url: app.URL, Healthcheck: &provisioner.Healthcheck{Url: app.URL, Interval: 1, Threshold: 2}}}
	})
	health := func() codersdk.WorkspaceAppHealth { return view(t, h, a.ID).Apps[0].Health }
	if got := health(); got != codersdk.WorkspaceAppHealthInitializing {
		t.Errorf("at first it is %s", got)
	}
	process(t, u, a.Token)
	testwait.Until(t, "healthy", func() bool { return health() == codersdk.WorkspaceAppHealthHealthy })
	broken.Store(true)
	testwait.Until(t, "unhealthy", func() bool { return health() == codersdk.WorkspaceAppHealthUnhealthy })
	broken.Store(false)
	testwait.Until(t, "healthy again", func() bool { return health() == codersdk.WorkspaceAppHealthHealthy })
}

func TestHowStopScriptsEnd(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	for name, tc := range map[string]struct {
		script string
		state  codersdk.WorkspaceAgentLifecycle
	}{
		"fails":   {"exit 1", codersdk.WorkspaceAgentLifecycleShutdownError},
		"timeout": {"trap '' TERM; sleep 0.1; exec sleep 100", codersdk.WorkspaceAgentLifecycleShutdownTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := h.Workspace("ws-"+name, func(p *provisioner.Agent) {
				p.Scripts = []*provisioner.Script{{DisplayName: "Stop", Script: tc.script, RunOnStop: true, TimeoutSeconds: 1}}
			})
			stop := process(t, u, a.Token)
			reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
			stop()
			if got := view(t, h, a.ID).LifecycleState; got != tc.state {
				t.Errorf("it is %s, not %s", got, tc.state)
			}
		})
	}
}

// A stop while the start scripts run ends them first.
func TestStopDuringStart(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", Script: "echo begun; exec sleep 1000", RunOnStart: true}}
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "slow", Script: "exec sleep 1000", Interval: 1, Timeout: 1}}
	})
	stop := process(t, u, a.Token)
	testwait.Until(t, "it runs", func() bool { return strings.Contains(logText(t, h, a.ID), "begun") })
	testwait.Until(t, "the metadata failed", func() bool {
		m, err := h.Presence.Metadata(t.Context(), h.Owner, a.ID)
		return err == nil && strings.Contains(m[0].Result.Error, "within 1s")
	})
	stop()
	if got := view(t, h, a.ID).LifecycleState; got != codersdk.WorkspaceAgentLifecycleOff {
		t.Errorf("it is %s", got)
	}
}

// Commands are not run from a directory that all users can write to.
func TestScriptsDataIsPrivate(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	dir := t.TempDir()
	open := filepath.Join(dir, "coder-script-data")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", RunOnStart: true, Script: "echo at $CODER_SCRIPT_BIN_DIR; test -d $CODER_SCRIPT_DATA_DIR"}}
	})
	process(t, u, a.Token, func(c *agent.Config) { c.ScriptDataDir = dir })
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	testwait.Until(t, "it said where", func() bool { return strings.Contains(logText(t, h, a.ID), "at /") })
	if text := logText(t, h, a.ID); strings.Contains(text, dir) {
		t.Errorf("%s", text)
	}
}

// A profile that sets PATH, as that of Debian does, hides neither the agent's program nor those that scripts install.
func TestScriptFindsPrograms(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".profile"), []byte("PATH=/usr/bin:/bin\nFROM_PROFILE=yes\ngreet() { echo hello; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = `set -e
echo '#!/bin/sh' > "$CODER_SCRIPT_BIN_DIR/tool"
chmod +x "$CODER_SCRIPT_BIN_DIR/tool"
tool
%s -test.list=nothing > /dev/null
echo "$FROM_PROFILE $# $(basename "$0") $(greet)"
exit 3
`
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", RunOnStart: true, Script: fmt.Sprintf(script, filepath.Base(exe))}}
	})
	process(t, u, a.Token, func(c *agent.Config) { c.Env = append(c.Env, "HOME="+home) })
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleStartError)
	testwait.Until(t, "the script ends", func() bool { return strings.Contains(logText(t, h, a.ID), "exit code") })
	if text := logText(t, h, a.ID); !strings.Contains(text, "yes 0 script hello") || !strings.Contains(text, "exit code 3") {
		t.Errorf("%s", text)
	}
}

// The agent's own log and those of scripts are files, each kept small.
func TestLogFiles(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	dir := t.TempDir()
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{
			{DisplayName: "Start", Script: "echo to the common file", RunOnStart: true},
			{DisplayName: "Own", Script: "i=0; line=$(head -c 1000 /dev/zero | tr '\\0' x); while [ $i -lt 6000 ]; do echo $line; i=$((i+1)); done; echo last", RunOnStart: true, LogPath: "own.log"},
			{DisplayName: "Stop", Script: "echo bye", RunOnStop: true},
		}
	})
	stop := process(t, u, a.Token, func(c *agent.Config) { c.LogDir, c.Log = dir, nil })
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	stop()
	for file, text := range map[string]string{
		"coder-agent.log": "connected to the server", "coder-startup-script.log": "to the common file\n",
		"coder-shutdown-script.log": "bye\n", "own.log": "last\n", "own.log.old": "xxx",
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(b), text) {
			t.Errorf("%s: %v: %.100q", file, err, b)
		}
		if len(b) > 5<<20 {
			t.Errorf("%s has %d bytes", file, len(b))
		}
		if strings.Contains(string(b), a.Token) {
			t.Errorf("%s holds the token", file)
		}
	}
}
