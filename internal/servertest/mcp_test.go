package servertest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-2a7f8fe7/coder/internal/httpapi/mcpapi"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// bearer sends a token with every request of an MCP client.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// mcpSession connects the library's client to a server with a token.
func mcpSession(t *testing.T, s *servertest.Server, token string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.AccessURL().String() + mcpapi.Pattern, HTTPClient: &http.Client{Transport: bearer(token)},
	}, nil)
	must(t, err)
	t.Cleanup(func() { session.Close() }) //nolint:errcheck // the server keeps no sessions
	return session
}

// callTool returns the text of a tool's result, and whether it is an error.
func callTool(t *testing.T, session *mcp.ClientSession, name string, in map[string]any) (text string, failed bool) {
	t.Helper()
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(got.Content) != 1 {
		t.Fatalf("%s returned %d contents", name, len(got.Content))
	}
	return got.Content[0].(*mcp.TextContent).Text, got.IsError
}

func TestMCPOverHTTP(t *testing.T) {
	s := servertest.Start(t, nil)
	w, _ := agentWorkspace(t, s)
	session := mcpSession(t, s, s.Client.SessionToken)
	for tool, want := range map[string]string{
		"coder_get_authenticated_user": `"username":"admin"`,
		"coder_list_workspaces":        `"count":1,"workspaces":[{"id":"` + w.ID.String(),
		"coder_get_workspace":          `"agents":[{`,
	} {
		in := map[string]any{}
		if tool == "coder_get_workspace" {
			in["workspace"] = "admin/dev"
		}
		if got, failed := callTool(t, session, tool, in); failed || !strings.Contains(got, want) {
			t.Errorf("%s: failed %t: %s", tool, failed, got)
		}
	}
	if got, failed := callTool(t, session, "coder_get_workspace", map[string]any{"workspace": strings.Repeat("a", 200)}); !failed || !strings.Contains(got, "maxLength") {
		t.Errorf("a name that is too long: failed %t: %s", failed, got)
	}
	if got, failed := callTool(t, session, "coder_get_workspace", map[string]any{"workspace": "nobody/none"}); !failed || !strings.Contains(got, "workspace:read") {
		t.Errorf("a missing workspace: failed %t: %s", failed, got)
	}
}

func TestMCPRequiresToken(t *testing.T) {
	s := servertest.Start(t, nil)
	url := s.AccessURL().String() + mcpapi.Pattern
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	send := func(change func(*http.Request)) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(initialize))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		change(r)
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		resp.Body.Close() //nolint:errcheck // only the status matters
		return resp
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"no token":      {func(*http.Request) {}, http.StatusUnauthorized},
		"invalid token": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer nothing") }, http.StatusUnauthorized},
		"bearer":        {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s.Client.SessionToken) }, http.StatusOK},
		"header":        {func(r *http.Request) { r.Header.Set("Coder-Session-Token", s.Client.SessionToken) }, http.StatusOK},
		"behind a proxy of the same machine": {func(r *http.Request) {
			r.Host = "coder.example.com"
			r.Header.Set("Authorization", "Bearer "+s.Client.SessionToken)
		}, http.StatusOK},
		"cookie of another site": {func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: "coder_session_token", Value: s.Client.SessionToken})
			r.Header.Set("Origin", "https://evil.example.com")
		}, http.StatusForbidden},
	} {
		resp := send(c.change)
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", name, resp.StatusCode, c.want)
		}
		want := ""
		if c.want == http.StatusUnauthorized {
			want = `Bearer resource_metadata="` + s.AccessURL().String() + `/.well-known/oauth-protected-resource/api/experimental/mcp/http"`
		}
		if got := resp.Header.Get("WWW-Authenticate"); got != want {
			t.Errorf("%s: WWW-Authenticate is %q, want %q", name, got, want)
		}
	}
}
