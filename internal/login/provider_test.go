package login_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// provider is an OpenID Connect provider that speaks the real protocol: it
// checks clients, codes, redirects and PKCE as a strict one does, and lies
// only where a test tells it to. Each visitor is signed in as its user.
type provider struct {
	*httptest.Server
	t   testing.TB
	key *rsa.PrivateKey

	mu           sync.Mutex
	user         map[string]any // claims of who is at the browser
	info         map[string]any // what userinfo says instead; nil: the same
	lie          func(claims map[string]any)
	signBy       *rsa.PrivateKey // nil: key
	deny         bool            // the person says no
	noRefresh    bool            // gives no refresh tokens
	revoked      bool            // refuses refreshes
	broken       bool            // answers 500 to refreshes
	codes        map[string]grant
	refresh      map[string]bool // tokens that are good, each once
	access       map[string]map[string]any
	refreshed    int
	asked        url.Values // the last question to authorize
	lastCallback string
}

type grant struct {
	challenge, nonce, redirect string
	claims                     map[string]any
}

const clientID, clientSecret = "coder-test", "s3cret of the client"

func newProvider(t testing.TB) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key, codes: map[string]grant{}, refresh: map[string]bool{}, access: map[string]map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userinfo)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// as has somebody else sit at the browser.
func (p *provider) as(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.user, p.info, p.lie, p.signBy, p.deny = claims, nil, nil, nil, false
}

func person(sub, email string, more ...any) map[string]any {
	c := map[string]any{"sub": sub, "email": email, "email_verified": true, "preferred_username": sub, "name": "The " + sub}
	for i := 0; i+1 < len(more); i += 2 {
		c[more[i].(string)] = more[i+1]
	}
	return c
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // to a test
}

func (p *provider) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, 200, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256"},
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
	})
}

func (p *provider) keys(w http.ResponseWriter, _ *http.Request) {
	e := big.NewInt(int64(p.key.E)).Bytes()
	answer(w, 200, map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": base64.RawURLEncoding.EncodeToString(p.key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(e),
	}}})
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	p.asked = q
	if q.Get("client_id") != clientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		http.Error(w, "a bad question: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := url.Values{"state": {q.Get("state")}, "iss": {p.URL}}
	if p.deny {
		a.Set("error", "access_denied")
		a.Set("error_description", "<b>The person said no</b>")
	} else {
		code := rand.Text()
		p.codes[code] = grant{q.Get("code_challenge"), q.Get("nonce"), q.Get("redirect_uri"), p.user}
		a.Set("code", code)
	}
	back.RawQuery = a.Encode()
	p.lastCallback = back.String()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if id != clientID || secret != clientSecret {
		answer(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	if r.PostFormValue("grant_type") == "refresh_token" {
		p.refreshing(w, r.PostFormValue("refresh_token"))
		return
	}
	code := r.PostFormValue("code")
	g, ok := p.codes[code]
	delete(p.codes, code)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || g.redirect != r.PostFormValue("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		answer(w, 400, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": clientID, "nonce": g.nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for k, v := range g.claims {
		claims[k] = v
	}
	if p.lie != nil {
		p.lie(claims)
	}
	out := p.tokens(g.claims)
	out["id_token"] = p.sign(claims)
	answer(w, 200, out)
}

func (p *provider) tokens(claims map[string]any) map[string]any {
	access, refresh := rand.Text(), rand.Text()
	p.access[access] = claims
	out := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600}
	if !p.noRefresh {
		p.refresh[refresh] = true
		out["refresh_token"] = refresh
	}
	return out
}

func (p *provider) refreshing(w http.ResponseWriter, token string) {
	p.refreshed++
	switch {
	case p.broken:
		http.Error(w, "out of order", http.StatusInternalServerError)
	case p.revoked || !p.refresh[token]:
		answer(w, 400, map[string]string{"error": "invalid_grant"})
	default:
		delete(p.refresh, token)
		answer(w, 200, p.tokens(nil))
	}
}

func (p *provider) userinfo(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	token := r.Header.Get("Authorization")
	claims, ok := p.access[token[min(len(token), len("Bearer ")):]]
	if !ok {
		http.Error(w, "who?", http.StatusUnauthorized)
		return
	}
	if p.info != nil {
		claims = p.info
	}
	answer(w, 200, claims)
}

func (p *provider) sign(claims map[string]any) string {
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			p.t.Error(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	text := encode(map[string]string{"alg": "RS256", "kid": "1", "typ": "JWT"}) + "." + encode(claims)
	key := p.key
	if p.signBy != nil {
		key = p.signBy
	}
	sum := sha256.Sum256([]byte(text))
	s, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		p.t.Error(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(s)
}

// set changes how the provider behaves.
func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}
