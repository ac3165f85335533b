package wsproxy

import (
	"context"
	"net"
	"net/url"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/appproxy"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// maxSessions is how many cookies of one name are tried.
	maxSessions = 3
	// holdPing is how often it is looked whether the primary still holds a visit.
	holdPing = 30 * time.Second
)

// door asks the primary who may open what.
type door struct{ p *Proxy }

var _ appproxy.Door = door{}

// Pass implements appproxy.Door.
func (d door) Pass(text string, m app.Method, n app.Name) (app.Pass, bool) {
	return d.p.apps.Pass(text, m, n)
}

func request(m app.Method, n app.Name) coder.AppRequest {
	return coder.AppRequest{
		AccessMethod: string(m), UsernameOrID: n.Owner, WorkspaceNameOrID: n.Workspace, AgentNameOrID: n.Agent, AppSlugOrPort: n.App,
	}
}

// Enter implements appproxy.Door.
func (d door) Enter(ctx context.Context, v appproxy.Visitor) (appproxy.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	req := coder.IssueAppTokenRequest{AppRequest: request(v.Method, v.Name), AppHostname: v.Host, Visit: true, UserAgent: v.Origin.UserAgent}
	if v.Origin.IP.IsValid() {
		req.ClientIP = v.Origin.IP.String()
	}
	sessions := v.Sessions[:min(len(v.Sessions), maxSessions)]
	if v.Token != "" || len(sessions) == 0 {
		sessions = []string{v.Token}
	}
	for _, req.SessionToken = range sessions {
		out, err := d.p.client.IssueAppToken(ctx, req)
		if coder.Is(err, coder.CodeUnauthenticated) {
			continue // another cookie may be good
		}
		if err != nil {
			return appproxy.Entry{}, d.p.away(err)
		}
		if out.Visit == nil {
			return appproxy.Entry{}, coder.Errorf(coder.CodeUnavailable, "The server of this workspace proxy is of another version").
				WithDetail("it does not say where apps are; run the same version of both")
		}
		e := appproxy.Entry{
			User: out.Visit.UserID, Username: out.Visit.Username, Key: out.Visit.KeyID, Renewed: out.Visit.Session,
			Allowed: true, Target: app.ReadTarget(out.Visit.App), Pass: out.SignedTokenStr,
		}
		return e, nil
	}
	return appproxy.Entry{}, nil
}

// away makes an error of the network one for people.
func (p *Proxy) away(err error) error {
	if code := coder.CodeOf(err); code != coder.CodeInternal && code != coder.CodeUnavailable {
		return err
	}
	return coder.Errorf(coder.CodeUnavailable, "The server of this workspace proxy does not answer").
		WithDetail("what is open stays open; try again in a moment").WithCause(err)
}

// Find implements appproxy.Door.
func (d door) Find(ctx context.Context, n app.Name) (app.Target, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	t, err := d.p.client.ProxyApp(ctx, request(app.MethodSubdomain, n))
	if err != nil {
		return app.Target{}, d.p.away(err)
	}
	return app.ReadTarget(t), nil
}

// Redeem implements appproxy.Door.
func (d door) Redeem(ctx context.Context, ticket, host, state string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	s, err := d.p.client.ProxySession(ctx, coder.ProxySessionRequest{Ticket: ticket, Host: host, State: state})
	if err != nil {
		d.p.log.InfoContext(ctx, "a browser was given no session", "host", host, "error", err)
	}
	return s.Session, err == nil && s.Session != ""
}

// Hold implements appproxy.Door.
func (d door) Hold(ctx context.Context, s appproxy.Stay) (context.Context, func()) {
	r := request(s.Method, s.Name)
	q := url.Values{
		"user_id": {s.User.String()}, "key_id": {s.Key}, "access_method": {r.AccessMethod}, "username": {r.UsernameOrID},
		"workspace": {r.WorkspaceNameOrID}, "agent": {r.AgentNameOrID}, "app": {r.AppSlugOrPort},
	}
	if s.Origin.IP.IsValid() {
		q.Set("client_ip", s.Origin.IP.String())
	}
	held, cancel := context.WithCancelCause(ctx)
	go d.p.stay(held, cancel, q, nil)
	return held, func() { cancel(context.Canceled) }
}

// stay ends a visit when the primary says so. While the primary is away, the
// visit goes on. conn is the first connection, if there is one.
func (p *Proxy) stay(ctx context.Context, end context.CancelCauseFunc, q url.Values, conn *websocket.Conn) {
	redial := client.Redial{Limit: lastRetry}
	for ctx.Err() == nil {
		var err error
		if conn == nil {
			conn, err = p.hold(ctx, q)
		}
		if err == nil {
			redial.Reset()
			err = told(ctx, conn)
			conn = nil
		}
		if refused(err) || websocket.CloseStatus(err) == websocket.StatusPolicyViolation {
			end(err)
			return
		}
		pause(ctx, redial.Next())
	}
	if conn != nil {
		conn.CloseNow() //nolint:errcheck // the visit is over
	}
}

func (p *Proxy) hold(ctx context.Context, q url.Values) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return p.client.ProxyHold(ctx, q)
}

// told waits until the primary ends a visit, or the connection ends.
func told(ctx context.Context, conn *websocket.Conn) error {
	defer conn.CloseNow() //nolint:errcheck // it has ended, or the visit has
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for pause(watch, holdPing) {
			ask, cancel := context.WithTimeout(watch, askLimit)
			err := conn.Ping(ask)
			cancel()
			if err != nil {
				conn.CloseNow() //nolint:errcheck // Read below says so
				return
			}
		}
	}()
	_, _, err := conn.Read(ctx)
	return err
}

// open opens a stream to an agent.
func (p *Proxy) open(ctx context.Context, agent uuid.UUID, kind, arg string) (net.Conn, error) {
	return p.tunnels.Open(ctx, tunnel.Target{AgentID: agent}, kind, arg)
}
