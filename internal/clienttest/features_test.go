package clienttest

import (
	"net/http"
	"net/url"
	"strings"
)

// Checks of features that the product does not have. A request must get 404 with
// JSON, never a page of the dashboard. A command must be unknown. When a feature is
// added, its rows fail and must be replaced by rows that use the feature.
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

// someID is a valid UUID that no object has.
const someID = "5f6cbd34-9b1e-4a51-93ea-b3a1a0a4b40f"

// absent checks that requests, given as "METHOD path", get 404 with a JSON error.
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

// unknownCommand checks that a command fails, also with --help. Scripts use --help
// to find out whether a command exists.
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

// query returns the URL query of a search.
func query(q string) string { return "?q=" + url.QueryEscape(q) }
