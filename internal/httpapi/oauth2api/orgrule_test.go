package oauth2api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/orgrule"
)

// TestRulesOfOrganizations holds the tokens of applications to the rules of the user's organizations.
func TestRulesOfOrganizations(t *testing.T) {
	s := start(t, true)
	dev := s.member("dev")
	organizations, err := s.owner.Organizations(t.Context())
	must(t, err)
	actor := access.Subject{System: true}
	set := func(r codersdk.OrganizationRules) {
		t.Helper()
		_, err := (&orgrule.Service{Store: s.store}).Update(t.Context(), actor, organizations[0].ID, r)
		must(t, err)
	}
	o := s.app("Assistant", "")
	o.Scopes = []string{"workspace:read", "template:read"}
	before := s.tokens(dev, o)
	code := s.consent(dev, o.AuthCodeURL("state"), "approve").Query().Get("code")

	set(codersdk.OrganizationRules{TokenScopes: []codersdk.APIKeyScope{"workspace:*"}})
	if s.works(before.AccessToken) {
		t.Error("a token with a forbidden scope works")
	}
	page := s.send("GET", o.AuthCodeURL("state"), "", browser(dev)...)
	if page.status != http.StatusBadRequest || !strings.Contains(page.body, "does not permit tokens with the scope template:read") {
		t.Errorf("consent page: %d %s", page.status, page.body)
	}
	for name, form := range map[string]url.Values{
		"code":    secrets(o, "grant_type", "authorization_code", "code", code, "redirect_uri", callback),
		"refresh": secrets(o, "grant_type", "refresh_token", "refresh_token", before.RefreshToken),
	} {
		if status, code := s.post("/oauth2/tokens", form); status != 400 || code != "invalid_grant" {
			t.Errorf("%s: %d %s", name, status, code)
		}
	}
	o.Scopes = []string{"workspace:read"}
	if !s.works(s.tokens(dev, o).AccessToken) {
		t.Error("a token with a permitted scope does not work")
	}

	set(codersdk.OrganizationRules{MaxTokenLifetimeSeconds: 60})
	short := s.tokens(dev, o)
	if left := short.ExpiresIn; left > 60 {
		t.Errorf("the token is valid for %d s", left)
	}
	s.now = s.now.Add(61 * time.Second)
	if status, code := s.post("/oauth2/tokens", secrets(o, "grant_type", "refresh_token", "refresh_token", short.RefreshToken)); status != 400 || code != "invalid_grant" {
		t.Errorf("refresh after the maximum lifetime: %d %s", status, code)
	}
	set(codersdk.OrganizationRules{})
	if status, code := s.post("/oauth2/tokens", secrets(o, "grant_type", "refresh_token", "refresh_token", before.RefreshToken)); status != 200 {
		t.Errorf("refresh without rules: %d %s", status, code)
	}
}
