package clienttest

import (
	"os"
	"path/filepath"
	"strings"
)

// The first messages of an MCP client.
const (
	mcpInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	mcpReady      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	mcpList       = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// mcpCommand starts the MCP server of the CLI with the environment variables that
// modules set.
func mcpCommand(s *session) {
	in := s.env("CODER_MCP_ALLOWED_TOOLS=coder_list_workspaces")
	r := in.coderWithStdin(strings.Join([]string{mcpInitialize, mcpReady, mcpList, ""}, "\n"), "exp", "mcp", "server")
	if r.code != 0 || !strings.Contains(r.out, `"serverInfo":{`) || !strings.Contains(r.out, `"name":"coder_list_workspaces"`) ||
		strings.Contains(r.out, `"name":"coder_get_workspace"`) {
		s.t.Errorf("exp mcp server: %+v", r)
	}
}

// mcpConfigured runs the configuration command that older modules use.
func mcpConfigured(s *session) {
	home := s.freshHome()
	home.ok("exp", "mcp", "configure", "claude-code", home.dir)
	b, err := os.ReadFile(filepath.Join(home.dir, ".claude.json"))
	s.must(err)
	if !strings.Contains(string(b), `"mcpServers"`) {
		s.t.Errorf("the configuration is %s", b)
	}
}

// mcpOverHTTP sends the first message with each authentication method.
func mcpOverHTTP(s *session) {
	post := func(s *session, header ...string) answer {
		header = append(header, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		return s.send("POST", "/api/experimental/mcp/http", strings.NewReader(mcpInitialize), header...)
	}
	for _, a := range []answer{post(s), post(s.signedOut(), "Authorization", "Bearer "+s.token, bypassHeader, "true")} {
		if a.status != 200 || !strings.Contains(string(a.body), `"serverInfo":{`) {
			s.t.Errorf("%d %.300s", a.status, a.body)
		}
	}
	a := post(s.signedOut())
	a.refused(401)
	if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, `resource_metadata="`) {
		s.t.Errorf("WWW-Authenticate is %q", got)
	}
}
