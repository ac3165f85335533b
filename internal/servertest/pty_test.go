package servertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// withAgent makes a workspace whose agent runs in this process, and gives the
// agent's id once it is ready.
func withAgent(t *testing.T, s *servertest.Server) uuid.UUID {
	t.Helper()
	w, token := agentWorkspace(t, s)
	startAgent(t, s, w, token)
	return w.LatestBuild.Resources[0].Agents[0].ID
}

// agentWorkspace creates the workspace "dev" with an agent that is not running,
// and returns the agent's token too.
func agentWorkspace(t *testing.T, s *servertest.Server) (w codersdk.Workspace, token string) {
	t.Helper()
	ctx, c := t.Context(), s.Client
	token = uuid.NewString()
	archive, err := echo.Archive(map[string]string{
		"graph.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "` + token + `"}]}]}}`,
	})
	must(t, err)
	up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
	must(t, err)
	follow(t, c, "/templateversions/"+v.ID.String()+"/logs")
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "echo", TemplateVersionID: v.ID})
	must(t, err)
	w, err = c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: tpl.ID})
	must(t, err)
	follow(t, c, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/logs")
	w, err = c.Workspace(ctx, w.ID, nil)
	must(t, err)
	return w, token
}

// startAgent runs an agent until the test ends, and waits until it is ready.
func startAgent(t *testing.T, s *servertest.Server, w codersdk.Workspace, token string) {
	t.Helper()
	ctx := t.Context()
	a, err := agent.New(agent.Config{
		URL: s.AccessURL(), Token: token, Log: slog.New(slog.DiscardHandler), Env: append(os.Environ(), "HOME="+t.TempDir(), "SHELL=/bin/sh", "PS1=$ "),
		LogDir: t.TempDir(), ScriptDataDir: t.TempDir(),
	})
	must(t, err)
	must(t, a.Start(ctx))
	t.Cleanup(func() {
		stop, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		if err := a.Stop(stop); err != nil {
			t.Error(err)
		}
	})
	// The state is pushed: wait for the agent to be ready.
	err = codersdk.Follow(ctx, s.Client, "/workspaces/"+w.ID.String()+"/watch-ws", nil, func(e codersdk.ServerSentEvent) error {
		var now codersdk.Workspace
		if e.Type != codersdk.ServerSentEventTypeData || json.Unmarshal(e.Data, &now) != nil {
			return nil
		}
		if now.LatestBuild.Resources[0].Agents[0].LifecycleState == codersdk.WorkspaceAgentLifecycleReady {
			return errReady
		}
		return nil
	})
	if err != errReady {
		t.Fatal(err)
	}
}

var errReady = codersdk.Errorf(codersdk.CodeInternal, "ready")

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// terminal is one viewer.
type terminal struct {
	t    *testing.T
	conn *websocket.Conn
	seen string
}

func open(t *testing.T, c *codersdk.Client, agent uuid.UUID, q url.Values) *terminal {
	t.Helper()
	conn, err := c.Dial(t.Context(), "/workspaceagents/"+agent.String()+"/pty", q)
	must(t, err)
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the test is over
	return &terminal{t: t, conn: conn}
}

func (v *terminal) send(m codersdk.ReconnectingPTYRequest) {
	v.t.Helper()
	b, err := json.Marshal(m)
	must(v.t, err)
	must(v.t, v.conn.Write(v.t.Context(), websocket.MessageText, b))
}

// see reads until the text was shown.
func (v *terminal) see(text string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), testwait.Limit)
	defer cancel()
	for !strings.Contains(v.seen, text) {
		kind, b, err := v.conn.Read(ctx)
		if err != nil || kind != websocket.MessageBinary {
			v.t.Fatalf("waiting for %q: %v; seen:\n%s", text, err, v.seen)
		}
		v.seen += string(b)
	}
}

func TestTerminalThatIsComeBackTo(t *testing.T) {
	s := servertest.Start(t, nil)
	agentID := withAgent(t, s)
	id := uuid.NewString()
	q := url.Values{"reconnect": {id}, "width": {"90"}, "height": {"30"}}

	first := open(t, s.Client, agentID, q)
	first.send(codersdk.ReconnectingPTYRequest{Data: "echo one-$((40+2)) $TERM; stty size\r"})
	first.see("one-42 xterm-256color")
	first.see("30 90")
	first.send(codersdk.ReconnectingPTYRequest{Data: "kept=here\r", Width: 100, Height: 40})

	// A second viewer sees what was shown, and what comes.
	second := open(t, s.Client, agentID, url.Values{"reconnect": {id}, "width": {"100"}, "height": {"40"}})
	second.see("one-42")
	second.send(codersdk.ReconnectingPTYRequest{Data: "echo both-$((1+1)); stty size\r"})
	second.see("both-2")
	second.see("40 100")
	first.see("both-2")

	// All viewers leave; the shell stays.
	first.conn.CloseNow()  //nolint:errcheck // cut on purpose
	second.conn.CloseNow() //nolint:errcheck // cut on purpose
	back := open(t, s.Client, agentID, q)
	back.see("both-2")
	back.send(codersdk.ReconnectingPTYRequest{Data: "echo still-$kept\r"})
	back.see("still-here")
	back.send(codersdk.ReconnectingPTYRequest{Data: "exit\r"})
	for {
		if _, _, err := back.conn.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("the end of the shell: %v", err)
			}
			break
		}
	}

	// A command of its own, and an end of its own.
	one := open(t, s.Client, agentID, url.Values{"reconnect": {uuid.NewString()}, "command": {"echo by-command"}})
	one.see("by-command")
}

func TestEndedTerminal(t *testing.T) {
	s := servertest.Start(t, nil)
	agentID := withAgent(t, s)
	viewer := open(t, s.Client, agentID, url.Values{
		"reconnect": {uuid.NewString()}, "viewer": {uuid.NewString()}, "command": {"read line; echo got-$line"},
	})
	viewer.send(codersdk.ReconnectingPTYRequest{Data: "input\r", Seq: 1})
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	var output string
	var status codersdk.ReconnectingPTYStatus
	for {
		kind, b, err := viewer.conn.Read(ctx)
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			break
		}
		must(t, err)
		if kind == websocket.MessageBinary {
			output += string(b)
			continue
		}
		if status.Ended {
			t.Errorf("%s follows the end", b)
		}
		must(t, json.Unmarshal(b, &status))
	}
	if !strings.Contains(output, "got-input") || !status.Ended || status.Input != 1 || status.Output != int64(len(output)) {
		t.Errorf("the terminal ended with %+v after %d bytes:\n%s", status, len(output), output)
	}
}

func TestTerminalsThatAreRefused(t *testing.T) {
	s := servertest.Start(t, nil)
	agentID := withAgent(t, s)
	stranger, _ := s.Member(t, "stranger")
	for name, tc := range map[string]struct {
		c    *codersdk.Client
		q    url.Values
		code codersdk.Code
	}{
		"no id":      {s.Client, url.Values{}, codersdk.CodeInvalid},
		"a bad id":   {s.Client, url.Values{"reconnect": {"x"}}, codersdk.CodeInvalid},
		"no width":   {s.Client, url.Values{"reconnect": {uuid.NewString()}, "width": {"0"}}, codersdk.CodeInvalid},
		"huge":       {s.Client, url.Values{"reconnect": {uuid.NewString()}, "height": {"99999"}}, codersdk.CodeInvalid},
		"container":  {s.Client, url.Values{"reconnect": {uuid.NewString()}, "container": {"x"}}, codersdk.CodeInvalid},
		"a long one": {s.Client, url.Values{"reconnect": {uuid.NewString()}, "command": {strings.Repeat("x", 1000)}}, codersdk.CodeInvalid},
		"a stranger": {stranger, url.Values{"reconnect": {uuid.NewString()}}, codersdk.CodeNotFound},
	} {
		conn, err := tc.c.Dial(t.Context(), "/workspaceagents/"+agentID.String()+"/pty", tc.q)
		if err == nil {
			conn.CloseNow() //nolint:errcheck // it should not be
		}
		if !codersdk.Is(err, tc.code) {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
}
