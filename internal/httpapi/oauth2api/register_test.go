package oauth2api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
)

// register registers an application with an authentication method, and allows registrations.
func (s *server) register(method string) (out codersdk.OAuth2ClientRegistrationResponse) {
	s.Helper()
	_, err := s.owner.PutOAuth2ProviderSettings(s.Context(), codersdk.OAuth2ProviderSettings{DynamicClientRegistrationEnabled: true})
	must(s.T, err)
	got := s.send("POST", oauth2provider.RegisterPath, `{"redirect_uris": ["http://127.0.0.1/callback"], "grant_types": ["authorization_code"],
		"response_types": ["code"], "client_name": "VS Code", "token_endpoint_auth_method": `+method+`, "software_id": "editor"}`)
	if got.status != http.StatusCreated {
		s.Fatalf("registration: %d %s", got.status, got.body)
	}
	must(s.T, json.Unmarshal([]byte(got.body), &out))
	return out
}

// TestRegistration follows an editor: metadata, registration, another port, tokens, refresh, revocation, deletion.
func TestRegistration(t *testing.T) {
	s := start(t, true)
	var server codersdk.OAuth2AuthorizationServerMetadata
	read := func() {
		server = codersdk.OAuth2AuthorizationServerMetadata{}
		must(t, json.Unmarshal([]byte(s.send("GET", oauth2provider.ServerPath, "").body), &server))
	}
	if read(); server.RegistrationEndpoint != "" || server.Issuer != s.url.String() {
		t.Errorf("metadata: %+v", server)
	}
	if got := s.send("POST", oauth2provider.RegisterPath, `{"redirect_uris": ["https://app.example.com/"]}`); got.status != http.StatusForbidden || !strings.Contains(got.body, "access_denied") {
		t.Errorf("registration that is not allowed: %d %s", got.status, got.body)
	}
	dev := s.member("dev")
	for _, method := range []string{`"client_secret_post"`, `"none"`} {
		app := s.register(method)
		if read(); server.RegistrationEndpoint != s.url.String()+oauth2provider.RegisterPath {
			t.Errorf("metadata: %+v", server)
		}
		if public := method == `"none"`; (app.ClientSecret == "") != public || app.SoftwareID != "editor" || app.ClientName != "VS Code" {
			t.Errorf("registered: %+v", app)
		}
		bearer := []string{"Authorization", "Bearer " + app.RegistrationAccessToken}
		body := `{"redirect_uris": ["http://127.0.0.1/back"], "client_name": "VS Code", "token_endpoint_auth_method": ` + method + `}`
		if got := s.send("PUT", app.RegistrationClientURI, body, bearer...); got.status != 200 || !strings.Contains(got.body, "127.0.0.1/back") {
			t.Errorf("update: %d %s", got.status, got.body)
		}
		o := &oauth2.Config{
			ClientID: app.ClientID.String(), ClientSecret: app.ClientSecret, RedirectURL: "http://127.0.0.1:4711/back", Scopes: []string{"user:read_personal"},
			Endpoint: oauth2.Endpoint{AuthURL: server.AuthorizationEndpoint, TokenURL: server.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams},
		}
		token := s.tokens(dev, o)
		if !s.works(token.AccessToken) {
			t.Error("the token is not valid")
		}
		grants, err := dev.OAuth2ProviderGrants(t.Context())
		if err != nil || len(grants) != 1 || !grants[0].App.Dynamic || grants[0].Scopes[0] != "user:read_personal" {
			t.Errorf("consents of the user: %+v %v", grants, err)
		}
		if status, failure := s.post("/oauth2/tokens", secrets(o, "grant_type", "refresh_token", "refresh_token", token.RefreshToken)); status != 200 {
			t.Errorf("refresh: %d %s", status, failure)
		}
		if got := s.send("DELETE", app.RegistrationClientURI, "", "Authorization", "Bearer wrong"); got.status != http.StatusUnauthorized {
			t.Errorf("deletion with another token: %d", got.status)
		}
		if got := s.send("DELETE", app.RegistrationClientURI, "", bearer...); got.status != http.StatusNoContent || s.works(token.AccessToken) {
			t.Errorf("deletion: %d %s", got.status, got.body)
		}
		if got := s.send("GET", app.RegistrationClientURI, "", bearer...); got.status != http.StatusUnauthorized {
			t.Errorf("after the deletion: %d %s", got.status, got.body)
		}
	}
}

func TestFaultyRegistrations(t *testing.T) {
	s := start(t, true)
	app := s.register(`"client_secret_basic"`)
	bearer := []string{"Authorization", "Bearer " + app.RegistrationAccessToken}
	if got := s.send("PUT", app.RegistrationClientURI, `{"redirect_uris": ["https://a.example.com/"], "token_endpoint_auth_method": "none"}`, bearer...); got.status != 400 ||
		!strings.Contains(got.body, "invalid_client_metadata") {
		t.Errorf("to a public client: %d %s", got.status, got.body)
	}
	if got := s.send("PUT", app.RegistrationClientURI, `{"redirect_uris": ["https://a.example.com/"], "token_endpoint_auth_method": "client_secret_post"}`, bearer...); got.status != 200 {
		t.Errorf("to another way of sending the secret: %d %s", got.status, got.body)
	}
	managed := s.app("managed", "")
	if got := s.send("GET", oauth2provider.ClientsPath+"/"+managed.ClientID, "", bearer...); got.status != http.StatusUnauthorized {
		t.Errorf("metadata of another application: %d %s", got.status, got.body)
	}
	for body, want := range map[string]string{
		`{}`: "invalid_redirect_uri",
		`{"redirect_uris": ["javascript://x/y"]}`:                                               "invalid_redirect_uri",
		`{"redirect_uris": ["mailto:a@b.c"], "token_endpoint_auth_method": "none"}`:             "invalid_redirect_uri",
		`{"redirect_uris": ["https://a.example.com/"], "grant_types": ["password"]}`:            "invalid_client_metadata",
		`{"redirect_uris": ["https://a.example.com/"], "response_types": ["token"]}`:            "invalid_client_metadata",
		`{"redirect_uris": ["https://a.example.com/"], "scope": "openid"}`:                      "invalid_client_metadata",
		`{"redirect_uris": ["https://a.example.com/"], "token_endpoint_auth_method": "x"}`:      "invalid_client_metadata",
		`{"redirect_uris": ["https://a.example.com/"], "logo_uri": "javascript:alert(1)"}`:      "invalid_client_metadata",
		`{"redirect_uris": ["https://a.example.com/"], "software_statement": "a.b.c"}`:          "unapproved_software_statement",
		`{"redirect_uris": ["https://a.example.com/"], "client_name": "a\u0000b"}`:              "invalid_client_metadata",
		`{"redirect_uris": ["https://a.example.com/"], "jwks": {"keys": ["\u0000"]}}`:           "invalid_client_metadata",
		`{"redirect_uris": "https://a.example.com/"}`:                                           "invalid_client_metadata",
		`{"redirect_uris": ["https://a.example.com/"], "jwks": {}, "jwks_uri": "https://a.b/"}`: "invalid_client_metadata",
	} {
		got := s.send("POST", oauth2provider.RegisterPath, body)
		var failure codersdk.OAuth2Error
		must(t, json.Unmarshal([]byte(got.body), &failure))
		if got.status != http.StatusBadRequest || failure.Error != want {
			t.Errorf("%s: %d %s, want %s", body, got.status, got.body, want)
		}
	}
}

// TestCORS lets pages of other sites call the endpoints of the protocol, and not the consent page.
func TestCORS(t *testing.T) {
	s := start(t, true)
	for path, allowed := range map[string]bool{
		"/oauth2/tokens": true, "/oauth2/revoke": true, "/oauth2/register": true, oauth2provider.ServerPath: true, oauth2provider.AuthorizePath: false,
	} {
		got := s.send("OPTIONS", path, "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST")
		if (got.header.Get("Access-Control-Allow-Origin") == "*") != allowed || got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
}
