package externalauth_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// host is a git host as far as OAuth2 goes. It speaks the protocol strictly: codes and refresh tokens work
// once, PKCE is checked, and a refresh ends the tokens before it. Tests change its answers.
type host struct {
	*httptest.Server
	mu        sync.Mutex
	codes     map[string]string // to challenges
	access    map[string]bool
	refresh   map[string]bool
	expiresIn int // seconds; 0: tokens do not expire
	refreshed int
	validated int
	revoked   []string
	keeps     bool            // whether it refuses revocations in Slack's form
	devices   map[string]bool // device codes; true once the user has entered it
	scopes    string          // of the last authorization
	query     url.Values      // of the last authorization
	form      url.Values      // of the last token request

	answer   func(w http.ResponseWriter, r *http.Request) bool // overrides the answer to the paths of tokens
	validate func(w http.ResponseWriter, r *http.Request) bool // overrides the answer to validations
}

const clientID, clientSecret = "coder", "the-client-secret"

func newHost(t testing.TB) *host {
	t.Helper()
	h := &host{codes: map[string]string{}, access: map[string]bool{}, refresh: map[string]bool{}, devices: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", h.token)
	mux.HandleFunc("GET /user", h.user)
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.revoked = append(h.revoked, r.FormValue("token"))
		reply(w, 200, map[string]any{"ok": !h.keeps, "error": "invalid_auth"}) // as Slack; others ignore it
	})
	mux.HandleFunc("DELETE /applications/{client}/grant", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		id, secret, _ := r.BasicAuth()
		var body map[string]string
		if json.NewDecoder(r.Body).Decode(&body) != nil || id != clientID || secret != clientSecret || r.PathValue("client") != clientID {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.revoked = append(h.revoked, body["access_token"])
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /device", func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		code := rand.Text()
		h.devices[code] = false
		reply(w, 200, map[string]any{"device_code": code, "user_code": "ABCD-1234", "verification_uri": h.URL + "/enter", "expires_in": 600, "interval": 5})
	})
	mux.HandleFunc("GET /user/installations", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"installations": []any{
			map[string]any{"id": 7, "html_url": "https://git.example.com/installations/7", "account": map[string]any{"login": "acme", "id": 9}},
		}})
	})
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone
}

// authorize is the user's consent in the browser: it returns the query with which the host sends the browser
// back.
func (h *host) authorize(t testing.TB, location string) url.Values {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil || !strings.HasPrefix(location, h.URL+"/authorize?") {
		t.Fatalf("sent to %q, %v", location, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.query, h.scopes = u.Query(), u.Query().Get("scope")
	code := rand.Text()
	h.codes[code] = u.Query().Get("code_challenge")
	return url.Values{"code": {code}, "state": u.Query()["state"]}
}

func (h *host) token(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	answer := h.answer
	h.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = r.ParseForm() // a form that is not valid has no fields
	h.form = r.Form
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		challenge, ok := h.codes[r.Form.Get("code")]
		delete(h.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || challenge != "" && challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			reply(w, 400, map[string]string{"error": "invalid_grant"})
			return
		}
	case "refresh_token":
		if !h.refresh[r.Form.Get("refresh_token")] && !h.refresh[r.Form.Get("assertion")] { // Azure DevOps has an assertion
			reply(w, 400, map[string]string{"error": "invalid_grant", "error_description": "the refresh token was used already"})
			return
		}
		h.refreshed++
		clear(h.refresh)
		clear(h.access) // as GitLab does
	case "urn:ietf:params:oauth:grant-type:jwt-bearer": // Azure DevOps
		if _, ok := h.codes[r.Form.Get("assertion")]; !ok || r.Form.Get("client_assertion") != clientSecret {
			reply(w, 400, map[string]string{"Error": "InvalidAssertion"})
			return
		}
	case "urn:ietf:params:oauth:grant-type:device_code":
		entered, ok := h.devices[r.Form.Get("device_code")]
		if !ok || !entered {
			reply(w, 400, map[string]string{"error": map[bool]string{true: "authorization_pending", false: "expired_token"}[ok]})
			return
		}
		delete(h.devices, r.Form.Get("device_code"))
	default:
		reply(w, 400, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	out := map[string]any{"access_token": "access-" + rand.Text(), "token_type": "bearer", "authed_user": map[string]any{"id": "U1"}}
	h.access[out["access_token"].(string)] = true
	if h.expiresIn > 0 {
		out["expires_in"], out["refresh_token"] = h.expiresIn, "refresh-"+rand.Text()
		h.refresh[out["refresh_token"].(string)] = true
	}
	reply(w, 200, out)
}

func (h *host) user(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.validated++
	validate := h.validate
	good := h.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	h.mu.Unlock()
	if validate != nil && validate(w, r) {
		return
	}
	if !good {
		reply(w, 401, map[string]string{"message": "Bad credentials"})
		return
	}
	w.Header().Set("X-Ratelimit-Limit", "5000")
	w.Header().Set("X-Ratelimit-Remaining", "4999")
	reply(w, 200, map[string]any{"id": 42, "login": "ann", "name": "Ann", "avatar_url": "https://git.example.com/ann.png", "html_url": "javascript:alert(1)"})
}

// end makes the host forget all access tokens.
func (h *host) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.access)
}

// set changes the answers of the host.
func (h *host) set(change func(h *host)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

func (h *host) knows(token string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.access[token]
}

func (h *host) count(n *int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return *n
}

func (h *host) hasRevoked(prefix string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.revoked, func(t string) bool { return strings.HasPrefix(t, prefix) })
}
