// Package directory groups accounts that users do not create for themselves: identity providers provision users and
// groups by SCIM, and administrators create service accounts.
package directory

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/scimapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/serviceaccountapi"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/identity/attempt"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/scim"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/serviceaccount"
)

// Config describes provisioning by an identity provider.
type Config struct {
	Key string // that the provider sends; "": SCIM is off
}

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.Under(
		"SCIM",
		option.String(&c.Key, "scim-auth-header",
			"Value of the header Authorization that the identity provider sends to /scim/v2, alone or as a bearer token; empty disables SCIM").
			Env("CODER_SCIM_AUTH_HEADER"),
		option.Bool(new(bool), "scim-use-legacy", "Ignored, for compatibility (one handler serves the older and the standard forms)").
			Env("CODER_SCIM_USE_LEGACY").
			YAML("scimUseLegacy").
			Def("true").
			Hide(),
	)
}

// Secrets returns the secrets of the configuration, for redaction.
func (c Config) Secrets() []string { return []string{c.Key} }

// Group is the use cases of provisioning and of service accounts.
type Group struct {
	api     *scimapi.API
	enabled bool
	// Accounts are the service accounts.
	Accounts *serviceaccount.Service
}

// New creates the group.
func New(b *base.Base, c Config, users *identity.Service, organizations *organization.Service) *Group {
	attempts := attempt.Counter{Store: b.Store, Now: b.Now}
	service := scim.New(scim.Config{
		Store: b.Store, Identity: users, Organizations: organizations, Hub: b.Hub, Log: b.Logger("scim"), Now: b.Now,
		CountFailure: func(ctx context.Context, ip netip.Addr) error { return attempts.Count(ctx, attempt.ByAddress(ip)) },
		Key:          c.Key, URL: strings.TrimSuffix(b.AccessURL.String(), "/") + scimapi.Prefix,
	})
	return &Group{
		enabled: c.Key != "", api: &scimapi.API{SCIM: service, Log: b.Logger("scim")},
		Accounts: serviceaccount.New(serviceaccount.Config{Store: b.Store, Identity: users, Hub: b.Hub, Now: b.Now}),
	}
}

// Routes returns the endpoints of service accounts and the state of SCIM.
func (g *Group) Routes() []rest.Route {
	return slices.Concat(serviceaccountapi.Routes(g.Accounts), g.api.Routes())
}

// Mounts returns the endpoints of SCIM by http.ServeMux pattern; none if it is off.
func (g *Group) Mounts() map[string]http.Handler {
	if !g.enabled {
		return nil
	}
	return g.api.Mounts()
}
