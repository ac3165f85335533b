package login_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/login"
)

// respond returns an answer of a server that is not well.
func respond(status int, kind, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the client may be gone
	}
}

// hangUp ends the connection without an answer.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		c.Close()
	}
}

// TestGitHubThatFails: each failure ends at the sign-in page with a message, creates no user, and the next
// sign-in works.
func TestGitHubThatFails(t *testing.T) {
	g := newGitHub(t)
	s := startGitHub(t, g, login.GitHub{AllowedOrgs: []string{"acme"}, AllowSignups: true})
	const token, user, emails, orgs = "/login/oauth/access_token", "/api/v3/user", "/api/v3/user/emails", "/api/v3/user/memberships/orgs"
	page := respond(200, "text/html", "<html>Maintenance</html>")
	limited := respond(403, "application/json", `{"message": "API rate limit exceeded"}`, "X-Ratelimit-Remaining", "0")
	for _, c := range []struct {
		name, path string
		fault      http.HandlerFunc
		want       string
	}{
		{"the exchange fails", token, respond(502, "text/html", "<html>Bad gateway</html>"), "responded 502"},
		{"the exchange is rate limited", token, respond(429, "text/plain", "slow down"), "responded 429"},
		{"the exchange fails with an error code", token, respond(500, "application/json", `{"error": "server_error"}`), "try again later"},
		{"the exchange is rate limited with an error code", token, respond(429, "application/json", `{"error": "slow_down"}`), "try again later"},
		{"the exchange is a page", token, page, "try again later"},
		{"the exchange is cut", token, hangUp, "cannot be reached"},
		{"a wrong client secret", token, respond(200, "application/json", `{"error": "incorrect_client_credentials"}`), "rejected this deployment (incorrect_client_credentials)"},
		{"no token", token, respond(200, "application/json", `{"scope": ""}`), "try again later"},
		{"the account fails", user, respond(500, "application/json", `{}`), "responded 500"},
		{"the account is a page", user, page, "not valid JSON"},
		{"an empty account", user, respond(200, "application/json", `{}`), "did not return your account"},
		{"the token is revoked at once", user, respond(401, "application/json", `{"message": "Bad credentials"}`), "responded 401"},
		{"rate limited", orgs, limited, "responded 403"},
		{"organizations are cut", orgs, hangUp, "cannot be reached"},
		{"addresses fail", emails, respond(503, "text/html", "<html></html>"), "responded 503"},
		{"no address", emails, respond(200, "application/json", `[]`), "not verified"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.as(1, "ann", []string{"acme"}, nil)
			g.mu.Lock()
			g.fault = map[string]http.HandlerFunc{c.path: c.fault}
			g.mu.Unlock()
			u, message := newBrowser(t, s.AccessURL()).github()
			if u.Username != "" || !strings.Contains(message, c.want) || strings.Contains(message, "<html>") {
				t.Errorf("signed in as %q: %q", u.Username, message)
			}
			g.mu.Lock()
			g.fault = nil
			g.mu.Unlock()
		})
	}
	g.as(1, "ann", []string{"acme"}, nil)
	if u, message := newBrowser(t, s.AccessURL()).github(); u.Username != "ann" {
		t.Fatalf("after the failures: %q: %q", u.Username, message)
	}
	resp, err := s.Client.Request(t.Context(), http.MethodPut, "/users/ann/status/suspend", nil, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	if u, message := newBrowser(t, s.AccessURL()).github(); u.Username != "" || !strings.Contains(message, "suspended") {
		t.Errorf("a suspended user signed in as %q: %q", u.Username, message)
	}
	resp = newBrowser(t, s.AccessURL()).get(githubPath + "?error=access_denied&error_description=The+user+has+denied&state=x")
	if message := resp.Request.URL.Query().Get("message"); message == "" {
		t.Errorf("a callback without a sign-in ends at %s", resp.Request.URL)
	}
}

// TestGitHubForEveryone: without an allow list membership is not asked for, and without sign-ups only users
// that exist sign in.
func TestGitHubForEveryone(t *testing.T) {
	g := newGitHub(t)
	s := startGitHub(t, g, login.GitHub{AllowEveryone: true})
	g.as(7, "stranger", nil, nil)
	u, message := newBrowser(t, s.AccessURL()).github()
	if u.Username != "" || message == "" {
		t.Errorf("without sign-ups a stranger signed in as %q: %q", u.Username, message)
	}
	if g.scope != "read:user user:email" {
		t.Errorf("asked for %q", g.scope)
	}
	open := startGitHub(t, g, login.GitHub{AllowEveryone: true, AllowSignups: true})
	if u, message := newBrowser(t, open.AccessURL()).github(); u.Username != "stranger" || u.Email != "stranger@example.com" {
		t.Errorf("with sign-ups: %q: %q", u.Username, message)
	}
}
