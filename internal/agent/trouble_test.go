package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// logged is a log that tests read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

func (l *logged) config(c *agent.Config) { c.Log = slog.New(slog.NewTextHandler(l, nil)) }

// Tokens that are good for nothing: the agent says why, and tries on.
func TestTokensOfNobody(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	deleted, stopped := h.Workspace("deleted"), h.Workspace("stopped")
	h.Delete(deleted.WorkspaceID)
	h.Build(stopped.WorkspaceID, 2, codersdk.WorkspaceTransitionStop, "succeeded")
	for name, tc := range map[string]struct{ token, says string }{
		"unknown":              {uuid.NewString(), "The agent token is not valid"},
		"of a deleted one":     {deleted.Token, "The workspace of this agent was deleted"},
		"of a stopped one":     {stopped.Token, "belongs to an earlier build"},
		"of an agent, not its": {deleted.ID.String(), "The agent token is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log logged
			stop := process(t, u, tc.token, log.config)
			testwait.Until(t, tc.says, func() bool { return log.has(tc.says) })
			stop()
		})
	}
}

// A workspace that is stopped in the middle of a session: the server notifies the agent,
// and the session ends.
func TestStoppedInMidSession(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws")
	var log logged
	stop := process(t, u, a.Token, log.config)
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	c, _ := shell(t, h, a)
	if out := output(t, c, "echo in"); out != "in\n" {
		t.Errorf("%q", out)
	}
	h.Build(a.WorkspaceID, 2, codersdk.WorkspaceTransitionStop, "succeeded")
	testwait.Until(t, "the notification that the agent belongs to an earlier build", func() bool { return log.has("belongs to an earlier build") })
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	stop()
	<-ended
}

// Two processes with one token: the later one serves, the server notifies the former, long before
// its next ping, and stands aside, and both do not take turns.
func TestTwoAgentsWithOneToken(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws")
	var first, second logged
	rarely := func(c *agent.Config) { c.PingInterval = time.Hour }
	process(t, u, a.Token, first.config, rarely, func(c *agent.Config) { c.Env = append(c.Env, "WHICH=first") })
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	c, _ := shell(t, h, a)
	process(t, u, a.Token, second.config, rarely, func(c *agent.Config) { c.Env = append(c.Env, "WHICH=second") })
	testwait.Until(t, "the notification of the first process", func() bool { return first.has("took over; waiting") })
	c.Wait() //nolint:errcheck // the tunnels of the first have ended
	again, _ := shell(t, h, a)
	if out := output(t, again, "echo $WHICH"); out != "second\n" {
		t.Errorf("the %q serves", out)
	}
	if second.has("took over") {
		t.Error("they take turns")
	}
}

// A script that prints without end costs no memory: the server keeps its
// first megabyte, the file its last ones.
func TestScriptThatPrintsWithoutEnd(t *testing.T) {
	testFlood(t, 100_000_000)
}

// testFlood has a script print size bytes, more than the heap is allowed to grow by.
func testFlood(t *testing.T, size int) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	dir := t.TempDir()
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{
			{DisplayName: "Flood", RunOnStart: true, Script: "echo first; yes 'a line of a flood, which is of no use to anybody' | head -c " + strconv.Itoa(size)},
			{DisplayName: "One line", RunOnStart: true, Script: "head -c 50000000 /dev/zero | tr '\\0' x; echo"},
		}
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "flood", Script: "yes | head -c 100000000", Interval: 1000, Timeout: 60}}
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	process(t, u, a.Token, func(c *agent.Config) { c.LogDir = dir })
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	testwait.Until(t, "the report that the log is full", func() bool { return view(t, h, a.ID).LogsOverflowed })
	if text := logText(t, h, a.ID); len(text) > 2<<20 {
		t.Errorf("%d bytes of log", len(text))
	}
	testwait.Until(t, "metadata is there", func() bool {
		m, err := h.Presence.Metadata(t.Context(), h.Owner, a.ID)
		return err == nil && len(m) == 1 && len(m[0].Result.Value) > 1000 && len(m[0].Result.Value) <= 2048
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	files, err := filepath.Glob(filepath.Join(dir, "coder-startup-script.log*"))
	if err != nil || len(files) != 2 {
		t.Errorf("%v: %v", err, files)
	}
	for _, f := range files {
		if fi, err := os.Stat(f); err != nil || fi.Size() > 6<<20 {
			t.Errorf("%v: %s has %d bytes", err, f, fi.Size())
		}
	}
}

// Where nothing can be written, as on a full disk, the workspace can be
// reached, and scripts run.
func TestNoRoomToWrite(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Directory = "/dev/null/work"
		p.Scripts = []*provisioner.Script{
			{DisplayName: "Start", Script: "echo runs; exit 0", RunOnStart: true},
			{DisplayName: "Other", Script: "#!/usr/bin/env sh\necho never", RunOnStart: true},
		}
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "m", Script: "echo 42", Interval: 1}}
	})
	process(t, u, a.Token, func(c *agent.Config) {
		t.Setenv("TMPDIR", "/dev/null/tmp")
		c.LogDir, c.ScriptDataDir = "/dev/null/logs", "/dev/null/data"
	})
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleStartError)
	testwait.Until(t, "the log is there", func() bool {
		text := logText(t, h, a.ID)
		return strings.Contains(text, "info: runs\n") && strings.Contains(text, "error: Cannot run the script") && !strings.Contains(text, "never")
	})
	testwait.Until(t, "metadata is there", func() bool {
		m, err := h.Presence.Metadata(t.Context(), h.Owner, a.ID)
		return err == nil && len(m) == 1 && m[0].Result.Value == "42"
	})
	c, _ := shell(t, h, a)
	if out := output(t, c, "echo in $CODER_SCRIPT_BIN_DIR"); out != "in\n" {
		t.Errorf("%q", out)
	}
}

func TestDebugEndpoints(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Env = map[string]string{"PASSWORD": "hunter2"}
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", Script: "echo hunter2", RunOnStart: true}}
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "m", Script: "echo hunter2", Interval: 60}}
	})
	addr := testport.FreeAddress(t)
	process(t, u, a.Token, func(c *agent.Config) { c.Log, c.DebugAddress = nil, addr })
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	ask := func(path, host string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	all := ""
	for path, want := range map[string]string{
		"/metrics":                            "agent_connected 1\n",
		"/debug/prometheus":                   `agent_scripts_executed_total{success="true"} `,
		"/debug/logs":                         "connected to the server",
		"/debug/manifest":                     `"workspace_name": "ws"`,
		"/debug/magicsock":                    `"tunnels"`,
		"/debug/magicsock/debug-logging/true": "",
	} {
		code, body := ask(path, "")
		all += body
		if body = strings.ReplaceAll(body, `":  "`, `": "`); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, secret := range []string{"hunter2", a.Token, "ssh_host_key_seed"} {
		if strings.Contains(all, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
	if code, _ := ask("/debug/magicsock/debug-logging/maybe", ""); code != 400 {
		t.Errorf("maybe: %d", code)
	}
	if code, _ := ask("/debug/manifest", "evil.example"); code != 403 {
		t.Errorf("a page of another name: %d", code)
	}
	_, page := ask("/metrics", "")
	if bad := regexp.MustCompile(`(?m)^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[a-z_]+="[a-z0-9_]+"\})? [0-9.e+-]+)\n`).ReplaceAllString(page, ""); bad != "" {
		t.Errorf("not as Prometheus reads it: %q", bad)
	}
	// And through the tunnel.
	_, conn := shell(t, h, a)
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return conn.Open(ctx, "agent-api", "")
	}}}
	resp, err := web.Get("http://agent/debug/magicsock")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page = ""
	if resp, err := web.Get("http://agent/metrics"); err == nil {
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if page = string(b); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(page, `coderd_agentstats_currently_reachable_peers{connection_type="derp"} 1`+"\n") {
		t.Errorf("the metrics through the tunnel:\n%s", page)
	}
	var state struct{ Tunnels struct{ Tunnels int } }
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil || state.Tunnels.Tunnels != 1 {
		t.Errorf("%v: %+v", err, state)
	}
}

func TestDebugAddress(t *testing.T) {
	base := []string{"CODER_AGENT_URL=https://coder.example", "CODER_AGENT_TOKEN=" + uuid.NewString()}
	for value, ok := range map[string]bool{"127.0.0.1:0": true, "": true, "[::1]:2113": true, "0.0.0.0:2113": false, "localhost:1": false, "x": false} {
		c, err := agent.ConfigFromEnv(append(base, "CODER_AGENT_DEBUG_ADDRESS="+value))
		if (err == nil) != ok || ok && c.DebugAddress != value {
			t.Errorf("%q: %v", value, err)
		}
	}
	if c, err := agent.ConfigFromEnv(base); err != nil || c.DebugAddress != "127.0.0.1:2113" {
		t.Errorf("%v: %q", err, c.DebugAddress)
	}
}

// A program in the workspace that never answers and never closes: what a client
// wrote who has left arrives whole, and then the connection ends.
func TestProgramThatNeverAnswers(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws")
	process(t, u, a.Token)
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	read, ended := make(chan int64, 1), make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		n, _ := io.Copy(io.Discard, c) // counted
		read <- n
		for err == nil {
			_, err = c.Write(make([]byte, 1<<10))
		}
		ended <- err
	}()
	_, conn := shell(t, h, a)
	s, err := conn.Open(t.Context(), tunnel.KindTCP, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const size = 8 << 20
	if _, err := s.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if n := <-read; n != size {
		t.Errorf("%d of %d bytes arrived", n, size)
	}
	<-ended
}
