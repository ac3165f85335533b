package cli

import (
	"github.com/seed-2a7f8fe7/coder/internal/cli/section"

	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-2a7f8fe7/coder"
)

func TestTargets(t *testing.T) {
	for text, want := range map[string]target{
		"dev": {"me", "dev", ""}, "dev.main": {"me", "dev", "main"}, "alice/dev": {"alice", "dev", ""},
		"alice/dev.main": {"alice", "dev", "main"}, "alice--dev": {"alice", "dev", ""}, "alice--dev--main": {"alice", "dev", "main"},
	} {
		if got, err := parseTarget(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "/", "a/", "/b", "a/b/c", "a b", ".x", "x."} {
		if got, err := parseTarget(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestHostNames(t *testing.T) {
	for _, c := range []struct{ host, prefix, suffix, want string }{
		{"coder.dev", "coder.", "", "dev"}, {"dev.coder", "", "coder", "dev"}, {"main.dev.alice.coder", "", "coder", "alice/dev.main"},
		{"dev.main.coder", "", ".coder", "dev.main"}, {"dev", "coder.", "coder", "dev"}, {"coder.alice--dev", "coder.", "", "alice--dev"},
	} {
		if got := hostTarget(c.host, c.prefix, c.suffix); got != c.want {
			t.Errorf("%v is %q", c, got)
		}
	}
}

func TestPortForwards(t *testing.T) {
	for text, want := range map[string]string{
		"8080": "[{127.0.0.1:8080 localhost:8080}]", "6000:5432": "[{127.0.0.1:6000 localhost:5432}]",
		"0.0.0.0:6000:5432": "[{0.0.0.0:6000 localhost:5432}]", "[::1]:6000:5432": "[{[::1]:6000 localhost:5432}]",
		"9000-9001:8000-8001": "[{127.0.0.1:9000 localhost:8000} {127.0.0.1:9001 localhost:8001}]",
	} {
		if got, err := parsePortForwards([]string{text}); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "0", "65536", "1:2:3:4", "9-8", "1-3:1-2", "8080:", "-1"} {
		if got, err := parsePortForwards([]string{text}); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestRemoteForwards(t *testing.T) {
	got, err := parseRemoteForwards([]string{"8080:localhost:3000", "0.0.0.0:1:127.0.0.1:2", "/a.sock:/b.sock"})
	want := "[{tcp localhost:8080 tcp localhost:3000} {tcp 0.0.0.0:1 tcp 127.0.0.1:2} {unix /a.sock unix /b.sock}]"
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"8080", "a:b", "x:localhost:1", "1:localhost:99999"} {
		if _, err := parseRemoteForwards([]string{text}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestServerURLs(t *testing.T) {
	for text, want := range map[string]string{
		"coder.example.com": "https://coder.example.com", "localhost:3000": "http://localhost:3000", "127.0.0.1:3000": "http://127.0.0.1:3000",
		"https://x.example/coder/?a=b": "https://x.example/coder",
	} {
		if got, err := parseServer(text); err != nil || got.String() != want {
			t.Errorf("%q is %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestProxyQuoting(t *testing.T) {
	for word, want := range map[string]string{
		"/usr/bin/coder": "/usr/bin/coder", "/my dir/coder": `"/my dir/coder"`, "100%": "100%%", "$HOME/`x`": "\"\\$HOME/\\`x\\`\"",
		`C:\Program Files\coder.exe`: `"C:\Program Files\coder.exe"`, "": `""`,
	} {
		if got, err := quoteProxy(word); err != nil || got != want {
			t.Errorf("%q is %s, %v, want %s", word, got, err, want)
		}
	}
	if _, err := quoteProxy("a\nb"); err == nil {
		t.Error("a line break is taken")
	}
}

func TestSections(t *testing.T) {
	const b, e = "# begin", "# end"
	for _, c := range []struct{ name, text, content, want string }{
		{"new file", "", "x\n", "# begin\nx\n# end\n"},
		{"added", "Host a\n", "x\n", "Host a\n\n# begin\nx\n# end\n"},
		{"replaced", "Host a\n\n# begin\nold\n# end\nHost b\n", "x\n", "Host a\n\n# begin\nx\n# end\nHost b\n"},
		{"removed", "Host a\n\n# begin\nold\n# end\nHost b\n", "", "Host a\nHost b\n"},
	} {
		got, err := section.Replace(c.text, b, e, c.content)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	for _, text := range []string{"# begin\n", "# end\n", "# end\n# begin\n", "# begin\n# begin\n# end\n"} {
		if got, err := section.Replace(text, b, e, "x"); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestFailuresAreOneLine(t *testing.T) {
	for want, err := range map[string]error{
		"no: because":     &coder.Error{Code: coder.CodeConflict, Message: "no", Detail: "because"},
		"while a: no":     fmt.Errorf("while a: %w", coder.Errorf(coder.CodeConflict, "no")),
		"Invalid name: x": coder.Invalid("name", "x"),
		"plain":           errors.New("plain"),
		"cannot reach http://h: connection refused": &url.Error{Op: "Get", URL: "http://h/api?token=secret", Err: fmt.Errorf("dial: %w", syscall.ECONNREFUSED)},
	} {
		if line, rest := describe(err); line != want || len(rest) > 0 {
			t.Errorf("%v is worded %q, %q", err, line, rest)
		}
	}
	two := &coder.Error{Message: "bad", Fields: []coder.ValidationError{{Field: "a", Detail: "one"}, {Field: "b", Detail: "two"}}}
	if line, rest := describe(two); line != "bad" || strings.Join(rest, "|") != "a: one|b: two" {
		t.Errorf("fields are worded %q, %q", line, rest)
	}
}
