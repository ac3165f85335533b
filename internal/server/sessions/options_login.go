package sessions

import (
	"github.com/seed-2a7f8fe7/coder/internal/login"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func oidcOptions(c *login.OIDC) []*option.Option {
	return option.Under(
		"OpenID Connect",
		option.Bool(&c.AllowSignups, "oidc-allow-signups", "Create a user at the first OpenID Connect sign-in").
			Env("CODER_OIDC_ALLOW_SIGNUPS").
			YAML("oidc.allowSignups").
			Def("true"),
		option.String(&c.ClientID, "oidc-client-id", "Client ID").Env("CODER_OIDC_CLIENT_ID").YAML("oidc.clientID"),
		option.URL(&c.RedirectURL, "oidc-redirect-url", "Callback URL to register with the provider (default: /api/v2/users/oidc/callback below the access "+
			"URL)").Env("CODER_OIDC_REDIRECT_URL").YAML("oidc.oidc-redirect-url").Hide(),
		option.String(&c.ClientSecret, "oidc-client-secret", "Client secret").Env("CODER_OIDC_CLIENT_SECRET"),
		option.String(&c.ClientKeyFile, "oidc-client-key-file", "Private key for client authentication, instead of a client secret").
			Env("CODER_OIDC_CLIENT_KEY_FILE").
			YAML("oidc.oidcClientKeyFile"),
		option.String(&c.ClientCertFile, "oidc-client-cert-file", "Certificate of --oidc-client-key-file").
			Env("CODER_OIDC_CLIENT_CERT_FILE").
			YAML("oidc.oidcClientCertFile"),
		option.List(&c.EmailDomains, "oidc-email-domain", "Email domain that may sign in").Env("CODER_OIDC_EMAIL_DOMAIN").YAML("oidc.emailDomain"),
		option.String(&c.IssuerURL, "oidc-issuer-url", "URL of the identity provider").Env("CODER_OIDC_ISSUER_URL").YAML("oidc.issuerURL"),
		option.List(&c.Scopes, "oidc-scopes", "Scopes to request").Env("CODER_OIDC_SCOPES").YAML("oidc.scopes").Def("openid,profile,email"),
		option.Bool(&c.IgnoreEmailVerified, "oidc-ignore-email-verified", "Accept email addresses that the provider has not verified").
			Env("CODER_OIDC_IGNORE_EMAIL_VERIFIED").
			YAML("oidc.ignoreEmailVerified"),
		option.String(&c.UsernameField, "oidc-username-field", "Claim with the username").
			Env("CODER_OIDC_USERNAME_FIELD").
			YAML("oidc.usernameField").
			Def("preferred_username"),
		option.String(&c.NameField, "oidc-name-field", "Claim with the full name").Env("CODER_OIDC_NAME_FIELD").YAML("oidc.nameField").Def("name"),
		option.String(&c.EmailField, "oidc-email-field", "Claim with the email address").Env("CODER_OIDC_EMAIL_FIELD").YAML("oidc.emailField").Def("email"),
		option.JSON[map[string]string](
			&c.AuthURLParams,
			"map[string]string",
			"oidc-auth-url-params",
			"Additional parameters of the sign-in URL, as a JSON object",
		).Env("CODER_OIDC_AUTH_URL_PARAMS").
			YAML("oidc.authURLParams").
			Def(`{"access_type": "offline"}`),
		option.Bool(&c.IgnoreUserInfo, "oidc-ignore-userinfo", "Do not query the userinfo endpoint").
			Env("CODER_OIDC_IGNORE_USERINFO").
			YAML("oidc.ignoreUserInfo").
			Def("false"),
	)
}

// oidcSyncOptions declares the options of groups and roles from the provider, and of the
// texts of the sign-in page.
func oidcSyncOptions(c *login.OIDC) []*option.Option {
	return option.Under(
		"OpenID Connect",
		option.String(&c.GroupField, "oidc-group-field", "Claim with the groups").Env("CODER_OIDC_GROUP_FIELD").YAML("oidc.groupField"),
		option.JSON[map[string]string](
			&c.GroupMapping,
			"map[string]string",
			"oidc-group-mapping",
			"Mapping from the provider's group names to groups, as a JSON object",
		).Env("CODER_OIDC_GROUP_MAPPING").
			YAML("oidc.groupMapping").
			Def("{}"),
		option.Bool(&c.GroupAutoCreate, "oidc-group-auto-create", "Create missing groups").
			Env("CODER_OIDC_GROUP_AUTO_CREATE").
			YAML("oidc.enableGroupAutoCreate").
			Def("false"),
		option.Regexp(&c.GroupRegex, "oidc-group-regex-filter", "Regular expression that group names must match").
			Env("CODER_OIDC_GROUP_REGEX_FILTER").
			YAML("oidc.groupRegexFilter").
			Def(".*"),
		option.List(&c.AllowedGroups, "oidc-allowed-groups", "Groups whose members may sign in").Env("CODER_OIDC_ALLOWED_GROUPS").YAML("oidc.groupAllowed"),
		option.String(&c.UserRoleField, "oidc-user-role-field", "Claim with the roles").Env("CODER_OIDC_USER_ROLE_FIELD").YAML("oidc.userRoleField"),
		option.JSON[map[string][]string](
			&c.UserRoleMapping,
			"map[string][]string",
			"oidc-user-role-mapping",
			"Mapping from the provider's role names to roles, as a JSON object",
		).Env("CODER_OIDC_USER_ROLE_MAPPING").
			YAML("oidc.userRoleMapping").
			Def("{}"),
		option.List(&c.UserRoleDefault, "oidc-user-role-default", "Roles of every user who signs in; requires --oidc-user-role-field").
			Env("CODER_OIDC_USER_ROLE_DEFAULT").
			YAML("oidc.userRoleDefault"),
		option.String(&c.SignInText, "oidc-sign-in-text", "Text of the sign-in button").Env("CODER_OIDC_SIGN_IN_TEXT").YAML("oidc.signInText").Def("OpenID Connect"),
		option.URL(&c.Icon, "oidc-icon-url", "Icon of the sign-in button").Env("CODER_OIDC_ICON_URL").YAML("oidc.iconURL"),
		option.String(&c.SignupsDisabledText, "oidc-signups-disabled-text", "Message for users who may not sign up").
			Env("CODER_OIDC_SIGNUPS_DISABLED_TEXT").
			YAML("oidc.signupsDisabledText"),
		option.Bool(&c.SkipIssuerChecks, "dangerous-oidc-skip-issuer-checks", "Skip the issuer check of tokens").
			Env("CODER_DANGEROUS_OIDC_SKIP_ISSUER_CHECKS").
			YAML("oidc.dangerousSkipIssuerChecks"),
	)
}

func githubOptions(c *login.GitHub) []*option.Option {
	return option.Under(
		"GitHub",
		option.String(&c.ClientID, "oauth2-github-client-id", "Client ID of the GitHub application for sign-in").
			Env("CODER_OAUTH2_GITHUB_CLIENT_ID").
			YAML("oauth2.github.clientID"),
		option.String(&c.ClientSecret, "oauth2-github-client-secret", "Client secret of the GitHub application").Env("CODER_OAUTH2_GITHUB_CLIENT_SECRET"),
		option.Bool(&c.DeviceFlow, "oauth2-github-device-flow", "Use the GitHub device flow instead of a redirect").
			Env("CODER_OAUTH2_GITHUB_DEVICE_FLOW").
			YAML("oauth2.github.deviceFlow").
			Def("false"),
		option.Bool(new(bool), "oauth2-github-default-provider-enable", "Ignored, for compatibility (there is no default GitHub application)").
			Env("CODER_OAUTH2_GITHUB_DEFAULT_PROVIDER_ENABLE").
			YAML("oauth2.github.defaultProviderEnable").
			Def("true"),
		option.List(&c.AllowedOrgs, "oauth2-github-allowed-orgs", "GitHub organizations whose members may sign in").
			Env("CODER_OAUTH2_GITHUB_ALLOWED_ORGS").
			YAML("oauth2.github.allowedOrgs"),
		option.List(&c.AllowedTeams, "oauth2-github-allowed-teams", "GitHub teams whose members may sign in, as organization/team").
			Env("CODER_OAUTH2_GITHUB_ALLOWED_TEAMS").
			YAML("oauth2.github.allowedTeams"),
		option.Bool(&c.AllowSignups, "oauth2-github-allow-signups", "Create a user at the first GitHub sign-in").
			Env("CODER_OAUTH2_GITHUB_ALLOW_SIGNUPS").
			YAML("oauth2.github.allowSignups"),
		option.Bool(&c.AllowEveryone, "oauth2-github-allow-everyone", "Allow every GitHub account to sign in").
			Env("CODER_OAUTH2_GITHUB_ALLOW_EVERYONE").
			YAML("oauth2.github.allowEveryone"),
		option.String(&c.EnterpriseBaseURL, "oauth2-github-enterprise-base-url", "URL of a GitHub Enterprise server").
			Env("CODER_OAUTH2_GITHUB_ENTERPRISE_BASE_URL").
			YAML("oauth2.github.enterpriseBaseURL"),
	)
}
