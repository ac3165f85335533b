package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// mcpServer starts 'coder exp mcp server' and connects a client to its streams.
// The returned function ends the command and returns its status and messages.
func (h *house) mcpServer(env []string, args ...string) (*mcp.ClientSession, func() (int, string)) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	h.t.Cleanup(cancel)
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	messages := &background{done: make(chan int, 1)}
	go func() {
		status := Main(ctx, append([]string{"coder", "exp", "mcp", "server"}, args...), serverIn, serverOut, messages, env)
		serverOut.Close() //nolint:errcheck // a pipe
		messages.done <- status
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.IOTransport{Reader: clientIn, Writer: clientOut}, nil)
	h.must(err)
	return session, func() (int, string) {
		session.Close() //nolint:errcheck // the status of the command counts
		return <-messages.done, messages.said()
	}
}

func TestMCPServer(t *testing.T) {
	h := newHouse(t, nil)
	session, end := h.mcpServer(h.env(), "--allowed-tools", "coder_get_authenticated_user,coder_list_workspaces,coder_none", "--instructions", "Be brief.")
	if got := session.InitializeResult().Instructions; got != "Be brief." {
		t.Errorf("the instructions are %q", got)
	}
	list, err := session.ListTools(t.Context(), nil)
	h.must(err)
	if len(list.Tools) != 2 {
		t.Errorf("%d tools are served, want 2", len(list.Tools))
	}
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "coder_get_authenticated_user"})
	h.must(err)
	if text := got.Content[0].(*mcp.TextContent).Text; got.IsError || !strings.Contains(text, `"username":"admin"`) {
		t.Errorf("the user is %s", text)
	}
	if status, messages := end(); status != 0 || !strings.Contains(messages, "no such tools: coder_none") {
		t.Errorf("status %d, messages %q", status, messages)
	}
}

func TestMCPServerNeedsSession(t *testing.T) {
	h := newHouse(t, nil)
	for want, args := range map[string][]string{
		"You are not logged in": {"--token", ""},
		"none of the names is":  {"--allowed-tools", "nothing"},
	} {
		var out, errs strings.Builder
		env := h.env()
		if args[0] == "--token" {
			env, args = []string{"HOME=" + h.dir, "CODER_URL=" + h.AccessURL().String()}, nil
		}
		status := Main(t.Context(), append([]string{"coder", "exp", "mcp", "server"}, args...), strings.NewReader(""), &out, &errs, env)
		if status == 0 || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("want %q: status %d, output %q, messages %q", want, status, out.String(), errs.String())
		}
	}
}

// TestMCPReport reports the progress of a coding agent with the token of its
// workspace alone.
func TestMCPReport(t *testing.T) {
	h := newHouse(t, nil)
	token := uuid.NewString()
	h.template("agent", map[string]string{"graph.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", ` +
		`"operatingSystem": "linux", "architecture": "amd64", "token": "` + token + `", "apps": [{"slug": "assistant", "url": "http://localhost:1"}]}]}]}}`})
	h.ok("create", "dev", "--template", "agent", "-y")
	session, end := h.mcpServer([]string{
		"HOME=" + h.dir, "CODER_AGENT_URL=" + h.AccessURL().String() + "/", "CODER_AGENT_TOKEN=" + token,
		"CODER_MCP_APP_STATUS_SLUG=assistant", "CODER_MCP_ALLOWED_TOOLS=coder_report_task",
	})
	in := map[string]any{"summary": "Writing tests", "link": "", "state": "working"}
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "coder_report_task", Arguments: in})
	h.must(err)
	if got.IsError {
		t.Errorf("the report failed: %s", got.Content[0].(*mcp.TextContent).Text)
	}
	if status, messages := end(); status != 0 || messages != "" {
		t.Errorf("status %d, messages %q", status, messages)
	}
	w, err := h.Client.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	h.must(err)
	if s := w.LatestAppStatus; s == nil || s.Message != "Writing tests" || s.State != codersdk.WorkspaceAppStatusStateWorking {
		t.Errorf("the status is %+v", s)
	}
}
