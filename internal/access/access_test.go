package access

import (
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

func TestCan(t *testing.T) {
	org, elsewhere, me, other := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	member := func(roles ...string) Subject {
		return Subject{UserID: me, OrganizationRoles: map[uuid.UUID][]string{org: roles}}
	}
	site := func(roles ...string) Subject { return Subject{UserID: me, SiteRoles: roles} }
	mine := Object{Type: coder.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: org, OwnerID: me}
	theirs := Object{Type: coder.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: org, OwnerID: other}
	abroad := Object{Type: coder.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: elsewhere, OwnerID: me}
	open := Object{Type: coder.RBACResourceTemplate, OrganizationID: org, GroupACL: map[string]string{org.String(): "use"}}
	closed := Object{Type: coder.RBACResourceTemplate, OrganizationID: org}
	shared := theirs
	shared.UserACL = map[string]string{me.String(): "use"}
	run := theirs
	run.UserACL = map[string]string{me.String(): "admin"}
	restricted := site(RoleOwner)
	restricted.NoOwnerWorkspaceAccess = true
	for _, c := range []struct {
		name   string
		who    Subject
		action coder.RBACAction
		object Object
		may    bool
	}{
		{"nobody", Subject{}, coder.RBACActionRead, open, false},
		{"the server", System(), coder.RBACActionDelete, theirs, true},
		{"own workspace", member(), coder.RBACActionSSH, mine, true},
		{"another's workspace", member(), coder.RBACActionRead, theirs, false},
		{"own workspace where no member any more", member(), coder.RBACActionRead, abroad, false},
		{"make a workspace abroad", member(), coder.RBACActionCreate, abroad, false},
		{"banned from making", member(RoleOrganizationCreationBan), coder.RBACActionCreate, mine, false},
		{"banned, but starts its own", member(RoleOrganizationCreationBan), coder.RBACActionStart, mine, true},
		{"an owner is above the ban", Subject{UserID: me, SiteRoles: []string{RoleOwner}, OrganizationRoles: map[uuid.UUID][]string{org: {RoleOrganizationCreationBan}}}, coder.RBACActionCreate, mine, true},
		{"open template", member(), coder.RBACActionUse, open, true},
		{"open template, changing it", member(), coder.RBACActionUpdate, open, false},
		{"closed template", member(), coder.RBACActionRead, closed, false},
		{"open template of a stranger's organization", Subject{UserID: me}, coder.RBACActionRead, open, false},
		{"shared workspace", member(), coder.RBACActionSSH, shared, true},
		{"shared workspace, deleting", member(), coder.RBACActionDelete, shared, false},
		{"workspace shared as admin", member(), coder.RBACActionDelete, run, true},
		{"owner opens another's", site(RoleOwner), coder.RBACActionSSH, theirs, true},
		{"owner held off", restricted, coder.RBACActionSSH, theirs, false},
		{"owner held off still reads", restricted, coder.RBACActionRead, theirs, true},
		{"template admin sees", site(RoleTemplateAdmin), coder.RBACActionRead, theirs, true},
		{"template admin opens", site(RoleTemplateAdmin), coder.RBACActionSSH, theirs, false},
		{"organization admin stops", member(RoleOrganizationAdmin), coder.RBACActionStop, theirs, true},
		{"organization admin looks inside", member(RoleOrganizationAdmin), coder.RBACActionSSH, theirs, false},
		{"organization admin abroad", member(RoleOrganizationAdmin), coder.RBACActionUpdate, Object{Type: coder.RBACResourceTemplate, OrganizationID: elsewhere}, false},
		{"auditor reads the log", site(RoleAuditor), coder.RBACActionRead, Object{Type: coder.RBACResourceAuditLog}, true},
		{"organization auditor reads the site's log", member(RoleOrganizationAuditor), coder.RBACActionRead, Object{Type: coder.RBACResourceAuditLog}, false},
		{"user admin gives roles", site(RoleUserAdmin), coder.RBACActionAssign, Object{Type: coder.RBACResourceAssignRole}, false},
		{"unknown role", site("king"), coder.RBACActionRead, theirs, false},
	} {
		if got := c.who.Can(c.action, c.object); got != c.may {
			t.Errorf("%s: %v, want %v", c.name, got, c.may)
		}
	}
	if err := member().Check(coder.RBACActionUpdate, open); !coder.Is(err, coder.CodeForbidden) {
		t.Errorf("what is seen but not allowed: %v", err)
	}
	if err := member().Check(coder.RBACActionUpdate, theirs); !coder.Is(err, coder.CodeNotFound) {
		t.Errorf("what is not seen: %v", err)
	}
}

// TestFilterAgreesWithCan holds what lists show to what single reads allow.
func TestFilterAgreesWithCan(t *testing.T) {
	org, elsewhere, me, other := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	var subjects []Subject
	for _, r := range SiteRoles() {
		subjects = append(subjects, Subject{UserID: me, SiteRoles: []string{r.Name}, OrganizationRoles: map[uuid.UUID][]string{org: nil}})
	}
	for _, r := range OrganizationRoles(org) {
		subjects = append(subjects, Subject{UserID: me, OrganizationRoles: map[uuid.UUID][]string{org: {r.Name}}})
	}
	subjects = append(subjects, System(), Subject{}, Subject{UserID: me, SiteRoles: []string{RoleOwner}, Scopes: []coder.APIKeyScope{"file:read"}})
	for _, s := range subjects {
		for kind := range Actions {
			f := s.Filter(kind)
			for _, o := range []Object{
				{Type: kind, OrganizationID: org, OwnerID: other},
				{Type: kind, OrganizationID: elsewhere, OwnerID: other},
				{Type: kind, OrganizationID: org, OwnerID: me},
			} {
				shown := f.All
				for _, id := range f.OrganizationIDs {
					shown = shown || id == o.OrganizationID
				}
				shown = shown || f.OwnerID != uuid.Nil && f.OwnerID == o.OwnerID
				if may := s.Can(coder.RBACActionRead, o); shown && !may && kind != coder.RBACResourceTemplate {
					t.Errorf("%v %v: lists of %s show what may not be read", s.SiteRoles, s.OrganizationRoles[org], kind)
				} else if may && !shown {
					t.Errorf("%v %v: lists of %s hide what may be read", s.SiteRoles, s.OrganizationRoles[org], kind)
				}
			}
		}
	}
}

func TestScopeCatalogue(t *testing.T) {
	for _, sc := range PublicScopes() {
		if !KnownScope(sc) {
			t.Errorf("the catalogue offers %s, which cannot be had", sc)
		}
	}
	for _, sc := range []coder.APIKeyScope{"", "workspace", "workspace:", "workspace:fly", "moon:read", "*:*"} {
		if KnownScope(sc) {
			t.Errorf("%q is taken for a scope", sc)
		}
	}
}

func BenchmarkCan(b *testing.B) {
	org, me := uuid.New(), uuid.New()
	s := Subject{UserID: me, SiteRoles: []string{RoleAuditor}, OrganizationRoles: map[uuid.UUID][]string{org: {RoleOrganizationAdmin}}}
	o := Object{Type: coder.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: org, OwnerID: me}
	b.ReportAllocs()
	for b.Loop() {
		s.Can(coder.RBACActionUpdate, o)
	}
}

func TestRefusedRole(t *testing.T) {
	s := Subject{UserID: uuid.New(), SiteRoles: []string{RoleUserAdmin}}
	err := s.Check(coder.RBACActionAssign, Object{Type: coder.RBACResourceAssignRole})
	if err == nil || coder.CodeOf(err) != coder.CodeForbidden || err.Error() != "You may not give or take away this role" {
		t.Fatalf("assigning a role: %v", err)
	}
}
