package httpapi

import (
	"net/http"
	"net/url"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
)

// proxyRoutes are workspace proxies: as people see them, and below
// /workspaceproxies/me what proxies themselves ask, with their token.
func (a *API) proxyRoutes() []Route {
	if a.Proxies == nil {
		return nil
	}
	const kind = coder.RBACResourceWorkspaceProxy
	routes := []Route{
		{Method: "GET", Path: "/regions", Summary: "From where workspaces can be reached", Out: coder.RegionsResponse{}, Handler: a.getRegions},
		{Method: "GET", Path: "/workspaceproxies", Summary: "List the server and its workspace proxies", Action: coder.RBACActionRead, Resource: kind, Out: coder.WorkspaceProxiesRegions{}, Handler: a.getProxies},
		{Method: "POST", Path: "/workspaceproxies", Summary: "Make a workspace proxy known", About: "The token that it runs with is in the answer, and nowhere else.", Action: coder.RBACActionCreate, Resource: kind, In: coder.CreateWorkspaceProxyRequest{}, Out: coder.WorkspaceProxyToken{}, Status: 201, Handler: a.postProxy},
		{Method: "GET", Path: "/workspaceproxies/{workspaceproxy}", Summary: "One workspace proxy, by id or name", Action: coder.RBACActionRead, Resource: kind, Out: coder.WorkspaceProxy{}, Handler: a.getProxy},
		{Method: "PATCH", Path: "/workspaceproxies/{workspaceproxy}", Summary: "Change a workspace proxy, or its token", Action: coder.RBACActionUpdate, Resource: kind, In: coder.PatchWorkspaceProxy{}, Out: coder.WorkspaceProxyToken{}, Handler: a.patchProxy},
		{Method: "DELETE", Path: "/workspaceproxies/{workspaceproxy}", Summary: "Delete a workspace proxy", Action: coder.RBACActionDelete, Resource: kind, Out: coder.Response{}, Handler: a.deleteProxy},
		{Method: "POST", Path: "/workspaceproxies/me/register", Summary: "Say that a proxy runs, and where", Auth: AuthSelf, In: coder.RegisterWorkspaceProxyRequest{}, Out: coder.RegisterWorkspaceProxyResponse{}, Status: 201, Handler: a.asProxy(a.postRegister)},
		{Method: "POST", Path: "/workspaceproxies/me/deregister", Summary: "Say that a process of a proxy ends", Auth: AuthSelf, In: coder.DeregisterWorkspaceProxyRequest{}, Status: 204, Handler: a.asProxy(a.postDeregister)},
	}
	if a.Apps == nil {
		return routes
	}
	return append(routes,
		Route{Method: "POST", Path: "/workspaceproxies/me/issue-signed-app-token", Summary: "Get a visitor's pass to an app", Auth: AuthSelf, In: coder.IssueAppTokenRequest{}, Out: coder.IssueSignedAppTokenResponse{}, Status: 201, Handler: a.asProxy(a.postAppToken)},
		Route{Method: "POST", Path: "/workspaceproxies/me/app", Summary: "Where the address of an app leads, for a proxy", Auth: AuthSelf, In: coder.AppRequest{}, Out: coder.AppTarget{}, Handler: a.asProxy(a.postProxyApp)},
		Route{Method: "POST", Path: "/workspaceproxies/me/session", Summary: "Trade what a browser brought from the dashboard for a session at a proxy", Auth: AuthSelf, In: coder.ProxySessionRequest{}, Out: coder.ProxySession{}, Status: 201, Handler: a.asProxy(a.postProxySession)},
		Route{Method: "GET", Path: "/workspaceproxies/me/hold", Summary: "Hear by WebSocket when a visit at a proxy has to end", Auth: AuthSelf, Query: holdParams(), Status: 101, Handler: a.asProxy(a.getHold)},
		Route{Method: "POST", Path: "/workspaceproxies/me/app-stats", Summary: "Report how apps were used", Auth: AuthSelf, In: coder.ReportAppStatsRequest{}, Status: 204, Handler: a.asProxy(a.postAppStats)},
		Route{Method: "GET", Path: "/workspaceproxies/me/crypto-keys", Summary: "The keys that passes to apps are signed with", Auth: AuthSelf, Query: []Param{{"feature", "string", "What the keys are for: workspace_apps_token."}}, Out: coder.CryptoKeysResponse{}, Handler: a.asProxy(a.getCryptoKeys)},
	)
}

func (a *API) getProxies(w http.ResponseWriter, r *http.Request) error {
	all, err := a.Proxies.All(r.Context(), a.actor(r))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.WorkspaceProxiesRegions{Regions: all})
}

func (a *API) postProxy(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.CreateWorkspaceProxyRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Proxies.Create(r.Context(), a.actor(r), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

func (a *API) getProxy(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Proxies.One(r.Context(), a.actor(r), r.PathValue("workspaceproxy"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) patchProxy(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.PatchWorkspaceProxy](r)
	if err != nil {
		return err
	}
	out, err := a.Proxies.Update(r.Context(), a.actor(r), r.PathValue("workspaceproxy"), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) deleteProxy(w http.ResponseWriter, r *http.Request) error {
	if err := a.Proxies.Delete(r.Context(), a.actor(r), r.PathValue("workspaceproxy")); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The workspace proxy is deleted, and its token is good no more"})
}

// getRegions tells from where workspaces can be reached.
func (a *API) getRegions(w http.ResponseWriter, r *http.Request) error {
	all, err := a.Proxies.Regions(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.RegionsResponse{Regions: all})
}

// asProxy lets a workspace proxy in by its token.
func (a *API) asProxy(next func(w http.ResponseWriter, r *http.Request, p proxy.Proxy) error) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := a.Proxies.Authenticate(r.Context(), r.Header.Get(client.ProxyTokenHeader))
		if err != nil {
			if limited := a.limits.take("ip " + a.origin(r).IP.String()); limited != nil {
				return limited
			}
			return err
		}
		return next(w, r, p)
	}
}

func (a *API) postRegister(w http.ResponseWriter, r *http.Request, p proxy.Proxy) error {
	req, err := decode[coder.RegisterWorkspaceProxyRequest](r)
	if err != nil {
		return err
	}
	if at, err := url.Parse(req.AccessURL); err == nil { // Register says what is wrong with another
		hosts, err := app.ParseHosts(req.WildcardHostname, at)
		if err != nil {
			return coder.Invalid("wildcard_hostname", "%q is not a host name such as *.sydney.example.com", clip(req.WildcardHostname, 100))
		}
		req.WildcardHostname = hosts.String()
	}
	siblings, err := a.Proxies.Register(r.Context(), p, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, coder.RegisterWorkspaceProxyResponse{SiblingReplicas: siblings})
}

func (a *API) postDeregister(w http.ResponseWriter, r *http.Request, p proxy.Proxy) error {
	req, err := decode[coder.DeregisterWorkspaceProxyRequest](r)
	if err != nil {
		return err
	}
	if err := a.Proxies.Deregister(r.Context(), p, req.ReplicaID); err != nil {
		return err
	}
	return done(w)
}

func (a *API) postAppStats(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	req, err := decode[coder.ReportAppStatsRequest](r)
	if err != nil {
		return err
	}
	if err := a.Apps.Report(r.Context(), req.Stats); err != nil {
		return err
	}
	return done(w)
}

// getCryptoKeys gives a proxy the keys of passes, and of nothing else.
func (a *API) getCryptoKeys(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	if f := r.URL.Query().Get("feature"); f != string(app.FeaturePass) {
		return coder.Invalid("feature", "a proxy may have the keys of %s, not of %q", app.FeaturePass, clip(f, 40))
	}
	return reply(w, http.StatusOK, coder.CryptoKeysResponse{CryptoKeys: a.Apps.PassKeys()})
}
