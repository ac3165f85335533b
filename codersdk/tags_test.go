package codersdk_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestTagsMatch runs the documented table on the Go rule; internal/queue runs
// it on the SQL. Row 21 is about organizations, which tags do not know.
func TestTagsMatch(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	set := func(user uuid.UUID, pairs ...string) codersdk.Tags {
		t := codersdk.Tags{}
		if user != uuid.Nil {
			t[codersdk.TagScope] = codersdk.ScopeUser
		}
		for _, p := range pairs {
			k, v, _ := strings.Cut(p, "=")
			t[k] = v
		}
		return codersdk.NormalizeTags(user, t)
	}
	const e, dc, dn = "environment=on-prem", "datacenter=chicago", "datacenter=new_york"
	o := uuid.Nil
	for i, row := range []struct {
		daemon, job codersdk.Tags
		runs        bool
	}{
		{set(o), set(o), true},
		{set(o, e), set(o, e), true},
		{set(o, e, dc), set(o, e), true},
		{set(o, e, dc), set(o, e, dc), true},
		{set(a), set(a), true},
		{set(a, e), set(a), true},
		{set(a, e), set(a, e), true},
		{set(a, e, dc), set(a, e), true},
		{set(a, e, dc), set(a, e, dc), true},
		{set(o), set(o, e), false},
		{set(o, e), set(o), false},
		{set(o, e), set(o, e, dc), false},
		{set(o, e, dn), set(o, e, dc), false},
		{set(a), set(o), false},
		{set(a), set(b), false},
		{set(o), set(a), false},
		{set(o), set(a, e), false},
		{set(a), set(a, e), false},
		{set(a, e), set(a, e, dc), false},
		{set(a, e, dc), set(a, e, dn), false},
	} {
		if got := row.daemon.Match(row.job); got != row.runs {
			t.Errorf("row %d: daemon %v runs job %v: %v, want %v", i+1, row.daemon, row.job, got, row.runs)
		}
	}
}

func TestNormalizeTags(t *testing.T) {
	u := uuid.New()
	for _, c := range []struct{ in, want codersdk.Tags }{
		{nil, codersdk.Tags{"scope": "organization", "owner": ""}},
		{codersdk.Tags{"owner": "me"}, codersdk.Tags{"scope": "organization", "owner": ""}},
		{codersdk.Tags{"scope": "user"}, codersdk.Tags{"scope": "user", "owner": u.String()}},
		{codersdk.Tags{"scope": "user", "owner": "someone else"}, codersdk.Tags{"scope": "user", "owner": u.String()}},
		{codersdk.Tags{"scope": "nonsense", "a": "b"}, codersdk.Tags{"scope": "organization", "owner": "", "a": "b"}},
	} {
		before := maps.Clone(c.in)
		if got := codersdk.NormalizeTags(u, c.in); !maps.Equal(got, c.want) {
			t.Errorf("%v becomes %v, want %v", c.in, got, c.want)
		}
		if !maps.Equal(before, c.in) {
			t.Errorf("the input %v was changed to %v", before, c.in)
		}
	}
}

func TestCheckTags(t *testing.T) {
	many := codersdk.Tags{}
	for i := range codersdk.MaxTags + 1 {
		many[fmt.Sprint(i)] = ""
	}
	for _, bad := range []codersdk.Tags{many, {"": "x"}, {"a": strings.Repeat("x", 300)}, {strings.Repeat("x", 300): "a"}, {"a\x00": ""}, {"a": "\xff"}} {
		if err := codersdk.CheckTags("tags", bad); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%.60v: %v, want a refusal", bad, err)
		}
	}
	if err := codersdk.CheckTags("tags", codersdk.Tags{"a": "", "b": "ä=,"}); err != nil {
		t.Error(err)
	}
}

// FuzzTagsKey checks that sets have the same key exactly when they are equal.
func FuzzTagsKey(f *testing.F) {
	f.Add("a", "b", "c", "d", "a", "b,c=d", "", "")
	f.Add("a", `\`, ",", "=", `a=\,`, "", "b", "")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, k3, v3, k4, v4 string) {
		x, y := codersdk.Tags{k1: v1, k2: v2}, codersdk.Tags{k3: v3, k4: v4}
		if same := maps.Equal(x, y); (x.Key() == y.Key()) != same {
			t.Errorf("%q and %q: keys %q and %q", x, y, x.Key(), y.Key())
		}
	})
}

func TestCheckProvisionerAPIVersion(t *testing.T) {
	for v, good := range map[string]bool{
		"1.0": true, "1.2": true, "1.14": true, "1.15": false, "2.0": false, "0.9": false,
		"": false, "1": false, "1.": false, "a.b": false, "1.-1": false, "1.14.1": false,
	} {
		if err := codersdk.CheckProvisionerAPIVersion(v); (err == nil) != good || err != nil && !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%q: %v", v, err)
		}
	}
}
