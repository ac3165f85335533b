package appproxy

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// Door says who may open what. A server's own is Local; a workspace proxy asks
// its server. It is safe for concurrent use.
type Door interface {
	// Pass reads what Enter gave a browser before, and asks nobody; ok is false
	// when it is none for the method and the name.
	Pass(text string, m app.Method, n app.Name) (pass app.Pass, ok bool)
	// Enter finds out who a visitor is, where they want to go and whether they
	// may. An error says that it cannot be known, or that a token is not good.
	Enter(ctx context.Context, v Visitor) (Entry, error)
	// Find says where a name leads, whoever asks; NotFound: nowhere.
	Find(ctx context.Context, n app.Name) (app.Target, error)
	// Redeem trades the ticket that a browser brings from the dashboard for a
	// session of the host name.
	Redeem(ctx context.Context, ticket, host, state string) (session string, ok bool)
	// Hold gives a context that ends soon after a visitor may no longer stay. The
	// caller calls end.
	Hold(ctx context.Context, s Stay) (held context.Context, end func())
}

// Visitor is somebody who comes to an app, with what they say of who they are.
type Visitor struct {
	Method app.Method
	Name   app.Name
	Host   string // that their sessions are for, without port
	// Token is one that a program sent. Without, Sessions are what a browser has.
	Token    string
	Sessions []string
	Origin   access.Origin
}

// Stay is a visit that lasts.
type Stay struct {
	User   uuid.UUID // Nil for somebody who is not signed in
	Key    string    // their session
	Method app.Method
	Name   app.Name
	Target *app.Target
	Origin access.Origin
}

// Entry is what Enter found out.
type Entry struct {
	User          uuid.UUID // Nil for somebody who is not signed in
	Username, Key string
	// Allowed says that they may go to Target; Pass then says so for a while, to
	// a browser.
	Allowed bool
	Target  app.Target
	Pass    string
	// Renewed is not "" when it should replace the session of the browser.
	Renewed string
}

// Local is the Door of a server, which asks its database. The dashboard is on
// the host of AccessURL, so that path apps have its session.
type Local struct {
	Apps     *app.Service
	Identity *identity.Service
	Rules    app.Rules
}

// Pass implements Door.
func (l Local) Pass(text string, m app.Method, n app.Name) (app.Pass, bool) {
	return l.Apps.Pass(text, m, n)
}

// Find implements Door.
func (l Local) Find(ctx context.Context, n app.Name) (app.Target, error) { return l.Apps.Find(ctx, n) }

// Redeem implements Door.
func (l Local) Redeem(_ context.Context, ticket, host, state string) (string, bool) {
	return l.Apps.Redeem(ticket, host, state)
}

// Enter implements Door.
func (l Local) Enter(ctx context.Context, v Visitor) (Entry, error) {
	actor, renewed, err := l.actor(ctx, v)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{User: actor.UserID, Username: actor.Username, Key: actor.KeyID, Renewed: renewed}
	t, err := l.Apps.Find(ctx, v.Name)
	if err != nil && !coder.Is(err, coder.CodeNotFound) {
		return e, err
	}
	if err != nil || !t.Allows(actor, v.Method, l.Rules) {
		return e, nil
	}
	e.Allowed, e.Target = true, t
	if v.Token == "" {
		e.Pass, err = l.Apps.NewPass(actor, v.Method, v.Name, t)
	}
	return e, err
}

// actor says who visits: whose token it is, or whose session the browser has.
// The zero Subject is somebody who is not signed in.
func (l Local) actor(ctx context.Context, v Visitor) (actor access.Subject, renewed string, err error) {
	if v.Token != "" {
		actor, err = l.Identity.Authenticate(ctx, v.Token, v.Origin)
		return actor, "", err
	}
	for _, text := range v.Sessions {
		renewed := ""
		if v.Method == app.MethodPath {
			actor, err = l.Identity.Authenticate(ctx, text, v.Origin)
		} else if key, fresh, ok := l.Apps.Session(text, v.Host); ok {
			renewed = fresh
			actor, err = l.Identity.AuthenticateKey(ctx, key, v.Origin)
		} else {
			continue
		}
		if err == nil || !coder.Is(err, coder.CodeUnauthenticated) {
			return actor, renewed, err
		}
	}
	return access.Subject{}, "", nil
}

// Hold implements Door.
func (l Local) Hold(ctx context.Context, s Stay) (context.Context, func()) {
	actor := access.Subject{UserID: s.User, KeyID: s.Key, Origin: s.Origin}
	return l.Identity.Hold(ctx, actor, func(ctx context.Context, now access.Subject) error {
		t, err := l.Apps.Find(ctx, s.Name)
		if err == nil && !t.Allows(now, s.Method, l.Rules) {
			err = hidden(now.Username)
		}
		return err
	}, notify.Sharing(s.Target.WorkspaceID))
}
