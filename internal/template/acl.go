package template

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func list(t sqlc.Template) organization.List {
	return organization.List{OrganizationID: t.OrganizationID, Users: t.UserACL, Groups: t.GroupACL}
}

// administered gives a template that the actor may change.
func (s *Service) administered(ctx context.Context, actor access.Subject, id uuid.UUID) (sqlc.Template, error) {
	r, err := s.Store.TemplateByID(ctx, id)
	if err != nil {
		return r.Template, err
	}
	return r.Template, actor.Check(coder.RBACActionUpdate, object(r.Template))
}

// TemplateACL gives who may use or administer a template, to its admins. (TPL-13)
func (s *Service) TemplateACL(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.TemplateACL, error) {
	acl := coder.TemplateACL{Users: []coder.TemplateUser{}, Group: []coder.TemplateGroup{}}
	t, err := s.administered(ctx, actor, id)
	if err != nil {
		return acl, err
	}
	users, groups, err := list(t).Show(ctx, s.Store.Queries)
	for _, g := range groups {
		acl.Group = append(acl.Group, templateGroup(g.Group, coder.TemplateRole(g.Role)))
	}
	for _, u := range users {
		acl.Users = append(acl.Users, templateUser(u.User, coder.TemplateRole(u.Role)))
	}
	return acl, err
}

// TemplateACLAvailable gives whom an access list may name.
func (s *Service) TemplateACLAvailable(ctx context.Context, actor access.Subject, id uuid.UUID, words string, page coder.Page) (coder.ACLAvailable, error) {
	t, err := s.administered(ctx, actor, id)
	if err != nil {
		return coder.ACLAvailable{}, err
	}
	var out coder.ACLAvailable
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		out, err = list(t).Available(ctx, q, words, page)
		return err
	})
	return out, err
}

func templateGroup(g coder.Group, role coder.TemplateRole) coder.TemplateGroup {
	return coder.TemplateGroup{
		AvatarURL: g.AvatarURL, DisplayName: g.DisplayName, ID: g.ID, Members: g.Members, Name: g.Name,
		OrganizationDisplayName: g.OrganizationDisplayName, OrganizationID: g.OrganizationID, OrganizationName: g.OrganizationName,
		QuotaAllowance: g.QuotaAllowance, Role: role, Source: g.Source, TotalMemberCount: g.TotalMemberCount,
	}
}

func templateUser(u sqlc.User, role coder.TemplateRole) coder.TemplateUser {
	r := organization.Reduced(u)
	return coder.TemplateUser{
		AvatarURL: r.AvatarURL, CreatedAt: r.CreatedAt, Email: r.Email, ID: r.ID, LastSeenAt: &r.LastSeenAt,
		LoginType: r.LoginType, Name: r.Name, OrganizationIDs: []uuid.UUID{}, Role: role, Roles: access.SlimSite(u.Roles),
		Status: r.Status, ThemePreference: r.ThemePreference, UpdatedAt: r.UpdatedAt, Username: r.Username,
	}
}

// UpdateTemplateACL changes entries of an access list; an empty role removes
// one. Entries that the request does not name stay.
func (s *Service) UpdateTemplateACL(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.UpdateTemplateACL) error {
	c := organization.Changes{Users: req.UserPerms, Groups: map[string]string{}, UserField: "user_perms", GroupField: "group_perms"}
	for k, role := range req.GroupPerms {
		c.Groups[k] = string(role)
	}
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		t, err := lock(ctx, q, actor, coder.RBACActionUpdate, id)
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
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeTemplate, ResourceID: id,
			OrganizationID: t.OrganizationID, Target: t.Name, Icon: t.Icon, Diff: diff,
		})
	})
}
