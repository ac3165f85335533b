package login_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestMappingsToWhatIsGone changes settings that name a group, a role and an
// organization which were deleted since: that does not stand in the way.
func TestMappingsToWhatIsGone(t *testing.T) {
	s := start(t, newProvider(t), nil)
	const org, site = "/organizations/default/settings/idpsync", "/settings/idpsync/organization"
	var group codersdk.Group
	send(t, s.Client, http.MethodPost, "/organizations/default/groups", map[string]any{"name": "brief"}, &group)
	send(t, s.Client, http.MethodPost, "/organizations/default/members/roles", map[string]any{
		"name": "brief", "organization_permissions": []any{}, "organization_member_permissions": []any{}, "site_permissions": []any{}, "user_permissions": []any{},
	}, nil)
	second, err := s.Client.CreateOrganization(t.Context(), codersdk.CreateOrganizationRequest{Name: "brief"})
	if err != nil {
		t.Fatal(err)
	}
	mapped := func(gets string) map[string]any {
		return map[string]any{"add": []any{map[string]any{"given": "one", "gets": gets}, map[string]any{"given": "two", "gets": gets}}}
	}
	send(t, s.Client, http.MethodPatch, org+"/groups/mapping", mapped(group.ID.String()), nil)
	send(t, s.Client, http.MethodPatch, org+"/roles/mapping", mapped("brief"), nil)
	send(t, s.Client, http.MethodPatch, site+"/mapping", mapped(second.ID.String()), nil)
	send(t, s.Client, http.MethodDelete, "/groups/"+group.ID.String(), nil, nil)
	send(t, s.Client, http.MethodDelete, "/organizations/default/members/roles/brief", nil, nil)
	send(t, s.Client, http.MethodDelete, "/organizations/brief", nil, nil)

	send(t, s.Client, http.MethodPatch, org+"/groups/config", map[string]any{"field": "teams"}, nil)
	send(t, s.Client, http.MethodPatch, org+"/roles/config", map[string]any{"field": "roles"}, nil)
	send(t, s.Client, http.MethodPatch, site+"/config", map[string]any{"field": "orgs"}, nil)
	one := func(gets string) map[string]any {
		return map[string]any{"remove": []any{map[string]any{"given": "one", "gets": gets}}}
	}
	var groups codersdk.GroupSyncSettings
	send(t, s.Client, http.MethodPatch, org+"/groups/mapping", one(group.ID.String()), &groups)
	var roles codersdk.RoleSyncSettings
	send(t, s.Client, http.MethodPatch, org+"/roles/mapping", one("brief"), &roles)
	var organizations codersdk.OrganizationSyncSettings
	send(t, s.Client, http.MethodPatch, site+"/mapping", one(second.ID.String()), &organizations)
	if len(groups.Mapping) != 1 || len(roles.Mapping) != 1 || len(organizations.Mapping) != 1 {
		t.Errorf("left: %v %v %v", groups.Mapping, roles.Mapping, organizations.Mapping)
	}
	// Groups and organizations may be created after the mapping.
	send(t, s.Client, http.MethodPatch, org+"/groups/mapping", mapped(uuid.NewString()), nil)
	send(t, s.Client, http.MethodPatch, site+"/mapping", mapped(uuid.NewString()), nil)
}

// TestSignInSkipsUnknownMappings: a claim that is mapped to groups, roles and
// organizations of which some do not exist has the user in the others.
func TestSignInSkipsUnknownMappings(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, nil)
	second, err := s.Client.CreateOrganization(t.Context(), codersdk.CreateOrganizationRequest{Name: "second"})
	if err != nil {
		t.Fatal(err)
	}
	var group, elsewhere codersdk.Group
	send(t, s.Client, http.MethodPost, "/organizations/second/groups", map[string]any{"name": "platform"}, &group)
	send(t, s.Client, http.MethodPost, "/organizations/default/groups", map[string]any{"name": "elsewhere"}, &elsewhere)
	send(t, s.Client, http.MethodPatch, "/settings/idpsync/organization", map[string]any{
		"field": "orgs", "organization_assign_default": false,
		"mapping": map[string][]uuid.UUID{"all": {uuid.New(), second.ID, uuid.New()}, "none": {uuid.New()}},
	}, nil)
	send(t, s.Client, http.MethodPatch, "/organizations/second/settings/idpsync/groups", map[string]any{
		"field": "teams", "auto_create_missing_groups": false,
		// A group of another organization is unknown in this one.
		"mapping": map[string][]string{"T1": {uuid.NewString(), group.ID.String(), elsewhere.ID.String()}, "T2": {uuid.NewString()}},
	}, nil)
	come := func(claims ...any) codersdk.User {
		t.Helper()
		p.as(person("ann", "ann@example.com", claims...))
		b := newBrowser(t, s.AccessURL())
		if _, message := b.login("/"); b.client() == nil {
			t.Fatal(message)
		}
		return b.me()
	}
	groupsOf := func(u codersdk.User) (names []string) {
		t.Helper()
		var all []codersdk.Group
		fetch(t, s.Client, "/groups?has_member="+u.ID.String(), &all)
		for _, g := range all {
			if g.ID != g.OrganizationID {
				names = append(names, g.Name)
			}
		}
		return names
	}
	for range 2 { // a new user, and one who has been here
		u := come("orgs", "all", "teams", []string{"T2", "T1"})
		if got := groupsOf(u); !slices.Equal(u.OrganizationIDs, []uuid.UUID{second.ID}) || !slices.Equal(got, []string{"platform"}) {
			t.Errorf("organizations %v, groups %v", u.OrganizationIDs, got)
		}
	}
	if u := come("orgs", "all", "teams", "T2"); len(groupsOf(u)) != 0 {
		t.Errorf("groups of a claim that is mapped to none: %v", groupsOf(u))
	}
	if u := come("orgs", "none", "teams", "T1"); len(u.OrganizationIDs) != 0 || len(groupsOf(u)) != 0 {
		t.Errorf("of a claim that is mapped to no organization: %v, %v", u.OrganizationIDs, groupsOf(u))
	}
}

func TestAWrongGroupFilterIsNamed(t *testing.T) {
	s := start(t, newProvider(t), nil)
	resp, err := s.Client.Request(t.Context(), http.MethodPatch, "/organizations/default/settings/idpsync/groups/config", nil, map[string]any{"field": "groups", "regex_filter": "^a("})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read
	var wrong *codersdk.Error
	if err := codersdk.ReadError(resp); !errors.As(err, &wrong) || len(wrong.Fields) != 1 || wrong.Fields[0].Field != "regex_filter" {
		t.Errorf("got %v", err)
	}
}
