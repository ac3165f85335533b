package scim

import (
	"strings"
	"testing"
)

func sampleUser() Resource {
	return Resource{
		"id": "2819c223", "externalId": "bjensen", "userName": "bjensen@example.com", "displayName": "Barbara Jensen", "active": true,
		"name":   Resource{"familyName": "Jensen", "givenName": "Barbara"},
		"emails": []Resource{{"value": "bjensen@example.com", "type": "work", "primary": true}, {"value": "babs@example.org", "type": "home"}},
		"meta":   Resource{"resourceType": "User", "created": "2026-01-23T04:56:22Z", "lastModified": "2026-05-13T04:42:34Z"},
	}
}

func TestFilter(t *testing.T) {
	for filter, want := range map[string]bool{
		`userName eq "BJensen@example.com"`:                           true,
		`userName Eq "bjensen"`:                                       false,
		`urn:ietf:params:scim:schemas:core:2.0:User:userName sw "bj"`: true,
		`externalId eq "bjensen"`:                                     true,
		`externalId eq "BJENSEN"`:                                     false,
		`id eq "2819c223"`:                                            true,
		`displayName co "jens"`:                                       true,
		`displayName ew "sen"`:                                        true,
		`name.familyName eq "Jensen" and active eq true`:              true,
		`active eq false or (name.givenName eq "Barbara" and not (userName sw "x"))`: true,
		`active eq "True"`:                                      true,
		`active ne true`:                                        false,
		`emails eq "babs@example.org"`:                          true,
		`emails.value co "@example.org"`:                        true,
		`emails[type eq "work" and value co "@example.org"]`:    false,
		`emails[type eq "home" and value co "@example.org"]`:    true,
		`emails[type eq "work"].value eq "bjensen@example.com"`: true,
		`emails[type eq "work"].value eq "babs@example.org"`:    false,
		`name pr`:                true,
		`groups pr`:              false,
		`name.formatted pr`:      false,
		`name.formatted eq null`: true,
		`meta.lastModified gt "2026-05-13T04:42:33Z"`:                                      true,
		`meta.lastModified ge "2026-05-13T06:42:34+02:00"`:                                 true,
		`meta.lastModified lt "2026-05-13T04:42:34Z"`:                                      false,
		`userName gt "a" and userName le "c" and userName ne "b"`:                          true,
		`userName eq "a" and active eq true or active eq true`:                             true,
		`active eq true or active eq true and userName eq "a"`:                             true,
		`(active eq true or active eq true) and userName eq "a"`:                           false,
		`displayName eq "Barbara \u004aensen"`:                                             true,
		`meta.resourceType eq "User" AND ( emails.type eq "home" ) AND NOT(userName pr)  `: false,
	} {
		f, err := ParseFilter(&userSchema, filter)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
		} else if got := f.Matches(sampleUser()); got != want {
			t.Errorf("%s: %v", filter, got)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	for _, filter := range []string{
		``, ` `, `userName`, `userName eq`, `userName eq bjensen`, `userName eq "a`, `userName is "a"`, `password eq "a"`, `title pr`,
		`userName eq "a" and`, `(userName eq "a"`, `userName eq "a")`, `not userName eq "a"`, `emails[type eq "work"`, `emails[type eq "work"] eq "a"`,
		`emails[value.x eq "a"]`, `emails[groups[value eq "a"]]`, `userName[value eq "a"]`, `name.nickName pr`, `userName eq {"a":1}`, `userName eq ["a"]`,
		`urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "a"`,
		strings.Repeat("(", 40) + `userName pr` + strings.Repeat(")", 40), strings.Repeat(`userName pr or `, 100) + `userName pr`,
		`userName eq "` + strings.Repeat("a", 5000) + `"`,
	} {
		if f, err := ParseFilter(&userSchema, filter); err == nil {
			t.Errorf("%.60s: %+v", filter, f)
		} else if e, ok := err.(*Error); !ok || e.Type != invalidFilter { //nolint:errorlint // the error of this package
			t.Errorf("%.60s: %v", filter, err)
		}
	}
}

func TestEquals(t *testing.T) {
	for filter, want := range map[string]string{
		`userName eq "a" and active eq true`:                  "a",
		`active eq true and (emails pr and userName eq "a")`:  "a",
		`userName eq "a" or active eq true`:                   "",
		`not (userName eq "a")`:                               "",
		`userName sw "a"`:                                     "",
		`emails[value eq "a"] and displayName eq "userName"`:  "",
		`emails.value eq "b" and userName eq "a" and name pr`: "a",
	} {
		f, err := ParseFilter(&userSchema, filter)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := f.equals("userName"); got != want {
			t.Errorf("%s: %q", filter, got)
		}
	}
	f, err := ParseFilter(&userSchema, `emails eq "b"`)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := f.equals("emails.value"); !ok || got != "b" {
		t.Errorf("emails: %q", got)
	}
}

// FuzzFilter checks that the parser ends without a panic, and that a filter which it accepts can be evaluated.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		`userName eq "a"`, `emails[type eq "work" and not (value co "b")].value pr`, `(active eq true) or meta.created lt "2026-01-01T00:00:00Z"`,
		`urn:ietf:params:scim:schemas:core:2.0:User:name.familyName ne null`, `members[value eq "1"]`, `"`, `not(`, `[`, `a.b.c eq \`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, schema := range []*Schema{&userSchema, &groupSchema} {
			if filter, err := ParseFilter(schema, in); err == nil {
				filter.Matches(sampleUser())
				filter.Matches(Resource{})
				filter.equals("userName")
			}
			to, known, err := parsePath(schema, in)
			if err == nil && known && to.attribute == nil {
				t.Errorf("%q: a known path without an attribute", in)
			}
		}
	})
}
