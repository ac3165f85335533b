package remote

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

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
		if got, err := parsePortForwards("--tcp", []string{text}); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "0", "65536", "1:2:3:4", "9-8", "1-3:1-2", "8080:", "-1"} {
		if got, err := parsePortForwards("--tcp", []string{text}); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestPortsOfManyWorkspaces(t *testing.T) {
	got, err := assignPorts([]string{"dev", "ann/api.main"}, []string{"dev=8080", "ann/api.main=[::1]:9000:8080", "dev=1-2:3-4"}, []string{"ann/api.main=8080"})
	want := "[{dev [{127.0.0.1:8080 localhost:8080} {127.0.0.1:1 localhost:3} {127.0.0.1:2 localhost:4}] []} " +
		"{ann/api.main [{[::1]:9000 localhost:8080}] [{127.0.0.1:8080 localhost:8080}]}]"
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := assignPorts([]string{"dev"}, []string{"8080", "dev=9090"}, nil); err != nil || len(got[0].tcp) != 2 {
		t.Errorf("of one workspace: %v, %v", got, err)
	}
	for _, bad := range []struct {
		refs, tcp []string
		want      string
	}{
		{[]string{"dev", "api"}, []string{"8080"}, "name the workspace, for example dev=8080"},
		{[]string{"dev", "api"}, []string{"dev=8080"}, "no ports given for api"},
		{[]string{"dev", "api"}, []string{"dev=8080", "api=8080"}, "127.0.0.1:8080 is already forwarded"},
		{[]string{"dev", "api"}, []string{"dev=8080", "web=9090"}, "web is not one of the workspaces dev, api"},
		{[]string{"dev", "dev"}, []string{"dev=8080"}, "given twice"},
		{[]string{"dev"}, []string{"dev=x"}, "is not a port"},
		{[]string{"dev"}, nil, "--tcp 8080"},
	} {
		if got, err := assignPorts(bad.refs, bad.tcp, nil); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v %v: %v, %v", bad.refs, bad.tcp, got, err)
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

// Who names no agent means the one that the build made, and not those in its dev
// containers; those are named.
func TestPickAgent(t *testing.T) {
	main, second := codersdk.WorkspaceAgent{ID: uuid.New(), Name: "main"}, codersdk.WorkspaceAgent{ID: uuid.New(), Name: "second"}
	inner := codersdk.WorkspaceAgent{ID: uuid.New(), Name: "app", ParentID: &main.ID}
	for _, c := range []struct {
		agents     []codersdk.WorkspaceAgent
		name, want string
	}{
		{[]codersdk.WorkspaceAgent{inner, main}, "", "main"}, {[]codersdk.WorkspaceAgent{inner, main}, "app", "app"}, {[]codersdk.WorkspaceAgent{main, second, inner}, "", "several agents"},
		{[]codersdk.WorkspaceAgent{main, inner}, "other", "it has app, main"}, {nil, "", "no agent"},
	} {
		w := codersdk.Workspace{Name: "dev", LatestBuild: codersdk.WorkspaceBuild{Resources: []codersdk.WorkspaceResource{{Agents: c.agents}}}}
		got, err := pickAgent(w, c.name)
		if said := fmt.Sprint(got.Name, err); !strings.Contains(said, c.want) || err == nil && got.Name != c.want {
			t.Errorf("%q of %d: %s, want %s", c.name, len(c.agents), said, c.want)
		}
	}
}
