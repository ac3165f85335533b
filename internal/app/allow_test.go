package app_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/app"
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
		"app token":      {UserID: owner, OrganizationRoles: in(home), Scopes: []coder.APIKeyScope{coder.APIKeyScopeCoderApplicationConnect}},
		"read token":     {UserID: owner, OrganizationRoles: in(home), Scopes: []coder.APIKeyScope{"workspace:read"}},
		"token of other": {UserID: uuid.New(), OrganizationRoles: in(home), Scopes: []coder.APIKeyScope{"workspace:read"}},
		"elsewhere token": {UserID: owner, OrganizationRoles: in(home), AllowList: []coder.APIAllowListTarget{
			{Type: coder.RBACResourceWorkspace, ID: uuid.NewString()},
		}},
	}
	mine := []string{"owner", "app token"}
	roles := append([]string{"site owner"}, mine...)
	same := append([]string{"member", "org admin"}, roles...)
	known := append([]string{"other org", "other admin", "kept out owner", "template admin"}, same...)
	all := append([]string{"anonymous", "read token", "token of other", "elsewhere token"}, known...)
	none, share, enter := app.Rules{}, app.Rules{PathSharing: true}, app.Rules{PathSiteOwners: true}
	for _, c := range []struct {
		level  coder.WorkspaceAppSharingLevel
		method app.Method
		rules  app.Rules
		who    []string
	}{
		{coder.WorkspaceAppSharingLevelOwner, app.MethodSubdomain, none, roles},
		{coder.WorkspaceAppSharingLevelOrganization, app.MethodSubdomain, none, same},
		{coder.WorkspaceAppSharingLevelAuthenticated, app.MethodSubdomain, none, known},
		{coder.WorkspaceAppSharingLevelPublic, app.MethodSubdomain, none, all},
		{"nonsense", app.MethodSubdomain, none, roles},
		{"", app.MethodSubdomain, none, roles},

		{coder.WorkspaceAppSharingLevelOwner, app.MethodPath, none, mine},
		{coder.WorkspaceAppSharingLevelOrganization, app.MethodPath, none, mine},
		{coder.WorkspaceAppSharingLevelAuthenticated, app.MethodPath, none, mine},
		{coder.WorkspaceAppSharingLevelPublic, app.MethodPath, none, mine},

		{coder.WorkspaceAppSharingLevelOwner, app.MethodPath, enter, roles},
		{coder.WorkspaceAppSharingLevelPublic, app.MethodPath, enter, roles},

		{coder.WorkspaceAppSharingLevelOwner, app.MethodPath, share, mine},
		{coder.WorkspaceAppSharingLevelOrganization, app.MethodPath, share, append([]string{"member", "org admin"}, mine...)},
		{coder.WorkspaceAppSharingLevelAuthenticated, app.MethodPath, share, known},
		{coder.WorkspaceAppSharingLevelPublic, app.MethodPath, share, all},
	} {
		target := app.Target{WorkspaceID: uuid.New(), OwnerID: owner, OrganizationID: home, Level: c.level}
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
