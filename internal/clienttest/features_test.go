package clienttest

import (
	"net/http"
	"net/url"
	"strings"
)

// Features that the product does not have. Each row of such a feature checks that a
// program which asks for it learns so: 404 with JSON, never a page of the
// dashboard, or an unknown command. When a feature is added its rows fail here,
// and are to be replaced by rows that use it.
var (
	tasksAbsent = absent(
		"GET /api/v2/tasks?q=owner:me", "GET /api/v2/tasks/me/"+someID, "POST /api/v2/tasks/me", "GET /api/v2/tasks/me/"+someID+"/logs",
		"POST /api/v2/tasks/me/"+someID+"/send", "POST /api/v2/tasks/me/"+someID+"/pause", "POST /api/v2/tasks/me/"+someID+"/resume",
		"DELETE /api/v2/tasks/me/"+someID, "GET /api/experimental/tasks?q=owner:"+owner, "POST /api/experimental/tasks/"+owner,
		"GET /api/experimental/tasks/"+owner+"/"+someID, "POST /api/experimental/tasks/"+owner+"/"+someID+"/send",
	)
	aiGatewayAbsent = absent(
		"GET /api/v2/aibridge/openai/v1/models", "POST /api/v2/aibridge/anthropic/v1/messages", "GET /api/v2/aibridge/any/v1/models", "GET /api/v2/aibridge/proxy/ca-cert.pem",
		"GET /api/v2/ai/providers", "GET /api/v2/organizations/default/mcp-servers", "GET /api/experimental/chats/config/system-prompt", "GET /api/experimental/chats/model-configs",
	)
	tailnetAbsent       = absent("GET /api/v2/tailnet?version=2.0", "GET /api/v2/derp-map")
	firewallAbsent      = all(unknownCommand("boundary"), unknownCommand("agent-firewall"))
	taskCommandsAbsent  = all(unknownCommand("task"), unknownCommand("task", "create"), unknownCommand("task", "list"))
	taskSnapshotsAbsent = absent("POST //api/v2/workspaceagents/me/tasks/" + someID + "/log-snapshot?format=agentapi")
)

// someID is an id of nothing.
const someID = "5f6cbd34-9b1e-4a51-93ea-b3a1a0a4b40f"

// absent holds requests, as "METHOD path", to 404 with the JSON of errors.
func absent(requests ...string) func(*session) {
	return func(s *session) {
		for _, r := range requests {
			method, path, _ := strings.Cut(r, " ")
			var body any
			if method != http.MethodGet && method != http.MethodDelete {
				body = map[string]any{}
			}
			s.send(method, path, body).refused(http.StatusNotFound)
		}
	}
}

// unknownCommand holds a command to be refused, with --help too: scripts ask
// for the help to learn whether a command exists.
func unknownCommand(words ...string) func(*session) {
	return func(s *session) {
		for _, more := range []string{"", "--help"} {
			args := words
			if more != "" {
				args = append(append([]string{}, words...), more)
			}
			if r := s.coder(args...); r.code == 0 || r.out != "" {
				s.t.Errorf("coder %q: exit status %d, output %.300q", args, r.code, r.out)
			}
		}
	}
}

// query escapes a search.
func query(q string) string { return "?q=" + url.QueryEscape(q) }
