package access

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestCan(t *testing.T) {
	org, elsewhere, me, other := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	member := func(roles ...string) Subject {
		return Subject{UserID: me, OrganizationRoles: map[uuid.UUID][]string{org: roles}}
	}
	site := func(roles ...string) Subject { return Subject{UserID: me, SiteRoles: roles} }
	mine := Object{Type: codersdk.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: org, OwnerID: me}
	theirs := Object{Type: codersdk.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: org, OwnerID: other}
	abroad := Object{Type: codersdk.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: elsewhere, OwnerID: me}
	open := Object{Type: codersdk.RBACResourceTemplate, OrganizationID: org, GroupACL: map[string]string{org.String(): "use"}}
	closed := Object{Type: codersdk.RBACResourceTemplate, OrganizationID: org}
	shared := theirs
	shared.UserACL = map[string]string{me.String(): "use"}
	run := theirs
	run.UserACL = map[string]string{me.String(): "admin"}
	group := uuid.New()
	grouped, unshared, custom := member(), member(), member("writer")
	grouped.Groups, unshared.NoSharing = []uuid.UUID{uuid.New(), group}, true
	custom.CustomRoles = map[uuid.UUID][]codersdk.Role{org: {{
		Name: "writer", OrganizationPermissions: grant(codersdk.RBACResourceWorkspace, "read update"),
		OrganizationMemberPermissions: grant(codersdk.RBACResourceFile, "delete"),
	}}}
	ours, taught := theirs, closed
	ours.GroupACL = map[string]string{group.String(): "use"}
	taught.GroupACL = map[string]string{group.String(): "admin"}
	restricted := site(RoleOwner)
	restricted.NoOwnerWorkspaceAccess = true
	for _, c := range []struct {
		name   string
		who    Subject
		action codersdk.RBACAction
		object Object
		may    bool
	}{
		{"nobody", Subject{}, codersdk.RBACActionRead, open, false},
		{"the server", System(), codersdk.RBACActionDelete, theirs, true},
		{"own workspace", member(), codersdk.RBACActionSSH, mine, true},
		{"another's workspace", member(), codersdk.RBACActionRead, theirs, false},
		{"own workspace after the membership ended", member(), codersdk.RBACActionRead, abroad, false},
		{"make a workspace abroad", member(), codersdk.RBACActionCreate, abroad, false},
		{"banned from making", member(RoleOrganizationCreationBan), codersdk.RBACActionCreate, mine, false},
		{"banned, but starts its own", member(RoleOrganizationCreationBan), codersdk.RBACActionStart, mine, true},
		{"an owner is above the ban", Subject{UserID: me, SiteRoles: []string{RoleOwner}, OrganizationRoles: map[uuid.UUID][]string{org: {RoleOrganizationCreationBan}}}, codersdk.RBACActionCreate, mine, true},
		{"open template", member(), codersdk.RBACActionUse, open, true},
		{"open template, changing it", member(), codersdk.RBACActionUpdate, open, false},
		{"closed template", member(), codersdk.RBACActionRead, closed, false},
		{"open template of a stranger's organization", Subject{UserID: me}, codersdk.RBACActionRead, open, false},
		{"shared workspace", member(), codersdk.RBACActionSSH, shared, true},
		{"shared workspace, deleting", member(), codersdk.RBACActionDelete, shared, false},
		{"workspace shared as admin", member(), codersdk.RBACActionUpdate, run, true},
		{"workspace shared as admin, sharing it on", member(), codersdk.RBACActionShare, run, true},
		{"workspace shared as admin, deleting", member(), codersdk.RBACActionDelete, run, false},
		{"workspace shared where sharing is off", unshared, codersdk.RBACActionRead, run, false},
		{"own workspace where sharing is off", unshared, codersdk.RBACActionRead, mine, true},
		{"open template where sharing is off", unshared, codersdk.RBACActionRead, open, true},
		{"workspace shared with a group", grouped, codersdk.RBACActionSSH, ours, true},
		{"workspace shared with a group of others", member(), codersdk.RBACActionSSH, ours, false},
		{"workspace shared with a group, deleting", grouped, codersdk.RBACActionDelete, ours, false},
		{"template for a group", grouped, codersdk.RBACActionUpdate, taught, true},
		{"template for a group of others", member(), codersdk.RBACActionRead, taught, false},
		{"template for a group, after the membership ended", Subject{UserID: me, Groups: []uuid.UUID{group}}, codersdk.RBACActionRead, taught, false},
		{"a custom role permits", custom, codersdk.RBACActionUpdate, theirs, true},
		{"a custom role permits that alone", custom, codersdk.RBACActionDelete, theirs, false},
		{"a custom role counts in its organization", custom, codersdk.RBACActionUpdate, Object{Type: codersdk.RBACResourceWorkspace, OrganizationID: elsewhere, OwnerID: other}, false},
		{"a custom role permits on one's own", custom, codersdk.RBACActionDelete, Object{Type: codersdk.RBACResourceFile, OrganizationID: org, OwnerID: me}, true},
		{"a custom role permits on one's own alone", custom, codersdk.RBACActionDelete, Object{Type: codersdk.RBACResourceFile, OrganizationID: org, OwnerID: other}, false},
		{"owner opens another's", site(RoleOwner), codersdk.RBACActionSSH, theirs, true},
		{"owner held off", restricted, codersdk.RBACActionSSH, theirs, false},
		{"owner held off still reads", restricted, codersdk.RBACActionRead, theirs, true},
		{"template admin sees", site(RoleTemplateAdmin), codersdk.RBACActionRead, theirs, true},
		{"template admin opens", site(RoleTemplateAdmin), codersdk.RBACActionSSH, theirs, false},
		{"organization admin stops", member(RoleOrganizationAdmin), codersdk.RBACActionStop, theirs, true},
		{"organization admin looks inside", member(RoleOrganizationAdmin), codersdk.RBACActionSSH, theirs, false},
		{"organization admin abroad", member(RoleOrganizationAdmin), codersdk.RBACActionUpdate, Object{Type: codersdk.RBACResourceTemplate, OrganizationID: elsewhere}, false},
		{"auditor reads the log", site(RoleAuditor), codersdk.RBACActionRead, Object{Type: codersdk.RBACResourceAuditLog}, true},
		{"organization auditor reads the site's log", member(RoleOrganizationAuditor), codersdk.RBACActionRead, Object{Type: codersdk.RBACResourceAuditLog}, false},
		{"user admin assigns roles", site(RoleUserAdmin), codersdk.RBACActionAssign, Object{Type: codersdk.RBACResourceAssignRole}, false},
		{"unknown role", site("king"), codersdk.RBACActionRead, theirs, false},
	} {
		if got := c.who.Can(c.action, c.object); got != c.may {
			t.Errorf("%s: %v, want %v", c.name, got, c.may)
		}
	}
	if err := member().Check(codersdk.RBACActionUpdate, open); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("what is seen but not allowed: %v", err)
	}
	if err := member().Check(codersdk.RBACActionUpdate, theirs); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("what is not seen: %v", err)
	}
}

// TestFilterAgreesWithCan holds what lists show to what single reads allow,
// for random subjects and objects.
func TestFilterAgreesWithCan(t *testing.T) {
	orgs := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	people, groups := []uuid.UUID{uuid.New(), uuid.New()}, []uuid.UUID{uuid.New(), uuid.New(), uuid.New()} // one group in each organization
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds := slices.Sorted(maps.Keys(Actions))
	for range 200_000 {
		s, o := randomSubject(rnd, orgs, people, groups), randomObject(rnd, kinds, orgs, people, groups)
		shown, may := lets(s.Filter(o.Type), o), s.Can(codersdk.RBACActionRead, o)
		if shown && !may {
			t.Fatalf("a list shows what may not be read\nsubject %+v\nobject %+v\nfilter %+v", s, o, s.Filter(o.Type))
		}
		if may && !shown {
			t.Fatalf("a list hides what may be read\nsubject %+v\nobject %+v\nfilter %+v", s, o, s.Filter(o.Type))
		}
	}
}

// lets is what the SQL of every list makes of a filter.
func lets(f Filter, o Object) bool {
	if f.IDs != nil && !slices.Contains(f.IDs, o.ID) {
		return false
	}
	listed := o.UserACL[f.UserKey] != ""
	for _, k := range append([]string{o.OrganizationID.String()}, f.GroupKeys...) {
		if f.UserKey == "" {
			continue
		}
		listed = listed || o.GroupACL[k] != ""
	}
	owned := f.OwnerID != uuid.Nil && o.OwnerID == f.OwnerID
	return f.All || slices.Contains(f.OrganizationIDs, o.OrganizationID) ||
		slices.Contains(f.MemberOf, o.OrganizationID) && (owned || listed) ||
		o.OrganizationID == uuid.Nil && owned
}

func randomSubject(rnd *rand.Rand, orgs, people, groups []uuid.UUID) Subject {
	s := Subject{UserID: people[0], OrganizationRoles: map[uuid.UUID][]string{}, CustomRoles: map[uuid.UUID][]codersdk.Role{}, NoSharing: rnd.IntN(5) == 0}
	if roles := SiteRoles(); rnd.IntN(4) == 0 {
		s.SiteRoles = []string{roles[rnd.IntN(len(roles))].Name}
	}
	for i, org := range orgs {
		if rnd.IntN(2) == 0 {
			continue
		}
		s.OrganizationRoles[org] = []string{}
		if roles := OrganizationRoles(org); rnd.IntN(3) == 0 {
			s.OrganizationRoles[org] = []string{roles[rnd.IntN(len(roles))].Name}
		}
		if rnd.IntN(3) == 0 {
			s.OrganizationRoles[org] = append(s.OrganizationRoles[org], "custom")
			s.CustomRoles[org] = []codersdk.Role{{Name: "custom", OrganizationPermissions: grant(codersdk.RBACResourceWorkspace, "read"), OrganizationMemberPermissions: grant(codersdk.RBACResourceWorkspace, "share")}}
		}
		if rnd.IntN(2) == 0 {
			s.Groups = append(s.Groups, groups[i])
		}
	}
	if rnd.IntN(4) == 0 {
		s.Scopes = []codersdk.APIKeyScope{"workspace:read", "coder:templates.build"}[:1+rnd.IntN(2)]
	}
	if rnd.IntN(4) == 0 {
		s.AllowList = []codersdk.APIAllowListTarget{{Type: codersdk.RBACResourceWorkspace, ID: orgs[rnd.IntN(3)].String()}, {Type: codersdk.RBACResourceTemplate, ID: "*"}}
	}
	return s
}

func randomObject(rnd *rand.Rand, kinds []codersdk.RBACResource, orgs, people, groups []uuid.UUID) Object {
	i := rnd.IntN(3)
	o := Object{Type: kinds[rnd.IntN(len(kinds))], ID: orgs[i], OrganizationID: orgs[i], OwnerID: people[rnd.IntN(2)]}
	switch {
	case rnd.IntN(3) == 0:
		o.Type = codersdk.RBACResourceWorkspace
	case rnd.IntN(3) == 0:
		o.Type, o.OwnerID = codersdk.RBACResourceTemplate, uuid.Nil
	}
	if judge(memberRole.UserPermissions, codersdk.RBACActionRead, o.Type) == permitted { // objects of users, in no organization
		o.OrganizationID = uuid.Nil
	}
	if o.Type == codersdk.RBACResourceUser {
		o.ID = o.OwnerID
	}
	role := []string{"use", "admin"}[rnd.IntN(2)]
	if rnd.IntN(4) == 0 {
		o.UserACL = map[string]string{people[rnd.IntN(2)].String(): role}
	}
	switch rnd.IntN(6) {
	case 0:
		o.GroupACL = map[string]string{groups[i].String(): role}
	case 1:
		o.GroupACL = map[string]string{o.OrganizationID.String(): role}
	case 2: // what no list should have
		o.GroupACL = map[string]string{orgs[(i+1)%3].String(): role}
	}
	return o
}

func TestScopeCatalogue(t *testing.T) {
	for _, sc := range PublicScopes() {
		if !KnownScope(sc) {
			t.Errorf("the catalogue offers %s, which cannot be had", sc)
		}
	}
	for _, sc := range []codersdk.APIKeyScope{"", "workspace", "workspace:", "workspace:fly", "moon:read", "*:*"} {
		if KnownScope(sc) {
			t.Errorf("%q is taken for a scope", sc)
		}
	}
}

func BenchmarkCan(b *testing.B) {
	org, me := uuid.New(), uuid.New()
	s := Subject{UserID: me, SiteRoles: []string{RoleAuditor}, OrganizationRoles: map[uuid.UUID][]string{org: {RoleOrganizationAdmin}}}
	o := Object{Type: codersdk.RBACResourceWorkspace, ID: uuid.New(), OrganizationID: org, OwnerID: me}
	b.ReportAllocs()
	for b.Loop() {
		s.Can(codersdk.RBACActionUpdate, o)
	}
}

func TestRefusedRole(t *testing.T) {
	s := Subject{UserID: uuid.New(), SiteRoles: []string{RoleUserAdmin}}
	err := s.Check(codersdk.RBACActionAssign, Object{Type: codersdk.RBACResourceAssignRole})
	if err == nil || codersdk.CodeOf(err) != codersdk.CodeForbidden || err.Error() != "You do not have permission to assign or remove this role" {
		t.Fatalf("assigning a role: %v", err)
	}
}
