package workspaceapp

import (
	"net/url"
	"strings"
	"testing"
)

func parseURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestParseHosts(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                           "",
		"*.apps.example.com":         "*.apps.example.com",
		"*--apps.example.com":        "*--apps.example.com",
		"*-apps.example.com":         "*-apps.example.com",
		"https://*.Apps.Example.com": "*.apps.example.com",
		"*.localhost":                "*.localhost",
		"*.apps.example.com:443":     "*.apps.example.com",
	} {
		h, err := ParseHosts(pattern, parseURL(t, "https://coder.example.com"))
		if err != nil || h.String() != want {
			t.Errorf("%q: %q, %v, want %q", pattern, h, err, want)
		}
	}
	h, err := ParseHosts("*.localhost:3000", parseURL(t, "http://localhost:3000"))
	if err != nil || h.String() != "*.localhost:3000" || h.Format("a--b--c--d") != "a--b--c--d.localhost:3000" {
		t.Errorf("with a port: %q, %v", h, err)
	}
	for _, pattern := range []string{
		"apps.example.com", "a.*.example.com", "*.*.example.com", "*", "*.", "*..com", "*apps.example.com",
		"*.example.com/x", "*.example.com:81", "*.exam ple.com", "*-.example.com", "**.example.com",
	} {
		if h, err := ParseHosts(pattern, parseURL(t, "https://coder.example.com")); err == nil {
			t.Errorf("%q is taken as %q", pattern, h)
		}
	}
}

func TestParseHost(t *testing.T) {
	full := Name{App: "code", Agent: "main", Workspace: "dev", Owner: "ann"}
	for _, c := range []struct {
		pattern, host string
		want          Name
		under, bad    bool
	}{
		{"*.apps.example.com", "code--main--dev--ann.apps.example.com", full, true, false},
		{"*.apps.example.com", "CODE--main--dev--ann.Apps.example.com.", full, true, false},
		{"*.apps.example.com", "code--main--dev--ann.apps.example.com:8080", full, true, false},
		{"*--apps.example.com", "code--main--dev--ann--apps.example.com", full, true, false},
		{"*.apps.example.com", "code--dev--ann.apps.example.com", Name{App: "code", Workspace: "dev", Owner: "ann"}, true, false},
		{"*.apps.example.com", "8080s--main--dev--ann.apps.example.com", Name{App: "8080s", Agent: "main", Workspace: "dev", Owner: "ann"}, true, false},
		{"*.apps.example.com", "my-app--a-b--c-d--e-f.apps.example.com", Name{App: "my-app", Agent: "a-b", Workspace: "c-d", Owner: "e-f"}, true, false},
		{"*.apps.example.com", "apps.example.com", Name{}, false, false},
		{"*.apps.example.com", "coder.example.com", Name{}, false, false},
		{"*.apps.example.com", "code--main--dev--ann.apps.example.com.evil.org", Name{}, false, false},
		{"*.apps.example.com", "code--main--dev--ann.evilapps.example.com", Name{}, false, false},
		{"*.apps.example.com", ".apps.example.com", Name{}, true, true},
		{"*.apps.example.com", "code.apps.example.com", Name{}, true, true},
		{"*.apps.example.com", "x.code--main--dev--ann.apps.example.com", Name{}, true, true},
		{"*.apps.example.com", "code----dev--ann.apps.example.com", Name{}, true, true},
		{"*.apps.example.com", "a--b--c--d--e.apps.example.com", Name{}, true, true},
		{"*.apps.example.com", "co/de--main--dev--ann.apps.example.com", Name{}, true, true},
		{"*.apps.example.com", "ann@code--main--dev--ann.apps.example.com", Name{}, true, true},
		{"*.apps.example.com", strings.Repeat("a", 64) + "--main--dev--ann.apps.example.com", Name{}, true, true},
		{"", "code--main--dev--ann.apps.example.com", Name{}, false, false},
	} {
		h, err := ParseHosts(c.pattern, parseURL(t, "https://coder.example.com"))
		if err != nil {
			t.Fatal(err)
		}
		n, under, err := h.Parse(c.host)
		if n != c.want || under != c.under || (err != nil) != c.bad {
			t.Errorf("%s: %q is %+v, %v, %v", c.pattern, c.host, n, under, err)
		}
	}
}

func TestPort(t *testing.T) {
	for text, want := range map[string]struct {
		port      int
		https, ok bool
	}{
		"8080": {8080, false, true}, "8443s": {8443, true, true}, "8443S": {8443, true, true}, "80": {80, false, true},
		"65535": {65535, false, true}, "65536": {}, "0": {}, "080": {}, "s": {}, "": {}, "8080x": {}, "99999999999": {}, "-1": {}, "+80": {},
	} {
		port, https, ok := Name{App: text}.Port()
		if ok != want.ok || ok && (port != want.port || https != want.https) {
			t.Errorf("%q: %d, %v, %v", text, port, https, ok)
		}
	}
}

func TestParsePath(t *testing.T) {
	full := Name{App: "code", Agent: "main", Workspace: "dev", Owner: "ann"}
	for path, want := range map[string]PathName{
		"/@ann/dev.main/apps/code":            {full, "/@ann/dev.main/apps/code", ""},
		"/@ann/dev.main/apps/code/":           {full, "/@ann/dev.main/apps/code", "/"},
		"/@ann/dev.main/apps/code/a/b%2Fc":    {full, "/@ann/dev.main/apps/code", "/a/b%2Fc"},
		"/%40ann/dev%2Emain/apps/code/x":      {full, "/%40ann/dev%2Emain/apps/code", "/x"},
		"/@ann/dev/apps/8080/":                {Name{App: "8080", Workspace: "dev", Owner: "ann"}, "/@ann/dev/apps/8080", "/"},
		"/@ann/dev.main/apps/code//etc/../x/": {full, "/@ann/dev.main/apps/code", "//etc/../x/"},
	} {
		if p, ok := ParsePath(want.Base + want.Rest); !ok || p != want || path != want.Base+want.Rest {
			t.Errorf("%q is %+v, %v", path, p, ok)
		}
	}
	for _, path := range []string{
		"", "/", "/@ann", "/@ann/dev", "/@ann/dev/apps", "/@ann/dev/apps/", "/ann/dev/apps/code/", "/@ann/dev/terminal/code",
		"/@ann/../apps/code/", "/@ann/dev/apps/../code", "/@ann/dev/apps/%2e%2e/code", "/@ann%2fdev/x/apps/code",
		"/@ann/dev.a.b/apps/code/", "/@ann/dev./apps/code/", "/@ann/dev/apps/co%2fde/", "/@/dev/apps/code/", "x/@ann/dev/apps/code",
		"/@ann/dev/apps/%zz/", "//@ann/dev/apps/code/",
	} {
		if p, ok := ParsePath(path); ok {
			t.Errorf("%q is taken as %+v", path, p)
		}
	}
}

func TestClimbs(t *testing.T) {
	for path, want := range map[string]bool{
		"/a/b": false, "/a..b/..c": false, "/...": false, "": false, "/%2e": false,
		"/..": true, "/a/../b": true, "/%2e%2e/x": true, "/.%2E": true, "/a%2f..%2fb": true, `/a\..\b`: true, "/a%5c..%5cb": true, "/%zz": true,
	} {
		if got := Climbs(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"code--main--dev--ann.apps.example.com", "8080--dev--ann.apps.example.com:80", "..apps.example.com", "--", "[::1]:80"} {
		f.Add(s)
	}
	h, err := ParseHosts("*.apps.example.com", parseURL(f, "https://coder.example.com"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host string) {
		n, under, err := h.Parse(host)
		if err != nil || !under {
			if n != (Name{}) {
				t.Fatalf("%q is refused and gives %+v", host, n)
			}
			return
		}
		for _, p := range []string{n.App, n.Workspace, n.Owner} {
			if !part(p) || strings.Contains(p, "--") {
				t.Fatalf("%q gives the part %q", host, p)
			}
		}
		label := n.Key()
		if n.Agent == "" {
			label = n.App + "--" + n.Workspace + "--" + n.Owner
		}
		back, _, err := h.Parse(h.Format(label))
		if err != nil || back != n {
			t.Fatalf("%q is %+v, which leads back to %+v, %v", host, n, back, err)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"/@ann/dev.main/apps/code/x", "/%40ann/dev/apps/a/%2e%2e", "/@ann/dev/apps/code"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, ok := ParsePath(path)
		if !ok {
			return
		}
		if p.Base+p.Rest != path || strings.Count(p.Base, "/") != 4 || p.Rest != "" && p.Rest[0] != '/' {
			t.Fatalf("%q is cut into %q and %q", path, p.Base, p.Rest)
		}
		if Climbs(p.Base) {
			t.Fatalf("the base %q climbs", p.Base)
		}
	})
}
