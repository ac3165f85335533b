package appproxy_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// directives reads a Content-Security-Policy.
func directives(policy string) map[string]string {
	out := map[string]string{}
	for d := range strings.SplitSeq(policy, ";") {
		name, values, _ := strings.Cut(strings.TrimSpace(d), " ")
		out[name] = values
	}
	return out
}

// safe holds an answer of ours to what browsers must be told.
func safe(t *testing.T, what string, a answer) {
	t.Helper()
	h := a.Header
	if len(h["Content-Security-Policy"]) != 1 || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%s (%d) lacks safety headers: %v", what, a.StatusCode, h)
	}
	d := directives(h.Get("Content-Security-Policy"))
	for _, name := range []string{"default-src", "base-uri", "form-action", "frame-ancestors"} {
		if d[name] == "" {
			t.Errorf("%s: the policy says nothing of %s: %v", what, name, d)
		}
	}
	for name, values := range d {
		if strings.Contains(values, "unsafe-") || slices.Contains(strings.Fields(values), "*") {
			t.Errorf("%s: %s is %s", what, name, values)
		}
	}
	for _, c := range a.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("%s: the cookie %s is not for us alone: %+v", what, c.Name, c)
		}
	}
	if strings.HasPrefix(h.Get("Content-Type"), "text/html") && h.Get("Cache-Control") != "no-store" {
		t.Errorf("%s is kept: %v", what, h)
	}
}

// TestSafetyHeaders: every kind of answer of the server tells browsers what
// they may do with it, and what an app says of itself is left to the app.
func TestSafetyHeaders(t *testing.T) {
	p := newPlace(t, nil)
	at, token := p.AccessURL().String(), p.Client.SessionToken
	in, out := p.browser(token), p.browser("")
	in.stay()
	out.stay()
	page := in.open(at + "/workspaces")
	safe(t, "page", page)
	if again := in.open(at + "/workspaces"); again.Header.Get("Content-Security-Policy") == page.Header.Get("Content-Security-Policy") {
		t.Error("two pages have the same nonce")
	}
	for _, name := range regexp.MustCompile(`/assets/[^"]+`).FindAllString(page.text, -1) {
		asset := in.ask("GET", at+name, "")
		asset.want(t, 200, "")
		safe(t, "asset "+name, asset)
	}
	for what, a := range map[string]answer{
		"asset of before":    in.ask("GET", at+"/assets/index-old.js", ""),
		"API":                in.ask("GET", at+"/api/v2/users/me", ""),
		"API to nobody":      out.ask("GET", at+"/api/v2/users/me", ""),
		"API of nothing":     in.ask("GET", at+"/api/v2/nothing", ""),
		"API misused":        in.ask("POST", at+"/api/v2/users/me/keys/tokens", "{", "Coder-Session-Token", token),
		"API over CSRF":      in.ask("POST", at+"/api/v2/users/me/keys", "{}", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"),
		"API too much":       in.ask("POST", at+"/api/v2/users/login", strings.Repeat("x", 2<<20)),
		"API no WebSocket":   in.ask("GET", at+"/api/v2/changes", "", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "1"),
		"login":              out.ask("POST", at+"/api/v2/users/login", `{"email": "admin@example.com", "password": "wrong wrong"}`),
		"health":             out.ask("GET", at+"/healthz", ""),
		"script":             out.ask("GET", at+"/init-script/linux/amd64", ""),
		"no binary":          out.ask("GET", at+"/bin/coder-plan9-mips", ""),
		"method":             in.ask("DELETE", at+"/workspaces", ""),
		"app to nobody":      out.open(at + "/@admin/dev.main/apps/dead/"),
		"app that is dead":   in.open(at + "/@admin/dev.main/apps/dead/"),
		"app that is none":   in.open(at + "/@admin/dev.main/apps/none/"),
		"app for programs":   in.ask("GET", at+"/@admin/dev.main/apps/none/", ""),
		"app on its host":    out.open(p.on("code", "/")),
		"app that is not at": out.open("http://none--main--dev--admin.apps.test:" + p.AccessURL().Port() + "/"),
	} {
		safe(t, what, a)
	}
	const own = "default-src 'self' https://cdn.example; script-src 'unsafe-inline'"
	p.app.page("/own", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Security-Policy", own) })
	app := p.browser(token).ask("GET", p.on("code", "/own"), "", "Coder-Session-Token", token)
	if got := app.Header["Content-Security-Policy"]; app.StatusCode != 200 || len(got) != 1 || got[0] != own {
		t.Errorf("the app's own policy came as %q", got)
	}
}

// TestPageKeepsItsStyle: the hash in the policy is that of the style there is.
func TestPageKeepsItsStyle(t *testing.T) {
	p := newPlace(t, nil)
	page := p.browser(p.Client.SessionToken).open(p.AccessURL().String() + "/@admin/dev.main/apps/none/")
	_, style, _ := strings.Cut(page.text, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	if style == "" || !strings.Contains(page.Header.Get("Content-Security-Policy"), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("the policy is %q", page.Header.Get("Content-Security-Policy"))
	}
}
