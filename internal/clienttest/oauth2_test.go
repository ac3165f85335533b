package clienttest

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// program is an application that registers itself and signs a user in, as a released
// client does.
type program struct {
	method   string // authentication method at the token endpoint
	redirect string // redirect URI
	scopes   string // scopes of the authorization request; "" for none
	verifier string // PKCE code verifier
}

// The clients that sign in with OAuth2, with the values that they send.
var (
	vscodeOAuth = program{
		method: "client_secret_post", redirect: "vscode://coder.coder-remote/oauth/callback", verifier: strings.Repeat("v", 43),
		scopes: "workspace:read workspace:update workspace:start workspace:ssh workspace:application_connect template:read user:read_personal",
	}
	// newer versions of the extension
	vscodeNewerOAuth = program{
		method: "client_secret_post", redirect: "cursor://coder.coder-remote/oauth/callback", verifier: strings.Repeat("w", 43),
		scopes: "coder:workspaces.operate coder:workspaces.access workspace:create user:read user:read_personal inbox_notification:read",
	}
	toolboxOAuth = program{
		method: "client_secret_basic", redirect: "jetbrains://gateway/com.coder.toolbox/auth", verifier: strings.Repeat("t", 128),
		scopes: "coder:workspaces.operate coder:workspaces.delete coder:workspaces.access user:read_personal",
	}
	muxOAuth = program{method: "client_secret_post", redirect: "http://127.0.0.1:4000/callback", verifier: strings.Repeat("m", 64)}
)

// oauthMetadata checks and returns the metadata that clients read before they
// register.
func oauthMetadata(s *session) any {
	s.t.Helper()
	a := s.signedOut().get("/.well-known/oauth-authorization-server").want(200).fields("issuer ="+s.w.url, "authorization_endpoint text", "token_endpoint text",
		"registration_endpoint text", "revocation_endpoint text", "grant_types_supported strings", "response_types_supported strings",
		"token_endpoint_auth_methods_supported strings", "code_challenge_methods_supported strings", "scopes_supported strings")
	for field, words := range map[string][]string{
		"grant_types_supported": {"authorization_code", "refresh_token"}, "response_types_supported": {"code"},
		"token_endpoint_auth_methods_supported": {"client_secret_post", "client_secret_basic", "none"}, "code_challenge_methods_supported": {"S256"},
		"scopes_supported": strings.Fields(vscodeOAuth.scopes + " " + vscodeNewerOAuth.scopes + " " + toolboxOAuth.scopes),
	} {
		list, _ := at(a, field).([]any)
		for _, word := range words {
			if !slices.Contains(list, any(word)) {
				s.t.Errorf("%s lacks %s: %v", field, word, list)
			}
		}
	}
	return a
}

// registers registers the program and returns the registration.
func (p program) registers(s *session) any {
	s.t.Helper()
	metadata := oauthMetadata(s)
	request := map[string]any{
		"client_name": s.name, "redirect_uris": []string{p.redirect}, "grant_types": []string{"authorization_code"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": p.method,
	}
	if p.method == "client_secret_basic" {
		request["scope"] = p.scopes
	}
	return s.signedOut().send("POST", textAt(metadata, "registration_endpoint"), request).want(201).fields("client_id uuid", "client_secret text", "client_name text",
		"redirect_uris strings", "grant_types strings", "response_types strings", "scope string", "token_endpoint_auth_method ="+p.method,
		"registration_client_uri text", "registration_access_token text")
}

// request sends a form to an endpoint with the program's authentication method.
func (p program) request(s *session, registered any, path string, form url.Values) answer {
	s.t.Helper()
	header := []string{"Content-Type", "application/x-www-form-urlencoded"}
	id, secret := textAt(registered, "client_id"), textAt(registered, "client_secret")
	if p.method == "client_secret_basic" {
		header = append(header, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(id+":"+secret)))
	} else {
		form.Set("client_id", id)
		form.Set("client_secret", secret)
	}
	return s.signedOut().send("POST", path, strings.NewReader(form.Encode()), header...)
}

// signsIn registers the program and authorizes it as the owner in a browser. It
// returns the registration and the tokens.
func (p program) signsIn(s *session) (registered, tokens any) {
	s.t.Helper()
	registered = p.registers(s)
	challenge := sha256.Sum256([]byte(p.verifier))
	query := url.Values{
		"client_id": {textAt(registered, "client_id")}, "redirect_uri": {p.redirect}, "response_type": {"code"}, "state": {"of the client"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}
	if p.scopes != "" {
		query.Set("scope", p.scopes)
	}
	code := s.authorize(query)
	tokens = p.request(s, registered, "/oauth2/tokens", url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {p.redirect}, "code_verifier": {p.verifier},
	}).want(200).fields("access_token text", "refresh_token text", "token_type =Bearer", "expires_in integer", "expiry time", "scope text")
	return registered, tokens
}

// authorize approves an authorization request as the owner and returns the
// authorization code. Only a session from a sign-in can approve requests.
func (s *session) authorize(query url.Values) string {
	s.t.Helper()
	login := s.signedOut().send("POST", "/api/v2/users/login", map[string]any{"email": ownerEmail, "password": ownerPassword}).want(201).json()
	page := s.signedOut().send("POST", "/oauth2/authorize?"+query.Encode(), nil, "Coder-Session-Token", textAt(login, "session_token")).want(http.StatusFound)
	to, err := url.Parse(page.header.Get("Location"))
	s.must(err)
	if got := to.Query().Get("state"); got != query.Get("state") || !strings.HasPrefix(to.String(), query.Get("redirect_uri")) {
		s.t.Errorf("the browser is sent to %s", to)
	}
	return to.Query().Get("code")
}

// uses checks that the tokens work and can be refreshed and revoked.
func (p program) uses(s *session) {
	registered, tokens := p.signsIn(s)
	me := func(tokens any) answer {
		return s.signedOut().get("/api/v2/users/me", "Coder-Session-Token", textAt(tokens, "access_token"))
	}
	me(tokens).want(200).fields("username =" + owner)
	fresh := p.request(s, registered, "/oauth2/tokens", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {textAt(tokens, "refresh_token")}}).want(200).json()
	me(fresh).want(200)
	p.request(s, registered, "/oauth2/revoke", url.Values{"token": {textAt(fresh, "refresh_token")}, "token_type_hint": {"refresh_token"}}).want(200)
	me(fresh).want(401)
	p.fails(s, registered, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {textAt(fresh, "refresh_token")}}, 400, "invalid_grant")
}

// fails sends a token request, which must fail with a status and an error code.
func (p program) fails(s *session, registered any, form url.Values, status int, code string) {
	s.t.Helper()
	p.request(s, registered, "/oauth2/tokens", form).want(status).fields("error ="+code, "error_description text")
}

func (p program) register(s *session)   { p.registers(s) }
func readOAuthMetadata(s *session)      { oauthMetadata(s) }
func (p program) errorCodes(s *session) { p.wrongSecret(s); p.uses(s) }
func (p program) wrongSecret(s *session) {
	registered := p.registers(s).(map[string]any)
	registered["client_secret"] = "wrong"
	p.fails(s, registered, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"x"}}, 401, "invalid_client")
}

// replaces changes the registration, as a program does after its port changed.
func (p program) replaces(s *session) {
	registered := p.registers(s)
	changed := s.signedOut().send("PUT", textAt(registered, "registration_client_uri"), map[string]any{
		"client_name": s.name, "redirect_uris": []string{"http://127.0.0.1:5000/callback"}, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": p.method,
	}, "Authorization", "Bearer "+textAt(registered, "registration_access_token")).want(200).json()
	if got := textAt(changed, "redirect_uris.0"); got != "http://127.0.0.1:5000/callback" {
		s.t.Errorf("the redirect URI is %q", got)
	}
}

// backstageOAuth checks the sign-in to a portal that an owner registered with the
// API.
func backstageOAuth(s *session) {
	const redirect = "https://backstage.example.com/api/auth/coder/handler/frame"
	id, token := s.portalSignIn("Backstage", redirect, url.Values{"redirect_uri": {redirect}})
	bearer := "Bearer " + token
	s.signedOut().get("/api/v2/users/me", "Authorization", bearer).want(200)
	s.send("DELETE", "/oauth2/tokens?client_id="+id, nil).want(204)
	s.signedOut().get("/api/v2/users/me", "Authorization", bearer).want(401)
	s.send("DELETE", "/api/v2/oauth2-provider/apps/"+id, nil).want(204)
}

// portalSignIn registers a portal with one redirect URI and signs the user in to it.
// Both requests of the sign-in have the parameters in extra. portalSignIn returns the
// ID of the app and the access token.
func (s *session) portalSignIn(name, redirect string, extra url.Values) (id, token string) {
	s.t.Helper()
	app := s.send("POST", "/api/v2/oauth2-provider/apps", map[string]any{"name": name, "callback_url": redirect}).want(201).fields("id uuid", "endpoints.authorization text", "endpoints.token text")
	id = textAt(app, "id")
	secret := s.send("POST", "/api/v2/oauth2-provider/apps/"+id+"/secrets", nil).want(201).json()
	query := url.Values{"client_id": {id}, "response_type": {"code"}, "state": {"of the portal"}}
	maps.Copy(query, extra)
	form := url.Values{"grant_type": {"authorization_code"}, "code": {s.authorize(query)}, "client_id": {id}, "client_secret": {textAt(secret, "client_secret_full")}}
	maps.Copy(form, extra)
	tokens := s.signedOut().send("POST", "/oauth2/tokens", strings.NewReader(form.Encode()), "Content-Type", "application/x-www-form-urlencoded").want(200).
		fields("access_token text", "refresh_token text", "expires_in integer", "token_type =Bearer")
	return id, textAt(tokens, "access_token")
}

// oauthSettings reads and writes the settings, as the Terraform provider does. It
// writes the values that are set, because the rows of other clients run at the same
// time and need them.
func oauthSettings(s *session) {
	s.get("/api/v2/oauth2-provider/settings").want(200).fields("dynamic_client_registration_enabled true")
	s.allowRegistration()
}

// allowRegistration enables dynamic registration of programs.
func (s *session) allowRegistration() {
	s.t.Helper()
	s.send("PUT", "/api/v2/oauth2-provider/settings", map[string]any{"dynamic_client_registration_enabled": true}).want(200).
		fields("dynamic_client_registration_enabled true")
}
