package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func list(t sqlc.Template) organization.List {
	return organization.List{OrganizationID: t.OrganizationID, Users: t.UserACL, Groups: t.GroupACL}
}

// administered returns a template that the actor can change.
func (s *Service) administered(ctx context.Context, actor access.Subject, id uuid.UUID) (sqlc.Template, error) {
	r, err := s.Store.TemplateByID(ctx, id)
	if err != nil {
		return r.Template, err
	}
	return r.Template, actor.Check(codersdk.RBACActionUpdate, object(r.Template))
}

// TemplateACL returns the access list of a template to its administrators. (TPL-13)
func (s *Service) TemplateACL(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.TemplateACL, error) {
	acl := codersdk.TemplateACL{Users: []codersdk.TemplateUser{}, Group: []codersdk.TemplateGroup{}}
	t, err := s.administered(ctx, actor, id)
	if err != nil {
		return acl, err
	}
	users, groups, err := list(t).Show(ctx, s.Store.Queries)
	for _, g := range groups {
		acl.Group = append(acl.Group, templateGroup(g.Group, codersdk.TemplateRole(g.Role)))
	}
	for _, u := range users {
		acl.Users = append(acl.Users, templateUser(u.User, codersdk.TemplateRole(u.Role)))
	}
	return acl, err
}

// TemplateACLAvailable returns the users and groups that an access list can name.
func (s *Service) TemplateACLAvailable(
	ctx context.Context,
	actor access.Subject,
	id uuid.UUID,
	words string,
	page codersdk.Page,
) (codersdk.ACLAvailable, error) {
	t, err := s.administered(ctx, actor, id)
	if err != nil {
		return codersdk.ACLAvailable{}, err
	}
	var out codersdk.ACLAvailable
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		out, err = list(t).Available(ctx, q, words, page)
		return err
	})
	return out, err
}

func templateGroup(g codersdk.Group, role codersdk.TemplateRole) codersdk.TemplateGroup {
	return codersdk.TemplateGroup{
		AvatarURL: g.AvatarURL, DisplayName: g.DisplayName, ID: g.ID, Members: g.Members, Name: g.Name,
		OrganizationDisplayName: g.OrganizationDisplayName, OrganizationID: g.OrganizationID, OrganizationName: g.OrganizationName,
		QuotaAllowance: g.QuotaAllowance, Role: role, Source: g.Source, TotalMemberCount: g.TotalMemberCount,
	}
}

func templateUser(u sqlc.User, role codersdk.TemplateRole) codersdk.TemplateUser {
	r := organization.Reduced(u)
	return codersdk.TemplateUser{
		AvatarURL: r.AvatarURL, CreatedAt: r.CreatedAt, Email: r.Email, ID: r.ID, LastSeenAt: &r.LastSeenAt,
		LoginType: r.LoginType, Name: r.Name, OrganizationIDs: []uuid.UUID{}, Role: role, Roles: access.SlimSite(u.Roles),
		Status: r.Status, ThemePreference: r.ThemePreference, UpdatedAt: r.UpdatedAt, Username: r.Username,
	}
}

// UpdateTemplateACL changes entries of an access list. An empty role removes an entry;
// entries that the request does not name stay.
func (s *Service) UpdateTemplateACL(ctx context.Context, actor access.Subject, id uuid.UUID, req codersdk.UpdateTemplateACL) error {
	c := organization.Changes{Users: req.UserPerms, Groups: map[string]string{}, UserField: "user_perms", GroupField: "group_perms"}
	for k, role := range req.GroupPerms {
		c.Groups[k] = string(role)
	}
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		t, err := lock(ctx, q, actor, codersdk.RBACActionUpdate, id)
		if err != nil {
			return err
		}
		now, err := list(t).Change(ctx, q, c)
		if err != nil {
			return err
		}
		diff := audit.Diff(map[string]any{"user_acl": t.UserACL, "group_acl": t.GroupACL}, map[string]any{"user_acl": now.Users, "group_acl": now.Groups})
		if len(diff) == 0 {
			return nil
		}
		if err := q.TemplateSetACL(ctx, sqlc.TemplateSetACLParams{ID: id, UserACL: now.Users, GroupACL: now.Groups, Now: s.now()}); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeTemplate, ResourceID: id,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon, Diff: diff,
		})
	})
}
