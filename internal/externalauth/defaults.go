package externalauth

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// azureDevOps is the application ID of Azure DevOps, the resource of its tokens from Entra ID.
const azureDevOps = "499b84ac-1321-427f-aa17-267ca6975798"

// known reports whether a type has defaults.
func known(kind string) bool {
	return slices.Contains([]string{
		TypeGitHub, TypeGitLab, TypeBitbucketCloud, TypeBitbucketServer, TypeAzureDevOps, TypeAzureDevOpsEntra, TypeGitea, TypeJFrog, TypeSlack,
	}, kind)
}

// withDefaults fills empty fields with the defaults of the type. Addresses are derived from the
// authorization URL, so that a provider on the organization's own host needs only that.
func withDefaults(p Provider) Provider {
	d := defaultsOf(p.Type, p.AuthURL, p.ClientID)
	for _, f := range []struct {
		field *string
		value string
	}{
		{&p.AuthURL, d.AuthURL}, {&p.TokenURL, d.TokenURL}, {&p.ValidateURL, d.ValidateURL}, {&p.RevokeURL, d.RevokeURL}, {&p.Regex, d.Regex},
		{&p.DeviceCodeURL, d.DeviceCodeURL}, {&p.AppInstallationsURL, d.AppInstallationsURL},
		{&p.DisplayName, cmp.Or(d.DisplayName, p.ID)}, {&p.DisplayIcon, cmp.Or(d.DisplayIcon, "/icon/git.svg")},
	} {
		*f.field = cmp.Or(*f.field, f.value)
	}
	if len(p.Scopes) == 0 {
		p.Scopes = d.Scopes
	}
	if len(p.ExtraTokenKeys) == 0 {
		p.ExtraTokenKeys = d.ExtraTokenKeys
	}
	if len(p.CodeChallengeMethodsSupported) == 0 {
		p.CodeChallengeMethodsSupported = d.CodeChallengeMethodsSupported
	}
	p.Scopes = append([]string{}, p.Scopes...)
	p.CodeChallengeMethodsSupported = slices.DeleteFunc(append([]string{}, p.CodeChallengeMethodsSupported...), func(m string) bool { return m == "none" })
	return p
}

// defaultsOf returns the defaults of a type, for the authorization URL if there is one.
func defaultsOf(kind, authURL, clientID string) Provider {
	s256 := []string{"S256"}
	set := func(c codersdk.ExternalAuthConfig) Provider {
		if host := host(c.AuthURL); c.Regex == "" {
			c.Regex = remotesOf(host)
		}
		return Provider{ExternalAuthConfig: c}
	}
	switch kind {
	case TypeGitHub:
		return set(github(authURL))
	case TypeGitLab:
		authURL = cmp.Or(authURL, "https://gitlab.com/oauth/authorize")
		return set(codersdk.ExternalAuthConfig{
			AuthURL: authURL, TokenURL: at(authURL, "/oauth/token"), ValidateURL: at(authURL, "/oauth/token/info"), RevokeURL: at(authURL, "/oauth/revoke"),
			DeviceCodeURL: at(authURL, "/oauth/authorize_device"), Scopes: []string{"write_repository", "read_api"},
			DisplayName: "GitLab", DisplayIcon: "/icon/gitlab.svg", CodeChallengeMethodsSupported: s256,
		})
	case TypeBitbucketCloud:
		return set(codersdk.ExternalAuthConfig{
			AuthURL: "https://bitbucket.org/site/oauth2/authorize", TokenURL: "https://bitbucket.org/site/oauth2/access_token",
			ValidateURL: "https://api.bitbucket.org/2.0/user", Scopes: []string{"account", "repository:write"},
			DisplayName: "Bitbucket", DisplayIcon: "/icon/bitbucket.svg",
		})
	case TypeBitbucketServer:
		return set(codersdk.ExternalAuthConfig{
			AuthURL: authURL, TokenURL: at(authURL, "/rest/oauth2/latest/token"),
			ValidateURL: at(authURL, "/rest/api/latest/inbox/pull-requests/count"), RevokeURL: at(authURL, "/rest/oauth2/latest/revoke"),
			Scopes:      []string{"PUBLIC_REPOS", "REPO_READ", "REPO_WRITE"},
			DisplayName: "Bitbucket Server", DisplayIcon: "/icon/bitbucket.svg", CodeChallengeMethodsSupported: s256,
		})
	case TypeAzureDevOps:
		authURL = cmp.Or(authURL, "https://app.vssps.visualstudio.com/oauth2/authorize")
		return set(codersdk.ExternalAuthConfig{
			AuthURL: authURL, TokenURL: at(authURL, "/oauth2/token"), Regex: remotesOf("dev.azure.com"), Scopes: []string{"vso.code_write"},
			DisplayName: "Azure DevOps", DisplayIcon: "/icon/azure.svg",
		})
	case TypeAzureDevOpsEntra:
		return set(codersdk.ExternalAuthConfig{
			TokenURL: strings.TrimSuffix(authURL, "/authorize") + "/token", AuthURL: authURL, Regex: remotesOf("dev.azure.com"),
			DisplayName: "Azure DevOps", DisplayIcon: "/icon/azure.svg", CodeChallengeMethodsSupported: s256,
		})
	case TypeGitea:
		authURL = cmp.Or(authURL, "https://gitea.com/login/oauth/authorize")
		return set(codersdk.ExternalAuthConfig{
			AuthURL: authURL, TokenURL: at(authURL, "/login/oauth/access_token"), ValidateURL: at(authURL, "/login/oauth/userinfo"),
			Scopes:      []string{"read:user", "write:repository"},
			DisplayName: "Gitea", DisplayIcon: "/icon/gitea.svg", CodeChallengeMethodsSupported: s256,
		})
	case TypeJFrog:
		return set(codersdk.ExternalAuthConfig{
			AuthURL: authURL, TokenURL: at(authURL, "/access/api/v1/integrations/"+clientID+"/token"), ValidateURL: at(authURL, "/access/api/v1/system/ping"),
			Scopes: []string{"applied-permissions/user"}, DisplayName: "JFrog", DisplayIcon: "/icon/jfrog.svg",
		})
	case TypeSlack:
		d := set(codersdk.ExternalAuthConfig{
			AuthURL: "https://slack.com/oauth/v2/authorize", TokenURL: "https://slack.com/api/oauth.v2.access",
			ValidateURL: "https://slack.com/api/auth.test", RevokeURL: "https://slack.com/api/auth.revoke",
			DisplayName: "Slack", DisplayIcon: "/icon/slack.svg",
		})
		d.Regex = "" // no git remotes
		d.ExtraTokenKeys = []string{"authed_user"}
		return d
	}
	return Provider{ExternalAuthConfig: codersdk.ExternalAuthConfig{CodeChallengeMethodsSupported: s256}}
}

// github returns the defaults of github.com, or of the GitHub Enterprise server of the authorization URL.
func github(authURL string) codersdk.ExternalAuthConfig {
	authURL = cmp.Or(authURL, "https://github.com/login/oauth/authorize")
	api := "https://api.github.com"
	if host(authURL) != "github.com" {
		api = at(authURL, "/api/v3")
	}
	return codersdk.ExternalAuthConfig{
		AuthURL: authURL, TokenURL: at(authURL, "/login/oauth/access_token"), DeviceCodeURL: at(authURL, "/login/device/code"),
		ValidateURL: api + "/user", AppInstallationsURL: api + "/user/installations", Scopes: []string{"repo", "workflow"},
		DisplayName: "GitHub", DisplayIcon: "/icon/github.svg", CodeChallengeMethodsSupported: []string{"S256"},
	}
}
