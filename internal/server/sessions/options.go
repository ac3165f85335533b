package sessions

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return slices.Concat(
		option.Under(
			"Sessions",
			option.Duration(&c.Duration, "session-duration", "Lifetime of a session after its last use").
				Env("CODER_SESSION_DURATION").
				YAML("networking.http.sessionDuration").
				Def("24h0m0s"),
			option.Bool(&c.DisableRefresh, "disable-session-expiry-refresh", "Do not extend sessions on use").
				Env("CODER_DISABLE_SESSION_EXPIRY_REFRESH").
				YAML("networking.http.disableSessionExpiryRefresh"),
			option.Bool(&c.DisablePasswordAuth, "disable-password-auth", "Disable password sign-in, except for owners").
				Env("CODER_DISABLE_PASSWORD_AUTH").
				YAML("networking.http.disablePasswordAuth"),
			option.Duration(&c.MaxTokenLifetime, "max-token-lifetime", "Maximum lifetime of a token").
				Env("CODER_MAX_TOKEN_LIFETIME").
				YAML("networking.http.maxTokenLifetime").
				Def("876600h0m0s"),
			option.Duration(&c.MaxAdminLifetime, "max-admin-token-lifetime", "Maximum lifetime of an owner's token").
				Env("CODER_MAX_ADMIN_TOKEN_LIFETIME").
				YAML("networking.http.maxAdminTokenLifetime").
				Def("168h0m0s"),
			option.Duration(&c.DefaultTokenLifetime, "default-token-lifetime", "Default lifetime of a token").
				Env("CODER_DEFAULT_TOKEN_LIFETIME").
				YAML("defaultTokenLifetime").
				Def("168h0m0s"),
			option.String(&c.TermsOfServiceURL, "terms-of-service-url", "URL of the terms of service that users accept at sign-in").
				Env("CODER_TERMS_OF_SERVICE_URL").
				YAML("termsOfServiceURL"),
		),
		oidcOptions(&c.OIDC),
		oidcSyncOptions(&c.OIDC),
		githubOptions(&c.GitHub),
		mailOptions(c),
		option.After("provisioner-daemon-psk", option.Under(
			"Provisioning",
			option.String(&c.OperatorToken, "operator-token", "Token of the Kubernetes operator, which has its own account").Env("CODER_OPERATOR_TOKEN").Hide(),
		)...),
		option.After("allow-workspace-renames", option.Under(
			"Workspaces",
			option.Bool(&c.NoOwnerWorkspaceAccess, "disable-owner-workspace-access", "Deny owners access to workspaces of other users").
				Env("CODER_DISABLE_OWNER_WORKSPACE_ACCESS").
				YAML("disableOwnerWorkspaceAccess"),
			option.Bool(&c.NoWorkspaceSharing, "disable-workspace-sharing", "Disable workspace sharing").
				Env("CODER_DISABLE_WORKSPACE_SHARING").
				YAML("disableWorkspaceSharing"),
		)...),
		option.After("ssh-config-options", option.Under(
			"Workspaces",
			option.String(&c.SSHKeyAlgorithm, "ssh-keygen-algorithm", "Algorithm of users' git SSH keys: ed25519, ecdsa or rsa4096").
				Env("CODER_SSH_KEYGEN_ALGORITHM").
				YAML("sshKeygenAlgorithm").
				Def("ed25519"),
		)...),
	)
}
