package login_test

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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/login"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// github is a GitHub of an enterprise's own, as far as a client signs in:
// answers to token requests are forms, refusals have the status 200, and a
// team that one is not in does not exist.
type github struct {
	*httptest.Server
	mu         sync.Mutex
	user       map[string]any
	emails     []map[string]any
	orgs       []string // of which the user is an active member
	invited    []string
	teams      []string          // organization/team
	codes      map[string]string // to challenges
	tokens     map[string]bool
	authorized map[string]bool // device codes; those that are typed in are true
	scope      string
	// fault overrides the answer to a path.
	fault map[string]http.HandlerFunc
}

// serve answers with the fault of a path, if there is one, else as next does.
func (g *github) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		fault := g.fault[r.URL.Path]
		g.mu.Unlock()
		if fault != nil {
			fault(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func newGitHub(t testing.TB) *github {
	t.Helper()
	g := &github{codes: map[string]string{}, tokens: map[string]bool{}, authorized: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/oauth/authorize", g.authorize)
	mux.HandleFunc("POST /login/oauth/access_token", g.token)
	mux.HandleFunc("POST /login/device/code", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		code := rand.Text()
		g.authorized[code] = false
		answer(w, 200, map[string]any{"device_code": code, "user_code": "WDJB-MJHT", "verification_uri": g.URL + "/login/device", "expires_in": 900, "interval": 5})
	})
	for path, what := range map[string]func(r *http.Request) any{
		"/user":        func(*http.Request) any { return g.user },
		"/user/emails": func(*http.Request) any { return g.emails },
		"/user/memberships/orgs": func(r *http.Request) any {
			out := []any{}
			if r.FormValue("page") != "1" {
				return out
			}
			for _, o := range g.orgs {
				out = append(out, map[string]any{"state": "active", "organization": map[string]any{"login": o}})
			}
			for _, o := range g.invited {
				out = append(out, map[string]any{"state": "pending", "organization": map[string]any{"login": o}})
			}
			return out
		},
		"/orgs/{org}/teams/{team}/memberships/{user}": func(r *http.Request) any {
			if r.PathValue("user") == g.user["login"] && slices.Contains(g.teams, r.PathValue("org")+"/"+r.PathValue("team")) {
				return map[string]any{"state": "active"}
			}
			return nil
		},
	} {
		mux.HandleFunc("GET /api/v3"+path, func(w http.ResponseWriter, r *http.Request) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if !g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
				answer(w, http.StatusUnauthorized, map[string]string{"message": "Bad credentials"})
				return
			}
			if v := what(r); v != nil {
				answer(w, 200, v)
				return
			}
			answer(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
		})
	}
	g.Server = httptest.NewServer(g.serve(mux))
	t.Cleanup(g.Close)
	return g
}

func (g *github) authorize(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := r.URL.Query()
	code := rand.Text()
	g.codes[code], g.scope = q.Get("code_challenge"), q.Get("scope")
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (g *github) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := url.Values{}
	if device := r.PostFormValue("device_code"); device != "" {
		typed, known := g.authorized[device]
		switch {
		case !known:
			answer(w, 200, map[string]string{"error": "expired_token"})
		case !typed:
			answer(w, 200, map[string]string{"error": "authorization_pending"})
		default:
			delete(g.authorized, device)
			token := rand.Text()
			g.tokens[token] = true
			answer(w, 200, map[string]string{"access_token": token, "token_type": "bearer"})
		}
		return
	}
	challenge, ok := g.codes[r.PostFormValue("code")]
	delete(g.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case r.PostFormValue("client_id") != clientID || r.PostFormValue("client_secret") != clientSecret:
		out.Set("error", "incorrect_client_credentials")
	case !ok || challenge != base64.RawURLEncoding.EncodeToString(sum[:]):
		out.Set("error", "bad_verification_code")
	default:
		token := rand.Text()
		g.tokens[token] = true
		out.Set("access_token", token)
		out.Set("token_type", "bearer")
	}
	w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	w.Write([]byte(out.Encode())) //nolint:errcheck // to a test
}

// as has a user sit at the browser.
func (g *github) as(id int, name string, orgs, teams []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.user = map[string]any{"id": id, "login": name, "name": "The " + name, "avatar_url": "https://avatars.example.com/" + name}
	g.emails = []map[string]any{
		{"email": "old-" + name + "@example.com", "primary": false, "verified": true},
		{"email": name + "@example.com", "primary": true, "verified": true},
	}
	g.orgs, g.teams, g.invited = orgs, teams, nil
}

func startGitHub(t *testing.T, g *github, c login.GitHub) *servertest.Server {
	t.Helper()
	c.ClientID, c.EnterpriseBaseURL = clientID, g.URL+"/"
	if !c.DeviceFlow {
		c.ClientSecret = clientSecret
	}
	return servertest.Start(t, func(s *server.Config) { s.Provisioning.Daemons, s.Sessions.GitHub = 0, c })
}

const githubPath = "/api/v2/users/oauth2/github/callback"

func (b *browser) github() (codersdk.User, string) {
	b.t.Helper()
	resp := b.get(githubPath + "?redirect=/workspaces")
	return b.me(), resp.Request.URL.Query().Get("message")
}

func TestGitHub(t *testing.T) {
	g := newGitHub(t)
	s := startGitHub(t, g, login.GitHub{AllowedOrgs: []string{"Acme", "umbrella"}, AllowedTeams: []string{"acme/platform", "umbrella/ops"}, AllowSignups: true})
	acme := []string{"acme"}
	for _, c := range []struct {
		name string
		as   func()
		who  string
		want string
	}{
		{"a member of an allowed team", func() { g.as(1, "ann", acme, []string{"acme/platform"}) }, "ann", ""},
		{"again", func() { g.as(1, "ann-renamed", acme, []string{"acme/platform"}) }, "ann", ""},
		{"another team", func() { g.as(2, "bob", acme, []string{"acme/sales"}) }, "", "team"},
		{"a team of an organization left", func() { g.as(2, "bob", []string{"other"}, []string{"acme/platform"}) }, "", "organization"},
		{"invited only", func() { g.as(2, "bob", nil, []string{"acme/platform"}); g.invited = acme }, "", "organization"},
		{"no verified address", func() { g.as(2, "bob", acme, []string{"acme/platform"}); g.emails[1]["verified"] = false }, "", "not verified"},
		{"the second team", func() { g.as(3, "bob", []string{"umbrella"}, []string{"umbrella/ops"}) }, "bob", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.as()
			u, message := newBrowser(t, s.AccessURL()).github()
			if u.Username != c.who || !strings.Contains(message, c.want) || (message == "") != (c.want == "") {
				t.Errorf("signed in as %q: %q", u.Username, message)
			}
			if c.name == "again" && u.Email != "ann-renamed@example.com" {
				t.Errorf("the address stayed %s", u.Email)
			}
		})
	}
	for id, want := range map[string]string{"1": "ann", "3": "bob", "2": ""} {
		var found codersdk.GetUsersResponse
		fetch(t, s.Client, "/users?q=github_com_user_id:"+id, &found)
		if want == "" && found.Count == 0 && len(found.Users) == 0 {
			continue
		}
		if found.Count != 1 || len(found.Users) != 1 || found.Users[0].Username != want {
			t.Errorf("the user with the GitHub id %s: %+v", id, found)
		}
	}
	if g.scope != "read:user user:email read:org" {
		t.Errorf("asked for %q", g.scope)
	}
	var methods codersdk.AuthMethods
	fetch(t, s.Client, "/users/authmethods", &methods)
	if !methods.GitHub.Enabled || methods.OIDC.Enabled || methods.GitHub.DefaultProviderConfigured {
		t.Errorf("methods: %+v", methods)
	}
}

func TestGitHubByACode(t *testing.T) {
	g := newGitHub(t)
	s := startGitHub(t, g, login.GitHub{AllowEveryone: true, AllowSignups: true, DeviceFlow: true})
	g.as(1, "ann", nil, nil)
	b := newBrowser(t, s.AccessURL())
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	page, err := b.get(githubPath + "?redirect=/templates").Location()
	if err != nil || page.Path != "/login/device" || page.Query().Get("state") == "" {
		t.Fatalf("sent to %s, %v", page, err)
	}
	var d codersdk.ExternalAuthDevice
	fetch(t, codersdk.New(s.AccessURL()), "/users/oauth2/github/device", &d)
	if d.UserCode != "WDJB-MJHT" || d.Interval != 5 || d.ExpiresIn < 800 || d.VerificationURI != g.URL+"/login/device" {
		t.Errorf("the device: %+v", d)
	}
	ask := func(b *browser) (status int, out codersdk.OAuth2DeviceFlowCallbackResponse, err error) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", b.base.String()+githubPath+"?"+url.Values{"code": {d.DeviceCode}, "state": page.Query()["state"]}.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := b.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // read
		if resp.StatusCode != 200 {
			return resp.StatusCode, out, codersdk.ReadError(resp)
		}
		return 200, out, json.NewDecoder(resp.Body).Decode(&out)
	}
	for range 2 {
		if status, _, err := ask(b); status != 400 || !strings.Contains(err.Error(), "not been entered") {
			t.Errorf("while no code is entered: %d, %v", status, err)
		}
	}
	g.mu.Lock()
	g.authorized[d.DeviceCode] = true
	g.mu.Unlock()
	if status, _, err := ask(newBrowser(t, s.AccessURL())); status != 403 {
		t.Errorf("in another browser: %d, %v", status, err)
	}
	if status, out, err := ask(b); status != 200 || out.RedirectURL != "/templates" {
		t.Errorf("after the code was typed in: %d, %+v, %v", status, out, err)
	}
	if b.me().Username != "ann" {
		t.Errorf("logged in as %+v", b.me())
	}
	if status, _, err := ask(b); status == 200 {
		t.Errorf("twice: %d, %v", status, err)
	}
}

func TestSettingsThatContradict(t *testing.T) {
	at := &url.URL{Scheme: "http", Host: "localhost"}
	for want, c := range map[string]login.Config{
		"--oidc-client-id needs":            {OIDC: login.OIDC{ClientID: "x"}},
		"--oidc-issuer-url needs":           {OIDC: login.OIDC{IssuerURL: "https://x"}},
		"needs --oidc-client-secret":        {OIDC: login.OIDC{IssuerURL: "https://x", ClientID: "x"}},
		"must be like https://id":           {OIDC: login.OIDC{IssuerURL: "x", ClientID: "x", ClientSecret: "x"}},
		"must include openid":               {OIDC: login.OIDC{IssuerURL: "https://x", ClientID: "x", ClientSecret: "x", Scopes: []string{"email"}}},
		"must be set together":              {OIDC: login.OIDC{IssuerURL: "https://x", ClientID: "x", ClientKeyFile: "x"}},
		"--oidc-group-regex-filter":         {OIDC: login.OIDC{IssuerURL: "https://x", ClientID: "x", ClientSecret: "x", GroupRegex: "("}},
		"no-such-file":                      {OIDC: login.OIDC{IssuerURL: "https://x", ClientID: "x", ClientKeyFile: "no-such-file", ClientCertFile: "no-such-file"}},
		"--oauth2-github-client-secret":     {GitHub: login.GitHub{ClientID: "x", AllowEveryone: true}},
		"nobody could sign in":              {GitHub: login.GitHub{ClientID: "x", ClientSecret: "x"}},
		"excludes":                          {GitHub: login.GitHub{ClientID: "x", ClientSecret: "x", AllowEveryone: true, AllowedOrgs: []string{"x"}}},
		"is not organization/team":          {GitHub: login.GitHub{ClientID: "x", ClientSecret: "x", AllowedTeams: []string{"x"}}},
		"--oauth2-github-enterprise-base-u": {GitHub: login.GitHub{ClientID: "x", ClientSecret: "x", AllowEveryone: true, EnterpriseBaseURL: "x"}},
	} {
		c.AccessURL, c.Secret = at, make([]byte, 32)
		if _, err := login.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
