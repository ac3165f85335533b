package appproxy

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// Authorizer decides who may open which app. A server uses Local; a workspace
// proxy asks its server. Implementations are safe for concurrent use.
type Authorizer interface {
	// VerifyToken reads a signed app token that Authorize issued, without asking
	// anyone. ok is false unless it is valid for the method and the name.
	VerifyToken(text string, m workspaceapp.Method, n workspaceapp.Name) (token workspaceapp.Pass, ok bool)
	// Authorize identifies the user of a request, resolves the app and decides
	// whether the user may open it. It returns an error if it cannot decide, or
	// if the request's token is invalid.
	Authorize(ctx context.Context, req Request) (Result, error)
	// Resolve returns the app at a name without checking access, or NotFound.
	Resolve(ctx context.Context, n workspaceapp.Name) (workspaceapp.Target, error)
	// ExchangeCode returns a session of the host for the authorization code that a
	// browser brought from the dashboard.
	ExchangeCode(ctx context.Context, code, host, state string) (session string, ok bool)
	// WatchAccess returns a context that ends soon after the user loses access to
	// the app. The caller calls release.
	WatchAccess(ctx context.Context, s Session) (allowed context.Context, release func())
}

// Request asks to open an app, with the credentials that a client sent.
type Request struct {
	Method workspaceapp.Method
	Name   workspaceapp.Name
	Host   string // host name, without port, that Sessions are for
	// Token is a session or API token that a program sent; Sessions are the
	// session cookies of a browser, used without a Token.
	Token    string
	Sessions []string
	Origin   access.Origin
}

// Session is a WebSocket that a user has open to an app.
type Session struct {
	User   uuid.UUID // Nil for a client that is not signed in
	KeyID  string    // id of the user's session key
	Method workspaceapp.Method
	Name   workspaceapp.Name
	Target *workspaceapp.Target
	Origin access.Origin
}

// Result is the answer to a Request.
type Result struct {
	User     uuid.UUID // Nil for a client that is not signed in
	Username string
	KeyID    string // id of the user's session key
	// Allowed reports whether the user may open Target, which is set only then.
	Allowed bool
	Target  workspaceapp.Target
	// AppToken is a signed app token for a browser, valid for
	// workspaceapp.PassDuration; "" for none.
	AppToken string
	// RenewedSession should replace the browser's session cookie; "" for none.
	RenewedSession string
}

// Local is the Authorizer of a server, with access to the database. Path apps
// share the session of the dashboard.
type Local struct {
	Apps     *workspaceapp.Service
	Identity *identity.Service
	Rules    workspaceapp.Rules
}

// VerifyToken implements Authorizer.
func (l Local) VerifyToken(text string, m workspaceapp.Method, n workspaceapp.Name) (workspaceapp.Pass, bool) {
	return l.Apps.Pass(text, m, n)
}

// Resolve implements Authorizer.
func (l Local) Resolve(ctx context.Context, n workspaceapp.Name) (workspaceapp.Target, error) {
	return l.Apps.Find(ctx, n)
}

// ExchangeCode implements Authorizer.
func (l Local) ExchangeCode(_ context.Context, code, host, state string) (string, bool) {
	return l.Apps.Redeem(code, host, state)
}

// Authorize implements Authorizer.
func (l Local) Authorize(ctx context.Context, req Request) (Result, error) {
	actor, renewed, err := l.authenticate(ctx, req)
	if err != nil {
		return Result{}, err
	}
	res := Result{User: actor.UserID, Username: actor.Username, KeyID: actor.KeyID, RenewedSession: renewed}
	target, err := l.Apps.Authorize(ctx, actor, req.Method, req.Name, l.Rules)
	if codersdk.Is(err, codersdk.CodeNotFound, codersdk.CodeUnauthenticated) {
		return res, nil
	}
	if err != nil {
		return res, err
	}
	res.Allowed, res.Target = true, target
	if req.Token == "" {
		res.AppToken, err = l.Apps.NewPass(actor, req.Method, req.Name, target)
	}
	return res, err
}

// authenticate returns the user of a token, or of the first valid session, and
// the session that should replace it, if any. Without either it returns the zero
// Subject. An invalid token is an error.
func (l Local) authenticate(ctx context.Context, req Request) (actor access.Subject, renewed string, err error) {
	if req.Token != "" {
		actor, err = l.Identity.Authenticate(ctx, req.Token, req.Origin)
		return actor, "", err
	}
	for _, text := range req.Sessions {
		renewed := ""
		if req.Method == workspaceapp.MethodPath {
			actor, err = l.Identity.Authenticate(ctx, text, req.Origin)
		} else if key, fresh, ok := l.Apps.Session(text, req.Host); ok {
			renewed = fresh
			actor, err = l.Identity.AuthenticateKey(ctx, key, req.Origin)
		} else {
			continue
		}
		if err == nil || !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			return actor, renewed, err
		}
	}
	return access.Subject{}, "", nil
}

// WatchAccess implements Authorizer.
func (l Local) WatchAccess(ctx context.Context, s Session) (context.Context, func()) {
	actor := access.Subject{UserID: s.User, KeyID: s.KeyID, Origin: s.Origin}
	return l.Identity.Hold(ctx, actor, func(ctx context.Context, now access.Subject) error {
		_, err := l.Apps.Authorize(ctx, now, s.Method, s.Name, l.Rules)
		return err
	}, notify.Sharing(s.Target.WorkspaceID))
}
