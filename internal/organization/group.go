package organization

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Bounds of a group.
const (
	maxAllowance  = 1_000_000_000
	maxAvatarURL  = 2000
	maxPatchUsers = 10_000
)

// CreateGroup makes a group without members. (AU-17)
func (s *Service) CreateGroup(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req coder.CreateGroupRequest) (coder.Group, error) {
	if err := actor.Check(coder.RBACActionCreate, groupObject(organizationID, uuid.Nil)); err != nil {
		return coder.Group{}, err
	}
	g := sqlc.Group{
		ID: uuid.New(), OrganizationID: organizationID, Name: req.Name, DisplayName: req.DisplayName, AvatarURL: req.AvatarURL,
		QuotaAllowance: int32(min(req.QuotaAllowance, maxAllowance+1)), Source: string(coder.GroupSourceUser),
	}
	if err := checkGroup(g, true); err != nil {
		return coder.Group{}, err
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		err := q.GroupInsert(ctx, sqlc.GroupInsertParams{
			ID: g.ID, OrganizationID: g.OrganizationID, Name: g.Name, DisplayName: g.DisplayName, AvatarURL: g.AvatarURL,
			QuotaAllowance: g.QuotaAllowance, Source: g.Source, Now: s.now(),
		})
		if err != nil {
			return taken(err, g.Name)
		}
		return record(ctx, q, actor, coder.AuditActionCreate, g, audit.Diff(nil, audited(g)))
	})
	if err != nil {
		return coder.Group{}, err
	}
	return s.Group(ctx, actor, g.ID)
}

// checkGroup checks the fields of a group; a name that stays need not be good.
func checkGroup(g sqlc.Group, named bool) error {
	if named {
		if strings.EqualFold(g.Name, "everyone") {
			return coder.Invalid("name", "%q is the group of all members, which exists already", g.Name)
		}
		if err := coder.CheckName("name", g.Name); err != nil {
			return err
		}
	}
	if g.QuotaAllowance < 0 || g.QuotaAllowance > maxAllowance {
		return coder.Invalid("quota_allowance", "must be from 0 to %d", maxAllowance)
	}
	if len(g.AvatarURL) > maxAvatarURL {
		return coder.Invalid("avatar_url", "is longer than %d characters", maxAvatarURL)
	}
	return coder.CheckDisplayName("display_name", g.DisplayName)
}

func taken(err error, name string) error {
	if postgres.Constraint(err) == "groups_name" {
		return &coder.Error{
			Code: coder.CodeConflict, Message: "A group named \"" + name + "\" exists already in this organization", Err: err,
			Fields: []coder.ValidationError{{Field: "name", Detail: "is taken"}},
		}
	}
	return err
}

// audited is what of a group goes into the audit log.
func audited(g sqlc.Group) any {
	return struct {
		Name           string `json:"name"`
		DisplayName    string `json:"display_name"`
		AvatarURL      string `json:"avatar_url"`
		QuotaAllowance int32  `json:"quota_allowance"`
		Source         string `json:"source"`
	}{g.Name, g.DisplayName, g.AvatarURL, g.QuotaAllowance, g.Source}
}

func record(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.AuditAction, g sqlc.Group, d coder.AuditDiff) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: coder.ResourceTypeGroup, ResourceID: g.ID, OrganizationID: g.OrganizationID,
		Target: g.Name, Icon: g.AvatarURL, Diff: d,
	})
}

// UpdateGroup changes names, allowance and members of a group. That of
// everyone keeps its name and members. Who is in a group already may be added,
// and who is not may be removed: the outcome is what was asked for.
func (s *Service) UpdateGroup(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.PatchGroupRequest) (coder.Group, error) {
	add, err := userIDs("add_users", req.AddUsers)
	if err != nil {
		return coder.Group{}, err
	}
	remove, err := userIDs("remove_users", req.RemoveUsers)
	if err != nil {
		return coder.Group{}, err
	}
	for _, u := range add {
		if slices.Contains(remove, u) {
			return coder.Group{}, coder.Invalid("remove_users", "the user %s is to be added, too", u)
		}
	}
	var moved []uuid.UUID
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := s.find(ctx, q, actor, coder.RBACActionUpdate, id); err != nil {
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
			return coder.Errorf(coder.CodeInvalid, "The group of everyone keeps its name, and its members are those of the organization; only its allowance and picture can be changed")
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
		return record(ctx, q, actor, coder.AuditActionWrite, g, diff)
	})
	if err != nil {
		return coder.Group{}, err
	}
	s.changedRights(moved)
	return s.Group(ctx, actor, id)
}

// patched is a group as a request wants it.
func patched(g sqlc.Group, req coder.PatchGroupRequest) sqlc.Group {
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
		return nil, coder.Invalid(field, "at most %d at once", maxPatchUsers)
	}
	out := make([]uuid.UUID, len(texts))
	for i, t := range texts {
		id, err := uuid.Parse(t)
		if err != nil {
			return nil, coder.Invalid(field, "%.40q is not the id of a user", t)
		}
		out[i] = id
	}
	return out, nil
}

// move puts people into a group and takes others out, notes who in diff, and
// gives whom it moved.
func move(ctx context.Context, q *sqlc.Queries, g sqlc.Group, add, remove []uuid.UUID, diff coder.AuditDiff) ([]uuid.UUID, error) {
	if len(add) > 0 {
		members, err := q.OrganizationMembersAmong(ctx, g.OrganizationID, add)
		if err != nil {
			return nil, err
		}
		for _, u := range add {
			if !slices.Contains(members, u) {
				return nil, coder.Invalid("add_users", "the user %s is not a member of the organization; add them to it first", u)
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
	diff["members"] = coder.AuditDiffField{Old: was, New: is}
	return moved, nil
}

// DeleteGroup deletes a group and takes it out of every access list. That of
// everyone stays.
func (s *Service) DeleteGroup(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	var members, shared []uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := s.find(ctx, q, actor, coder.RBACActionDelete, id); err != nil {
			return err
		}
		g, err := q.GroupForUpdate(ctx, id)
		if err != nil {
			return err
		}
		if g.ID == g.OrganizationID {
			return coder.Errorf(coder.CodeInvalid, "The group of everyone cannot be deleted")
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
		return record(ctx, q, actor, coder.AuditActionDelete, g, audit.Diff(audited(g), nil))
	})
	if err == nil {
		s.changedRights(members)
		s.changedWorkspaces(shared)
	}
	return err
}

// Forget takes a user or a group out of the access lists of an organization's
// templates and workspaces, with uuid.Nil of all organizations', and gives the
// workspaces that were shared with it.
func Forget(ctx context.Context, q *sqlc.Queries, organizationID, id uuid.UUID) ([]uuid.UUID, error) {
	if err := q.ForgetInTemplates(ctx, id.String(), organizationID); err != nil {
		return nil, err
	}
	return q.ForgetInWorkspaces(ctx, id.String(), organizationID)
}
