// Package identity knows who people are: users with passwords, sessions, API
// tokens and roles, and the organizations they belong to. Authenticate turns a
// token into an access.Subject; everything else takes that subject, asks
// access, and changes rows with an audit row beside each, in one transaction.
//
// A session and an API token look alike: ten characters that name the row, a
// hyphen, and a secret of which only the SHA-256 is stored. Passwords are kept
// as argon2id. Whoever tries to log in learns nothing from a failure: the
// answer and the work are the same for a wrong password and an unknown name.
package identity

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/vault"
)

// Config is what identity needs. Zero durations mean the defaults named.
type Config struct {
	Store *postgres.Store
	Log   *slog.Logger
	Hub   *notify.Hub      // hears whose rights changed; nil: what is held is asked about every minute
	Now   func() time.Time // nil: time.Now

	// SessionDuration is how long a session lives without use; 24h.
	SessionDuration time.Duration
	// DisableSessionRefresh ends a session after SessionDuration even in use.
	DisableSessionRefresh bool
	// DefaultTokenLifetime is that of an API token that asks for none; 168h.
	DefaultTokenLifetime time.Duration
	// MaxTokenLifetime bounds API tokens; 876600h (a hundred years).
	MaxTokenLifetime time.Duration
	// MaxAdminTokenLifetime bounds API tokens of owners; 168h.
	MaxAdminTokenLifetime time.Duration
	// DisablePasswordAuth refuses passwords of everybody but owners.
	DisablePasswordAuth bool
	// DisableOwnerWorkspaceAccess keeps owners out of others' workspaces.
	DisableOwnerWorkspaceAccess bool
	// DisableWorkspaceSharing has access lists of workspaces count for nothing.
	DisableWorkspaceSharing bool
	// Quiet is when workspaces of users are stopped that have to stop once.
	Quiet calendar.Quiet
	// SendPasscode sends a passcode to a user, in a while; nil: passwords that
	// were forgotten are reset by administrators only.
	SendPasscode func(ctx context.Context, userID uuid.UUID, passcode string) error
	// Verify asks the provider that a session of this user was begun with
	// whether the person is still welcome there: an error with
	// CodeUnauthenticated ends the session; nil: nobody is asked. It is asked
	// when what the provider gave runs out, and tells when the next time is.
	Verify func(ctx context.Context, userID uuid.UUID, by coder.LoginType) error
	// Vault encrypts what identity providers gave; nil: it is kept as it is.
	Vault *vault.Vault
	// SSHKeyAlgorithm is that of new git key pairs: ed25519, ecdsa or
	// rsa4096; ed25519.
	SSHKeyAlgorithm string
}

// Service is all use cases of identity. It is safe for concurrent use.
type Service struct {
	c      Config
	log    *slog.Logger
	now    func() time.Time
	hashes chan struct{} // slots: argon2id takes memory, so only a few run at once
}

// New makes the service. It starts nothing.
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
	return &Service{c: c, log: c.Log, now: c.Now, hashes: make(chan struct{}, hashesAtOnce)}
}

// OrganizationByRef gives the organization of that id or name; "default" is
// the one that always exists.
func (s *Service) OrganizationByRef(ctx context.Context, actor access.Subject, ref string) (coder.Organization, error) {
	row, err := organizationRow(ctx, s.c.Store.Queries, ref)
	if err != nil {
		return coder.Organization{}, err
	}
	if err := actor.Check(coder.RBACActionRead, organizationObject(row.ID)); err != nil {
		return coder.Organization{}, err
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
	return access.Object{Type: coder.RBACResourceOrganization, ID: id, OrganizationID: id}
}

func shownOrganization(r sqlc.Organization) coder.Organization {
	return coder.Organization{
		ID: r.ID, Name: r.Name, DisplayName: r.DisplayName, Description: r.Description, Icon: r.Icon,
		IsDefault: r.IsDefault, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ProvisionerWeight: int(r.ProvisionerWeight),
	}
}

// UserByRef gives the user of that id or name; "me" is the actor.
func (s *Service) UserByRef(ctx context.Context, actor access.Subject, ref string) (coder.User, error) {
	row, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return coder.User{}, err
	}
	if err := actor.Check(coder.RBACActionRead, userObject(row.ID)); err != nil {
		return coder.User{}, err
	}
	return s.user(ctx, s.c.Store.Queries, row)
}

// OwnerByRef gives the id of the user of that id or name, "me" for the actor,
// as the one whose things the actor asks for: a user whom the actor may see, or
// may see as a member of an organization. What the actor may do with the things
// is for who keeps them to say.
func (s *Service) OwnerByRef(ctx context.Context, actor access.Subject, ref string) (uuid.UUID, error) {
	row, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil || actor.Can(coder.RBACActionRead, userObject(row.ID)) {
		return row.ID, err
	}
	members, err := s.c.Store.UserOrganizationIDs(ctx, []uuid.UUID{row.ID})
	for _, m := range members {
		if actor.Can(coder.RBACActionRead, access.Object{Type: coder.RBACResourceOrganizationMember, OrganizationID: m.OrganizationID}) {
			return row.ID, nil
		}
	}
	if err == nil {
		err = coder.NotFound()
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
	return access.Object{Type: coder.RBACResourceUser, ID: id, OwnerID: id}
}

// user adds to a row what is in other tables.
func (s *Service) user(ctx context.Context, q *sqlc.Queries, row sqlc.User) (coder.User, error) {
	us, err := users(ctx, q, []sqlc.User{row})
	if err != nil {
		return coder.User{}, err
	}
	return us[0], nil
}

// users adds to rows what is in other tables, with one query.
func users(ctx context.Context, q *sqlc.Queries, rows []sqlc.User) ([]coder.User, error) {
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
	out := make([]coder.User, len(rows))
	for i, r := range rows {
		out[i] = coder.User{
			ID: r.ID, Email: r.Email, Username: r.Username, Name: r.Name, AvatarURL: r.AvatarURL,
			LoginType: coder.LoginType(r.LoginType), Status: coder.UserStatus(r.Status), ThemePreference: r.Theme,
			Roles: access.SlimSite(r.Roles), OrganizationIDs: append([]uuid.UUID{}, of[r.ID]...),
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, LastSeenAt: r.LastSeenAt,
		}
	}
	return out, nil
}
