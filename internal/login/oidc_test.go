package login_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/login"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// start starts a server that trusts the provider.
func start(t *testing.T, p *provider, change func(*login.OIDC)) *servertest.Server {
	t.Helper()
	return servertest.Start(t, func(c *server.Config) {
		c.Provisioning.Daemons = 0
		c.Database.EncryptionKeys = []string{base64.StdEncoding.EncodeToString([]byte("32 bytes that only tests may use"))}
		c.Sessions.OIDC = login.OIDC{IssuerURL: p.URL, ClientID: clientID, ClientSecret: clientSecret, AllowSignups: true, SignInText: "Example ID"}
		if change != nil {
			change(&c.Sessions.OIDC)
		}
	})
}

// browser is a person's browser: cookies, and redirects that it follows.
type browser struct {
	*http.Client
	t    *testing.T
	base *url.URL
}

func newBrowser(t *testing.T, base *url.URL) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{&http.Client{Jar: jar, Timeout: testwait.Limit}, t, base}
}

// get asks for a path of the server, or a URL, as a browser does.
func (b *browser) get(to string) *http.Response {
	b.t.Helper()
	u, err := b.base.Parse(to)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body) //nolint:errcheck // only its head counts
	resp.Body.Close()              //nolint:errcheck // read
	return resp
}

const oidcPath = "/api/v2/users/oidc/callback"

// login logs in; it gives the path at the end and what the page there was told.
func (b *browser) login(redirect string) (path, message string) {
	b.t.Helper()
	resp := b.get(oidcPath + "?redirect=" + url.QueryEscape(redirect))
	return resp.Request.URL.RequestURI(), resp.Request.URL.Query().Get("message")
}

// as returns a client with the session of the browser; nil when it has none.
func (b *browser) client() *codersdk.Client {
	for _, c := range b.Jar.Cookies(b.base) {
		if c.Name == codersdk.SessionCookie {
			out := codersdk.New(b.base)
			out.SessionToken = c.Value
			return out
		}
	}
	return nil
}

// me is who the browser is signed in as; the zero user for nobody.
func (b *browser) me() codersdk.User {
	b.t.Helper()
	c := b.client()
	if c == nil {
		return codersdk.User{}
	}
	u, err := c.User(b.t.Context(), "me")
	if err != nil {
		return codersdk.User{}
	}
	return u
}

// TestTokensAreEncrypted: what the provider gave is not to be read in the
// database. That it is of use all the same, the tests of refreshes show.
func TestTokensAreEncrypted(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, nil)
	p.as(person("ann", "ann@example.com"))
	b := newBrowser(t, s.AccessURL())
	b.login("/")
	db, err := pgx.Connect(t.Context(), s.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context()) //nolint:errcheck // the test is over
	var access, accessKey, refresh, refreshKey string
	err = db.QueryRow(t.Context(), "SELECT access_token, access_token_key_id, refresh_token, refresh_token_key_id FROM user_links").Scan(&access, &accessKey, &refresh, &refreshKey)
	if err != nil || len(accessKey) != 14 || refreshKey != accessKey {
		t.Fatalf("keys %q and %q, %v", accessKey, refreshKey, err)
	}
	if _, plain := p.access[access]; plain || p.refresh[refresh] || access == "" || refresh == "" {
		t.Errorf("the database holds %q and %q", access, refresh)
	}
	var unsealed int
	if err := db.QueryRow(t.Context(), "SELECT count(*) FROM crypto_keys WHERE secret_key_id = ''").Scan(&unsealed); err != nil || unsealed != 0 {
		t.Errorf("%d signing keys are not encrypted, %v", unsealed, err)
	}
}

func TestOIDCFromTheFirstLoginOn(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, func(c *login.OIDC) { c.AuthURLParams = map[string]string{"access_type": "offline"} })
	p.as(person("ann", "ann@example.com", "picture", "https://pictures.example.com/ann.png"))

	b := newBrowser(t, s.AccessURL())
	if path, message := b.login("/templates?filter=a"); path != "/templates?filter=a" {
		t.Fatalf("the login ended at %s: %s", path, message)
	}
	ann := b.me()
	if ann.Username != "ann" || ann.Email != "ann@example.com" || ann.Name != "The ann" || ann.LoginType != codersdk.LoginTypeOIDC ||
		ann.Status != codersdk.UserStatusActive || ann.AvatarURL != "https://pictures.example.com/ann.png" || len(ann.OrganizationIDs) != 1 || len(ann.Roles) != 0 {
		t.Errorf("signed up: %+v", ann)
	}
	for k, want := range map[string]string{"access_type": "offline", "scope": "openid profile email", "client_id": clientID} {
		if got := p.asked.Get(k); got != want {
			t.Errorf("the provider was asked with %s=%q, want %q", k, got, want)
		}
	}
	if len(p.asked.Get("nonce")) < 20 || len(p.asked.Get("state")) < 20 {
		t.Errorf("nonce %q, state %q", p.asked.Get("nonce"), p.asked.Get("state"))
	}

	// The same account, with another name and address: the same user.
	p.as(person("ann", "ann.new@example.com", "name", "Ann A."))
	again := newBrowser(t, s.AccessURL())
	again.login("/")
	if u := again.me(); u.ID != ann.ID || u.Email != "ann.new@example.com" || u.Name != "Ann A." || u.Username != "ann" {
		t.Errorf("after a change at the provider: %+v", u)
	}

	// Another account that would like the same name; and no good names.
	for _, c := range []struct{ sub, username, want string }{
		{"other", "ann", "ann-2"}, {"third", "Ann", "Ann-3"}, {"odd", "Jörg  O'Neil@corp", "J-rg-O-Neil"}, {"none", "!!!", "user"}, {"long", strings.Repeat("x", 50), strings.Repeat("x", 32)},
	} {
		p.as(person(c.sub, c.sub+"@example.com", "preferred_username", c.username))
		o := newBrowser(t, s.AccessURL())
		if o.login("/"); o.me().Username != c.want {
			t.Errorf("%q became %q, want %q", c.username, o.me().Username, c.want)
		}
	}

	// Sessions look as they should, and end with a logout.
	sessions := sessionsOf(t, s.Client, "ann")
	if len(sessions) != 2 || sessions[0].LoginType != codersdk.LoginTypeOIDC {
		t.Errorf("sessions: %+v", sessions)
	}
	send(t, s.Client, "PUT", "/users/ann/status/suspend", nil, nil)
	p.as(person("ann", "ann.new@example.com"))
	suspended := newBrowser(t, s.AccessURL())
	if path, message := suspended.login("/"); !strings.HasPrefix(path, "/login?") || !strings.Contains(message, "suspended") || suspended.client() != nil {
		t.Errorf("a suspended user came to %s: %s", path, message)
	}

	// A deleted user's account is free for a new one.
	send(t, s.Client, "PUT", "/users/ann/status/activate", nil, nil)
	if err := s.Client.DeleteUser(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	anew := newBrowser(t, s.AccessURL())
	if path, message := anew.login("/"); anew.me().ID == ann.ID || anew.me().Username != "ann" {
		t.Errorf("after a deletion: %+v at %s: %s", anew.me(), path, message)
	}
	var methods codersdk.AuthMethods
	fetch(t, s.Client, "/users/authmethods", &methods)
	if !methods.OIDC.Enabled || methods.OIDC.SignInText != "Example ID" || methods.GitHub.Enabled || !methods.Password.Enabled {
		t.Errorf("methods: %+v", methods)
	}
}

func fetch(t *testing.T, c *codersdk.Client, path string, out any) {
	t.Helper()
	send(t, c, "GET", path, nil, out)
}

func send(t *testing.T, c *codersdk.Client, method, path string, body, out any) {
	t.Helper()
	path, query, _ := strings.Cut(path, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Request(t.Context(), method, path, q, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read
	if resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %v", method, path, codersdk.ReadError(resp))
	}
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			t.Fatal(err)
		}
	}
}

func sessionsOf(t *testing.T, c *codersdk.Client, user string) (out []codersdk.Session) {
	t.Helper()
	fetch(t, c, "/users/"+user+"/sessions", &out)
	return out
}

// TestOIDCLies: whatever a provider, or who sits between, sends that is not
// what it must be, nobody is signed in.
func TestOIDCLies(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, nil)
	another, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		lie  func()
		want string
	}{
		{"nonce", func() { p.lie = func(c map[string]any) { c["nonce"] = "of another login" } }, "another sign-in"},
		{"no nonce", func() { p.lie = func(c map[string]any) { delete(c, "nonce") } }, "another sign-in"},
		{"issuer", func() { p.lie = func(c map[string]any) { c["iss"] = "https://evil.example.com" } }, "not valid"},
		{"audience", func() { p.lie = func(c map[string]any) { c["aud"] = "another-app" } }, "not valid"},
		{"authorized party", func() {
			p.lie = func(c map[string]any) { c["aud"] = []string{clientID, "another-app"}; c["azp"] = "another-app" }
		}, "another client"},
		{"expired", func() { p.lie = func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() } }, "not valid"},
		{"signature", func() { p.signBy = another }, "not valid"},
		{"access token", func() { p.lie = func(c map[string]any) { c["at_hash"] = "of another token" } }, "access token"},
		{"user info of another", func() { p.info = person("bob", "bob@example.com") }, "another user"},
		{"nobody", func() { p.lie = func(c map[string]any) { c["sub"] = "" } }, "no subject"},
		{"unverified", func() { p.user["email_verified"] = false }, "not verified"},
		{"no address", func() { delete(p.user, "email") }, "is missing"},
		{"several addresses", func() { p.user["email"] = []string{"ann@example.com"} }, "is not a string"},
		{"bad address", func() { p.user["email"] = "ann <ann@example.com>" }, "not a valid email address"},
		{"denied", func() { p.deny = true }, "said no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.as(person("ann", "ann@example.com"))
			p.set(c.lie)
			b := newBrowser(t, s.AccessURL())
			path, message := b.login("/")
			if b.client() != nil || !strings.HasPrefix(path, "/login?message=") || !strings.Contains(message, c.want) {
				t.Errorf("came to %s: %s", path, message)
			}
		})
	}
	users, err := s.Client.Users(t.Context(), nil)
	if err != nil || users.Count != 1 {
		t.Errorf("%d users, %v", users.Count, err)
	}
}

// TestOIDCWithoutVerified: a provider that says nothing of whether addresses are
// verified is believed.
func TestOIDCWithoutVerified(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, nil)
	claims := person("ann", "ann@example.com")
	delete(claims, "email_verified")
	p.as(claims)
	b := newBrowser(t, s.AccessURL())
	if _, message := b.login("/"); b.me().Username != "ann" {
		t.Errorf("not let in: %s", message)
	}
}

// TestOIDCForgedAnswers: an answer counts in the browser that asked, once, and
// not for long.
func TestOIDCForgedAnswers(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, nil)
	p.as(person("ann", "ann@example.com"))
	refused := func(t *testing.T, b *browser, to string) {
		t.Helper()
		resp := b.get(to)
		if b.client() != nil || resp.Request.URL.Path != "/login" || resp.Request.URL.Query().Get("message") == "" {
			t.Errorf("came to %s", resp.Request.URL)
		}
	}
	good := newBrowser(t, s.AccessURL())
	good.login("/")
	if good.me().Username != "ann" {
		t.Fatal("the usual login fails")
	}
	t.Run("a callback link in another's browser", func(t *testing.T) { refused(t, newBrowser(t, s.AccessURL()), p.lastCallback) })
	t.Run("again in the same browser", func(t *testing.T) {
		again := newBrowser(t, s.AccessURL())
		again.login("/")
		again.Jar.SetCookies(s.AccessURL(), []*http.Cookie{{Name: codersdk.SessionCookie, Path: "/", MaxAge: -1}})
		refused(t, again, p.lastCallback)
	})
	stop := func(b *browser) (location *url.URL) {
		b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.String(), p.URL) {
				return nil
			}
			return http.ErrUseLastResponse
		}
		resp := b.get(oidcPath)
		b.CheckRedirect = nil
		u, err := resp.Location()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	t.Run("another state", func(t *testing.T) {
		b := newBrowser(t, s.AccessURL())
		u := stop(b)
		q := u.Query()
		q.Set("state", "of somebody else")
		u.RawQuery = q.Encode()
		refused(t, b, u.String())
	})
	t.Run("the code of another", func(t *testing.T) { // login CSRF: the attacker's code with the victim's state
		attacker, victim := newBrowser(t, s.AccessURL()), newBrowser(t, s.AccessURL())
		theirs, ours := stop(attacker), stop(victim)
		q := ours.Query()
		q.Set("code", theirs.Query().Get("code"))
		ours.RawQuery = q.Encode()
		refused(t, victim, ours.String())
	})
	t.Run("a code twice", func(t *testing.T) {
		b := newBrowser(t, s.AccessURL())
		u := stop(b)
		kept := b.Jar.Cookies(u)
		b.get(u.String())
		if b.me().Username != "ann" {
			t.Fatal("the login fails")
		}
		thief := newBrowser(t, s.AccessURL())
		thief.Jar.SetCookies(u, kept)
		refused(t, thief, u.String())
	})
	t.Run("another issuer", func(t *testing.T) {
		b := newBrowser(t, s.AccessURL())
		u := stop(b)
		q := u.Query()
		q.Set("iss", "https://evil.example.com")
		u.RawQuery = q.Encode()
		refused(t, b, u.String())
	})
	t.Run("the other way's cookie", func(t *testing.T) {
		b := newBrowser(t, s.AccessURL())
		u := stop(b)
		u.Path = "/api/v2/users/oauth2/github/callback"
		refused(t, b, u.String())
	})
	t.Run("a cookie that was changed", func(t *testing.T) {
		b := newBrowser(t, s.AccessURL())
		u := stop(b)
		for _, c := range b.Jar.Cookies(u) {
			if c.Name == "coder_login" {
				b.Jar.SetCookies(u, []*http.Cookie{{Name: c.Name, Value: c.Value[:len(c.Value)-2] + "xx", Path: "/api/v2/users/"}})
			}
		}
		refused(t, b, u.String())
	})
	t.Run("cookies", func(t *testing.T) {
		b := newBrowser(t, s.AccessURL())
		b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for _, c := range b.get(oidcPath).Cookies() {
			if c.Name == "coder_login" && (!c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 || c.Path != "/api/v2/users/") {
				t.Errorf("the cookie of a login: %+v", c)
			}
			if strings.Contains(c.Value, p.asked.Get("state")) {
				t.Error("the cookie can be read")
			}
		}
	})
}

func TestLoginsEndOnThisServer(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, nil)
	own := s.AccessURL().String()
	for to, want := range map[string]string{
		"/workspaces":                    "/workspaces",
		own + "/users?filter=x#top":      "/users?filter=x",
		"//evil.example.com":             "/",
		"https://evil.example.com/":      "/",
		`/\evil.example.com`:             "/",
		"/\t/evil.example.com":           "/",
		own + "//evil.example.com":       "/",
		own + ".evil.example.com/":       "/",
		"http://user@" + own[7:]:         "/",
		"javascript:alert(1)":            "/",
		"evil":                           "/",
		"":                               "/",
		"/" + strings.Repeat("x", 3000):  "/",
		"https:evil.example.com":         "/",
		"/a/../..//evil.example.com/%2f": "/a/../..//evil.example.com/%2f",
	} {
		p.as(person("ann", "ann@example.com"))
		b := newBrowser(t, s.AccessURL())
		b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.String(), p.URL) || r.URL.Path == oidcPath {
				return nil
			}
			return http.ErrUseLastResponse
		}
		resp := b.get(oidcPath + "?redirect=" + url.QueryEscape(to))
		got, _, _ := strings.Cut(resp.Header.Get("Location"), "#")
		if got != want {
			t.Errorf("%.60q leads to %q, want %q", to, got, want)
		}
	}
}

func TestOIDCWhoMaySignUp(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, func(c *login.OIDC) {
		c.AllowSignups, c.SignupsDisabledText = false, "Ask Hal."
		c.EmailDomains, c.AllowedGroups, c.GroupField = []string{"example.com", "@example.org"}, []string{"staff"}, "teams"
	})
	try := func(claims map[string]any) (codersdk.User, string) {
		t.Helper()
		p.as(claims)
		b := newBrowser(t, s.AccessURL())
		_, message := b.login("/")
		return b.me(), message
	}
	if u, message := try(person("ann", "ann@example.com", "teams", "staff")); u.Username != "" || message != "Ask Hal." {
		t.Errorf("signing up is off: %q, %q", u.Username, message)
	}
	if _, err := s.Client.CreateUser(t.Context(), codersdk.CreateUserRequestWithOrgs{Email: "Ann@example.com", Username: "invited", LoginType: codersdk.LoginTypeOIDC}); err != nil {
		t.Fatal(err)
	}
	if u, message := try(person("ann", "ann@example.com", "teams", "staff")); u.Username != "invited" {
		t.Errorf("who was invited: %q, %q", u.Username, message)
	}
	if u, message := try(person("not-ann", "ann@example.com", "teams", "staff")); u.Username != "" || !strings.Contains(message, "another account") {
		t.Errorf("another account with her address: %q, %q", u.Username, message)
	}
	if u, message := try(person("ann", "ann@evil.com", "teams", "staff")); u.Username != "" || !strings.Contains(message, "domain") {
		t.Errorf("another domain: %q, %q", u.Username, message)
	}
	if u, message := try(person("ann", "ann@sub.example.com", "teams", "staff")); u.Username != "" {
		t.Errorf("a domain below: %q, %q", u.Username, message)
	}
	if u, message := try(person("ann", "ann@EXAMPLE.org", "teams", []string{"x", "staff"})); u.Username != "invited" {
		t.Errorf("another allowed domain: %q, %q", u.Username, message)
	}
	if u, message := try(person("ann", "ann@example.com", "teams", []string{"x"})); u.Username != "" || !strings.Contains(message, "not in a group") {
		t.Errorf("not in an allowed group: %q, %q", u.Username, message)
	}
	if u, message := try(person("admin-there", "admin@example.com", "teams", "staff")); u.Username != "" || !strings.Contains(message, "password") {
		t.Errorf("the address of a user with a password: %q, %q", u.Username, message)
	}
}

func TestOIDCSessionsEndWhenTheProviderSaysSo(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, nil)
	p.as(person("ann", "ann@example.com"))
	b := newBrowser(t, s.AccessURL())
	b.login("/")
	ann := b.me()
	store := open(t, s.PostgresURL)
	runOut := func() {
		t.Helper()
		past := time.Now().Add(-time.Second)
		if err := store.SessionsCheckAt(t.Context(), &past, ann.ID, "oidc"); err != nil {
			t.Fatal(err)
		}
	}
	link := func() (access, refresh string) {
		t.Helper()
		l, err := store.LinkOfUser(t.Context(), ann.ID, "oidc")
		if err != nil {
			t.Fatal(err)
		}
		return l.AccessToken, l.RefreshToken
	}
	access, refresh := link()
	runOut()
	for range 3 {
		if b.me().ID != ann.ID {
			t.Fatal("the session ended though the provider agreed")
		}
	}
	if a, r := link(); a == access || r == refresh || p.refreshed != 1 {
		t.Errorf("%d refreshes; the tokens are kept: %v", p.refreshed, a != access)
	}

	p.set(func() { p.broken = true })
	runOut()
	if b.me().ID != ann.ID {
		t.Error("the session ended because the provider was out of order")
	}
	if l, err := store.LinkOfUser(t.Context(), ann.ID, "oidc"); err != nil || l.UnreachableSince == nil {
		t.Errorf("nobody noted that the provider was out of order: %v", err)
	}
	p.set(func() { p.broken = false })
	runOut()
	if b.me().ID != ann.ID {
		t.Error("the session ended when the provider came back")
	}

	p.set(func() { p.revoked = true })
	runOut()
	if b.me().ID == ann.ID {
		t.Error("the session goes on though the provider revoked it")
	}
	if n := len(sessionsOf(t, s.Client, "ann")); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

func TestConvertingAPasswordToOIDC(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, nil)
	ann, user := s.Member(t, "ann")
	_, bob := s.Member(t, "bob")
	begin := func(c *codersdk.Client) string {
		t.Helper()
		var out codersdk.OAuthConversionResponse
		send(t, c, "POST", "/users/me/convert-login", codersdk.ConvertLoginRequest{Password: servertest.Password, ToType: codersdk.LoginTypeOIDC}, &out)
		return out.StateString
	}
	withSession := func(token string) *browser {
		b := newBrowser(t, s.AccessURL())
		b.Jar.SetCookies(s.AccessURL(), []*http.Cookie{{Name: codersdk.SessionCookie, Value: token, Path: "/"}})
		return b
	}
	p.as(person("ann-there", "ann.there@example.com"))

	// A link with the attacker's state, in the victim's browser, gives the
	// attacker nothing.
	resp := newBrowser(t, s.AccessURL()).get(oidcPath + "?oidc_merge_state=" + begin(ann))
	if m := resp.Request.URL.Query().Get("message"); !strings.Contains(m, "Another user") {
		t.Errorf("started by another user: %s, %q", resp.Request.URL.Path, m)
	}

	b := withSession(ann.SessionToken)
	b.get(oidcPath + "?oidc_merge_state=" + begin(ann))
	if u := b.me(); u.ID != user.ID || u.LoginType != codersdk.LoginTypeOIDC {
		t.Fatalf("converted: %+v", u)
	}
	if _, err := codersdk.New(s.AccessURL()).LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: "ann@example.com", Password: servertest.Password}); err == nil {
		t.Error("the password is still good")
	}
	next := newBrowser(t, s.AccessURL())
	if next.login("/"); next.me().ID != user.ID {
		t.Error("the next login is somebody else's")
	}

	// An account that has a user cannot become another's.
	c := codersdk.New(s.AccessURL())
	l, err := c.LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: bob.Email, Password: servertest.Password})
	if err != nil {
		t.Fatal(err)
	}
	c.SessionToken = l.SessionToken
	resp = withSession(c.SessionToken).get(oidcPath + "?oidc_merge_state=" + begin(c))
	if m := resp.Request.URL.Query().Get("message"); !strings.Contains(m, "belongs to another") {
		t.Errorf("an account of another: %q", m)
	}
}

func TestIDPSync(t *testing.T) {
	p := newProvider(t)
	s := start(t, p, func(c *login.OIDC) {
		c.GroupField, c.GroupAutoCreate, c.GroupRegex = "groups", true, "^[a-z/]"
		c.GroupMapping = map[string]string{"sec": "security"}
		c.UserRoleField, c.UserRoleMapping = "roles", map[string][]string{"boss": {"owner", "no-such-role"}}
		c.UserRoleDefault = []string{"auditor"}
	})
	org := s.First.OrganizationID
	groupsOf := func(u codersdk.User) (names []string) {
		t.Helper()
		var all []codersdk.Group
		fetch(t, s.Client, "/groups?has_member="+u.ID.String(), &all)
		for _, g := range all {
			if g.ID != g.OrganizationID {
				names = append(names, g.Name)
			}
		}
		slices.Sort(names)
		return names
	}
	roles := func(u codersdk.User) (names []string) {
		for _, r := range u.Roles {
			names = append(names, r.Name)
		}
		return names
	}
	come := func(more ...any) codersdk.User {
		t.Helper()
		p.as(person("ann", "ann@example.com", more...))
		b := newBrowser(t, s.AccessURL())
		if _, message := b.login("/"); b.client() == nil {
			t.Fatal(message)
		}
		return b.me()
	}

	u := come("groups", []string{"dev", "sec", "/eng/platform", "IGNORED", "!"}, "roles", []string{"template-admin"})
	if got := groupsOf(u); !slices.Equal(got, []string{"dev", "eng-platform", "security"}) {
		t.Errorf("groups by the options: %v", got)
	}
	if got := roles(u); !slices.Equal(got, []string{"auditor", "template-admin"}) {
		t.Errorf("roles of the site: %v", got)
	}
	u = come("groups", "dev", "roles", "boss")
	if got := groupsOf(u); !slices.Equal(got, []string{"dev"}) {
		t.Errorf("groups after one login more: %v", got)
	}
	if got := roles(u); !slices.Equal(got, []string{"auditor", "owner"}) {
		t.Errorf("roles after one login more: %v", got)
	}
	var fields, values []string
	fetch(t, s.Client, "/settings/idpsync/available-fields", &fields)
	if !slices.Contains(fields, "groups") || slices.Contains(fields, "nonce") {
		t.Errorf("claims: %v", fields)
	}
	fetch(t, s.Client, "/organizations/default/settings/idpsync/field-values?claimField=groups", &values)
	if !slices.Equal(values, []string{"dev"}) {
		t.Errorf("values of groups: %v", values)
	}

	// Settings of the organization win over the options.
	var dev codersdk.Group
	fetch(t, s.Client, "/organizations/default/groups/dev", &dev)
	var set codersdk.GroupSyncSettings
	fetch(t, s.Client, "/organizations/default/settings/idpsync/groups", &set)
	if set.Field != "groups" || !set.AutoCreateMissing || set.RegexFilter == nil {
		t.Errorf("settings by the options: %+v", set)
	}
	send(t, s.Client, "PATCH", "/organizations/default/settings/idpsync/groups", map[string]any{"field": "teams", "mapping": map[string][]string{}, "auto_create_missing_groups": false}, &set)
	send(t, s.Client, "PATCH", "/organizations/default/settings/idpsync/groups/mapping", map[string]any{"add": []any{map[string]any{"given": "T1", "gets": dev.ID}}}, &set)
	if !slices.Equal(set.Mapping["T1"], []string{dev.ID.String()}) || set.Field != "teams" {
		t.Errorf("mapped: %+v", set)
	}
	send(t, s.Client, "PATCH", "/organizations/default/settings/idpsync/roles", map[string]any{"field": "roles", "mapping": map[string][]string{"tpl": {"organization-template-admin"}}}, nil)
	u = come("teams", []string{"T1", "unknown"}, "roles", []string{"tpl"})
	if got := groupsOf(u); !slices.Equal(got, []string{"dev"}) {
		t.Errorf("groups by the settings: %v", got)
	}
	var member codersdk.OrganizationMemberWithUserData
	fetch(t, s.Client, "/organizations/default/members/ann", &member)
	if len(member.Roles) != 1 || member.Roles[0].Name != "organization-template-admin" {
		t.Errorf("roles in the organization: %+v", member.Roles)
	}

	// Organizations.
	second, err := s.Client.CreateOrganization(t.Context(), codersdk.CreateOrganizationRequest{Name: "second"})
	if err != nil {
		t.Fatal(err)
	}
	send(t, s.Client, "PATCH", "/settings/idpsync/organization", map[string]any{"field": "orgs", "mapping": map[string][]uuid.UUID{"two": {second.ID}}, "organization_assign_default": false}, nil)
	if u = come("orgs", "two"); !slices.Equal(u.OrganizationIDs, []uuid.UUID{second.ID}) {
		t.Errorf("organizations: %v", u.OrganizationIDs)
	}
	send(t, s.Client, "PATCH", "/settings/idpsync/organization/config", map[string]any{"field": "orgs", "assign_default": true}, nil)
	if u = come(); !slices.Equal(u.OrganizationIDs, []uuid.UUID{org}) {
		t.Errorf("organizations with the default one: %v", u.OrganizationIDs)
	}
	// A new user is nowhere else either.
	p.as(person("eve", "eve@example.com", "orgs", "two"))
	b := newBrowser(t, s.AccessURL())
	b.login("/")
	if got := b.me().OrganizationIDs; len(got) != 2 {
		t.Errorf("organizations of a new user: %v", got)
	}

	// Mistakes are refused, and others may not ask.
	for path, body := range map[string]any{
		"/organizations/default/settings/idpsync/groups": map[string]any{"field": "x", "mapping": map[string][]string{"a": {"no-id"}}},
		"/organizations/default/settings/idpsync/roles":  map[string]any{"field": "x", "mapping": map[string][]string{"a": {"no-such-role"}}},
		"/settings/idpsync/organization":                 map[string]any{"field": "x", "mapping": map[string][]string{"a": {"no-id"}}},
	} {
		resp, err := s.Client.Request(t.Context(), "PATCH", path, nil, body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 400 {
			t.Errorf("PATCH %s: %s", path, resp.Status)
		}
		resp.Body.Close() //nolint:errcheck // not read
	}
	admin, _ := s.Member(t, "people", "user-admin")
	resp, err := admin.Request(t.Context(), "PATCH", "/organizations/default/settings/idpsync/roles", nil, map[string]any{"field": "roles", "mapping": map[string][]string{"me": {"organization-admin"}}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() //nolint:errcheck // not read
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a user admin makes themself an administrator of an organization: %s", resp.Status)
	}
	c, _ := s.Member(t, "member")
	resp, err = c.Request(t.Context(), "GET", "/settings/idpsync/organization", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // not read
	if resp.StatusCode != 403 && resp.StatusCode != 404 {
		t.Errorf("a member asks for settings: %s", resp.Status)
	}
}
