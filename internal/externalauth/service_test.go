package externalauth_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// world is a deployment with one user and one git host.
type world struct {
	t     *testing.T
	host  *host
	store *postgres.Store
	actor access.Subject
	clock *clock
	vault *dbcrypt.Vault
	svc   *externalauth.Service
	// transport is the network of replicas; nil is that of this machine.
	transport http.RoundTripper
}

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// provider returns the configuration of the host as a provider of a type.
func (h *host) provider(kind string) externalauth.Provider {
	return externalauth.Provider{ClientSecret: clientSecret, ExternalAuthConfig: codersdk.ExternalAuthConfig{
		ID: kind, Type: kind, ClientID: clientID, AuthURL: h.URL + "/authorize", TokenURL: h.URL + "/token", ValidateURL: h.URL + "/user",
		DeviceCodeURL: h.URL + "/device", AppInstallationsURL: h.URL + "/user/installations", Regex: `^https://git\.example\.com`,
	}}
}

func newWorld(t *testing.T, providers ...func(h *host) externalauth.Provider) *world {
	t.Helper()
	vault, err := dbcrypt.New([]string{"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, host: newHost(t), store: postgrestest.New(t), clock: &clock{now: time.Now()}, vault: vault}
	w.actor = w.user("ann")
	all := make([]externalauth.Provider, 0, len(providers))
	for _, p := range providers {
		all = append(all, p(w.host))
	}
	if len(all) == 0 {
		all = append(all, w.host.provider("github"))
	}
	w.svc = w.replica(all...)
	return w
}

func (w *world) user(name string) access.Subject {
	w.t.Helper()
	id := uuid.New()
	_, err := w.store.Pool().Exec(w.t.Context(), `INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
		VALUES ($1, $2, $3, 'password', 'active', now(), now())`, id, name+"@example.com", name)
	if err != nil {
		w.t.Fatal(err)
	}
	return access.Subject{UserID: id, Username: name}
}

// replica returns another server of the deployment.
func (w *world) replica(providers ...externalauth.Provider) *externalauth.Service {
	w.t.Helper()
	s, err := externalauth.New(externalauth.Config{
		Store: w.store, Now: w.clock.Now, AccessURL: &url.URL{Scheme: "https", Host: "coder.example.com"}, Secret: make([]byte, 32),
		Vault: w.vault, Providers: providers, Poll: 10 * time.Millisecond, Transport: w.transport,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// link links the user's account in the browser.
func (w *world) link(id string) {
	w.t.Helper()
	location, cookie, err := w.svc.Begin(w.t.Context(), w.actor, id, "")
	if err != nil {
		w.t.Fatal(err)
	}
	back := w.host.authorize(w.t, location)
	to, err := w.svc.End(w.t.Context(), w.actor, id, cookie, externalauth.Answer{State: back.Get("state"), Code: back.Get("code")})
	if err != nil || to != "/settings/external-auth" {
		w.t.Fatalf("sent to %q, %v", to, err)
	}
}

// ask requests the token of the user as an agent does.
func (w *world) ask(id string) (codersdk.ExternalAuthResponse, error) {
	return w.svc.Credentials(w.t.Context(), externalauth.Request{OwnerID: w.actor.UserID, ID: id})
}

// token is ask for a link that works.
func (w *world) token(id string) string {
	w.t.Helper()
	got, err := w.ask(id)
	if err != nil || got.AccessToken == "" || got.URL != "" {
		w.t.Fatalf("got %+v, %v", got, err)
	}
	return got.AccessToken
}

// unlinked requires that the user must link the provider, for a reason.
func (w *world) unlinked(id, reason string) {
	w.t.Helper()
	got, err := w.ask(id)
	if err != nil || got.AccessToken != "" || got.URL != "https://coder.example.com/external-auth/"+id {
		w.t.Errorf("got %+v, %v", got, err)
	}
	links, err := w.svc.Links(w.t.Context(), w.actor)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, l := range links.Links {
		if l.ProviderID == id && (l.Authenticated || !strings.Contains(l.ValidateError, reason)) {
			w.t.Errorf("the link is %+v, want %q", l, reason)
		}
	}
}

func TestBrowserFlow(t *testing.T) {
	w := newWorld(t)
	w.unlinked("github", "")
	w.link("github")
	if w.host.scopes != "repo workflow" || w.host.query.Get("code_challenge_method") != "S256" || w.host.query.Get("redirect_uri") != "https://coder.example.com/external-auth/github/callback" {
		t.Errorf("authorization with %v", w.host.query)
	}
	token := w.token("github")
	if !w.host.knows(token) {
		t.Errorf("the token %q is not the host's", token)
	}
	var stored string
	var audits int
	err := w.store.Pool().QueryRow(t.Context(), `SELECT access_token, (SELECT count(*) FROM audit_logs WHERE diff ? 'external_auth_github')
		FROM external_auth_links`).Scan(&stored, &audits)
	if err != nil || strings.Contains(stored, "access-") || audits != 1 {
		t.Errorf("stored as %q with %d audit entries, %v", stored, audits, err)
	}
	view, err := w.svc.Provider(t.Context(), w.actor, "github")
	if err != nil || !view.Authenticated || view.User == nil || view.User.Login != "ann" || view.User.ProfileURL != "" || len(view.Installations) != 1 ||
		view.Installations[0].Account.Login != "acme" || view.Device {
		t.Errorf("the provider is %+v, %v", view, err)
	}
}

func TestStatesCannotBeForged(t *testing.T) {
	w := newWorld(t, func(h *host) externalauth.Provider { return h.provider("github") }, func(h *host) externalauth.Provider { return h.provider("gitlab") })
	begin := func() (cookie string, a externalauth.Answer) {
		location, cookie, err := w.svc.Begin(t.Context(), w.actor, "github", "https://evil.example.com/")
		if err != nil {
			t.Fatal(err)
		}
		back := w.host.authorize(t, location)
		return cookie, externalauth.Answer{State: back.Get("state"), Code: back.Get("code")}
	}
	end := func(actor access.Subject, id, cookie string, a externalauth.Answer) error {
		to, err := w.svc.End(t.Context(), actor, id, cookie, a)
		if err == nil && to != "/" {
			t.Errorf("sent to %q", to)
		}
		return err
	}
	cookie, a := begin()
	other, _ := begin()
	for name, err := range map[string]error{
		"no cookie":        end(w.actor, "github", "", a),
		"cookie of a link": end(w.actor, "github", other, a),
		"another provider": end(w.actor, "gitlab", cookie, a),
		"another user":     end(w.user("bob"), "github", cookie, a),
		"no state":         end(w.actor, "github", cookie, externalauth.Answer{Code: a.Code}),
		"denied":           end(w.actor, "github", cookie, externalauth.Answer{State: a.State, Error: "access_denied", Description: "The user said no"}),
	} {
		if !codersdk.Is(err, codersdk.CodeForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := end(w.actor, "github", cookie, a); err != nil {
		t.Errorf("the browser itself: %v", err)
	}
	if err := end(w.actor, "github", cookie, a); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("the same code again: %v", err)
	}
	late, a := begin()
	w.clock.move(externalauth.StateLifetime)
	if err := end(w.actor, "github", late, a); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("too late: %v", err)
	}
	if _, _, err := w.svc.Begin(t.Context(), access.Subject{}, "github", ""); err == nil {
		t.Error("a link without a user started")
	}
}

// TestOneRefresh: of many callers on two replicas one refreshes, and all get tokens that work.
func TestOneRefresh(t *testing.T) {
	w := newWorld(t)
	w.host.set(func(h *host) { h.expiresIn = 3600 })
	w.link("github")
	first := w.token("github")
	other := w.replica(w.host.provider("github"))
	w.clock.move(2 * time.Hour)
	var all sync.WaitGroup
	for i := range 20 {
		s := []*externalauth.Service{w.svc, other}[i%2]
		all.Go(func() {
			got, err := s.Credentials(t.Context(), externalauth.Request{OwnerID: w.actor.UserID, ID: "github"})
			if err != nil || got.AccessToken == first || !w.host.knows(got.AccessToken) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if n := w.host.count(&w.host.refreshed); n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
}

// TestRefreshBeforeTheEnd: tokens are refreshed ahead of their end, so that an outage in between is not seen.
func TestRefreshBeforeTheEnd(t *testing.T) {
	w := newWorld(t)
	w.host.set(func(h *host) { h.expiresIn = 8 * 3600 })
	w.link("github")
	first := w.token("github")
	w.clock.move(8*time.Hour - 16*time.Minute)
	if got := w.token("github"); got != first || w.host.count(&w.host.refreshed) != 0 {
		t.Error("refreshed too early")
	}
	w.clock.move(2 * time.Minute)
	down := func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	w.host.set(func(h *host) { h.answer, h.validate = down, down })
	for range 3 { // an outage of ten minutes
		if got := w.token("github"); got != first {
			t.Errorf("got %q", got)
		}
		w.clock.move(3 * time.Minute)
	}
	w.clock.move(6 * time.Minute) // and on until the end of the token
	if _, err := w.ask("github"); !codersdk.Is(err, codersdk.CodeUnavailable) {
		t.Errorf("after the end of the token: %v", err)
	}
	w.host.set(func(h *host) { h.answer, h.validate = nil, nil })
	w.clock.move(time.Minute)
	if got := w.token("github"); got == first {
		t.Error("not refreshed after the outage")
	}
}

// TestAnswersOfProviders: only an answer that says so ends a link.
func TestAnswersOfProviders(t *testing.T) {
	page := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html>Maintenance</html>"))
			return true
		}
	}
	status := func(code int, header ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			return true
		}
	}
	for name, c := range map[string]struct {
		validate func(http.ResponseWriter, *http.Request) bool
		reason   string // why the link ends; "" if it stays
	}{
		"500":          {status(500), ""},
		"page":         {page(200), ""},
		"page of 503":  {page(503), ""},
		"redirect":     {status(302, "Location", "https://sso.example.com/"), ""},
		"rate limited": {status(403, "X-Ratelimit-Remaining", "0"), ""},
		"429":          {status(429), ""},
		"cut": {func(w http.ResponseWriter, _ *http.Request) bool {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				c.Close()
			}
			return true
		}, ""},
		"revoked":     {status(401), "no longer accepts"},
		"wrong scope": {status(403), "lacks a permission"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.link("github")
			first := w.token("github")
			w.host.set(func(h *host) { h.validate = c.validate })
			w.clock.move(2 * time.Minute)
			if c.reason != "" {
				w.unlinked("github", c.reason)
				w.host.set(func(h *host) { h.validate = nil })
				w.link("github")
				w.token("github")
				return
			}
			if got := w.token("github"); got != first {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestAnswersOfSlack: Slack says in the body whether a token works, or whether it could not tell.
func TestAnswersOfSlack(t *testing.T) {
	for body, reason := range map[string]string{
		`{"ok": true, "user_id": "U1"}`:              "",
		`{"ok": false, "error": "internal_error"}`:   "",
		`{"ok": false, "error": "ratelimited"}`:      "",
		`{"ok": false}`:                              "",
		`Bad gateway`:                                "",
		`{"ok": false, "error": "token_revoked"}`:    "no longer accepts",
		`{"ok": false, "error": "account_inactive"}`: "no longer accepts",
		`{"ok": false, "error": "missing_scope"}`:    "lacks a permission",
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(h *host) externalauth.Provider { return h.provider("slack") })
			w.host.set(func(h *host) {
				h.validate = func(w http.ResponseWriter, _ *http.Request) bool {
					reply(w, 200, map[string]any{"ok": true})
					return true
				}
			})
			w.link("slack")
			first := w.token("slack")
			w.host.set(func(h *host) {
				h.validate = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte(body)); return true }
			})
			w.clock.move(2 * time.Minute)
			if reason != "" {
				w.unlinked("slack", reason)
			} else if got := w.token("slack"); got != first {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestLifetimes: a lifetime that a provider states as text counts, and one that makes no sense does not.
func TestLifetimes(t *testing.T) {
	for name, c := range map[string]struct {
		lifetime  any
		refreshes int // after 50 minutes
	}{"negative": {-5, 0}, "zero": {"0", 0}, "text": {"3600", 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			refreshes := 0
			w.host.set(func(h *host) {
				h.answer = func(w http.ResponseWriter, r *http.Request) bool {
					h.mu.Lock()
					defer h.mu.Unlock()
					if r.FormValue("grant_type") == "refresh_token" {
						if refreshes++; refreshes > 3 {
							w.WriteHeader(http.StatusInternalServerError)
							return true
						}
					}
					h.access["access"] = true
					reply(w, 200, map[string]any{"access_token": "access", "refresh_token": "refresh", "token_type": "bearer", "expires_in": c.lifetime})
					return true
				}
			})
			w.link("github")
			w.token("github")
			w.clock.move(50 * time.Minute)
			w.token("github")
			if got := w.host.count(&refreshes); got != c.refreshes {
				t.Errorf("%d refreshes, want %d", got, c.refreshes)
			}
		})
	}
}

// TestSuspendedMeanwhile: a user who is suspended while the provider refreshes a token, or while git waits for
// the link, gets none.
func TestSuspendedMeanwhile(t *testing.T) {
	for name, listen := range map[string]bool{"during a refresh": false, "before the link": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			arrived, resume := make(chan struct{}), make(chan struct{})
			if listen {
				close(arrived)
			} else {
				w.host.set(func(h *host) { h.expiresIn = 3600 })
				w.link("github")
				w.clock.move(2 * time.Hour)
				w.host.set(func(h *host) {
					h.answer = func(http.ResponseWriter, *http.Request) bool {
						close(arrived)
						<-resume
						return false
					}
				})
			}
			done := make(chan error)
			go func() {
				got, err := w.svc.Credentials(t.Context(), externalauth.Request{OwnerID: w.actor.UserID, ID: "github", Listen: listen})
				if got.AccessToken != "" {
					t.Error("a suspended user got a token")
				}
				done <- err
			}()
			<-arrived
			if _, err := w.store.Pool().Exec(t.Context(), `UPDATE users SET status = 'suspended' WHERE id = $1`, w.actor.UserID); err != nil {
				t.Fatal(err)
			}
			close(resume)
			if err := testwait.Receive(t, "the request ends", done); !codersdk.Is(err, codersdk.CodeForbidden) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestTokenThatEndsEarly: a provider that ends a token before its time is asked for a new one; once.
func TestTokenThatEndsEarly(t *testing.T) {
	w := newWorld(t)
	w.host.set(func(h *host) { h.expiresIn = 8 * 3600 })
	w.link("github")
	first := w.token("github")
	w.host.end()
	w.clock.move(2 * time.Minute)
	if got := w.token("github"); got == first || w.host.count(&w.host.refreshed) != 1 {
		t.Errorf("got %q after %d refreshes", got, w.host.count(&w.host.refreshed))
	}
	w.host.set(func(h *host) { clear(h.refresh); clear(h.access) })
	w.clock.move(2 * time.Minute)
	w.unlinked("github", "no longer accepts the link")
	if n := w.host.count(&w.host.refreshed); n != 1 {
		t.Errorf("%d refreshes", n)
	}
}

func TestNoRefresh(t *testing.T) {
	w := newWorld(t, func(h *host) externalauth.Provider {
		p := h.provider("github")
		p.NoRefresh = true
		return p
	})
	w.host.set(func(h *host) { h.expiresIn = 3600 })
	w.link("github")
	w.clock.move(2 * time.Hour)
	w.unlinked("github", "has expired")
}

// TestLinkDuringRefresh: a new link is not overwritten by a refresh of the one before.
func TestLinkDuringRefresh(t *testing.T) {
	w := newWorld(t)
	w.host.set(func(h *host) { h.expiresIn = 3600 })
	w.link("github")
	w.clock.move(2 * time.Hour)
	arrived, resume := make(chan struct{}), make(chan struct{})
	w.host.set(func(h *host) {
		h.answer = func(w http.ResponseWriter, r *http.Request) bool {
			if r.FormValue("grant_type") == "refresh_token" {
				close(arrived)
				<-resume
				reply(w, 200, map[string]any{"access_token": "stale", "expires_in": 3600})
				return true
			}
			return false
		}
	})
	done := make(chan string)
	go func() { got, _ := w.ask("github"); done <- got.AccessToken }()
	<-arrived
	w.link("github")
	close(resume)
	if got := <-done; got == "stale" || !w.host.knows(got) {
		t.Errorf("got %q", got)
	}
}

func TestDeviceFlow(t *testing.T) {
	w := newWorld(t, func(h *host) externalauth.Provider {
		p := h.provider("github")
		p.DeviceFlow = true
		return p
	})
	if location, cookie, err := w.svc.Begin(t.Context(), w.actor, "github", ""); err != nil || location != "/settings/external-auth" || cookie != "" {
		t.Errorf("the browser is sent to %q, %v", location, err)
	}
	d, err := w.svc.Device(t.Context(), w.actor, "github")
	if err != nil || d.UserCode != "ABCD-1234" || d.Interval != 5 {
		t.Fatalf("the device is %+v, %v", d, err)
	}
	err = w.svc.ExchangeDevice(t.Context(), w.actor, "github", d.DeviceCode)
	if e := new(codersdk.Error); !codersdk.Is(err, codersdk.CodeInvalid) || !asError(err, &e) || e.Detail != "authorization_pending" {
		t.Errorf("before the code was entered: %v", err)
	}
	w.host.set(func(h *host) { h.devices[d.DeviceCode] = true })
	if err := w.svc.ExchangeDevice(t.Context(), w.actor, "github", d.DeviceCode); err != nil {
		t.Fatal(err)
	}
	w.token("github")
}

func TestUnlink(t *testing.T) {
	w := newWorld(t, func(h *host) externalauth.Provider { return h.provider("github") }, func(h *host) externalauth.Provider {
		p := h.provider("git")
		p.RevokeURL = h.URL + "/revoke"
		return p
	}, func(h *host) externalauth.Provider {
		p := h.provider("plain")
		p.RevokeURL = h.URL + "/missing"
		return p
	}, func(h *host) externalauth.Provider {
		p := h.provider("slack")
		p.RevokeURL = h.URL + "/revoke"
		return p
	})
	w.host.set(func(h *host) { h.expiresIn = 3600 }) // the host issues refresh tokens, too
	for id, revoked := range map[string]bool{"github": true, "git": true, "plain": false, "slack": true, "slack that refuses": false} {
		w.host.set(func(h *host) { h.keeps = id == "slack that refuses" })
		id, _, _ := strings.Cut(id, " ")
		w.link(id)
		got, err := w.svc.Unlink(t.Context(), w.actor, id)
		if err != nil || got.TokenRevoked != revoked || (got.TokenRevocationError == "") != revoked {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
		if w.host.hasRevoked("access-") != revoked && revoked || w.host.hasRevoked("refresh-") != (id == "git") {
			t.Errorf("%s: the host revoked %v", id, w.host.revoked)
		}
		w.unlinked(id, "")
		if _, err := w.svc.Unlink(t.Context(), w.actor, id); !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("%s: again: %v", id, err)
		}
		w.host.set(func(h *host) { h.revoked = nil })
	}
}

func TestListen(t *testing.T) {
	w := newWorld(t)
	got := make(chan codersdk.ExternalAuthResponse)
	go func() {
		r, _ := w.svc.Credentials(t.Context(), externalauth.Request{OwnerID: w.actor.UserID, Match: "https://git.example.com/a/b", Listen: true})
		got <- r
	}()
	w.link("github")
	if r := <-got; !w.host.knows(r.AccessToken) || r.Username != "x-access-token" || r.Password != r.AccessToken || r.Type != "github" {
		t.Errorf("got %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.svc.Credentials(ctx, externalauth.Request{OwnerID: w.user("bob").UserID, ID: "github", Listen: true}); err == nil {
		t.Error("it did not end with its caller")
	}
	if _, err := w.store.Pool().Exec(t.Context(), `UPDATE users SET status = 'suspended' WHERE id = $1`, w.actor.UserID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ask("github"); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("for a suspended user: %v", err)
	}
}

func TestRequests(t *testing.T) {
	second := func(h *host) externalauth.Provider {
		p := h.provider("gitlab")
		p.ID = "second"
		return p
	}
	w := newWorld(t, func(h *host) externalauth.Provider { return h.provider("github") }, second)
	for name, c := range map[string]struct {
		request externalauth.Request
		code    codersdk.Code
		id      string
	}{
		"nothing":          {externalauth.Request{}, codersdk.CodeInvalid, ""},
		"both":             {externalauth.Request{ID: "github", Match: "https://git.example.com"}, codersdk.CodeInvalid, ""},
		"unknown ID":       {externalauth.Request{ID: "nope"}, codersdk.CodeNotFound, ""},
		"unknown remote":   {externalauth.Request{Match: "https://secret:token@other.example.com/x"}, codersdk.CodeNotFound, ""},
		"undeclared":       {externalauth.Request{Match: "https://git.example.com/x"}, "", "github"},
		"ID of the second": {externalauth.Request{ID: "second"}, "", "second"},
	} {
		c.request.OwnerID = w.actor.UserID
		got, err := w.svc.Credentials(t.Context(), c.request)
		if codersdk.CodeOf(err) != c.code || got.ProviderID != c.id || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestRequirements(t *testing.T) {
	w := newWorld(t)
	ctx, owner := t.Context(), w.actor.UserID
	declared := []codersdk.TemplateVersionExternalAuth{{ID: "github"}, {ID: "absent", Optional: true}}
	if err := w.svc.Require(ctx, owner, declared); !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "https://coder.example.com/external-auth/github") {
		t.Errorf("without a link: %v", err)
	}
	if _, err := w.svc.Tokens(ctx, owner, declared, true); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Errorf("tokens without a link: %v", err)
	}
	if got, err := w.svc.Tokens(ctx, owner, declared, false); err != nil || len(got) != 2 || got[0].AccessToken != "" {
		t.Errorf("tokens for a stop: %v, %v", got, err)
	}
	w.link("github")
	if err := w.svc.Require(ctx, owner, declared); err != nil {
		t.Error(err)
	}
	if got, err := w.svc.Tokens(ctx, owner, declared, true); err != nil || len(got) != 2 || !w.host.knows(got[0].AccessToken) || got[1].AccessToken != "" {
		t.Errorf("tokens: %v, %v", got, err)
	}
	if err := w.svc.Require(ctx, owner, []codersdk.TemplateVersionExternalAuth{{ID: "absent"}}); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Errorf("a provider that is not configured: %v", err)
	}
	for id, want := range map[string]string{"github": "/external-auth/github", "absent": "does not have"} {
		if err := w.svc.Missing([]string{id}); !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), want) {
			t.Errorf("the link to %s is missing: %v", id, err)
		}
	}
	if err := w.svc.Missing(nil); err != nil {
		t.Errorf("no link is missing: %v", err)
	}
	if got, err := w.svc.Linked(ctx, owner, declared); err != nil || !got["github"] || got["absent"] {
		t.Errorf("linked: %v, %v", got, err)
	}
	if h := w.svc.Probe(ctx); len(h) != 1 || !h[0].Healthy {
		t.Errorf("health: %+v", h)
	}
	w.host.Close()
	if h := w.svc.Probe(ctx); h[0].Healthy || h[0].Error == "" {
		t.Errorf("health of a host that is down: %+v", h)
	}
}

// TestFormsOfProviders: providers that deviate from OAuth2 are asked in their form.
func TestFormsOfProviders(t *testing.T) {
	for kind, c := range map[string]struct{ username, scope string }{
		"gitlab": {"oauth2", "write_repository read_api"}, "bitbucket-cloud": {"x-token-auth", "account repository:write"},
		"bitbucket-server": {"x-token-auth", "PUBLIC_REPOS REPO_READ REPO_WRITE"}, "azure-devops": {"oauth2", "vso.code_write"},
		"azure-devops-entra": {"oauth2", ""}, "gitea": {"oauth2", "read:user write:repository"}, "jfrog": {"oauth2", "applied-permissions/user"},
		"forgejo": {"oauth2", ""}, "slack": {"oauth2", ""},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(h *host) externalauth.Provider {
				p := h.provider(kind)
				p.ExtraTokenKeys = []string{"authed_user"}
				return p
			})
			w.link(kind)
			got, err := w.ask(kind)
			if err != nil || got.Username != c.username || got.Password != got.AccessToken || w.host.scopes != c.scope || got.TokenExtra["authed_user"] == nil {
				t.Errorf("got %+v, %v, with the scopes %q", got, err, w.host.scopes)
			}
		})
	}
}

// TestExchangeDuringOutage: an error code of a provider that cannot process requests is an outage, and no
// mistake of the configuration.
func TestExchangeDuringOutage(t *testing.T) {
	w := newWorld(t)
	location, cookie, err := w.svc.Begin(t.Context(), w.actor, "github", "")
	if err != nil {
		t.Fatal(err)
	}
	back := w.host.authorize(t, location)
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		w.host.answer = func(rw http.ResponseWriter, _ *http.Request) bool {
			reply(rw, status, map[string]string{"error": "server_error"})
			return true
		}
		_, err := w.svc.End(t.Context(), w.actor, "github", cookie, externalauth.Answer{State: back.Get("state"), Code: back.Get("code")})
		if !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "try again later") {
			t.Errorf("%d: %v", status, err)
		}
	}
}
