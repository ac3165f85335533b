package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// parseAppRequest reads the address of the app that a proxy asks about.
func parseAppRequest(req codersdk.AppRequest) (workspaceapp.Method, workspaceapp.Name, error) {
	method := workspaceapp.Method(req.AccessMethod)
	if method != workspaceapp.MethodPath && method != workspaceapp.MethodSubdomain {
		return method, workspaceapp.Name{}, codersdk.Invalid("access_method", "must be path or subdomain, got %q", rest.Truncate(req.AccessMethod, 40))
	}
	name := workspaceapp.Name{
		Owner:     req.UsernameOrID,
		Workspace: req.WorkspaceNameOrID,
		Agent:     req.AgentNameOrID,
		App:       req.AppSlugOrPort,
	}
	if workspace, agent, ok := strings.Cut(name.Workspace, "."); ok && name.Agent == "" {
		name.Workspace, name.Agent = workspace, agent
	}
	return method, name, nil
}

// postAppToken issues a signed app token for a user of a proxy. The proxy sends
// the user's token or, on the host of an app, the session of that host.
func (a *API) postAppToken(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	req, err := rest.Decode[codersdk.IssueAppTokenRequest](r)
	if err != nil {
		return err
	}
	method, name, err := parseAppRequest(req.AppRequest)
	if err != nil {
		return err
	}
	origin := a.origin(r)
	if ip, err := netip.ParseAddr(req.ClientIP); err == nil && req.Visit {
		origin = access.Origin{IP: ip, UserAgent: rest.Truncate(req.UserAgent, 512)}
	}
	user, renewed, err := a.proxyUser(r.Context(), req, origin)
	if err != nil {
		return err
	}
	if method == workspaceapp.MethodPath && strings.EqualFold(name.Owner, "me") && user.UserID != uuid.Nil {
		name.Owner = user.Username
	}
	target, err := a.Apps.Authorize(r.Context(), user, method, name, a.AppRules)
	if err != nil {
		return err
	}
	out := codersdk.IssueSignedAppTokenResponse{}
	if req.Visit {
		out.Visit = &codersdk.AppVisit{
			UserID:   user.UserID,
			Username: user.Username,
			KeyID:    user.KeyID,
			Session:  renewed,
			App:      target.Wire(),
		}
	} else if !target.Running {
		return codersdk.Errorf(codersdk.CodeConflict, "Workspace %s of %s is not running; start it first", target.WorkspaceName, target.OwnerName)
	}
	if target.Running {
		if out.SignedTokenStr, err = a.Apps.NewPass(user, method, name, target); err != nil {
			return err
		}
		a.logProxyRequest(target, user, origin)
	}
	return rest.Reply(w, http.StatusCreated, out)
}

// logProxyRequest adds the use of an app at a proxy to the connection log.
func (a *API) logProxyRequest(target workspaceapp.Target, user access.Subject, origin access.Origin) {
	if a.Connections == nil || target.AgentID == uuid.Nil {
		return
	}
	kind := codersdk.ConnectionTypeWorkspaceApp
	if target.Port != 0 {
		kind = codersdk.ConnectionTypePortForwarding
	}
	a.Connections.Visit(connection.Connection{
		Type:    kind,
		AgentID: target.AgentID,
		UserID:  user.UserID,
		App:     target.App,
		Status:  http.StatusOK,
		Origin:  origin,
	})
}

// proxyUser returns the user that opens an app at a proxy, and the session that
// should replace the browser's, if any. Without a valid session it returns the
// zero Subject, which may open public apps.
func (a *API) proxyUser(
	ctx context.Context, req codersdk.IssueAppTokenRequest, origin access.Origin,
) (user access.Subject, renewed string, err error) {
	if req.SessionToken == "" {
		return access.Subject{}, "", nil
	}
	if credential.IsToken(req.SessionToken) {
		user, err = a.Identity.Authenticate(ctx, req.SessionToken, origin)
	} else if key, fresh, ok := a.Apps.Session(req.SessionToken, workspaceapp.HostName(req.AppHostname)); ok {
		renewed = fresh
		user, err = a.Identity.AuthenticateKey(ctx, key, origin)
	}
	if codersdk.Is(err, codersdk.CodeUnauthenticated) {
		return access.Subject{}, "", nil
	}
	return user, renewed, err
}

// postProxyApp resolves the address of an app for a proxy, without checking
// access.
func (a *API) postProxyApp(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	req, err := rest.Decode[codersdk.AppRequest](r)
	if err != nil {
		return err
	}
	_, name, err := parseAppRequest(req)
	if err != nil {
		return err
	}
	target, err := a.Apps.Find(r.Context(), name)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, target.Wire())
}

// postProxySession exchanges the authorization code that a browser brings to a
// host of the proxy for a session of that host.
func (a *API) postProxySession(w http.ResponseWriter, r *http.Request, p proxy.Proxy) error {
	req, err := rest.Decode[codersdk.ProxySessionRequest](r)
	if err != nil {
		return err
	}
	host := workspaceapp.HostName(req.Host)
	if site, ok := workspaceapp.ParseSite(p.AccessURL(), p.Wildcard()); !ok || !site.HasHost(host) {
		return codersdk.Invalid("host", "%q is not a host of this proxy", rest.Truncate(req.Host, 100))
	}
	session, ok := a.Apps.Redeem(req.Ticket, host, req.State)
	if !ok {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "The authorization code is invalid or expired; open the app again")
	}
	return rest.Reply(w, http.StatusCreated, codersdk.ProxySession{Session: session})
}

// proxySites returns where the running workspace proxies serve apps.
func (a *API) proxySites(ctx context.Context) ([]workspaceapp.Site, error) {
	if a.Proxies == nil {
		return nil, nil
	}
	regions, err := a.Proxies.Regions(ctx)
	if err != nil {
		return nil, err
	}
	var sites []workspaceapp.Site
	for _, region := range regions {
		if region.Name == codersdk.PrimaryProxy {
			continue
		}
		if site, ok := workspaceapp.ParseSite(region.PathAppURL, region.WildcardHostname); ok {
			sites = append(sites, site)
		}
	}
	return sites, nil
}

// proxyAccessParams are the query parameters of watchProxyAccess: a terminal is
// named by agent_id, an app by its address.
func proxyAccessParams() []rest.Param {
	return []rest.Param{
		{Name: "key_id", Type: "string", About: "Id of the user's session; empty for a client that is not signed in."},
		{Name: "user_id", Type: "uuid", About: "Id of the user."},
		{Name: "agent_id", Type: "uuid", About: "Agent of the terminal; empty for an app, which the following parameters name."},
		{Name: "access_method", Type: "string", About: "How the app is reached: path or subdomain."},
		{Name: "username", Type: "string", About: "Owner in the app's address."},
		{Name: "workspace", Type: "string", About: "Workspace in the app's address."},
		{Name: "agent", Type: "string", About: "Agent in the app's address; may be empty."},
		{Name: "app", Type: "string", About: "Slug or port in the app's address."},
		{Name: "client_ip", Type: "string", About: "Address of the user's client."},
	}
}

// watchProxyAccess keeps a WebSocket open while a user may use a terminal or an
// app at a proxy, and closes it when the user loses access.
func (a *API) watchProxyAccess(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	q := r.URL.Query()
	actor := access.Subject{KeyID: q.Get("key_id"), Origin: a.origin(r)}
	if ip, err := netip.ParseAddr(q.Get("client_ip")); err == nil {
		actor.Origin.IP = ip
	}
	var err error
	if actor.KeyID != "" {
		if actor, err = a.Identity.AuthenticateKey(r.Context(), actor.KeyID, actor.Origin); err != nil {
			return err
		}
	} else if q.Get("user_id") != "" && q.Get("user_id") != uuid.Nil.String() {
		return codersdk.Invalid("key_id", "is required with user_id: send the session of the user")
	}
	session, err := a.parseProxySession(q)
	if err != nil {
		return err
	}
	workspaceID, err := session.check(r.Context(), actor)
	if err != nil {
		return err
	}
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	if session.terminal != uuid.Nil && a.Connections != nil {
		defer a.Connections.Open(connection.Connection{
			Type:    codersdk.ConnectionTypeReconnectingPTY,
			AgentID: session.terminal,
			UserID:  actor.UserID,
			Origin:  actor.Origin,
		})("The user disconnected, or the terminal ended")
	}
	connected := conn.CloseRead(r.Context())
	allowed, release := a.Identity.Hold(connected, actor, func(ctx context.Context, now access.Subject) error {
		_, err := session.check(ctx, now)
		return err
	}, notify.Sharing(workspaceID))
	defer release()
	<-allowed.Done()
	if connected.Err() == nil {
		conn.Close(websocket.StatusPolicyViolation, "the user lost access") //nolint:errcheck // the proxy may be gone
	}
	return nil
}

// proxySession is a terminal or an app that a user has open at a proxy.
type proxySession struct {
	api      *API
	terminal uuid.UUID // agent of a terminal; Nil for an app
	method   workspaceapp.Method
	app      workspaceapp.Name
}

func (a *API) parseProxySession(q url.Values) (proxySession, error) {
	s := proxySession{api: a}
	var err error
	if text := q.Get("agent_id"); text != "" {
		if s.terminal, err = uuid.Parse(text); err != nil || s.terminal == uuid.Nil {
			return s, codersdk.Invalid("agent_id", "%q is not the id of an agent", rest.Truncate(text, 40))
		}
		return s, nil
	}
	s.method, s.app, err = parseAppRequest(codersdk.AppRequest{
		AccessMethod:      q.Get("access_method"),
		UsernameOrID:      q.Get("username"),
		WorkspaceNameOrID: q.Get("workspace"),
		AgentNameOrID:     q.Get("agent"),
		AppSlugOrPort:     q.Get("app"),
	})
	return s, err
}

// check returns the workspace of the session if the actor may use it now.
func (s proxySession) check(ctx context.Context, actor access.Subject) (workspace uuid.UUID, err error) {
	if s.terminal != uuid.Nil {
		agent, err := s.api.Presence.AgentForUser(ctx, actor, s.terminal, codersdk.RBACActionSSH)
		return agent.WorkspaceID, err
	}
	target, err := s.api.Apps.Authorize(ctx, actor, s.method, s.app, s.api.AppRules)
	return target.WorkspaceID, err
}
