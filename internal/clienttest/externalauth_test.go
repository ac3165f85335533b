package clienttest

import "strings"

// accessToken checks the command for an owner who has not linked the provider. The
// command fails and prints the URL of the page for linking to standard output.
// internal/servertest.TestExternalAuth covers the link and the token.
func accessToken(s *session) {
	r := s.inWorkspace(s.w.bin + " external-auth access-token github")
	if page := strings.TrimSpace(r.out); r.code != 1 || page != s.w.url+"/external-auth/github" {
		s.t.Errorf("without a link: %+v", r)
	}
	if r := s.inWorkspace(s.w.bin + " external-auth access-token absent"); r.code == 0 || r.out != "" {
		s.t.Errorf("an unknown provider: %+v", r)
	}
}

// agentExternalAuth checks the responses to agents.
func agentExternalAuth(s *session) {
	for _, path := range []string{"/api/v2/workspaceagents/me/external-auth?id=github", "/api/v2/workspaceagents/me/gitauth?match=https://github.com/a/b"} {
		s.agentSession().get(path).want(200).fields("access_token string", "url text", "type text")
	}
	s.agentSession().get("/api/v2/workspaceagents/me/external-auth?match=https://example.com/x").refused(404)
}
