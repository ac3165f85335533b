package clienttest

import "strings"

// accessToken: a program in a workspace whose owner has not linked the provider gets the page for that on
// standard output, and a failure. internal/servertest.TestExternalAuth has the link and the token.
func accessToken(s *session) {
	r := s.inWorkspace(s.w.bin + " external-auth access-token github")
	if page := strings.TrimSpace(r.out); r.code != 1 || page != s.w.url+"/external-auth/github" {
		s.t.Errorf("without a link: %+v", r)
	}
	if r := s.inWorkspace(s.w.bin + " external-auth access-token absent"); r.code == 0 || r.out != "" {
		s.t.Errorf("an unknown provider: %+v", r)
	}
}

// agentExternalAuth checks the answer to agents.
func agentExternalAuth(s *session) {
	for _, path := range []string{"/api/v2/workspaceagents/me/external-auth?id=github", "/api/v2/workspaceagents/me/gitauth?match=https://github.com/a/b"} {
		s.agentSession().get(path).want(200).fields("access_token string", "url text", "type text")
	}
	s.agentSession().get("/api/v2/workspaceagents/me/external-auth?match=https://example.com/x").refused(404)
}
