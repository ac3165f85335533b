package identity

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/identity/profile"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// External is an account that an identity provider has authenticated, and the
// provider's data about the user.
type External struct {
	By              codersdk.LoginType // github or oidc
	Issuer, Subject string             // identify the account and never change
	Email           string             // verified by the provider
	Username        string             // the preferred username; converted to a valid one
	Name, AvatarURL string
	// SignUp allows the creation of a user. Without it, unknown users get the
	// message SignUpRefused.
	SignUp        bool
	SignUpRefused string
	// NoOrganization keeps new users out of the default organization; Sync sets
	// their memberships.
	NoOrganization bool
	// Conversion is the state of a ConvertLogin that the user of Session, the
	// browser's session, started; "" for none.
	Conversion string
	Session    access.Subject

	AccessToken, RefreshToken string
	TokenExpires              time.Time // zero if unknown
	Claims                    json.RawMessage
	// Sync applies the provider's groups, roles and organizations in the
	// transaction of the sign-in; nil applies nothing.
	Sync func(ctx context.Context, q *sqlc.Queries, u sqlc.User) error
}

// LoginExternal creates a session for an account at an identity provider and returns its token.
// The user is the one with that account, the one who converts to it, the one with that email
// address whom an administrator created for this login type, or a new user. The first user of a
// deployment can always sign up and becomes an owner. (AU-12, AU-13)
func (s *Service) LoginExternal(ctx context.Context, o access.Origin, e External) (string, error) {
	if err := codersdk.CheckEmail("email", e.Email); err != nil {
		return "", codersdk.Errorf(codersdk.CodeForbidden, "The identity provider returned %.80q, which is not a valid email address", e.Email)
	}
	fresh, err := s.freshUser(ctx, e)
	if err != nil {
		return "", err
	}
	var token string
	var actor access.Subject
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		u, err := s.externalUser(ctx, q, o, e, fresh)
		if err != nil {
			return err
		}
		actor = access.Subject{UserID: u.ID, Username: u.Username, Origin: o}
		if u.Status == string(codersdk.UserStatusSuspended) {
			return suspended()
		}
		if err := s.link(ctx, q, u, e); err != nil {
			return err
		}
		if u, err = s.fromProvider(ctx, q, actor, u, e); err != nil {
			return err
		}
		if e.Sync != nil {
			if err := e.Sync(ctx, q, u); err != nil {
				return err
			}
		}
		if token, err = s.insertSession(ctx, q, actor, e.By, s.c.SessionDuration); err != nil {
			return err
		}
		var check *time.Time
		if e.RefreshToken != "" && !e.TokenExpires.IsZero() {
			check = &e.TokenExpires
		}
		return q.SessionsCheckAt(ctx, check, u.ID, string(e.By))
	})
	if codersdk.CodeOf(err) == codersdk.CodeUnauthenticated {
		return "", s.refusedLogin(ctx, actor, err)
	}
	if err == nil {
		s.changedRights(actor.UserID)
	}
	return token, err
}

// freshUser prepares the user that may have to be created, before the transaction.
func (s *Service) freshUser(ctx context.Context, e External) (*newUser, error) {
	if _, err := s.c.Store.LinkBySubject(ctx, string(e.By), e.Issuer, e.Subject); !codersdk.Is(err, codersdk.CodeNotFound) {
		return nil, err
	}
	u := &newUser{
		email: e.Email, username: profile.Username(e.Username), name: profile.FullName(e.Name), loginType: e.By, status: codersdk.UserStatusActive, roles: []string{},
	}
	return u, s.prepare(ctx, u)
}

// externalUser finds or creates the user.
func (s *Service) externalUser(ctx context.Context, q *sqlc.Queries, o access.Origin, e External, fresh *newUser) (sqlc.User, error) {
	link, err := q.LinkBySubject(ctx, string(e.By), e.Issuer, e.Subject)
	known := err == nil
	if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
		return sqlc.User{}, err
	}
	if e.Conversion != "" {
		id, err := s.EndConversion(ctx, q, o, e.Conversion, e.By)
		switch {
		case err != nil:
			return sqlc.User{}, err
		case id != e.Session.UserID:
			return sqlc.User{}, codersdk.Errorf(codersdk.CodeForbidden, "Another user started this change of the login type. Sign in as that user and start it again.")
		case known && link.UserID != id:
			return sqlc.User{}, codersdk.Errorf(codersdk.CodeConflict, "That account already belongs to another user")
		}
		return q.UserByIDForUpdate(ctx, id)
	}
	if known {
		u, err := q.UserByIDForUpdate(ctx, link.UserID)
		if err == nil && u.LoginType != string(e.By) {
			err = otherWay(u)
		}
		return u, err
	}
	u, err := q.UserByEmail(ctx, e.Email)
	if codersdk.Is(err, codersdk.CodeNotFound) && fresh != nil {
		return s.signUp(ctx, q, o, e, *fresh)
	}
	if err != nil {
		return u, err
	}
	if u.LoginType != string(e.By) {
		return u, otherWay(u)
	}
	old, err := q.LinkOfUser(ctx, u.ID, string(e.By))
	if err == nil && old.Issuer == e.Issuer {
		return u, codersdk.Errorf(
			codersdk.CodeForbidden,
			"The user with your email address is linked to another account at the identity provider. Ask an administrator.",
		)
	}
	if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
		return u, err
	}
	return q.UserByIDForUpdate(ctx, u.ID)
}

func otherWay(u sqlc.User) error {
	return codersdk.Errorf(codersdk.CodeForbidden, "The user with your email address has the login type %s. Sign in with it.", u.LoginType)
}

// signUp creates a new user.
func (s *Service) signUp(ctx context.Context, q *sqlc.Queries, o access.Origin, e External, u newUser) (sqlc.User, error) {
	if err := q.LockFirstUser(ctx); err != nil {
		return sqlc.User{}, err
	}
	people, err := q.CountUsers(ctx)
	if err != nil {
		return sqlc.User{}, err
	}
	if people == 0 {
		u.roles = []string{access.RoleOwner}
	} else if !e.SignUp {
		return sqlc.User{}, codersdk.Errorf(codersdk.CodeForbidden, "%s",
			either(e.SignUpRefused, "You have no account on this deployment, and sign-up is disabled. Ask an administrator to invite you."))
	}
	if u.username, err = profile.FreeUsername(ctx, q, u.username); err != nil {
		return sqlc.User{}, err
	}
	var in []uuid.UUID
	if !e.NoOrganization || people == 0 {
		org, err := q.EnsureDefaultOrganization(ctx, uuid.New(), s.now())
		if err != nil {
			return sqlc.User{}, err
		}
		in = []uuid.UUID{org}
	}
	return s.insert(ctx, q, access.Subject{UserID: u.id, Username: u.username, Origin: o}, u, in)
}

// link stores the user's account at the provider, and its tokens.
func (s *Service) link(ctx context.Context, q *sqlc.Queries, u sqlc.User, e External) error {
	if err := q.LinkFree(ctx, string(e.By), e.Issuer, e.Subject); err != nil {
		return err
	}
	t := s.c.Vault.SealTokens(sqlc.UserLink{UserID: u.ID, LoginType: string(e.By)}, dbcrypt.Tokens{Access: e.AccessToken, Refresh: e.RefreshToken})
	p := sqlc.LinkPutParams{
		UserID: u.ID, LoginType: string(e.By), Issuer: e.Issuer, Subject: e.Subject,
		AccessToken: t.Access, AccessTokenKeyID: t.AccessKey, RefreshToken: t.Refresh, RefreshTokenKeyID: t.RefreshKey, Claims: e.Claims, Now: s.now(),
	}
	if len(p.Claims) == 0 {
		p.Claims = json.RawMessage(`{}`)
	}
	if !e.TokenExpires.IsZero() {
		p.TokenExpiresAt = &e.TokenExpires
	}
	return q.LinkPut(ctx, p)
}

// fromProvider updates a user with the provider's data. An email address that belongs
// to another user is not changed.
func (s *Service) fromProvider(ctx context.Context, q *sqlc.Queries, actor access.Subject, u sqlc.User, e External) (sqlc.User, error) {
	e.AvatarURL = profile.Avatar(e.AvatarURL)
	p := sqlc.UserFromProviderParams{
		ID: u.ID, Email: e.Email, Name: either(profile.FullName(e.Name), u.Name), AvatarURL: either(e.AvatarURL, u.AvatarURL), Now: s.now(),
	}
	taken, err := q.EmailTaken(ctx, p.Email, u.ID)
	if err != nil {
		return u, err
	}
	if taken {
		p.Email = u.Email
	}
	if p.Email == u.Email && p.Name == u.Name && p.AvatarURL == u.AvatarURL {
		return u, nil
	}
	row, err := q.UserFromProvider(ctx, p)
	if err != nil {
		return u, err
	}
	return row, audit.Record(ctx, q, actor, audit.Entry{
		Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
		Diff: audit.Diff(map[string]any{"email": u.Email, "name": u.Name, "avatar_url": u.AvatarURL},
			map[string]any{"email": row.Email, "name": row.Name, "avatar_url": row.AvatarURL}),
	})
}

// SetSiteRoles sets the site roles that a provider returned, in its transaction q.
// Unknown roles are ignored, and the last owner keeps the role.
func (s *Service) SetSiteRoles(ctx context.Context, q *sqlc.Queries, u sqlc.User, names []string) error {
	roles := []string{}
	for _, r := range access.SiteRoles() {
		if r.Name != access.RoleMember && slices.Contains(names, r.Name) {
			roles = append(roles, r.Name)
		}
	}
	slices.Sort(roles)
	if slices.Equal(roles, u.Roles) {
		return nil
	}
	if slices.Contains(u.Roles, access.RoleOwner) && !slices.Contains(roles, access.RoleOwner) {
		if err := q.LockOwners(ctx); err != nil {
			return err
		}
		owners, err := q.CountActiveOwners(ctx)
		if err != nil {
			return err
		}
		if owners < 2 {
			s.log.WarnContext(ctx, "kept the role of the last owner, although the identity provider does not list it", "user", u.Username)
			roles = append(roles, access.RoleOwner)
			slices.Sort(roles)
		}
	}
	row, err := q.UpdateUserRoles(ctx, roles, s.now(), u.ID)
	if err != nil {
		return err
	}
	return audit.Record(ctx, q, access.System(), audit.Entry{
		Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
		Diff:   audit.Diff(map[string]any{"roles": u.Roles}, map[string]any{"roles": row.Roles}),
		Fields: map[string]any{"automatic_actor": "identity provider"},
	})
}
