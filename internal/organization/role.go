package organization

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of custom roles.
const (
	maxRoles       = 200
	maxPermissions = 500
)

var roleName = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// Roles lists the roles of an organization, the built-in ones first, and whether the actor can
// assign each. (AU-07)
func (s *Service) Roles(ctx context.Context, actor access.Subject, organizationID uuid.UUID) ([]codersdk.AssignableRoles, error) {
	object := roleObject(organizationID)
	if err := actor.Check(codersdk.RBACActionRead, object); err != nil {
		return nil, err
	}
	rows, err := s.c.Store.CustomRoles(ctx, organizationID)
	if err != nil {
		return nil, err
	}
	all := access.OrganizationRoles(organizationID)
	builtIn := len(all)
	for _, r := range rows {
		all = append(all, role(r))
	}
	may := actor.Can(codersdk.RBACActionAssign, object)
	out := make([]codersdk.AssignableRoles, len(all))
	for i, r := range all {
		out[i] = codersdk.AssignableRoles{
			Assignable: may && actor.CheckHolds(r, organizationID) == nil, BuiltIn: i < builtIn, Name: r.Name, DisplayName: r.DisplayName,
			OrganizationID: r.OrganizationID, UpdatedAt: r.UpdatedAt, SitePermissions: r.SitePermissions, OrganizationPermissions: r.OrganizationPermissions,
			OrganizationMemberPermissions: r.OrganizationMemberPermissions, UserPermissions: r.UserPermissions,
		}
	}
	return out, nil
}

func roleObject(organizationID uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceAssignOrgRole, OrganizationID: organizationID}
}

func role(r sqlc.CustomRole) codersdk.Role {
	return codersdk.Role{
		Name: r.Name, DisplayName: r.DisplayName, OrganizationID: r.OrganizationID.String(), UpdatedAt: &r.UpdatedAt,
		SitePermissions: []codersdk.Permission{}, UserPermissions: []codersdk.Permission{},
		OrganizationPermissions:       append([]codersdk.Permission{}, r.OrganizationPermissions...),
		OrganizationMemberPermissions: append([]codersdk.Permission{}, r.MemberPermissions...),
	}
}

// checkRole checks a requested role. Repeated permissions are merged.
func checkRole(req codersdk.CustomRoleRequest) (codersdk.CustomRoleRequest, error) {
	if len(req.SitePermissions) > 0 {
		return req, codersdk.Invalid("site_permissions", "a role of an organization cannot have site permissions")
	}
	if len(req.UserPermissions) > 0 {
		return req, codersdk.Invalid("user_permissions",
			"a role of an organization cannot have user permissions; use organization_member_permissions for objects that members own in the organization")
	}
	for _, f := range []struct {
		name string
		list *[]codersdk.Permission
	}{{"organization_permissions", &req.OrganizationPermissions}, {"organization_member_permissions", &req.OrganizationMemberPermissions}} {
		if len(*f.list) > maxPermissions {
			return req, codersdk.Invalid(f.name, "at most %d are allowed", maxPermissions)
		}
		seen := []codersdk.Permission{}
		for i, p := range *f.list {
			if err := access.CheckPermission(fmt.Sprintf("%s[%d]", f.name, i), p); err != nil {
				return req, err
			}
			if !slices.Contains(seen, p) {
				seen = append(seen, p)
			}
		}
		*f.list = seen
	}
	return req, codersdk.CheckDisplayName("display_name", req.DisplayName)
}

// without returns the permissions that are not in old.
func without(ps, old []codersdk.Permission) (out []codersdk.Permission) {
	for _, p := range ps {
		if !slices.Contains(old, p) {
			out = append(out, p)
		}
	}
	return out
}

// CreateRole creates a custom role of the organization. (AU-07)
func (s *Service) CreateRole(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req codersdk.CustomRoleRequest) (codersdk.Role, error) {
	var none codersdk.Role
	if err := actor.Check(codersdk.RBACActionCreate, roleObject(organizationID)); err != nil {
		return none, err
	}
	switch {
	case access.ReservedRole(req.Name):
		return none, codersdk.Invalid("name", "%q is the name of a built-in role", req.Name)
	case len(req.Name) > 64 || !roleName.MatchString(req.Name):
		return none, codersdk.Invalid("name", "%.70q must be 1 to 64 lowercase letters and digits with single hyphens between them", req.Name)
	}
	req, err := checkRole(req)
	if err != nil {
		return none, err
	}
	var row sqlc.CustomRole
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		n, err := q.CustomRoleCount(ctx, organizationID)
		if err != nil {
			return err
		}
		if n >= maxRoles {
			return codersdk.Errorf(codersdk.CodeInvalid, "The organization has %d custom roles, which is the maximum", n)
		}
		row, err = q.CustomRoleInsert(ctx, sqlc.CustomRoleInsertParams{
			ID: uuid.New(), OrganizationID: organizationID, Name: req.Name, DisplayName: req.DisplayName,
			OrganizationPermissions: req.OrganizationPermissions, MemberPermissions: req.OrganizationMemberPermissions, Now: s.now(),
		})
		if postgres.Constraint(err) == "custom_roles_pkey" {
			return &codersdk.Error{
				Code: codersdk.CodeConflict, Message: "A role with this name already exists in this organization", Err: err,
				Fields: []codersdk.ValidationError{{Field: "name", Detail: "is taken"}},
			}
		}
		if err != nil {
			return err
		}
		if err := actor.CheckHolds(role(row), organizationID); err != nil {
			return err
		}
		return recordRole(ctx, q, actor, codersdk.AuditActionCreate, row, audit.Diff(nil, role(row)))
	})
	return role(row), err
}

// UpdateRole replaces display name and permissions of a custom role. The change applies to its
// holders at once.
func (s *Service) UpdateRole(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req codersdk.CustomRoleRequest) (codersdk.Role, error) {
	var row sqlc.CustomRole
	req, err := checkRole(req)
	if err != nil {
		return codersdk.Role{}, err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := s.ownRole(ctx, q, actor, codersdk.RBACActionUpdate, organizationID, req.Name)
		if err != nil {
			return err
		}
		if err := req.Check("role", old.UpdatedAt); err != nil {
			return err
		}
		gained := codersdk.Role{
			OrganizationPermissions:       without(req.OrganizationPermissions, old.OrganizationPermissions),
			OrganizationMemberPermissions: without(req.OrganizationMemberPermissions, old.MemberPermissions),
		}
		if err := actor.CheckHolds(gained, organizationID); err != nil {
			return err
		}
		row, err = q.CustomRoleUpdate(ctx, sqlc.CustomRoleUpdateParams{
			OrganizationID: organizationID, Name: old.Name, DisplayName: req.DisplayName,
			OrganizationPermissions: req.OrganizationPermissions, MemberPermissions: req.OrganizationMemberPermissions, Now: s.now(),
		})
		if err != nil {
			return err
		}
		diff := audit.Diff(role(old), role(row))
		if len(diff) == 0 {
			return nil
		}
		return recordRole(ctx, q, actor, codersdk.AuditActionWrite, row, diff)
	})
	if err == nil {
		s.changedAllRights()
	}
	return role(row), err
}

// DeleteRole deletes a custom role and removes it from all of its holders.
func (s *Service) DeleteRole(ctx context.Context, actor access.Subject, organizationID uuid.UUID, name string) error {
	var had []uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := s.ownRole(ctx, q, actor, codersdk.RBACActionDelete, organizationID, name)
		if err != nil {
			return err
		}
		if had, err = q.CustomRoleForget(ctx, name, s.now(), organizationID); err != nil {
			return err
		}
		if err := q.CustomRoleDelete(ctx, organizationID, name); err != nil {
			return err
		}
		return recordRole(ctx, q, actor, codersdk.AuditActionDelete, old, audit.Diff(role(old), nil))
	})
	if err == nil {
		s.changedRights(had)
	}
	return err
}

// ownRole locks a custom role that the actor can change.
func (s *Service) ownRole(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	action codersdk.RBACAction,
	organizationID uuid.UUID,
	name string,
) (sqlc.CustomRole, error) {
	if err := actor.Check(action, roleObject(organizationID)); err != nil {
		return sqlc.CustomRole{}, err
	}
	if access.ReservedRole(name) {
		return sqlc.CustomRole{}, codersdk.Errorf(codersdk.CodeInvalid, "The role %s is built in and cannot be changed", name)
	}
	r, err := q.CustomRoleForUpdate(ctx, organizationID, name)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = codersdk.Errorf(codersdk.CodeNotFound, "Custom role %.64q not found in the organization", name)
	}
	return r, err
}

func recordRole(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.AuditAction, r sqlc.CustomRole, d codersdk.AuditDiff) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeCustomRole, ResourceID: r.ID, OrganizationID: r.OrganizationID, Target: r.Name, Diff: d,
	})
}
