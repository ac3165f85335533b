package identity

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/accountevent"
	"github.com/seed-2a7f8fe7/coder/internal/identity/attempt"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/identity/dormancy"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// UserSearch filters a list of users; zero fields match all.
type UserSearch struct {
	Text                          string // part of username, email or name
	Statuses, Roles, LoginTypes   []string
	LastSeenBefore, LastSeenAfter *time.Time
	CreatedBefore, CreatedAfter   *time.Time
	GitHubID                      int64 // ID of a GitHub user; 0 matches any
	ServiceAccount                *bool // nil matches both
	AfterID                       uuid.UUID
	Limit, Offset                 int
}

// Users returns a page of the users that the actor can see, by username, and the
// count of all matching users.
func (s *Service) Users(ctx context.Context, actor access.Subject, f UserSearch) (codersdk.GetUsersResponse, error) {
	see := actor.Filter(codersdk.RBACResourceUser)
	p := sqlc.UsersParams{
		SeeAll: see.All, SeeID: see.OwnerID, OnlyIds: see.IDs, Search: f.Text,
		Statuses: f.Statuses, Roles: f.Roles, LoginTypes: f.LoginTypes,
		LastSeenBefore: f.LastSeenBefore, LastSeenAfter: f.LastSeenAfter,
		CreatedBefore: f.CreatedBefore, CreatedAfter: f.CreatedAfter,
		ServiceAccount: f.ServiceAccount, RowLimit: int32(f.Limit), RowOffset: int32(f.Offset),
	}
	for _, list := range []*[]string{&p.Statuses, &p.Roles, &p.LoginTypes} {
		if *list == nil {
			*list = []string{}
		}
	}
	if f.GitHubID != 0 {
		id := strconv.FormatInt(f.GitHubID, 10)
		p.GithubID = &id
	}
	if f.AfterID != uuid.Nil {
		p.AfterID = &f.AfterID
	}
	found, count, err := s.page(ctx, p)
	if err != nil {
		return codersdk.GetUsersResponse{}, err
	}
	out, err := users(ctx, s.c.Store.Queries, found)
	return codersdk.GetUsersResponse{Users: out, Count: count}, err
}

// page returns a page of users and the count of all matches, which holds beyond the last page too.
func (s *Service) page(ctx context.Context, p sqlc.UsersParams) (found []sqlc.User, count int, err error) {
	err = s.c.Store.Snapshot(ctx, func(q *sqlc.Queries) error {
		if err := q.ListPlan(ctx); err != nil {
			return err
		}
		rows, err := q.Users(ctx, p)
		if err != nil {
			return err
		}
		for _, r := range rows {
			found, count = append(found, r.User), int(r.Count)
		}
		if len(rows) == 0 && p.RowOffset > 0 { // the count comes with rows
			p.RowOffset, p.RowLimit = 0, 1
			if rows, err = q.Users(ctx, p); len(rows) > 0 {
				count = int(rows[0].Count)
			}
		}
		return err
	})
	return found, count, err
}

// change calls fn on the locked row of a user if the actor can do the action on the
// user, and audits the change.
func (s *Service) change(ctx context.Context, actor access.Subject, ref string, action codersdk.RBACAction,
	fn func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error),
) (codersdk.User, error) {
	var out codersdk.User
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
		kind := codersdk.AuditActionWrite
		if row.DeletedAt != nil {
			kind = codersdk.AuditActionDelete
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: kind, ResourceType: codersdk.ResourceTypeUser, ResourceID: row.ID, Target: row.Username,
			Diff: audit.Diff(before, out),
		})
	})
	if err == nil {
		s.changedRights(out.ID)
	}
	return out, err
}

// protectOwner denies changes to owners by administrators who are not owners.
// Otherwise they could become owner through the account of another user.
func protectOwner(actor access.Subject, target sqlc.User) error {
	if slices.Contains(target.Roles, access.RoleOwner) && actor.UserID != target.ID && !actor.IsOwner() {
		return codersdk.Errorf(codersdk.CodeForbidden, "Only an owner can change another owner")
	}
	return nil
}

// protectRoles denies setting the password of a user whose roles permit more than the
// actor's, because the actor could sign in as that user.
func (s *Service) protectRoles(ctx context.Context, actor access.Subject, target sqlc.User) error {
	if actor.UserID == target.ID || actor.IsOwner() {
		return nil
	}
	subject, err := s.SubjectOf(ctx, target.ID)
	if err != nil {
		return err
	}
	if err := actor.CheckHoldsAllOf(subject); err != nil {
		return codersdk.Errorf(codersdk.CodeForbidden, "The roles of %s have more permissions than yours. Ask an owner to set this password.", target.Username)
	}
	return nil
}

// keepOwner calls fn unless the change would leave the deployment without an owner.
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
		err = codersdk.Errorf(codersdk.CodeConflict, "This is the last owner. Make another user an owner first.")
	}
	return row, err
}

// UpdateProfile changes the username and the name of a user.
func (s *Service) UpdateProfile(ctx context.Context, actor access.Subject, ref string, req codersdk.UpdateUserProfileRequest) (codersdk.User, error) {
	if err := codersdk.CheckDisplayName("name", req.Name); err != nil {
		return codersdk.User{}, err
	}
	return s.change(ctx, actor, ref, codersdk.RBACActionUpdatePersonal, func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error) {
		if err := req.Check("user", old.UpdatedAt); err != nil {
			return old, err
		}
		if req.Username == "" {
			req.Username = old.Username
		}
		if err := codersdk.CheckName("username", req.Username); req.Username != old.Username && err != nil {
			return old, err
		}
		return q.UpdateUserProfile(ctx, sqlc.UpdateUserProfileParams{ID: old.ID, Username: req.Username, Name: req.Name, Now: s.now()})
	})
}

// SetStatus suspends or activates a user. Users cannot suspend themselves, and the last
// owner cannot be suspended. The sessions of a suspended user end at once.
func (s *Service) SetStatus(ctx context.Context, actor access.Subject, ref string, status codersdk.UserStatus) (codersdk.User, error) {
	return s.change(ctx, actor, ref, codersdk.RBACActionUpdate, func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error) {
		if err := accountevent.NotifyStatus(ctx, q, actor, old, status); err != nil {
			return old, err
		}
		if status != codersdk.UserStatusSuspended {
			return q.UpdateUserStatus(ctx, string(status), s.now(), old.ID)
		}
		if old.ID == actor.UserID {
			return old, codersdk.Errorf(codersdk.CodeInvalid, "You cannot suspend yourself")
		}
		if err := q.DeleteOtherSessions(ctx, old.ID, ""); err != nil {
			return old, err
		}
		return keepOwner(ctx, q, old, func() (sqlc.User, error) {
			return q.UpdateUserStatus(ctx, string(status), s.now(), old.ID)
		})
	})
}

// DeleteUser deletes a user softly. The row stays for references to it, the name
// becomes available, and keys and memberships are deleted. It fails while the user
// owns workspaces.
func (s *Service) DeleteUser(ctx context.Context, actor access.Subject, ref string) error {
	_, err := s.change(ctx, actor, ref, codersdk.RBACActionDelete, func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error) {
		if old.ID == actor.UserID {
			return old, codersdk.Errorf(codersdk.CodeInvalid, "You cannot delete yourself")
		}
		owns, err := q.UserOwnsWorkspaces(ctx, old.ID)
		if err != nil {
			return old, err
		}
		if owns {
			return old, codersdk.Errorf(codersdk.CodeConflict, "The user %s still owns workspaces; delete them first", old.Username)
		}
		if err := q.DeleteAPIKeysOfUser(ctx, old.ID); err != nil {
			return old, err
		}
		if err := q.ExternalAuthDeleteOfUser(ctx, old.ID); err != nil {
			return old, err
		}
		if err := q.UserSecretsDeleteOfUser(ctx, old.ID); err != nil {
			return old, err
		}
		if err := q.DeleteMembershipsOfUser(ctx, old.ID); err != nil {
			return old, err
		}
		if _, err := organization.Forget(ctx, q, uuid.Nil, old.ID); err != nil {
			return old, err
		}
		if err := accountevent.NotifyAdmins(ctx, q, actor, notification.UserDeleted, old.ID); err != nil {
			return old, err
		}
		return keepOwner(ctx, q, old, func() (sqlc.User, error) { return q.SoftDeleteUser(ctx, s.now(), old.ID) })
	})
	return err
}

// UpdatePassword sets a password. Users who change their own password must send the old
// one. All sessions except the actor's end.
func (s *Service) UpdatePassword(ctx context.Context, actor access.Subject, ref string, req codersdk.UpdateUserPasswordRequest) error {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return err
	}
	if err := actor.Check(codersdk.RBACActionUpdatePersonal, userObject(u.ID)); err != nil {
		return err
	}
	if err := protect(actor, u); err != nil {
		return err
	}
	if err := s.protectRoles(ctx, actor, u); err != nil {
		return err
	}
	if u.LoginType != string(codersdk.LoginTypePassword) {
		return codersdk.Errorf(codersdk.CodeInvalid, "User %s has the login type %s and no password", u.Username, u.LoginType)
	}
	if err := credential.CheckPassword("password", req.Password); err != nil {
		return err
	}
	if actor.UserID == u.ID {
		if err := s.attempts.Count(ctx, attempt.ByAccount("password "+u.ID.String())); err != nil {
			return err
		}
		fits, err := s.hasher.Verify(ctx, req.OldPassword, u.PasswordHash)
		if err != nil {
			return err
		}
		if !fits {
			return codersdk.Invalid("old_password", "is wrong")
		}
		if req.OldPassword == req.Password {
			differ := []codersdk.ValidationError{{Field: "password", Detail: "must differ from the old password"}}
			return &codersdk.Error{Code: codersdk.CodeInvalid, Message: "New password cannot match old password.", Fields: differ}
		}
	}
	return s.setPassword(ctx, actor, u, req.Password, actor.KeyID)
}

// setPassword stores a checked password and ends all sessions except keepKey.
func (s *Service) setPassword(ctx context.Context, actor access.Subject, u sqlc.User, password, keepKey string) error {
	hash, err := s.hasher.Hash(ctx, password)
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
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
			Diff: codersdk.AuditDiff{"hashed_password": {Old: "", New: "", Secret: true}},
		})
	})
	if err == nil {
		s.changedRights(u.ID)
	}
	return err
}

// UserRoles returns the site roles of a user, and the roles in every organization whose
// members the actor can see.
func (s *Service) UserRoles(ctx context.Context, actor access.Subject, ref string) (codersdk.UserRoles, error) {
	u, err := s.UserByRef(ctx, actor, ref)
	if err != nil {
		return codersdk.UserRoles{}, err
	}
	subject, err := s.SubjectOf(ctx, u.ID)
	out := codersdk.UserRoles{Roles: append([]string{}, subject.SiteRoles...), OrganizationRoles: map[uuid.UUID][]string{}}
	for id, roles := range subject.OrganizationRoles {
		if u.ID == actor.UserID || actor.Can(codersdk.RBACActionRead, access.Object{Type: codersdk.RBACResourceOrganizationMember, OrganizationID: id}) {
			out.OrganizationRoles[id] = append([]string{}, roles...)
		}
	}
	return out, err
}

// UpdateRoles replaces the site roles of a user. Only owners can call it.
func (s *Service) UpdateRoles(ctx context.Context, actor access.Subject, ref string, req codersdk.UpdateRoles) (codersdk.User, error) {
	if err := actor.Check(codersdk.RBACActionAssign, access.Object{Type: codersdk.RBACResourceAssignRole}); err != nil {
		return codersdk.User{}, err
	}
	roles, err := roleNames(req.Roles, access.RoleMember, access.SiteRoles())
	if err != nil {
		return codersdk.User{}, err
	}
	return s.change(ctx, actor, ref, codersdk.RBACActionUpdate, func(q *sqlc.Queries, old sqlc.User) (sqlc.User, error) {
		if err := req.Check("user", old.UpdatedAt); err != nil {
			return old, err
		}
		return keepOwner(ctx, q, old, func() (sqlc.User, error) { return q.UpdateUserRoles(ctx, roles, s.now(), old.ID) })
	})
}

// roleNames checks and sorts role names, without the implicit role.
func roleNames(names []string, implicit string, known []codersdk.Role) ([]string, error) {
	out := []string{}
	for _, n := range names {
		if n == implicit {
			continue
		}
		if !slices.ContainsFunc(known, func(r codersdk.Role) bool { return r.Name == n }) {
			return nil, codersdk.Invalid("roles", "role %.64q not found", n)
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// MarkDormant makes inactive users dormant. (AU-09)
func (s *Service) MarkDormant(ctx context.Context) error {
	return dormancy.Mark(ctx, s.c.Store, s.log, s.now())
}
