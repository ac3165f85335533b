// Package serviceaccount manages the settings of service accounts: the user who is responsible, the expiry and the
// scopes. A service account is a user without email and password, which only tokens use.
//
// Administrators of users create these accounts with package identity, which also enforces the limits when a token is
// created. Here a change of the settings applies to the tokens that exist: they end with the account, and those with
// other scopes are revoked. After its expiry an account is suspended.
package serviceaccount

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/identity/tokenrule"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config configures a Service.
type Config struct {
	Store    *postgres.Store
	Identity *identity.Service
	Hub      *notify.Hub      // is notified when tokens end; nil notifies nobody
	Now      func() time.Time // nil: time.Now
}

// Service implements service accounts. It is safe for concurrent use.
type Service struct{ c Config }

// New returns a Service. It starts nothing.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// now returns the time at the precision of the database.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// find returns a service account by ID or username.
func (s *Service) find(ctx context.Context, actor access.Subject, ref string) (sqlc.User, sqlc.ServiceAccountRow, error) {
	var u sqlc.User
	var err error
	if id, parsed := uuid.Parse(ref); parsed == nil && len(ref) == 36 {
		u, err = s.c.Store.UserByID(ctx, id)
	} else if ref == "me" && actor.UserID != uuid.Nil {
		u, err = s.c.Store.UserByID(ctx, actor.UserID)
	} else {
		u, err = s.c.Store.UserByUsername(ctx, ref)
	}
	if err != nil {
		return u, sqlc.ServiceAccountRow{}, err
	}
	row, err := s.c.Store.ServiceAccount(ctx, u.ID)
	return u, row, err
}

func object(u sqlc.User) access.Object {
	return access.Object{Type: codersdk.RBACResourceUser, ID: u.ID, OwnerID: u.ID}
}

// Get returns the settings of a service account to users who can read it, and to the user who is responsible.
func (s *Service) Get(ctx context.Context, actor access.Subject, ref string) (codersdk.ServiceAccount, error) {
	u, row, err := s.find(ctx, actor, ref)
	if err != nil && (u.ID == uuid.Nil || !codersdk.Is(err, codersdk.CodeNotFound)) {
		return codersdk.ServiceAccount{}, err
	}
	responsible := row.ServiceAccount.OwnerID != nil && *row.ServiceAccount.OwnerID == actor.UserID &&
		actor.TokenPermits(codersdk.RBACActionRead, object(u))
	if !responsible {
		if err := actor.Check(codersdk.RBACActionRead, object(u)); err != nil {
			return codersdk.ServiceAccount{}, err
		}
	}
	return shown(u, row), isServiceAccount(u, err)
}

// isServiceAccount returns an error for other users. err is that of reading the settings.
func isServiceAccount(u sqlc.User, err error) error {
	if !u.IsServiceAccount {
		return codersdk.Errorf(codersdk.CodeNotFound, "User %s is not a service account", u.Username)
	}
	return err
}

func shown(u sqlc.User, r sqlc.ServiceAccountRow) codersdk.ServiceAccount {
	a := r.ServiceAccount
	return codersdk.ServiceAccount{
		UserID: u.ID, Username: u.Username, OwnerID: a.OwnerID, OwnerUsername: r.OwnerUsername, OwnerStatus: codersdk.UserStatus(r.OwnerStatus),
		ExpiresAt: a.ExpiresAt, Scopes: access.ParseScopes(a.Scopes),
	}
}

// Update replaces the settings of a service account. Its tokens end with it, and those with other scopes are
// revoked. Only users who hold all permissions of the account can change it.
func (s *Service) Update(ctx context.Context, actor access.Subject, ref string, req codersdk.UpdateServiceAccountRequest) (codersdk.ServiceAccount, error) {
	u, row, err := s.find(ctx, actor, ref)
	if u.ID == uuid.Nil {
		return codersdk.ServiceAccount{}, err
	}
	if err := actor.Check(codersdk.RBACActionUpdate, object(u)); err != nil {
		return codersdk.ServiceAccount{}, err
	}
	if err := isServiceAccount(u, err); err != nil {
		return codersdk.ServiceAccount{}, err
	}
	before := shown(u, row)
	subject, err := s.c.Identity.SubjectOf(ctx, u.ID)
	if err != nil {
		return before, err
	}
	if actor.CheckHoldsAllOf(subject) != nil {
		return before, codersdk.Errorf(codersdk.CodeForbidden, "The roles of %s have more permissions than yours. Ask an owner to change it.", u.Username)
	}
	var out codersdk.ServiceAccount
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.UserByIDForUpdate(ctx, u.ID); err != nil {
			return err
		}
		if err := tokenrule.Store(ctx, q, u.ID, req, s.now()); err != nil {
			return err
		}
		row, err := q.ServiceAccount(ctx, u.ID)
		if err != nil {
			return err
		}
		out = shown(u, row)
		if err := s.limitTokens(ctx, q, row.ServiceAccount); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeUser, ResourceID: u.ID, Target: u.Username, Diff: audit.Diff(before, out),
		})
	})
	if err == nil && s.c.Hub != nil {
		s.c.Hub.Publish(notify.Rights(u.ID))
	}
	return out, err
}

// limitTokens applies settings to the tokens that exist.
func (s *Service) limitTokens(ctx context.Context, q *sqlc.Queries, a sqlc.ServiceAccount) error {
	if a.ExpiresAt != nil {
		if err := q.ServiceAccountEndTokens(ctx, *a.ExpiresAt, a.UserID); err != nil {
			return err
		}
	}
	tokens, err := q.ServiceAccountTokens(ctx, a.UserID, s.now())
	if err != nil {
		return err
	}
	rule, refused := tokenrule.Rule{Scopes: a.Scopes}, []string{}
	for _, t := range tokens {
		if !rule.Permits(t.Scopes) {
			refused = append(refused, t.ID)
		}
	}
	return q.ServiceAccountRevoke(ctx, a.UserID, refused)
}

// SuspendExpired suspends accounts whose time is over and returns their number. Their tokens have ended by then.
func (s *Service) SuspendExpired(ctx context.Context) (int64, error) {
	ids, err := s.c.Store.ServiceAccountsExpired(ctx, s.now())
	for i, id := range ids {
		if _, err := s.c.Identity.SetStatus(ctx, access.System(), id.String(), codersdk.UserStatusSuspended); err != nil {
			return int64(i), err
		}
	}
	return int64(len(ids)), err
}
