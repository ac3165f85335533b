package scimapi_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

const (
	userURN  = `"urn:ietf:params:scim:schemas:core:2.0:User"`
	groupURN = `"urn:ietf:params:scim:schemas:core:2.0:Group"`
	patchURN = `"urn:ietf:params:scim:api:messages:2.0:PatchOp"`
)

func filter(f string) string { return "?filter=" + url.QueryEscape(f) }

// patchOf returns the body of a PATCH.
func patchOf(operations string) string {
	return `{"schemas": [` + patchURN + `], "Operations": [` + operations + `]}`
}

// oktaUser is a user in the form in which Okta sends it.
func oktaUser(name, given, active string) string {
	return `{"schemas": [` + userURN + `], "userName": "` + name + `", "name": {"givenName": "` + given + `", "familyName": "Doe"},
		"emails": [{"primary": true, "value": "` + name + `", "type": "work"}], "displayName": "` + given + ` Doe", "locale": "en-US",
		"externalId": "00u1", "groups": [], "password": "1mz050nq", "active": ` + active + `}`
}

// TestOkta sends the requests of Okta's documented test of a SCIM 2.0 server, and those of the life of a user.
func TestOkta(t *testing.T) {
	d := newDeployment(t)
	d.send("GET", "/Users?count=1&startIndex=1", "").is(200).
		has("totalResults", 1.0, "startIndex", 1.0, "itemsPerPage", 1.0, "Resources.0.userName", "root@example.com", "Resources.0.active", true, "Resources.0.emails.0.value", "root@example.com")
	d.send("GET", "/Users/"+uuid.NewString(), "").fails(404, "")
	d.send("GET", "/Users/abc", "").fails(404, "")
	d.send("GET", "/Users"+filter(`userName eq "jane@example.com"`)+"&startIndex=1&count=100", "").is(200).has("totalResults", 0.0)
	made := d.send("POST", "/Users", oktaUser("jane@example.com", "Jane", "true")).is(201).
		has("userName", "jane@example.com", "active", true, "name.givenName", "Jane", "name.familyName", "Doe", "emails.0.value", "jane@example.com",
			"emails.0.primary", true, "externalId", "00u1", "displayName", "Jane Doe", "meta.resourceType", "User", "password", nil)
	id := made.id()
	if l := made.header.Get("Location"); l != "https://coder.example.com/scim/v2/Users/"+id || made.at("meta.location") != l {
		t.Errorf("Location: %q", l)
	}
	if u := d.account(id); u.Username != "jane" || u.Email != "jane@example.com" || u.Name != "Jane Doe" || u.LoginType != codersdk.LoginTypeOIDC ||
		u.Status != codersdk.UserStatusDormant || len(u.OrganizationIDs) != 1 {
		t.Errorf("the account: %+v", u)
	}
	d.send("GET", "/Users/"+id, "").is(200).has("userName", "jane@example.com")
	d.send("POST", "/Users", oktaUser("JANE@example.com", "Jane", "true")).fails(409, "uniqueness")
	d.send("GET", "/Users"+filter(`userName eq "Jane@Example.com"`), "").is(200).has("totalResults", 1.0, "Resources.0.id", id)
	d.send("GET", "/Users"+filter(`externalId eq "00u1"`), "").is(200).has("totalResults", 1.0, "Resources.0.id", id)

	// Okta pushes profiles with PUT and the state with PATCH.
	d.send("PUT", "/Users/"+id, oktaUser("jane@example.com", "Janet", "true")).is(200).has("name.givenName", "Janet", "displayName", "Janet Doe")
	if u := d.account(id); u.Name != "Janet Doe" {
		t.Errorf("the name: %q", u.Name)
	}
	d.send("PUT", "/Users/"+id, oktaUser("other@example.com", "Janet", "true")).fails(400, "mutability")

	token := d.session("jane@example.com")
	subject, err := d.users.Authenticate(t.Context(), token, access.Origin{})
	d.must(err)
	held, end := d.users.Hold(t.Context(), subject, nil)
	defer end()
	d.send("PATCH", "/Users/"+id, patchOf(`{"op": "replace", "value": {"active": false}}`)).is(200).has("active", false)
	if _, err := d.users.Authenticate(t.Context(), token, access.Origin{}); codersdk.CodeOf(err) != codersdk.CodeUnauthenticated {
		t.Errorf("the session after the deactivation: %v", err)
	}
	<-held.Done() // at once: a hint ends it
	if u := d.account(id); u.Status != codersdk.UserStatusSuspended {
		t.Errorf("status %s", u.Status)
	}
	last := d.audits(id)[0]
	if last.Action != codersdk.AuditActionWrite || last.Diff["status"].New != "suspended" || last.UserAgent != "Okta SCIM Client 1.0.0" || last.IP != "192.0.2.1" ||
		!strings.Contains(string(last.AdditionalFields), `"SCIM"`) {
		t.Errorf("audited as %+v", last)
	}
	d.send("PATCH", "/Users/"+id, patchOf(`{"op": "replace", "value": {"active": true}}`)).is(200).has("active", true)
	if u := d.account(id); u.Status != codersdk.UserStatusDormant {
		t.Errorf("status %s", u.Status)
	}
	if _, err := d.users.Authenticate(t.Context(), token, access.Origin{}); err == nil {
		t.Error("the ended session is valid again")
	}
}

// TestEntra sends the requests of Microsoft Entra's documented provisioning of users.
func TestEntra(t *testing.T) {
	d := newDeployment(t)
	d.send("GET", "/Users"+filter(`userName eq "`+uuid.NewString()+`"`), "").is(200).has("totalResults", 0.0) // the test of the connection
	d.send("GET", "/Users"+filter(`externalId eq "jdoe"`), "").is(200).has("totalResults", 0.0)
	id := d.send("POST", "/Users", `{"schemas": [`+userURN+`, "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"], "externalId": "jdoe",
		"userName": "Test_User_00aa", "active": "True", "displayName": "lennay", "emails": [{"type": "work", "value": "testing@example.com", "primary": true}],
		"meta": {"resourceType": "User"}, "name": {"formatted": "Adrienne McNally", "familyName": "McNally", "givenName": "Adrienne"}, "title": "x",
		"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "R&D", "manager": {"value": "1"}}, "roles": []}`).is(201).
		has("userName", "Test_User_00aa", "name.formatted", "Adrienne McNally", "active", true, "emails.0.type", "work").id()
	if u := d.account(id); u.Username != "Test-User-00aa" || u.Email != "testing@example.com" {
		t.Errorf("the account: %+v", u)
	}
	d.send("GET", "/Users"+filter(`userName eq "test_user_00AA"`), "").is(200).has("totalResults", 1.0, "Resources.0.id", id)
	d.send("GET", "/Users/"+id+"?attributes=userName,active", "").is(200).has("userName", "Test_User_00aa", "active", true, "name", nil, "meta", nil)
	d.send("PATCH", "/Users/"+id, patchOf(`{"op": "Replace", "path": "emails[type eq \"work\"].value", "value": "updated@example.com"},
		{"op": "Replace", "path": "name.familyName", "value": "Updated"}, {"op": "Add", "path": "title", "value": "y"},
		{"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "Sales"},
		{"op": "Replace", "path": "displayName", "value": "New Name"}, {"op": "Replace", "path": "externalId", "value": "j2"}`)).is(200).
		has("emails.0.value", "updated@example.com", "name.familyName", "Updated", "name.givenName", "Adrienne", "displayName", "New Name", "externalId", "j2")
	if u := d.account(id); u.Email != "updated@example.com" || u.Name != "New Name" {
		t.Errorf("the account: %+v", u)
	}
	d.send("PATCH", "/Users/"+id, patchOf(`{"op": "Replace", "path": "userName", "value": "TEST_user_00aa"}`)).is(200) // the same in another case
	d.send("PATCH", "/Users/"+id, patchOf(`{"op": "Replace", "path": "userName", "value": "other"}`)).fails(400, "mutability")
	d.send("PATCH", "/Users/"+id, patchOf(`{"op": "Replace", "path": "active", "value": "False"}`)).is(200).has("active", false)
	d.send("GET", "/Users"+filter(`userName eq "Test_User_00aa" and active eq false`), "").is(200).has("totalResults", 1.0)

	d.send("DELETE", "/Users/"+id, "").is(204)
	d.send("GET", "/Users/"+id, "").fails(404, "")
	d.send("DELETE", "/Users/"+id, "").fails(404, "")
	d.send("GET", "/Users"+filter(`userName eq "Test_User_00aa"`), "").is(200).has("totalResults", 0.0)
	if u := d.account(id); u.Status != codersdk.UserStatusSuspended {
		t.Errorf("a deleted user is %s", u.Status)
	}
	again := d.send("POST", "/Users", `{"schemas": [`+userURN+`], "userName": "Test_User_00aa", "emails": [{"value": "updated@example.com"}]}`).is(201).has("active", true)
	if u := d.account(id); again.id() != id || u.Status != codersdk.UserStatusDormant {
		t.Errorf("provisioned again as %s: %s", again.id(), u.Status)
	}
}

// TestExistingAccounts: accounts from before SCIM are found by email address, and managed from the first change on.
func TestExistingAccounts(t *testing.T) {
	d := newDeployment(t)
	member := func(name string) string {
		t.Helper()
		u, err := d.users.CreateUser(t.Context(), d.root, codersdk.CreateUserRequestWithOrgs{Email: name + "@example.com", Username: name, LoginType: codersdk.LoginTypeNone})
		d.must(err)
		return u.ID.String()
	}
	found, adopted := member("found"), member("adopted")
	d.send("GET", "/Users"+filter(`userName eq "found@example.com"`), "").is(200).has("totalResults", 1.0, "Resources.0.id", found)
	d.send("PUT", "/Users/"+found, oktaUser("found@corp.example.com", "Fay", "true")).is(200).has("userName", "found@corp.example.com", "externalId", "00u1")
	d.send("PUT", "/Users/"+found, oktaUser("again@corp.example.com", "Fay", "true")).fails(400, "mutability")
	body := `{"schemas": [` + userURN + `], "userName": "adopted", "emails": [{"value": "ADOPTED@example.com"}], "active": false}`
	if r := d.send("POST", "/Users", body).is(201).has("active", false); r.id() != adopted {
		t.Errorf("a new account: %s", r.raw)
	}
	if u := d.account(adopted); u.Username != "adopted" || u.Status != codersdk.UserStatusSuspended || u.LoginType != codersdk.LoginTypeNone {
		t.Errorf("adopted: %+v", u)
	}
	d.send("POST", "/Users", `{"schemas": [`+userURN+`], "userName": "third", "emails": [{"value": "found@corp.example.com"}]}`).fails(409, "uniqueness")
	// A username that is taken gets a number.
	r := d.send("POST", "/Users", oktaUser("found@other.example.com", "Fred", "true")).is(201)
	if u := d.account(r.id()); u.Username != "found-2" {
		t.Errorf("username %s", u.Username)
	}
	// An address that another user has is refused, and the deactivation in the same request is applied.
	d.send("PATCH", "/Users/"+r.id(), patchOf(`{"op": "replace", "value": {"active": false, "emails": [{"value": "root@example.com"}]}}`)).fails(409, "uniqueness")
	d.send("GET", "/Users/"+r.id(), "").is(200).has("active", false, "emails.0.value", "found@other.example.com")
	// The last owner stays.
	d.send("PATCH", "/Users/"+d.root.UserID.String(), patchOf(`{"op": "replace", "path": "active", "value": false}`)).fails(409, "")
	d.send("DELETE", "/Users/"+d.root.UserID.String(), "").fails(409, "")
	// A deleted account frees its userName.
	d.must(d.users.DeleteUser(t.Context(), d.root, found))
	if next := d.send("POST", "/Users", oktaUser("found@corp.example.com", "Fay", "true")).is(201).id(); next == found {
		t.Error("a deleted account came back")
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	d := newDeployment(t)
	for _, authorization := range []string{"", "Bearer", "Bearer " + providerKey + "x", "Bearer " + providerKey[1:], "Basic " + providerKey} {
		r := d.sendAs(authorization, "GET", "/Users", "")
		r.fails(401, "")
		if r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("headers: %v", r.header)
		}
	}
	d.limited = codersdk.Errorf(codersdk.CodeRateLimited, "wait").WithRetryAfter(time.Minute)
	r := d.sendAs("Bearer x", "GET", "/Users", "")
	if r.fails(429, ""); r.header.Get("Retry-After") != "60" {
		t.Errorf("headers: %v", r.header)
	}
	d.sendAs(providerKey, "GET", "/Users", "").is(200) // the value of the option alone, as the header
	for _, c := range []struct {
		method, path, body string
		status             int
		keyword            string
	}{
		{"POST", "/Users", ``, 400, "invalidSyntax"},
		{"POST", "/Users", `null`, 400, "invalidSyntax"},
		{"POST", "/Users", `[]`, 400, "invalidSyntax"},
		{"POST", "/Users", `{} {}`, 400, "invalidSyntax"},
		{"POST", "/Users", `{"userName": "a"}`, 400, "invalidSyntax"},
		{"POST", "/Users", `{"schemas": [` + groupURN + `], "userName": "a"}`, 400, "invalidSyntax"},
		{"POST", "/Users", `{"schemas": [` + userURN + `]}`, 400, "invalidValue"},
		{"POST", "/Users", `{"schemas": [` + userURN + `], "userName": "a"}`, 400, "invalidValue"},
		{"POST", "/Users", `{"schemas": [` + userURN + `], "userName": "a", "emails": [{"value": "nonsense"}]}`, 400, "invalidValue"},
		{"POST", "/Users", `{"schemas": [` + userURN + `], "userName": "a@example.com", "active": "maybe"}`, 400, "invalidValue"},
		{"POST", "/Users", `{"schemas": [` + userURN + `], "userName": {"a": 1}}`, 400, "invalidValue"},
		{"GET", "/Users" + filter(`userName eq`), "", 400, "invalidFilter"},
		{"GET", "/Users" + filter(`password eq "x"`), "", 400, "invalidFilter"},
		{"GET", "/Users?count=x", "", 400, "invalidValue"},
		{"GET", "/Users?startIndex=99999999999999999999", "", 400, "invalidValue"},
		{"PATCH", "/Users/" + d.root.UserID.String(), patchOf(``), 400, "invalidSyntax"},
		{"PATCH", "/Users/" + uuid.NewString(), patchOf(`{"op": "replace", "value": {"active": false}}`), 404, ""},
		{"POST", "/Groups", `{"schemas": [` + groupURN + `]}`, 400, "invalidValue"},
		{"POST", "/Groups", `{"schemas": [` + groupURN + `], "displayName": "g", "members": [{"value": "` + uuid.NewString() + `"}]}`, 400, "invalidValue"},
		{"GET", "/Groups/" + d.org.String(), "", 404, ""}, // the group of all members is no group of SCIM
		{"POST", "/Bulk", `{}`, 404, ""},
		{"GET", "/Schemas/nothing", "", 404, ""},
		{"POST", "/Users", `{"schemas": ["` + strings.Repeat("x", 5<<20) + `"]}`, 413, ""},
	} {
		d.send(c.method, c.path, c.body).fails(c.status, c.keyword)
	}
}

func TestListIsPagedAndFiltered(t *testing.T) {
	d := newDeployment(t)
	for _, name := range []string{"ann", "bob", "cyd", "dan"} {
		d.send("POST", "/Users", oktaUser(name+"@example.com", strings.ToUpper(name), "true")).is(201)
	}
	d.send("GET", "/Users?startIndex=2&count=2", "").is(200).
		has("totalResults", 5.0, "startIndex", 2.0, "itemsPerPage", 2.0, "Resources.0.userName", "ann@example.com", "Resources.1.userName", "bob@example.com")
	d.send("GET", "/Users?startIndex=9&count=2", "").is(200).has("totalResults", 5.0, "itemsPerPage", 0.0)
	d.send("GET", "/Users?startIndex=-3&count=-1", "").is(200).has("totalResults", 5.0, "startIndex", 1.0, "itemsPerPage", 0.0)
	d.send("GET", "/Users?count=0"+"&filter="+url.QueryEscape(`active eq true`), "").is(200).has("totalResults", 5.0, "itemsPerPage", 0.0)
	d.send("GET", "/Users"+filter(`userName sw "b" or name.givenName eq "dan"`)+"&count=1&startIndex=2", "").is(200).
		has("totalResults", 2.0, "itemsPerPage", 1.0, "Resources.0.userName", "dan@example.com")
	d.send("GET", "/Users"+filter(`not (emails co "example.com")`), "").is(200).has("totalResults", 0.0)
	d.send("GET", "/Users"+filter(`emails[value eq "cyd@example.com"] and userName eq "cyd@example.com"`)+"&excludedAttributes=emails,name", "").is(200).
		has("totalResults", 1.0, "Resources.0.userName", "cyd@example.com", "Resources.0.emails", nil)
}

func TestDiscovery(t *testing.T) {
	d := newDeployment(t)
	d.sendAs("", "GET", "/ServiceProviderConfig", "").is(200).
		has("patch.supported", true, "filter.supported", true, "filter.maxResults", 200.0, "bulk.supported", false, "authenticationSchemes.0.type", "oauthbearertoken")
	d.sendAs("", "GET", "/ResourceTypes", "").is(200).has("totalResults", 2.0, "Resources.0.endpoint", "/Users", "Resources.1.schema", strings.Trim(groupURN, `"`))
	d.sendAs("", "GET", "/ResourceTypes/Group", "").is(200).has("name", "Group")
	d.sendAs("", "GET", "/Schemas", "").is(200).has("totalResults", 2.0, "Resources.0.attributes.0.name", "userName", "Resources.0.attributes.0.mutability", "immutable")
	d.sendAs("", "GET", "/Schemas/"+strings.Trim(userURN, `"`), "").is(200).has("name", "User", "attributes.1.subAttributes.0.name", "formatted")
}
