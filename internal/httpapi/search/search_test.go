package search

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

func TestSearch(t *testing.T) {
	parsed, err := Parse(`owner:me  Status:running name:"my box" foo "bar baz" tag:a,b created_before:2030-01-02 created_after:"2030-01-02T03:04:05Z" dormant:true`)
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	moment := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	yes := true
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"text", parsed.Text("owner"), "me"},
		{"key in any case", parsed.OneOf("status", "running", "stopped"), "running"},
		{"quotes", parsed.Text("name"), "my box"},
		{"words", parsed.FreeText(), "foo bar baz"},
		{"several", parsed.List("tag"), []string{"a", "b"}},
		{"day", parsed.Time("created_before"), &day},
		{"moment", parsed.Time("created_after"), &moment},
		{"boolean", parsed.Boolean("dormant"), &yes},
		{"absent", parsed.Text("template"), ""},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if err := parsed.Finish(); err != nil {
		t.Error(err)
	}
}

func TestSearchRefuses(t *testing.T) {
	for _, q := range []string{`name:"open`, `name:`, `:x`, string(make([]byte, rest.MaxSearch+1))} {
		if _, err := Parse(q); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%.20q: %v", q, err)
		}
	}
	parsed, err := Parse(`odd:1 when:soon id:x on:maybe status:flying a:1 a:2`)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Time("when")
	parsed.ID("id")
	parsed.Boolean("on")
	parsed.OneOf("status", "running")
	parsed.Text("a")
	e, ok := parsed.Finish().(*codersdk.Error)
	if !ok || len(e.Fields) != 6 {
		t.Errorf("want six wrong terms named: %v", e)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(`a:b "c d" e:"f g"`)
	f.Fuzz(func(t *testing.T, q string) {
		if p, err := Parse(q); err == nil {
			for key := range p.values {
				p.Text(key)
				p.Time(key)
			}
			_ = p.Finish()
		}
	})
}
