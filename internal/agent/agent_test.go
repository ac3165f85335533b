package agent_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// process starts an agent and gives what stops it in order.
func process(t *testing.T, u *url.URL, token string, change ...func(*agent.Config)) (stop func()) {
	t.Helper()
	c := agent.Config{
		URL: u, Token: token, Version: "v0-test", LogDir: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Env: append(os.Environ(), "HOME="+t.TempDir()), PingInterval: time.Second, Backoff: 200 * time.Millisecond,
	}
	for _, f := range change {
		f(&c)
	}
	a, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
			defer cancel()
			if err := a.Stop(ctx); err != nil {
				t.Errorf("stop the agent: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func view(t *testing.T, h *agenttest.Fixture, id uuid.UUID) codersdk.WorkspaceAgent {
	t.Helper()
	v, err := h.Presence.View(t.Context(), h.Owner, id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func reaches(t *testing.T, h *agenttest.Fixture, id uuid.UUID, state codersdk.WorkspaceAgentLifecycle) {
	t.Helper()
	testwait.Until(t, "the agent is "+string(state), func() bool { return view(t, h, id).LifecycleState == state })
}

// shell opens an SSH connection to an agent, through the board and the tunnel.
func shell(t *testing.T, h *agenttest.Fixture, a agenttest.Agent) (*ssh.Client, *tunnel.Conn) {
	t.Helper()
	row, err := h.Presence.AgentForUser(t.Context(), h.Owner, a.ID, codersdk.RBACActionSSH)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := h.Board.DialAgent(t.Context(), tunnel.Grant{
		UserID: h.Owner.UserID, WorkspaceID: a.WorkspaceID, AgentID: a.ID, Actions: []string{tunnel.KindSSH, tunnel.KindTCP, tunnel.KindAgentAPI},
	}, row.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	stream, err := conn.Open(t.Context(), tunnel.KindSSH, "")
	if err != nil {
		t.Fatal(err)
	}
	want, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(h.Presence.HostKeySeed(row)).Public())
	if err != nil {
		t.Fatal(err)
	}
	return client(t, stream, want), conn
}

// client speaks SSH over a stream; without keys the host may have any.
func client(t *testing.T, nc net.Conn, keys ...ssh.PublicKey) *ssh.Client {
	t.Helper()
	conf := &ssh.ClientConfig{User: "x", HostKeyCallback: ssh.InsecureIgnoreHostKey()}
	if len(keys) > 0 {
		conf.HostKeyCallback = ssh.FixedHostKey(keys[0])
	}
	sc, channels, requests, err := ssh.NewClientConn(nc, "agent", conf)
	if err != nil {
		t.Fatal(err)
	}
	c := ssh.NewClient(sc, channels, requests)
	t.Cleanup(func() { c.Close() })
	return c
}

func output(t *testing.T, c *ssh.Client, command string) string {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Output(command)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

func logText(t *testing.T, h *agenttest.Fixture, id uuid.UUID) string {
	t.Helper()
	logs, err := h.Presence.Logs(t.Context(), h.Owner, id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range logs {
		b.WriteString(string(l.Level) + ": " + l.Output + "\n")
	}
	return b.String()
}

// The whole life of an agent: it connects, starts, serves a shell, and stops.
func TestLife(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() { // runs last
		testwait.Until(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before+2 })
	})
	h := agenttest.New(t, func(c *presence.Config) {
		c.PortURL = func(label string) string { return "https://" + label + ".apps.example" }
	})
	before = runtime.NumGoroutine()
	dir := t.TempDir()
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Directory = "$HOME/work"
		p.Env = map[string]string{"FROM_TEMPLATE": "yes", "PATH": "/template/bin:$PATH"}
		p.Scripts = []*provisioner.Script{
			{DisplayName: "Start", Script: "echo starting in $PWD; echo oops >&2; echo $CODER_WORKSPACE_NAME > " + dir + "/started", RunOnStart: true},
			{DisplayName: "Python", Script: "#!/usr/bin/env sh\nn=2; echo interpreted $((n+n))", RunOnStart: true},
			{DisplayName: "Stop", Script: "echo stopping > " + dir + "/stopped; echo goodbye", RunOnStop: true},
		}
		p.Metadata = []*provisioner.Agent_Metadata{
			{Key: "answer", Script: "echo 42", Interval: 1},
			{Key: "broken", Script: "echo no luck; exit 3", Interval: 1},
		}
	})
	u, _ := h.Serve("")
	stop := process(t, u, a.Token)
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	v := view(t, h, a.ID)
	if v.Status != codersdk.WorkspaceAgentStatusConnected || v.Version != "v0-test" || v.StartedAt == nil || v.ReadyAt == nil || !strings.HasSuffix(v.ExpandedDirectory, "/work") {
		t.Errorf("%+v", v)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "started")); err != nil || string(b) != "ws\n" {
		t.Errorf("%v: %q", err, b)
	}
	testwait.Until(t, "the log is there", func() bool {
		text := logText(t, h, a.ID)
		return strings.Contains(text, "info: starting in "+v.ExpandedDirectory+"\n") && strings.Contains(text, "error: oops\n") && strings.Contains(text, "info: interpreted 4\n")
	})
	testwait.Until(t, "metadata is there", func() bool {
		m, err := h.Presence.Metadata(t.Context(), h.Owner, a.ID)
		return err == nil && len(m) == 2 && m[0].Result.Value == "42" && m[1].Result.Error == "exit code 3: no luck"
	})
	c, _ := shell(t, h, a)
	if out := output(t, c, "echo $CODER $CODER_WORKSPACE_NAME $CODER_WORKSPACE_AGENT_NAME $CODER_WORKSPACE_OWNER_NAME $FROM_TEMPLATE $PWD"); out != "true ws main ann yes "+v.ExpandedDirectory+"\n" {
		t.Errorf("%q", out)
	}
	if out := output(t, c, "echo $PATH"); !strings.HasPrefix(out, "/template/bin:") || !strings.Contains(out, "/usr/bin") {
		t.Errorf("PATH is %q", out)
	}
	if out := output(t, c, "echo $VSCODE_PROXY_URI"); out != "https://{{port}}--main--ws--ann.apps.example\n" {
		t.Errorf("ports are at %q", out)
	}
	c.Close()
	stop()
	if got := view(t, h, a.ID); got.LifecycleState != codersdk.WorkspaceAgentLifecycleOff {
		t.Errorf("after the stop it is %s", got.LifecycleState)
	}
	testwait.Until(t, "it is disconnected", func() bool { return view(t, h, a.ID).Status == codersdk.WorkspaceAgentStatusDisconnected })
	if _, err := os.Stat(filepath.Join(dir, "stopped")); err != nil {
		t.Error(err)
	}
	if text := logText(t, h, a.ID); !strings.Contains(text, "goodbye") {
		t.Errorf("the last lines are missing: %s", text)
	}
}

// A server that goes away and comes back finds its agents again, with all they
// had to say meanwhile, in order, and a shell that outlived it.
func TestServerRestarts(t *testing.T) {
	h := agenttest.New(t)
	dir := t.TempDir()
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", RunOnStart: true, Script: `
			echo run >> ` + dir + `/runs
			until test -e ` + dir + `/go; do sleep 0.05; done
			for i in 1 2 3; do echo line $i; done`}}
	})
	u, stopServer := h.Serve("")
	defer process(t, u, a.Token)() // before the second server
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleStarting)
	stopServer()
	if got := view(t, h, a.ID).Status; got != codersdk.WorkspaceAgentStatusDisconnected {
		t.Errorf("without a server it is %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	h.Serve(u.Host)
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	t.Logf("back within %s", time.Since(begin))
	testwait.Until(t, "the lines are there", func() bool {
		return strings.Contains(logText(t, h, a.ID), "info: line 1\ninfo: line 2\ninfo: line 3\n")
	})
	if b, err := os.ReadFile(filepath.Join(dir, "runs")); err != nil || string(b) != "run\n" {
		t.Errorf("%v: the start script ran %q", err, b)
	}
	shell(t, h, a)
}

func TestHowStartScriptsEnd(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	for name, tc := range map[string]struct {
		script string
		state  codersdk.WorkspaceAgentLifecycle
		log    string
	}{
		"fails":   {"echo first; exit 4", codersdk.WorkspaceAgentLifecycleStartError, "exit code 4"},
		"timeout": {"sleep 100", codersdk.WorkspaceAgentLifecycleStartTimeout, "stopped after its timeout"},
		"shebang": {"#!/no/such/interpreter\n", codersdk.WorkspaceAgentLifecycleStartError, "Cannot run the script"},
		"leaves":  {"sleep 30 & echo done", codersdk.WorkspaceAgentLifecycleReady, "still holds its output"},
		"long":    {"head -c 3000000 /dev/zero | tr '\\0' x; echo", codersdk.WorkspaceAgentLifecycleReady, ""},
		"binary":  {`printf 'a\0b\377c\n'`, codersdk.WorkspaceAgentLifecycleReady, "ab\uFFFDc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := h.Workspace("ws-"+name, func(p *provisioner.Agent) {
				p.Scripts = []*provisioner.Script{{DisplayName: "Start", Script: tc.script, RunOnStart: true, TimeoutSeconds: 1}}
				if name == "long" {
					p.Scripts[0].TimeoutSeconds = 30
				}
			})
			process(t, u, a.Token)
			reaches(t, h, a.ID, tc.state)
			testwait.Until(t, "the log says so", func() bool { return strings.Contains(logText(t, h, a.ID), tc.log) })
			if name == "long" {
				testwait.Until(t, "the log is cut", func() bool { v := view(t, h, a.ID); return v.LogsOverflowed && v.LogsLength <= 1<<20 })
			}
		})
	}
}

func TestStartBlocksLogin(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	dir := t.TempDir()
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{{DisplayName: "Slow", RunOnStart: true, StartBlocksLogin: true, Script: "until test -e " + dir + "/go; do sleep 0.05; done"}}
	})
	process(t, u, a.Token)
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleStarting)
	c, conn := shell(t, h, a)
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, w := io.Pipe()
	s.Stderr = w
	if err := s.Start("echo in"); err != nil {
		t.Fatal(err)
	}
	hasty, err := conn.Open(t.Context(), tunnel.KindSSH, "no-wait app=jetbrains later=1")
	if err != nil {
		t.Fatal(err)
	}
	if out := output(t, client(t, hasty), "echo now"); out != "now\n" {
		t.Errorf("without waiting: %q", out)
	}
	b := make([]byte, 200)
	n, err := r.Read(b)
	if err != nil || !strings.Contains(string(b[:n]), "waits for: Slow") {
		t.Errorf("%v: %q", err, b[:n])
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	w.Close()
}

func TestPortThroughTheTunnel(t *testing.T) {
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
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		b, _ := io.ReadAll(nc)
		_, _ = nc.Write(bytes.ToUpper(b))
	}()
	_, conn := shell(t, h, a)
	s, err := conn.Open(t.Context(), tunnel.KindTCP, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(s, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(s); err != nil || string(b) != "HELLO" {
		t.Errorf("%v: %q", err, b)
	}
	if _, err := conn.Open(t.Context(), tunnel.KindTCP, "127.0.0.1:1"); err == nil {
		t.Error("a port where nobody listens was reached")
	}
}

func TestListeningPorts(t *testing.T) {
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
	row, err := h.Presence.AgentForUser(t.Context(), h.Owner, a.ID, codersdk.RBACActionSSH)
	if err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "its link to the relay is up", func() bool { return h.Board.Holds(a.ID) })
	api := agentapi.New(agentapi.Config{Presence: h.Presence, Board: h.Board, Authority: h.Authority})
	client := api.AgentHTTP(row)
	client.Timeout = testwait.Limit
	resp, err := client.Get("http://agent/api/v0/listening-ports")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var ports codersdk.WorkspaceAgentListeningPortsResponse
	if err := json.NewDecoder(resp.Body).Decode(&ports); err != nil {
		t.Fatal(err)
	}
	want := int32(l.Addr().(*net.TCPAddr).Port)
	if !slices.ContainsFunc(ports.Ports, func(p codersdk.WorkspaceAgentListeningPort) bool {
		return p.Port == want && p.Network == "tcp" && p.ProcessName != ""
	}) {
		t.Errorf("%d is not among %+v", want, ports.Ports)
	}
}

// A token that the server does not know yet, because the build that made it is
// not finished, is tried until it is.
func TestTokenBeforeItsBuildEnded(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	token := uuid.NewString()
	process(t, u, token)
	a := h.Workspace("ws", func(p *provisioner.Agent) { p.Auth = &provisioner.Agent_Token{Token: token} })
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	// A newer build of the same workspace kept the token: the process becomes
	// the new agent.
	b := h.Build(a.WorkspaceID, 2, codersdk.WorkspaceTransitionStart, "succeeded", func(p *provisioner.Agent) { p.Auth = &provisioner.Agent_Token{Token: token} })
	reaches(t, h, b.ID, codersdk.WorkspaceAgentLifecycleReady)
}

func TestConfigFromEnv(t *testing.T) {
	good := []string{"CODER_AGENT_URL=https://coder.example", "CODER_AGENT_TOKEN=" + uuid.NewString()}
	if _, err := agent.ConfigFromEnv(good); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]string{
		{},
		{good[1]},
		{good[0]},
		{good[0], "CODER_AGENT_TOKEN=nonsense"},
		{"CODER_AGENT_URL=coder.example", good[1]},
		{good[0], good[1], "CODER_AGENT_AUTH=a-smile"},
		{good[0], good[1], "CODER_AGENT_BLOCK_FILE_TRANSFER=perhaps"},
		{good[0], "CODER_AGENT_TOKEN_FILE=/does/not/exist"},
	} {
		if _, err := agent.ConfigFromEnv(bad); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if c, err := agent.ConfigFromEnv([]string{good[0], "CODER_AGENT_AUTH=aws-instance-identity"}); err != nil || c.Auth != agent.AuthAWS {
		t.Errorf("%q: %v", c.Auth, err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(strings.TrimPrefix(good[1], "CODER_AGENT_TOKEN=")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.ConfigFromEnv([]string{good[0], "CODER_AGENT_TOKEN_FILE=" + file}); err != nil {
		t.Error(err)
	}
}
