package identity

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }

func (c *clock) pass(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.at = c.at.Add(d) }

const password = "correct horse battery"

var here = access.Origin{IP: netip.MustParseAddr("192.0.2.1"), UserAgent: "test", RequestID: "r1"}

// house is a service with its first user, who is the owner root.
type house struct {
	*Service
	t     testing.TB
	clock *clock
	org   uuid.UUID
	root  access.Subject
}

func newHouse(t testing.TB, c Config) *house {
	t.Helper()
	h := &house{t: t, clock: &clock{at: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}}
	c.Store, c.Now = postgrestest.New(t), h.clock.now
	h.Service = New(c)
	first, err := h.CreateFirstUser(t.Context(), here, coder.CreateFirstUserRequest{Email: "root@example.com", Username: "root", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	h.org, h.root = first.OrganizationID, h.as(first.UserID)
	return h
}

// as gives the subject that a user is now.
func (h *house) as(id uuid.UUID) access.Subject {
	h.t.Helper()
	s, err := h.SubjectOf(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	s.Origin = here
	return s
}

// user makes a user without a password but with the site roles.
func (h *house) user(name string, roles ...string) access.Subject {
	h.t.Helper()
	u, err := h.CreateUser(h.t.Context(), h.root, coder.CreateUserRequestWithOrgs{
		Email: name + "@example.com", Username: name, LoginType: coder.LoginTypeNone, UserStatus: coder.UserStatusActive,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(roles) > 0 {
		if _, err := h.UpdateRoles(h.t.Context(), h.root, name, coder.UpdateRoles{Roles: roles}); err != nil {
			h.t.Fatal(err)
		}
	}
	return h.as(u.ID)
}

func (h *house) login(email, pw string) (string, error) {
	out, err := h.Login(h.t.Context(), here, coder.LoginWithPasswordRequest{Email: email, Password: pw})
	return out.SessionToken, err
}

// token makes an API token and gives the subject that it authenticates as.
func (h *house) token(actor access.Subject, req coder.CreateTokenRequest) access.Subject {
	h.t.Helper()
	k, err := h.CreateToken(h.t.Context(), actor, "me", req)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.Authenticate(h.t.Context(), k.Key, here)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// want fails the test unless err has the code; "" is no error.
func want(t *testing.T, what string, err error, code coder.Code) {
	t.Helper()
	if got := coder.CodeOf(err); got != code {
		t.Errorf("%s: code %q, want %q (%v)", what, got, code, err)
	}
}

func TestFirstUser(t *testing.T) {
	s := New(Config{Store: postgrestest.New(t)})
	if some, err := s.HasFirstUser(t.Context()); some || err != nil {
		t.Fatalf("a fresh database has a user: %v %v", some, err)
	}
	req := coder.CreateFirstUserRequest{Email: "root@example.com", Username: "root", Password: password}
	for field, bad := range map[string]coder.CreateFirstUserRequest{
		"email":    {Email: "root", Username: "root", Password: password},
		"username": {Email: "root@example.com", Username: "ro ot", Password: password},
		"password": {Email: "root@example.com", Username: "root", Password: "aaaaaaaaaaaa"},
	} {
		_, err := s.CreateFirstUser(t.Context(), here, bad)
		want(t, field, err, coder.CodeInvalid)
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error about %s does not name it: %v", field, err)
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.CreateFirstUser(context.Background(), here, req) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else {
			want(t, "second first user", err, coder.CodeConflict)
		}
	}
	if made != 1 {
		t.Fatalf("%d first users were made, want 1", made)
	}
	token, err := s.Login(t.Context(), here, coder.LoginWithPasswordRequest{Email: "ROOT@example.com", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	who, err := s.Authenticate(t.Context(), token.SessionToken, here)
	if err != nil {
		t.Fatal(err)
	}
	if !who.IsOwner() || len(who.OrganizationRoles) != 1 {
		t.Errorf("the first user is not an owner in one organization: %+v", who)
	}
}

func TestLoginFailures(t *testing.T) {
	h := newHouse(t, Config{})
	_, unknown := h.login("nobody@example.com", password)
	_, wrong := h.login("root@example.com", "wrong horse battery")
	want(t, "unknown", unknown, coder.CodeUnauthenticated)
	want(t, "wrong", wrong, coder.CodeUnauthenticated)
	if unknown == nil || wrong == nil || unknown.Error() != wrong.Error() {
		t.Errorf("the failures differ: %v / %v", unknown, wrong)
	}
	h.user("headless")
	_, err := h.login("headless@example.com", password)
	want(t, "headless", err, coder.CodeUnauthenticated)
	_, err = h.login("", password)
	want(t, "no e-mail", err, coder.CodeInvalid)
}

func TestLoginLimits(t *testing.T) {
	h := newHouse(t, Config{})
	other := New(Config{Store: h.c.Store, Now: h.clock.now}) // another server of the deployment
	var refused error
	taken := 0
	for i := range 2 * triesPerAccount {
		s := h.Service
		if i%2 == 1 {
			s = other
		}
		if refused = s.attempt(t.Context(), "account", accountWhile, triesPerAccount); refused == nil {
			taken++
		}
	}
	want(t, "one too many", refused, coder.CodeRateLimited)
	if taken != triesPerAccount || !strings.Contains(refused.Error(), "wait 5 seconds") {
		t.Errorf("%d attempts were let through, want %d; then: %v", taken, triesPerAccount, refused)
	}
	want(t, "another account", h.attempt(t.Context(), "another", accountWhile, triesPerAccount), "")
	h.clock.pass(accountWhile - time.Second)
	if err := h.attempt(t.Context(), "account", accountWhile, triesPerAccount); err == nil || !strings.Contains(err.Error(), "wait 1 second ") {
		t.Errorf("a second too early: %v", err)
	}
	h.clock.pass(time.Second)
	want(t, "one that came back", h.attempt(t.Context(), "account", accountWhile, triesPerAccount), "")
	want(t, "two", h.attempt(t.Context(), "account", accountWhile, triesPerAccount), coder.CodeRateLimited)
	h.clock.pass(time.Hour)
	if n, err := h.PurgeAttempts(t.Context()); err != nil || n != 2 {
		t.Errorf("%d counts were forgotten, %v, want 2", n, err)
	}
	for range triesPerAccount {
		_, err := h.login("Root@example.com", "wrong wrong wrong")
		want(t, "a wrong password", err, coder.CodeUnauthenticated)
	}
	_, err := h.login("root@example.com", password)
	want(t, "login over the limit", err, coder.CodeRateLimited)
	h.clock.pass(accountWhile)
	_, err = h.login("root@example.com", password)
	want(t, "login after a wait", err, "")
	_, err = h.login("root@example.com", "wrong wrong wrong")
	want(t, "a success gives the attempts back", err, coder.CodeUnauthenticated)
}

// TestAddressesOfOneNetworkCountTogether: who has an IPv6 network has as many
// addresses as they like.
func TestAddressesOfOneNetworkCountTogether(t *testing.T) {
	for _, c := range []struct{ a, b string }{{"2001:db8::1", "2001:db8::ffff:2"}, {"192.0.2.1", "::ffff:192.0.2.1"}} {
		if network(netip.MustParseAddr(c.a)) != network(netip.MustParseAddr(c.b)) {
			t.Errorf("%s and %s count apart", c.a, c.b)
		}
	}
	if network(netip.MustParseAddr("192.0.2.1")) == network(netip.MustParseAddr("192.0.2.2")) {
		t.Error("neighbours count together")
	}
}

func TestStatuses(t *testing.T) {
	h := newHouse(t, Config{})
	u, err := h.CreateUser(t.Context(), h.root, coder.CreateUserRequestWithOrgs{Email: "ann@example.com", Username: "ann", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	if u.Status != coder.UserStatusDormant || len(u.OrganizationIDs) != 1 {
		t.Errorf("a new user is %s in %d organizations", u.Status, len(u.OrganizationIDs))
	}
	token, err := h.login("ann@example.com", password)
	want(t, "login of a dormant user", err, "")
	if u, _ = h.UserByRef(t.Context(), h.root, "ann"); u.Status != coder.UserStatusActive {
		t.Errorf("after login the user is %s", u.Status)
	}
	if _, err = h.SetStatus(t.Context(), h.root, "ann", coder.UserStatusSuspended); err != nil {
		t.Fatal(err)
	}
	_, err = h.Authenticate(t.Context(), token, here)
	want(t, "session of a suspended user", err, coder.CodeUnauthenticated)
	_, err = h.login("ann@example.com", password)
	want(t, "login of a suspended user", err, coder.CodeUnauthenticated)
	if _, err = h.SetStatus(t.Context(), h.root, "ann", coder.UserStatusActive); err != nil {
		t.Fatal(err)
	}
	_, err = h.login("ann@example.com", password)
	want(t, "login after activation", err, "")
	_, err = h.SetStatus(t.Context(), h.root, "me", coder.UserStatusSuspended)
	want(t, "suspend oneself", err, coder.CodeInvalid)
}

func TestPasswords(t *testing.T) {
	h := newHouse(t, Config{})
	token, err := h.login("root@example.com", password)
	if err != nil {
		t.Fatal(err)
	}
	other, err := h.login("root@example.com", password)
	if err != nil {
		t.Fatal(err)
	}
	me, err := h.Authenticate(t.Context(), token, here)
	if err != nil {
		t.Fatal(err)
	}
	const next = "staple correct horse 2"
	want(t, "wrong old", h.UpdatePassword(t.Context(), me, "me", coder.UpdateUserPasswordRequest{OldPassword: "x", Password: next}), coder.CodeInvalid)
	want(t, "weak", h.UpdatePassword(t.Context(), me, "me", coder.UpdateUserPasswordRequest{OldPassword: password, Password: "short"}), coder.CodeInvalid)
	want(t, "change", h.UpdatePassword(t.Context(), me, "me", coder.UpdateUserPasswordRequest{OldPassword: password, Password: next}), "")
	_, err = h.Authenticate(t.Context(), token, here)
	want(t, "own session stays", err, "")
	_, err = h.Authenticate(t.Context(), other, here)
	want(t, "other session ends", err, coder.CodeUnauthenticated)
	admin := h.user("una", access.RoleUserAdmin)
	want(t, "user admin resets an owner", h.UpdatePassword(t.Context(), admin, "root", coder.UpdateUserPasswordRequest{Password: next}), coder.CodeForbidden)
	want(t, "reset by the command line", ResetPassword(t.Context(), h.c.Store, "root", password), "")
	_, err = h.login("root@example.com", password)
	want(t, "login after reset", err, "")
	want(t, "reset of nobody", ResetPassword(t.Context(), h.c.Store, "nobody", password), coder.CodeNotFound)
}

func TestSessionLifetime(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		h := newHouse(t, Config{SessionDuration: 4 * time.Hour, DisableSessionRefresh: fixed})
		token, err := h.login("root@example.com", password)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 { // used every hour, it lives on
			h.clock.pass(time.Hour)
			_, err = h.Authenticate(t.Context(), token, here)
		}
		if fixed {
			want(t, "fixed session", err, coder.CodeUnauthenticated)
			continue
		}
		want(t, "sliding session", err, "")
		h.clock.pass(4 * time.Hour)
		_, err = h.Authenticate(t.Context(), token, here)
		want(t, "idle session", err, coder.CodeUnauthenticated)
	}
}

func TestBadTokens(t *testing.T) {
	h := newHouse(t, Config{})
	token, err := h.login("root@example.com", password)
	if err != nil {
		t.Fatal(err)
	}
	if len(token) != tokenIDLength+1+tokenSecretLength || token[tokenIDLength] != '-' {
		t.Errorf("a token has the shape %q", strings.Map(func(r rune) rune {
			if r == '-' {
				return r
			}
			return 'x'
		}, token))
	}
	for name, bad := range map[string]string{
		"empty": "", "short": "abc", "no hyphen": strings.ReplaceAll(token, "-", "x"),
		"other secret": token[:len(token)-1] + "?", "unknown id": "0000000000" + token[10:], "long": token + "x", "nul": "\x00" + token[1:],
	} {
		_, err := h.Authenticate(t.Context(), bad, here)
		want(t, name, err, coder.CodeUnauthenticated)
	}
	me, err := h.Authenticate(t.Context(), token, here)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "logout", h.Logout(t.Context(), me), "")
	_, err = h.Authenticate(t.Context(), token, here)
	want(t, "after logout", err, coder.CodeUnauthenticated)
}

func TestCreateAdmin(t *testing.T) {
	h := newHouse(t, Config{})
	u, err := CreateAdmin(t.Context(), h.c.Store, coder.CreateFirstUserRequest{Email: "b@example.com", Username: "backup", Password: password}, "ecdsa")
	if err != nil {
		t.Fatal(err)
	}
	if !h.as(u.ID).IsOwner() {
		t.Error("the admin is no owner")
	}
	_, err = CreateAdmin(t.Context(), h.c.Store, coder.CreateFirstUserRequest{Email: "c@example.com", Username: "BACKUP", Password: password}, "")
	want(t, "a name taken", err, coder.CodeConflict)
}
