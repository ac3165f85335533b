package identity

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// UserSearch narrows a list of users; zero fields do not.
type UserSearch struct {
	Text                          string // part of username, e-mail or name
	Statuses, Roles, LoginTypes   []string
	LastSeenBefore, LastSeenAfter *time.Time
	CreatedBefore, CreatedAfter   *time.Time
	AfterID                       uuid.UUID
	Limit, Offset                 int
}

// Users gives a page of the users that the actor may see, by username, and the
// count of all that match.
func (s *Service) Users(ctx context.Context, actor access.Subject, f UserSearch) (coder.GetUsersResponse, error) {
	see := actor.Filter(coder.RBACResourceUser)
	p := sqlc.UsersParams{
		SeeAll: see.All, SeeID: see.OwnerID, OnlyIds: see.IDs, Search: f.Text,
		Statuses: f.Statuses, Roles: f.Roles, LoginTypes: f.LoginTypes,
		LastSeenBefore: f.LastSeenBefore, LastSeenAfter: f.LastSeenAfter,
		CreatedBefore: f.CreatedBefore, CreatedAfter: f.CreatedAfter,
		RowLimit: int32(f.Limit), RowOffset: int32(f.Offset),
	}
	for _, list := range []*[]string{&p.Statuses, &p.Roles, &p.LoginTypes} {
		if *list == nil {
			*list = []string{}
		}
	}
	if f.AfterID != uuid.Nil {
		p.AfterID = &f.AfterID
	}
	rows, err := s.c.Store.Users(ctx, p)
	if err != nil {
		return coder.GetUsersResponse{}, err
	}
	found := make([]sqlc.User, len(rows))
	count := 0
	for i, r := range rows {
		found[i], count = r.User, int(r.Count)
	}
	if len(rows) == 0 && f.Offset > 0 { // beyond the end: the count comes with rows
		p.RowOffset, p.RowLimit = 0, 1
		if rows, err = s.c.Store.Users(ctx, p); len(rows) > 0 {
			count = int(rows[0].Count)
		}
	}
	if err != nil {
		return coder.GetUsersResponse{}, err
	}
	out, err := users(ctx, s.c.Store.Queries, found)
	return coder.GetUsersResponse{Users: out, Count: count}, err
}

// change runs fn on the locked row of a user on whom the actor may do the
// action, and records what changed.
func (s *Service) change(ctx context.Context, actor access.Subject, ref string, action coder.RBACAction,
	fn func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error),
) (coder.User, error) {
	var out coder.User
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := s.userRow(ctx, q, actor, ref)
		if err != nil {
			return err
		}
		if err := actor.Check(action, userObject(old.ID)); err != nil {
			return err
		}
		if old, err = q.UserByIDForUpdate(ctx, old.ID); err != nil {
			return err
		}
		if err := protect(actor, old); err != nil {
			return err
		}
		before, err := s.user(ctx, q, old)
		if err != nil {
			return err
		}
		row, err := fn(q, old)
		if err != nil {
			return taken(err)
		}
		if out, err = s.user(ctx, q, row); err != nil {
			return err
		}
		kind := coder.AuditActionWrite
		if row.DeletedAt != nil {
			kind = coder.AuditActionDelete
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: kind, ResourceType: coder.ResourceTypeUser, ResourceID: row.ID, Target: row.Username,
			Diff: audit.Diff(before, out),
		})
	})
	if err == nil {
		s.changedRights(out.ID)
	}
	return out, err
}

// protectOwner keeps owners out of reach of administrators who are none: or
// one could make oneself owner by way of another's account.
func protectOwner(actor access.Subject, target sqlc.User) error {
	if slices.Contains(target.Roles, access.RoleOwner) && actor.UserID != target.ID && !actor.IsOwner() {
		return coder.Errorf(coder.CodeForbidden, "Only an owner may change another owner")
	}
	return nil
}

// keepOwner makes fn's change unless it would leave nobody who is owner.
func keepOwner(ctx context.Context, q *sqlc.Queries, old sqlc.User, fn func() (sqlc.User, error)) (sqlc.User, error) {
	if !slices.Contains(old.Roles, access.RoleOwner) {
		return fn()
	}
	if err := q.LockOwners(ctx); err != nil {
		return old, err
	}
	row, err := fn()
	if err != nil {
		return row, err
	}
	n, err := q.CountActiveOwners(ctx)
	if err == nil && n == 0 {
		err = coder.Errorf(coder.CodeConflict, "This is the last owner; make somebody else owner first")
	}
	return row, err
}

// UpdateProfile changes names.
func (s *Service) UpdateProfile(ctx context.Context, actor access.Subject, ref string, req coder.UpdateUserProfileRequest) (coder.User, error) {
	if err := coder.CheckDisplayName("name", req.Name); err != nil {
		return coder.User{}, err
	}
	return s.change(ctx, actor, ref, coder.RBACActionUpdatePersonal, func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error) {
		if err := req.Check("user", old.UpdatedAt); err != nil {
			return old, err
		}
		if req.Username == "" {
			req.Username = old.Username
		}
		if err := coder.CheckName("username", req.Username); req.Username != old.Username && err != nil {
			return old, err
		}
		return q.UpdateUserProfile(ctx, sqlc.UpdateUserProfileParams{ID: old.ID, Username: req.Username, Name: req.Name, Now: s.now()})
	})
}

// SetStatus suspends or activates a user. Nobody suspends themself, nor the
// last owner. The sessions of a suspended user end at once.
func (s *Service) SetStatus(ctx context.Context, actor access.Subject, ref string, status coder.UserStatus) (coder.User, error) {
	return s.change(ctx, actor, ref, coder.RBACActionUpdate, func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error) {
		if status != coder.UserStatusSuspended {
			return q.UpdateUserStatus(ctx, string(status), s.now(), old.ID)
		}
		if old.ID == actor.UserID {
			return old, coder.Errorf(coder.CodeInvalid, "You cannot suspend yourself")
		}
		if err := q.DeleteOtherSessions(ctx, old.ID, ""); err != nil {
			return old, err
		}
		return keepOwner(ctx, q, old, func() (sqlc.User, error) {
			return q.UpdateUserStatus(ctx, string(status), s.now(), old.ID)
		})
	})
}

// DeleteUser deletes a user softly: the row stays for what refers to it, the
// name becomes free, keys and memberships go. Refused while it owns workspaces.
func (s *Service) DeleteUser(ctx context.Context, actor access.Subject, ref string) error {
	_, err := s.change(ctx, actor, ref, coder.RBACActionDelete, func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error) {
		if old.ID == actor.UserID {
			return old, coder.Errorf(coder.CodeInvalid, "You cannot delete yourself")
		}
		owns, err := q.UserOwnsWorkspaces(ctx, old.ID)
		if err != nil {
			return old, err
		}
		if owns {
			return old, coder.Errorf(coder.CodeConflict, "The user %s still owns workspaces; delete them first", old.Username)
		}
		if err := q.DeleteAPIKeysOfUser(ctx, old.ID); err != nil {
			return old, err
		}
		if err := q.DeleteMembershipsOfUser(ctx, old.ID); err != nil {
			return old, err
		}
		if _, err := organization.Forget(ctx, q, uuid.Nil, old.ID); err != nil {
			return old, err
		}
		return keepOwner(ctx, q, old, func() (sqlc.User, error) { return q.SoftDeleteUser(ctx, s.now(), old.ID) })
	})
	return err
}

// UpdatePassword sets a password. The user themself must know the old one; all
// sessions but the actor's end.
func (s *Service) UpdatePassword(ctx context.Context, actor access.Subject, ref string, req coder.UpdateUserPasswordRequest) error {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return err
	}
	if err := actor.Check(coder.RBACActionUpdatePersonal, userObject(u.ID)); err != nil {
		return err
	}
	if err := protect(actor, u); err != nil {
		return err
	}
	if u.LoginType != string(coder.LoginTypePassword) {
		return coder.Errorf(coder.CodeInvalid, "The user %s logs in by %s and has no password", u.Username, u.LoginType)
	}
	if err := CheckPassword("password", req.Password); err != nil {
		return err
	}
	if actor.UserID == u.ID {
		if err := s.attempt(ctx, "password "+u.ID.String(), accountWhile, triesPerAccount); err != nil {
			return err
		}
		fits, err := s.verify(ctx, req.OldPassword, u.PasswordHash)
		if err != nil {
			return err
		}
		if !fits {
			return coder.Invalid("old_password", "is wrong")
		}
		if req.OldPassword == req.Password {
			return coder.Invalid("password", "must not be the old one")
		}
	}
	return s.setPassword(ctx, actor, u, req.Password, actor.KeyID)
}

// setPassword stores a checked password and ends the sessions but one.
func (s *Service) setPassword(ctx context.Context, actor access.Subject, u sqlc.User, password, keepKey string) error {
	hash, err := s.hash(ctx, password)
	if err != nil {
		return err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.UpdateUserPassword(ctx, hash, s.now(), u.ID); err != nil {
			return err
		}
		if err := q.DeleteOtherSessions(ctx, u.ID, keepKey); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
			Diff: coder.AuditDiff{"hashed_password": {Old: "", New: "", Secret: true}},
		})
	})
	if err == nil {
		s.changedRights(u.ID)
	}
	return err
}

// UpdateRoles replaces the site roles of a user. Only owners may.
func (s *Service) UpdateRoles(ctx context.Context, actor access.Subject, ref string, req coder.UpdateRoles) (coder.User, error) {
	if err := actor.Check(coder.RBACActionAssign, access.Object{Type: coder.RBACResourceAssignRole}); err != nil {
		return coder.User{}, err
	}
	roles, err := roleNames(req.Roles, access.RoleMember, access.SiteRoles())
	if err != nil {
		return coder.User{}, err
	}
	return s.change(ctx, actor, ref, coder.RBACActionUpdate, func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error) {
		if err := req.Check("user", old.UpdatedAt); err != nil {
			return old, err
		}
		return keepOwner(ctx, q, old, func() (sqlc.User, error) { return q.UpdateUserRoles(ctx, roles, s.now(), old.ID) })
	})
}

// roleNames checks and sorts role names; the implicit one is left out.
func roleNames(names []string, implicit string, known []coder.Role) ([]string, error) {
	out := []string{}
	for _, n := range names {
		if n == implicit {
			continue
		}
		if !slices.ContainsFunc(known, func(r coder.Role) bool { return r.Name == n }) {
			return nil, coder.Invalid("roles", "there is no role %.64q", n)
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
