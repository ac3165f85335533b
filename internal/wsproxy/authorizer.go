package wsproxy

import (
	"context"
	"net"
	"net/url"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/appproxy"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

const (
	// maxSessions bounds the session cookies of one request that are tried.
	maxSessions = 3
	// accessPing is the interval of pings on a connection that watches access.
	accessPing = 30 * time.Second
)

// authorizer asks the primary who may open which app.
type authorizer struct{ p *Proxy }

var _ appproxy.Authorizer = authorizer{}

// VerifyToken implements appproxy.Authorizer.
func (a authorizer) VerifyToken(text string, m workspaceapp.Method, n workspaceapp.Name) (workspaceapp.Pass, bool) {
	return a.p.apps.Pass(text, m, n)
}

func appRequest(m workspaceapp.Method, n workspaceapp.Name) codersdk.AppRequest {
	return codersdk.AppRequest{
		AccessMethod:      string(m),
		UsernameOrID:      n.Owner,
		WorkspaceNameOrID: n.Workspace,
		AgentNameOrID:     n.Agent,
		AppSlugOrPort:     n.App,
	}
}

// Authorize implements appproxy.Authorizer.
func (a authorizer) Authorize(ctx context.Context, req appproxy.Request) (appproxy.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	issue := codersdk.IssueAppTokenRequest{
		AppRequest:  appRequest(req.Method, req.Name),
		AppHostname: req.Host,
		Visit:       true,
		UserAgent:   req.Origin.UserAgent,
	}
	if req.Origin.IP.IsValid() {
		issue.ClientIP = req.Origin.IP.String()
	}
	sessions := req.Sessions[:min(len(req.Sessions), maxSessions)]
	if req.Token != "" || len(sessions) == 0 {
		sessions = []string{req.Token}
	}
	for _, issue.SessionToken = range sessions {
		out, err := a.p.client.IssueAppToken(ctx, issue)
		if codersdk.Is(err, codersdk.CodeUnauthenticated) {
			continue // another cookie may be valid
		}
		if err != nil {
			return appproxy.Result{}, unavailable(err)
		}
		if out.Visit == nil {
			return appproxy.Result{}, codersdk.Errorf(codersdk.CodeUnavailable, "The server of this workspace proxy has a different version").
				WithDetail("it does not report where apps are; run the same version of the server and the proxy")
		}
		return appproxy.Result{
			User:           out.Visit.UserID,
			Username:       out.Visit.Username,
			KeyID:          out.Visit.KeyID,
			Allowed:        true,
			Target:         workspaceapp.ReadTarget(out.Visit.App),
			AppToken:       out.SignedTokenStr,
			RenewedSession: out.Visit.Session,
		}, nil
	}
	return appproxy.Result{}, nil
}

// unavailable replaces a network error by one that users understand.
func unavailable(err error) error {
	if code := codersdk.CodeOf(err); code != codersdk.CodeInternal && code != codersdk.CodeUnavailable {
		return err
	}
	return codersdk.Errorf(codersdk.CodeUnavailable, "The server of this workspace proxy does not respond").
		WithDetail("open connections stay open; try again in a moment").WithCause(err)
}

// Resolve implements appproxy.Authorizer.
func (a authorizer) Resolve(ctx context.Context, n workspaceapp.Name) (workspaceapp.Target, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	t, err := a.p.client.ProxyApp(ctx, appRequest(workspaceapp.MethodSubdomain, n))
	if err != nil {
		return workspaceapp.Target{}, unavailable(err)
	}
	return workspaceapp.ReadTarget(t), nil
}

// ExchangeCode implements appproxy.Authorizer.
func (a authorizer) ExchangeCode(ctx context.Context, code, host, state string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := a.p.client.ProxySession(ctx, codersdk.ProxySessionRequest{Ticket: code, Host: host, State: state})
	if err != nil {
		a.p.log.InfoContext(ctx, "exchanging an authorization code failed", "host", host, "error", err)
	}
	return s.Session, err == nil && s.Session != ""
}

// WatchAccess implements appproxy.Authorizer.
func (a authorizer) WatchAccess(ctx context.Context, s appproxy.Session) (context.Context, func()) {
	req := appRequest(s.Method, s.Name)
	q := url.Values{
		"user_id":       {s.User.String()},
		"key_id":        {s.KeyID},
		"access_method": {req.AccessMethod},
		"username":      {req.UsernameOrID},
		"workspace":     {req.WorkspaceNameOrID},
		"agent":         {req.AgentNameOrID},
		"app":           {req.AppSlugOrPort},
	}
	if s.Origin.IP.IsValid() {
		q.Set("client_ip", s.Origin.IP.String())
	}
	allowed, cancel := context.WithCancelCause(ctx)
	go a.p.watchAccess(allowed, cancel, q, nil)
	return allowed, func() { cancel(context.Canceled) }
}

// watchAccess calls end when the primary reports that the user lost access. While
// the primary is unreachable, the session continues. conn is the first connection
// to the primary, nil if there is none yet.
func (p *Proxy) watchAccess(ctx context.Context, end context.CancelCauseFunc, q url.Values, conn *websocket.Conn) {
	redial := lifecycle.Backoff{Limit: maxRetryDelay}
	for ctx.Err() == nil {
		var err error
		if conn == nil {
			conn, err = p.dialAccess(ctx, q)
		}
		if err == nil {
			redial.Reset()
			err = waitForClose(ctx, conn)
			conn = nil
		}
		if isRefusal(err) || websocket.CloseStatus(err) == websocket.StatusPolicyViolation {
			end(err)
			return
		}
		redial.Sleep(ctx)
	}
	if conn != nil {
		conn.CloseNow() //nolint:errcheck // the session has ended
	}
}

// dialAccess opens the connection on which the primary reports a loss of access.
func (p *Proxy) dialAccess(ctx context.Context, q url.Values) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return p.client.ProxyHold(ctx, q)
}

// waitForClose returns the error with which the connection ends, and closes it if
// the primary does not answer pings.
func waitForClose(ctx context.Context, conn *websocket.Conn) error {
	defer conn.CloseNow() //nolint:errcheck // it has ended already, or the session has
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go lifecycle.Every(watch, accessPing, func(watch context.Context) {
		ctx, cancel := context.WithTimeout(watch, requestTimeout)
		defer cancel()
		if conn.Ping(ctx) != nil {
			conn.CloseNow() //nolint:errcheck // Read below reports it
		}
	})
	_, _, err := conn.Read(ctx)
	return err
}

// openStream opens a stream to an agent.
func (p *Proxy) openStream(ctx context.Context, agent uuid.UUID, kind, arg string) (net.Conn, error) {
	return p.tunnels.Open(ctx, tunnel.Target{AgentID: agent}, kind, arg)
}
