package network

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// maxProxyReport bounds a workspace proxy's report, in bytes.
const maxProxyReport = 64 << 10

// Group is the names under which the server is reached, and the proxies before it.
type Group struct {
	Hosts   workspaceapp.Hosts // of apps
	Clients listen.Clients     // finds out the addresses of clients
	Proxies *proxy.Service
}

// New creates the group.
func New(b *base.Base, c Config) (g *Group, err error) {
	g = &Group{}
	if g.Hosts, err = workspaceapp.ParseHosts(c.WildcardAccessURL, b.AccessURL); err != nil {
		return nil, err
	}
	if g.Clients, err = listen.NewClients(c.TrustedHeaders, c.TrustedOrigins); err != nil {
		return nil, err
	}
	g.Proxies = proxy.New(proxy.Config{
		Store: b.Store, Log: b.Logger("proxy"), Now: b.Now, ID: b.Deployment, Version: b.Version, AccessURL: b.AccessURL, Wildcard: g.Hosts.String(),
		Interval: c.ProxyHealthInterval,
		Fetch: func(ctx context.Context, url string) (proxy.Answer, error) {
			status, body, err := b.Get(ctx, url, maxProxyReport, false)
			return proxy.Answer{Status: status, Body: body}, err
		},
	})
	return g, nil
}

// AllProxies returns the workspace proxies, for health reports.
func (g *Group) AllProxies(ctx context.Context) ([]codersdk.WorkspaceProxy, error) {
	return g.Proxies.All(ctx, access.System())
}

// PortURL returns the URL of a port by the first label of its host name, ""
// without host names of apps.
func (g *Group) PortURL(b *base.Base, label string) string {
	if !g.Hosts.Any() {
		return ""
	}
	return b.AccessURL.Scheme + "://" + g.Hosts.Format(label)
}

// Services returns what runs in the background.
func (g *Group) Services() []lifecycle.Named {
	return []lifecycle.Named{{Name: "checks of workspace proxies", Service: g.Proxies}}
}
