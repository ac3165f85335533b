package oauth2api_test

import (
	"context"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/oauth2api"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

const password = "CorrectHorse7"

// server is an API with an OAuth2 provider, and its owner's client.
type server struct {
	*testing.T
	url      *url.URL
	store    *postgres.Store
	provider *oauth2provider.Service
	owner    *codersdk.Client
	now      time.Time
}

func start(t *testing.T, unlimited bool) *server {
	t.Helper()
	s := &server{T: t, store: postgrestest.New(t), now: time.Now()}
	clock := func() time.Time { return s.now }
	var api http.Handler
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.ServeHTTP(w, r) }))
	t.Cleanup(http.Close)
	s.url = parse(t, http.URL)
	users := identity.New(identity.Config{Store: s.store, Now: clock})
	var err error
	s.provider, err = oauth2provider.New(oauth2provider.Config{
		Store: s.store, Now: clock, AccessURL: s.url, Secret: make([]byte, 32),
		Resources: map[string][]codersdk.APIKeyScope{oauth2provider.MCPPath: {"template:read", "workspace:ssh"}},
	})
	must(t, err)
	endpoints := newEndpoints(s, users, unlimited)
	mounts := endpoints.Mounts()
	mounts["GET "+oauth2provider.MCPPath] = mcp(users)
	api = httpapi.New(httpapi.Config{Identity: users, AccessURL: s.url, Routes: endpoints.Routes(), Mounts: mounts}).Handler()
	s.owner = codersdk.New(s.url)
	_, err = s.owner.CreateFirstUser(t.Context(), codersdk.CreateFirstUserRequest{Email: "owner@example.com", Username: "owner", Password: password})
	must(t, err)
	s.owner = s.signIn("owner")
	return s
}

func newEndpoints(s *server, users *identity.Service, unlimited bool) *oauth2api.API {
	return oauth2api.New(oauth2api.Config{
		Provider: s.provider, Log: slog.New(slog.DiscardHandler), AccessURL: s.url, Unlimited: unlimited,
		Authenticate: func(r *http.Request, token string) (access.Subject, error) {
			o, _ := access.OriginOf(r.Context())
			return users.Authenticate(r.Context(), token, o)
		},
	})
}

// mcp answers with the status of the request's token.
func mcp(users *identity.Service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := codersdk.TokenOf(r)
		o, _ := access.OriginOf(r.Context())
		if _, err := users.Authenticate(r.Context(), token, o); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	must(t, err)
	return u
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// signIn returns a client with a session of the user.
func (s *server) signIn(name string) *codersdk.Client {
	s.Helper()
	c := codersdk.New(s.url)
	got, err := c.LoginWithPassword(s.Context(), codersdk.LoginWithPasswordRequest{Email: name + "@example.com", Password: password})
	must(s.T, err)
	c.SessionToken = got.SessionToken
	return c
}

// member creates a user, and returns a client with a session of the user.
func (s *server) member(name string) *codersdk.Client {
	s.Helper()
	_, err := s.owner.CreateUser(s.Context(), codersdk.CreateUserRequestWithOrgs{Email: name + "@example.com", Username: name, Password: password})
	must(s.T, err)
	return s.signIn(name)
}

const callback = "https://app.example.com/callback"

// app creates an application, and returns the configuration of its OAuth2 client.
func (s *server) app(name, scope string, redirects ...string) *oauth2.Config {
	s.Helper()
	if len(redirects) == 0 {
		redirects = []string{callback}
	}
	app, err := s.owner.PostOAuth2ProviderApp(s.Context(), codersdk.PostOAuth2ProviderAppRequest{Name: name, RedirectURIs: redirects, Scope: scope})
	must(s.T, err)
	secret, err := s.owner.PostOAuth2ProviderAppSecret(s.Context(), app.ID)
	must(s.T, err)
	return &oauth2.Config{
		ClientID: app.ID.String(), ClientSecret: secret.ClientSecretFull, RedirectURL: redirects[0],
		Endpoint: oauth2.Endpoint{AuthURL: app.Endpoints.Authorization, TokenURL: app.Endpoints.Token},
	}
}

// reply is a response that was read.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request without following redirects. Headers are pairs of names and values.
func (s *server) send(method, address, body string, header ...string) reply {
	s.Helper()
	if strings.HasPrefix(address, "/") {
		address = s.url.String() + address
	}
	req, err := http.NewRequestWithContext(s.Context(), method, address, strings.NewReader(body))
	must(s.T, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	must(s.T, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(s.T, err)
	return reply{resp.StatusCode, resp.Header, string(b)}
}

// browser returns the headers of a browser with the session of a client.
func browser(c *codersdk.Client) []string {
	return []string{"Accept", "text/html,*/*", "Cookie", codersdk.SessionCookie + "=" + c.SessionToken}
}

var hidden = regexp.MustCompile(`name="consent" value="([^"]*)"`)
var action = regexp.MustCompile(`<form method="post" action="([^"]*)"`)

// consent opens an authorization address as a user's browser, answers, and returns where the browser goes.
func (s *server) consent(c *codersdk.Client, address, answer string) *url.URL {
	s.Helper()
	page := s.send("GET", address, "", browser(c)...)
	seal, form := hidden.FindStringSubmatch(page.body), action.FindStringSubmatch(page.body)
	if page.status != http.StatusOK || seal == nil || form == nil {
		s.Fatalf("consent page: %d %s", page.status, page.body)
	}
	body := url.Values{"consent": {html.UnescapeString(seal[1])}, "action": {answer}}.Encode()
	got := s.send("POST", html.UnescapeString(form[1]), body, append(browser(c), "Origin", s.url.String())...)
	if got.status != http.StatusFound {
		s.Fatalf("answer of the consent page: %d %s", got.status, got.body)
	}
	return parse(s.T, got.header.Get("Location"))
}

// tokens runs the whole flow with PKCE.
func (s *server) tokens(c *codersdk.Client, o *oauth2.Config, more ...oauth2.AuthCodeOption) *oauth2.Token {
	s.Helper()
	verifier := oauth2.GenerateVerifier()
	at := s.consent(c, o.AuthCodeURL("state", append(more, oauth2.S256ChallengeOption(verifier))...), "approve")
	token, err := o.Exchange(s.Context(), at.Query().Get("code"), oauth2.VerifierOption(verifier))
	must(s.T, err)
	return token
}

// works reports whether an access token is valid for the API.
func (s *server) works(token string) bool {
	s.Helper()
	return s.send("GET", "/api/v2/users/me", "", "Authorization", "Bearer "+token).status == http.StatusOK
}

// post sends a form to an endpoint and returns the status and the error code.
func (s *server) post(path string, form url.Values, header ...string) (status int, code string) {
	s.Helper()
	got := s.send("POST", path, form.Encode(), header...)
	var out codersdk.OAuth2Error
	if got.status != http.StatusOK {
		must(s.T, json.Unmarshal([]byte(got.body), &out))
	}
	return got.status, out.Error
}

// secrets returns the form of a client that proves itself in the body.
func secrets(o *oauth2.Config, more ...string) url.Values {
	v := url.Values{"client_id": {o.ClientID}}
	if o.ClientSecret != "" {
		v.Set("client_secret", o.ClientSecret)
	}
	for i := 0; i < len(more); i += 2 {
		v.Add(more[i], more[i+1])
	}
	return v
}

func appID(t *testing.T, o *oauth2.Config) uuid.UUID {
	t.Helper()
	id, err := uuid.Parse(o.ClientID)
	must(t, err)
	return id
}

// count returns the result of a query for a number.
func (s *server) count(query string) (n int) {
	s.Helper()
	must(s.T, s.store.Pool().QueryRow(context.Background(), query).Scan(&n))
	return n
}
