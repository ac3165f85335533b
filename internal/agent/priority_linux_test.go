package agent_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// Sessions, terminals and scripts yield to the agent, which stays as it was.
func TestProcessesYield(t *testing.T) {
	program := filepath.Join(t.TempDir(), "coder")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/seed-2a7f8fe7/coder/cmd/coder-agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h := agenttest.New(t)
	u, _ := h.Serve("")
	const tell = `read a b c d e f g h i j k l m n o p q r nice rest </proc/self/stat; echo $nice $(cat /proc/self/oom_score_adj)`
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", RunOnStart: true, Script: "#!/bin/bash\n" + tell}}
	})
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "agent")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "SHELL=/bin/bash", "CODER_AGENT_URL="+u.String(), "CODER_AGENT_TOKEN="+a.Token, "CODER_AGENT_LOG_DIR="+t.TempDir(),
		"CODER_AGENT_DEBUG_ADDRESS=", "CODER_PROC_PRIO_MGMT=1", "CODER_PROC_NICE_SCORE=7", "CODER_PROC_OOM_SCORE=321")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = cmd.Wait() }() // it was told to end
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	testwait.Value(t, "the log of the script", func() string { return logText(t, h, a.ID) },
		func(text string) bool { return strings.Contains(text, "info: 7 321\n") })
	c, _ := shell(t, h, a)
	if out := output(t, c, tell); out != "7 321\n" {
		t.Errorf("a session: %q", out)
	}
	if out := output(t, c, "echo $0 $CODER_WORKSPACE_NAME; exit 0"); !strings.HasSuffix(out, "bash ws\n") {
		t.Errorf("%q", out)
	}
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run("kill -TERM $$"); err == nil || !strings.Contains(err.Error(), "TERM") {
		t.Errorf("how it ended: %v", err)
	}
	if s, err = c.NewSession(); err != nil {
		t.Fatal(err)
	}
	s.Stdin = strings.NewReader("shopt -q login_shell && echo login; " + tell + "\n")
	var out strings.Builder
	s.Stdout = &out
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil || out.String() != "login\n7 321\n" {
		t.Errorf("a login shell: %q %v", out.String(), err)
	}
}

func TestPriorityOfTheEnvironment(t *testing.T) {
	base := []string{"CODER_AGENT_URL=http://x", "CODER_AGENT_TOKEN=00000000-0000-4000-8000-000000000000"}
	for _, tc := range []struct {
		env  string
		args string // a part, "" for no change
		fail string
	}{
		{env: ""},
		{env: "CODER_PROC_PRIO_MGMT=false CODER_PROC_NICE_SCORE=x"},
		{env: "CODER_PROC_PRIO_MGMT=1", args: "coder agent-exec /bin/sh"},
		{env: "CODER_PROC_PRIO_MGMT=true CODER_PROC_NICE_SCORE=-3 CODER_PROC_OOM_SCORE=-20", args: "coder agent-exec /bin/sh -3 -20 sh -c true"},
		{env: "CODER_PROC_PRIO_MGMT=maybe", fail: "CODER_PROC_PRIO_MGMT"},
		{env: "CODER_PROC_PRIO_MGMT=1 CODER_PROC_NICE_SCORE=20", fail: "from -20 to 19"},
		{env: "CODER_PROC_PRIO_MGMT=1 CODER_PROC_OOM_SCORE=a", fail: "from -1000 to 1000"},
	} {
		c, err := agent.ConfigFromEnv(append(base, strings.Fields(tc.env)...))
		switch {
		case tc.fail != "":
			if !codersdk.Is(err, codersdk.CodeInvalid) || !strings.Contains(err.Error(), tc.fail) {
				t.Errorf("%s: %v", tc.env, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tc.env, err)
		case tc.args == "" && c.Prioritize != nil:
			t.Errorf("%s: processes are changed", tc.env)
		case tc.args != "":
			cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", "true"}}
			if c.Prioritize(cmd); !strings.Contains(strings.Join(cmd.Args, " "), tc.args) || cmd.Path != "/proc/self/exe" {
				t.Errorf("%s: %v", tc.env, cmd)
			}
		}
	}
	for _, args := range [][]string{nil, {"/bin/true", "x", "1", "true"}, {"/nowhere/at/all", "0", "0", "x"}} {
		if err := agent.Exec(args, nil); err == nil {
			t.Errorf("%q ran", args)
		}
	}
}
