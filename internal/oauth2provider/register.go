package oauth2provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider/redirecturi"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Bounds of applications that register themselves.
const (
	maxRegistered   = 10_000
	maxClientName   = 200 // characters
	maxMetadataText = 2048
	maxContacts     = 10
	maxJWKS         = 16 << 10 // bytes
	// registrationLength is the length of a registration access token.
	registrationLength = 50
)

// Register registers an application (RFC 7591). Failures are *Failure, and CodeForbidden while the deployment does not
// allow it.
func (s *Service) Register(
	ctx context.Context,
	o access.Origin,
	req codersdk.OAuth2ClientRegistrationRequest,
) (out codersdk.OAuth2ClientRegistrationResponse, err error) {
	settings, err := s.settings(ctx)
	if err != nil {
		return out, err
	}
	if !settings.DynamicClientRegistrationEnabled {
		return out, codersdk.Errorf(codersdk.CodeForbidden,
			"Applications cannot register themselves on this deployment; ask an administrator to create the application")
	}
	m, err := checkMetadata(req)
	if err != nil {
		return out, err
	}
	count, err := s.c.Store.OAuth2CountRegistered(ctx)
	if err != nil {
		return out, err
	}
	if count >= maxRegistered {
		return out, failure(TemporarilyUnavailable, "Too many applications have registered; ask an administrator to delete unused ones")
	}
	metadata, err := json.Marshal(m)
	if err != nil {
		return out, fmt.Errorf("encode client metadata: %w", err)
	}
	token := credential.RandomText(registrationLength)
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.OAuth2InsertApp(ctx, sqlc.OAuth2InsertAppParams{
			ID: uuid.New(), Name: m.ClientName, RedirectURIs: m.RedirectURIs, Scope: m.Scope, AuthMethod: string(m.TokenEndpointAuthMethod),
			RegistrationHash: hash(token), Metadata: metadata, Now: s.now(),
		})
		if err != nil {
			return err
		}
		out.OAuth2ClientConfiguration = s.configuration(row, m, token)
		if !isPublic(row) {
			secret, err := s.insertSecret(ctx, q, row.ID)
			if err != nil {
				return err
			}
			out.ClientSecret = secret.ClientSecretFull
		}
		app := s.view(row)
		return recordApp(ctx, q, access.Subject{Origin: o}, codersdk.AuditActionCreate, nil, &app)
	})
	return out, err
}

// configuration returns the registered form of an application.
func (s *Service) configuration(row sqlc.OAuth2App, m codersdk.OAuth2ClientMetadata, token string) codersdk.OAuth2ClientConfiguration {
	return codersdk.OAuth2ClientConfiguration{
		OAuth2ClientMetadata: m, ClientID: row.ID, ClientIDIssuedAt: row.CreatedAt.Unix(), RegistrationAccessToken: token,
		RegistrationClientURI: s.address(ClientsPath, row.ID.String()),
	}
}

// registered returns an application by its ID and its registration access token. Every other combination is the same
// failure.
func (s *Service) registered(ctx context.Context, q *sqlc.Queries, id, token string) (row sqlc.OAuth2App, m codersdk.OAuth2ClientMetadata, err error) {
	refused := failure(InvalidToken, "The client ID or the registration access token is not valid")
	client, err := uuid.Parse(id)
	if err != nil {
		return row, m, refused
	}
	row, err = q.OAuth2AppForUpdate(ctx, client)
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound):
		return row, m, refused
	case err != nil:
		return row, m, err
	case row.RegistrationHash == nil || !credential.Matches(token, row.RegistrationHash):
		return row, m, refused
	}
	if err := json.Unmarshal(row.Metadata, &m); err != nil {
		return row, m, fmt.Errorf("read client metadata: %w", err)
	}
	return row, m, nil
}

// Registered returns the metadata of an application to itself (RFC 7592).
func (s *Service) Registered(ctx context.Context, id, token string) (out codersdk.OAuth2ClientConfiguration, err error) {
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, m, err := s.registered(ctx, q, id, token)
		out = s.configuration(row, m, token)
		return err
	})
	return out, err
}

// UpdateRegistered replaces the metadata of an application that registered itself. It cannot become a public client,
// and a public client cannot get a secret.
func (s *Service) UpdateRegistered(
	ctx context.Context,
	o access.Origin,
	id, token string,
	req codersdk.OAuth2ClientRegistrationRequest,
) (out codersdk.OAuth2ClientConfiguration, err error) {
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, before, err := s.registered(ctx, q, id, token)
		if err != nil {
			return err
		}
		if req.TokenEndpointAuthMethod == "" {
			req.TokenEndpointAuthMethod = before.TokenEndpointAuthMethod
		}
		m, err := checkMetadata(req)
		if err != nil {
			return err
		}
		if none := codersdk.OAuth2TokenEndpointAuthMethodNone; (m.TokenEndpointAuthMethod == none) != isPublic(old) {
			return failure(InvalidClientMetadata, "token_endpoint_auth_method: cannot change between none and a client secret; register again")
		}
		metadata, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("encode client metadata: %w", err)
		}
		row, err := q.OAuth2UpdateApp(ctx, sqlc.OAuth2UpdateAppParams{
			ID: old.ID, Name: m.ClientName, Icon: old.Icon, RedirectURIs: m.RedirectURIs, Scope: m.Scope,
			AuthMethod: string(m.TokenEndpointAuthMethod), Metadata: metadata, Now: s.now(),
		})
		if err != nil {
			return err
		}
		out = s.configuration(row, m, token)
		was, is := s.view(old), s.view(row)
		return recordApp(ctx, q, access.Subject{Origin: o}, codersdk.AuditActionWrite, &was, &is)
	})
	return out, err
}

// DeleteRegistered deletes an application that registered itself, with all tokens.
func (s *Service) DeleteRegistered(ctx context.Context, o access.Origin, id, token string) error {
	var app uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, _, err := s.registered(ctx, q, id, token)
		app = row.ID
		return err
	})
	if err != nil {
		return err
	}
	return s.deleteApp(ctx, access.Subject{Origin: o}, app)
}

// checkMetadata checks the metadata of an application and fills in the defaults of RFC 7591.
func checkMetadata(req codersdk.OAuth2ClientRegistrationRequest) (m codersdk.OAuth2ClientMetadata, err error) {
	m = req.OAuth2ClientMetadata
	if req.SoftwareStatement != "" {
		return m, failure(UnapprovedStatement, "software_statement: statements are not supported; register without one")
	}
	setDefaults(&m)
	if reason := redirecturi.CheckAll(m.RedirectURIs, m.TokenEndpointAuthMethod == codersdk.OAuth2TokenEndpointAuthMethodNone); reason != "" {
		return m, failure(InvalidRedirectURI, "redirect_uris: "+reason)
	}
	var wrong problems
	checkFlows(m, &wrong)
	checkTexts(m, &wrong)
	scopes, err := parseScopes(m.Scope)
	if err != nil {
		wrong.add("scope", AsFailure(err).Description)
	}
	m.Scope = joinScopes(scopes)
	return m, wrong.failure(InvalidClientMetadata)
}

func setDefaults(m *codersdk.OAuth2ClientMetadata) {
	if m.TokenEndpointAuthMethod == "" {
		m.TokenEndpointAuthMethod = codersdk.OAuth2TokenEndpointAuthMethodClientSecretBasic
	}
	if len(m.GrantTypes) == 0 {
		m.GrantTypes = grantTypes()[:1]
	}
	if len(m.ResponseTypes) == 0 {
		m.ResponseTypes = []codersdk.OAuth2ProviderResponseType{codersdk.OAuth2ProviderResponseTypeCode}
	}
	if m.ClientName = strings.TrimSpace(codersdk.CleanDisplayName(m.ClientName)); m.ClientName == "" {
		m.ClientName = "Unnamed application"
	}
}

// checkFlows checks which flows an application wants to use.
func checkFlows(m codersdk.OAuth2ClientMetadata, wrong *problems) {
	for _, g := range m.GrantTypes {
		if !slices.Contains(grantTypes(), g) {
			wrong.add("grant_types", redirecturi.Clip(string(g))+" is not supported")
		}
	}
	if !slices.Contains(m.GrantTypes, codersdk.OAuth2ProviderGrantTypeAuthorizationCode) {
		wrong.add("grant_types", "authorization_code is required")
	}
	for _, t := range m.ResponseTypes {
		if t != codersdk.OAuth2ProviderResponseTypeCode {
			wrong.add("response_types", redirecturi.Clip(string(t))+" is not supported")
		}
	}
	switch m.TokenEndpointAuthMethod {
	case codersdk.OAuth2TokenEndpointAuthMethodClientSecretBasic, codersdk.OAuth2TokenEndpointAuthMethodClientSecretPost,
		codersdk.OAuth2TokenEndpointAuthMethodNone:
	default:
		wrong.add("token_endpoint_auth_method", "must be client_secret_basic, client_secret_post or none")
	}
}

// checkTexts checks what an application says of itself. It is returned to the application; users see the name only.
func checkTexts(m codersdk.OAuth2ClientMetadata, wrong *problems) {
	if len([]rune(m.ClientName)) > maxClientName {
		wrong.add("client_name", "is longer than 200 characters")
	}
	for field, link := range map[string]string{
		"client_uri": m.ClientURI, "logo_uri": m.LogoURI, "tos_uri": m.TOSURI, "policy_uri": m.PolicyURI, "jwks_uri": m.JWKSURI,
	} {
		if u, err := url.Parse(link); link != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(link) > maxMetadataText) {
			wrong.add(field, "must be an https: or http: URL")
		}
	}
	if len(m.Contacts) > maxContacts {
		wrong.add("contacts", "has more than 10 entries")
	}
	for _, text := range append(slices.Clone(m.Contacts), m.SoftwareID, m.SoftwareVersion) {
		if len(text) > maxMetadataText {
			wrong.add("contacts, software_id and software_version", "are longer than 2048 bytes")
			break
		}
	}
	if m.JWKSURI != "" && len(m.JWKS) > 0 {
		wrong.add("jwks", "cannot be given together with jwks_uri")
	}
	if len(m.JWKS) > maxJWKS || strings.Contains(string(m.JWKS), `\u0000`) {
		wrong.add("jwks", "is longer than 16 KiB or contains a NUL character")
	}
	slices.Sort(*wrong)
}
