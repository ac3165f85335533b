package cli

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// authorize lets an application act for the owner.
func (h *house) authorize(name string) codersdk.OAuth2ProviderApp {
	h.t.Helper()
	app, err := h.Client.PostOAuth2ProviderApp(h.t.Context(), codersdk.PostOAuth2ProviderAppRequest{Name: name, CallbackURL: "http://127.0.0.1/callback"})
	h.must(err)
	secret, err := h.Client.PostOAuth2ProviderAppSecret(h.t.Context(), app.ID)
	h.must(err)
	o := oauth2.Config{
		ClientID: app.ID.String(), ClientSecret: secret.ClientSecretFull, RedirectURL: "http://127.0.0.1:4711/callback", Scopes: []string{"workspace:read"},
		Endpoint: oauth2.Endpoint{AuthURL: app.Endpoints.Authorization, TokenURL: app.Endpoints.Token},
	}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, o.AuthCodeURL("state"), strings.NewReader(""))
	h.must(err)
	req.Header.Set(codersdk.SessionTokenHeader, h.Client.SessionToken)
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	h.must(err)
	resp.Body.Close()
	at, err := url.Parse(resp.Header.Get("Location"))
	h.must(err)
	_, err = o.Exchange(h.t.Context(), at.Query().Get("code"))
	h.must(err)
	return app
}

func TestOAuth2Provider(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.OAuth2.Enable = true })
	if out, _ := h.ok("oauth2-provider", "dcr", "enable"); out != "Dynamic client registration is enabled.\n" {
		t.Errorf("enable: %s", out)
	}
	settings, err := h.Client.OAuth2ProviderSettings(t.Context())
	if err != nil || !settings.DynamicClientRegistrationEnabled {
		t.Errorf("the settings are %+v, %v", settings, err)
	}
	h.ok("oauth2-provider", "dcr", "disable")
	if _, errs := h.ok("oauth2-provider", "grants", "list"); !strings.Contains(errs, "No application acts for you.") {
		t.Errorf("an empty list: %s", errs)
	}
	board, ticker := h.authorize("Board"), h.authorize("Ticker")
	if out, _ := h.ok("oauth2-provider", "grants", "list", "-c", "application,scopes"); out != "APPLICATION  SCOPES\nBoard        workspace:read\nTicker       workspace:read\n" {
		t.Errorf("the list is\n%s", out)
	}
	if out, _ := h.ok("oauth2-provider", "grants", "revoke", "Board", "-y"); out != "Revoked the access of Board.\n" {
		t.Errorf("revoke: %s", out)
	}
	if out, _ := h.ok("oauth2-provider", "grants", "list", "-c", "client id"); strings.Contains(out, board.ID.String()) || !strings.Contains(out, ticker.ID.String()) {
		t.Errorf("after the revocation:\n%s", out)
	}
	h.ok("oauth2-provider", "grants", "revoke", ticker.ID.String(), "--yes")
	if _, errs, status := h.run("oauth2-provider", "grants", "revoke", "Board", "-y"); status == 0 || !strings.Contains(errs, `no application "Board" acts for you`) {
		t.Errorf("a second revocation: %d %s", status, errs)
	}
}

func TestOAuth2ProviderOff(t *testing.T) {
	h := newHouse(t, nil)
	for _, args := range [][]string{{"dcr", "enable"}, {"grants", "list"}, {"grants", "revoke", "Board", "-y"}} {
		if _, errs, status := h.run(append([]string{"oauth2-provider"}, args...)...); status == 0 || !strings.Contains(errs, "--oauth2-provider-enable") {
			t.Errorf("%s: status %d: %s", args, status, errs)
		}
	}
}
