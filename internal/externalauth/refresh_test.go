package externalauth_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
)

// timeout is the error of a provider that takes too long.
type timeout struct{}

func (timeout) Error() string   { return "the response takes too long" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

// slow is a network in which requests to a path take too long while it is on.
type slow struct{ on bool }

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.on {
		return nil, timeout{}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestAnswersToRefreshes: only a refusal in the form of the provider ends a link. After every other answer the
// token stays in use until its end, and the next attempt succeeds.
func TestAnswersToRefreshes(t *testing.T) {
	send := func(status int, kind, body string, header ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", kind)
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body)) // the client may be gone
			return true
		}
	}
	const form, object, page = "application/x-www-form-urlencoded; charset=utf-8", "application/json", "text/html; charset=utf-8"
	for name, c := range map[string]struct {
		kind   string
		answer func(http.ResponseWriter, *http.Request) bool
		ends   bool // the link
	}{
		"GitHub refuses with status 200": {"github", send(200, form, "error=bad_refresh_token&error_description=The+refresh+token+is+incorrect+or+expired."), true},
		"GitHub refuses in JSON":         {"github", send(200, object, `{"error": "bad_refresh_token"}`), true},
		"GitHub's limit":                 {"github", send(403, object, `{"message": "You have exceeded a secondary rate limit"}`, "Retry-After", "60"), false},
		"GitHub's application is gone":   {"github", send(404, object, `{"message": "Not Found"}`), false},
		"GitHub's wrong secret":          {"github", send(200, form, "error=incorrect_client_credentials"), false},
		"GitLab refuses":                 {"gitlab", send(400, object, `{"error": "invalid_grant", "error_description": "The provided authorization grant is invalid"}`), true},
		"GitLab's wrong secret":          {"gitlab", send(401, object, `{"error": "invalid_client"}`), false},
		"GitLab in maintenance":          {"gitlab", send(503, page, "<html>GitLab is not responding</html>"), false},
		"GitLab's limit":                 {"gitlab", send(429, "text/plain", "Retry later"), false},
		"Bitbucket refuses":              {"bitbucket-cloud", send(400, object, `{"error": "invalid_grant", "error_description": "Invalid refresh_token"}`), true},
		"Bitbucket fails":                {"bitbucket-cloud", send(500, page, "<html></html>"), false},
		"Bitbucket's own server refuses": {"bitbucket-server", send(400, object, `{"error": "invalid_grant"}`), true},
		"Azure refuses":                  {"azure-devops", send(400, object, `{"Error": "InvalidAssertion"}`), true},
		"Azure's wrong secret":           {"azure-devops", send(400, object, `{"Error": "invalid_client"}`), false},
		"Azure fails":                    {"azure-devops", send(500, object, `{}`), false},
		"Slack refuses":                  {"slack", send(200, object, `{"ok": false, "error": "invalid_refresh_token"}`), true},
		"Slack fails":                    {"slack", send(200, object, `{"ok": false, "error": "internal_error"}`), false},
		"Gitea refuses":                  {"gitea", send(400, object, `{"error": "invalid_grant", "error_description": "token was already used"}`), true},
		"Gitea's wrong client":           {"gitea", send(400, object, `{"error": "unauthorized_client"}`), false},
		"a page with status 200":         {"gitea", send(200, page, "<html>Sign in</html>"), false},
		"no token":                       {"gitea", send(200, object, `{"token_type": "bearer"}`), false},
		"a cut connection": {"gitea", func(w http.ResponseWriter, _ *http.Request) bool {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.Close()
			}
			return true
		}, false},
		"a slow provider": {"gitea", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := &slow{}
			w := newWorld(t, func(h *host) externalauth.Provider { return h.provider(c.kind) })
			w.transport = network
			w.svc = w.replica(w.host.provider(c.kind))
			w.host.set(func(h *host) { h.expiresIn = 3600 })
			w.link(c.kind)
			first := w.token(c.kind)
			w.host.set(func(h *host) { h.answer = c.answer })
			network.on = c.answer == nil
			w.clock.move(50 * time.Minute) // the refresh is due, and the token still works
			if c.ends {
				w.unlinked(c.kind, "no longer accepts the link")
				return
			}
			if got := w.token(c.kind); got != first {
				t.Errorf("got %q before the end of the token", got)
			}
			w.clock.move(11 * time.Minute)
			if got, err := w.ask(c.kind); !codersdk.Is(err, codersdk.CodeUnavailable) || got.AccessToken != "" {
				t.Errorf("after the end of the token: %+v, %v", got, err)
			}
			w.host.set(func(h *host) { h.answer = nil })
			network.on = false
			w.clock.move(time.Minute)
			if got := w.token(c.kind); got == first || !w.host.knows(got) {
				t.Errorf("got %q after the provider recovered", got)
			}
		})
	}
}
