package workspaceapp_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// TestAllows is the whole rule: who may open an app of which level, by which
// way, under which rules. (NET-06, NET-08)
func TestAllows(t *testing.T) {
	home, away, owner := uuid.New(), uuid.New(), uuid.New()
	in := func(org uuid.UUID, roles ...string) map[uuid.UUID][]string { return map[uuid.UUID][]string{org: roles} }
	people := map[string]access.Subject{
		"anonymous":      {},
		"owner":          {UserID: owner, OrganizationRoles: in(home)},
		"member":         {UserID: uuid.New(), OrganizationRoles: in(home)},
		"org admin":      {UserID: uuid.New(), OrganizationRoles: in(home, access.RoleOrganizationAdmin)},
		"other org":      {UserID: uuid.New(), OrganizationRoles: in(away)},
		"other admin":    {UserID: uuid.New(), OrganizationRoles: in(away, access.RoleOrganizationAdmin)},
		"site owner":     {UserID: uuid.New(), SiteRoles: []string{access.RoleOwner}, OrganizationRoles: in(away)},
		"kept out owner": {UserID: uuid.New(), SiteRoles: []string{access.RoleOwner}, NoOwnerWorkspaceAccess: true, OrganizationRoles: in(away)},
		"template admin": {UserID: uuid.New(), SiteRoles: []string{access.RoleTemplateAdmin}, OrganizationRoles: in(away)},
		"app token":      {UserID: owner, OrganizationRoles: in(home), Scopes: []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderApplicationConnect}},
		"read token":     {UserID: owner, OrganizationRoles: in(home), Scopes: []codersdk.APIKeyScope{"workspace:read"}},
		"token of other": {UserID: uuid.New(), OrganizationRoles: in(home), Scopes: []codersdk.APIKeyScope{"workspace:read"}},
		"elsewhere token": {UserID: owner, OrganizationRoles: in(home), AllowList: []codersdk.APIAllowListTarget{
			{Type: codersdk.RBACResourceWorkspace, ID: uuid.NewString()},
		}},
	}
	mine := []string{"owner", "app token"}
	roles := append([]string{"site owner"}, mine...)
	same := append([]string{"member", "org admin"}, roles...)
	known := append([]string{"other org", "other admin", "kept out owner", "template admin"}, same...)
	all := append([]string{"anonymous", "read token", "token of other", "elsewhere token"}, known...)
	none, share, enter := workspaceapp.Rules{}, workspaceapp.Rules{PathSharing: true}, workspaceapp.Rules{PathSiteOwners: true}
	for _, c := range []struct {
		level  codersdk.WorkspaceAppSharingLevel
		method workspaceapp.Method
		rules  workspaceapp.Rules
		who    []string
	}{
		{codersdk.WorkspaceAppSharingLevelOwner, workspaceapp.MethodSubdomain, none, roles},
		{codersdk.WorkspaceAppSharingLevelOrganization, workspaceapp.MethodSubdomain, none, same},
		{codersdk.WorkspaceAppSharingLevelAuthenticated, workspaceapp.MethodSubdomain, none, known},
		{codersdk.WorkspaceAppSharingLevelPublic, workspaceapp.MethodSubdomain, none, all},
		{"nonsense", workspaceapp.MethodSubdomain, none, roles},
		{"", workspaceapp.MethodSubdomain, none, roles},

		{codersdk.WorkspaceAppSharingLevelOwner, workspaceapp.MethodPath, none, mine},
		{codersdk.WorkspaceAppSharingLevelOrganization, workspaceapp.MethodPath, none, mine},
		{codersdk.WorkspaceAppSharingLevelAuthenticated, workspaceapp.MethodPath, none, mine},
		{codersdk.WorkspaceAppSharingLevelPublic, workspaceapp.MethodPath, none, mine},

		{codersdk.WorkspaceAppSharingLevelOwner, workspaceapp.MethodPath, enter, roles},
		{codersdk.WorkspaceAppSharingLevelPublic, workspaceapp.MethodPath, enter, roles},

		{codersdk.WorkspaceAppSharingLevelOwner, workspaceapp.MethodPath, share, mine},
		{codersdk.WorkspaceAppSharingLevelOrganization, workspaceapp.MethodPath, share, append([]string{"member", "org admin"}, mine...)},
		{codersdk.WorkspaceAppSharingLevelAuthenticated, workspaceapp.MethodPath, share, known},
		{codersdk.WorkspaceAppSharingLevelPublic, workspaceapp.MethodPath, share, all},
	} {
		target := workspaceapp.Target{WorkspaceID: uuid.New(), OwnerID: owner, OrganizationID: home, Level: c.level}
		want := map[string]bool{}
		for _, name := range c.who {
			want[name] = true
		}
		for name, actor := range people {
			if got := target.Allows(actor, c.method, c.rules); got != want[name] {
				t.Errorf("%s by %s under %+v: %s may: %v", c.level, c.method, c.rules, name, got)
			}
		}
	}
}
