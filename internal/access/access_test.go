package access

import (
	"maps"
	"math/rand/v2"
	"slices"
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
	group := uuid.New()
	grouped, unshared, custom := member(), member(), member("writer")
	grouped.Groups, unshared.NoSharing = []uuid.UUID{uuid.New(), group}, true
	custom.CustomRoles = map[uuid.UUID][]coder.Role{org: {{
		Name: "writer", OrganizationPermissions: grant(coder.RBACResourceWorkspace, "read update"),
		OrganizationMemberPermissions: grant(coder.RBACResourceFile, "delete"),
	}}}
	ours, taught := theirs, closed
	ours.GroupACL = map[string]string{group.String(): "use"}
	taught.GroupACL = map[string]string{group.String(): "admin"}
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
		{"workspace shared as admin", member(), coder.RBACActionUpdate, run, true},
		{"workspace shared as admin, sharing it on", member(), coder.RBACActionShare, run, true},
		{"workspace shared as admin, deleting", member(), coder.RBACActionDelete, run, false},
		{"workspace shared where sharing is off", unshared, coder.RBACActionRead, run, false},
		{"own workspace where sharing is off", unshared, coder.RBACActionRead, mine, true},
		{"open template where sharing is off", unshared, coder.RBACActionRead, open, true},
		{"workspace shared with a group", grouped, coder.RBACActionSSH, ours, true},
		{"workspace shared with a group of others", member(), coder.RBACActionSSH, ours, false},
		{"workspace shared with a group, deleting", grouped, coder.RBACActionDelete, ours, false},
		{"template for a group", grouped, coder.RBACActionUpdate, taught, true},
		{"template for a group of others", member(), coder.RBACActionRead, taught, false},
		{"template for a group, where no member any more", Subject{UserID: me, Groups: []uuid.UUID{group}}, coder.RBACActionRead, taught, false},
		{"a custom role permits", custom, coder.RBACActionUpdate, theirs, true},
		{"a custom role permits that alone", custom, coder.RBACActionDelete, theirs, false},
		{"a custom role counts in its organization", custom, coder.RBACActionUpdate, Object{Type: coder.RBACResourceWorkspace, OrganizationID: elsewhere, OwnerID: other}, false},
		{"a custom role permits on one's own", custom, coder.RBACActionDelete, Object{Type: coder.RBACResourceFile, OrganizationID: org, OwnerID: me}, true},
		{"a custom role permits on one's own alone", custom, coder.RBACActionDelete, Object{Type: coder.RBACResourceFile, OrganizationID: org, OwnerID: other}, false},
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

// TestFilterAgreesWithCan holds what lists show to what single reads allow,
// for random subjects and objects.
func TestFilterAgreesWithCan(t *testing.T) {
	orgs := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	people, groups := []uuid.UUID{uuid.New(), uuid.New()}, []uuid.UUID{uuid.New(), uuid.New(), uuid.New()} // one group in each organization
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds := slices.Sorted(maps.Keys(Actions))
	for range 200_000 {
		s, o := randomSubject(rnd, orgs, people, groups), randomObject(rnd, kinds, orgs, people, groups)
		shown, may := lets(s.Filter(o.Type), o), s.Can(coder.RBACActionRead, o)
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
	s := Subject{UserID: people[0], OrganizationRoles: map[uuid.UUID][]string{}, CustomRoles: map[uuid.UUID][]coder.Role{}, NoSharing: rnd.IntN(5) == 0}
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
			s.CustomRoles[org] = []coder.Role{{Name: "custom", OrganizationPermissions: grant(coder.RBACResourceWorkspace, "read"), OrganizationMemberPermissions: grant(coder.RBACResourceWorkspace, "share")}}
		}
		if rnd.IntN(2) == 0 {
			s.Groups = append(s.Groups, groups[i])
		}
	}
	if rnd.IntN(4) == 0 {
		s.Scopes = []coder.APIKeyScope{"workspace:read", "coder:templates.build"}[:1+rnd.IntN(2)]
	}
	if rnd.IntN(4) == 0 {
		s.AllowList = []coder.APIAllowListTarget{{Type: coder.RBACResourceWorkspace, ID: orgs[rnd.IntN(3)].String()}, {Type: coder.RBACResourceTemplate, ID: "*"}}
	}
	return s
}

func randomObject(rnd *rand.Rand, kinds []coder.RBACResource, orgs, people, groups []uuid.UUID) Object {
	i := rnd.IntN(3)
	o := Object{Type: kinds[rnd.IntN(len(kinds))], ID: orgs[i], OrganizationID: orgs[i], OwnerID: people[rnd.IntN(2)]}
	switch {
	case rnd.IntN(3) == 0:
		o.Type = coder.RBACResourceWorkspace
	case rnd.IntN(3) == 0:
		o.Type, o.OwnerID = coder.RBACResourceTemplate, uuid.Nil
	}
	if judge(memberRole.UserPermissions, coder.RBACActionRead, o.Type) == permitted { // people's own, in no organization
		o.OrganizationID = uuid.Nil
	}
	if o.Type == coder.RBACResourceUser {
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
