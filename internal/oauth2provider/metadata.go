package oauth2provider

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider/redirecturi"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Paths of the endpoints.
const (
	AuthorizePath = "/oauth2/authorize"
	TokenPath     = "/oauth2/tokens"
	RevokePath    = "/oauth2/revoke"
	RegisterPath  = "/oauth2/register"
	ClientsPath   = "/oauth2/clients"
	ServerPath    = "/.well-known/oauth-authorization-server"
	ResourcePath  = "/.well-known/oauth-protected-resource"
)

// MCPPath is the path of the MCP server, to which tokens can be limited.
const MCPPath = "/api/experimental/mcp/http"

// scopesSupported are the scopes in the metadata: the public ones, and others that known clients request.
func scopesSupported() []string {
	out := append(texts(access.PublicScopes()), "inbox_notification:read", "user:read_personal")
	slices.Sort(out)
	return slices.Compact(out)
}

// ServerMetadata returns the metadata of this server (RFC 8414).
func (s *Service) ServerMetadata(ctx context.Context) (codersdk.OAuth2AuthorizationServerMetadata, error) {
	out := codersdk.OAuth2AuthorizationServerMetadata{
		Issuer: s.Issuer(), AuthorizationEndpoint: s.address(AuthorizePath), TokenEndpoint: s.address(TokenPath),
		RevocationEndpoint:            s.address(RevokePath),
		ResponseTypesSupported:        []codersdk.OAuth2ProviderResponseType{codersdk.OAuth2ProviderResponseTypeCode},
		GrantTypesSupported:           grantTypes(),
		CodeChallengeMethodsSupported: []codersdk.OAuth2PKCECodeChallengeMethod{codersdk.OAuth2PKCECodeChallengeMethodS256},
		TokenEndpointAuthMethodsSupported: []codersdk.OAuth2TokenEndpointAuthMethod{
			codersdk.OAuth2TokenEndpointAuthMethodClientSecretBasic, codersdk.OAuth2TokenEndpointAuthMethodClientSecretPost,
			codersdk.OAuth2TokenEndpointAuthMethodNone,
		},
		ScopesSupported: scopesSupported(), AuthorizationResponseIssParameterSupported: true,
	}
	settings, err := s.settings(ctx)
	if settings.DynamicClientRegistrationEnabled {
		out.RegistrationEndpoint = s.address(RegisterPath)
	}
	return out, err
}

func grantTypes() []codersdk.OAuth2ProviderGrantType {
	return []codersdk.OAuth2ProviderGrantType{codersdk.OAuth2ProviderGrantTypeAuthorizationCode, codersdk.OAuth2ProviderGrantTypeRefreshToken}
}

// ResourceMetadata returns the metadata of the API, or of one of the configured parts of it with the scopes that this
// part uses (RFC 9728).
func (s *Service) ResourceMetadata(path string) (codersdk.OAuth2ProtectedResourceMetadata, error) {
	out := codersdk.OAuth2ProtectedResourceMetadata{
		AuthorizationServers: []string{s.Issuer()}, BearerMethodsSupported: []string{"header"}, Resource: s.Issuer(), ScopesSupported: scopesSupported(),
	}
	if path == "" {
		return out, nil
	}
	scopes, ok := s.c.Resources[path]
	if !ok {
		return out, codersdk.NotFound()
	}
	out.Resource, out.ScopesSupported = s.address(path), texts(scopes)
	return out, nil
}

// resource returns the path of the part of the API that a request names (RFC 8707); "" is the whole API.
func (s *Service) resource(asked []string) (path string, err error) {
	if len(asked) == 0 {
		return "", nil
	}
	if len(asked) > 1 {
		return "", failure(InvalidTarget, "resource: tokens can be limited to one resource only")
	}
	if redirecturi.TrimSlash(asked[0]) == s.Issuer() {
		return "", nil
	}
	for p := range s.c.Resources {
		if redirecturi.TrimSlash(asked[0]) == s.address(p) {
			return p, nil
		}
	}
	return "", failure(InvalidTarget, "resource: must be "+s.Issuer()+" or a resource below it that has metadata")
}

// settingsName is the name of the settings in the database.
const settingsName = "oauth2_provider"

var settingsObject = access.Object{Type: codersdk.RBACResourceDeploymentConfig}

func (s *Service) settings(ctx context.Context) (out codersdk.OAuth2ProviderSettings, err error) {
	value, err := s.c.Store.SiteSetting(ctx, settingsName)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(value, &out)
	}
	if err != nil {
		return out, fmt.Errorf("read the settings of the OAuth2 provider: %w", err)
	}
	return out, nil
}

// Settings returns the settings.
func (s *Service) Settings(ctx context.Context, actor access.Subject) (codersdk.OAuth2ProviderSettings, error) {
	if err := actor.Check(codersdk.RBACActionRead, settingsObject); err != nil {
		return codersdk.OAuth2ProviderSettings{}, err
	}
	return s.settings(ctx)
}

// PutSettings replaces the settings. Registered applications stay.
func (s *Service) PutSettings(ctx context.Context, actor access.Subject, fresh codersdk.OAuth2ProviderSettings) (codersdk.OAuth2ProviderSettings, error) {
	if err := actor.Check(codersdk.RBACActionUpdate, settingsObject); err != nil {
		return codersdk.OAuth2ProviderSettings{}, err
	}
	old, err := s.settings(ctx)
	if err != nil {
		return old, err
	}
	value, err := json.Marshal(fresh)
	if err != nil {
		return old, err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.SitePutSetting(ctx, settingsName, value, s.now()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeOauth2ProviderApp, Target: "settings", Diff: audit.Diff(old, fresh),
		})
	})
	return fresh, err
}
