package login_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// TestMappingsToWhatIsGone changes settings that name a group, a role and an
// organization which were deleted since: that does not stand in the way.
func TestMappingsToWhatIsGone(t *testing.T) {
	s := start(t, newProvider(t), nil)
	const org, site = "/organizations/default/settings/idpsync", "/settings/idpsync/organization"
	var group coder.Group
	send(t, s.Client, http.MethodPost, "/organizations/default/groups", map[string]any{"name": "brief"}, &group)
	send(t, s.Client, http.MethodPost, "/organizations/default/members/roles", map[string]any{
		"name": "brief", "organization_permissions": []any{}, "organization_member_permissions": []any{}, "site_permissions": []any{}, "user_permissions": []any{},
	}, nil)
	second, err := s.Client.CreateOrganization(t.Context(), coder.CreateOrganizationRequest{Name: "brief"})
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
	var groups coder.GroupSyncSettings
	send(t, s.Client, http.MethodPatch, org+"/groups/mapping", one(group.ID.String()), &groups)
	var roles coder.RoleSyncSettings
	send(t, s.Client, http.MethodPatch, org+"/roles/mapping", one("brief"), &roles)
	var organizations coder.OrganizationSyncSettings
	send(t, s.Client, http.MethodPatch, site+"/mapping", one(second.ID.String()), &organizations)
	if len(groups.Mapping) != 1 || len(roles.Mapping) != 1 || len(organizations.Mapping) != 1 {
		t.Errorf("left: %v %v %v", groups.Mapping, roles.Mapping, organizations.Mapping)
	}
	resp, err := s.Client.Request(t.Context(), http.MethodPatch, org+"/groups/mapping", nil, mapped(uuid.NewString()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // not read
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("mapping to a group that never was: %d", resp.StatusCode)
	}
}

func TestAWrongGroupFilterIsNamed(t *testing.T) {
	s := start(t, newProvider(t), nil)
	resp, err := s.Client.Request(t.Context(), http.MethodPatch, "/organizations/default/settings/idpsync/groups/config", nil, map[string]any{"field": "groups", "regex_filter": "^a("})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read
	var wrong *coder.Error
	if err := client.ReadError(resp); !errors.As(err, &wrong) || len(wrong.Fields) != 1 || wrong.Fields[0].Field != "regex_filter" {
		t.Errorf("got %v", err)
	}
}
