package scim

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/profile"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// CreateUser provisions a user. An account with the same email address that the provider does not manage yet becomes
// managed, and a suspended or deleted user is provisioned again.
func (s *Service) CreateUser(ctx context.Context, actor access.Subject, body map[string]any) (Resource, error) {
	r, err := read(&userSchema, body)
	if err != nil {
		return nil, err
	}
	c, err := change(r, "")
	if err != nil {
		return nil, err
	}
	id, err := s.existing(ctx, c)
	if err != nil {
		return nil, err
	}
	if id == uuid.Nil {
		if id, err = s.createAccount(ctx, actor, c); err != nil {
			return nil, err
		}
	}
	return s.apply(ctx, actor, id, c)
}

// existing returns the account that a new resource is for; uuid.Nil if it needs a new one.
func (s *Service) existing(ctx context.Context, c userChange) (uuid.UUID, error) {
	managed, err := s.c.Store.ScimUserByName(ctx, c.userName)
	if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
		return uuid.Nil, err
	}
	if err == nil {
		u, err := s.c.Store.UserByID(ctx, managed.UserID)
		if err != nil {
			return uuid.Nil, err
		}
		if managed.RemovedAt == nil && u.Status != string(codersdk.UserStatusSuspended) {
			return uuid.Nil, conflict("A user with the userName %.80q already exists", c.userName)
		}
		return u.ID, nil
	}
	u, err := s.c.Store.UserByEmail(ctx, c.email)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, err
	}
	row, err := s.c.Store.ScimUserForUpdate(ctx, u.ID)
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound) && !u.IsSystem:
		return u.ID, nil
	case err != nil && !codersdk.Is(err, codersdk.CodeNotFound):
		return uuid.Nil, err
	case err == nil && row.RemovedAt != nil:
		return u.ID, nil
	}
	return uuid.Nil, conflict("A user with the email address %.80q already exists", c.email)
}

// createAccount creates the account of a new user, who signs in with OpenID Connect.
func (s *Service) createAccount(ctx context.Context, actor access.Subject, c userChange) (uuid.UUID, error) {
	var last error
	for range 3 { // another request can take the username in between
		name, err := profile.FreeUsername(ctx, s.c.Store.Queries, profile.Username(c.userName))
		if err != nil {
			return uuid.Nil, err
		}
		u, err := s.c.Identity.CreateUser(ctx, actor, codersdk.CreateUserRequestWithOrgs{
			Email: c.email, Username: name, Name: c.name, LoginType: codersdk.LoginTypeOIDC, UserStatus: codersdk.UserStatusDormant,
		})
		if err == nil || !codersdk.Is(err, codersdk.CodeConflict) {
			return u.ID, err
		}
		last = err
	}
	return uuid.Nil, last
}

// updateUser applies the resource that fn makes of the current one.
func (s *Service) updateUser(ctx context.Context, actor access.Subject, id string, fn func(Resource) (Resource, error)) (Resource, error) {
	old, err := s.User(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := fn(old)
	if err != nil {
		return nil, err
	}
	c, err := change(r, emailOf(old))
	if err != nil {
		return nil, err
	}
	return s.apply(ctx, actor, uuid.MustParse(id), c)
}

// apply changes an account to what a resource asks for. A suspension comes first, so that no other part of a request
// can prevent it.
func (s *Service) apply(ctx context.Context, actor access.Subject, id uuid.UUID, c userChange) (Resource, error) {
	u, err := s.c.Store.UserByID(ctx, id)
	if err != nil {
		return nil, err
	}
	suspended := u.Status == string(codersdk.UserStatusSuspended)
	if !c.active && !suspended {
		if _, err := s.c.Identity.SetStatus(ctx, actor, id.String(), codersdk.UserStatusSuspended); err != nil {
			return nil, err
		}
	}
	if err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error { return s.store(ctx, q, actor, id, c) }); err != nil {
		return nil, taken(err, c)
	}
	if c.active && suspended {
		if _, err := s.c.Identity.SetStatus(ctx, actor, id.String(), codersdk.UserStatusDormant); err != nil {
			return nil, err
		}
	}
	s.changed(codersdk.RBACResourceUser)
	return s.User(ctx, id.String())
}

// stored are the audited fields of a user that SCIM changes.
type stored struct {
	Email      string `json:"email"`
	Name       string `json:"name"`
	UserName   string `json:"scim_user_name"`
	ExternalID string `json:"scim_external_id"`
}

// store writes the provider's data of a user, and the email address and the name of the account.
func (s *Service) store(ctx context.Context, q *sqlc.Queries, actor access.Subject, id uuid.UUID, c userChange) error {
	u, err := q.UserByIDForUpdate(ctx, id)
	if err != nil {
		return err
	}
	before := stored{Email: u.Email, Name: u.Name}
	old, err := q.ScimUserForUpdate(ctx, id)
	switch {
	case err == nil && old.RemovedAt == nil:
		if !strings.EqualFold(old.UserName, c.userName) {
			return invalid(mutability, "The attribute userName cannot be changed")
		}
		before.UserName, before.ExternalID = old.UserName, old.ExternalID
	case err != nil && !codersdk.Is(err, codersdk.CodeNotFound):
		return err
	}
	if err := q.ScimUserFree(ctx, c.userName); err != nil {
		return err
	}
	err = q.ScimUserPut(ctx, sqlc.ScimUserPutParams{UserID: id, UserName: c.userName, ExternalID: c.externalID, Profile: c.profile, Now: s.now()})
	if err != nil {
		return err
	}
	after := stored{Email: c.email, Name: c.name, UserName: c.userName, ExternalID: c.externalID}
	if after.Name == "" {
		after.Name = u.Name
	}
	if before == after {
		return nil
	}
	_, err = q.UserFromProvider(ctx, sqlc.UserFromProviderParams{ID: id, Email: after.Email, Name: after.Name, AvatarURL: u.AvatarURL, Now: s.now()})
	if err != nil {
		return err
	}
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeUser, ResourceID: id, Target: u.Username, Diff: audit.Diff(before, after),
	})
}

// taken names the attribute of a unique violation.
func taken(err error, c userChange) error {
	switch postgres.Constraint(err) {
	case "users_email":
		return conflict("A user with the email address %.80q already exists", c.email)
	case "scim_users_user_name":
		return conflict("A user with the userName %.80q already exists", c.userName)
	}
	return err
}

// DeleteUser suspends a user, which ends all sessions, and hides the user from SCIM. The account and its workspaces
// stay.
func (s *Service) DeleteUser(ctx context.Context, actor access.Subject, id string) error {
	r, err := s.User(ctx, id)
	if err != nil {
		return err
	}
	if r["active"] == true {
		if _, err := s.c.Identity.SetStatus(ctx, actor, id, codersdk.UserStatusSuspended); err != nil {
			return err
		}
	}
	if err := s.c.Store.ScimUserRemove(ctx, uuid.MustParse(id), r.str("userName"), s.now()); err != nil {
		return err
	}
	s.changed(codersdk.RBACResourceUser)
	return nil
}
