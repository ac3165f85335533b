package organization

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of a group.
const (
	maxAllowance  = 1_000_000_000
	maxAvatarURL  = 2000
	maxPatchUsers = 10_000
)

// CreateGroup creates a group without members. (AU-17)
func (s *Service) CreateGroup(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req codersdk.CreateGroupRequest) (codersdk.Group, error) {
	if err := actor.Check(codersdk.RBACActionCreate, groupObject(organizationID, uuid.Nil)); err != nil {
		return codersdk.Group{}, err
	}
	g := sqlc.Group{
		ID: uuid.New(), OrganizationID: organizationID, Name: req.Name, DisplayName: req.DisplayName, AvatarURL: req.AvatarURL,
		QuotaAllowance: int32(min(req.QuotaAllowance, maxAllowance+1)), Source: string(codersdk.GroupSourceUser),
	}
	if err := checkGroup(g, true); err != nil {
		return codersdk.Group{}, err
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		err := q.GroupInsert(ctx, sqlc.GroupInsertParams{
			ID: g.ID, OrganizationID: g.OrganizationID, Name: g.Name, DisplayName: g.DisplayName, AvatarURL: g.AvatarURL,
			QuotaAllowance: g.QuotaAllowance, Source: g.Source, Now: s.now(),
		})
		if err != nil {
			return taken(err, g.Name)
		}
		return record(ctx, q, actor, codersdk.AuditActionCreate, g, audit.Diff(nil, audited(g)))
	})
	if err != nil {
		return codersdk.Group{}, err
	}
	return s.Group(ctx, actor, g.ID)
}

// checkGroup checks the fields of a group. An unchanged name is not checked.
func checkGroup(g sqlc.Group, named bool) error {
	if named {
		if strings.EqualFold(g.Name, "everyone") {
			return codersdk.Invalid("name", "%q is reserved for the group of all members", g.Name)
		}
		if err := codersdk.CheckName("name", g.Name); err != nil {
			return err
		}
	}
	if g.QuotaAllowance < 0 || g.QuotaAllowance > maxAllowance {
		return codersdk.Invalid("quota_allowance", "must be between 0 and %d", maxAllowance)
	}
	if len(g.AvatarURL) > maxAvatarURL {
		return codersdk.Invalid("avatar_url", "is longer than %d characters", maxAvatarURL)
	}
	if err := codersdk.CheckIcon("avatar_url", g.AvatarURL); err != nil {
		return err
	}
	return codersdk.CheckDisplayName("display_name", g.DisplayName)
}

func taken(err error, name string) error {
	if postgres.Constraint(err) == "groups_name" {
		return &codersdk.Error{
			Code: codersdk.CodeConflict, Message: "A group named \"" + name + "\" already exists in this organization", Err: err,
			Fields: []codersdk.ValidationError{{Field: "name", Detail: "is taken"}},
		}
	}
	return err
}

// audited are the audited fields of a group.
func audited(g sqlc.Group) any {
	return struct {
		Name           string `json:"name"`
		DisplayName    string `json:"display_name"`
		AvatarURL      string `json:"avatar_url"`
		QuotaAllowance int32  `json:"quota_allowance"`
		Source         string `json:"source"`
	}{g.Name, g.DisplayName, g.AvatarURL, g.QuotaAllowance, g.Source}
}

func record(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.AuditAction, g sqlc.Group, d codersdk.AuditDiff) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeGroup, ResourceID: g.ID, OrganizationID: g.OrganizationID,
		Target: g.Name, Icon: g.AvatarURL, Diff: d,
	})
}

// UpdateGroup changes names, allowance and members of a group. The group of all members keeps
// its name and members. Adding a member and removing a user who is not a member succeed.
func (s *Service) UpdateGroup(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.PatchGroupRequest) (codersdk.Group, error) {
	add, err := userIDs("add_users", req.AddUsers)
	if err != nil {
		return codersdk.Group{}, err
	}
	remove, err := userIDs("remove_users", req.RemoveUsers)
	if err != nil {
		return codersdk.Group{}, err
	}
	for _, u := range add {
		if slices.Contains(remove, u) {
			return codersdk.Group{}, codersdk.Invalid("remove_users", "user %s is also in add_users", u)
		}
	}
	var moved []uuid.UUID
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := s.find(ctx, q, actor, codersdk.RBACActionUpdate, id); err != nil {
			return err
		}
		old, err := q.GroupForUpdate(ctx, id)
		if err != nil {
			return err
		}
		if err := req.Check("group", old.UpdatedAt); err != nil {
			return err
		}
		g := patched(old, req)
		if old.ID == old.OrganizationID && (g.Name != old.Name || g.DisplayName != old.DisplayName || len(add)+len(remove) > 0) {
			return codersdk.Errorf(codersdk.CodeInvalid,
				"The name and the members of the group of all members cannot be changed, only its allowance and picture")
		}
		if err := checkGroup(g, g.Name != old.Name); err != nil {
			return err
		}
		diff := audit.Diff(audited(old), audited(g))
		if moved, err = move(ctx, q, g, add, remove, diff); err != nil || len(diff) == 0 {
			return err
		}
		err = q.GroupUpdate(ctx, sqlc.GroupUpdateParams{
			ID: id, Name: g.Name, DisplayName: g.DisplayName, AvatarURL: g.AvatarURL, QuotaAllowance: g.QuotaAllowance, Now: s.now(),
		})
		if err != nil {
			return taken(err, g.Name)
		}
		return record(ctx, q, actor, codersdk.AuditActionWrite, g, diff)
	})
	if err != nil {
		return codersdk.Group{}, err
	}
	s.changedRights(moved)
	return s.Group(ctx, actor, id)
}

// patched returns a group with the changes of a request.
func patched(g sqlc.Group, req codersdk.PatchGroupRequest) sqlc.Group {
	if req.Name != "" {
		g.Name = req.Name
	}
	if req.DisplayName != nil {
		g.DisplayName = *req.DisplayName
	}
	if req.AvatarURL != nil {
		g.AvatarURL = *req.AvatarURL
	}
	if req.QuotaAllowance != nil {
		g.QuotaAllowance = int32(max(-1, min(*req.QuotaAllowance, maxAllowance+1)))
	}
	return g
}

func userIDs(field string, texts []string) ([]uuid.UUID, error) {
	if len(texts) > maxPatchUsers {
		return nil, codersdk.Invalid(field, "at most %d users are allowed in one request", maxPatchUsers)
	}
	out := make([]uuid.UUID, len(texts))
	for i, t := range texts {
		id, err := uuid.Parse(t)
		if err != nil {
			return nil, codersdk.Invalid(field, "%.40q is not a UUID", t)
		}
		out[i] = id
	}
	return out, nil
}

// move adds users to a group and removes others, records both in diff, and returns the changed
// users.
func move(ctx context.Context, q *sqlc.Queries, g sqlc.Group, add, remove []uuid.UUID, diff codersdk.AuditDiff) ([]uuid.UUID, error) {
	if len(add) > 0 {
		members, err := q.OrganizationMembersAmong(ctx, g.OrganizationID, add)
		if err != nil {
			return nil, err
		}
		for _, u := range add {
			if !slices.Contains(members, u) {
				return nil, codersdk.Invalid("add_users", "user %s is not a member of the organization; add the user to it first", u)
			}
		}
	}
	came, err := q.GroupAddMembers(ctx, g.ID, g.OrganizationID, add)
	if err != nil {
		return nil, err
	}
	left, err := q.GroupRemoveMembers(ctx, g.ID, remove)
	if err != nil || len(came)+len(left) == 0 {
		return nil, err
	}
	moved := slices.Concat(came, left)
	names, err := q.UsernamesOf(ctx, moved)
	if err != nil {
		return nil, err
	}
	was, is := []string{}, []string{}
	for _, n := range names {
		if slices.Contains(came, n.ID) {
			is = append(is, n.Username)
		} else {
			was = append(was, n.Username)
		}
	}
	diff["members"] = codersdk.AuditDiffField{Old: was, New: is}
	return moved, nil
}

// DeleteGroup deletes a group and removes it from every access list. The group of all members
// cannot be deleted.
func (s *Service) DeleteGroup(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	var members, shared []uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := s.find(ctx, q, actor, codersdk.RBACActionDelete, id); err != nil {
			return err
		}
		g, err := q.GroupForUpdate(ctx, id)
		if err != nil {
			return err
		}
		if g.ID == g.OrganizationID {
			return codersdk.Errorf(codersdk.CodeInvalid, "The group of all members cannot be deleted")
		}
		if members, err = q.GroupMemberIDs(ctx, id); err != nil {
			return err
		}
		if shared, err = Forget(ctx, q, g.OrganizationID, id); err != nil {
			return err
		}
		if err := q.GroupDelete(ctx, id); err != nil {
			return err
		}
		return record(ctx, q, actor, codersdk.AuditActionDelete, g, audit.Diff(audited(g), nil))
	})
	if err == nil {
		s.changedRights(members)
		s.changedWorkspaces(shared)
	}
	return err
}

// Forget removes a user or a group from the access lists of an organization's templates and
// workspaces (of all organizations for uuid.Nil) and returns the workspaces that were shared
// with it.
func Forget(ctx context.Context, q *sqlc.Queries, organizationID, id uuid.UUID) ([]uuid.UUID, error) {
	if err := q.ForgetInTemplates(ctx, id.String(), organizationID); err != nil {
		return nil, err
	}
	return q.ForgetInWorkspaces(ctx, id.String(), organizationID)
}
