package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// newUser is a user to make; prepare fills what is derived.
type newUser struct {
	id                                uuid.UUID
	email, username, name, password   string
	loginType                         coder.LoginType
	status                            coder.UserStatus
	roles                             []string
	hash, publicSSHKey, privateSSHKey string
}

// CreateUser makes a user as a member of the organizations, of the default one
// when none is named. Without a status it is dormant until it logs in. (AU-09)
func (s *Service) CreateUser(ctx context.Context, actor access.Subject, req coder.CreateUserRequestWithOrgs) (coder.User, error) {
	if err := actor.Check(coder.RBACActionCreate, access.Object{Type: coder.RBACResourceUser}); err != nil {
		return coder.User{}, err
	}
	u := newUser{
		email: req.Email, username: req.Username, name: req.Name, password: req.Password,
		loginType: req.LoginType, status: req.UserStatus, roles: []string{},
	}
	if u.loginType == coder.LoginTypeDefault {
		u.loginType = coder.LoginTypePassword
	}
	if u.status == "" {
		u.status = coder.UserStatusDormant
	}
	if err := s.prepare(ctx, &u); err != nil {
		return coder.User{}, err
	}
	var out coder.User
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		organizations, err := s.joinable(ctx, q, actor, req.OrganizationIDs)
		if err != nil {
			return err
		}
		row, err := s.insert(ctx, q, actor, u, organizations)
		if err != nil {
			return err
		}
		out, err = s.user(ctx, q, row)
		return err
	})
	return out, err
}

// joinable checks that the actor may put somebody into the organizations.
func (s *Service) joinable(ctx context.Context, q *sqlc.Queries, actor access.Subject, ids []uuid.UUID) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		o, err := q.DefaultOrganization(ctx)
		if err != nil {
			return nil, fmt.Errorf("find default organization: %w", err)
		}
		ids = []uuid.UUID{o.ID}
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	ids = slices.Compact(ids)
	for _, id := range ids {
		if _, err := q.OrganizationByID(ctx, id); err != nil {
			return nil, coder.Invalid("organization_ids", "there is no organization %s", id)
		}
		if err := actor.Check(coder.RBACActionCreate, access.Object{Type: coder.RBACResourceOrganizationMember, OrganizationID: id}); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// prepare checks a new user and fills hash and key pair. It is slow: not
// inside of a transaction.
func (s *Service) prepare(ctx context.Context, u *newUser) error {
	if err := checkUser(u); err != nil {
		return err
	}
	var err error
	if u.loginType == coder.LoginTypePassword {
		if u.hash, err = s.hash(ctx, u.password); err != nil {
			return err
		}
	}
	u.id = uuid.New()
	u.publicSSHKey, u.privateSSHKey, err = newSSHKey(s.c.SSHKeyAlgorithm)
	return err
}

// checkUser names every field that is wrong at once.
func checkUser(u *newUser) error {
	var fields []coder.ValidationError
	for _, err := range []error{
		coder.CheckEmail("email", u.email),
		coder.CheckName("username", u.username),
		coder.CheckDisplayName("name", u.name),
		checkLogin(u),
	} {
		if e, ok := errors.AsType[*coder.Error](err); ok {
			fields = append(fields, e.Fields...)
		}
	}
	if u.status != coder.UserStatusActive && u.status != coder.UserStatusDormant {
		fields = append(fields, coder.ValidationError{Field: "user_status", Detail: "must be active or dormant"})
	}
	switch len(fields) {
	case 0:
		return nil
	case 1:
		return coder.Invalid(fields[0].Field, "%s", fields[0].Detail)
	}
	return &coder.Error{Code: coder.CodeInvalid, Message: "The user cannot be made: several fields are wrong", Fields: fields}
}

// checkLogin checks that login type and password fit together.
func checkLogin(u *newUser) error {
	switch u.loginType {
	case coder.LoginTypePassword:
		return CheckPassword("password", u.password)
	case coder.LoginTypeNone, coder.LoginTypeGitHub, coder.LoginTypeOIDC:
		if u.password != "" {
			return coder.Invalid("password", "cannot be set for the login type %s", u.loginType)
		}
		return nil
	}
	return coder.Invalid("login_type", "%.40q is none of: password, none, github, oidc", u.loginType)
}

// insert writes a prepared user, its memberships and the audit row.
func (s *Service) insert(ctx context.Context, q *sqlc.Queries, actor access.Subject, u newUser, organizations []uuid.UUID) (sqlc.User, error) {
	row, err := q.InsertUser(ctx, sqlc.InsertUserParams{
		ID: u.id, Email: u.email, Username: u.username, Name: u.name, PasswordHash: u.hash,
		LoginType: string(u.loginType), Status: string(u.status), Roles: u.roles,
		SshPublicKey: u.publicSSHKey, SshPrivateKey: u.privateSSHKey, Now: s.now(),
	})
	if err != nil {
		return row, taken(err)
	}
	for _, o := range organizations {
		_, err := q.InsertOrganizationMember(ctx, sqlc.InsertOrganizationMemberParams{
			OrganizationID: o, UserID: u.id, Roles: []string{}, Now: s.now(),
		})
		if err != nil {
			return row, fmt.Errorf("make member: %w", err)
		}
	}
	created, err := s.user(ctx, q, row)
	if err != nil {
		return row, err
	}
	return row, audit.Record(ctx, q, actor, audit.Entry{
		Action: coder.AuditActionCreate, ResourceType: coder.ResourceTypeUser, ResourceID: row.ID, Target: row.Username,
		Diff: audit.Diff(nil, created),
	})
}

// taken says which name a conflict is about.
func taken(err error) error {
	for constraint, message := range map[string]*coder.Error{
		"users_email":        {Code: coder.CodeConflict, Message: "A user with this e-mail exists already", Fields: []coder.ValidationError{{Field: "email", Detail: "is taken"}}},
		"users_username":     {Code: coder.CodeConflict, Message: "A user with this username exists already", Fields: []coder.ValidationError{{Field: "username", Detail: "is taken"}}},
		"organizations_name": {Code: coder.CodeConflict, Message: "An organization with this name exists already", Fields: []coder.ValidationError{{Field: "name", Detail: "is taken"}}},
		"api_keys_name":      {Code: coder.CodeConflict, Message: "A token with this name exists already", Fields: []coder.ValidationError{{Field: "token_name", Detail: "is taken"}}},
	} {
		if postgres.Constraint(err) == constraint {
			return message.WithCause(err)
		}
	}
	return err
}

// CreateAdmin makes an owner straight in the database, as a member of the
// default organization: for the command line on the server's own machine. It
// works whether or not other users exist.
func CreateAdmin(ctx context.Context, store *postgres.Store, req coder.CreateFirstUserRequest, sshKeyAlgorithm string) (coder.User, error) {
	s := New(Config{Store: store, SSHKeyAlgorithm: sshKeyAlgorithm})
	u := newUser{
		email: req.Email, username: req.Username, name: req.Name, password: req.Password,
		loginType: coder.LoginTypePassword, status: coder.UserStatusActive, roles: []string{access.RoleOwner},
	}
	if err := s.prepare(ctx, &u); err != nil {
		return coder.User{}, err
	}
	var out coder.User
	err := store.Tx(ctx, func(q *sqlc.Queries) error {
		org, err := q.EnsureDefaultOrganization(ctx, uuid.New(), s.now())
		if err != nil {
			return err
		}
		row, err := s.insert(ctx, q, access.System(), u, []uuid.UUID{org})
		if err != nil {
			return err
		}
		out, err = s.user(ctx, q, row)
		return err
	})
	return out, err
}

// ResetPassword sets a password straight in the database, for whoever lost the
// last way in. The user's sessions end; a suspended user stays suspended.
func ResetPassword(ctx context.Context, store *postgres.Store, username, password string) error {
	s := New(Config{Store: store})
	if err := CheckPassword("password", password); err != nil {
		return err
	}
	u, err := store.UserByUsername(ctx, username)
	if coder.Is(err, coder.CodeNotFound) {
		if u, err = store.UserByEmail(ctx, username); coder.Is(err, coder.CodeNotFound) {
			return coder.Errorf(coder.CodeNotFound, "There is no user %.64q", username)
		}
	}
	if err != nil {
		return err
	}
	return s.setPassword(ctx, access.System(), u, password, "")
}
