package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/vault"
)

// External is somebody for whom an identity provider has just vouched: the
// account there, and what the provider says of the person.
type External struct {
	By              coder.LoginType // github or oidc
	Issuer, Subject string          // the account; never changes
	Email           string          // one that the provider has verified
	Username        string          // what they would like to be called; made a good name
	Name, AvatarURL string
	// SignUp lets somebody in who is no user yet; otherwise they are told
	// SignUpRefused.
	SignUp        bool
	SignUpRefused string
	// NoOrganization keeps new users out of the default organization: Sync says
	// where they are members.
	NoOrganization bool
	// Conversion is the state that ConvertLogin gave, which Session, whoever
	// the browser is logged in as, began; "" for none.
	Conversion string
	Session    access.Subject

	AccessToken, RefreshToken string
	TokenExpires              time.Time // zero: nobody said
	Claims                    json.RawMessage
	// Sync arranges the user as the provider has it, in the login's
	// transaction; nil: nothing is arranged.
	Sync func(ctx context.Context, q *sqlc.Queries, u sqlc.User) error
}

// LoginExternal gives whom a provider vouches for a session: the user whose
// account that is, the user who converts to it, the one of that e-mail address
// whom an administrator made for this way of logging in, or a new user. The
// first user of all may always sign up, and is an owner. (AU-12, AU-13)
func (s *Service) LoginExternal(ctx context.Context, o access.Origin, e External) (string, error) {
	if err := coder.CheckEmail("email", e.Email); err != nil {
		return "", coder.Errorf(coder.CodeForbidden, "The identity provider gave %.80q as your e-mail address, which is none", e.Email)
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
		if u.Status == string(coder.UserStatusSuspended) {
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
	if coder.CodeOf(err) == coder.CodeUnauthenticated {
		return "", s.refusedLogin(ctx, actor, err)
	}
	if err == nil {
		s.changedRights(actor.UserID)
	}
	return token, err
}

// freshUser prepares, before the transaction, the user that may have to be made.
func (s *Service) freshUser(ctx context.Context, e External) (*newUser, error) {
	if _, err := s.c.Store.LinkBySubject(ctx, string(e.By), e.Issuer, e.Subject); !coder.Is(err, coder.CodeNotFound) {
		return nil, err
	}
	u := &newUser{
		email: e.Email, username: goodName(e.Username), name: clipName(e.Name), loginType: e.By, status: coder.UserStatusActive, roles: []string{},
	}
	return u, s.prepare(ctx, u)
}

// externalUser finds or makes the user.
func (s *Service) externalUser(ctx context.Context, q *sqlc.Queries, o access.Origin, e External, fresh *newUser) (sqlc.User, error) {
	link, err := q.LinkBySubject(ctx, string(e.By), e.Issuer, e.Subject)
	known := err == nil
	if err != nil && !coder.Is(err, coder.CodeNotFound) {
		return sqlc.User{}, err
	}
	if e.Conversion != "" {
		id, err := s.EndConversion(ctx, q, o, e.Conversion, e.By)
		switch {
		case err != nil:
			return sqlc.User{}, err
		case id != e.Session.UserID:
			return sqlc.User{}, coder.Errorf(coder.CodeForbidden, "The change of the way to log in was begun by another user; log in as that user, and begin it again")
		case known && link.UserID != id:
			return sqlc.User{}, coder.Errorf(coder.CodeConflict, "That account belongs to another user already")
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
	if coder.Is(err, coder.CodeNotFound) && fresh != nil {
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
		return u, coder.Errorf(coder.CodeForbidden, "The user with your e-mail address has another account at the identity provider; ask an administrator")
	}
	if err != nil && !coder.Is(err, coder.CodeNotFound) {
		return u, err
	}
	return q.UserByIDForUpdate(ctx, u.ID)
}

func otherWay(u sqlc.User) error {
	return coder.Errorf(coder.CodeForbidden, "The user with your e-mail address logs in by %s; log in that way", u.LoginType)
}

// signUp makes the user who is none yet.
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
		return sqlc.User{}, coder.Errorf(coder.CodeForbidden, "%s", either(e.SignUpRefused, "You are not a user of this deployment, and signing up is switched off; ask an administrator to invite you"))
	}
	if u.username, err = freeName(ctx, q, u.username); err != nil {
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

// link notes whose account it is, and its tokens.
func (s *Service) link(ctx context.Context, q *sqlc.Queries, u sqlc.User, e External) error {
	if err := q.LinkFree(ctx, string(e.By), e.Issuer, e.Subject); err != nil {
		return err
	}
	t := s.c.Vault.SealTokens(sqlc.UserLink{UserID: u.ID, LoginType: string(e.By)}, vault.Tokens{Access: e.AccessToken, Refresh: e.RefreshToken})
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

// fromProvider takes over what the provider says of a user. An address that
// another user has is left to them.
func (s *Service) fromProvider(ctx context.Context, q *sqlc.Queries, actor access.Subject, u sqlc.User, e External) (sqlc.User, error) {
	p := sqlc.UserFromProviderParams{ID: u.ID, Email: e.Email, Name: either(clipName(e.Name), u.Name), AvatarURL: either(e.AvatarURL, u.AvatarURL), Now: s.now()}
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
		Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
		Diff: audit.Diff(map[string]any{"email": u.Email, "name": u.Name, "avatar_url": u.AvatarURL},
			map[string]any{"email": row.Email, "name": row.Name, "avatar_url": row.AvatarURL}),
	})
}

// SetSiteRoles gives a user the site roles that a provider says, in its
// transaction q. Unknown ones count for nothing, and the last owner stays one.
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
			s.log.WarnContext(ctx, "the last owner keeps the role, against the identity provider", "user", u.Username)
			roles = append(roles, access.RoleOwner)
			slices.Sort(roles)
		}
	}
	row, err := q.UpdateUserRoles(ctx, roles, s.now(), u.ID)
	if err != nil {
		return err
	}
	return audit.Record(ctx, q, access.System(), audit.Entry{
		Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
		Diff:   audit.Diff(map[string]any{"roles": u.Roles}, map[string]any{"roles": row.Roles}),
		Fields: map[string]any{"automatic_actor": "identity provider"},
	})
}

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// goodName makes a username of what somebody is called elsewhere.
func goodName(s string) string {
	s, _, _ = strings.Cut(s, "@")
	s = strings.Trim(notInNames.ReplaceAllString(s, "-"), "-")
	if len(s) > 32 {
		s = strings.Trim(s[:32], "-")
	}
	if coder.CheckName("username", s) != nil {
		return "user"
	}
	return s
}

// freeName gives the name, or one like it that nobody has.
func freeName(ctx context.Context, q *sqlc.Queries, name string) (string, error) {
	try := name
	for i := range 20 {
		_, err := q.UserByUsername(ctx, try)
		if coder.Is(err, coder.CodeNotFound) {
			return try, nil
		}
		if err != nil {
			return "", err
		}
		suffix := fmt.Sprintf("-%d", i+2)
		if i > 8 {
			suffix = "-" + strings.ToLower(notInNames.ReplaceAllString(randomText(6), "x"))
		}
		try = strings.Trim(name[:min(len(name), 32-len(suffix))], "-") + suffix
	}
	return "", coder.Errorf(coder.CodeConflict, "No free username like %q was found", name)
}

// clipName makes a full name fit.
func clipName(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "")
	for len(s) > 64 {
		r := []rune(s)
		s = strings.TrimSpace(string(r[:len(r)-1]))
	}
	return s
}
