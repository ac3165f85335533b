package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/accountevent"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/identity/gitkey"
	"github.com/seed-2a7f8fe7/coder/internal/identity/tokenrule"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// newUser is a user to create; prepare fills the derived fields.
type newUser struct {
	id                                uuid.UUID
	email, username, name, password   string
	loginType                         codersdk.LoginType
	status                            codersdk.UserStatus
	roles                             []string
	hash, publicSSHKey, privateSSHKey string
	serviceAccount                    bool
	settings                          *codersdk.UpdateServiceAccountRequest
}

// CreateUser creates a user as a member of the given organizations, or of the
// default one. The default status is dormant until the first sign-in. (AU-09)
func (s *Service) CreateUser(ctx context.Context, actor access.Subject, req codersdk.CreateUserRequestWithOrgs) (codersdk.User, error) {
	if err := actor.Check(codersdk.RBACActionCreate, access.Object{Type: codersdk.RBACResourceUser}); err != nil {
		return codersdk.User{}, err
	}
	u := newUser{
		email: req.Email, username: req.Username, name: req.Name, password: req.Password,
		loginType: req.LoginType, status: req.UserStatus, roles: []string{}, serviceAccount: req.ServiceAccount, settings: req.ServiceAccountSettings,
	}
	if u.serviceAccount {
		u.loginType, u.status = cmp.Or(u.loginType, codersdk.LoginTypeNone), cmp.Or(u.status, codersdk.UserStatusActive)
	}
	if u.loginType == codersdk.LoginTypeDefault {
		u.loginType = codersdk.LoginTypePassword
	}
	if u.status == "" {
		u.status = codersdk.UserStatusDormant
	}
	if err := s.prepare(ctx, &u); err != nil {
		return codersdk.User{}, err
	}
	var out codersdk.User
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

// joinable checks that the actor can add members to the organizations.
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
			return nil, codersdk.Invalid("organization_ids", "organization %s not found", id)
		}
		if err := actor.Check(codersdk.RBACActionCreate, access.Object{Type: codersdk.RBACResourceOrganizationMember, OrganizationID: id}); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// prepare checks a new user and sets the password hash and the key pair. It is slow
// and must not run inside a transaction.
func (s *Service) prepare(ctx context.Context, u *newUser) error {
	if err := checkUser(u); err != nil {
		return err
	}
	var err error
	if u.loginType == codersdk.LoginTypePassword {
		if u.hash, err = s.hasher.Hash(ctx, u.password); err != nil {
			return err
		}
	}
	u.id = uuid.New()
	u.publicSSHKey, u.privateSSHKey, err = gitkey.New(s.c.SSHKeyAlgorithm)
	return err
}

// checkUser reports all invalid fields at once.
func checkUser(u *newUser) error {
	var fields []codersdk.ValidationError
	email := codersdk.CheckEmail("email", u.email)
	switch {
	case u.serviceAccount && u.email == "":
		email = nil
	case u.serviceAccount:
		email = codersdk.Invalid("email", "service accounts have no email address")
	case u.email == "":
		email = codersdk.Invalid("email", "is required, except for service accounts")
	}
	for _, err := range []error{
		email,
		codersdk.CheckName("username", u.username),
		codersdk.CheckDisplayName("name", u.name),
		checkLogin(u),
	} {
		if e, ok := errors.AsType[*codersdk.Error](err); ok {
			fields = append(fields, e.Fields...)
		}
	}
	if u.status != codersdk.UserStatusActive && u.status != codersdk.UserStatusDormant {
		fields = append(fields, codersdk.ValidationError{Field: "user_status", Detail: "must be active or dormant"})
	}
	switch len(fields) {
	case 0:
		return nil
	case 1:
		return codersdk.Invalid(fields[0].Field, "%s", fields[0].Detail)
	}
	return &codersdk.Error{Code: codersdk.CodeInvalid, Message: "The user could not be created: several fields are not valid", Fields: fields}
}

// checkLogin checks that login type and password match.
func checkLogin(u *newUser) error {
	if u.serviceAccount && u.loginType != codersdk.LoginTypeNone {
		return codersdk.Invalid("login_type", "must be none for service accounts, which use tokens only")
	}
	switch u.loginType {
	case codersdk.LoginTypePassword:
		return credential.CheckPassword("password", u.password)
	case codersdk.LoginTypeNone, codersdk.LoginTypeGitHub, codersdk.LoginTypeOIDC:
		if u.password != "" {
			return codersdk.Invalid("password", "cannot be set for the login type %s", u.loginType)
		}
		return nil
	}
	return codersdk.Invalid("login_type", "%.40q is not valid; use password, none, github or oidc", u.loginType)
}

// insert inserts a prepared user, the memberships and the audit row.
func (s *Service) insert(ctx context.Context, q *sqlc.Queries, actor access.Subject, u newUser, organizations []uuid.UUID) (sqlc.User, error) {
	private, digest := s.c.Vault.SealSSHKey(u.id, u.privateSSHKey)
	row, err := q.InsertUser(ctx, sqlc.InsertUserParams{
		ID: u.id, Email: u.email, Username: u.username, Name: u.name, PasswordHash: u.hash,
		LoginType: string(u.loginType), Status: string(u.status), Roles: u.roles,
		SshPublicKey: u.publicSSHKey, SshPrivateKey: private, SshPrivateKeyKeyID: digest, IsServiceAccount: u.serviceAccount, Now: s.now(),
	})
	if err != nil {
		return row, taken(err)
	}
	if u.serviceAccount {
		if err := tokenrule.Create(ctx, q, actor, u.id, u.settings, s.now()); err != nil {
			return row, err
		}
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
	if err := accountevent.NotifyAdmins(ctx, q, actor, notification.UserCreated, row.ID); err != nil {
		return row, err
	}
	return row, audit.Record(ctx, q, actor, audit.Entry{
		Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeUser, ResourceID: row.ID, Target: row.Username,
		Diff: audit.Diff(nil, created),
	})
}

// duplicate returns the error for a value that another row already has.
func duplicate(message, field string) *codersdk.Error {
	return &codersdk.Error{Code: codersdk.CodeConflict, Message: message, Fields: []codersdk.ValidationError{{Field: field, Detail: "is taken"}}}
}

// taken names the field of a unique violation.
func taken(err error) error {
	for constraint, message := range map[string]*codersdk.Error{
		"users_email":        duplicate("A user with this email already exists", "email"),
		"users_username":     duplicate("A user with this username already exists", "username"),
		"organizations_name": duplicate("An organization with this name already exists", "name"),
		"api_keys_name":      duplicate("A token with this name already exists", "token_name"),
	} {
		if postgres.Constraint(err) == constraint {
			return message.WithCause(err)
		}
	}
	return err
}

// CreateAdmin creates an owner directly in the database, as a member of the default
// organization. It serves the command line on the server's machine and works
// whether or not other users exist.
func CreateAdmin(ctx context.Context, store *postgres.Store, req codersdk.CreateFirstUserRequest, sshKeyAlgorithm string) (codersdk.User, error) {
	s := New(Config{Store: store, SSHKeyAlgorithm: sshKeyAlgorithm})
	u := newUser{
		email: req.Email, username: req.Username, name: req.Name, password: req.Password,
		loginType: codersdk.LoginTypePassword, status: codersdk.UserStatusActive, roles: []string{access.RoleOwner},
	}
	if err := s.prepare(ctx, &u); err != nil {
		return codersdk.User{}, err
	}
	var out codersdk.User
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

// ResetPassword sets a password directly in the database, for administrators who can
// no longer sign in. The user's sessions end; a suspended user stays suspended.
func ResetPassword(ctx context.Context, store *postgres.Store, username, password string) error {
	s := New(Config{Store: store})
	if err := credential.CheckPassword("password", password); err != nil {
		return err
	}
	u, err := store.UserByUsername(ctx, username)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		if u, err = store.UserByEmail(ctx, username); codersdk.Is(err, codersdk.CodeNotFound) {
			return codersdk.Errorf(codersdk.CodeNotFound, "User %.64q not found", username)
		}
	}
	if err != nil {
		return err
	}
	return s.setPassword(ctx, access.System(), u, password, "")
}
