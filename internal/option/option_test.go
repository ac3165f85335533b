package option

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0h": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour, "2w": 14 * 24 * time.Hour,
		"1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "100ms": 100 * time.Millisecond, "876600h0m0s": 876600 * time.Hour, "-2h": -2 * time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "d", "1x", "h1", "1h2", "1..5h", "99999999999w", "--5m5"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q is taken for %v", text, d)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"1h", "7d", "1w2d", "-", "9e9d", "1µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil {
			if again, err := ParseDuration(d.String()); err != nil || again != d {
				t.Errorf("%q is %v, and that is %v, %v", s, d, again, err)
			}
		}
	})
}

func TestLists(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "a,b": {"a", "b"}, `"a,b",c`: {"a,b", "c"}, `names=["a","b"]`: {`names=["a","b"]`}, `x="y"`: {`x="y"`},
	} {
		if got, err := SplitCSV(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := SplitCSV(`"a`); err == nil {
		t.Error("an open quote is taken")
	}
	for _, want := range [][]string{{"a,b", `c"d`}, {"x"}} {
		if got, err := SplitCSV(JoinCSV(want)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q came back as %q, %v", want, got, err)
		}
	}
}

func TestAFlagWinsOverTheEnvironmentOverTheFileOverTheDefault(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("a:\n  list: [x, 'y,z']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags []string
		env   map[string]string
		want  string
	}{
		{nil, nil, `x,"y,z"`},
		{nil, map[string]string{"LIST": "e,f"}, "e,f"},
		{[]string{"1", "2,3"}, map[string]string{"LIST": "e,f"}, "1,2,3"},
	} {
		var got []string
		o := List(&got, "list", "").Env("LIST").YAML("a.list").Def("d1,d2")
		if err := o.PreParse(); err != nil || JoinCSV(got) != "d1,d2" {
			t.Fatalf("the default is %q, %v", got, err)
		}
		for _, f := range c.flags {
			if err := o.Set("list", f); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.FromEnv(c.env); err != nil {
			t.Fatal(err)
		}
		if err := ReadFile(file, []*Option{o}); err != nil {
			t.Fatal(err)
		}
		if JoinCSV(got) != c.want {
			t.Errorf("flags %q and environment %q give %q, want %q", c.flags, c.env, JoinCSV(got), c.want)
		}
	}
}

func TestMistakesNameTheirPlace(t *testing.T) {
	var n int
	o := Int(&n, "num", "").Env("NUM").YAML("x.num")
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("x:\n  num: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"x.num: ": ReadFile(file, []*Option{o}),
		"$NUM: ":  o.FromEnv(map[string]string{"NUM": "many"}),
		"--num: ": o.Set("num", "many"),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "Invalid ") && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want it to begin with %q", err, want)
		}
	}
}

func TestStructuresAndChoices(t *testing.T) {
	var c string
	var m map[string]string
	o := JSON(&m, "map[string]string", "m", "").YAML("m")
	if o.Set("m", "[1]") == nil || o.Set("m", `{"a":"b"}`) != nil {
		t.Error("the shape of JSON is not checked")
	}
	if m["a"] != "b" {
		t.Errorf("decoded as %v", m)
	}
	text, err := WriteFile([]*Option{o}, func(text string) string { return text })
	if err != nil || !strings.Contains(text, "a: b") {
		t.Errorf("written as %q, %v", text, err)
	}
	off := true
	if n := Not(&off, "n", "").Def("true"); n.PreParse() != nil || off || n.Value.Get() != "true" {
		t.Errorf("the opposite of true is %v, shown as %q", off, n.Value.Get())
	}
	k := Choice(&c, "k", "", "URL", "Name")
	if k.Set("k", "url") != nil || c != "URL" || k.Set("k", "x") == nil {
		t.Errorf("the choice is %q", c)
	}
}
