package codersdk

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// OAuth2ProviderApp is an application that users can let act for them with OAuth2. (AU-22)
type OAuth2ProviderApp struct {
	CallbackURL  string             `json:"callback_url"` // the first of RedirectURIs
	Endpoints    OAuth2AppEndpoints `json:"endpoints"`
	Icon         string             `json:"icon"`
	ID           uuid.UUID          `json:"id"` // also the client ID
	Name         string             `json:"name"`
	RedirectURIs []string           `json:"redirect_uris"`
	// Scope lists the scopes that the application can request, separated by spaces; "" means all.
	Scope string `json:"scope"`
	// Dynamic reports that the application registered itself (RFC 7591).
	Dynamic bool `json:"dynamic"`
	// Public reports that the application has no secret and proves itself with PKCE only.
	Public bool `json:"public"`
}

// OAuth2AppEndpoints are the URLs that an application uses.
type OAuth2AppEndpoints struct {
	Authorization       string `json:"authorization"`
	DeviceAuthorization string `json:"device_authorization"` // always "": the device flow is not supported
	Token               string `json:"token"`
	TokenRevoke         string `json:"token_revoke"`
}

// PostOAuth2ProviderAppRequest creates an application. Either RedirectURIs or CallbackURL is required.
type PostOAuth2ProviderAppRequest struct {
	CallbackURL  string   `json:"callback_url"`
	Icon         string   `json:"icon,omitempty"`
	Name         string   `json:"name"`
	RedirectURIs []string `json:"redirect_uris,omitempty"`
	Scope        string   `json:"scope,omitempty"`
}

// PutOAuth2ProviderAppRequest changes an application. Without RedirectURIs and CallbackURL the redirect
// URIs stay; a nil Scope leaves the scopes.
type PutOAuth2ProviderAppRequest struct {
	CallbackURL  string   `json:"callback_url"`
	Icon         string   `json:"icon,omitempty"`
	Name         string   `json:"name"`
	RedirectURIs []string `json:"redirect_uris,omitempty"`
	Scope        *string  `json:"scope,omitempty"`
}

// OAuth2ProviderAppSecret describes a client secret without its value.
type OAuth2ProviderAppSecret struct {
	ClientSecretTruncated string     `json:"client_secret_truncated"` // its last characters
	ID                    uuid.UUID  `json:"id"`
	LastUsedAt            *time.Time `json:"last_used_at"`
}

// OAuth2ProviderAppSecretFull carries a new client secret. It is returned once.
type OAuth2ProviderAppSecretFull struct {
	ClientSecretFull string    `json:"client_secret_full"`
	ID               uuid.UUID `json:"id"`
}

// OAuth2ProviderSettings are the settings of the OAuth2 provider.
type OAuth2ProviderSettings struct {
	// DynamicClientRegistrationEnabled lets applications register themselves.
	DynamicClientRegistrationEnabled bool `json:"dynamic_client_registration_enabled"`
}

// OAuth2ProviderGrant is a user's consent that lets an application act for the user.
type OAuth2ProviderGrant struct {
	App        OAuth2ProviderApp `json:"app"`
	CreatedAt  time.Time         `json:"created_at"`
	ExpiresAt  time.Time         `json:"expires_at"` // unless the application refreshes its tokens before
	ID         uuid.UUID         `json:"id"`
	LastUsedAt time.Time         `json:"last_used_at"` // when the application last received tokens
	Resource   string            `json:"resource"`     // URL that the tokens are limited to; "" for the whole API
	Scopes     []APIKeyScope     `json:"scopes"`
}

// OAuth2ProviderGrantType is a way to get tokens.
type OAuth2ProviderGrantType string

// The supported values of OAuth2ProviderGrantType.
const (
	OAuth2ProviderGrantTypeAuthorizationCode OAuth2ProviderGrantType = "authorization_code"
	OAuth2ProviderGrantTypeRefreshToken      OAuth2ProviderGrantType = "refresh_token"
)

// OAuth2ProviderResponseType is a kind of response to an authorization request.
type OAuth2ProviderResponseType string

// OAuth2ProviderResponseTypeCode is the supported value of OAuth2ProviderResponseType.
const OAuth2ProviderResponseTypeCode OAuth2ProviderResponseType = "code"

// OAuth2TokenEndpointAuthMethod is the way in which an application proves itself at the token endpoint.
type OAuth2TokenEndpointAuthMethod string

// Values of OAuth2TokenEndpointAuthMethod.
const (
	OAuth2TokenEndpointAuthMethodClientSecretBasic OAuth2TokenEndpointAuthMethod = "client_secret_basic"
	OAuth2TokenEndpointAuthMethodClientSecretPost  OAuth2TokenEndpointAuthMethod = "client_secret_post"
	OAuth2TokenEndpointAuthMethodNone              OAuth2TokenEndpointAuthMethod = "none" // a public client
)

// OAuth2PKCECodeChallengeMethod is a transformation of the PKCE verifier.
type OAuth2PKCECodeChallengeMethod string

// OAuth2PKCECodeChallengeMethodS256 is the supported value of OAuth2PKCECodeChallengeMethod.
const OAuth2PKCECodeChallengeMethodS256 OAuth2PKCECodeChallengeMethod = "S256"

// OAuth2AuthorizationServerMetadata describes the OAuth2 provider to clients (RFC 8414).
type OAuth2AuthorizationServerMetadata struct {
	AuthorizationEndpoint             string                          `json:"authorization_endpoint"`
	CodeChallengeMethodsSupported     []OAuth2PKCECodeChallengeMethod `json:"code_challenge_methods_supported"`
	GrantTypesSupported               []OAuth2ProviderGrantType       `json:"grant_types_supported"`
	Issuer                            string                          `json:"issuer"`
	RegistrationEndpoint              string                          `json:"registration_endpoint,omitempty"` // "": registration is off
	ResponseTypesSupported            []OAuth2ProviderResponseType    `json:"response_types_supported"`
	RevocationEndpoint                string                          `json:"revocation_endpoint"`
	ScopesSupported                   []string                        `json:"scopes_supported"`
	TokenEndpoint                     string                          `json:"token_endpoint"`
	TokenEndpointAuthMethodsSupported []OAuth2TokenEndpointAuthMethod `json:"token_endpoint_auth_methods_supported"`
	// AuthorizationResponseIssParameterSupported reports that redirects carry the issuer (RFC 9207).
	AuthorizationResponseIssParameterSupported bool `json:"authorization_response_iss_parameter_supported"`
}

// OAuth2ProtectedResourceMetadata describes the API, or a part of it, to clients (RFC 9728).
type OAuth2ProtectedResourceMetadata struct {
	AuthorizationServers   []string `json:"authorization_servers"`
	BearerMethodsSupported []string `json:"bearer_methods_supported"`
	Resource               string   `json:"resource"`
	ScopesSupported        []string `json:"scopes_supported"`
}

// OAuth2ClientMetadata is what an application says of itself (RFC 7591).
type OAuth2ClientMetadata struct {
	ClientName              string                        `json:"client_name,omitempty"`
	ClientURI               string                        `json:"client_uri,omitempty"`
	Contacts                []string                      `json:"contacts,omitempty"`
	GrantTypes              []OAuth2ProviderGrantType     `json:"grant_types"`
	JWKS                    json.RawMessage               `json:"jwks,omitempty"`
	JWKSURI                 string                        `json:"jwks_uri,omitempty"`
	LogoURI                 string                        `json:"logo_uri,omitempty"`
	PolicyURI               string                        `json:"policy_uri,omitempty"`
	RedirectURIs            []string                      `json:"redirect_uris"`
	ResponseTypes           []OAuth2ProviderResponseType  `json:"response_types"`
	Scope                   string                        `json:"scope"`
	SoftwareID              string                        `json:"software_id,omitempty"`
	SoftwareVersion         string                        `json:"software_version,omitempty"`
	TokenEndpointAuthMethod OAuth2TokenEndpointAuthMethod `json:"token_endpoint_auth_method"`
	TOSURI                  string                        `json:"tos_uri,omitempty"`
}

// OAuth2ClientRegistrationRequest registers an application, or replaces its metadata.
type OAuth2ClientRegistrationRequest struct {
	OAuth2ClientMetadata
	SoftwareStatement string `json:"software_statement,omitempty"`
}

// OAuth2ClientConfiguration is a registered application (RFC 7592).
type OAuth2ClientConfiguration struct {
	OAuth2ClientMetadata
	ClientID                uuid.UUID `json:"client_id"`
	ClientIDIssuedAt        int64     `json:"client_id_issued_at"`      // seconds since 1970
	ClientSecretExpiresAt   int64     `json:"client_secret_expires_at"` // always 0: it does not expire
	RegistrationAccessToken string    `json:"registration_access_token"`
	RegistrationClientURI   string    `json:"registration_client_uri"`
}

// OAuth2ClientRegistrationResponse is a new application with its secret, which is returned once.
type OAuth2ClientRegistrationResponse struct {
	OAuth2ClientConfiguration
	ClientSecret string `json:"client_secret,omitempty"` // "" for public clients
}

// OAuth2TokenResponse carries the tokens of an application.
type OAuth2TokenResponse struct {
	AccessToken  string    `json:"access_token"`
	ExpiresIn    int64     `json:"expires_in"` // seconds
	Expiry       time.Time `json:"expiry"`
	RefreshToken string    `json:"refresh_token"`
	Scope        string    `json:"scope"`
	TokenType    string    `json:"token_type"` // always Bearer
}

// OAuth2Error is the body of a failure of the OAuth2 endpoints (RFC 6749).
type OAuth2Error struct {
	Error            string `json:"error"`
	ErrorDescription string `json:"error_description,omitempty"`
}
