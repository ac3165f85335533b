package oauth2api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
)

// TestCodeFlow runs the flow of a confidential client with and without PKCE, by both ways to send the secret.
func TestCodeFlow(t *testing.T) {
	s := start(t, true)
	dev := s.member("dev")
	o := s.app("Backstage", "")
	for _, style := range []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams} {
		o.Endpoint.AuthStyle = style
		at := s.consent(dev, o.AuthCodeURL("x y"), "approve")
		if got := at.Query(); at.Host != "app.example.com" || got.Get("state") != "x y" || got.Get("iss") != s.url.String() {
			t.Fatalf("redirect: %s", at)
		}
		token, err := o.Exchange(t.Context(), at.Query().Get("code"))
		must(t, err)
		if token.TokenType != "Bearer" || token.RefreshToken == "" || token.Extra("scope") != "coder:all" || token.ExpiresIn != 3600 {
			t.Errorf("tokens: %+v", token)
		}
		c := codersdk.New(s.url)
		c.SessionToken = token.AccessToken
		me, err := c.User(t.Context(), "me")
		if err != nil || me.Username != "dev" {
			t.Errorf("the token belongs to %q: %v", me.Username, err)
		}
	}
	token := s.tokens(dev, o)
	s.now = s.now.Add(time.Hour)
	if s.works(token.AccessToken) {
		t.Error("the access token did not expire")
	}
	token.Expiry = time.Now().Add(-time.Hour)
	fresh, err := o.TokenSource(t.Context(), token).Token()
	must(t, err)
	if !s.works(fresh.AccessToken) || fresh.RefreshToken == token.RefreshToken {
		t.Errorf("refreshed tokens: %+v", fresh)
	}
	s.now = s.now.Add(oauth2provider.DefaultRefreshLifetime)
	if status, code := s.post("/oauth2/tokens", secrets(o, "grant_type", "refresh_token", "refresh_token", fresh.RefreshToken)); status != 400 || code != "invalid_grant" {
		t.Errorf("expired refresh token: %d %s", status, code)
	}
}

func TestDeny(t *testing.T) {
	s := start(t, true)
	at := s.consent(s.owner, s.app("Backstage", "").AuthCodeURL("state"), "deny")
	if q := at.Query(); q.Get("error") != "access_denied" || q.Get("state") != "state" || q.Has("code") {
		t.Errorf("redirect: %s", at)
	}
	if n := s.count("SELECT count(*) FROM oauth2_grants"); n != 0 {
		t.Errorf("%d consents", n)
	}
}

// TestSecretsAtRest searches the database for everything that was issued.
func TestSecretsAtRest(t *testing.T) {
	s := start(t, true)
	o := s.app("Backstage", "")
	verifier := oauth2.GenerateVerifier()
	code := s.consent(s.owner, o.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)), "approve").Query().Get("code")
	token, err := o.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	must(t, err)
	_, secret, _ := strings.Cut(token.AccessToken, "-")
	for name, value := range map[string]string{"code": code, "access token": secret, "refresh token": token.RefreshToken, "client secret": o.ClientSecret[17:], "verifier": verifier} {
		for _, table := range []string{"oauth2_apps", "oauth2_app_secrets", "oauth2_grants", "oauth2_spent_tokens", "api_keys", "audit_logs"} {
			var n int
			must(t, s.store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM "+table+" r WHERE r::text LIKE '%' || $1 || '%'", value).Scan(&n))
			if n > 0 {
				t.Errorf("the %s is in %s in clear", name, table)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	s := start(t, true)
	limited := s.app("limited", "workspace:read coder:workspaces.access template:*")
	for asked, want := range map[string]string{
		"":                              "coder:workspaces.access template:* workspace:read",
		"workspace:read":                "workspace:read",
		"workspace:ssh  template:read":  "template:read workspace:ssh",
		"workspace:delete":              "!workspace:delete: the scope is not allowed for this application",
		"coder:all":                     "!coder:all: the scope is not allowed for this application",
		"all":                           "!coder:all: the scope is not allowed for this application",
		"openid":                        "!openid: the scope is unknown",
		"workspace:read workspace:fly ": "!workspace:fly: the scope is unknown",
	} {
		verifier := oauth2.GenerateVerifier()
		address := limited.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("scope", asked))
		if refusal, wrong := strings.CutPrefix(want, "!"); wrong {
			at := parse(t, s.send("GET", address, "", browser(s.owner)...).header.Get("Location"))
			if q := at.Query(); q.Get("error") != "invalid_scope" || q.Get("error_description") != refusal || q.Get("state") != "state" {
				t.Errorf("scope %q: %s", asked, at)
			}
			continue
		}
		token, err := limited.Exchange(t.Context(), s.consent(s.owner, address, "approve").Query().Get("code"), oauth2.VerifierOption(verifier))
		must(t, err)
		if token.Extra("scope") != want {
			t.Errorf("scope %q: got %q, want %q", asked, token.Extra("scope"), want)
		}
	}
	// A token has no right beyond its scopes, whatever the user has.
	token := s.tokens(s.owner, limited)
	for path, want := range map[string]int{"/api/v2/users/me": 200, "/api/v2/users/me/keys/tokens": 404, "/api/v2/oauth2-provider/apps": 404, "/api/v2/audit?limit=1": 403} {
		if got := s.send("GET", path, "", "Authorization", "Bearer "+token.AccessToken); got.status != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	refresh := func(scope string) (int, string) {
		return s.post("/oauth2/tokens", secrets(limited, "grant_type", "refresh_token", "refresh_token", token.RefreshToken, "scope", scope))
	}
	if status, code := refresh("workspace:read workspace:delete"); status != 400 || code != "invalid_scope" {
		t.Errorf("refresh with a wider scope: %d %s", status, code)
	}
	if status, code := refresh("workspace:read"); status != 200 {
		t.Errorf("the refresh token was used up by a wider scope: %d %s", status, code)
	}
	// An application that loses scopes cannot use codes and refresh tokens that have them.
	token = s.tokens(s.owner, limited)
	code := s.consent(s.owner, limited.AuthCodeURL("state"), "approve").Query().Get("code")
	narrow := "template:read"
	_, err := s.owner.PutOAuth2ProviderApp(t.Context(), appID(t, limited), codersdk.PutOAuth2ProviderAppRequest{Name: "limited", Scope: &narrow})
	must(t, err)
	for name, form := range map[string]url.Values{
		"code":    secrets(limited, "grant_type", "authorization_code", "code", code, "redirect_uri", callback),
		"refresh": secrets(limited, "grant_type", "refresh_token", "refresh_token", token.RefreshToken),
	} {
		if status, code := s.post("/oauth2/tokens", form); status != 400 || code != "invalid_grant" {
			t.Errorf("%s with lost scopes: %d %s", name, status, code)
		}
	}
}

// TestResource holds tokens for a part of the API to that part. (RFC 8707, RFC 9728)
func TestResource(t *testing.T) {
	s := start(t, true)
	o := s.app("Assistant", "")
	mcp := s.url.String() + oauth2provider.MCPPath
	status := func(token, path string) int {
		return s.send("GET", path, "", "Authorization", "Bearer "+token).status
	}
	limited := s.tokens(s.owner, o, oauth2.SetAuthURLParam("resource", mcp))
	if a, b := status(limited.AccessToken, oauth2provider.MCPPath), status(limited.AccessToken, "/api/v2/users/me"); a != 200 || b != 401 {
		t.Errorf("limited token: %d for its resource, %d for others", a, b)
	}
	form := func(resource string) url.Values {
		return secrets(o, "grant_type", "refresh_token", "refresh_token", limited.RefreshToken, "resource", resource)
	}
	if status, code := s.post("/oauth2/tokens", form(s.url.String())); status != 400 || code != "invalid_target" {
		t.Errorf("refresh for the whole API: %d %s", status, code)
	}
	if status, _ := s.post("/oauth2/tokens", form(mcp)); status != 200 {
		t.Errorf("refresh for the same resource: %d", status)
	}
	whole := s.tokens(s.owner, o, oauth2.SetAuthURLParam("resource", s.url.String()+"/"))
	if a, b := status(whole.AccessToken, oauth2provider.MCPPath), status(whole.AccessToken, "/api/v2/users/me"); a != 200 || b != 200 {
		t.Errorf("token for the whole API: %d and %d", a, b)
	}
	at := parse(t, s.send("GET", o.AuthCodeURL("state", oauth2.SetAuthURLParam("resource", "https://other.example.com")), "", browser(s.owner)...).header.Get("Location"))
	if at.Query().Get("error") != "invalid_target" {
		t.Errorf("resource of another server: %s", at)
	}
	for path, want := range map[string]string{"": s.url.String(), oauth2provider.MCPPath: mcp} {
		got := s.send("GET", oauth2provider.ResourcePath+path, "")
		if got.status != 200 || !strings.Contains(got.body, `"resource":"`+want+`"`) || got.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("metadata of %q: %d %s", path, got.status, got.body)
		}
	}
	if got := s.send("GET", oauth2provider.ResourcePath+oauth2provider.MCPPath, ""); !strings.Contains(got.body, `"scopes_supported":["template:read","workspace:ssh"]`) {
		t.Errorf("scopes of a resource: %s", got.body)
	}
	if got := s.send("GET", oauth2provider.ResourcePath+"/api/v2", ""); got.status != http.StatusNotFound {
		t.Errorf("metadata of an unknown resource: %d %s", got.status, got.body)
	}
}
