package scim

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decoded(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// operations returns the body of a PATCH.
func operations(t *testing.T, list string) map[string]any {
	t.Helper()
	return decoded(t, `{"schemas": ["`+patchURN+`"], "Operations": [`+list+`]}`)
}

// TestPatch has the forms that providers send, and those of RFC 7644 section 3.5.2.
func TestPatch(t *testing.T) {
	for name, c := range map[string]struct {
		operations string
		want       func(r Resource) // changes the sample
	}{
		"Okta deactivates":                {`{"op": "replace", "value": {"active": false}}`, func(r Resource) { r["active"] = false }},
		"Entra deactivates with text":     {`{"op": "Replace", "path": "active", "value": "False"}`, func(r Resource) { r["active"] = false }},
		"Entra deactivates with a list":   {`{"op": "Replace", "path": "active", "value": [{"value": "False"}]}`, func(r Resource) { r["active"] = false }},
		"a path with the URN":             {`{"op": "replace", "path": "urn:ietf:params:scim:schemas:core:2.0:User:active", "value": false}`, func(r Resource) { r["active"] = false }},
		"names in any case":               {`{"OP": "ADD", "PATH": "DISPLAYNAME", "VALUE": "Babs"}`, func(r Resource) { r["displayName"] = "Babs" }},
		"Entra replaces a part":           {`{"op": "Replace", "path": "name.familyName", "value": "Doe"}`, func(r Resource) { r["name"].(Resource)["familyName"] = "Doe" }},
		"Entra replaces an address":       {`{"op": "Replace", "path": "emails[type eq \"work\"].value", "value": "b@example.com"}`, func(r Resource) { r["emails"].([]Resource)[0]["value"] = "b@example.com" }},
		"Entra adds an address by a path": {`{"op": "Add", "path": "emails[type eq \"other\"].value", "value": "o@example.com"}`, func(r Resource) { add(r, Resource{"type": "other", "value": "o@example.com"}) }},
		"Entra replaces by names of paths": {`{"op": "Replace", "value": {"displayName": "Babs", "name.givenName": "Babs", "emails[type eq \"work\"].value": "b@example.com"}}`, func(r Resource) {
			r["displayName"] = "Babs"
			r["name"].(Resource)["givenName"] = "Babs"
			r["emails"].([]Resource)[0]["value"] = "b@example.com"
		}},
		"a new primary address": {`{"op": "add", "path": "emails", "value": [{"value": "n@example.com", "primary": "True"}]}`, func(r Resource) {
			add(r, Resource{"value": "n@example.com", "primary": true})
			r["emails"].([]Resource)[0]["primary"] = false
		}},
		"an address that exists":          {`{"op": "add", "path": "emails", "value": {"value": "babs@example.org", "display": "Babs"}}`, func(r Resource) { r["emails"].([]Resource)[1]["display"] = "Babs" }},
		"an object is merged":             {`{"op": "replace", "path": "name", "value": {"givenName": "Babs"}}`, func(r Resource) { r["name"].(Resource)["givenName"] = "Babs" }},
		"addresses are replaced":          {`{"op": "replace", "path": "emails", "value": [{"value": "x@example.com"}]}`, func(r Resource) { r["emails"] = []Resource{{"value": "x@example.com"}} }},
		"an address is removed":           {`{"op": "remove", "path": "emails[value eq \"BABS@example.org\"]"}`, func(r Resource) { r["emails"] = r["emails"].([]Resource)[:1] }},
		"a part of an address is removed": {`{"op": "remove", "path": "emails[type eq \"home\"].type"}`, func(r Resource) { delete(r["emails"].([]Resource)[1], "type") }},
		"an attribute is removed":         {`{"op": "remove", "path": "displayName"}, {"op": "Remove", "path": "name.givenName"}`, func(r Resource) { delete(r, "displayName"); delete(r["name"].(Resource), "givenName") }},
		"null removes":                    {`{"op": "replace", "path": "externalId", "value": null}`, func(r Resource) { delete(r, "externalId") }},
		"unknown attributes are ignored":  {`{"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "R&D"}, {"op": "add", "path": "title", "value": "x"}, {"op": "add", "path": "phoneNumbers[type eq \"work\"].value", "value": "1"}, {"op": "replace", "value": {"nickName": "b", "id": "2819c223"}}`, func(Resource) {}},
		"operations are applied in order": {`{"op": "replace", "path": "displayName", "value": "a"}, {"op": "replace", "path": "displayName", "value": "b"}`, func(r Resource) { r["displayName"] = "b" }},
	} {
		want := sampleUser()
		c.want(want)
		got, err := patch(&userSchema, sampleUser(), operations(t, c.operations))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func add(r Resource, e Resource) { r["emails"] = append(r["emails"].([]Resource), e) }

func TestPatchOfMembers(t *testing.T) {
	for name, c := range map[string]struct{ operations, want string }{
		"Okta adds":                   {`{"op": "add", "path": "members", "value": [{"value": "c", "display": "carl"}]}`, "a b c"},
		"Okta removes":                {`{"op": "remove", "path": "members[value eq \"a\"]"}`, "b"},
		"Okta replaces":               {`{"op": "replace", "path": "members", "value": [{"value": "x"}]}`, "x"},
		"Okta replaces all":           {`{"op": "replace", "value": {"id": "g", "displayName": "n", "members": [{"value": "y"}]}}`, "y"},
		"Entra adds one twice":        {`{"op": "Add", "path": "members", "value": [{"value": "b"}, {"value": "c"}, {"value": "c"}]}`, "a b c"},
		"Entra removes":               {`{"op": "Remove", "path": "members", "value": [{"$ref": null, "value": "b"}]}`, "a"},
		"all are removed":             {`{"op": "remove", "path": "members"}`, ""},
		"nobody is removed":           {`{"op": "remove", "path": "members[value eq \"z\"]"}`, "a b"},
		"by IDs alone":                {`{"op": "add", "path": "members", "value": ["c"]}`, "a b c"},
		"an empty list of new ones":   {`{"op": "add", "path": "members", "value": []}`, "a b"},
		"an empty list instead":       {`{"op": "replace", "path": "members", "value": []}`, ""},
		"an object without the value": {`{"op": "add", "path": "members", "value": [{}]}`, "a b"},
	} {
		got, err := patch(&groupSchema, Resource{"displayName": "g", "members": []Resource{{"value": "a"}, {"value": "b"}}}, operations(t, c.operations))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ids []string
		for _, e := range elements(got["members"]) {
			ids = append(ids, e.str("value"))
		}
		if s := strings.Join(ids, " "); s != c.want {
			t.Errorf("%s: %s", name, s)
		}
	}
}

func TestPatchRefuses(t *testing.T) {
	for body, keyword := range map[string]string{
		`{}`:                                  invalidSyntax,
		`{"schemas": ["` + patchURN + `"]}`:   invalidSyntax,
		`{"Operations": [{"op": "replace"}]}`: invalidSyntax,
		`{"schemas": ["` + patchURN + `"], "Operations": ["x"]}`:                                                                                    invalidSyntax,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "move"}]}`:                                                                         invalidSyntax,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "remove"}]}`:                                                                       noTarget,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "add", "value": "x"}]}`:                                                            invalidValue,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "replace", "path": "id", "value": "x"}]}`:                                          mutability,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "remove", "path": "userName"}]}`:                                                   mutability,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "add", "path": "groups", "value": [{"value": "x"}]}]}`:                             mutability,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "replace", "path": "active", "value": "maybe"}]}`:                                  invalidValue,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "replace", "path": "displayName", "value": {"a": 1}}]}`:                            invalidValue,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "replace", "path": "displayName", "value": "a\u0000"}]}`:                           invalidValue,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "replace", "path": "emails[type eq]", "value": "x"}]}`:                             invalidFilter,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "replace", "path": "userName[a eq 1]", "value": "x"}]}`:                            invalidPath,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "replace", "path": "userName x", "value": "x"}]}`:                                  invalidPath,
		`{"schemas": ["` + patchURN + `"], "Operations": [{"op": "replace", "path": "displayName", "value": "` + strings.Repeat("a", 2000) + `"}]}`: invalidValue,
	} {
		_, err := patch(&userSchema, sampleUser(), decoded(t, body))
		if e, ok := err.(*Error); !ok || e.Type != keyword { //nolint:errorlint // the error of this package
			t.Errorf("%.150s: %v", body, err)
		}
	}
}

func TestProject(t *testing.T) {
	for c, want := range map[[2]string]string{
		{"userName", ""}:                                      `{"id":"2819c223","userName":"bjensen@example.com"}`,
		{"name.givenName, emails.value", ""}:                  `{"emails":[{"value":"bjensen@example.com"},{"value":"babs@example.org"}],"id":"2819c223","name":{"givenName":"Barbara"}}`,
		{"", "id,meta,emails,NAME,externalId,active,nothing"}: `{"displayName":"Barbara Jensen","id":"2819c223","userName":"bjensen@example.com"}`,
	} {
		b, err := json.Marshal(sampleUser().project(&userSchema, c[0], c[1]))
		if err != nil || string(b) != want {
			t.Errorf("%q: %s, %v", c, b, err)
		}
	}
}
