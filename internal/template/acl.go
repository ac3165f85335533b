package template

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// TemplateACL gives who may use or administer a template, to its admins. (TPL-13)
func (s *Service) TemplateACL(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.TemplateACL, error) {
	acl := coder.TemplateACL{Users: []coder.TemplateUser{}, Group: []coder.TemplateGroup{}}
	r, err := s.Store.TemplateByID(ctx, id)
	if err != nil {
		return acl, err
	}
	if err := actor.Check(coder.RBACActionUpdate, object(r.Template)); err != nil {
		return acl, err
	}
	if role, ok := r.Template.GroupACL[r.Template.OrganizationID.String()]; ok {
		g, err := s.everyone(ctx, r.Template.OrganizationID)
		if err != nil {
			return acl, err
		}
		acl.Group = append(acl.Group, templateGroup(g, coder.TemplateRole(role)))
	}
	var ids []uuid.UUID
	for k := range r.Template.UserACL {
		if u, err := uuid.Parse(k); err == nil {
			ids = append(ids, u)
		}
	}
	users, err := s.Store.TemplateACLUsers(ctx, ids)
	if err != nil {
		return acl, err
	}
	for _, u := range users {
		acl.Users = append(acl.Users, templateUser(u, coder.TemplateRole(r.Template.UserACL[u.ID.String()])))
	}
	return acl, nil
}

// TemplateACLAvailable gives whom an access list may name.
func (s *Service) TemplateACLAvailable(ctx context.Context, actor access.Subject, id uuid.UUID, words string) (coder.ACLAvailable, error) {
	out := coder.ACLAvailable{Users: []coder.ReducedUser{}, Groups: []coder.Group{}}
	r, err := s.Store.TemplateByID(ctx, id)
	if err != nil {
		return out, err
	}
	if err := actor.Check(coder.RBACActionUpdate, object(r.Template)); err != nil {
		return out, err
	}
	members, err := s.Store.TemplateACLMembers(ctx, r.Template.OrganizationID, words)
	if err != nil {
		return out, err
	}
	for _, u := range members {
		out.Users = append(out.Users, reduced(u))
	}
	g, err := s.everyone(ctx, r.Template.OrganizationID)
	out.Groups = append(out.Groups, g)
	return out, err
}

// everyone is the group of all members of an organization; it has its id.
func (s *Service) everyone(ctx context.Context, organizationID uuid.UUID) (coder.Group, error) {
	o, err := s.Store.TemplateOrganization(ctx, organizationID)
	if err != nil {
		return coder.Group{}, err
	}
	n, err := s.Store.TemplateMemberCount(ctx, organizationID)
	return coder.Group{
		ID: o.ID, Name: "Everyone", Members: []coder.ReducedUser{}, OrganizationID: o.ID, OrganizationName: o.Name,
		OrganizationDisplayName: o.DisplayName, Source: coder.GroupSourceUser, TotalMemberCount: n,
	}, err
}

func templateGroup(g coder.Group, role coder.TemplateRole) coder.TemplateGroup {
	return coder.TemplateGroup{
		AvatarURL: g.AvatarURL, DisplayName: g.DisplayName, ID: g.ID, Members: g.Members, Name: g.Name,
		OrganizationDisplayName: g.OrganizationDisplayName, OrganizationID: g.OrganizationID, OrganizationName: g.OrganizationName,
		QuotaAllowance: g.QuotaAllowance, Role: role, Source: g.Source, TotalMemberCount: g.TotalMemberCount,
	}
}

func reduced(u sqlc.User) coder.ReducedUser {
	return coder.ReducedUser{
		AvatarURL: u.AvatarURL, CreatedAt: u.CreatedAt.UTC(), Email: u.Email, ID: u.ID, LastSeenAt: u.LastSeenAt.UTC(),
		LoginType: coder.LoginType(u.LoginType), Name: u.Name, Status: coder.UserStatus(u.Status), ThemePreference: u.Theme,
		UpdatedAt: u.UpdatedAt.UTC(), Username: u.Username,
	}
}

func templateUser(u sqlc.User, role coder.TemplateRole) coder.TemplateUser {
	r := reduced(u)
	return coder.TemplateUser{
		AvatarURL: r.AvatarURL, CreatedAt: r.CreatedAt, Email: r.Email, ID: r.ID, LastSeenAt: &r.LastSeenAt,
		LoginType: r.LoginType, Name: r.Name, OrganizationIDs: []uuid.UUID{}, Role: role, Roles: access.SlimSite(u.Roles),
		Status: r.Status, ThemePreference: r.ThemePreference, UpdatedAt: r.UpdatedAt, Username: r.Username,
	}
}

// UpdateTemplateACL changes entries of an access list; an empty role removes
// one. Entries that the request does not name stay.
func (s *Service) UpdateTemplateACL(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateTemplateACL) error {
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		t, err := lock(ctx, q, actor, coder.RBACActionUpdate, id)
		if err != nil {
			return err
		}
		users, groups := maps.Clone(t.UserACL), maps.Clone(t.GroupACL)
		for k, role := range req.UserPerms {
			if err := put(users, "user_perms", k, coder.TemplateRole(role)); err != nil {
				return err
			}
		}
		for k, role := range req.GroupPerms {
			if k != t.OrganizationID.String() && role != coder.TemplateRoleDefault {
				return coder.Invalid("group_perms", "there is no group %.40q in this organization", k)
			}
			if err := put(groups, "group_perms", k, role); err != nil {
				return err
			}
		}
		if err := checkMembers(ctx, q, t.OrganizationID, req.UserPerms); err != nil {
			return err
		}
		diff := audit.Diff(map[string]any{"user_acl": t.UserACL, "group_acl": t.GroupACL}, map[string]any{"user_acl": users, "group_acl": groups})
		if len(diff) == 0 {
			return nil
		}
		if err := q.TemplateSetACL(ctx, sqlc.TemplateSetACLParams{ID: id, UserACL: users, GroupACL: groups, Now: s.now()}); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeTemplate, ResourceID: id,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon, Diff: diff,
		})
	})
}

func put(list map[string]string, field, key string, role coder.TemplateRole) error {
	if _, err := uuid.Parse(key); err != nil {
		return coder.Invalid(field, "%.40q is not an id", key)
	}
	switch role {
	case coder.TemplateRoleDefault:
		delete(list, key)
	case coder.TemplateRoleUse, coder.TemplateRoleAdmin:
		list[key] = string(role)
	default:
		return coder.Invalid(field, "the role %.20q is none of use, admin and the empty text", role)
	}
	return nil
}

// checkMembers refuses entries for people who are not in the organization:
// they would give nothing now and surprise later.
func checkMembers(ctx context.Context, q *sqlc.Queries, organizationID uuid.UUID, perms map[string]string) error {
	var wanted []uuid.UUID
	for k, role := range perms {
		if u, err := uuid.Parse(k); err == nil && role != "" {
			wanted = append(wanted, u)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	members, err := q.TemplateMembersAmong(ctx, organizationID, wanted)
	if err != nil {
		return err
	}
	for _, u := range wanted {
		if !slices.Contains(members, u) {
			return coder.Invalid("user_perms", "the user %s is not a member of this organization", u)
		}
	}
	return nil
}
