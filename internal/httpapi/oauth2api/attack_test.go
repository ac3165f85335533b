package oauth2api_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
)

// TestCodeReplay uses a code twice, which ends everything that the first use got.
func TestCodeReplay(t *testing.T) {
	s := start(t, true)
	o := s.app("Backstage", "")
	verifier := oauth2.GenerateVerifier()
	code := s.consent(s.owner, o.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)), "approve").Query().Get("code")
	token, err := o.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	must(t, err)
	form := secrets(o, "grant_type", "authorization_code", "code", code, "redirect_uri", callback, "code_verifier", verifier)
	if status, failure := s.post("/oauth2/tokens", form); status != 400 || failure != "invalid_grant" {
		t.Errorf("second use: %d %s", status, failure)
	}
	if s.works(token.AccessToken) {
		t.Error("the access token outlived the second use of its code")
	}
	if status, failure := s.post("/oauth2/tokens", secrets(o, "grant_type", "refresh_token", "refresh_token", token.RefreshToken)); failure != "invalid_grant" {
		t.Errorf("the refresh token outlived it: %d %s", status, failure)
	}
	if n := s.count("SELECT count(*) FROM audit_logs WHERE additional_fields->>'consent' LIKE 'ended: the authorization code%'"); n != 1 {
		t.Errorf("%d audit entries", n)
	}
}

// TestConcurrentRefresh sends the same refresh token several times at once: at most one request gets tokens, and the
// consent ends.
func TestConcurrentRefresh(t *testing.T) {
	s := start(t, true)
	o := s.app("Backstage", "")
	token := s.tokens(s.owner, o)
	form := secrets(o, "grant_type", "refresh_token", "refresh_token", token.RefreshToken)
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[string]int{}
	for range 8 {
		wg.Go(func() {
			resp, err := http.PostForm(s.url.String()+"/oauth2/tokens", form)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var out codersdk.OAuth2Error
			if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
				t.Error(err)
			}
			mu.Lock()
			got[out.Error]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if got[""] != 1 || got["invalid_grant"] != 7 {
		t.Errorf("answers: %v", got)
	}
	if n := s.count("SELECT count(*) FROM oauth2_grants"); n != 0 || s.works(token.AccessToken) {
		t.Errorf("%d consents are left", n)
	}
}

// TestMixedUpClients uses codes and tokens of one application with the credentials of another.
func TestMixedUpClients(t *testing.T) {
	s := start(t, true)
	mine, other := s.app("Backstage", ""), s.app("Other", "")
	verifier := oauth2.GenerateVerifier()
	code := s.consent(s.owner, mine.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)), "approve").Query().Get("code")
	exchange := []string{"grant_type", "authorization_code", "code", code, "redirect_uri", callback, "code_verifier", verifier}
	mixed := *mine
	mixed.ClientSecret = other.ClientSecret
	for name, c := range map[string]struct {
		o    *oauth2.Config
		want string
	}{
		"other client": {other, "invalid_grant"},
		"other secret": {&mixed, "invalid_client"},
		"no secret":    {&oauth2.Config{ClientID: mine.ClientID}, "invalid_client"},
		"no client":    {&oauth2.Config{ClientID: "x", ClientSecret: mine.ClientSecret}, "invalid_client"},
	} {
		if _, failure := s.post("/oauth2/tokens", secrets(c.o, exchange...)); failure != c.want {
			t.Errorf("code with %s: %s, want %s", name, failure, c.want)
		}
	}
	token, err := mine.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatalf("a failed authentication used the code up: %v", err)
	}
	if _, failure := s.post("/oauth2/tokens", secrets(other, "grant_type", "refresh_token", "refresh_token", token.RefreshToken)); failure != "invalid_grant" {
		t.Errorf("refresh token with another client: %s", failure)
	}
	for _, value := range []string{token.AccessToken, token.RefreshToken} {
		if status, _ := s.post("/oauth2/revoke", secrets(other, "token", value)); status != 200 || !s.works(token.AccessToken) {
			t.Errorf("revocation by another client: %d", status)
		}
	}
	got := s.send("POST", "/oauth2/tokens", secrets(&mixed, exchange...).Encode())
	if got.status != 401 || got.header.Get("WWW-Authenticate") != `Basic realm="coder"` {
		t.Errorf("failed authentication: %d %v", got.status, got.header)
	}
}

func TestPKCEDowngrade(t *testing.T) {
	s := start(t, true)
	o := s.app("Backstage", "")
	verifier := oauth2.GenerateVerifier()
	with := func(o *oauth2.Config, options ...oauth2.AuthCodeOption) string {
		return s.consent(s.owner, o.AuthCodeURL("state", options...), "approve").Query().Get("code")
	}
	form := func(code string, more ...string) url.Values {
		return secrets(o, append([]string{"grant_type", "authorization_code", "code", code, "redirect_uri", callback}, more...)...)
	}
	challenge := oauth2.S256ChallengeOption(verifier)
	for name, c := range map[string]struct {
		form url.Values
		want string
	}{
		"no verifier":           {form(with(o, challenge)), "invalid_request"},
		"wrong verifier":        {form(with(o, challenge), "code_verifier", oauth2.GenerateVerifier()), "invalid_grant"},
		"challenge as verifier": {form(with(o, challenge), "code_verifier", oauth2.S256ChallengeFromVerifier(verifier)), "invalid_grant"},
		"short verifier":        {form(with(o, challenge), "code_verifier", "short"), "invalid_request"},
		"removed challenge":     {form(with(o), "code_verifier", verifier), "invalid_grant"},
	} {
		if _, failure := s.post("/oauth2/tokens", c.form); failure != c.want {
			t.Errorf("%s: %s, want %s", name, failure, c.want)
		}
	}
	for name, options := range map[string][]oauth2.AuthCodeOption{
		"plain":            {oauth2.SetAuthURLParam("code_challenge", verifier), oauth2.SetAuthURLParam("code_challenge_method", "plain")},
		"method alone":     {oauth2.SetAuthURLParam("code_challenge_method", "S256")},
		"short challenge":  {oauth2.SetAuthURLParam("code_challenge", "x")},
		"public, no proof": {oauth2.SetAuthURLParam("client_id", s.register(`"none"`).ClientID.String()), oauth2.SetAuthURLParam("redirect_uri", "http://127.0.0.1:9999/callback")},
	} {
		at := parse(t, s.send("GET", o.AuthCodeURL("state", options...), "", browser(s.owner)...).header.Get("Location"))
		if at.Query().Get("error") != "invalid_request" || at.Query().Get("state") != "state" {
			t.Errorf("%s: %s", name, at)
		}
	}
}

// TestRedirectTricks sends the browser only to registered addresses.
func TestRedirectTricks(t *testing.T) {
	s := start(t, true)
	o := s.app("Backstage", "", callback, "http://127.0.0.1/callback?x=1", "vscode://coder.coder-remote/oauth/callback")
	for _, uri := range []string{
		"https://evil.example.com/callback", callback + "/", callback + "?x=1", callback + "#x", "https://app.example.com/callback/../x",
		"https://app.example.com:8443/callback", "https://app.example.com@evil.example.com/callback", "http://app.example.com/callback",
		"https://app.example.com/Callback", "https://APP.example.com/callback", "https://app.example.com./callback", "https://app.example.com/callback%00",
		"http://localhost/callback?x=1", "http://127.0.0.1:1/callback", "http://127.0.0.1:1/callback?x=2", "http://127.0.0.1:1@evil.example.com/callback?x=1",
		"http://127.0.0.1.evil.example.com/callback?x=1", "https://127.0.0.1:1/callback?x=1", "http://127.0.0.1:1/callback?x=1#y", "javascript:alert(1)", "",
		"vscode://coder.coder-remote/oauth/callback/x", "//evil.example.com", "/", "urn:ietf:wg:oauth:2.0:oob",
	} {
		q := url.Values{"client_id": {o.ClientID}, "response_type": {"code"}, "state": {"x"}, "redirect_uri": {uri}}
		got := s.send("GET", oauth2provider.AuthorizePath+"?"+q.Encode(), "", browser(s.owner)...)
		if got.status != http.StatusBadRequest || got.header.Get("Location") != "" || !strings.Contains(got.body, "Invalid Callback URL") {
			t.Errorf("%q: %d %s", uri, got.status, got.header.Get("Location"))
		}
	}
	double := o.AuthCodeURL("state") + "&redirect_uri=" + url.QueryEscape("https://evil.example.com/")
	if got := s.send("GET", double, "", browser(s.owner)...); got.status != http.StatusBadRequest || got.header.Get("Location") != "" {
		t.Errorf("two redirect URIs: %d %v", got.status, got.header)
	}
	for uri, want := range map[string]string{
		"http://127.0.0.1:4711/callback?x=1":         "http://127.0.0.1:4711/callback?x=1&code=",
		"vscode://coder.coder-remote/oauth/callback": "vscode://coder.coder-remote/oauth/callback?code=",
	} {
		o.RedirectURL = uri
		if at := s.consent(s.owner, o.AuthCodeURL("state"), "approve"); !strings.HasPrefix(at.String(), want) {
			t.Errorf("%s: %s", uri, at)
		}
	}
	o.RedirectURL = callback
	code := s.consent(s.owner, o.AuthCodeURL("state"), "approve").Query().Get("code")
	for _, uri := range []string{"", "https://evil.example.com/"} {
		if _, failure := s.post("/oauth2/tokens", secrets(o, "grant_type", "authorization_code", "code", code, "redirect_uri", uri)); failure != "invalid_grant" {
			t.Errorf("exchange with the redirect URI %q: %s", uri, failure)
		}
	}
	for _, uri := range []string{"javascript://x/%0aalert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://example.com/", "a.b:cb", "/x", "https://a b/", "https://u@example.com/", "https://example.com/#"} {
		if _, err := s.owner.PostOAuth2ProviderApp(t.Context(), codersdk.PostOAuth2ProviderAppRequest{Name: "x", RedirectURIs: []string{uri}}); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%q is registered: %v", uri, err)
		}
	}
}

// TestConsentIsTheUsers holds the consent to the session that got the page, and to the request that it shows.
func TestConsentIsTheUsers(t *testing.T) {
	s := start(t, true)
	dev := s.member("dev")
	o := s.app("Backstage", "")
	address := o.AuthCodeURL("state")
	page := s.send("GET", address, "", browser(dev)...)
	policy := page.header.Get("Content-Security-Policy")
	if page.header.Get("X-Frame-Options") != "DENY" || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "form-action 'self' https:;") {
		t.Errorf("headers of the page: %v", page.header)
	}
	seal := html.UnescapeString(hidden.FindStringSubmatch(page.body)[1])
	post := func(address, seal string, headers []string) reply {
		return s.send("POST", address, url.Values{"consent": {seal}, "action": {"approve"}}.Encode(), headers...)
	}
	same := append(browser(dev), "Origin", s.url.String())
	token, err := dev.CreateToken(t.Context(), "me", codersdk.CreateTokenRequest{})
	must(t, err)
	granted := s.tokens(dev, o)
	before := s.count("SELECT count(*) FROM oauth2_grants")
	for name, got := range map[string]reply{
		"no seal":         post(address, "", same),
		"other user":      post(address, seal, append(browser(s.owner), "Origin", s.url.String())),
		"other session":   post(address, seal, append(browser(s.signIn("dev")), "Origin", s.url.String())),
		"other request":   post(strings.Replace(address, "state=state", "state=other", 1), seal, same),
		"other site":      post(address, seal, append(browser(dev), "Origin", "https://evil.example.com")),
		"cross-site":      post(address, seal, append(browser(dev), "Sec-Fetch-Site", "cross-site")),
		"token":           s.send("POST", address, "", codersdk.SessionTokenHeader, token.Key),
		"granted token":   s.send("POST", address, "", codersdk.SessionTokenHeader, granted.AccessToken),
		"token in cookie": post(address, seal, []string{"Cookie", codersdk.SessionCookie + "=" + granted.AccessToken, "Origin", s.url.String()}),
		"token in query":  s.send("POST", address+"&coder_session_token="+dev.SessionToken, ""),
	} {
		if got.status != 403 && got.status != 401 || got.header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, got.status, got.header.Get("Location"))
		}
	}
	if n := s.count("SELECT count(*) FROM oauth2_grants"); n != before {
		t.Errorf("%d consents were given", n-before)
	}
	if got := post(address, seal, same); got.status != http.StatusFound {
		t.Errorf("the user's own answer: %d %s", got.status, got.body)
	}
	s.now = s.now.Add(oauth2provider.ConsentLifetime)
	if got := post(address, seal, same); got.status != http.StatusForbidden {
		t.Errorf("old page: %d", got.status)
	}
	// Without a session a browser signs in first, and a program gets 401.
	got := s.send("GET", address, "", "Accept", "text/html")
	if at := got.header.Get("Location"); got.status != http.StatusFound || !strings.HasPrefix(at, "/login?redirect=%2Foauth2%2Fauthorize%3F") {
		t.Errorf("no session: %d %s", got.status, at)
	}
	if got := s.send("GET", address, ""); got.status != http.StatusUnauthorized {
		t.Errorf("program without a session: %d", got.status)
	}
}

// TestRevocation ends access in every way that there is.
func TestRevocation(t *testing.T) {
	s := start(t, true)
	dev := s.member("dev")
	for name, revoke := range map[string]func(o *oauth2.Config, token *oauth2.Token){
		"access token": func(o *oauth2.Config, token *oauth2.Token) {
			s.post("/oauth2/revoke", secrets(o, "token", token.AccessToken))
		},
		"refresh token": func(o *oauth2.Config, token *oauth2.Token) {
			s.post("/oauth2/revoke", secrets(o, "token", token.RefreshToken, "token_type_hint", "access_token"))
		},
		"user": func(o *oauth2.Config, _ *oauth2.Token) {
			if got := s.send("DELETE", "/oauth2/tokens?client_id="+o.ClientID, "", codersdk.SessionTokenHeader, dev.SessionToken); got.status != 204 {
				t.Errorf("revocation by the user: %d %s", got.status, got.body)
			}
		},
		"secret": func(o *oauth2.Config, _ *oauth2.Token) {
			all, err := s.owner.OAuth2ProviderAppSecrets(t.Context(), appID(t, o))
			must(t, err)
			must(t, s.owner.DeleteOAuth2ProviderAppSecret(t.Context(), appID(t, o), all[0].ID))
		},
		"application": func(o *oauth2.Config, _ *oauth2.Token) {
			must(t, s.owner.DeleteOAuth2ProviderApp(t.Context(), appID(t, o)))
		},
	} {
		o := s.app(name, "")
		token, another := s.tokens(dev, o), s.tokens(s.owner, o)
		revoke(o, token)
		if s.works(token.AccessToken) {
			t.Errorf("%s: the token is still valid", name)
		}
		if only := name != "secret" && name != "application"; s.works(another.AccessToken) != only {
			t.Errorf("%s: the token of another user is valid: %v", name, !only)
		}
	}
	o := s.app("last", "")
	if status, _ := s.post("/oauth2/revoke", secrets(o, "token", "unknown")); status != 200 {
		t.Errorf("unknown token: %d", status)
	}
	token := s.tokens(dev, o)
	_, err := s.owner.SuspendUser(t.Context(), "dev")
	must(t, err)
	if _, failure := s.post("/oauth2/tokens", secrets(o, "grant_type", "refresh_token", "refresh_token", token.RefreshToken)); failure != "invalid_grant" || s.works(token.AccessToken) {
		t.Errorf("tokens of a suspended user: %s", failure)
	}
	must(t, s.owner.DeleteUser(t.Context(), "dev"))
	if n := s.count("SELECT count(*) FROM oauth2_grants g JOIN users u ON u.id = g.user_id WHERE u.deleted_at IS NOT NULL"); n != 0 {
		t.Errorf("%d consents of a deleted user", n)
	}
}

func TestFaultyRequests(t *testing.T) {
	s := start(t, true)
	o := s.app("Backstage", "")
	for name, c := range map[string]struct {
		form   url.Values
		status int
		want   string
	}{
		"no grant type":      {secrets(o), 400, "unsupported_grant_type"},
		"two grant types":    {secrets(o, "grant_type", "refresh_token", "grant_type", "refresh_token"), 400, "unsupported_grant_type"},
		"client credentials": {secrets(o, "grant_type", "client_credentials"), 400, "unsupported_grant_type"},
		"no code":            {secrets(o, "grant_type", "authorization_code"), 400, "invalid_request"},
		"two codes":          {secrets(o, "grant_type", "authorization_code", "code", "a", "code", "b"), 400, "invalid_request"},
		"NUL":                {secrets(o, "grant_type", "authorization_code", "code", "\x00"), 400, "invalid_grant"},
		"unknown parameter":  {secrets(o, "grant_type", "refresh_token", "refresh_token", "x", "color", "red"), 400, "invalid_grant"},
	} {
		if status, failure := s.post("/oauth2/tokens", c.form); status != c.status || failure != c.want {
			t.Errorf("%s: %d %s", name, status, failure)
		}
	}
	for _, path := range []string{"/oauth2/tokens", "/oauth2/revoke"} {
		if status, failure := s.post(path+"?client_secret="+o.ClientSecret, secrets(o)); status != 400 || failure != "invalid_request" {
			t.Errorf("secret in the address of %s: %d %s", path, status, failure)
		}
		got := s.send("POST", path, "{}", "Content-Type", "application/json")
		if got.status != 400 || !strings.Contains(got.body, "invalid_request") {
			t.Errorf("JSON to %s: %d %s", path, got.status, got.body)
		}
	}
	at := parse(t, s.send("GET", strings.Replace(o.AuthCodeURL("x"), "response_type=code", "response_type=token", 1), "", browser(s.owner)...).header.Get("Location"))
	if q := at.Query(); q.Get("error") != "unsupported_response_type" || q.Get("error_description") != "Only response_type=code is supported" || q.Get("state") != "x" {
		t.Errorf("implicit flow: %s", at)
	}
	at = parse(t, s.send("GET", o.AuthCodeURL("x")+"&scope=a&scope=b&code_challenge=x", "", browser(s.owner)...).header.Get("Location"))
	if got := at.Query().Get("error_description"); got != "scope: is given more than once; code_challenge: must have 43 to 128 letters, digits and -._~" {
		t.Errorf("several problems: %s", got)
	}
}

func TestRateLimitOfEndpoints(t *testing.T) {
	s := start(t, false)
	last := reply{}
	for range 61 {
		last = s.send("GET", oauth2provider.ServerPath, "")
	}
	if last.status != http.StatusTooManyRequests || !strings.Contains(last.body, "temporarily_unavailable") || last.header.Get("Retry-After") == "" {
		t.Errorf("request 61: %d %v %s", last.status, last.header, last.body)
	}
	if got := s.send("GET", oauth2provider.ResourcePath, ""); got.status != 200 {
		t.Errorf("another endpoint: %d", got.status)
	}
	if got := s.send("GET", oauth2provider.ServerPath, "", codersdk.SessionTokenHeader, s.owner.SessionToken, "X-Coder-Bypass-Ratelimit", "true"); got.status != 200 {
		t.Errorf("owner who bypasses the limit: %d", got.status)
	}
}
