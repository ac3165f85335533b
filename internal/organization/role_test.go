package organization_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

func permits(t codersdk.RBACResource, actions ...codersdk.RBACAction) (out []codersdk.Permission) {
	for _, a := range actions {
		out = append(out, codersdk.Permission{ResourceType: t, Action: a})
	}
	return out
}

func TestRoleLife(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann := h.user("ann")
	r, err := h.CreateRole(ctx, h.root, h.org, codersdk.CustomRoleRequest{
		Name: "reader", DisplayName: "Reader of all", OrganizationPermissions: append(permits(codersdk.RBACResourceWorkspace, "read"), permits(codersdk.RBACResourceWorkspace, "read")...),
	})
	h.must(err)
	if r.Name != "reader" || len(r.OrganizationPermissions) != 1 || r.SitePermissions == nil || r.OrganizationID != h.org.String() {
		t.Errorf("made %+v", r)
	}
	theirs := access.Object{Type: codersdk.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: h.org, OwnerID: h.root.UserID}
	if ann.Can(codersdk.RBACActionRead, theirs) {
		t.Fatal("ann reads already")
	}
	m, err := h.people.UpdateMemberRoles(ctx, h.root, h.org.String(), "ann", codersdk.UpdateRoles{Roles: []string{"reader"}})
	if err != nil || len(m.Roles) != 1 || m.Roles[0].DisplayName != "Reader of all" {
		t.Fatalf("given: %+v, %v", m, err)
	}
	ann = h.as(ann.UserID)
	if !ann.Can(codersdk.RBACActionRead, theirs) || ann.Can(codersdk.RBACActionUpdate, theirs) {
		t.Error("the role does not do what it says")
	}
	if f := ann.Filter(codersdk.RBACResourceWorkspace); !slices.Contains(f.OrganizationIDs, h.org) {
		t.Error("lists do not know of the role")
	}
	_, err = h.UpdateRole(ctx, h.root, h.org, codersdk.CustomRoleRequest{Name: "reader", OrganizationPermissions: permits(codersdk.RBACResourceWorkspace, "read", "update")})
	h.must(err)
	if a := h.lastAudit(); a.ResourceType != codersdk.ResourceTypeCustomRole || a.Action != codersdk.AuditActionWrite || a.Diff["organization_permissions"].New == nil {
		t.Errorf("the log has %+v", a)
	}
	if !h.as(ann.UserID).Can(codersdk.RBACActionUpdate, theirs) {
		t.Error("the change of a role does not reach who has it")
	}
	if err = h.DeleteRole(ctx, h.root, h.org, "reader"); err != nil {
		t.Fatal(err)
	}
	if ann = h.as(ann.UserID); ann.Can(codersdk.RBACActionRead, theirs) || len(ann.OrganizationRoles[h.org]) != 0 {
		t.Error("a deleted role lives on")
	}
	// A role of the same name made later is not theirs.
	_, err = h.CreateRole(ctx, h.root, h.org, codersdk.CustomRoleRequest{Name: "reader", OrganizationPermissions: permits(codersdk.RBACResourceWorkspace, "read")})
	h.must(err)
	if h.as(ann.UserID).Can(codersdk.RBACActionRead, theirs) {
		t.Error("a new role went to who had the old one of its name")
	}
}

func TestRoleRefuses(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	read := permits(codersdk.RBACResourceTemplate, "read")
	_, err := h.CreateRole(ctx, h.root, h.org, codersdk.CustomRoleRequest{Name: "taken", OrganizationPermissions: read})
	h.must(err)
	for what, req := range map[string]codersdk.CustomRoleRequest{
		"no name":                  {},
		"name in capitals":         {Name: "Big"},
		"a built-in one":           {Name: "organization-admin"},
		"one of the site":          {Name: "owner"},
		"that of every member":     {Name: "organization-member"},
		"a name with markup":       {Name: "<b>"},
		"a long name":              {Name: strings.Repeat("x", 65)},
		"the whole site":           {Name: "x", SitePermissions: read},
		"all of one's own":         {Name: "x", UserPermissions: read},
		"taking away":              {Name: "x", OrganizationPermissions: []codersdk.Permission{{ResourceType: codersdk.RBACResourceTemplate, Action: "read", Negate: true}}},
		"everything":               {Name: "x", OrganizationPermissions: permits(codersdk.RBACResourceAny, "*")},
		"what is not there":        {Name: "x", OrganizationPermissions: permits("moon", "read")},
		"what cannot be done":      {Name: "x", OrganizationPermissions: permits(codersdk.RBACResourceTemplate, "ssh")},
		"what no organization has": {Name: "x", OrganizationPermissions: permits(codersdk.RBACResourceLicense, "read")},
		"taken":                    {Name: "taken"},
	} {
		if _, err := h.CreateRole(ctx, h.root, h.org, req); codersdk.CodeOf(err) != codersdk.CodeInvalid && codersdk.CodeOf(err) != codersdk.CodeConflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = h.UpdateRole(ctx, h.root, h.org, codersdk.CustomRoleRequest{Name: "organization-admin"})
	h.want("changing a built-in role", err, codersdk.CodeInvalid)
	err = h.DeleteRole(ctx, h.root, h.org, "organization-admin")
	h.want("deleting a built-in role", err, codersdk.CodeInvalid)
	err = h.DeleteRole(ctx, h.root, h.org, "nothing")
	h.want("deleting no role", err, codersdk.CodeNotFound)
}

// TestNobodyMakesMoreOfThemselves: roles are made of, and given with, what one
// has; who may do neither finds no way around.
func TestNobodyMakesMoreOfThemselves(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann, bob := h.user("ann"), h.user("bob")
	makes := append(permits(codersdk.RBACResourceAssignOrgRole, "create", "update", "delete", "assign", "unassign", "read"), permits(codersdk.RBACResourceTemplate, "read")...)
	_, err := h.CreateRole(ctx, h.root, h.org, codersdk.CustomRoleRequest{Name: "maker", OrganizationPermissions: makes})
	h.must(err)
	_, err = h.people.UpdateMemberRoles(ctx, h.root, h.org.String(), "ann", codersdk.UpdateRoles{Roles: []string{"maker"}})
	h.must(err)
	_, err = h.people.UpdateMemberRoles(ctx, h.root, h.org.String(), "bob", codersdk.UpdateRoles{Roles: []string{access.RoleOrganizationTemplateAdmin}})
	h.must(err)
	ann = h.as(ann.UserID)

	_, err = h.CreateRole(ctx, ann, h.org, codersdk.CustomRoleRequest{Name: "king", OrganizationPermissions: permits(codersdk.RBACResourceTemplate, "read", "update")})
	h.want("a role of more than one has", err, codersdk.CodeForbidden)
	if err == nil || !strings.Contains(err.Error(), "update a template") {
		t.Errorf("the refusal does not say what is missing: %v", err)
	}
	_, err = h.CreateRole(ctx, ann, h.org, codersdk.CustomRoleRequest{Name: "king", OrganizationPermissions: permits(codersdk.RBACResourceTemplate, "*")})
	h.want("a role of everything with templates", err, codersdk.CodeForbidden)
	_, err = h.CreateRole(ctx, ann, h.org, codersdk.CustomRoleRequest{Name: "lesser", OrganizationPermissions: permits(codersdk.RBACResourceTemplate, "read")})
	h.want("a role of what one has", err, "")
	_, err = h.CreateRole(ctx, ann, h.org, codersdk.CustomRoleRequest{Name: "own", OrganizationMemberPermissions: permits(codersdk.RBACResourceWorkspace, "ssh")})
	h.want("a role of what one may do with one's own", err, "")
	_, err = h.UpdateRole(ctx, ann, h.org, codersdk.CustomRoleRequest{Name: "lesser", OrganizationPermissions: permits(codersdk.RBACResourceGroup, "delete")})
	h.want("growing a role", err, codersdk.CodeForbidden)
	_, err = h.people.UpdateMemberRoles(ctx, ann, h.org.String(), "bob", codersdk.UpdateRoles{Roles: []string{access.RoleOrganizationTemplateAdmin, "lesser"}})
	h.want("giving what one has", err, "")
	_, err = h.people.UpdateMemberRoles(ctx, ann, h.org.String(), "bob", codersdk.UpdateRoles{Roles: []string{access.RoleOrganizationAdmin}})
	h.want("giving administration", err, codersdk.CodeForbidden)
	_, err = h.people.UpdateMemberRoles(ctx, ann, h.org.String(), "bob", codersdk.UpdateRoles{Roles: []string{"lesser"}})
	h.want("taking away more than one has", err, codersdk.CodeForbidden)
	_, err = h.people.UpdateMemberRoles(ctx, ann, h.org.String(), "ann", codersdk.UpdateRoles{Roles: []string{"maker", access.RoleOrganizationAdmin}})
	h.want("giving oneself", err, codersdk.CodeInvalid)
	_, err = h.CreateRole(ctx, h.as(bob.UserID), h.org, codersdk.CustomRoleRequest{Name: "bobs"})
	h.want("a role by who may make none", err, codersdk.CodeForbidden)

	roles, err := h.Roles(ctx, ann, h.org)
	h.must(err)
	for _, r := range roles {
		may := r.Name == "lesser" || r.Name == "maker" || r.Name == "own" || r.Name == access.RoleOrganizationCreationBan
		if r.Assignable != may {
			t.Errorf("%s is assignable: %v", r.Name, r.Assignable)
		}
		if r.BuiltIn != strings.HasPrefix(r.Name, "organization-") {
			t.Errorf("%s is built in: %v", r.Name, r.BuiltIn)
		}
	}
	admin := h.user("ada", access.RoleOrganizationAdmin)
	roles, err = h.Roles(ctx, admin, h.org)
	h.must(err)
	for _, r := range roles {
		if !r.Assignable {
			t.Errorf("an administrator may not give %s", r.Name)
		}
	}
}
