package template_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/template"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestListsAgreeWithAccess: the SQL of the list shows exactly the templates
// that access lets one read.
func TestListsAgreeWithAccess(t *testing.T) {
	h := newHouse(t)
	group, other := uuid.New(), uuid.New()
	h.exec(t, `INSERT INTO groups (id, organization_id, name) VALUES ($1, $3, 'a'), ($2, $3, 'b')`, group, other, h.org)
	objects := map[string]access.Object{}
	for name, acl := range map[string]struct{ users, groups map[string]string }{
		"open": {groups: map[string]string{h.org.String(): "use"}}, "closed": {},
		"bobs":  {users: map[string]string{h.member.UserID.String(): "use"}},
		"group": {groups: map[string]string{group.String(): "use"}}, "run": {groups: map[string]string{other.String(): "use", group.String(): "admin"}},
		"others": {groups: map[string]string{other.String(): "admin"}},
	} {
		tpl := h.template(t, name)
		must(t, h.UpdateTemplateACL(t.Context(), h.admin, tpl.ID, codersdk.UpdateTemplateACL{GroupPerms: map[string]codersdk.TemplateRole{h.org.String(): ""}}))
		req := codersdk.UpdateTemplateACL{UserPerms: acl.users, GroupPerms: map[string]codersdk.TemplateRole{}}
		for k, v := range acl.groups {
			req.GroupPerms[k] = codersdk.TemplateRole(v)
		}
		must(t, h.UpdateTemplateACL(t.Context(), h.admin, tpl.ID, req))
		objects[name] = access.Object{Type: codersdk.RBACResourceTemplate, ID: tpl.ID, OrganizationID: h.org, UserACL: acl.users, GroupACL: acl.groups}
	}
	grouped, left, narrow := h.member, h.member, h.member
	grouped.Groups = []uuid.UUID{group}
	left.OrganizationRoles, left.Groups = nil, grouped.Groups
	narrow.AllowList = []codersdk.APIAllowListTarget{{Type: codersdk.RBACResourceTemplate, ID: objects["open"].ID.String()}, {Type: codersdk.RBACResourceTemplate, ID: objects["closed"].ID.String()}}
	for what, s := range map[string]access.Subject{"admin": h.admin, "member": h.member, "grouped": grouped, "who left": left, "stranger": h.outside, "token": narrow} {
		got, err := h.Templates(t.Context(), s, template.Query{})
		must(t, err)
		listed := map[string]bool{}
		for _, tpl := range got {
			listed[tpl.Name] = true
		}
		for name, o := range objects {
			if may := s.Can(codersdk.RBACActionRead, o); may != listed[name] {
				t.Errorf("%s and %s: access says %v, the list %v", what, name, may, listed[name])
			}
		}
	}
	if !grouped.Can(codersdk.RBACActionUpdate, objects["run"]) || grouped.Can(codersdk.RBACActionUpdate, objects["group"]) {
		t.Error("admin is not more than use")
	}
}
