// Package identity manages users with passwords, sessions, API tokens and roles, and
// their memberships of organizations. Authenticate turns a token into an
// access.Subject. Every other method takes that subject, checks access, and changes
// rows and writes an audit row in one transaction.
//
// Sessions and API tokens have the same form: ten characters that identify the row, a
// hyphen, and a secret of which only the SHA-256 is stored. Passwords are stored as
// argon2id hashes. A failed sign-in reveals nothing: response and work are the same
// for a wrong password and an unknown user.
package identity

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/identity/attempt"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config configures a Service. Zero durations mean the named defaults.
type Config struct {
	Store *postgres.Store
	Log   *slog.Logger
	Hub   *notify.Hub      // receives changes of rights; nil: held contexts are checked every minute
	Now   func() time.Time // nil: time.Now

	// SessionDuration is the lifetime of an unused session; default 24h.
	SessionDuration time.Duration
	// DisableSessionRefresh ends a session after SessionDuration even if it is used.
	DisableSessionRefresh bool
	// DefaultTokenLifetime applies to API tokens created without a lifetime; 168h.
	DefaultTokenLifetime time.Duration
	// MaxTokenLifetime limits API tokens; 876600h (a hundred years).
	MaxTokenLifetime time.Duration
	// MaxAdminTokenLifetime limits API tokens of owners; 168h.
	MaxAdminTokenLifetime time.Duration
	// DisablePasswordAuth rejects passwords of all users except owners.
	DisablePasswordAuth bool
	// DisableOwnerWorkspaceAccess denies owners access to workspaces of other users.
	DisableOwnerWorkspaceAccess bool
	// DisableWorkspaceSharing ignores the access lists of workspaces.
	DisableWorkspaceSharing bool
	// Quiet is the time of day at which workspaces that must be stopped are stopped.
	Quiet calendar.Quiet
	// SendsEmail reports that notifications by email are sent. Otherwise only
	// administrators can reset forgotten passwords.
	SendsEmail bool
	// Verify checks with the identity provider that the user of a session is still
	// valid there; an error with CodeUnauthenticated ends the session. It is called
	// when the provider's tokens expire and stores the next expiry. Nil checks
	// nothing.
	Verify func(ctx context.Context, userID uuid.UUID, by codersdk.LoginType) error
	// Vault encrypts the tokens of identity providers; nil stores them in clear.
	Vault *dbcrypt.Vault
	// SSHKeyAlgorithm applies to new git key pairs: ed25519 (default), ecdsa or
	// rsa4096.
	SSHKeyAlgorithm string
}

// Service implements identity. It is safe for concurrent use.
type Service struct {
	c        Config
	log      *slog.Logger
	now      func() time.Time
	hasher   *credential.Hasher
	attempts *attempt.Counter
}

// New returns a Service. It starts nothing.
func New(c Config) *Service {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{
		{&c.SessionDuration, 24 * time.Hour},
		{&c.DefaultTokenLifetime, 168 * time.Hour},
		{&c.MaxTokenLifetime, 876600 * time.Hour},
		{&c.MaxAdminTokenLifetime, 168 * time.Hour},
	} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	return &Service{c: c, log: c.Log, now: c.Now, hasher: credential.NewHasher(), attempts: &attempt.Counter{Store: c.Store, Now: c.Now}}
}

// OrganizationByRef returns the organization with that ID or name; "default" is the
// default organization.
func (s *Service) OrganizationByRef(ctx context.Context, actor access.Subject, ref string) (codersdk.Organization, error) {
	row, err := organizationRow(ctx, s.c.Store.Queries, ref)
	if err != nil {
		return codersdk.Organization{}, err
	}
	if err := actor.Check(codersdk.RBACActionRead, organizationObject(row.ID)); err != nil {
		return codersdk.Organization{}, err
	}
	return shownOrganization(row), nil
}

func organizationRow(ctx context.Context, q *sqlc.Queries, ref string) (sqlc.Organization, error) {
	if id, err := uuid.Parse(ref); err == nil && len(ref) == 36 {
		return q.OrganizationByID(ctx, id)
	}
	if ref == "default" {
		return q.DefaultOrganization(ctx)
	}
	return q.OrganizationByName(ctx, ref)
}

func organizationObject(id uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceOrganization, ID: id, OrganizationID: id}
}

func shownOrganization(r sqlc.Organization) codersdk.Organization {
	return codersdk.Organization{
		ID: r.ID, Name: r.Name, DisplayName: r.DisplayName, Description: r.Description, Icon: r.Icon,
		IsDefault: r.IsDefault, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ProvisionerWeight: int(r.ProvisionerWeight),
	}
}

// UserByRef returns the user with that ID or name; "me" is the actor.
func (s *Service) UserByRef(ctx context.Context, actor access.Subject, ref string) (codersdk.User, error) {
	row, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return codersdk.User{}, err
	}
	if err := actor.Check(codersdk.RBACActionRead, userObject(row.ID)); err != nil {
		return codersdk.User{}, err
	}
	return s.user(ctx, s.c.Store.Queries, row)
}

// OwnerByRef returns the ID of the user with that ID or name, "me" for the actor, as
// the owner of objects that the actor asks for. The actor must be able to see the
// user, directly or as a member of an organization. Callers check the access to the
// objects themselves.
func (s *Service) OwnerByRef(ctx context.Context, actor access.Subject, ref string) (uuid.UUID, error) {
	row, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil || actor.Can(codersdk.RBACActionRead, userObject(row.ID)) {
		return row.ID, err
	}
	members, err := s.c.Store.UserOrganizationIDs(ctx, []uuid.UUID{row.ID})
	for _, m := range members {
		if actor.Can(codersdk.RBACActionRead, access.Object{Type: codersdk.RBACResourceOrganizationMember, OrganizationID: m.OrganizationID}) {
			return row.ID, nil
		}
	}
	if err == nil {
		err = codersdk.NotFound()
	}
	return uuid.Nil, err
}

func (s *Service) userRow(ctx context.Context, q *sqlc.Queries, actor access.Subject, ref string) (sqlc.User, error) {
	if ref == "me" && actor.UserID != uuid.Nil {
		return q.UserByID(ctx, actor.UserID)
	}
	if id, err := uuid.Parse(ref); err == nil && len(ref) == 36 {
		return q.UserByID(ctx, id)
	}
	return q.UserByUsername(ctx, ref)
}

func userObject(id uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceUser, ID: id, OwnerID: id}
}

// user returns the API view of a row, with data from other tables.
func (s *Service) user(ctx context.Context, q *sqlc.Queries, row sqlc.User) (codersdk.User, error) {
	us, err := users(ctx, q, []sqlc.User{row})
	if err != nil {
		return codersdk.User{}, err
	}
	return us[0], nil
}

// users returns the API views of rows, with data from other tables in one query.
func users(ctx context.Context, q *sqlc.Queries, rows []sqlc.User) ([]codersdk.User, error) {
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	members, err := q.UserOrganizationIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	of := map[uuid.UUID][]uuid.UUID{}
	for _, m := range members {
		of[m.UserID] = append(of[m.UserID], m.OrganizationID)
	}
	out := make([]codersdk.User, len(rows))
	for i, r := range rows {
		out[i] = codersdk.User{
			ID: r.ID, Email: r.Email, Username: r.Username, Name: r.Name, AvatarURL: r.AvatarURL,
			LoginType: codersdk.LoginType(r.LoginType), Status: codersdk.UserStatus(r.Status), ThemePreference: r.Theme,
			Roles: access.SlimSite(r.Roles), OrganizationIDs: append([]uuid.UUID{}, of[r.ID]...),
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, LastSeenAt: r.LastSeenAt, IsServiceAccount: r.IsServiceAccount,
		}
	}
	return out, nil
}
