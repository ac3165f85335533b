package organization

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Bounds of an organization's own roles.
const (
	maxRoles       = 200
	maxPermissions = 500
)

var roleName = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// Roles lists the roles of an organization, the built-in ones first, and
// whether the actor may give each. (AU-07)
func (s *Service) Roles(ctx context.Context, actor access.Subject, organizationID uuid.UUID) ([]coder.AssignableRoles, error) {
	object := roleObject(organizationID)
	if err := actor.Check(coder.RBACActionRead, object); err != nil {
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
	may := actor.Can(coder.RBACActionAssign, object)
	out := make([]coder.AssignableRoles, len(all))
	for i, r := range all {
		out[i] = coder.AssignableRoles{
			Assignable: may && actor.CheckHolds(r, organizationID) == nil, BuiltIn: i < builtIn, Name: r.Name, DisplayName: r.DisplayName,
			OrganizationID: r.OrganizationID, UpdatedAt: r.UpdatedAt, SitePermissions: r.SitePermissions, OrganizationPermissions: r.OrganizationPermissions,
			OrganizationMemberPermissions: r.OrganizationMemberPermissions, UserPermissions: r.UserPermissions,
		}
	}
	return out, nil
}

func roleObject(organizationID uuid.UUID) access.Object {
	return access.Object{Type: coder.RBACResourceAssignOrgRole, OrganizationID: organizationID}
}

func role(r sqlc.CustomRole) coder.Role {
	return coder.Role{
		Name: r.Name, DisplayName: r.DisplayName, OrganizationID: r.OrganizationID.String(), UpdatedAt: &r.UpdatedAt,
		SitePermissions: []coder.Permission{}, UserPermissions: []coder.Permission{},
		OrganizationPermissions:       append([]coder.Permission{}, r.OrganizationPermissions...),
		OrganizationMemberPermissions: append([]coder.Permission{}, r.MemberPermissions...),
	}
}

// checkRole checks a request for a role, whose permissions may be repeated.
func checkRole(req coder.CustomRoleRequest) (coder.CustomRoleRequest, error) {
	if len(req.SitePermissions) > 0 {
		return req, coder.Invalid("site_permissions", "a role of an organization has no permissions on the whole site")
	}
	if len(req.UserPermissions) > 0 {
		return req, coder.Invalid("user_permissions", "a role of an organization has no permissions beyond it; organization_member_permissions speak of what members own in it")
	}
	for _, f := range []struct {
		name string
		list *[]coder.Permission
	}{{"organization_permissions", &req.OrganizationPermissions}, {"organization_member_permissions", &req.OrganizationMemberPermissions}} {
		if len(*f.list) > maxPermissions {
			return req, coder.Invalid(f.name, "at most %d", maxPermissions)
		}
		seen := []coder.Permission{}
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
	return req, coder.CheckDisplayName("display_name", req.DisplayName)
}

// without gives the permissions that old does not have.
func without(ps, old []coder.Permission) (out []coder.Permission) {
	for _, p := range ps {
		if !slices.Contains(old, p) {
			out = append(out, p)
		}
	}
	return out
}

// CreateRole makes a role of the organization's own. (AU-07)
func (s *Service) CreateRole(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req coder.CustomRoleRequest) (coder.Role, error) {
	var none coder.Role
	if err := actor.Check(coder.RBACActionCreate, roleObject(organizationID)); err != nil {
		return none, err
	}
	switch {
	case access.ReservedRole(req.Name):
		return none, coder.Invalid("name", "%q is the name of a built-in role", req.Name)
	case len(req.Name) > 64 || !roleName.MatchString(req.Name):
		return none, coder.Invalid("name", "%.70q must be 1 to 64 lower-case letters and digits with single hyphens between them", req.Name)
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
			return coder.Errorf(coder.CodeInvalid, "The organization has %d roles of its own, which is the most there can be", n)
		}
		row, err = q.CustomRoleInsert(ctx, sqlc.CustomRoleInsertParams{
			ID: uuid.New(), OrganizationID: organizationID, Name: req.Name, DisplayName: req.DisplayName,
			OrganizationPermissions: req.OrganizationPermissions, MemberPermissions: req.OrganizationMemberPermissions, Now: s.now(),
		})
		if postgres.Constraint(err) == "custom_roles_pkey" {
			return &coder.Error{Code: coder.CodeConflict, Message: "A role of this name exists already in this organization", Err: err, Fields: []coder.ValidationError{{Field: "name", Detail: "is taken"}}}
		}
		if err != nil {
			return err
		}
		if err := actor.CheckHolds(role(row), organizationID); err != nil {
			return err
		}
		return recordRole(ctx, q, actor, coder.AuditActionCreate, row, audit.Diff(nil, role(row)))
	})
	return role(row), err
}

// UpdateRole replaces display name and permissions of one of the
// organization's own roles; those who have it may do at once what it says now.
func (s *Service) UpdateRole(ctx context.Context, actor access.Subject, organizationID uuid.UUID, req coder.CustomRoleRequest) (coder.Role, error) {
	var row sqlc.CustomRole
	req, err := checkRole(req)
	if err != nil {
		return coder.Role{}, err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := s.ownRole(ctx, q, actor, coder.RBACActionUpdate, organizationID, req.Name)
		if err != nil {
			return err
		}
		if err := req.Check("role", old.UpdatedAt); err != nil {
			return err
		}
		gained := coder.Role{
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
		return recordRole(ctx, q, actor, coder.AuditActionWrite, row, diff)
	})
	if err == nil {
		s.changedAllRights()
	}
	return role(row), err
}

// DeleteRole deletes one of the organization's own roles, and takes it from
// all who have it.
func (s *Service) DeleteRole(ctx context.Context, actor access.Subject, organizationID uuid.UUID, name string) (coder.Role, error) {
	var old sqlc.CustomRole
	var had []uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		var err error
		if old, err = s.ownRole(ctx, q, actor, coder.RBACActionDelete, organizationID, name); err != nil {
			return err
		}
		if had, err = q.CustomRoleForget(ctx, name, s.now(), organizationID); err != nil {
			return err
		}
		if err := q.CustomRoleDelete(ctx, organizationID, name); err != nil {
			return err
		}
		return recordRole(ctx, q, actor, coder.AuditActionDelete, old, audit.Diff(role(old), nil))
	})
	if err == nil {
		s.changedRights(had)
	}
	return role(old), err
}

// ownRole holds a role of the organization's own that the actor may change.
func (s *Service) ownRole(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.RBACAction, organizationID uuid.UUID, name string) (sqlc.CustomRole, error) {
	if err := actor.Check(action, roleObject(organizationID)); err != nil {
		return sqlc.CustomRole{}, err
	}
	if access.ReservedRole(name) {
		return sqlc.CustomRole{}, coder.Errorf(coder.CodeInvalid, "The role %s is built in and stays as it is", name)
	}
	r, err := q.CustomRoleForUpdate(ctx, organizationID, name)
	if coder.Is(err, coder.CodeNotFound) {
		err = coder.Errorf(coder.CodeNotFound, "The organization has no role %.64q of its own", name)
	}
	return r, err
}

func recordRole(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.AuditAction, r sqlc.CustomRole, d coder.AuditDiff) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: coder.ResourceTypeCustomRole, ResourceID: r.ID, OrganizationID: r.OrganizationID, Target: r.Name, Diff: d,
	})
}
