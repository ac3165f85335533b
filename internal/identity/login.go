package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/attempt"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// wrongLogin returns the same error for an unknown email and a wrong password.
func wrongLogin() error {
	return codersdk.Errorf(codersdk.CodeUnauthenticated, "The email or the password is wrong.")
}

// Login exchanges an email address and a password for a session token. Only failures
// count against an address, because many users can share one. Every attempt counts
// against an account until one succeeds. (AU-01)
func (s *Service) Login(ctx context.Context, o access.Origin, req codersdk.LoginWithPasswordRequest) (codersdk.LoginWithPasswordResponse, error) {
	var none codersdk.LoginWithPasswordResponse
	email := strings.TrimSpace(req.Email)
	if email == "" {
		return none, codersdk.Invalid("email", "an email address is required")
	}
	if req.Password == "" {
		return none, codersdk.Invalid("password", "a password is required")
	}
	account, address := attempt.ByAccount("login "+strings.ToLower(email)), attempt.ByAddress(o.IP)
	mayFail := func() error { return s.attempts.Check(ctx, address) }
	if err := mayFail(); err != nil {
		return none, err
	}
	if err := s.attempts.Count(ctx, account); err != nil {
		return none, err
	}
	u, err := s.c.Store.UserByEmail(ctx, email)
	if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
		return none, fmt.Errorf("look up user: %w", err)
	}
	// While this request waited for a slot, others from the address may have failed.
	fits, err := s.hasher.VerifyIf(ctx, mayFail, req.Password, u.PasswordHash)
	if err != nil {
		return none, err
	}
	if !fits {
		if err := s.attempts.Count(ctx, address); err != nil && !codersdk.Is(err, codersdk.CodeRateLimited) {
			return none, err
		}
	}
	actor := access.Subject{UserID: u.ID, Username: u.Username, Origin: o}
	switch {
	case !fits || u.LoginType != string(codersdk.LoginTypePassword):
		return none, s.refusedLogin(ctx, actor, wrongLogin())
	case u.Status == string(codersdk.UserStatusSuspended):
		return none, s.refusedLogin(ctx, actor, suspended())
	case s.c.DisablePasswordAuth && !slices.Contains(u.Roles, access.RoleOwner):
		return none, codersdk.Errorf(codersdk.CodeForbidden, "Sign-in with a password is disabled on this deployment")
	}
	if err := s.attempts.Forget(ctx, account); err != nil {
		return none, err
	}
	token, err := s.startSession(ctx, actor, s.c.SessionDuration)
	return codersdk.LoginWithPasswordResponse{SessionToken: token}, err
}

// refusedLogin audits a failed sign-in of a known user and returns why.
func (s *Service) refusedLogin(ctx context.Context, actor access.Subject, why error) error {
	if actor.UserID == uuid.Nil {
		return why
	}
	err := audit.Record(ctx, s.c.Store.Queries, actor, audit.Entry{
		Action: codersdk.AuditActionLogin, ResourceType: codersdk.ResourceTypeAPIKey, Target: actor.Username, Status: 401,
	})
	if err != nil {
		return err
	}
	return why
}

// startSession creates a password session of the actor.
func (s *Service) startSession(ctx context.Context, actor access.Subject, lifetime time.Duration) (token string, err error) {
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		token, err = s.insertSession(ctx, q, actor, codersdk.LoginTypePassword, lifetime)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("start session: %w", err)
	}
	return token, nil
}

// insertSession creates a session with that login type.
func (s *Service) insertSession(ctx context.Context, q *sqlc.Queries, actor access.Subject, by codersdk.LoginType, lifetime time.Duration) (string, error) {
	token, id, hash := credential.NewToken()
	now := s.now()
	k := sqlc.InsertAPIKeyParams{
		ID: id, SecretHash: hash, UserID: actor.UserID, LoginType: string(by),
		Scopes: []string{string(codersdk.APIKeyScopeCoderAll)}, AllowList: []string{"*:*"},
		LifetimeSeconds: int64(lifetime / time.Second), Now: now, ExpiresAt: now.Add(lifetime),
	}
	if ip := actor.Origin.IP; ip.IsValid() {
		k.IPAddress = &ip
	}
	k.UserAgent = audit.Clip(actor.Origin.UserAgent)
	if _, err := q.InsertAPIKey(ctx, k); err != nil {
		return "", err
	}
	if err := q.TouchUser(ctx, now, actor.UserID); err != nil {
		return "", err
	}
	return token, audit.Record(ctx, q, actor, audit.Entry{
		Action: codersdk.AuditActionLogin, ResourceType: codersdk.ResourceTypeAPIKey, Target: actor.Username,
	})
}

// Logout ends the session, or deletes the API token, of the actor.
func (s *Service) Logout(ctx context.Context, actor access.Subject) error {
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.DeleteAPIKey(ctx, actor.KeyID, actor.UserID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionLogout, ResourceType: codersdk.ResourceTypeAPIKey, Target: actor.Username,
		})
	})
	if err == nil {
		s.changedRights(actor.UserID)
	}
	return err
}

// HasFirstUser reports whether any user exists. (CP-09)
func (s *Service) HasFirstUser(ctx context.Context) (bool, error) {
	n, err := s.c.Store.CountUsers(ctx)
	return n > 0, err
}

// CreateFirstUser creates the first user, an owner and a member of the default
// organization. Of any number of concurrent calls one succeeds. (CP-09)
func (s *Service) CreateFirstUser(ctx context.Context, o access.Origin, req codersdk.CreateFirstUserRequest) (codersdk.CreateFirstUserResponse, error) {
	var out codersdk.CreateFirstUserResponse
	some, err := s.HasFirstUser(ctx)
	if err != nil {
		return out, err
	}
	if some {
		return out, firstUserExists()
	}
	u := newUser{
		email: req.Email, username: req.Username, name: req.Name, password: req.Password,
		loginType: codersdk.LoginTypePassword, status: codersdk.UserStatusActive, roles: []string{access.RoleOwner},
	}
	if err := s.prepare(ctx, &u); err != nil {
		return out, err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.LockFirstUser(ctx); err != nil {
			return err
		}
		if n, err := q.CountUsers(ctx); err != nil {
			return err
		} else if n > 0 {
			return firstUserExists()
		}
		org, err := q.EnsureDefaultOrganization(ctx, uuid.New(), s.now())
		if err != nil {
			return err
		}
		row, err := s.insert(ctx, q, access.Subject{UserID: u.id, Username: u.username, Origin: o}, u, []uuid.UUID{org})
		out = codersdk.CreateFirstUserResponse{UserID: row.ID, OrganizationID: org}
		return err
	})
	return out, err
}

func firstUserExists() error {
	return codersdk.Errorf(codersdk.CodeConflict, "The first user already exists. Sign in and create further users as an administrator.")
}
