package identity

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// MemberSearch filters a list of members; zero fields match all.
type MemberSearch struct {
	Text          string // part of username, email or name
	UserID        uuid.UUID
	Limit, Offset int
}

// Members returns a page of an organization's members by username, and the count of
// all matching members.
func (s *Service) Members(ctx context.Context, actor access.Subject, ref string, f MemberSearch) (codersdk.PaginatedMembersResponse, error) {
	out := codersdk.PaginatedMembersResponse{Members: []codersdk.OrganizationMemberWithUserData{}}
	o, err := s.OrganizationByRef(ctx, actor, ref)
	if err != nil {
		return out, err
	}
	p := sqlc.OrganizationMembersParams{
		OrganizationID: o.ID, SeeAll: actor.Can(codersdk.RBACActionRead, access.Object{Type: codersdk.RBACResourceOrganizationMember, OrganizationID: o.ID}),
		SeeID: actor.UserID, UserID: f.UserID, Search: f.Text, RowLimit: int32(f.Limit), RowOffset: int32(f.Offset),
	}
	rows, err := s.memberRows(ctx, p)
	if err == nil && len(rows) == 0 && f.Offset > 0 { // beyond the end: the count comes with rows
		p.RowOffset, p.RowLimit = 0, 1
		if rows, err = s.memberRows(ctx, p); len(rows) > 0 {
			out.Count, rows = int(rows[0].Count), nil
		}
	}
	if err != nil {
		return out, err
	}
	if len(rows) > 0 {
		out.Count = int(rows[0].Count)
	}
	own, err := s.c.Store.CustomRoles(ctx, o.ID)
	for _, r := range rows {
		out.Members = append(out.Members, codersdk.OrganizationMemberWithUserData{
			UserID: r.OrganizationMember.UserID, OrganizationID: o.ID, Username: r.Username, Name: r.Name, Email: r.Email, AvatarURL: r.AvatarURL,
			Roles: slimRoles(o.ID, r.OrganizationMember.Roles, own), GlobalRoles: access.SlimSite(r.SiteRoles),
			CreatedAt: r.OrganizationMember.CreatedAt, UpdatedAt: r.OrganizationMember.UpdatedAt,
		})
	}
	return out, err
}

func (s *Service) memberRows(ctx context.Context, p sqlc.OrganizationMembersParams) (rows []sqlc.OrganizationMembersRow, err error) {
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.ListPlan(ctx); err != nil {
			return err
		}
		rows, err = q.OrganizationMembers(ctx, p)
		return err
	})
	return rows, err
}

// slimRoles returns the roles of a member with their display names. Some may be
// custom roles of the organization.
func slimRoles(organization uuid.UUID, names []string, own []sqlc.CustomRole) []codersdk.SlimRole {
	out := access.SlimOrganization(organization, names)
	for i := range out {
		for _, r := range own {
			if r.Name == out[i].Name {
				out[i].DisplayName = r.DisplayName
			}
		}
	}
	return out
}

// Member returns one member of an organization.
func (s *Service) Member(ctx context.Context, actor access.Subject, organization, user string) (codersdk.OrganizationMemberWithUserData, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, user)
	if err != nil {
		return codersdk.OrganizationMemberWithUserData{}, err
	}
	page, err := s.Members(ctx, actor, organization, MemberSearch{UserID: u.ID, Limit: 1})
	if err != nil {
		return codersdk.OrganizationMemberWithUserData{}, err
	}
	if len(page.Members) == 0 {
		return codersdk.OrganizationMemberWithUserData{}, codersdk.NotFound()
	}
	return page.Members[0], nil
}

var memberAudit = map[codersdk.RBACAction]codersdk.AuditAction{
	codersdk.RBACActionCreate: codersdk.AuditActionCreate, codersdk.RBACActionDelete: codersdk.AuditActionDelete,
	codersdk.RBACActionAssign: codersdk.AuditActionWrite,
}

// changeMember finds organization and user, checks the action, calls fn and audits
// the change.
func (s *Service) changeMember(ctx context.Context, actor access.Subject, organization, user string, action codersdk.RBACAction,
	fn func(q *sqlc.Queries, o sqlc.Organization, u sqlc.User) (old, new any, err error),
) error {
	var id uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		o, err := organizationRow(ctx, q, organization)
		if err != nil {
			return err
		}
		if err := actor.Check(codersdk.RBACActionRead, organizationObject(o.ID)); err != nil {
			return err
		}
		object := access.Object{Type: codersdk.RBACResourceOrganizationMember, OrganizationID: o.ID}
		if action == codersdk.RBACActionAssign {
			object.Type = codersdk.RBACResourceAssignOrgRole
		}
		if err := actor.Check(action, object); err != nil {
			return err
		}
		u, err := s.userRow(ctx, q, actor, user)
		if err != nil {
			return err
		}
		if err := nobodys(u); err != nil {
			return err
		}
		old, new, err := fn(q, o, u)
		if err != nil {
			return err
		}
		id = u.ID
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: memberAudit[action], ResourceType: codersdk.ResourceTypeOrganizationMember, ResourceID: u.ID, OrganizationID: o.ID,
			Target: u.Username, Diff: audit.Diff(old, new),
		})
	})
	if err == nil {
		s.changedRights(id)
	}
	return err
}

// AddMember makes a user a member of an organization.
func (s *Service) AddMember(ctx context.Context, actor access.Subject, organization, user string) (codersdk.OrganizationMember, error) {
	var out codersdk.OrganizationMember
	err := s.changeMember(ctx, actor, organization, user, codersdk.RBACActionCreate,
		func(q *sqlc.Queries, o sqlc.Organization, u sqlc.User) (any, any, error) {
			row, err := q.InsertOrganizationMember(ctx, sqlc.InsertOrganizationMemberParams{
				OrganizationID: o.ID, UserID: u.ID, Roles: []string{}, Now: s.now(),
			})
			if postgres.Constraint(err) == "organization_members_pkey" {
				err = codersdk.Errorf(codersdk.CodeConflict, "A member named %q already exists in the organization %s", u.Username, o.Name)
			}
			out = member(row, nil)
			return nil, out, err
		})
	return out, err
}

// RemoveMember deletes a membership and the user's entries in groups and access lists
// of the organization. It fails while the user owns workspaces in the organization,
// because nobody could open them afterwards.
func (s *Service) RemoveMember(ctx context.Context, actor access.Subject, ref, user string) error {
	return s.changeMember(ctx, actor, ref, user, codersdk.RBACActionDelete,
		func(q *sqlc.Queries, o sqlc.Organization, u sqlc.User) (any, any, error) {
			row, err := q.OrganizationMember(ctx, o.ID, u.ID)
			if err != nil {
				return nil, nil, err
			}
			owns, err := q.MemberOwnsWorkspaces(ctx, o.ID, u.ID)
			if err == nil && owns {
				err = codersdk.Errorf(codersdk.CodeConflict, "%s still owns workspaces in %s; delete them first", u.Username, o.Name)
			}
			if err != nil {
				return nil, nil, err
			}
			if _, err := organization.Forget(ctx, q, o.ID, u.ID); err != nil {
				return nil, nil, err
			}
			_, err = q.DeleteOrganizationMember(ctx, o.ID, u.ID)
			return member(row, nil), nil, err
		})
}

// UpdateMemberRoles replaces a member's roles in the organization. Only site owners
// can change their own roles, and nobody can grant or revoke a role with more
// permissions than their own.
func (s *Service) UpdateMemberRoles(
	ctx context.Context,
	actor access.Subject,
	organization, user string,
	req codersdk.UpdateRoles,
) (codersdk.OrganizationMember, error) {
	var out codersdk.OrganizationMember
	err := s.changeMember(ctx, actor, organization, user, codersdk.RBACActionAssign,
		func(q *sqlc.Queries, o sqlc.Organization, u sqlc.User) (any, any, error) {
			if u.ID == actor.UserID && !actor.IsOwner() {
				return nil, nil, codersdk.Errorf(codersdk.CodeInvalid, "You cannot change your own roles")
			}
			own, err := q.CustomRoles(ctx, o.ID)
			if err != nil {
				return nil, nil, err
			}
			known := access.OrganizationRoles(o.ID)
			for _, r := range own {
				known = append(known, codersdk.Role{Name: r.Name, OrganizationPermissions: r.OrganizationPermissions, OrganizationMemberPermissions: r.MemberPermissions})
			}
			roles, err := roleNames(req.Roles, access.RoleOrganizationMember, known)
			if err != nil {
				return nil, nil, err
			}
			old, err := q.OrganizationMemberForUpdate(ctx, o.ID, u.ID)
			if err != nil {
				return nil, nil, err
			}
			if err := req.Check("member", old.UpdatedAt); err != nil {
				return nil, nil, err
			}
			for _, r := range known {
				if slices.Contains(roles, r.Name) != slices.Contains(old.Roles, r.Name) {
					if err := actor.CheckHolds(r, o.ID); err != nil {
						return nil, nil, err
					}
				}
			}
			row, err := q.UpdateOrganizationMemberRoles(ctx, sqlc.UpdateOrganizationMemberRolesParams{
				OrganizationID: o.ID, UserID: u.ID, Roles: roles, Now: s.now(),
			})
			out = member(row, own)
			return member(old, own), out, err
		})
	return out, err
}

func member(r sqlc.OrganizationMember, own []sqlc.CustomRole) codersdk.OrganizationMember {
	return codersdk.OrganizationMember{
		UserID: r.UserID, OrganizationID: r.OrganizationID, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Roles: slimRoles(r.OrganizationID, r.Roles, own),
	}
}

// SiteRoles lists the site roles and whether the actor can assign them.
func (s *Service) SiteRoles(actor access.Subject) ([]codersdk.AssignableRoles, error) {
	if err := actor.Check(codersdk.RBACActionRead, access.Object{Type: codersdk.RBACResourceAssignRole}); err != nil {
		return nil, err
	}
	return assignable(access.SiteRoles(), actor.Can(codersdk.RBACActionAssign, access.Object{Type: codersdk.RBACResourceAssignRole})), nil
}

func assignable(roles []codersdk.Role, may bool) []codersdk.AssignableRoles {
	out := make([]codersdk.AssignableRoles, len(roles))
	for i, r := range roles {
		out[i] = codersdk.AssignableRoles{
			Assignable: may, BuiltIn: true, Name: r.Name, DisplayName: r.DisplayName, OrganizationID: r.OrganizationID,
			SitePermissions: r.SitePermissions, OrganizationPermissions: r.OrganizationPermissions,
			OrganizationMemberPermissions: r.OrganizationMemberPermissions, UserPermissions: r.UserPermissions,
		}
	}
	return out
}
