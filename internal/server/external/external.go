// Package external groups external authentication: the links of users to external providers, and their
// endpoints.
package external

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/externalauthapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// Config describes the providers.
type Config struct {
	Providers []externalauth.Provider
	// List is the value of the option, which Read decodes.
	List []map[string]any
}

// Secrets returns the secrets of the configuration, for redaction.
func (c Config) Secrets() (all []string) {
	for _, p := range c.Providers {
		all = append(all, p.ClientSecret)
	}
	return all
}

// Group is the use cases of external authentication.
type Group struct {
	Links *externalauth.Service
	users *identity.Service
}

// New creates the group.
func New(ctx context.Context, b *base.Base, c Config, users *identity.Service) (*Group, error) {
	secret, err := b.Secret(ctx, "external-auth", 32)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Providers {
		if p.MCPURL != "" || p.MCPToolAllowRegex != "" || p.MCPToolDenyRegex != "" {
			b.Logger("externalauth").Warn("the MCP settings of an external authentication provider are ignored: the server has no AI gateway", "provider", p.ID)
		}
	}
	links, err := externalauth.New(externalauth.Config{
		Store: b.Store, Hub: b.Hub, Log: b.Logger("externalauth"), Now: b.Now, AccessURL: b.AccessURL, Secret: secret, Vault: b.Vault,
		Providers: c.Providers, Transport: b.Outgoing, Metrics: b.Requests(),
	})
	return &Group{Links: links, users: users}, err
}

// Routes returns the endpoints.
func (g *Group) Routes(log *slog.Logger, secureCookies bool) []rest.Route {
	return externalauthapi.Routes(externalauthapi.Config{
		Links: g.Links, Log: log, SecureCookies: secureCookies,
		Session: func(r *http.Request) (access.Subject, error) {
			c, err := r.Cookie(codersdk.SessionCookie)
			if err != nil {
				return access.Subject{}, codersdk.Errorf(codersdk.CodeUnauthenticated, "You are not signed in; sign in with this browser first")
			}
			origin, _ := access.OriginOf(r.Context())
			return g.users.Authenticate(r.Context(), c.Value, origin)
		},
	})
}

// AgentToken returns the token of the owner of a build's workspace at a provider.
func (g *Group) AgentToken(ctx context.Context, ownerID, buildID uuid.UUID, id, match string, listen bool) (codersdk.ExternalAuthResponse, error) {
	return g.Links.Credentials(ctx, externalauth.Request{OwnerID: ownerID, BuildID: buildID, ID: id, Match: match, Listen: listen})
}
