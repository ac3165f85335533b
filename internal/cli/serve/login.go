package serve

import (
	"encoding/json"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// loginFlags are options of logging in that hold JSON.
type loginFlags struct{ params, groups, roles string }

func oidcOptions(f *serverFlags) []*option.Option {
	c := &f.cfg.OIDC
	return under("OpenID Connect",
		option.Bool(&c.AllowSignups, "oidc-allow-signups", "Make a user at somebody's first sign-in.").Env("CODER_OIDC_ALLOW_SIGNUPS").YAML("oidc.allowSignups").Def("true"),
		option.String(&c.ClientID, "oidc-client-id", "Client id.").Env("CODER_OIDC_CLIENT_ID").YAML("oidc.clientID"),
		option.String(&c.ClientSecret, "oidc-client-secret", "Client secret.").Env("CODER_OIDC_CLIENT_SECRET"),
		option.String(&c.ClientKeyFile, "oidc-client-key-file", "Key to sign in with instead of a client secret.").Env("CODER_OIDC_CLIENT_KEY_FILE").YAML("oidc.oidcClientKeyFile"),
		option.String(&c.ClientCertFile, "oidc-client-cert-file", "Certificate of --oidc-client-key-file.").Env("CODER_OIDC_CLIENT_CERT_FILE").YAML("oidc.oidcClientCertFile"),
		option.List(&c.EmailDomains, "oidc-email-domain", "Let only addresses of these domains in.").Env("CODER_OIDC_EMAIL_DOMAIN").YAML("oidc.emailDomain"),
		option.String(&c.IssuerURL, "oidc-issuer-url", "URL of the identity provider.").Env("CODER_OIDC_ISSUER_URL").YAML("oidc.issuerURL"),
		option.List(&c.Scopes, "oidc-scopes", "Scopes to ask for.").Env("CODER_OIDC_SCOPES").YAML("oidc.scopes").Def("openid,profile,email"),
		option.Bool(&c.IgnoreEmailVerified, "oidc-ignore-email-verified", "Let addresses in that the provider has not verified.").Env("CODER_OIDC_IGNORE_EMAIL_VERIFIED").YAML("oidc.ignoreEmailVerified"),
		option.String(&c.UsernameField, "oidc-username-field", "Claim with the name of the user.").Env("CODER_OIDC_USERNAME_FIELD").YAML("oidc.usernameField").Def("preferred_username"),
		option.String(&c.NameField, "oidc-name-field", "Claim with the full name.").Env("CODER_OIDC_NAME_FIELD").YAML("oidc.nameField").Def("name"),
		option.String(&c.EmailField, "oidc-email-field", "Claim with the e-mail address.").Env("CODER_OIDC_EMAIL_FIELD").YAML("oidc.emailField").Def("email"),
		option.JSON[map[string]string](&f.login.params, "map[string]string", "oidc-auth-url-params", "Further parameters of the sign-in URL, as a JSON object.").Env("CODER_OIDC_AUTH_URL_PARAMS").YAML("oidc.authURLParams").Def(`{"access_type": "offline"}`),
		option.Bool(&c.IgnoreUserInfo, "oidc-ignore-userinfo", "Do not ask the userinfo endpoint.").Env("CODER_OIDC_IGNORE_USERINFO").YAML("oidc.ignoreUserInfo").Def("false"),
		option.String(&c.GroupField, "oidc-group-field", "Claim with the groups.").Env("CODER_OIDC_GROUP_FIELD").YAML("oidc.groupField"),
		option.JSON[map[string]string](&f.login.groups, "map[string]string", "oidc-group-mapping", "Groups by the names that the provider has for them, as a JSON object.").Env("CODER_OIDC_GROUP_MAPPING").YAML("oidc.groupMapping").Def("{}"),
		option.Bool(&c.GroupAutoCreate, "oidc-group-auto-create", "Make groups that are not there yet.").Env("CODER_OIDC_GROUP_AUTO_CREATE").YAML("oidc.enableGroupAutoCreate").Def("false"),
		option.Regexp(&c.GroupRegex, "oidc-group-regex-filter", "Take only groups that match.").Env("CODER_OIDC_GROUP_REGEX_FILTER").YAML("oidc.groupRegexFilter").Def(".*"),
		option.List(&c.AllowedGroups, "oidc-allowed-groups", "Let only members of these groups in.").Env("CODER_OIDC_ALLOWED_GROUPS").YAML("oidc.groupAllowed"),
		option.String(&c.UserRoleField, "oidc-user-role-field", "Claim with the roles.").Env("CODER_OIDC_USER_ROLE_FIELD").YAML("oidc.userRoleField"),
		option.JSON[map[string][]string](&f.login.roles, "map[string][]string", "oidc-user-role-mapping", "Roles by the names that the provider has for them, as a JSON object.").Env("CODER_OIDC_USER_ROLE_MAPPING").YAML("oidc.userRoleMapping").Def("{}"),
		option.List(&c.UserRoleDefault, "oidc-user-role-default", "Roles that everybody has who signs in; needs --oidc-user-role-field.").Env("CODER_OIDC_USER_ROLE_DEFAULT").YAML("oidc.userRoleDefault"),
		option.String(&c.SignInText, "oidc-sign-in-text", "Text of the button.").Env("CODER_OIDC_SIGN_IN_TEXT").YAML("oidc.signInText").Def("OpenID Connect"),
		option.URL(&c.Icon, "oidc-icon-url", "Icon of the button.").Env("CODER_OIDC_ICON_URL").YAML("oidc.iconURL"),
		option.String(&c.SignupsDisabledText, "oidc-signups-disabled-text", "Text for those who may not sign up.").Env("CODER_OIDC_SIGNUPS_DISABLED_TEXT").YAML("oidc.signupsDisabledText"),
		option.Bool(&c.SkipIssuerChecks, "dangerous-oidc-skip-issuer-checks", "Do not check who issued a token.").Env("CODER_DANGEROUS_OIDC_SKIP_ISSUER_CHECKS").YAML("oidc.dangerousSkipIssuerChecks"),
	)
}

func retentionOptions(f *serverFlags) []*option.Option {
	return under("Retention",
		option.Duration(&f.cfg.ConnectionLogsRetention, "connection-logs-retention", "How long records of connections are kept; 0 for ever.").Env("CODER_CONNECTION_LOGS_RETENTION").YAML("retention.connection_logs").Def("0"),
	)
}

func githubOptions(f *serverFlags) []*option.Option {
	c := &f.cfg.GitHub
	return under("GitHub",
		option.String(&c.ClientID, "oauth2-github-client-id", "Client id of the GitHub application that people sign in with.").Env("CODER_OAUTH2_GITHUB_CLIENT_ID").YAML("oauth2.github.clientID"),
		option.String(&c.ClientSecret, "oauth2-github-client-secret", "Client secret of the GitHub application.").Env("CODER_OAUTH2_GITHUB_CLIENT_SECRET"),
		option.Bool(&c.DeviceFlow, "oauth2-github-device-flow", "Sign in to GitHub by a code instead of a redirect.").Env("CODER_OAUTH2_GITHUB_DEVICE_FLOW").YAML("oauth2.github.deviceFlow").Def("false"),
		option.Bool(&f.githubDefault, "oauth2-github-default-provider-enable", "Accepted and without effect: there is no ready-made GitHub application.").Env("CODER_OAUTH2_GITHUB_DEFAULT_PROVIDER_ENABLE").YAML("oauth2.github.defaultProviderEnable").Def("true"),
		option.List(&c.AllowedOrgs, "oauth2-github-allowed-orgs", "Let members of these GitHub organizations in.").Env("CODER_OAUTH2_GITHUB_ALLOWED_ORGS").YAML("oauth2.github.allowedOrgs"),
		option.List(&c.AllowedTeams, "oauth2-github-allowed-teams", "Let members of these GitHub teams in, as organization/team.").Env("CODER_OAUTH2_GITHUB_ALLOWED_TEAMS").YAML("oauth2.github.allowedTeams"),
		option.Bool(&c.AllowSignups, "oauth2-github-allow-signups", "Make a user at somebody's first sign-in with GitHub.").Env("CODER_OAUTH2_GITHUB_ALLOW_SIGNUPS").YAML("oauth2.github.allowSignups"),
		option.Bool(&c.AllowEveryone, "oauth2-github-allow-everyone", "Let everybody with a GitHub account in.").Env("CODER_OAUTH2_GITHUB_ALLOW_EVERYONE").YAML("oauth2.github.allowEveryone"),
		option.String(&c.EnterpriseBaseURL, "oauth2-github-enterprise-base-url", "URL of a GitHub Enterprise server.").Env("CODER_OAUTH2_GITHUB_ENTERPRISE_BASE_URL").YAML("oauth2.github.enterpriseBaseURL"),
	)
}

// into reads the options that hold JSON.
func (f loginFlags) into(c *server.Config) error {
	for _, o := range []struct {
		flag, text string
		into       any
	}{
		{"oidc-auth-url-params", f.params, &c.OIDC.AuthURLParams},
		{"oidc-group-mapping", f.groups, &c.OIDC.GroupMapping},
		{"oidc-user-role-mapping", f.roles, &c.OIDC.UserRoleMapping},
	} {
		if o.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(o.text), o.into); err != nil {
			return coder.Errorf(coder.CodeInvalid, "--%s: %s", o.flag, err)
		}
	}
	return nil
}
