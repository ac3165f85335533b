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
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// withAgent makes a workspace whose agent runs in this process, and gives the
// agent's id once it is ready.
func withAgent(t *testing.T, s *servertest.Server) uuid.UUID {
	t.Helper()
	ctx, c := t.Context(), s.Client
	token := uuid.NewString()
	archive, err := echo.Archive(map[string]string{
		"graph.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "` + token + `"}]}]}}`,
	})
	must(t, err)
	up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := c.CreateTemplateVersion(ctx, "default", coder.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
	must(t, err)
	follow(t, c, "/templateversions/"+v.ID.String()+"/logs")
	tpl, err := c.CreateTemplate(ctx, "default", coder.CreateTemplateRequest{Name: "echo", TemplateVersionID: v.ID})
	must(t, err)
	w, err := c.CreateWorkspace(ctx, "me", coder.CreateWorkspaceRequest{Name: "dev", TemplateID: tpl.ID})
	must(t, err)
	follow(t, c, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/logs")
	w, err = c.Workspace(ctx, w.ID, nil)
	must(t, err)
	id := w.LatestBuild.Resources[0].Agents[0].ID
	a, err := agent.New(agent.Config{
		URL: s.AccessURL(), Token: token, Log: slog.New(slog.DiscardHandler), Env: append(os.Environ(), "HOME="+t.TempDir(), "SHELL=/bin/sh", "PS1=$ "),
		LogDir: t.TempDir(), ScriptDataDir: t.TempDir(),
	})
	must(t, err)
	must(t, a.Start(ctx))
	t.Cleanup(func() {
		stop, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := a.Stop(stop); err != nil {
			t.Error(err)
		}
	})
	// The state is pushed: wait for the agent to be ready.
	err = client.Follow(ctx, c, "/workspaces/"+w.ID.String()+"/watch-ws", nil, func(e coder.ServerSentEvent) error {
		var now coder.Workspace
		if e.Type != coder.ServerSentEventTypeData || json.Unmarshal(e.Data, &now) != nil {
			return nil
		}
		if now.LatestBuild.Resources[0].Agents[0].LifecycleState == coder.WorkspaceAgentLifecycleReady {
			return errReady
		}
		return nil
	})
	if err != errReady {
		t.Fatal(err)
	}
	return id
}

var errReady = coder.Errorf(coder.CodeInternal, "ready")

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

func open(t *testing.T, c *client.Client, agent uuid.UUID, q url.Values) *terminal {
	t.Helper()
	conn, err := c.Dial(t.Context(), "/workspaceagents/"+agent.String()+"/pty", q)
	must(t, err)
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the test is over
	return &terminal{t: t, conn: conn}
}

func (v *terminal) send(m coder.ReconnectingPTYRequest) {
	v.t.Helper()
	b, err := json.Marshal(m)
	must(v.t, err)
	must(v.t, v.conn.Write(v.t.Context(), websocket.MessageText, b))
}

// see reads until the text was shown.
func (v *terminal) see(text string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), 20*time.Second)
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
	first.send(coder.ReconnectingPTYRequest{Data: "echo one-$((40+2)) $TERM; stty size\r"})
	first.see("one-42 xterm-256color")
	first.see("30 90")
	first.send(coder.ReconnectingPTYRequest{Data: "kept=here\r", Width: 100, Height: 40})

	// A second viewer sees what was shown, and what comes.
	second := open(t, s.Client, agentID, url.Values{"reconnect": {id}, "width": {"100"}, "height": {"40"}})
	second.see("one-42")
	second.send(coder.ReconnectingPTYRequest{Data: "echo both-$((1+1)); stty size\r"})
	second.see("both-2")
	second.see("40 100")
	first.see("both-2")

	// Everybody goes; the shell stays.
	first.conn.CloseNow()  //nolint:errcheck // cut on purpose
	second.conn.CloseNow() //nolint:errcheck // cut on purpose
	back := open(t, s.Client, agentID, q)
	back.see("both-2")
	back.send(coder.ReconnectingPTYRequest{Data: "echo still-$kept\r"})
	back.see("still-here")
	back.send(coder.ReconnectingPTYRequest{Data: "exit\r"})
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

func TestTerminalsThatAreRefused(t *testing.T) {
	s := servertest.Start(t, nil)
	agentID := withAgent(t, s)
	stranger, _ := s.Member(t, "stranger")
	for name, tc := range map[string]struct {
		c    *client.Client
		q    url.Values
		code coder.Code
	}{
		"no id":      {s.Client, url.Values{}, coder.CodeInvalid},
		"a bad id":   {s.Client, url.Values{"reconnect": {"x"}}, coder.CodeInvalid},
		"no width":   {s.Client, url.Values{"reconnect": {uuid.NewString()}, "width": {"0"}}, coder.CodeInvalid},
		"huge":       {s.Client, url.Values{"reconnect": {uuid.NewString()}, "height": {"99999"}}, coder.CodeInvalid},
		"container":  {s.Client, url.Values{"reconnect": {uuid.NewString()}, "container": {"x"}}, coder.CodeInvalid},
		"a long one": {s.Client, url.Values{"reconnect": {uuid.NewString()}, "command": {strings.Repeat("x", 1000)}}, coder.CodeInvalid},
		"a stranger": {stranger, url.Values{"reconnect": {uuid.NewString()}}, coder.CodeNotFound},
	} {
		conn, err := tc.c.Dial(t.Context(), "/workspaceagents/"+agentID.String()+"/pty", tc.q)
		if err == nil {
			conn.CloseNow() //nolint:errcheck // it should not be
		}
		if !coder.Is(err, tc.code) {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
}
