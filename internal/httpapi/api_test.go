package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/ratelimit"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/template"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

const password = "correct horse battery"

// live is an API on a real socket and database.
type live struct {
	first   codersdk.CreateFirstUserResponse
	t       *testing.T
	api     *API
	url     *url.URL
	root    *codersdk.Client // the owner
	metrics *prometheus.Registry
}

func start(t *testing.T, edit func(*Config)) *live {
	t.Helper()
	reg := prometheus.NewRegistry()
	store := postgrestest.New(t)
	c := Config{
		Site: deployment.New(deployment.Config{Store: store}), Insights: insight.New(insight.Config{Store: store}),
		Identity: identity.New(identity.Config{Store: store}), Organizations: organization.New(organization.Config{Store: store}), Registerer: reg,
		Version: "v1.2.3", DeploymentID: uuid.NewString(),
	}
	if edit != nil {
		edit(&c)
	}
	api := New(c)
	s := httptest.NewServer(api.Handler())
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &live{t: t, api: api, url: u, metrics: reg}
}

// startWithOwner also makes the first user, and logs it in.
func startWithOwner(t *testing.T, edit func(*Config)) *live {
	t.Helper()
	l := start(t, edit)
	l.root = codersdk.New(l.url)
	var err error
	l.first, err = l.root.CreateFirstUser(t.Context(), codersdk.CreateFirstUserRequest{Email: "root@example.com", Username: "root", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.root.LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: "root@example.com", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	l.root.SessionToken = got.SessionToken
	return l
}

// member makes a user with site roles, and a client of theirs.
func (l *live) member(name string, roles ...string) *codersdk.Client {
	l.t.Helper()
	ctx := l.t.Context()
	if _, err := l.root.CreateUser(ctx, codersdk.CreateUserRequestWithOrgs{Email: name + "@example.com", Username: name, LoginType: codersdk.LoginTypeNone}); err != nil {
		l.t.Fatal(err)
	}
	if len(roles) > 0 {
		if _, err := l.root.UpdateUserRoles(ctx, name, codersdk.UpdateRoles{Roles: roles}); err != nil {
			l.t.Fatal(err)
		}
	}
	k, err := l.root.CreateToken(ctx, name, codersdk.CreateTokenRequest{})
	if err != nil {
		l.t.Fatal(err)
	}
	c := codersdk.New(l.url)
	c.SessionToken = k.Key
	return c
}

// send sends a request as it is and gives status, header and body.
func (l *live) send(method, path, body string, header ...string) (int, http.Header, []byte) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), method, l.url.String()+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, b
}

// TestFailures: every failure is {message, detail, validations} with its status.
func TestFailures(t *testing.T) {
	l := startWithOwner(t, func(c *Config) {
		c.Mounts = map[string]http.Handler{"GET /api/v2/boom": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })}
	})
	token := []string{codersdk.SessionTokenHeader, l.root.SessionToken}
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		field                    string
	}{
		{"unknown path", "GET", "/api/v2/nothing", "", nil, 404, ""},
		{"unknown path below", "GET", "/api/v2/users/me/nothing", "", token, 404, ""},
		{"wrong method", "DELETE", "/api/v2/buildinfo", "", nil, 405, ""},
		{"odd method", "BREW", "/api/v2/buildinfo", "", nil, 405, ""},
		{"no token", "GET", "/api/v2/users", "", nil, 401, ""},
		{"bad token", "GET", "/api/v2/users", "", []string{codersdk.SessionTokenHeader, "nonsense"}, 401, ""},
		{"wrong password", "POST", "/api/v2/users/login", `{"email":"root@example.com","password":"x"}`, nil, 401, ""},
		{"not JSON", "POST", "/api/v2/users/login", `{`, nil, 400, ""},
		{"no body", "POST", "/api/v2/users", "", token, 400, ""},
		{"wrong type", "POST", "/api/v2/users", `{"email":1}`, token, 400, "email"},
		{"two values", "POST", "/api/v2/users/login", `{} {}`, nil, 400, ""},
		{"bad name", "POST", "/api/v2/users", `{"email":"a@example.com","username":"-","login_type":"none"}`, token, 400, "username"},
		{"several", "POST", "/api/v2/users", `{"email":"a","username":"-","login_type":"none"}`, token, 400, "email"},
		{"name taken", "POST", "/api/v2/users", `{"email":"a@example.com","username":"root","login_type":"none"}`, token, 409, "username"},
		{"second first user", "POST", "/api/v2/users/first", `{"email":"a@example.com","username":"a","password":"` + password + `"}`, nil, 409, ""},
		{"no such user", "GET", "/api/v2/users/nobody", "", token, 404, ""},
		{"bad limit", "GET", "/api/v2/users?limit=-1", "", token, 400, "limit"},
		{"bad search", "GET", "/api/v2/users?q=planet:mars", "", token, 400, "planet"},
		{"bad after_id", "GET", "/api/v2/users?after_id=1", "", token, 400, "after_id"},
		{"too large", "POST", "/api/v2/users/login", `{"email":"` + strings.Repeat("x", 70<<10) + `"}`, nil, 413, ""},
		{"nul in a name", "GET", "/api/v2/users/a%00b", "", token, 400, ""},
		{"panic", "GET", "/api/v2/boom", "", nil, 500, ""},
		{"bypass", "GET", "/api/v2/users/me", "", []string{bypassHeader, "true", codersdk.SessionTokenHeader, l.member("mel").SessionToken}, 428, ""},
	} {
		status, header, body := l.send(c.method, c.path, c.body, c.header...)
		var got codersdk.Response
		if err := json.Unmarshal(body, &got); err != nil || got.Message == "" {
			t.Errorf("%s: the body is no error: %q %v", c.name, body, err)
		}
		if status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, body)
		}
		if header.Get(codersdk.BuildVersionHeader) != "v1.2.3" || header.Get(requestIDHeader) == "" {
			t.Errorf("%s: headers %v", c.name, header)
		}
		found := c.field == ""
		for _, v := range got.Validations {
			found = found || v.Field == c.field
		}
		if !found {
			t.Errorf("%s: validations do not name %s: %s", c.name, c.field, body)
		}
		if bytes.Contains(body, []byte("boom")) || bytes.Contains(body, []byte("SQLSTATE")) {
			t.Errorf("%s: the answer shows our insides: %s", c.name, body)
		}
	}
}

// TestTokenPlaces: header, query, bearer and cookie carry the token; a cookie
// not from pages of other sites.
func TestTokenPlaces(t *testing.T) {
	l := startWithOwner(t, nil)
	cookie := codersdk.SessionCookie + "=" + l.root.SessionToken
	for _, c := range []struct {
		name, method, path string
		header             []string
		status             int
	}{
		{"header", "GET", "/api/v2/users/me", []string{codersdk.SessionTokenHeader, l.root.SessionToken}, 200},
		{"query", "GET", "/api/v2/users/me?" + codersdk.SessionCookie + "=" + l.root.SessionToken, nil, 200},
		{"bearer", "GET", "/api/v2/users/me", []string{"Authorization", "Bearer " + l.root.SessionToken}, 200},
		{"cookie", "GET", "/api/v2/users/me", []string{"Cookie", cookie}, 200},
		{"cookie of another site, reading", "GET", "/api/v2/users/me", []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 200},
		{"cookie of another site, writing", "PUT", "/api/v2/users/me/gitsshkey", []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403},
		{"cookie with a foreign origin", "PUT", "/api/v2/users/me/gitsshkey", []string{"Cookie", cookie, "Origin", "https://evil.example"}, 403},
		{"cookie of our page", "PUT", "/api/v2/users/me/gitsshkey", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 200},
		{"header from anywhere", "PUT", "/api/v2/users/me/gitsshkey", []string{codersdk.SessionTokenHeader, l.root.SessionToken, "Sec-Fetch-Site", "cross-site"}, 200},
	} {
		if status, _, body := l.send(c.method, c.path, "", c.header...); status != c.status {
			t.Errorf("%s: %d, want %d: %s", c.name, status, c.status, body)
		}
	}
	status, header, _ := l.send("POST", "/api/v2/users/login", `{"email":"root@example.com","password":"`+password+`"}`)
	if set := header.Get("Set-Cookie"); status != 201 || !strings.HasPrefix(set, codersdk.SessionCookie+"=") || !strings.Contains(set, "HttpOnly") {
		t.Errorf("login: %d %q", status, set)
	}
	if err := l.root.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.root.User(t.Context(), "me"); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Errorf("after logout: %v", err)
	}
}

// TestAnonymous walks every route without a token: nothing but what is public
// answers.
func TestAnonymous(t *testing.T) {
	l := start(t, func(c *Config) {
		c.RateLimit = -1
		c.Workspaces, c.Templates, c.Presence, c.Queue, c.Keys = &workspace.Service{}, &template.Service{}, &presence.Service{}, &queue.Service{}, &keyring.Service{}
	})
	for _, r := range l.api.Routes() {
		if r.Auth != rest.AuthUser {
			continue
		}
		path := Prefix + pathParameter.ReplaceAllString(r.Path, uuid.NewString())
		if status, _, body := l.send(r.Method, path, "{}"); status != http.StatusUnauthorized {
			t.Errorf("%s %s without a token: %d %s", r.Method, r.Path, status, body)
		}
	}
}

// TestRolesLive checks at the real thing some cells of the matrix.
func TestRolesLive(t *testing.T) {
	l := startWithOwner(t, nil)
	clients := map[string]*codersdk.Client{
		"owner": l.root, "user-admin": l.member("una", "user-admin"), "auditor": l.member("olga", "auditor"),
		"template-admin": l.member("tim", "template-admin"), "member": l.member("mel"),
	}
	l.member("ann")
	for _, c := range []struct {
		method, path, body string
		status             map[string]int
	}{
		{"GET", "/users/ann", "", map[string]int{"owner": 200, "user-admin": 200, "auditor": 200, "template-admin": 200, "member": 404}},
		{"GET", "/audit?limit=1", "", map[string]int{"owner": 200, "user-admin": 403, "auditor": 200, "template-admin": 403, "member": 403}},
		{"PUT", "/users/ann/roles", `{"roles":["auditor"]}`, map[string]int{"owner": 200, "user-admin": 403, "auditor": 403, "template-admin": 403, "member": 403}},
		{"PUT", "/users/ann/status/suspend", "", map[string]int{"member": 404, "auditor": 403, "template-admin": 403, "user-admin": 200, "owner": 200}},
		{"PUT", "/users/ann/profile", `{"username":"ann"}`, map[string]int{"member": 404, "auditor": 403, "user-admin": 200}},
		{"GET", "/users/ann/gitsshkey", "", map[string]int{"member": 404, "auditor": 403, "user-admin": 200, "owner": 200}},
		{"POST", "/users/ann/keys/tokens", `{}`, map[string]int{"member": 403, "user-admin": 403, "owner": 201}},
		{"POST", "/organizations", `{"name":"lab"}`, map[string]int{"member": 403, "user-admin": 403, "template-admin": 403}},
		{"PATCH", "/organizations/default", `{"description":"x"}`, map[string]int{"member": 403, "user-admin": 403, "owner": 200}},
		{"POST", "/users", `{"email":"x","username":"x"}`, map[string]int{"member": 403, "auditor": 403, "user-admin": 400, "owner": 400}},
	} {
		for who, want := range c.status {
			status, _, body := l.send(c.method, Prefix+c.path, c.body, codersdk.SessionTokenHeader, clients[who].SessionToken)
			if status != want {
				t.Errorf("%s %s as %s: %d, want %d: %s", c.method, c.path, who, status, want, body)
			}
		}
	}
}

// TestAnswersConform sends a request to the endpoints of users and of the
// server itself, and holds what really comes to the contract.
func TestAnswersConform(t *testing.T) {
	l := startWithOwner(t, nil)
	c := theContract(t)
	l.member("ann", "auditor")
	if _, err := l.root.CreateToken(t.Context(), "me", codersdk.CreateTokenRequest{TokenName: "ci"}); err != nil {
		t.Fatal(err)
	}
	tokens, err := l.root.Tokens(t.Context(), "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	body := map[string]string{
		"POST /users/login":                                              `{"email":"root@example.com","password":"` + password + `"}`,
		"POST /users":                                                    `{"email":"nell@example.com","username":"nell","login_type":"none"}`,
		"POST /users/validate-password":                                  `{"password":"x"}`,
		"PUT /users/{user}/roles":                                        `{"roles":["auditor"]}`,
		"PUT /users/{user}/profile":                                      `{"username":"ann","name":"Ann"}`,
		"PUT /users/{user}/appearance":                                   `{"theme_preference":"dark","terminal_font":""}`,
		"PUT /users/{user}/preferences":                                  `{"task_notification_alert_dismissed":true}`,
		"POST /users/{user}/keys/tokens":                                 `{"token_name":"other"}`,
		"POST /users/{user}/convert-login":                               `{"password":"` + password + `","to_type":"oidc"}`,
		"PUT /users/{user}/quiet-hours":                                  `{"schedule":"CRON_TZ=UTC 5 22 * * *"}`,
		"POST /organizations/{organization}/groups":                      `{"name":"made"}`,
		"PATCH /groups/{group}":                                          `{"quota_allowance":7}`,
		"POST /organizations/{organization}/members/roles":               `{"name":"made","organization_permissions":[{"resource_type":"workspace","action":"read"}]}`,
		"PUT /organizations/{organization}/members/roles":                `{"name":"made","display_name":"Made"}`,
		"PATCH /organizations/{organization}/settings/workspace-sharing": `{"sharing_disabled":true}`,
		"POST /authcheck":                                                `{"checks":{"a":{"action":"read","object":{"resource_type":"user"}}}}`,
		"POST /organizations":                                            `{"name":"lab"}`,
		"PATCH /organizations/{organization}":                            `{"description":"where it all begins"}`,
		"PUT /organizations/{organization}/members/{user}/roles":         `{"roles":["organization-auditor"]}`,
	}
	values := strings.NewReplacer("{user}", "ann", "{organization}", "default", "{organizationname}", "coder", "{keyid}", tokens[0].ID, "{keyname}", "ci",
		"{group}", l.first.OrganizationID.String(), "{groupName}", "Everyone")
	// What ends things, or has run already in the set-up.
	skip := []string{"POST /users/first", "POST /users/logout", "DELETE", "PUT /users/{user}/password", "/expire", "POST /organizations/{organization}/members/{user}"}
	routes := [][]rest.Route{l.api.deploymentRoutes(), l.api.userRoutes(), l.api.keyRoutes(), l.api.organizationRoutes(), l.api.auditRoutes(), l.api.groupRoutes(), l.api.roleRoutes()}
	for _, table := range routes {
		for _, r := range table {
			name := r.Method + " " + r.Path
			if containsAny(name, skip) {
				continue
			}
			path := values.Replace(strings.ReplaceAll(r.Path, "{$}", ""))
			if strings.Contains(r.Path, "{keyid}") || strings.Contains(r.Path, "{keyname}") || strings.Contains(r.Path, "convert-login") {
				path = strings.ReplaceAll(path, "/users/ann/", "/users/me/")
			}
			status, _, b := l.send(r.Method, Prefix+path, body[name], codersdk.SessionTokenHeader, l.root.SessionToken)
			want := max(r.Status, 200)
			if status != want {
				t.Errorf("%s: %d, want %d: %s", name, status, want, b)
				continue
			}
			for _, e := range c.Endpoints {
				if shape(e.Method, e.Path) != shape(r.Method, r.Path) {
					continue
				}
				for _, resp := range e.Responses {
					var v any
					if err := json.Unmarshal(b, &v); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					kind := resp.Schema
					for _, d := range c.Conforms(kind, v, name) {
						t.Error(d)
					}
				}
			}
		}
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.HasSuffix(s, p) || strings.HasPrefix(s, p+" ") {
			return true
		}
	}
	return false
}

func TestRateLimit(t *testing.T) {
	l := startWithOwner(t, func(c *Config) { c.RateLimit = 20 })
	last := 0
	for range 40 {
		if last, _, _ = l.send("GET", "/api/v2/users/me", "", codersdk.SessionTokenHeader, l.root.SessionToken); last != 200 {
			break
		}
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("no limit after 40 requests: %d", last)
	}
	_, header, _ := l.send("GET", "/api/v2/users/me", "", codersdk.SessionTokenHeader, l.root.SessionToken)
	if wait, err := strconv.Atoi(header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
		t.Errorf("429 has Retry-After %q, want seconds within a minute", header.Get("Retry-After"))
	}
	for i := range 2 * ratelimit.PublicShare { // a whole office behind one address
		if status, _, _ := l.send("GET", "/api/v2/buildinfo", ""); status != 200 {
			t.Fatalf("request %d without a token: %d", i, status)
		}
	}
	if status, _, _ := l.send("GET", "/api/v2/users/me", "", codersdk.SessionTokenHeader, l.root.SessionToken, bypassHeader, "true"); status != 200 {
		t.Errorf("an owner cannot bypass the limit: %d", status)
	}
}

func TestMetrics(t *testing.T) {
	l := start(t, nil)
	l.send("GET", "/api/v2/buildinfo", "")
	l.send("GET", "/api/v2/"+uuid.NewString(), "")
	families, err := l.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range families {
		got[f.GetName()] = len(f.GetMetric())
	}
	if got["coderd_api_requests_processed_total"] != 2 || got["coderd_api_request_latencies_seconds"] != 2 {
		t.Errorf("metrics: %v", got)
	}
}

func TestStatusOf(t *testing.T) {
	for code, want := range map[codersdk.Code]int{
		codersdk.CodeInvalid: 400, codersdk.CodeUnauthenticated: 401, codersdk.CodeForbidden: 403, codersdk.CodeNotFound: 404, codersdk.CodeConflict: 409,
		codersdk.CodePrecondition: 412, codersdk.CodeTooLarge: 413, codersdk.CodeRateLimited: 429, codersdk.CodeUnavailable: 503, codersdk.CodeInternal: 500,
	} {
		if got := codersdk.Status(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
	if codersdk.Status(codersdk.CodeOf(errors.New("x"))) != 500 {
		t.Error("an unknown error is not ours")
	}
}
