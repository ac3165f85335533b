package scimapi_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestGroups sends the requests of Okta's group push and of Entra's provisioning of groups.
func TestGroups(t *testing.T) {
	d := newDeployment(t)
	var ids [3]string
	for i := range ids {
		ids[i] = d.send("POST", "/Users", oktaUser(fmt.Sprintf("user%d@example.com", i), "User", "true")).is(201).id()
	}
	d.send("GET", "/Groups"+filter(`displayName eq "Platform Team (EU)"`)+"&excludedAttributes=members", "").is(200).has("totalResults", 0.0)
	made := d.send("POST", "/Groups", `{"schemas": [`+groupURN+`], "externalId": "g-1", "displayName": "Platform Team (EU)", "members": [{"value": "`+ids[0]+`", "display": "x"}]}`).is(201).
		has("displayName", "Platform Team (EU)", "externalId", "g-1", "members.0.value", ids[0], "members.0.display", "user0", "meta.resourceType", "Group")
	id := made.id()
	g, err := d.groups.Group(t.Context(), d.root, uuid.MustParse(id))
	d.must(err)
	if g.Name != "Platform-Team-EU" || g.DisplayName != "Platform Team (EU)" || g.OrganizationID != d.org || g.TotalMemberCount != 1 {
		t.Errorf("the group: %+v", g)
	}
	d.send("POST", "/Groups", `{"schemas": [`+groupURN+`], "displayName": "platform team (eu)"}`).fails(409, "uniqueness")
	other := d.send("POST", "/Groups", `{"schemas": [`+groupURN+`], "displayName": "Platform Team EU"}`).is(201).has("members", nil).id()
	if g, err := d.groups.Group(t.Context(), d.root, uuid.MustParse(other)); err != nil || g.Name != "Platform-Team-EU-2" {
		t.Errorf("the other group: %+v, %v", g, err)
	}
	d.send("GET", "/Groups"+filter(`displayName eq "PLATFORM TEAM (eu)"`)+"&excludedAttributes=members", "").is(200).
		has("totalResults", 1.0, "Resources.0.id", id, "Resources.0.members", nil)
	d.send("GET", "/Groups"+filter(`id eq "`+id+`" and members eq "`+ids[0]+`"`), "").is(200).has("totalResults", 1.0, "Resources.0.members.0.value", ids[0])
	d.send("GET", "/Groups"+filter(`externalId eq "g-1"`)+"&attributes=displayName", "").is(200).has("totalResults", 1.0, "Resources.0.externalId", nil)
	d.send("GET", "/Groups?startIndex=2&count=1", "").is(200).has("totalResults", 2.0, "Resources.0.id", other)
	d.send("GET", "/Groups/"+id+"?excludedAttributes=members", "").is(200).has("displayName", "Platform Team (EU)", "members", nil)

	d.send("PATCH", "/Groups/"+id, patchOf(`{"op": "add", "path": "members", "value": [{"value": "`+ids[1]+`"}, {"value": "`+ids[2]+`"}]}`)).is(200).has("members.2.value", ids[2])
	d.send("PATCH", "/Groups/"+id, patchOf(`{"op": "Remove", "path": "members", "value": [{"value": "`+ids[0]+`"}]}`)).is(200).has("members.0.value", ids[1])
	d.send("PATCH", "/Groups/"+id, patchOf(`{"op": "remove", "path": "members[value eq \"`+ids[2]+`\"]"}`)).is(200).has("members.0.value", ids[1], "members.1", nil)
	d.send("PATCH", "/Groups/"+id, patchOf(`{"op": "replace", "value": {"id": "`+id+`", "displayName": "Renamed"}}`)).is(200).has("displayName", "Renamed", "members.0.value", ids[1], "externalId", "g-1")
	d.send("PATCH", "/Groups/"+id, patchOf(`{"op": "replace", "path": "displayName", "value": "Platform Team EU"}`)).fails(409, "uniqueness")
	d.send("PUT", "/Groups/"+id, `{"schemas": [`+groupURN+`], "displayName": "Renamed", "members": [{"value": "`+ids[0]+`"}]}`).is(200).has("members.0.value", ids[0], "members.1", nil)
	d.send("GET", "/Users/"+ids[0], "").is(200).has("groups.0.value", id, "groups.0.display", "Renamed", "groups.0.type", "direct")
	d.send("GET", "/Users"+filter(`groups eq "`+id+`"`), "").is(200).has("totalResults", 1.0)

	// A user of another organization becomes a member of the default one.
	elsewhere, err := d.users.CreateOrganization(t.Context(), d.root, codersdk.CreateOrganizationRequest{Name: "elsewhere"})
	d.must(err)
	d.root, err = d.users.SubjectOf(t.Context(), d.root.UserID)
	d.must(err)
	far, err := d.users.CreateUser(t.Context(), d.root, codersdk.CreateUserRequestWithOrgs{
		Email: "far@example.com", Username: "far", LoginType: codersdk.LoginTypeNone, OrganizationIDs: []uuid.UUID{elsewhere.ID},
	})
	d.must(err)
	d.send("PATCH", "/Groups/"+id, patchOf(`{"op": "add", "path": "members", "value": [{"value": "`+far.ID.String()+`"}]}`)).is(200).has("members.0.value", far.ID.String())
	if u := d.account("far"); len(u.OrganizationIDs) != 2 {
		t.Errorf("organizations: %v", u.OrganizationIDs)
	}
	d.send("DELETE", "/Groups/"+id, "").is(204)
	d.send("GET", "/Groups/"+id, "").fails(404, "")
	d.send("DELETE", "/Groups/"+id, "").fails(404, "")
	last := d.audits(id)[0]
	if last.Action != codersdk.AuditActionDelete || last.ResourceType != codersdk.ResourceTypeGroup {
		t.Errorf("audited as %+v", last)
	}
}
