package httpapi

import (
	"net/http"
	"net/url"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// proxyRoutes manage workspace proxies. The routes below /workspaceproxies/me
// are for the proxies themselves, which authenticate by their token.
func (a *API) proxyRoutes() []rest.Route {
	if a.Proxies == nil {
		return nil
	}
	const kind = codersdk.RBACResourceWorkspaceProxy
	routes := []rest.Route{
		{Method: "GET", Path: "/regions", Summary: "List regions", Out: codersdk.RegionsResponse{}, Handler: a.getRegions},
		{Method: "GET", Path: "/workspaceproxies", Summary: "List the server and its workspace proxies",
			Action: codersdk.RBACActionRead, Resource: kind, Out: codersdk.WorkspaceProxiesRegions{}, Handler: a.getProxies},
		{Method: "POST", Path: "/workspaceproxies", Summary: "Create a workspace proxy",
			About:  "The response contains the proxy's token, which is not shown again.",
			Action: codersdk.RBACActionCreate, Resource: kind, In: codersdk.CreateWorkspaceProxyRequest{},
			Out: codersdk.WorkspaceProxyToken{}, Status: 201, Handler: a.postProxy},
		{Method: "GET", Path: "/workspaceproxies/{workspaceproxy}", Summary: "Get a workspace proxy by id or name",
			Action: codersdk.RBACActionRead, Resource: kind, Out: codersdk.WorkspaceProxy{}, Handler: a.getProxy},
		{Method: "PATCH", Path: "/workspaceproxies/{workspaceproxy}", Summary: "Update a workspace proxy or regenerate its token",
			Action: codersdk.RBACActionUpdate, Resource: kind, In: codersdk.PatchWorkspaceProxy{}, Out: codersdk.WorkspaceProxyToken{},
			Handler: a.patchProxy},
		{Method: "DELETE", Path: "/workspaceproxies/{workspaceproxy}", Summary: "Delete a workspace proxy",
			Action: codersdk.RBACActionDelete, Resource: kind, Out: codersdk.Response{}, Handler: a.deleteProxy},
		{Method: "POST", Path: "/workspaceproxies/me/register", Summary: "Register a running proxy",
			Auth: rest.AuthSelf, In: codersdk.RegisterWorkspaceProxyRequest{}, Out: codersdk.RegisterWorkspaceProxyResponse{}, Status: 201,
			Handler: a.authenticateProxy(a.postRegister)},
		{Method: "POST", Path: "/workspaceproxies/me/deregister", Summary: "Deregister a proxy process",
			Auth: rest.AuthSelf, In: codersdk.DeregisterWorkspaceProxyRequest{}, Status: 204, Handler: a.authenticateProxy(a.postDeregister)},
	}
	if a.Apps == nil {
		return routes
	}
	return append(routes,
		rest.Route{Method: "POST", Path: "/workspaceproxies/me/issue-signed-app-token", Summary: "Issue a signed app token",
			Auth: rest.AuthSelf, In: codersdk.IssueAppTokenRequest{}, Out: codersdk.IssueSignedAppTokenResponse{}, Status: 201,
			Handler: a.authenticateProxy(a.postAppToken)},
		rest.Route{Method: "POST", Path: "/workspaceproxies/me/app", Summary: "Resolve the address of an app",
			Auth: rest.AuthSelf, In: codersdk.AppRequest{}, Out: codersdk.AppTarget{}, Handler: a.authenticateProxy(a.postProxyApp)},
		rest.Route{Method: "POST", Path: "/workspaceproxies/me/session", Summary: "Exchange an authorization code for a session at a proxy",
			Auth: rest.AuthSelf, In: codersdk.ProxySessionRequest{}, Out: codersdk.ProxySession{}, Status: 201,
			Handler: a.authenticateProxy(a.postProxySession)},
		rest.Route{Method: "GET", Path: "/workspaceproxies/me/hold", Summary: "Watch over a WebSocket whether a user keeps access at a proxy",
			Query: proxyAccessParams(),
			Auth:  rest.AuthSelf, Status: 101, Handler: a.authenticateProxy(a.watchProxyAccess)},
		rest.Route{Method: "POST", Path: "/workspaceproxies/me/app-stats", Summary: "Report app usage",
			Auth: rest.AuthSelf, In: codersdk.ReportAppStatsRequest{}, Status: 204, Handler: a.authenticateProxy(a.postAppStats)},
		rest.Route{Method: "GET", Path: "/workspaceproxies/me/crypto-keys", Summary: "List the keys that sign app tokens",
			Query: []rest.Param{{Name: "feature", Type: "string", About: "Purpose of the keys: workspace_apps_token."}},
			Auth:  rest.AuthSelf, Out: codersdk.CryptoKeysResponse{}, Handler: a.authenticateProxy(a.getCryptoKeys)},
	)
}

func (a *API) getProxies(w http.ResponseWriter, r *http.Request) error {
	all, err := a.Proxies.All(r.Context(), rest.Actor(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.WorkspaceProxiesRegions{Regions: all})
}

func (a *API) postProxy(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.CreateWorkspaceProxyRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Proxies.Create(r.Context(), rest.Actor(r), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) getProxy(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Proxies.One(r.Context(), rest.Actor(r), r.PathValue("workspaceproxy"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) patchProxy(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.PatchWorkspaceProxy](r)
	if err != nil {
		return err
	}
	out, err := a.Proxies.Update(r.Context(), rest.Actor(r), r.PathValue("workspaceproxy"), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) deleteProxy(w http.ResponseWriter, r *http.Request) error {
	if err := a.Proxies.Delete(r.Context(), rest.Actor(r), r.PathValue("workspaceproxy")); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.Response{Message: "The workspace proxy is deleted and its token revoked"})
}

// getRegions lists the server and the proxies through which workspaces are
// reachable.
func (a *API) getRegions(w http.ResponseWriter, r *http.Request) error {
	all, err := a.Proxies.Regions(r.Context())
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.RegionsResponse{Regions: all})
}

// authenticateProxy calls next with the workspace proxy that the request's
// token belongs to.
func (a *API) authenticateProxy(next func(w http.ResponseWriter, r *http.Request, p proxy.Proxy) error) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := a.Proxies.Authenticate(r.Context(), r.Header.Get(codersdk.ProxyTokenHeader))
		if err != nil {
			if limited := a.limits.Allow("ip " + a.origin(r).IP.String()); limited != nil {
				return limited
			}
			return err
		}
		return next(w, r, p)
	}
}

func (a *API) postRegister(w http.ResponseWriter, r *http.Request, p proxy.Proxy) error {
	req, err := rest.Decode[codersdk.RegisterWorkspaceProxyRequest](r)
	if err != nil {
		return err
	}
	if at, err := url.Parse(req.AccessURL); err == nil { // Register reports an invalid access URL
		hosts, err := workspaceapp.ParseHosts(req.WildcardHostname, at)
		if err != nil {
			return codersdk.Invalid("wildcard_hostname", "%q is not a host name such as *.sydney.example.com", rest.Truncate(req.WildcardHostname, 100))
		}
		req.WildcardHostname = hosts.String()
	}
	siblings, err := a.Proxies.Register(r.Context(), p, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, codersdk.RegisterWorkspaceProxyResponse{SiblingReplicas: siblings})
}

func (a *API) postDeregister(w http.ResponseWriter, r *http.Request, p proxy.Proxy) error {
	req, err := rest.Decode[codersdk.DeregisterWorkspaceProxyRequest](r)
	if err != nil {
		return err
	}
	if err := a.Proxies.Deregister(r.Context(), p, req.ReplicaID); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) postAppStats(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	req, err := rest.Decode[codersdk.ReportAppStatsRequest](r)
	if err != nil {
		return err
	}
	if err := a.Apps.Report(r.Context(), req.Stats); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

// getCryptoKeys replies with the keys that sign app tokens; proxies may not
// read other keys.
func (a *API) getCryptoKeys(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	if f := r.URL.Query().Get("feature"); f != string(workspaceapp.FeaturePass) {
		return codersdk.Invalid("feature", "must be %s, got %q: a proxy may read no other keys", workspaceapp.FeaturePass, rest.Truncate(f, 40))
	}
	return rest.Reply(w, http.StatusOK, codersdk.CryptoKeysResponse{CryptoKeys: a.Apps.PassKeys()})
}
