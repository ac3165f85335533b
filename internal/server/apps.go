package server

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/appproxy"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// Apps says how the web pages of workspaces are offered.
type Apps struct {
	NoPaths        bool // none on the dashboard's own host
	PathSharing    bool // those there may be shared
	PathSiteOwners bool // owners may open those of others there
	NoUsage        bool // no record is kept of how they are used
}

func (a Apps) rules() app.Rules {
	return app.Rules{PathSharing: a.PathSharing, PathSiteOwners: a.PathSiteOwners}
}

// appHosts gives the host names of apps.
func (s *Server) appHosts() (app.Hosts, error) {
	return app.ParseHosts(s.c.WildcardAccessURL, s.accessURL)
}

// clients tells the addresses of clients.
func (s *Server) clients() (listen.Clients, error) {
	return listen.NewClients(s.c.ProxyTrustedHeaders, s.c.ProxyTrustedOrigins)
}

// portURL gives the URL below the host names of apps by a first label, "" without
// such names.
func (s *Server) portURL(label string) string {
	hosts, err := s.appHosts()
	if err != nil || !hosts.Any() {
		return ""
	}
	return s.accessURL.Scheme + "://" + hosts.Format(label)
}

// withApps serves apps, and hands other requests to next.
func (s *Server) withApps(r rooms, next http.Handler) (http.Handler, error) {
	hosts, err := s.appHosts()
	if err != nil {
		return nil, err
	}
	clients, err := s.clients()
	if err != nil {
		return nil, err
	}
	return appproxy.New(appproxy.Config{
		Log: s.log.With(telemetry.NameKey, "appproxy"), Connections: r.connections, AccessURL: s.accessURL, Hosts: hosts,
		Door: appproxy.Local{Apps: r.apps, Identity: r.identity, Rules: s.c.Apps.rules()}, Use: r.apps.Use, NoPaths: s.c.Apps.NoPaths, SecureCookies: s.c.Cookies.Secure,
		Dial: r.agents.Dial, ClientIP: clients.IP,
	}).Wrap(next), nil
}
