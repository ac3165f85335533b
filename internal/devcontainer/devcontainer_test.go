package devcontainer

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestAgentName(t *testing.T) {
	for in, want := range map[string]string{
		"app": "app", "My App": "my-app", "_x__y_": "x-y", "": "", "日本": "", "a.b": "a-b", strings.Repeat("a", 40): strings.Repeat("a", 32),
		strings.Repeat("a", 31) + "_b": strings.Repeat("a", 31),
	} {
		if got := agentName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzStandard(f *testing.F) {
	for _, s := range []string{`{"a": 1, // x` + "\n}", `{"a": [1, 2,], /* , */ }`, `{"a": "//\" /* ,}"}`, `{"a"`, `"\`, `/*`, `,}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := standard([]byte(s))
		if json.Valid([]byte(s)) { // JSON stays what it is
			var a, b any
			if json.Unmarshal([]byte(s), &a) != nil || json.Unmarshal(got, &b) != nil {
				t.Fatalf("%q became %q", s, got)
			}
		}
	})
}

func TestQuickLook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "devcontainer.json")
	for text, want := range map[string]customization{
		`{"customizations": {"coder": {"ignore": true, /* "autoStart": true */}}, // no` + "\n}": {Ignore: true},
		`{"image": "http://x", "customizations": {"coder": {"autoStart": true,},},}`:             {AutoStart: true},
		`{"customizations": {"vscode": {}}}`:                                                     {},
		`{`:                                                                                      {},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := quickLook(path); got.Ignore != want.Ignore || got.AutoStart != want.AutoStart {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestDiscover(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const config = "{}"
	for _, path := range []string{
		"outside/.devcontainer.json", "one/.devcontainer/devcontainer.json", "one/.devcontainer/go/devcontainer.json", "one/sub/.devcontainer.json",
		"one/node_modules/x/.devcontainer.json", "one/.hidden/.devcontainer.json", "one/gone/.devcontainer.json", "deep/a/b/c/d/e/f/g/h/.devcontainer.json",
		"deep/.devcontainer/file",
	} {
		write(path, config)
	}
	write("one/.gitignore", "gone/\n")
	write("deep/.git", "gitdir: elsewhere\n")
	tools := tools{env: os.Environ()}
	if path := tools.find(git); path != "" {
		if out, err := exec.Command(path, "init", "-q", filepath.Join(dir, "one")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	} else {
		t.Skip("there is no git here")
	}
	var got []string
	for _, f := range tools.discover(t.Context(), dir) {
		got = append(got, strings.TrimPrefix(f.config, dir+"/")+" of "+strings.TrimPrefix(f.folder, dir+"/"))
	}
	want := []string{
		"one/.devcontainer/devcontainer.json of one", "one/.devcontainer/go/devcontainer.json of one", "one/sub/.devcontainer.json of one/sub",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
}

func TestCustom(t *testing.T) {
	var c configuration
	if err := json.Unmarshal([]byte(`{"mergedConfiguration": {"customizations": {"coder": [
		{"name": "feature", "displayApps": {"vscode": true, "web_terminal": false}, "apps": [{"slug": "a", "url": "1", "order": 5}, {"slug": "b"}]},
		{"name": "own", "displayApps": {"vscode": false}, "apps": [{"slug": "a", "url": "2", "order": -1, "healthCheck": {"url": "u", "interval": 3, "threshold": 4}}, {"slug": "No"},
			{"slug": "thief", "external": true, "url": "x://y?$SESSION_TOKEN"}]}]},
		"remoteEnv": {"A": null, "B": "x"}, "containerUser": "c"}, "workspace": {"workspaceFolder": "/w"}}`), &c); err != nil {
		t.Fatal(err)
	}
	w := c.custom()
	if w.name != "own" || w.ignore || !slices.Equal(w.displayApps, []string{"port_forwarding_helper", "ssh_helper"}) || len(w.refused) != 2 {
		t.Errorf("%+v", w)
	}
	if len(w.apps) != 2 || w.apps[0].Slug != "a" || w.apps[0].URL != "2" || w.apps[0].Healthcheck != (codersdk.Healthcheck{URL: "u", Interval: 3, Threshold: 4}) {
		t.Errorf("%+v", w.apps)
	}
	if c.user() != "c" || c.folder() != "/w" || (configuration{}).folder() != "/" {
		t.Errorf("%q %q", c.user(), c.folder())
	}
}

func TestLogLine(t *testing.T) {
	for line, want := range map[string]string{
		`not JSON`: "info not JSON", `{"type":"text","level":3,"text":"a"}`: "info a", `{"type":"raw","level":4,"text":"b"}`: "warn b", `{"type":"text","level":5,"text":"c"}`: "error c",
		`{"type":"text","level":1,"text":"trace"}`: " ", `{"type":"stop","level":3,"text":"end"}`: " ", `{"type":"progress","name":"d"}`: "info d",
	} {
		level, text := logLine(line)
		if got := string(level) + " " + text; got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"\x1b[1;31mred\x1b[0m", "\x1b", "\x1b[", "a\rb\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := plain(s)
		if strings.ContainsAny(got, "\x1b\x00\r") || utf8.ValidString(s) && len(got) > len(s) {
			t.Errorf("%q became %q", s, got)
		}
	})
}
