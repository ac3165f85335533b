package organization_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
)

func TestGroupLife(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	ann, bob := h.user("ann"), h.user("bob")
	g, err := h.CreateGroup(ctx, h.root, h.org, codersdk.CreateGroupRequest{Name: "devs", DisplayName: "Developers", QuotaAllowance: 5})
	h.must(err)
	if g.Name != "devs" || g.OrganizationName != "coder" || g.Source != codersdk.GroupSourceUser || g.QuotaAllowance != 5 || g.TotalMemberCount != 0 || g.Members == nil {
		t.Errorf("made %+v", g)
	}
	if a := h.lastAudit(); a.Action != codersdk.AuditActionCreate || a.ResourceType != codersdk.ResourceTypeGroup || a.ResourceTarget != "devs" || a.Diff["name"].New != "devs" {
		t.Errorf("the log has %+v", a)
	}
	both := []string{ann.UserID.String(), bob.UserID.String()}
	g, err = h.UpdateGroup(ctx, h.root, g.ID, codersdk.PatchGroupRequest{AddUsers: both, Name: "makers", QuotaAllowance: ptr(7)})
	h.must(err)
	if g.Name != "makers" || g.DisplayName != "Developers" || g.QuotaAllowance != 7 || g.TotalMemberCount != 2 || len(g.Members) != 2 || g.Members[0].Username != "ann" {
		t.Errorf("changed to %+v", g)
	}
	if a := h.lastAudit(); len(a.Diff) != 3 || a.Diff["quota_allowance"].Old.(float64) != 5 || len(a.Diff["members"].New.([]any)) != 2 {
		t.Errorf("the log has %+v", a.Diff)
	}
	if !slices.Contains(h.as(ann.UserID).Groups, g.ID) {
		t.Error("ann is not in the group that she was put into")
	}
	// What is so already is no change, and no error.
	before := h.lastAudit().ID
	g, err = h.UpdateGroup(ctx, h.root, g.ID, codersdk.PatchGroupRequest{AddUsers: both[:1], Name: "makers", RemoveUsers: []string{h.root.UserID.String()}})
	if err != nil || g.TotalMemberCount != 2 || h.lastAudit().ID != before {
		t.Errorf("nothing changed, but %+v, %v", g, err)
	}
	g, err = h.UpdateGroup(ctx, h.root, g.ID, codersdk.PatchGroupRequest{RemoveUsers: both[:1], DisplayName: ptr("")})
	if err != nil || g.TotalMemberCount != 1 || g.DisplayName != "" {
		t.Errorf("after removing ann: %+v, %v", g, err)
	}
	// Who leaves the organization leaves the group.
	h.must(h.people.RemoveMember(ctx, h.root, h.org.String(), "bob"))
	if g, err = h.Group(ctx, h.root, g.ID); err != nil || g.TotalMemberCount != 0 {
		t.Errorf("after bob left: %+v, %v", g, err)
	}
	h.must(h.DeleteGroup(ctx, h.root, g.ID))
	_, err = h.Group(ctx, h.root, g.ID)
	h.want("a deleted group", err, codersdk.CodeNotFound)
}

func TestGroupRefuses(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	elsewhere := h.elsewhere()
	ann := h.user("ann")
	g := h.group("devs")
	other, err := h.CreateGroup(ctx, h.root, elsewhere, codersdk.CreateGroupRequest{Name: "devs"})
	h.must(err) // the name is free in another organization
	for what, req := range map[string]codersdk.CreateGroupRequest{
		"taken in other letters": {Name: "DEVS"},
		"no name":                {},
		"everyone":               {Name: "EveryOne"},
		"spaces":                 {Name: "a b"},
		"emoji":                  {Name: "🙂"},
		"long":                   {Name: strings.Repeat("x", 10_000)},
		"less than nothing":      {Name: "x", QuotaAllowance: -1},
		"too much":               {Name: "x", QuotaAllowance: 1 << 40},
		"long display name":      {Name: "x", DisplayName: strings.Repeat("x", 65)},
	} {
		if _, err := h.CreateGroup(ctx, h.root, h.org, req); codersdk.CodeOf(err) != codersdk.CodeInvalid && codersdk.CodeOf(err) != codersdk.CodeConflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	foreign, err := h.people.CreateUser(ctx, h.root, codersdk.CreateUserRequestWithOrgs{Email: "f@example.com", Username: "foreign", LoginType: codersdk.LoginTypeNone, OrganizationIDs: []uuid.UUID{elsewhere}})
	h.must(err)
	for what, req := range map[string]codersdk.PatchGroupRequest{
		"a stranger":      {AddUsers: []string{foreign.ID.String()}},
		"nobody":          {AddUsers: []string{uuid.NewString()}},
		"nonsense":        {AddUsers: []string{"ann"}},
		"in and out":      {AddUsers: []string{ann.UserID.String()}, RemoveUsers: []string{ann.UserID.String()}},
		"negative":        {QuotaAllowance: ptr(-5)},
		"name of another": {Name: "Everyone"},
	} {
		_, err := h.UpdateGroup(ctx, h.root, g.ID, req)
		h.want(what, err, codersdk.CodeInvalid)
	}
	// The group of everyone.
	_, err = h.UpdateGroup(ctx, h.root, h.org, codersdk.PatchGroupRequest{Name: "all"})
	h.want("renaming everyone", err, codersdk.CodeInvalid)
	_, err = h.UpdateGroup(ctx, h.root, h.org, codersdk.PatchGroupRequest{RemoveUsers: []string{ann.UserID.String()}})
	h.want("removing from everyone", err, codersdk.CodeInvalid)
	h.want("deleting everyone", h.DeleteGroup(ctx, h.root, h.org), codersdk.CodeInvalid)
	all, err := h.UpdateGroup(ctx, h.root, h.org, codersdk.PatchGroupRequest{QuotaAllowance: ptr(3)})
	if err != nil || all.QuotaAllowance != 3 || all.Name != "Everyone" || all.TotalMemberCount != 2 {
		t.Errorf("the allowance of everyone: %+v, %v", all, err)
	}
	// Permissions by role.
	_, err = h.CreateGroup(ctx, ann, h.org, codersdk.CreateGroupRequest{Name: "x"})
	h.want("a member makes a group", err, codersdk.CodeForbidden)
	_, err = h.UpdateGroup(ctx, ann, g.ID, codersdk.PatchGroupRequest{Name: "x"})
	h.want("a member changes a group", err, codersdk.CodeForbidden)
	_, err = h.UpdateGroup(ctx, ann, other.ID, codersdk.PatchGroupRequest{Name: "x"})
	h.want("a stranger changes a group", err, codersdk.CodeNotFound)
	_, err = h.Group(ctx, ann, other.ID)
	h.want("a stranger reads a group", err, codersdk.CodeNotFound)
	keeper := h.user("kay", access.RoleOrganizationUserAdmin)
	_, err = h.UpdateGroup(ctx, keeper, g.ID, codersdk.PatchGroupRequest{AddUsers: []string{ann.UserID.String()}})
	h.want("a user administrator changes a group", err, "")
}

func TestGroupsAreFilteredAndPaged(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	elsewhere := h.elsewhere()
	ann, bob := h.user("ann"), h.user("bob")
	h.group("a", ann)
	b := h.group("b", ann, bob)
	_, err := h.CreateGroup(ctx, h.root, elsewhere, codersdk.CreateGroupRequest{Name: "far"})
	h.must(err)
	list := func(actor access.Subject, f organization.GroupSearch) []string {
		t.Helper()
		if f.Limit == 0 {
			f.Limit = 100
		}
		gs, err := h.Groups(ctx, actor, f)
		h.must(err)
		return names(gs)
	}
	for what, c := range map[string]struct {
		got, want []string
	}{
		"all of the owner":   {list(h.root, organization.GroupSearch{}), []string{"Everyone", "a", "b", "Everyone", "far"}},
		"of a member":        {list(ann, organization.GroupSearch{}), []string{"Everyone", "a", "b"}},
		"of an organization": {list(h.root, organization.GroupSearch{OrganizationID: elsewhere}), []string{"Everyone", "far"}},
		"hidden":             {list(ann, organization.GroupSearch{OrganizationID: elsewhere}), nil},
		"with a member":      {list(h.root, organization.GroupSearch{HasMember: bob.UserID}), []string{"Everyone", "b"}},
		"by id":              {list(h.root, organization.GroupSearch{IDs: []uuid.UUID{b.ID}}), []string{"b"}},
		"second page":        {list(ann, organization.GroupSearch{Limit: 1, Offset: 1}), []string{"a"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	narrow := ann
	narrow.Scopes = []codersdk.APIKeyScope{"template:read"}
	if got := list(narrow, organization.GroupSearch{}); len(got) != 0 {
		t.Errorf("a token without the scope lists %v", got)
	}
	// Members see of others that they are there, and of themselves who they are.
	g, err := h.Group(ctx, ann, b.ID)
	if err != nil || g.TotalMemberCount != 2 || len(g.Members) != 1 || g.Members[0].Username != "ann" {
		t.Errorf("ann sees %+v, %v", g, err)
	}
	page, err := h.GroupMembers(ctx, h.root, b.ID, "", 1, 1)
	if err != nil || page.Count != 2 || len(page.Users) != 1 || page.Users[0].Username != "bob" {
		t.Errorf("a page of members: %+v, %v", page, err)
	}
	page, err = h.GroupMembers(ctx, h.root, h.org, "", 10, 50)
	if err != nil || page.Count != 3 || len(page.Users) != 0 {
		t.Errorf("behind the last page: %+v, %v", page, err)
	}
	page, err = h.GroupMembers(ctx, h.root, h.org, "BO", 10, 0)
	if err != nil || page.Count != 1 {
		t.Errorf("searched members: %+v, %v", page, err)
	}
	page, err = h.GroupMembers(ctx, bob, b.ID, "", 10, 0)
	if err != nil || page.Count != 1 || page.Users[0].Username != "bob" {
		t.Errorf("bob sees the members %+v, %v", page, err)
	}
}
