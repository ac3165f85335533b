// Package apps groups the web pages that workspaces offer, and their ports.
package apps

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/appproxy"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// Config describes how apps are offered.
type Config struct {
	NoPaths        bool // none on the dashboard's own host
	PathSharing    bool // those there can be shared
	PathSiteOwners bool // owners may open those of other users there
	NoUsage        bool // their use is not recorded
}

// Rules returns the rules of apps on the dashboard's own host.
func (c Config) Rules() workspaceapp.Rules {
	return workspaceapp.Rules{PathSharing: c.PathSharing, PathSiteOwners: c.PathSiteOwners}
}

// Group is the use case of apps.
type Group struct {
	Apps *workspaceapp.Service
	base *base.Base
	c    Config
}

// New creates the group.
func New(b *base.Base, c Config) *Group {
	return &Group{base: b, c: c, Apps: workspaceapp.New(workspaceapp.Config{
		Store: b.Store, Hub: b.Hub, Vault: b.Vault, Log: b.Logger("apps"), Now: b.Now, NoUsage: c.NoUsage,
	})}
}

// Services returns what runs in the background.
func (g *Group) Services() []lifecycle.Named {
	return []lifecycle.Named{{Name: "apps", Service: g.Apps}}
}

// Edge is what the proxy of apps needs of other groups.
type Edge struct {
	Identity      *identity.Service
	Connections   *connection.Service
	Agents        *agentapi.API
	Hosts         workspaceapp.Hosts
	Clients       listen.Clients
	SecureCookies bool
}

// Wrap serves apps, and passes other requests to next.
func (g *Group) Wrap(e Edge, next http.Handler) http.Handler {
	return appproxy.New(appproxy.Config{
		Log: g.base.Logger("appproxy"), Connections: e.Connections, AccessURL: g.base.AccessURL, Hosts: e.Hosts,
		Authorizer: appproxy.Local{Apps: g.Apps, Identity: e.Identity, Rules: g.c.Rules()}, Use: g.Apps.Use, NoPaths: g.c.NoPaths,
		SecureCookies: e.SecureCookies, Dial: e.Agents.Dial, ClientIP: e.Clients.IP,
	}).Wrap(next)
}
