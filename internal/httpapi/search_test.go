package httpapi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-2a7f8fe7/coder"
)

func TestSearch(t *testing.T) {
	parsed, err := search(`owner:me  Status:running name:"my box" foo "bar baz" tag:a,b created_before:2030-01-02 created_after:"2030-01-02T03:04:05Z" dormant:true`)
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
		{"text", parsed.text("owner"), "me"},
		{"key in any case", parsed.oneOf("status", "running", "stopped"), "running"},
		{"quotes", parsed.text("name"), "my box"},
		{"words", parsed.word(), "foo bar baz"},
		{"several", parsed.texts("tag"), []string{"a", "b"}},
		{"day", parsed.time("created_before"), &day},
		{"moment", parsed.time("created_after"), &moment},
		{"boolean", parsed.boolean("dormant"), &yes},
		{"absent", parsed.text("template"), ""},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if err := parsed.done(); err != nil {
		t.Error(err)
	}
}

func TestSearchRefuses(t *testing.T) {
	for _, q := range []string{`name:"open`, `name:`, `:x`, string(make([]byte, maxSearch+1))} {
		if _, err := search(q); !coder.Is(err, coder.CodeInvalid) {
			t.Errorf("%.20q: %v", q, err)
		}
	}
	parsed, err := search(`odd:1 when:soon id:x on:maybe status:flying a:1 a:2`)
	if err != nil {
		t.Fatal(err)
	}
	parsed.time("when")
	parsed.id("id")
	parsed.boolean("on")
	parsed.oneOf("status", "running")
	parsed.text("a")
	e, ok := parsed.done().(*coder.Error)
	if !ok || len(e.Fields) != 6 {
		t.Errorf("want six wrong terms named: %v", e)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(`a:b "c d" e:"f g"`)
	f.Fuzz(func(t *testing.T, q string) {
		if p, err := search(q); err == nil {
			for key := range p.values {
				p.text(key)
				p.time(key)
			}
			_ = p.done()
		}
	})
}
