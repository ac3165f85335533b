package workspace_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// TestListsAgreeWithAccess: the SQL of the list shows exactly the workspaces
// that access lets one read, for all ways in which one may read them, with the rights that access grants.
func TestListsAgreeWithAccess(t *testing.T) {
	h := open(t)
	far, group := uuid.New(), uuid.New()
	h.exec(`INSERT INTO organizations (id, name, created_at, updated_at) VALUES ($1, 'far', now(), now())`, far)
	h.exec(`INSERT INTO groups (id, organization_id, name) VALUES ($1, $2, 'friends')`, group, h.org)
	me, everyone := h.ann.UserID.String(), h.org.String()
	objects := map[string]access.Object{}
	for _, owner := range []access.Subject{h.ann, h.bob} {
		for _, org := range []uuid.UUID{h.org, far} {
			for i, acl := range []struct{ users, groups map[string]string }{
				{}, {users: map[string]string{me: "use"}}, {users: map[string]string{h.bob.UserID.String(): "admin"}},
				{groups: map[string]string{group.String(): "admin"}}, {groups: map[string]string{everyone: "use"}}, {groups: map[string]string{far.String(): "use"}},
			} {
				name := fmt.Sprintf("w%d-%s", i, org.String()[:4])
				w := h.create(owner, name)
				h.exec(`UPDATE workspaces SET organization_id = $2, user_acl = $3, group_acl = $4 WHERE id = $1`, w.ID, org, orEmpty(acl.users), orEmpty(acl.groups))
				objects[owner.Username+"/"+name] = access.Object{Type: codersdk.RBACResourceWorkspace, ID: w.ID, OrganizationID: org, OwnerID: owner.UserID, UserACL: acl.users, GroupACL: acl.groups}
			}
		}
	}
	one := slices.Sorted(maps.Keys(objects))[0]
	for what, change := range map[string]func(*access.Subject){
		"member":                                 func(*access.Subject) {},
		"member of the group":                    func(s *access.Subject) { s.Groups = []uuid.UUID{group} },
		"member of both":                         func(s *access.Subject) { s.OrganizationRoles[far] = nil },
		"stranger":                               func(s *access.Subject) { s.OrganizationRoles = nil },
		"of the group, but where sharing is off": func(s *access.Subject) { s.Groups, s.NoSharing = []uuid.UUID{group}, true },
		"administrator":                          func(s *access.Subject) { s.OrganizationRoles[h.org] = []string{access.RoleOrganizationAdmin} },
		"owner":                                  func(s *access.Subject) { s.SiteRoles = []string{access.RoleOwner} },
		"auditor":                                func(s *access.Subject) { s.SiteRoles = []string{access.RoleAuditor} },
		"custom role": func(s *access.Subject) {
			s.OrganizationRoles[far] = []string{"reader"}
			s.CustomRoles = map[uuid.UUID][]codersdk.Role{far: {{Name: "reader", OrganizationPermissions: []codersdk.Permission{{ResourceType: codersdk.RBACResourceWorkspace, Action: "read"}}}}}
		},
		"token for templates": func(s *access.Subject) { s.Scopes = []codersdk.APIKeyScope{"template:read"} },
		"token for one": func(s *access.Subject) {
			s.AllowList = []codersdk.APIAllowListTarget{{Type: codersdk.RBACResourceWorkspace, ID: objects[one].ID.String()}}
		},
	} {
		s := h.ann
		s.OrganizationRoles = map[uuid.UUID][]string{h.org: nil}
		change(&s)
		var want []string
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			if s.Can(codersdk.RBACActionRead, objects[name]) {
				want = append(want, name)
			}
		}
		got := strings.Fields(h.names(s, workspace.Search{}))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the list has\n%v, access says\n%v", what, got, want)
		}
		page, err := h.Workspaces(t.Context(), s, workspace.Search{Rights: true})
		h.must(err)
		for _, w := range page.Workspaces {
			name := w.OwnerName + "/" + w.Name
			for _, action := range access.Actions[codersdk.RBACResourceWorkspace] {
				if can := s.Can(action, objects[name]); can != slices.Contains(page.Rights[w.ID], action) {
					t.Errorf("%s: access says %t of %s on %s, the list %v", what, can, action, name, page.Rights[w.ID])
				}
			}
		}
	}
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
