package appproxy_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/wsproxy"
)

// away is a workspace proxy of a place, at hosts of its own.
type away struct {
	*place
	proxy *wsproxy.Proxy
	base  string // its access URL
	port  string
}

// newAway starts a workspace proxy in its own process's place: it shares nothing
// with the server but what the server answers it.
func newAway(t testing.TB, p *place) *away {
	t.Helper()
	made, err := p.Client.CreateWorkspaceProxy(t.Context(), codersdk.CreateWorkspaceProxyRequest{Name: "sydney"})
	must(t, err)
	w := &away{place: p, port: testport.Free(t)}
	p.proxies = append(p.proxies, w.port)
	w.base = "http://syd.test:" + w.port
	at, err := url.Parse(w.base)
	must(t, err)
	w.proxy, err = wsproxy.New(wsproxy.Config{
		Version: "v2.37.0-test", Log: slog.New(slog.DiscardHandler), Primary: p.AccessURL(), Token: made.Token, AccessURL: at,
		WildcardAccessURL: "*.apps.syd.test", HTTPAddress: "127.0.0.1:" + w.port, Interval: 200 * time.Millisecond,
	})
	must(t, err)
	must(t, w.proxy.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		if err := w.proxy.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *away) on(app, path string) string {
	return "http://" + app + "--main--dev--admin.apps.syd.test:" + w.port + path
}

func (w *away) path(app, path string) string { return w.base + "/@admin/dev.main/apps/" + app + path }

// TestAppsAtAProxy opens apps at a workspace proxy by every way and as every user.
func TestAppsAtAProxy(t *testing.T) {
	p := newPlace(t, nil)
	w := newAway(t, p)
	owner, bobs := p.browser(p.Client.SessionToken), func() *browser {
		member, _ := p.Member(t, "bob")
		return p.browser(member.SessionToken)
	}()
	// The browser goes to the dashboard to say who it is, and comes back.
	a := owner.open(w.on("code", "/hello?a=1"))
	a.want(t, 200, "GET /hello?a=1")
	if strings.Contains(a.Request.URL.String(), "coder_") {
		t.Errorf("the browser is at %s", a.Request.URL)
	}
	owner.open(w.path("code", "/deep?b=2")).want(t, 200, "GET /deep?b=2")
	owner.open(w.base+"/@me/dev.main/apps/code/").want(t, 200, "GET /")
	owner.open(w.on(p.app.port(), "/port")).want(t, 200, "GET /port")
	r, _ := p.app.seen()
	if r.Host != strings.TrimPrefix(w.on(p.app.port(), ""), "http://") || r.Header.Get("Cookie") != "" || r.Header.Get("X-Forwarded-For") != "127.0.0.1" {
		t.Errorf("the app was asked for %s with %v", r.Host, r.Header)
	}
	// Levels are what they are at the server.
	bobs.open(w.on("code", "/")).want(t, 404, "signed in as bob")
	bobs.open(w.on("auth", "/x")).want(t, 200, "GET /x")
	bobs.open(w.path("auth", "/x")).want(t, 404, "does not exist, or you do not have access")
	p.browser("").open(w.on("open", "/x")).want(t, 200, "GET /x")
	if a := p.browser("").open(w.on("code", "/x")); !strings.HasPrefix(a.Request.URL.String(), p.AccessURL().String()+"/login?redirect=") {
		t.Errorf("somebody who is not signed in is at %s", a.Request.URL)
	}
	p.browser("").ask("GET", w.on("code", "/x"), "").want(t, 401, "Sign in")
	p.browser("").ask("GET", w.path("code", "/x"), "").want(t, 401, "Sign in")
	p.browser("").ask("GET", w.on("code", "/x"), "", "Coder-Session-Token", p.Client.SessionToken).want(t, 200, "GET /x")
	owner.open(w.on("dead", "/")).want(t, 502, "is not running")
	owner.stay()
	if to := owner.open(w.path("term", "/")).Header.Get("Location"); !strings.HasPrefix(to, p.AccessURL().String()+"/@admin/dev.main/terminal") {
		t.Errorf("a command leads to %q", to)
	}
	// It is neither the dashboard nor the API.
	for _, path := range []string{"/api/v2/users/me", "/workspaces", "/login", "/bin/coder-linux-amd64"} {
		p.browser("").ask("GET", w.base+path, "", "Coder-Session-Token", p.Client.SessionToken).want(t, 404, "workspace proxy")
	}
	// Pages of the dashboard may connect to it.
	testwait.Value(t, "the policy of pages allows the proxy", func() string {
		return p.browser("").open(p.AccessURL().String() + "/login").Header.Get("Content-Security-Policy")
	}, func(policy string) bool {
		return strings.Contains(policy, "; connect-src 'self' "+w.base+" ws"+strings.TrimPrefix(w.base, "http")+";")
	}, testwait.Every(50*time.Millisecond))
	p.used(t, "code")
}

// used waits until the use of an app is reported.
func (p *place) used(t *testing.T, slug string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.PostgresURL)
	must(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // the test is over
	testwait.Until(t, "the use of "+slug+" is reported", func() bool {
		var n int
		must(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM workspace_app_stats WHERE slug_or_port = $1`, slug).Scan(&n))
		return n > 0
	})
}

// TestAttacksAtAProxy tries at a proxy what is tried at the server.
func TestAttacksAtAProxy(t *testing.T) {
	p := newPlace(t, nil)
	w := newAway(t, p)
	b := p.browser(p.Client.SessionToken)
	b.open(w.on("code", "/")).want(t, 200, "")
	b.open(w.path("code", "/")).want(t, 200, "")
	carried, onPath := b.cookie(w.on("code", "/")), b.cookie(w.path("code", "/"))
	if !strings.Contains(carried, "coder_subdomain_app_session_token=") || !strings.Contains(onPath, "coder_signed_app_token=") {
		t.Fatalf("carried: %q, %q", carried, onPath)
	}
	_, n := p.app.seen()
	// Cookies are good where they were given only.
	for _, stolen := range []string{carried, onPath} {
		for _, at := range []string{
			w.on("auth", "/"), w.on("dead", "/"), w.path("auth", "/"), p.on("auth", "/"), p.AccessURL().String() + "/@admin/dev.main/apps/auth/",
			p.AccessURL().String() + "/api/v2/users/me", "http://code--other--dev--admin.apps.syd.test:" + w.port + "/",
		} {
			if stolen == onPath && at == w.path("auth", "/") {
				continue // the session there is one for all paths of the host
			}
			p.browser("").ask("GET", at, "", "Cookie", stolen).want(t, 401, "")
		}
	}
	for _, session := range strings.Split(carried+"; "+onPath, "; ") {
		if strings.HasPrefix(session, "coder_subdomain") { // a pass is good for its app, wherever that is opened
			p.browser("").ask("GET", p.on("code", "/"), "", "Cookie", session).want(t, 401, "")
			p.browser("").ask("GET", p.AccessURL().String()+"/@admin/dev.main/apps/code/", "", "Cookie", session).want(t, 401, "")
		}
	}
	// Pages of others may not use the visitor's rights.
	for _, origin := range []string{"https://evil.test", "http://open--main--dev--bob.apps.syd.test:" + w.port, w.base, "null", p.on("code", "")} {
		b.ask("POST", w.on("code", "/"), "x", "Origin", origin).want(t, 403, "another site")
	}
	b.ask("GET", w.on("code", "/"), "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors").want(t, 403, "another site")
	b.ask("POST", w.path("code", "/"), "x", "Origin", "https://evil.test").want(t, 403, "another site")
	if _, now := p.app.seen(); now != n {
		t.Errorf("%d requests came through", now-n)
	}
	b.ask("POST", w.on("code", "/"), "x", "Origin", strings.TrimSuffix(w.on("code", ""), "/")).want(t, 200, "")
	b.ask("POST", w.on("code", "/"), "x", "Origin", p.AccessURL().String()).want(t, 200, "") // the dashboard
	// Hosts that are none.
	for _, host := range []string{"code--main--dev--admin.apps.test:" + w.port, "evil.test", "x.apps.syd.test:" + w.port, "code--main--dev--admin.apps.syd.test.evil.test"} {
		if a := p.browser("").stay().ask("GET", w.base+"/secret", "", "Host", host, "Coder-Session-Token", p.Client.SessionToken); a.StatusCode != 404 {
			t.Errorf("%s: %s %s", host, a.Status, a.text)
		}
	}
	// Tickets: for the hosts of the proxy, and for the browser that left.
	tickets := p.browser(p.Client.SessionToken).stay()
	for _, to := range []string{"https://syd.test:" + w.port + "/@admin/dev.main/apps/code/", w.base + "/", w.base + "/api/v2/x", "http://evil.test/@admin/dev/apps/code/", "http://syd.test/@admin/dev.main/apps/code/"} {
		tickets.open(p.AccessURL().String()+"/api/v2/applications/auth-redirect?redirect_uri="+url.QueryEscape(to)).want(t, 400, "redirect_uri")
	}
	state := strings.Repeat("ab", 32)
	sent := tickets.open(p.AccessURL().String() + "/api/v2/applications/auth-redirect?redirect_uri=" + url.QueryEscape(w.path("code", "/?coder_app_redirect_state="+state)))
	sent.want(t, 307, "")
	p.browser("").open(sent.Header.Get("Location")).want(t, 400, "Signing in to this app failed")
	// What is ours does not reach apps, by a proxy either.
	b.ask("GET", w.on("code", "/"), "", "Cookie", "a=1; coder_session_token="+p.Client.SessionToken, "Coder-Session-Token", p.Client.SessionToken)
	if seen := p.app.dump(); strings.Contains(seen, p.Client.SessionToken) || strings.Contains(strings.ToLower(seen), "coder_s") {
		t.Errorf("the app saw\n%s", seen)
	}
}

// TestSocketsAtAProxy: a WebSocket through a proxy ends with its visitor's right.
func TestSocketsAtAProxy(t *testing.T) {
	p := newPlace(t, nil)
	w := newAway(t, p)
	p.app.page("/ws", func(rw http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(rw, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer c.CloseNow() //nolint:errcheck // the test is over
		for {
			kind, m, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, m) != nil {
				return
			}
		}
	})
	member, bob := p.Member(t, "bob")
	b := p.browser(member.SessionToken)
	b.open(w.on("auth", "/")).want(t, 200, "")
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(w.on("auth", "/ws"), "http", "ws", 1), &websocket.DialOptions{HTTPClient: b.Client})
	must(t, err)
	defer conn.CloseNow() //nolint:errcheck // the test is over
	must(t, conn.Write(t.Context(), websocket.MessageText, []byte("hello")))
	if _, m, err := conn.Read(t.Context()); err != nil || string(m) != "hello" {
		t.Fatalf("%q, %v", m, err)
	}
	_, err = p.Client.SuspendUser(t.Context(), bob.ID.String())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	if _, _, err := conn.Read(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("the socket of somebody who was suspended lives on: %v", err)
	}
}

// TestTerminalAtAProxy opens a terminal with a token of the dashboard's, and with
// what is none.
func TestTerminalAtAProxy(t *testing.T) {
	p := newPlace(t, nil)
	w := newAway(t, p)
	at := w.base + "/api/v2/workspaceagents/" + p.agent.String() + "/pty"
	issue := func(url string) (string, error) {
		out, err := p.Client.IssueTerminalToken(t.Context(), codersdk.IssueReconnectingPTYSignedTokenRequest{AgentID: p.agent, URL: url})
		return out.SignedToken, err
	}
	if _, err := issue(strings.Replace(at, "syd.test", "evil.test", 1)); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("a token for another host: %v", err)
	}
	token, err := issue(at)
	must(t, err)
	dial := func(token string, header http.Header) (*websocket.Conn, *http.Response, error) {
		q := url.Values{"reconnect": {uuid.NewString()}, "coder_signed_app_token_23db1dde": {token}}
		return websocket.Dial(t.Context(), strings.Replace(at, "http", "ws", 1)+"?"+q.Encode(), &websocket.DialOptions{HTTPClient: p.browser("").Client, HTTPHeader: header})
	}
	conn, _, err := dial(token, http.Header{"Origin": {p.AccessURL().String()}})
	must(t, err)
	defer conn.CloseNow() //nolint:errcheck // the test is over
	b, err := json.Marshal(codersdk.ReconnectingPTYRequest{Data: "echo at-$((40+2))\r"})
	must(t, err)
	must(t, conn.Write(t.Context(), websocket.MessageText, b))
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	for seen := ""; !strings.Contains(seen, "at-42"); {
		_, m, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
		seen += string(m)
	}
	for name, c := range map[string]struct {
		token  string
		header http.Header
		status int
	}{
		"none":                  {"", http.Header{"Coder-Session-Token": {p.Client.SessionToken}}, 401},
		"a changed one":         {token[:len(token)-2] + "xx", nil, 401},
		"a page of another":     {token, http.Header{"Origin": {"https://evil.test"}}, 403},
		"a page at the proxy's": {token, http.Header{"Origin": {strings.TrimSuffix(w.on("code", ""), "/")}}, 403},
	} {
		if conn, resp, err := dial(c.token, c.header); err == nil || resp == nil || resp.StatusCode != c.status {
			t.Errorf("%s: %v %v", name, resp, err)
			if err == nil {
				conn.CloseNow() //nolint:errcheck // it should not be there
			}
		}
	}
	// The session ends, and with it the terminal, and what the token is good for.
	must(t, p.Client.Logout(t.Context()))
	for err == nil {
		_, _, err = conn.Read(ctx)
	}
	if ctx.Err() != nil {
		t.Error("the terminal of somebody who signed out lives on")
	}
	if _, resp, err := dial(token, nil); err == nil || resp == nil || resp.StatusCode != 401 {
		t.Errorf("the token outlives its session: %v %v", resp, err)
	}
}
