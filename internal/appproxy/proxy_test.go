package appproxy_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestSignIn goes the way of a browser to an app of its own host name, and
// looks at what it carries there.
func TestSignIn(t *testing.T) {
	p := newPlace(t, nil)
	b := p.browser(p.Client.SessionToken)
	a := b.open(p.on("code", "/deep/page?q=1&r=a%20b"))
	a.want(t, 200, "GET /deep/page?q=1&r=a%20b ")
	if a.Request.URL.String() != p.on("code", "/deep/page?q=1&r=a%20b") {
		t.Errorf("the browser ended at %s", a.Request.URL)
	}
	names := map[string]bool{}
	for _, c := range b.jar.Cookies(a.Request.URL) {
		names[c.Name] = true
	}
	if !names["coder_subdomain_app_session_token"] || !names["coder_signed_app_token"] || names["coder_session_token"] || len(names) != 2 {
		t.Errorf("the host of the app has the cookies %v", names)
	}
	other, err := url.Parse(p.on("auth", "/"))
	must(t, err)
	if c := b.jar.Cookies(other); len(c) != 0 {
		t.Errorf("another app's host has the cookies %v", c)
	}
	r, n := p.app.seen()
	if n != 1 || r.Header.Get("Cookie") != "" || r.Host != p.host("code") {
		t.Errorf("the app saw %d requests, the last to %s with the cookies %q", n, r.Host, r.Header.Get("Cookie"))
	}

	// The cookies have the required attributes.
	b.stay()
	fresh := p.browser("").stay()
	leave := fresh.open(p.on("code", "/"))
	leave.want(t, 303, "")
	if c := leave.Header.Get("Set-Cookie"); !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") || strings.Contains(c, "Domain") {
		t.Errorf("the cookie %q", c)
	}
	to, err := leave.Location()
	must(t, err)
	if to.Host != p.AccessURL().Host || to.Path != "/api/v2/applications/auth-redirect" {
		t.Errorf("somebody who is not signed in is sent to %s", to)
	}
	fresh.open(to.String()).want(t, 307, "/login?redirect=")
	b.ask("GET", to.String(), "").want(t, 307, "coder_application_connect_api_key")

	// A program is told instead.
	p.browser("").ask("GET", p.on("code", "/"), "").want(t, 401, "Coder-Session-Token")
	p.browser("").ask("POST", p.on("code", "/"), "", "Accept", "text/html").want(t, 401, "Sign in")

	// The session behind it ends: so does this one, when the pass has.
	jar, err := url.Parse(p.on("code", "/"))
	must(t, err)
	b.jar.SetCookies(jar, []*http.Cookie{{Name: "coder_signed_app_token", Path: "/", MaxAge: -1}})
	b.open(p.on("code", "/")).want(t, 200, "GET / ")
	b.jar.SetCookies(jar, []*http.Cookie{{Name: "coder_signed_app_token", Path: "/", MaxAge: -1}})
	must(t, p.Client.Logout(t.Context()))
	b.open(p.on("code", "/")).want(t, 303, "")
}

// TestTicket holds what a browser brings back to the browser that left.
func TestTicket(t *testing.T) {
	p := newPlace(t, nil)
	mine := p.browser(p.Client.SessionToken).stay()
	leave := mine.open(p.on("code", "/"))
	at, err := leave.Location()
	must(t, err)
	come := mine.open(at.String())
	ticket := come.Header.Get("Location")
	if !strings.HasPrefix(ticket, p.on("code", "/?")) {
		t.Fatalf("sent to %s", ticket)
	}

	victim := p.browser("").stay()
	victim.open(ticket).want(t, 400, "Try again")
	victim.open(p.on("code", "/x")) // now it has a state of its own
	victim.open(ticket).want(t, 400, "Try again")
	if _, n := p.app.seen(); n != 0 {
		t.Errorf("the app saw %d requests", n)
	}
	elsewhere := strings.Replace(ticket, p.host("code"), p.host("auth"), 1)
	mine.open(elsewhere).want(t, 400, "Try again")
	changed := strings.Replace(ticket, "key_35e783=1.", "key_35e783=1.x", 1)
	mine.open(changed).want(t, 400, "Try again")
	back := mine.open(ticket)
	back.want(t, 303, "")
	if l := back.Header.Get("Location"); l != "/" {
		t.Errorf("then sent to %s", l)
	}
	mine.open(p.on("code", "/")).want(t, 200, "GET / ")

	for _, uri := range []string{
		"", "/", "https://evil.example/", "http://evil.example/", "//evil.example", "javascript:alert(1)", p.AccessURL().String(),
		"https://" + p.host("code") + "/", "http://a@" + p.host("code") + "/", "http://code--main--dev--admin.apps.test/",
		"http://code--main--dev--admin.apps.test.evil.example:" + p.AccessURL().Port() + "/", "http://x.apps.test:" + p.AccessURL().Port() + "/",
		"http://evil.example#" + p.host("code"), "http://evil.example\\@" + p.host("code") + "/",
	} {
		q := url.Values{"redirect_uri": {uri}}
		mine.ask("GET", p.AccessURL().String()+"/api/v2/applications/auth-redirect?"+q.Encode(), "").want(t, 400, "redirect_uri")
	}
}

// TestSharing visits apps and ports of each level as the owner, as others, and
// as nobody.
func TestSharing(t *testing.T) {
	p := newPlace(t, nil)
	member, _ := p.Member(t, "bob")
	port := p.app.port()
	p.exec(`UPDATE workspace_apps SET sharing_level = 'organization' WHERE slug = 'folder'`)
	p.exec(`UPDATE workspace_apps SET subdomain = true WHERE slug = 'folder'`)
	check := func(app string, owner, other, nobody int) {
		t.Helper()
		for name, c := range map[string]struct {
			token string
			want  int
		}{"owner": {p.Client.SessionToken, owner}, "other": {member.SessionToken, other}, "nobody": {"", nobody}} {
			headers := []string{}
			if c.token != "" {
				headers = append(headers, "Coder-Session-Token", c.token)
			}
			if a := p.browser("").stay().ask("GET", p.on(app, "/x"), "", headers...); a.StatusCode != c.want {
				t.Errorf("%s by %s: %s, want %d: %.300s", app, name, a.Status, c.want, a.text)
			}
		}
	}
	check("code", 200, 404, 401)
	check("folder", 200, 200, 401)
	check("auth", 200, 200, 401)
	check("open", 200, 200, 200)
	check("none", 404, 404, 401)
	check(port, 200, 404, 401)
	share := func(level codersdk.WorkspaceAgentPortShareLevel) {
		t.Helper()
		var port int32
		for _, d := range p.app.port() {
			port = 10*port + d - '0'
		}
		_, err := p.Client.SharePort(t.Context(), p.workspace, codersdk.UpsertWorkspaceAgentPortShareRequest{
			AgentName: "main", Port: port, ShareLevel: level, Protocol: "http",
		})
		must(t, err)
	}
	share("authenticated")
	check(port, 200, 200, 401)
	share("public")
	check(port, 200, 200, 200)
	share("owner")
	check(port, 200, 404, 401)
	if a := p.browser("").ask("GET", p.on("code", "/"), "", "Authorization", "Bearer "+p.Client.SessionToken); a.StatusCode != 200 {
		t.Errorf("with a bearer token: %s", a.Status)
	}
	p.browser("").ask("GET", p.on("code", "/"), "", "Coder-Session-Token", "abcdefghij-"+strings.Repeat("x", 22)).want(t, 401, "session")

	// A person who is signed in and may not is not told whether it is there.
	other := p.browser(member.SessionToken)
	is, isNot := other.open(p.on("code", "/")), other.open(p.on("none", "/"))
	is.want(t, 404, "signed in as bob")
	if strings.ReplaceAll(is.text, "code", "none") != isNot.text {
		t.Errorf("what is hidden and what is not there look different:\n%s\n%s", is.text, isNot.text)
	}
	other.open(p.on("auth", "/")).want(t, 200, "GET / ")
}

// TestPathApps visits apps on the dashboard's own host.
func TestPathApps(t *testing.T) {
	p := newPlace(t, nil)
	member, _ := p.Member(t, "bob")
	at := p.AccessURL().String()
	mine, other, nobody := p.browser(p.Client.SessionToken), p.browser(member.SessionToken), p.browser("").stay()
	mine.open(at+"/@admin/dev.main/apps/code/a%2Fb?q").want(t, 200, "GET /a%2Fb?q ")
	if r, _ := p.app.seen(); r.Header.Get("Cookie") != "" || r.Header.Get("X-Forwarded-Prefix") != "/@admin/dev.main/apps/code" {
		t.Errorf("the app saw %v", r.Header)
	}
	a := mine.open(at + "/@admin/dev/apps/code")
	a.want(t, 200, "GET / ")
	if a.Request.URL.Path != "/@admin/dev/apps/code/" {
		t.Errorf("ended at %s", a.Request.URL)
	}
	if a := mine.open(at + "/@me/dev/apps/code/x?y=1"); a.Request.URL.Path != "/@admin/dev/apps/code/x" {
		t.Errorf("@me ended at %s: %s", a.Request.URL, a.text)
	}
	folder := mine.open(at + "/@admin/dev/apps/folder/")
	folder.want(t, 200, "GET /public/?dir=/home&x=1 ")
	if folder.Request.URL.RawQuery != "dir=/home&x=1" {
		t.Errorf("the query of the app is not shown to the page: %s", folder.Request.URL)
	}
	mine.open(at+"/@admin/dev/apps/folder/sub?z").want(t, 200, "GET /public/sub?z ")
	mine.open(at+"/@admin/dev/apps/"+p.app.port()+"/").want(t, 404, "port-forward")
	mine.stay().open(at+"/@admin/dev/apps/term/").want(t, 307, "")
	mine.open(at+"/@admin/dev/apps/docs/").want(t, 400, "&lt;script&gt;")
	// Public as it is, nobody else opens it here.
	other.open(at+"/@admin/dev/apps/folder/sub").want(t, 404, "")
	nobody.open(at+"/@admin/dev/apps/folder/sub?z").want(t, 303, "/login?redirect=%2F%40admin%2Fdev%2Fapps%2Ffolder%2Fsub%3Fz")
	nobody.ask("GET", at+"/@admin/dev/apps/folder/sub", "").want(t, 401, "")
	// What only looks like one is the dashboard's.
	if a := nobody.ask("GET", at+"/@admin/dev/terminal", ""); strings.Contains(a.text, "Sign in to open") {
		t.Errorf("the dashboard's own page is taken for an app: %s", a.text)
	}
}
