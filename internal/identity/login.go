package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// How often somebody may try to log in: so many at once, then one per while.
// A success gives the account's attempts back.
const (
	triesPerAddress, addressWhile = 60, time.Second
	triesPerAccount, accountWhile = 20, 5 * time.Second
)

// wrongLogin is the one answer to an unknown e-mail and to a wrong password.
func wrongLogin() error {
	return coder.Errorf(coder.CodeUnauthenticated, "The e-mail or the password is wrong")
}

// Login trades e-mail and password for a session token. (AU-01)
func (s *Service) Login(ctx context.Context, o access.Origin, req coder.LoginWithPasswordRequest) (coder.LoginWithPasswordResponse, error) {
	var none coder.LoginWithPasswordResponse
	email := strings.TrimSpace(req.Email)
	if email == "" {
		return none, coder.Invalid("email", "an e-mail address is required")
	}
	if req.Password == "" {
		return none, coder.Invalid("password", "a password is required")
	}
	account := "login " + strings.ToLower(email)
	if err := s.attempts(ctx, o, account); err != nil {
		return none, err
	}
	u, err := s.c.Store.UserByEmail(ctx, email)
	if err != nil && !coder.Is(err, coder.CodeNotFound) {
		return none, fmt.Errorf("look up user: %w", err)
	}
	fits, err := s.verify(ctx, req.Password, u.PasswordHash)
	if err != nil {
		return none, err
	}
	actor := access.Subject{UserID: u.ID, Username: u.Username, Origin: o}
	switch {
	case !fits || u.LoginType != string(coder.LoginTypePassword):
		return none, s.refusedLogin(ctx, actor, wrongLogin())
	case u.Status == string(coder.UserStatusSuspended):
		return none, s.refusedLogin(ctx, actor, suspended())
	case s.c.DisablePasswordAuth && !slices.Contains(u.Roles, access.RoleOwner):
		return none, coder.Errorf(coder.CodeForbidden, "Logging in with a password is switched off on this deployment")
	}
	if err := s.c.Store.LoginAttemptsForget(ctx, attemptKey(account)); err != nil {
		return none, err
	}
	token, err := s.startSession(ctx, actor, s.c.SessionDuration)
	return coder.LoginWithPasswordResponse{SessionToken: token}, err
}

// refusedLogin records a failed login of a known user and gives why back.
func (s *Service) refusedLogin(ctx context.Context, actor access.Subject, why error) error {
	if actor.UserID == uuid.Nil {
		return why
	}
	err := audit.Record(ctx, s.c.Store.Queries, actor, audit.Entry{
		Action: coder.AuditActionLogin, ResourceType: coder.ResourceTypeAPIKey, Target: actor.Username, Status: 401,
	})
	if err != nil {
		return err
	}
	return why
}

// startSession makes a session of the user that the actor is, by a password.
func (s *Service) startSession(ctx context.Context, actor access.Subject, lifetime time.Duration) (token string, err error) {
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		token, err = s.insertSession(ctx, q, actor, coder.LoginTypePassword, lifetime)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("start session: %w", err)
	}
	return token, nil
}

// insertSession makes a session that was begun in that way.
func (s *Service) insertSession(ctx context.Context, q *sqlc.Queries, actor access.Subject, by coder.LoginType, lifetime time.Duration) (string, error) {
	token, id, hash := newToken()
	now := s.now()
	k := sqlc.InsertAPIKeyParams{
		ID: id, SecretHash: hash, UserID: actor.UserID, LoginType: string(by),
		Scopes: []string{string(coder.APIKeyScopeCoderAll)}, AllowList: []string{"*:*"},
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
		Action: coder.AuditActionLogin, ResourceType: coder.ResourceTypeAPIKey, Target: actor.Username,
	})
}

// Logout ends the session, or deletes the API token, that the actor came with.
func (s *Service) Logout(ctx context.Context, actor access.Subject) error {
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.DeleteAPIKey(ctx, actor.KeyID, actor.UserID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionLogout, ResourceType: coder.ResourceTypeAPIKey, Target: actor.Username,
		})
	})
	if err == nil {
		s.changedRights(actor.UserID)
	}
	return err
}

// HasFirstUser says whether anybody exists yet. (CP-09)
func (s *Service) HasFirstUser(ctx context.Context) (bool, error) {
	n, err := s.c.Store.CountUsers(ctx)
	return n > 0, err
}

// CreateFirstUser makes the first user, an owner and a member of the default
// organization. A second call is refused, also when two come at once. (CP-09)
func (s *Service) CreateFirstUser(ctx context.Context, o access.Origin, req coder.CreateFirstUserRequest) (coder.CreateFirstUserResponse, error) {
	var out coder.CreateFirstUserResponse
	some, err := s.HasFirstUser(ctx)
	if err != nil {
		return out, err
	}
	if some {
		return out, firstUserExists()
	}
	u := newUser{
		email: req.Email, username: req.Username, name: req.Name, password: req.Password,
		loginType: coder.LoginTypePassword, status: coder.UserStatusActive, roles: []string{access.RoleOwner},
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
		out = coder.CreateFirstUserResponse{UserID: row.ID, OrganizationID: org}
		return err
	})
	return out, err
}

func firstUserExists() error {
	return coder.Errorf(coder.CodeConflict, "The first user exists already; log in, and make further users as an administrator")
}
