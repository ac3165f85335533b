package appproxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// cookie returns the cookies that a browser has for a host, as a header.
func (b *browser) cookie(at string) string {
	b.t.Helper()
	u, err := url.Parse(at)
	must(b.t, err)
	var all []string
	for _, c := range b.jar.Cookies(u) {
		all = append(all, c.Name+"="+c.Value)
	}
	return strings.Join(all, "; ")
}

// dump writes all that the app saw of its last request.
func (b *backend) dump() string {
	r, _ := b.seen()
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s %s\n", r.Method, r.RequestURI, r.Host)
	for k, v := range r.Header {
		fmt.Fprintf(&s, "%s: %q\n", k, v)
	}
	return s.String()
}

// TestNothingOfOursReachesApps sends every form of every credential of ours to
// apps, and looks at what arrives.
func TestNothingOfOursReachesApps(t *testing.T) {
	p := newPlace(t, nil)
	secret := p.Client.SessionToken
	member, _ := p.Member(t, "bob")
	mine := p.browser(secret)
	mine.open(p.on("code", "/"))
	carried := mine.cookie(p.on("code", "/"))
	_, session, _ := strings.Cut(carried, "coder_subdomain_app_session_token=")
	session, _, _ = strings.Cut(session, ";")
	secrets := []string{secret, member.SessionToken, session}
	plain := p.browser("")
	for _, at := range []string{p.on("open", "/x"), p.on("code", "/x"), p.AccessURL().String() + "/@admin/dev.main/apps/code/x"} {
		for name, headers := range map[string][]string{
			"header":             {"Coder-Session-Token", secret},
			"lower header":       {"coder-session-token", secret},
			"bearer":             {"Authorization", "Bearer " + secret},
			"odd bearer":         {"Authorization", "bearer   " + secret + " "},
			"cookie":             {"Coder-Session-Token", secret, "Cookie", "a=1; coder_session_token=" + secret + "; b=2"},
			"cookie alone":       {"Coder-Session-Token", secret, "Cookie", "coder_session_token=" + secret},
			"two cookies":        {"Coder-Session-Token", secret, "Cookie", "coder_session_token=" + secret, "Cookie", "coder_session_token=" + member.SessionToken + "; a=1"},
			"quoted cookie":      {"Coder-Session-Token", secret, "Cookie", `a="; coder_session_token=` + secret + `; b="`},
			"cookie in capitals": {"Coder-Session-Token", secret, "Cookie", "CODER_SESSION_TOKEN=" + secret + "; Coder_Session_Token=" + secret},
			"tight cookie":       {"Coder-Session-Token", secret, "Cookie", "a=1;coder_session_token=" + secret + ";\tcoder_signed_app_token=" + session},
			"app's cookies":      {"Coder-Session-Token", secret, "Cookie", carried + "; __Host-coder_subdomain_app_session_token=" + session},
			"referrer":           {"Coder-Session-Token", secret, "Referer", "http://x/?a=1&coder_session_token=" + secret + "&b=2"},
			"underscores":        {"Coder-Session-Token", secret, "Coder_Session_Token", secret},
		} {
			a := plain.ask("POST", at+"?keep=1", "", headers...)
			if a.StatusCode != 200 {
				t.Errorf("%s to %s: %s %s", name, at, a.Status, a.text)
			}
			seen := p.app.dump()
			for _, s := range secrets {
				if strings.Contains(seen, s) || strings.Contains(strings.ToLower(seen), "coder_s") || strings.Contains(seen, "Coder-Session") {
					t.Errorf("%s to %s: the app saw\n%s", name, at, seen)
					break
				}
			}
			if strings.Contains(name, "cookies") && strings.Contains(seen, "Cookie") && !strings.Contains(seen, "a=1") {
				t.Errorf("%s: the app's own cookie is lost:\n%s", name, seen)
			}
		}
		// In the query it does not count, and does not stay in the address.
		for _, q := range []string{"coder_session_token=" + secret, "a=1&coder%5Fsession_token=" + secret, "a=1;coder_session_token=" + secret + "&b=2", "CODER_SESSION_TOKEN=" + secret} {
			a := plain.ask("GET", at+"?"+q, "", "Coder-Session-Token", secret)
			if strings.Contains(a.Request.URL.String(), secret) || strings.Contains(a.text, secret) {
				t.Errorf("%s: the browser is at %s", q, a.Request.URL)
			}
			plain.ask("PUT", at+"?"+q, "", "Coder-Session-Token", secret)
			if seen := p.app.dump(); strings.Contains(seen, secret) {
				t.Errorf("%s: the app saw\n%s", q, seen)
			}
		}
		if !strings.Contains(at, "open") {
			p.browser("").ask("POST", at+"?coder_session_token="+secret, "").want(t, 401, "")
		}
	}
	// What is not ours arrives.
	plain.ask("GET", p.on("open", "/"), "", "Authorization", "Bearer app-token", "Cookie", "coder=1; my_coder_session_token=2", "Referer", "http://x/?a=1")
	for _, want := range []string{`"Bearer app-token"`, "coder=1; my_coder_session_token=2", "http://x/?a=1"} {
		if seen := p.app.dump(); !strings.Contains(seen, want) {
			t.Errorf("the app did not see %s:\n%s", want, seen)
		}
	}
}

// TestStolenCookies takes what a browser carries to one app elsewhere.
func TestStolenCookies(t *testing.T) {
	p := newPlace(t, nil)
	b := p.browser(p.Client.SessionToken)
	b.open(p.on("code", "/"))
	carried := b.cookie(p.on("code", "/"))
	path := p.AccessURL().String() + "/@admin/dev.main/apps/code/"
	b.open(path)
	var pass string
	for _, c := range strings.Split(b.cookie(path), "; ") {
		if strings.HasPrefix(c, "coder_signed_app_token=") {
			pass = c
		}
	}
	if !strings.Contains(carried, "coder_signed") || pass == "" {
		t.Fatalf("carried: %q, %q", carried, pass)
	}
	_, session, _ := strings.Cut(carried, "coder_subdomain_app_session_token=")
	session, _, _ = strings.Cut(session, ";")
	_, n := p.app.seen()
	for _, stolen := range []string{carried, pass, "coder_session_token=" + session} {
		for _, at := range []string{
			p.on("auth", "/"), p.on(p.app.port(), "/"), p.on("dead", "/"), "http://code--other--dev--admin.apps.test:" + p.AccessURL().Port() + "/",
			p.AccessURL().String() + "/@admin/dev.main/apps/auth/", p.AccessURL().String() + "/@admin/dev/apps/code/",
			p.AccessURL().String() + "/api/v2/users/me", p.AccessURL().String() + "/api/v2/workspaces",
		} {
			p.browser("").ask("GET", at, "", "Cookie", stolen).want(t, 401, "")
		}
	}
	for _, header := range []string{"Coder-Session-Token", "Authorization"} {
		value := session
		if header == "Authorization" {
			value = "Bearer " + session
		}
		p.browser("").ask("GET", p.AccessURL().String()+"/api/v2/users/me", "", header, value).want(t, 401, "")
		p.browser("").ask("GET", p.on("code", "/"), "", header, value).want(t, 401, "")
	}
	// The dashboard's own cookie is nothing on the host of an app.
	p.browser("").ask("GET", p.on("code", "/"), "", "Cookie", "coder_session_token="+p.Client.SessionToken).want(t, 401, "")
	if _, now := p.app.seen(); now != n {
		t.Errorf("the app saw %d of these", now-n)
	}
	p.browser("").ask("GET", p.on("code", "/"), "", "Cookie", carried).want(t, 200, "") // for comparison
}

// TestOtherSites sends what pages of other sites make a browser send.
func TestOtherSites(t *testing.T) {
	p := newPlace(t, nil)
	b := p.browser(p.Client.SessionToken)
	b.open(p.on("code", "/"))
	b.open(p.on("open", "/"))
	path := p.AccessURL().String() + "/@admin/dev.main/apps/code/"
	b.open(path)
	own, friend := "http://"+p.host("code"), "http://"+p.host("auth")
	foe := "http://evil--main--ws--mallory.apps.test:" + p.AccessURL().Port()
	for name, c := range map[string]struct {
		method  string
		headers []string
		want    int // of the subdomain app
		onPath  int
	}{
		"own page posts":             {"POST", []string{"Origin", own, "Sec-Fetch-Site", "same-origin"}, 200, 403},
		"friend posts":               {"POST", []string{"Origin", friend, "Sec-Fetch-Site", "same-site"}, 200, 403},
		"dashboard posts":            {"POST", []string{"Origin", p.AccessURL().String()}, 200, 200},
		"other owner's app posts":    {"POST", []string{"Origin", foe, "Sec-Fetch-Site", "same-site"}, 403, 403},
		"other owner's app reads":    {"GET", []string{"Origin", foe, "Sec-Fetch-Site", "same-site"}, 403, 403},
		"other site posts":           {"POST", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, 403},
		"sandboxed frame posts":      {"POST", []string{"Origin", "null", "Sec-Fetch-Site", "cross-site"}, 403, 403},
		"other scheme":               {"POST", []string{"Origin", "https://" + p.host("code")}, 403, 403},
		"other port":                 {"POST", []string{"Origin", "http://code--main--dev--admin.apps.test:1"}, 403, 403},
		"looks alike":                {"POST", []string{"Origin", own + ".evil.example"}, 403, 403},
		"looks alike in front":       {"POST", []string{"Origin", "http://evil.example/" + own}, 403, 403},
		"user in front":              {"POST", []string{"Origin", "http://" + p.host("code") + "@evil.example"}, 403, 403},
		"script of other site":       {"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, 403, 403},
		"image, foe's referrer":      {"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image", "Referer", foe + "/"}, 403, 403},
		"image, friend's referrer":   {"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image", "Referer", friend + "/x"}, 200, 403},
		"frame of other site":        {"GET", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe", "Referer", foe + "/"}, 403, 403},
		"link":                       {"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200, 200},
		"form without origin":        {"POST", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403, 403},
		"typed":                      {"GET", []string{"Sec-Fetch-Site", "none"}, 200, 200},
		"own script":                 {"GET", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "no-cors"}, 200, 200},
		"program":                    {"POST", nil, 200, 200},
		"other site opens WebSocket": {"GET", []string{"Origin", "http://evil.example", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, 403, 403},
		"foe opens WebSocket":        {"GET", []string{"Origin", foe, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, 403, 403},
	} {
		if a := b.ask(c.method, p.on("code", "/x"), "", c.headers...); a.StatusCode != c.want {
			t.Errorf("%s: %s", name, a.Status)
		}
		if a := b.ask(c.method, path+"x", "", c.headers...); a.StatusCode != c.onPath {
			t.Errorf("%s, path app: %s", name, a.Status)
		}
		if a := b.ask(c.method, p.on("open", "/x"), "", c.headers...); a.StatusCode != 200 {
			t.Errorf("%s, public app: %s", name, a.Status)
		}
	}
	// A page of an app can use the API of the dashboard no more than one of
	// another site, though the browser sends the session along.
	for path, method := range map[string]string{"/users/me/keys": "POST", "/users/me/profile": "PUT", "/workspaces/" + p.workspace.String(): "PATCH"} {
		b.ask(method, p.AccessURL().String()+"/api/v2"+path, "", "Origin", own, "Sec-Fetch-Site", "same-site").want(t, 403, "another site")
	}
	a := b.ask("GET", p.AccessURL().String()+"/api/v2/users/me", "", "Origin", own, "Sec-Fetch-Site", "same-site")
	if a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the API lets %s read: %v", own, a.Header)
	}
}

// TestCORS asks who may read what apps answer. (NET-10)
func TestCORS(t *testing.T) {
	p := newPlace(t, nil)
	p.app.page("/cors", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Private-Network", "true")
		w.Header().Set("Access-Control-Expose-Headers", "X-Total")
	})
	b := p.browser(p.Client.SessionToken)
	b.open(p.on("code", "/"))
	b.open(p.on("open", "/"))
	friend, foe := "http://"+p.host("auth"), "http://evil--main--ws--mallory.apps.test:"+p.AccessURL().Port()
	allowed := func(a answer, origin string) {
		t.Helper()
		h := a.Header
		if h.Get("Access-Control-Allow-Origin") != origin || (h.Get("Access-Control-Allow-Credentials") == "true") != (origin != "") {
			t.Errorf("%s: %v", a.Request.URL, h)
		}
		if len(h.Values("Access-Control-Allow-Origin")) > 1 || h.Get("Access-Control-Allow-Private-Network") != "" {
			t.Errorf("%s: what the app says is passed on: %v", a.Request.URL, h)
		}
	}
	preflight := func(app, origin string) answer {
		return p.browser("").ask("OPTIONS", p.on(app, "/cors"), "", "Origin", origin, "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "x-a,x-b")
	}
	for _, app := range []string{"code", "open"} {
		a := preflight(app, friend)
		a.want(t, 204, "")
		allowed(a, friend)
		if a.Header.Get("Access-Control-Allow-Methods") != "PUT" || a.Header.Get("Access-Control-Allow-Headers") != "x-a,x-b" {
			t.Errorf("preflight: %v", a.Header)
		}
		for _, origin := range []string{foe, "http://evil.example", "null"} {
			allowed(preflight(app, origin), "")
		}
		a = b.ask("GET", p.on(app, "/cors"), "", "Origin", friend)
		a.want(t, 200, "")
		allowed(a, friend)
		if a.Header.Get("Access-Control-Expose-Headers") != "X-Total" {
			t.Errorf("what the app exposes is lost: %v", a.Header)
		}
	}
	allowed(b.ask("GET", p.on("open", "/cors"), "", "Origin", foe), "")
	if _, n := p.app.seen(); n != 5 {
		t.Errorf("the app saw %d requests, want those that were not preflights", n)
	}

	p.exec(`UPDATE templates SET cors_behavior = 'passthru'`)
	pass := preflight("open", foe)
	if pass.StatusCode != 200 || pass.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("an app that answers by itself: %s %v", pass.Status, pass.Header)
	}
	preflight("code", foe).want(t, 401, "")
}

// TestHosts sends names of hosts that lie.
func TestHosts(t *testing.T) {
	p := newPlace(t, nil)
	token := p.Client.SessionToken
	b := p.browser("")
	api := p.AccessURL().String() + "/api/v2/buildinfo"
	// Only the host of the request counts.
	for _, name := range []string{"X-Forwarded-Host", "X-Host", "X-Original-Host", "X-HTTP-Host-Override", "Forwarded"} {
		value := p.host("code")
		if name == "Forwarded" {
			value = "host=" + value
		}
		b.ask("GET", api, "", name, value, "Coder-Session-Token", token).want(t, 200, "dashboard_url")
		b.ask("GET", p.on("code", "/api/v2/buildinfo"), "", name, p.AccessURL().Host, "Coder-Session-Token", token).want(t, 200, "GET /api/v2/buildinfo")
	}
	// Nothing of the dashboard is on a host below the wildcard.
	for _, host := range []string{"x.apps.test", "a.b.apps.test", "--.apps.test", "code--main.apps.test", ".apps.test", "api--x--y--z--q.apps.test"} {
		for _, path := range []string{"/", "/api/v2/buildinfo", "/api/v2/users/first", "/login", "/healthz", "/@admin/dev/apps/code/"} {
			b.ask("GET", p.AccessURL().String()+path, "", "Host", host, "Coder-Session-Token", token).want(t, 404, "not the address of an app")
		}
	}
	for _, host := range []string{strings.ToUpper(p.host("code")), "code--main--dev--admin.apps.test.", "code--main--dev--admin.apps.test:99"} {
		b.ask("GET", p.AccessURL().String()+"/x", "", "Host", host, "Coder-Session-Token", token).want(t, 200, "GET /x")
	}
	// What clients say of themselves does not pass for the word of a proxy.
	b.ask("GET", p.on("code", "/"), "", "Coder-Session-Token", token, "X-Forwarded-For", "6.6.6.6", "X-Forwarded-Proto", "gopher", "X-Forwarded-Host", "evil.example",
		"X-Forwarded-Prefix", "/evil", "X-Forwarded-User", "root", "Forwarded", "for=6.6.6.6", "X-Real-Ip", "6.6.6.6", "True-Client-Ip", "6.6.6.6",
		"X_Forwarded_For", "6.6.6.6", "X-Original-Url", "/admin", "X-Rewrite-Url", "/admin", "Proxy", "http://evil.example", "Connection", "X-Forwarded-For, X-Keep", "X-Keep", "1")
	r, _ := p.app.seen()
	seen := p.app.dump()
	if strings.Contains(seen, "6.6.6.6") || strings.Contains(seen, "evil") || strings.Contains(seen, "gopher") || strings.Contains(seen, "root") || strings.Contains(seen, "admin\"") {
		t.Errorf("the app saw\n%s", seen)
	}
	if r.Header.Get("X-Forwarded-For") != "127.0.0.1" || r.Header.Get("X-Forwarded-Host") != p.host("code") || r.Header.Get("X-Forwarded-Proto") != "http" {
		t.Errorf("the app was told\n%s", seen)
	}
}

// TestTraversal tries to leave an app, or to come to another, by its path.
func TestTraversal(t *testing.T) {
	p := newPlace(t, nil)
	token := p.Client.SessionToken
	raw := func(host, target string) (status, body string) {
		t.Helper()
		return p.raw(fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nCoder-Session-Token: %s\r\nConnection: close\r\n\r\n", target, host, token))
	}
	p.exec(`UPDATE workspace_apps SET subdomain = true WHERE slug = 'folder'`)
	for _, rest := range []string{"/..", "/../admin", "/a/../../admin", "/%2e%2e/admin", "/%2E%2E%2Fadmin", "/..%2fadmin", `/..%5cadmin`, `/a/..\admin`, "/.%2e/admin", "/%zz"} {
		_, before := p.app.seen()
		for _, at := range [][2]string{{p.host("folder"), rest}, {p.AccessURL().Host, "/@admin/dev.main/apps/folder" + rest}} {
			status, body := raw(at[0], at[1])
			if !strings.Contains(status, " 400 ") {
				t.Errorf("%s on %s: %s %s", at[1], at[0], status, body)
			}
		}
		if r, n := p.app.seen(); n != before {
			t.Errorf("%s: the app saw %s", rest, r.RequestURI)
		}
	}
	// An app at the root of its server gets its paths byte for byte.
	for _, path := range []string{"/a//b", "/a%2Fb", "/a/./b", "/a%20b%3F", "/%E2%82%AC", "/a;b=c", "/..%2fx", "//double"} {
		if status, body := raw(p.host("code"), path); !strings.Contains(status, " 200 ") || !strings.HasPrefix(body, "GET "+path+" ") {
			t.Errorf("%s: %s %q", path, status, body)
		}
	}
	// Dots in front of the app's path lead to no other app.
	for _, path := range []string{
		"/@admin/dev.main/apps/../apps/code/", "/@admin/dev.main/apps/%2e%2e/code/", "/@bob/../@admin/dev.main/apps/code/",
		"/@admin%2fdev.main/apps/code/", "/@admin/dev.main/apps/code%2f..%2fdead/", "//@admin/dev.main/apps/code/", "/./@admin/dev.main/apps/code/",
	} {
		_, before := p.app.seen()
		raw(p.AccessURL().Host, path)
		if r, n := p.app.seen(); n != before {
			t.Errorf("%s led to %s", path, r.RequestURI)
		}
	}
	for _, target := range []string{"*", "http://" + p.host("dead") + "/"} {
		if status, _ := raw(p.host("code"), target); strings.Contains(status, " 200 ") {
			t.Errorf("%s: %s", target, status)
		}
	}
}

// raw sends bytes and gives the status line and the body of the first answer.
func (p *place) raw(request string) (status, body string) {
	p.t.Helper()
	c, err := net.Dial("tcp", p.AccessURL().Host)
	must(p.t, err)
	defer c.Close()
	must(p.t, c.SetDeadline(time.Now().Add(testwait.Limit)))
	_, err = io.WriteString(c, request)
	must(p.t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "closed: " + err.Error(), ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	return resp.Proto + " " + resp.Status, string(b)
}

// TestSmuggling sends requests that two servers could read differently. The
// app must never see the request that is hidden in another.
func TestSmuggling(t *testing.T) {
	p := newPlace(t, nil)
	head := "POST /outer HTTP/1.1\r\nHost: " + p.host("open") + "\r\n"
	hidden := "GET /hidden HTTP/1.1\r\nHost: " + p.host("open") + "\r\nX: "
	for name, request := range map[string]string{
		"length and chunked":      head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 5+len(hidden)) + hidden,
		"two lengths":             head + "Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + hidden,
		"list of lengths":         head + "Content-Length: 0, 44\r\n\r\n" + hidden,
		"signed length":           head + "Content-Length: +0\r\n\r\n" + hidden,
		"odd coding":              head + "Content-Length: 4\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
		"two codings":             head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
		"coding with tab":         head + "Transfer-Encoding:\tchunked\x0b\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"space before colon":      head + "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"folded header":           head + "X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"bare line feed":          head + "X: a\nTransfer-Encoding: chunked\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"chunk with a long size":  head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + hidden,
		"chunk extension":         head + "Transfer-Encoding: chunked\r\n\r\n0;\n\n\r\n\r\n" + hidden,
		"upgrade that is refused": "GET /outer HTTP/1.1\r\nHost: " + p.host("open") + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
		"header in a header":      "GET /outer HTTP/1.1\r\nHost: " + p.host("open") + "\r\nX: a\rGET /hidden HTTP/1.1\r\n\r\n",
		"path with a line":        "GET /outer%0d%0aX:%20a%0d%0a%0d%0aGET%20/hidden HTTP/1.1\r\nHost: " + p.host("open") + "\r\n\r\n",
		// A request of the client's own follows the body, and closes the connection.
		"body not asked for": head + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(hidden)) + hidden + strings.TrimSuffix(hidden, "\r\nX: "),
		"two hosts":          "GET /outer HTTP/1.1\r\nHost: " + p.host("open") + "\r\nHost: " + p.host("code") + "\r\n\r\n",
	} {
		before := p.app.count("/hidden")
		answered := p.exchange(request)
		// A second answer is that of a request that follows, by the rules.
		if hidden := p.app.count("/hidden") - before; hidden != max(0, answered-1) {
			t.Errorf("%s: the app saw what was hidden %d times, %d requests were answered; the last is\n%s", name, hidden, answered, p.app.dump())
		}
		// The next client gets its own response.
		p.browser("").ask("GET", p.on("open", "/next"), "").want(t, 200, "GET /next ")
	}
}

// exchange sends bytes and counts the answers that an app may have given. A
// request that follows another on the connection, by the rules as we read
// them, is the client's own and has an answer of its own.
func (p *place) exchange(request string) (answered int) {
	p.t.Helper()
	c, err := net.Dial("tcp", p.AccessURL().Host)
	must(p.t, err)
	defer c.Close()
	must(p.t, c.SetDeadline(time.Now().Add(testwait.Limit)))
	_, err = io.WriteString(c, request+"\r\nConnection: close\r\n\r\n")
	must(p.t, err)
	for all := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(all, nil)
		if err != nil {
			return answered
		}
		_, _ = io.Copy(io.Discard, resp.Body) // one that breaks off is the last
		if resp.StatusCode == http.StatusOK {
			answered++
		}
	}
}

// TestCookiesOfApps looks at what apps set.
func TestCookiesOfApps(t *testing.T) {
	p := newPlace(t, func(c *server.Config) { c.Apps.PathSharing = true })
	p.app.page("/set", func(w http.ResponseWriter, _ *http.Request) {
		for _, c := range []string{
			"a=1", "b=2; Domain=apps.test; Path=/", "c=3; domain=.apps.test", "d=4; Path=/; HttpOnly; Secure; SameSite=None", "e=5;Path=/@bob",
			"coder_session_token=evil; Path=/", "coder_signed_app_token=evil", "CODER_SESSION_TOKEN=evil", "__Host-coder_subdomain_app_session_token=evil; Path=/; Secure",
			" coder_session_token =evil", "f=6; Path=/@admin/dev.main/apps/open/deep",
		} {
			w.Header().Add("Set-Cookie", c)
		}
		for _, h := range []string{"Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc", "X-Own"} {
			w.Header().Set(h, "x")
		}
	})
	check := func(at string, want []string, kept ...string) {
		t.Helper()
		a := p.browser("").ask("GET", at, "")
		a.want(t, 200, "")
		got := slices.DeleteFunc(a.Header.Values("Set-Cookie"), func(c string) bool {
			return strings.HasPrefix(c, "coder_signed_app_token=") && !strings.Contains(c, "evil")
		})
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s sets\n%s\nwant\n%s", at, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, h := range []string{"Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc", "X-Own"} {
			if (a.Header.Get(h) != "") != slices.Contains(kept, h) {
				t.Errorf("%s: %s is %q", at, h, a.Header.Get(h))
			}
		}
	}
	check(p.on("open", "/set"), []string{
		"a=1", "b=2; Path=/", "c=3", "d=4; Path=/; HttpOnly; Secure; SameSite=None", "e=5;Path=/@bob", "f=6; Path=/@admin/dev.main/apps/open/deep",
	}, "Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "X-Own")
	base := "/@admin/dev.main/apps/open"
	check(p.AccessURL().String()+base+"/set", []string{
		"a=1", "b=2; Path=" + base, "c=3", "d=4; Path=" + base + "; HttpOnly; Secure; SameSite=None", "e=5; Path=" + base, "f=6; Path=" + base + "/deep",
	}, "X-Own")
}

// TestCaches keeps shared caches from what one browser was given.
func TestCaches(t *testing.T) {
	p := newPlace(t, nil)
	p.app.page("/cached", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "Public, max-age=60, S-MaxAge=600, immutable")
	})
	b := p.browser("")
	first, second := b.ask("GET", p.on("open", "/cached"), ""), b.ask("GET", p.on("open", "/cached"), "")
	if c := first.Header.Get("Cache-Control"); c != "private, max-age=60, immutable" || first.Header.Get("Set-Cookie") == "" {
		t.Errorf("with a cookie of ours: %q, %q", c, first.Header.Get("Set-Cookie"))
	}
	if c := second.Header.Get("Cache-Control"); !strings.HasPrefix(c, "Public") || second.Header.Get("Set-Cookie") != "" {
		t.Errorf("without: %q, %q", c, second.Header.Get("Set-Cookie"))
	}
}

// TestHTTPSCookies marks cookies so that no other host can set them.
func TestHTTPSCookies(t *testing.T) {
	p := newPlace(t, func(c *server.Config) { c.Network.Cookies.Secure = true })
	b := p.browser("").stay()
	leave := b.open(p.on("code", "/"))
	if c := leave.Header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-coder_") || !strings.Contains(c, "Path=/;") || !strings.Contains(c, "Secure") {
		t.Errorf("the cookie %q", c)
	}
	a := b.ask("GET", p.on("open", "/"), "")
	if c := a.Header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-coder_signed_app_token=") {
		t.Errorf("the cookie %q", c)
	}
}
