package externalauth_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
)

func asError(err error, to **codersdk.Error) bool { return errors.As(err, to) }

func TestDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		given codersdk.ExternalAuthConfig
		want  codersdk.ExternalAuthConfig
	}{
		"github.com": {codersdk.ExternalAuthConfig{Type: "github"}, codersdk.ExternalAuthConfig{
			ID: "github", AuthURL: "https://github.com/login/oauth/authorize", TokenURL: "https://github.com/login/oauth/access_token",
			ValidateURL: "https://api.github.com/user", DisplayName: "GitHub", Regex: `^(https?://)?github\.com(/.*)?$`,
		}},
		"GitHub Enterprise": {codersdk.ExternalAuthConfig{ID: "ghe", Type: "github", AuthURL: "https://git.acme.com/login/oauth/authorize"}, codersdk.ExternalAuthConfig{
			ID: "ghe", AuthURL: "https://git.acme.com/login/oauth/authorize", TokenURL: "https://git.acme.com/login/oauth/access_token",
			ValidateURL: "https://git.acme.com/api/v3/user", DisplayName: "GitHub", Regex: `^(https?://)?git\.acme\.com(/.*)?$`,
		}},
		"own GitLab": {codersdk.ExternalAuthConfig{Type: "gitlab", AuthURL: "https://gl.acme.com:8443/oauth/authorize"}, codersdk.ExternalAuthConfig{
			ID: "gitlab", AuthURL: "https://gl.acme.com:8443/oauth/authorize", TokenURL: "https://gl.acme.com:8443/oauth/token",
			ValidateURL: "https://gl.acme.com:8443/oauth/token/info", DisplayName: "GitLab", Regex: `^(https?://)?gl\.acme\.com:8443(/.*)?$`,
		}},
		"Bitbucket Server": {codersdk.ExternalAuthConfig{Type: "bitbucket-server", AuthURL: "https://bb.acme.com/rest/oauth2/latest/authorize"}, codersdk.ExternalAuthConfig{
			ID: "bitbucket-server", AuthURL: "https://bb.acme.com/rest/oauth2/latest/authorize", TokenURL: "https://bb.acme.com/rest/oauth2/latest/token",
			ValidateURL: "https://bb.acme.com/rest/api/latest/inbox/pull-requests/count", DisplayName: "Bitbucket Server", Regex: `^(https?://)?bb\.acme\.com(/.*)?$`,
		}},
		"Entra ID": {codersdk.ExternalAuthConfig{Type: "azure-devops-entra", AuthURL: "https://login.microsoftonline.com/tenant/oauth2/authorize"}, codersdk.ExternalAuthConfig{
			ID: "azure-devops-entra", AuthURL: "https://login.microsoftonline.com/tenant/oauth2/authorize", TokenURL: "https://login.microsoftonline.com/tenant/oauth2/token",
			DisplayName: "Azure DevOps", Regex: `^(https?://)?dev\.azure\.com(/.*)?$`,
		}},
		"JFrog": {codersdk.ExternalAuthConfig{Type: "jfrog", AuthURL: "https://acme.jfrog.io/ui/authorization"}, codersdk.ExternalAuthConfig{
			ID: "jfrog", AuthURL: "https://acme.jfrog.io/ui/authorization", TokenURL: "https://acme.jfrog.io/access/api/v1/integrations/x/token",
			ValidateURL: "https://acme.jfrog.io/access/api/v1/system/ping", DisplayName: "JFrog", Regex: `^(https?://)?acme\.jfrog\.io(/.*)?$`,
		}},
		"generic": {codersdk.ExternalAuthConfig{ID: "acme", Type: "oidc", AuthURL: "https://id.acme.com/a", TokenURL: "https://id.acme.com/t"}, codersdk.ExternalAuthConfig{
			ID: "acme", AuthURL: "https://id.acme.com/a", TokenURL: "https://id.acme.com/t", DisplayName: "acme",
		}},
	} {
		c.given.ClientID = "x"
		got, err := externalauth.Check([]externalauth.Provider{{ExternalAuthConfig: c.given, ClientSecret: "s"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		g, w := got[0], c.want
		if g.ID != w.ID || g.AuthURL != w.AuthURL || g.TokenURL != w.TokenURL || g.ValidateURL != w.ValidateURL || g.DisplayName != w.DisplayName || g.Regex != w.Regex {
			t.Errorf("%s: got %+v, want %+v", name, g.ExternalAuthConfig, w)
		}
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	type config = codersdk.ExternalAuthConfig
	for want, c := range map[string][]config{
		"ID: \"\"":                 {{}},
		"ID: \"a/b\"":              {{ID: "a/b", Type: "github"}},
		"another provider":         {{Type: "github", ClientID: "x"}, {Type: "github", ClientID: "y"}},
		"CLIENT_ID: is required":   {{Type: "github"}},
		"CLIENT_SECRET":            {{Type: "bitbucket-cloud", ClientID: "no-secret"}},
		"AUTH_URL: is required":    {{Type: "oidc", ClientID: "x"}},
		"TOKEN_URL: is required":   {{Type: "oidc", ClientID: "x", AuthURL: "https://a"}},
		"DEVICE_CODE_URL":          {{Type: "oidc", ClientID: "x", TokenURL: "https://a", DeviceFlow: true}},
		"REVOKE_URL: \"nonsense\"": {{Type: "github", ClientID: "x", RevokeURL: "nonsense"}},
		"REGEX: \"(\"":             {{Type: "github", ClientID: "x", Regex: "("}},
		"PKCE_METHODS":             {{Type: "github", ClientID: "x", CodeChallengeMethodsSupported: []string{"plain"}}},
	} {
		var providers []externalauth.Provider
		for _, p := range c {
			secret := "secret"
			if p.ClientID == "no-secret" {
				secret = ""
			}
			providers = append(providers, externalauth.Provider{ExternalAuthConfig: p, ClientSecret: secret})
		}
		if _, err := externalauth.Check(providers); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret\"") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
