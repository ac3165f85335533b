package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
)

// appName reads the address of an app that a proxy asks about.
func appName(q coder.AppRequest) (app.Method, app.Name, error) {
	m := app.Method(q.AccessMethod)
	if m != app.MethodPath && m != app.MethodSubdomain {
		return m, app.Name{}, coder.Invalid("access_method", "must be path or subdomain, got %q", clip(q.AccessMethod, 40))
	}
	n := app.Name{Owner: q.UsernameOrID, Workspace: q.WorkspaceNameOrID, Agent: q.AgentNameOrID, App: q.AppSlugOrPort}
	if workspace, agent, ok := strings.Cut(n.Workspace, "."); ok && n.Agent == "" {
		n.Workspace, n.Agent = workspace, agent
	}
	return m, n, nil
}

// postAppToken gives a proxy a pass for its visitor, whom it knows by their
// token or, on the host of an app, by their session there.
func (a *API) postAppToken(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	req, err := decode[coder.IssueAppTokenRequest](r)
	if err != nil {
		return err
	}
	method, name, err := appName(req.AppRequest)
	if err != nil {
		return err
	}
	origin := a.origin(r)
	if ip, err := netip.ParseAddr(req.ClientIP); err == nil && req.Visit {
		origin = access.Origin{IP: ip, UserAgent: clip(req.UserAgent, 512)}
	}
	visitor, renewed, err := a.visitor(r.Context(), req, origin)
	if err != nil {
		return err
	}
	if method == app.MethodPath && strings.EqualFold(name.Owner, "me") && visitor.UserID != uuid.Nil {
		name.Owner = visitor.Username
	}
	t, err := a.Apps.Find(r.Context(), name)
	if err != nil && !coder.Is(err, coder.CodeNotFound) {
		return err
	}
	if err != nil || !t.Allows(visitor, method, a.AppRules) {
		return closed(visitor)
	}
	out := coder.IssueSignedAppTokenResponse{}
	if req.Visit {
		out.Visit = &coder.AppVisit{UserID: visitor.UserID, Username: visitor.Username, KeyID: visitor.KeyID, Session: renewed, App: t.Wire()}
	} else if !t.Running {
		return coder.Errorf(coder.CodeConflict, "The workspace %s of %s is not running", t.WorkspaceName, t.OwnerName)
	}
	if t.Running {
		if out.SignedTokenStr, err = a.Apps.NewPass(visitor, method, name, t); err != nil {
			return err
		}
		a.visited(t, visitor, origin)
	}
	return reply(w, http.StatusCreated, out)
}

// closed is the answer to somebody who may not open an app, or to whom there is none.
func closed(visitor access.Subject) error {
	if visitor.UserID == uuid.Nil {
		return coder.Errorf(coder.CodeUnauthenticated, "Sign in to open this app")
	}
	return coder.Errorf(coder.CodeNotFound, "There is no such app, or you may not open it").
		WithDetail("you are signed in as %s; ask the owner of the workspace to share it with you", visitor.Username)
}

// visited has a visit at a proxy in the connection log.
func (a *API) visited(t app.Target, visitor access.Subject, origin access.Origin) {
	if a.Connections == nil || t.AgentID == uuid.Nil {
		return
	}
	kind := coder.ConnectionTypeWorkspaceApp
	if t.Port != 0 {
		kind = coder.ConnectionTypePortForwarding
	}
	a.Connections.Visit(connection.Connection{Type: kind, AgentID: t.AgentID, UserID: visitor.UserID, App: t.App, Status: http.StatusOK, Origin: origin})
}

// visitor is who opens an app at a proxy; the zero Subject is somebody who is
// not signed in.
func (a *API) visitor(ctx context.Context, req coder.IssueAppTokenRequest, origin access.Origin) (who access.Subject, renewed string, err error) {
	if req.SessionToken == "" {
		return access.Subject{}, "", nil
	}
	if identity.IsToken(req.SessionToken) {
		who, err = a.Identity.Authenticate(ctx, req.SessionToken, origin)
	} else if key, fresh, ok := a.Apps.Session(req.SessionToken, app.HostName(req.AppHostname)); ok {
		renewed = fresh
		who, err = a.Identity.AuthenticateKey(ctx, key, origin)
	}
	if coder.Is(err, coder.CodeUnauthenticated) {
		return access.Subject{}, "", nil // who was signed in once is nobody now, who may open what is public
	}
	return who, renewed, err
}

// postProxyApp tells a proxy where an address leads, whoever asks.
func (a *API) postProxyApp(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
	req, err := decode[coder.AppRequest](r)
	if err != nil {
		return err
	}
	_, name, err := appName(req)
	if err != nil {
		return err
	}
	t, err := a.Apps.Find(r.Context(), name)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, t.Wire())
}

// postProxySession gives a proxy the session of a browser that brings a ticket
// to one of its hosts.
func (a *API) postProxySession(w http.ResponseWriter, r *http.Request, p proxy.Proxy) error {
	req, err := decode[coder.ProxySessionRequest](r)
	if err != nil {
		return err
	}
	host := app.HostName(req.Host)
	if !(&proxyHosts{p.AccessURL(), p.Wildcard()}).has(host) {
		return coder.Invalid("host", "%q is no host of this proxy", clip(req.Host, 100))
	}
	session, ok := a.Apps.Redeem(req.Ticket, host, req.State)
	if !ok {
		return coder.Errorf(coder.CodeUnauthenticated, "The ticket is not, or not any more, good here")
	}
	return reply(w, http.StatusCreated, coder.ProxySession{Session: session})
}

// proxyHosts are the host names of a proxy.
type proxyHosts struct{ at, wildcard string }

func (p *proxyHosts) parse() (*url.URL, app.Hosts, bool) {
	at, err := url.Parse(p.at)
	if err != nil || p.at == "" {
		return nil, app.Hosts{}, false
	}
	hosts, err := app.ParseHosts(p.wildcard, at)
	return at, hosts, err == nil
}

func (p *proxyHosts) has(host string) bool {
	at, hosts, ok := p.parse()
	if !ok {
		return false
	}
	_, under := hosts.Under(host)
	return under || host == app.HostName(at.Host)
}

// serves says whether an address is one of an app at the proxy.
func (p *proxyHosts) serves(u *url.URL) bool {
	at, hosts, ok := p.parse()
	if !ok || u.Scheme != at.Scheme || u.Port() != at.Port() {
		return false
	}
	if app.HostName(u.Host) == app.HostName(at.Host) {
		_, ok := app.ParsePath(u.EscapedPath())
		return ok
	}
	_, under, err := hosts.Parse(u.Host)
	return under && err == nil
}

// proxies gives the hosts of those that run.
func (a *API) proxies(ctx context.Context) (all []proxyHosts, err error) {
	if a.Proxies == nil {
		return nil, nil
	}
	regions, err := a.Proxies.Regions(ctx)
	for _, r := range regions {
		if r.Name != coder.PrimaryProxy {
			all = append(all, proxyHosts{r.PathAppURL, r.WildcardHostname})
		}
	}
	return all, err
}

func holdParams() []Param {
	return []Param{
		{"key_id", "string", "Names the visitor's session; empty for somebody who is not signed in."},
		{"user_id", "uuid", "The visitor."},
		{"agent_id", "uuid", "The agent whose terminal it is, or else the app:"},
		{"access_method", "string", "path or subdomain."},
		{"username", "string", "The owner in the app's address."},
		{"workspace", "string", "The workspace in it."},
		{"agent", "string", "The agent in it; may be empty."},
		{"app", "string", "The slug or port in it."},
		{"client_ip", "string", "Where the visitor is."},
	}
}

// getHold tells a proxy when a visit has to end: a terminal, or a WebSocket of an
// app. Who may not begin it is refused.
func (a *API) getHold(w http.ResponseWriter, r *http.Request, _ proxy.Proxy) error {
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
		return coder.Invalid("key_id", "give the session of the user")
	}
	s := stay{api: a, query: q}
	if err := s.still(r.Context(), actor); err != nil {
		return err
	}
	conn, err := accept(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	if s.terminal && a.Connections != nil {
		defer a.Connections.Open(connection.Connection{
			Type: coder.ConnectionTypeReconnectingPTY, AgentID: s.agent, UserID: actor.UserID, Origin: actor.Origin,
		})("The viewer left, or the terminal ended")
	}
	here := conn.CloseRead(r.Context())
	held, end := a.Identity.Hold(here, actor, s.still, notify.Sharing(s.workspace))
	defer end()
	<-held.Done()
	if here.Err() == nil {
		conn.Close(websocket.StatusPolicyViolation, "the visitor may not stay") //nolint:errcheck // the proxy may be gone
	}
	return nil
}

// stay is what somebody does at a proxy for a while.
type stay struct {
	api   *API
	query url.Values

	terminal         bool
	agent, workspace uuid.UUID
}

// still says whether somebody may.
func (s *stay) still(ctx context.Context, now access.Subject) error {
	q := s.query
	if text := q.Get("agent_id"); text != "" {
		id, err := uuid.Parse(text)
		if err != nil {
			return coder.Invalid("agent_id", "%q is not a UUID", clip(text, 40))
		}
		agent, err := s.api.Presence.AgentForUser(ctx, now, id, coder.RBACActionSSH)
		s.terminal, s.agent, s.workspace = true, id, agent.WorkspaceID
		return err
	}
	method, name, err := appName(coder.AppRequest{
		AccessMethod: q.Get("access_method"), UsernameOrID: q.Get("username"), WorkspaceNameOrID: q.Get("workspace"), AgentNameOrID: q.Get("agent"), AppSlugOrPort: q.Get("app"),
	})
	if err != nil {
		return err
	}
	t, err := s.api.Apps.Find(ctx, name)
	if err == nil && !t.Allows(now, method, s.api.AppRules) {
		err = closed(now)
	}
	s.workspace = t.WorkspaceID
	return err
}
