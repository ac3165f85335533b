// Package oauth2 groups the OAuth2 provider: applications that act for users, and its endpoints.
package oauth2

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/oauth2api"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/server/retention"
)

// Config describes the OAuth2 provider.
type Config struct {
	Enable          bool
	RefreshLifetime time.Duration // of refresh tokens; 0: 720 h
}

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.After("default-token-lifetime", option.Under(
		"Sessions",
		option.Duration(&c.RefreshLifetime, "default-oauth-refresh-lifetime", "Lifetime of refresh tokens of OAuth2 applications").
			Env("CODER_DEFAULT_OAUTH_REFRESH_LIFETIME").
			YAML("defaultOAuthRefreshLifetime").
			Def("720h0m0s"),
		option.Bool(&c.Enable, "oauth2-provider-enable", "Let OAuth2 applications act for users who authorize them").
			Env("CODER_OAUTH2_PROVIDER_ENABLE").
			YAML("oauth2.provider.enable").
			Def("false"),
	)...)
}

// Group is the OAuth2 provider.
type Group struct {
	provider *oauth2provider.Service
	api      *oauth2api.API // nil while the provider is off
}

// Lifetimes are the limits on tokens of users and of owners.
type Lifetimes struct{ User, Admin time.Duration }

// New creates the group. While the provider is off it has no endpoints; tokens that were issued before stay valid.
// Tokens can be limited to the resources, which are paths and the scopes that each uses.
func New(
	ctx context.Context,
	b *base.Base,
	c Config,
	limits Lifetimes,
	users *identity.Service,
	resources map[string][]codersdk.APIKeyScope,
) (*Group, error) {
	secret, err := b.Secret(ctx, "oauth2-provider", 32)
	if err != nil {
		return nil, err
	}
	g := &Group{}
	g.provider, err = oauth2provider.New(oauth2provider.Config{
		Store: b.Store, Hub: b.Hub, Log: b.Logger("oauth2provider"), Now: b.Now, AccessURL: b.AccessURL, Secret: secret,
		RefreshLifetime: c.RefreshLifetime, MaxTokenLifetime: limits.User, MaxAdminTokenLifetime: limits.Admin,
		Resources: resources,
	})
	if err != nil || !c.Enable {
		return g, err
	}
	g.api = oauth2api.New(oauth2api.Config{
		Provider: g.provider, Log: b.Logger("oauth2provider"), AccessURL: b.AccessURL,
		Authenticate: func(r *http.Request, token string) (access.Subject, error) {
			origin, _ := access.OriginOf(r.Context())
			return users.Authenticate(r.Context(), token, origin)
		},
	})
	return g, nil
}

// Routes returns the endpoints below /api/v2, none while the provider is off.
func (g *Group) Routes() []rest.Route {
	if g.api == nil {
		return nil
	}
	return g.api.Routes()
}

// Mount adds the endpoints of the protocol, none while the provider is off.
func (g *Group) Mount(mounts map[string]http.Handler) {
	if g.api != nil {
		maps.Copy(mounts, g.api.Mounts())
	}
}

// Records returns the records that are deleted in the background.
func (g *Group) Records() []retention.Kind {
	return []retention.Kind{{Name: "expired consents of OAuth2 applications", Delete: g.provider.Purge}}
}
