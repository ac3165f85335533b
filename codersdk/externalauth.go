package codersdk

import (
	"time"
)

// ExternalAuthConfig is the configuration of a provider of external authentication, without its secret.
// (AU-21)
type ExternalAuthConfig struct {
	AppInstallURL                 string   `json:"app_install_url"`       // page on which users install the provider's app
	AppInstallationsURL           string   `json:"app_installations_url"` // API that lists the installations
	AuthURL                       string   `json:"auth_url"`
	ClientID                      string   `json:"client_id"`
	CodeChallengeMethodsSupported []string `json:"code_challenge_methods_supported"` // PKCE methods: S256, or none
	DeviceCodeURL                 string   `json:"device_code_url"`
	DeviceFlow                    bool     `json:"device_flow"`
	DisplayIcon                   string   `json:"display_icon"`
	DisplayName                   string   `json:"display_name"`
	ID                            string   `json:"id"`
	MCPToolAllowRegex             string   `json:"mcp_tool_allow_regex"`
	MCPToolDenyRegex              string   `json:"mcp_tool_deny_regex"`
	MCPURL                        string   `json:"mcp_url"`
	NoRefresh                     bool     `json:"no_refresh"`
	Regex                         string   `json:"regex"` // matches the git remotes of the provider
	RevokeURL                     string   `json:"revoke_url"`
	Scopes                        []string `json:"scopes"`
	TokenURL                      string   `json:"token_url"`
	Type                          string   `json:"type"`
	ValidateURL                   string   `json:"validate_url"`
}

// ExternalAuth is a provider and the state of the current user's link to it.
type ExternalAuth struct {
	AppInstallURL      string                        `json:"app_install_url"`
	AppInstallable     bool                          `json:"app_installable"`
	Authenticated      bool                          `json:"authenticated"`
	Device             bool                          `json:"device"` // links are made with the device flow
	DisplayName        string                        `json:"display_name"`
	Installations      []ExternalAuthAppInstallation `json:"installations"`
	SupportsRevocation bool                          `json:"supports_revocation"`
	User               *ExternalAuthUser             `json:"user"` // the account at the provider; null if it is unknown
}

// ExternalAuthAppInstallation is an installation of a provider's app.
type ExternalAuthAppInstallation struct {
	Account      ExternalAuthUser `json:"account"`
	ConfigureURL string           `json:"configure_url"`
	ID           int64            `json:"id"`
}

// ExternalAuthUser is an account at a provider.
type ExternalAuthUser struct {
	AvatarURL  string `json:"avatar_url"`
	ID         int64  `json:"id"`
	Login      string `json:"login"`
	Name       string `json:"name"`
	ProfileURL string `json:"profile_url"`
}

// ExternalAuthLink is the link of a user to a provider. Expires is the zero time if the token does not
// expire.
type ExternalAuthLink struct {
	Authenticated   bool      `json:"authenticated"`
	CreatedAt       time.Time `json:"created_at"`
	Expires         time.Time `json:"expires"`
	HasRefreshToken bool      `json:"has_refresh_token"`
	ProviderID      string    `json:"provider_id"`
	UpdatedAt       time.Time `json:"updated_at"`
	ValidateError   string    `json:"validate_error"` // why the link does not work; "" if it does
}

// ExternalAuthLinkProvider is a provider that users can link.
type ExternalAuthLinkProvider struct {
	AllowRefresh       bool   `json:"allow_refresh"`
	AllowValidate      bool   `json:"allow_validate"`
	Device             bool   `json:"device"`
	DisplayIcon        string `json:"display_icon"`
	DisplayName        string `json:"display_name"`
	ID                 string `json:"id"`
	SupportsRevocation bool   `json:"supports_revocation"`
	Type               string `json:"type"`
}

// ListUserExternalAuthResponse lists the providers of the deployment and the links of the current user.
type ListUserExternalAuthResponse struct {
	Links     []ExternalAuthLink         `json:"links"`
	Providers []ExternalAuthLinkProvider `json:"providers"`
}

// ExternalAuthDeviceExchange completes a link with the device flow.
type ExternalAuthDeviceExchange struct {
	DeviceCode string `json:"device_code"`
}

// DeleteExternalAuthByIDResponse reports whether the provider revoked the tokens of a deleted link.
type DeleteExternalAuthByIDResponse struct {
	TokenRevocationError string `json:"token_revocation_error,omitempty"`
	TokenRevoked         bool   `json:"token_revoked"`
}

// ExternalAuthResponse is the token of a workspace's owner at a provider, for the agent. If the owner has
// no link, only URL and Type are set.
type ExternalAuthResponse struct {
	AccessToken string         `json:"access_token"`
	Password    string         `json:"password"` // for git over HTTPS
	TokenExtra  map[string]any `json:"token_extra"`
	Type        string         `json:"type"`
	URL         string         `json:"url"`      // page on which the owner links the provider
	Username    string         `json:"username"` // for git over HTTPS
	// ExpiresAt is the end of the token; null if it does not expire.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// ProviderID is the provider that matched.
	ProviderID string `json:"provider_id,omitempty"`
}
