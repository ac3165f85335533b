package identity

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/attempt"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
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
	first, err := h.CreateFirstUser(t.Context(), here, codersdk.CreateFirstUserRequest{Email: "root@example.com", Username: "root", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	h.org, h.root = first.OrganizationID, h.as(first.UserID)
	return h
}

// as returns the subject that a user is now.
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
	u, err := h.CreateUser(h.t.Context(), h.root, codersdk.CreateUserRequestWithOrgs{
		Email: name + "@example.com", Username: name, LoginType: codersdk.LoginTypeNone, UserStatus: codersdk.UserStatusActive,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(roles) > 0 {
		if _, err := h.UpdateRoles(h.t.Context(), h.root, name, codersdk.UpdateRoles{Roles: roles}); err != nil {
			h.t.Fatal(err)
		}
	}
	return h.as(u.ID)
}

// passwordUser makes a user with a password and the site roles, and returns the name.
func (h *house) passwordUser(name string, roles ...string) string {
	h.t.Helper()
	_, err := h.CreateUser(h.t.Context(), h.root, codersdk.CreateUserRequestWithOrgs{
		Email: name + "@example.com", Username: name, LoginType: codersdk.LoginTypePassword, Password: password, UserStatus: codersdk.UserStatusActive,
		OrganizationIDs: []uuid.UUID{h.org},
	})
	if err == nil && len(roles) > 0 {
		_, err = h.UpdateRoles(h.t.Context(), h.root, name, codersdk.UpdateRoles{Roles: roles})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return name
}

func (h *house) login(email, pw string) (string, error) {
	out, err := h.Login(h.t.Context(), here, codersdk.LoginWithPasswordRequest{Email: email, Password: pw})
	return out.SessionToken, err
}

// token makes an API token and gives the subject that it authenticates as.
func (h *house) token(actor access.Subject, req codersdk.CreateTokenRequest) access.Subject {
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
func want(t *testing.T, what string, err error, code codersdk.Code) {
	t.Helper()
	if got := codersdk.CodeOf(err); got != code {
		t.Errorf("%s: code %q, want %q (%v)", what, got, code, err)
	}
}

func TestFirstUser(t *testing.T) {
	s := New(Config{Store: postgrestest.New(t)})
	if some, err := s.HasFirstUser(t.Context()); some || err != nil {
		t.Fatalf("a fresh database has a user: %v %v", some, err)
	}
	req := codersdk.CreateFirstUserRequest{Email: "root@example.com", Username: "root", Password: password}
	for field, bad := range map[string]codersdk.CreateFirstUserRequest{
		"email":    {Email: "root", Username: "root", Password: password},
		"username": {Email: "root@example.com", Username: "ro ot", Password: password},
		"password": {Email: "root@example.com", Username: "root", Password: "aaaaaaaaaaaa"},
	} {
		_, err := s.CreateFirstUser(t.Context(), here, bad)
		want(t, field, err, codersdk.CodeInvalid)
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
			want(t, "second first user", err, codersdk.CodeConflict)
		}
	}
	if made != 1 {
		t.Fatalf("%d first users were made, want 1", made)
	}
	token, err := s.Login(t.Context(), here, codersdk.LoginWithPasswordRequest{Email: "ROOT@example.com", Password: password})
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
	want(t, "unknown", unknown, codersdk.CodeUnauthenticated)
	want(t, "wrong", wrong, codersdk.CodeUnauthenticated)
	if unknown == nil || wrong == nil || unknown.Error() != wrong.Error() {
		t.Errorf("the failures differ: %v / %v", unknown, wrong)
	}
	h.user("headless")
	_, err := h.login("headless@example.com", password)
	want(t, "headless", err, codersdk.CodeUnauthenticated)
	_, err = h.login("", password)
	want(t, "no email", err, codersdk.CodeInvalid)
}

func TestLoginLimits(t *testing.T) {
	h := newHouse(t, Config{})
	other := New(Config{Store: h.c.Store, Now: h.clock.now}) // another server of the deployment
	var refused error
	taken := 0
	for i := range 2 * attempt.AccountBurst {
		s := h.Service
		if i%2 == 1 {
			s = other
		}
		if refused = s.attempts.Count(t.Context(), attempt.ByAccount("account")); refused == nil {
			taken++
		}
	}
	want(t, "one too many", refused, codersdk.CodeRateLimited)
	if taken != attempt.AccountBurst || !strings.Contains(refused.Error(), "wait 5 seconds") {
		t.Errorf("%d attempts were let through, want %d; then: %v", taken, attempt.AccountBurst, refused)
	}
	want(t, "another account", h.attempts.Count(t.Context(), attempt.ByAccount("another")), "")
	h.clock.pass(attempt.AccountPeriod - time.Second)
	if err := h.attempts.Count(t.Context(), attempt.ByAccount("account")); err == nil || !strings.Contains(err.Error(), "wait 1 second ") {
		t.Errorf("a second too early: %v", err)
	}
	h.clock.pass(time.Second)
	want(t, "one that came back", h.attempts.Count(t.Context(), attempt.ByAccount("account")), "")
	want(t, "two", h.attempts.Count(t.Context(), attempt.ByAccount("account")), codersdk.CodeRateLimited)
	h.clock.pass(time.Hour)
	if n, err := h.PurgeAttempts(t.Context()); err != nil || n != 2 {
		t.Errorf("%d counts were forgotten, %v, want 2", n, err)
	}
	for range attempt.AccountBurst {
		_, err := h.login("Root@example.com", "wrong wrong wrong")
		want(t, "a wrong password", err, codersdk.CodeUnauthenticated)
	}
	_, err := h.login("root@example.com", password)
	want(t, "login over the limit", err, codersdk.CodeRateLimited)
	h.clock.pass(attempt.AccountPeriod)
	_, err = h.login("root@example.com", password)
	want(t, "login after a wait", err, "")
	_, err = h.login("root@example.com", "wrong wrong wrong")
	want(t, "a success gives the attempts back", err, codersdk.CodeUnauthenticated)
}

// TestOfficeBehindOneAddress: correct passwords from one address are unlimited; wrong
// ones are limited over all accounts.
func TestOfficeBehindOneAddress(t *testing.T) {
	h := newHouse(t, Config{})
	for range attempt.AddressBurst + 5 {
		if _, err := h.login("root@example.com", password); err != nil {
			t.Fatal(err)
		}
	}
	for i := range attempt.AddressBurst {
		_, err := h.login(fmt.Sprintf("user%d@example.com", i), password)
		want(t, "an unknown account", err, codersdk.CodeUnauthenticated)
	}
	_, err := h.login("another@example.com", password)
	want(t, "one wrong password too many", err, codersdk.CodeRateLimited)
	e, _ := errors.AsType[*codersdk.Error](err)
	if e == nil || e.RetryAfter <= 0 || e.RetryAfter > attempt.AddressPeriod {
		t.Errorf("the error does not state when to try again: %v", err)
	}
	_, err = h.login("root@example.com", password)
	want(t, "a correct password while the address is limited", err, codersdk.CodeRateLimited)
	h.clock.pass(attempt.AddressPeriod)
	_, err = h.login("root@example.com", password)
	want(t, "a correct password after the wait", err, "")
}

// TestGuessesAtOnce: guesses that arrive together are bounded like those that
// come one after the other.
func TestGuessesAtOnce(t *testing.T) {
	h := newHouse(t, Config{})
	var failed atomic.Int32
	var all sync.WaitGroup
	for i := range 3 * attempt.AddressBurst {
		all.Go(func() {
			err := error(nil)
			for { // a slow machine does not hash them all within the time that a sign-in waits
				_, err = h.login(fmt.Sprintf("user%d@example.com", i), password)
				if !codersdk.Is(err, codersdk.CodeUnavailable) {
					break
				}
			}
			if codersdk.Is(err, codersdk.CodeUnauthenticated) {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	if n := int(failed.Load()); n < attempt.AddressBurst || n > attempt.AddressBurst+credential.HashesAtOnce {
		t.Errorf("%d guesses were answered, want %d and at most one more for each slot", n, attempt.AddressBurst)
	}
}

func TestStatuses(t *testing.T) {
	h := newHouse(t, Config{})
	u, err := h.CreateUser(t.Context(), h.root, codersdk.CreateUserRequestWithOrgs{Email: "ann@example.com", Username: "ann", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	if u.Status != codersdk.UserStatusDormant || len(u.OrganizationIDs) != 1 {
		t.Errorf("a new user is %s in %d organizations", u.Status, len(u.OrganizationIDs))
	}
	token, err := h.login("ann@example.com", password)
	want(t, "login of a dormant user", err, "")
	if u, _ = h.UserByRef(t.Context(), h.root, "ann"); u.Status != codersdk.UserStatusActive {
		t.Errorf("after login the user is %s", u.Status)
	}
	if _, err = h.SetStatus(t.Context(), h.root, "ann", codersdk.UserStatusSuspended); err != nil {
		t.Fatal(err)
	}
	_, err = h.Authenticate(t.Context(), token, here)
	want(t, "session of a suspended user", err, codersdk.CodeUnauthenticated)
	_, err = h.login("ann@example.com", password)
	want(t, "login of a suspended user", err, codersdk.CodeUnauthenticated)
	if _, err = h.SetStatus(t.Context(), h.root, "ann", codersdk.UserStatusActive); err != nil {
		t.Fatal(err)
	}
	_, err = h.login("ann@example.com", password)
	want(t, "login after activation", err, "")
	_, err = h.SetStatus(t.Context(), h.root, "me", codersdk.UserStatusSuspended)
	want(t, "suspend oneself", err, codersdk.CodeInvalid)
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
	want(t, "wrong old", h.UpdatePassword(t.Context(), me, "me", codersdk.UpdateUserPasswordRequest{OldPassword: "x", Password: next}), codersdk.CodeInvalid)
	want(t, "weak", h.UpdatePassword(t.Context(), me, "me", codersdk.UpdateUserPasswordRequest{OldPassword: password, Password: "short"}), codersdk.CodeInvalid)
	want(t, "change", h.UpdatePassword(t.Context(), me, "me", codersdk.UpdateUserPasswordRequest{OldPassword: password, Password: next}), "")
	_, err = h.Authenticate(t.Context(), token, here)
	want(t, "own session stays", err, "")
	_, err = h.Authenticate(t.Context(), other, here)
	want(t, "other session ends", err, codersdk.CodeUnauthenticated)
	admin := h.user("una", access.RoleUserAdmin)
	want(t, "user admin resets an owner", h.UpdatePassword(t.Context(), admin, "root", codersdk.UpdateUserPasswordRequest{Password: next}), codersdk.CodeForbidden)
	for _, c := range []struct {
		name, site, organization string
		refused                  codersdk.Code
	}{
		{"tim", access.RoleTemplateAdmin, "", codersdk.CodeForbidden}, {"aud", access.RoleAuditor, "", codersdk.CodeForbidden},
		{"orla", "", access.RoleOrganizationAdmin, codersdk.CodeForbidden}, {"olaf", "", access.RoleOrganizationTemplateAdmin, codersdk.CodeForbidden},
		{"ulf", access.RoleUserAdmin, "", ""}, {"mia", "", "", ""},
	} {
		var roles []string
		if c.site != "" {
			roles = []string{c.site}
		}
		target := h.passwordUser(c.name, roles...)
		if c.organization != "" {
			_, err := h.UpdateMemberRoles(t.Context(), h.root, h.org.String(), target, codersdk.UpdateRoles{Roles: []string{c.organization}})
			want(t, "make "+target+" "+c.organization, err, "")
		}
		want(t, "user admin resets "+target, h.UpdatePassword(t.Context(), admin, target, codersdk.UpdateUserPasswordRequest{Password: next}), c.refused)
	}
	want(t, "reset by the command line", ResetPassword(t.Context(), h.c.Store, "root", password), "")
	_, err = h.login("root@example.com", password)
	want(t, "login after reset", err, "")
	want(t, "reset of nobody", ResetPassword(t.Context(), h.c.Store, "nobody", password), codersdk.CodeNotFound)
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
			want(t, "fixed session", err, codersdk.CodeUnauthenticated)
			continue
		}
		want(t, "sliding session", err, "")
		h.clock.pass(4 * time.Hour)
		_, err = h.Authenticate(t.Context(), token, here)
		want(t, "idle session", err, codersdk.CodeUnauthenticated)
	}
}

func TestBadTokens(t *testing.T) {
	h := newHouse(t, Config{})
	token, err := h.login("root@example.com", password)
	if err != nil {
		t.Fatal(err)
	}
	if len(token) != credential.TokenIDLength+1+credential.TokenSecretLength || token[credential.TokenIDLength] != '-' {
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
		want(t, name, err, codersdk.CodeUnauthenticated)
	}
	me, err := h.Authenticate(t.Context(), token, here)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "logout", h.Logout(t.Context(), me), "")
	_, err = h.Authenticate(t.Context(), token, here)
	want(t, "after logout", err, codersdk.CodeUnauthenticated)
}

func TestCreateAdmin(t *testing.T) {
	h := newHouse(t, Config{})
	u, err := CreateAdmin(t.Context(), h.c.Store, codersdk.CreateFirstUserRequest{Email: "b@example.com", Username: "backup", Password: password}, "ecdsa")
	if err != nil {
		t.Fatal(err)
	}
	if !h.as(u.ID).IsOwner() {
		t.Error("the admin is no owner")
	}
	_, err = CreateAdmin(t.Context(), h.c.Store, codersdk.CreateFirstUserRequest{Email: "c@example.com", Username: "BACKUP", Password: password}, "")
	want(t, "a name taken", err, codersdk.CodeConflict)
}

// TestAuditLogsHideOtherOrganizations checks that an administrator of one
// organization does not learn of which others a user is a member.
func TestAuditLogsHideOtherOrganizations(t *testing.T) {
	h := newHouse(t, Config{})
	second, err := h.CreateOrganization(t.Context(), h.root, codersdk.CreateOrganizationRequest{Name: "second"})
	want(t, "create", err, "")
	h.user("ann")
	admin := h.user("orla")
	_, err = h.UpdateMemberRoles(t.Context(), h.root, h.org.String(), "orla", codersdk.UpdateRoles{Roles: []string{access.RoleOrganizationAdmin}})
	want(t, "make orla an administrator", err, "")
	admin = h.as(admin.UserID)
	of := func(actor access.Subject) map[uuid.UUID]bool {
		t.Helper()
		logs, err := audit.Logs(t.Context(), h.c.Store.Queries, actor, audit.Search{Limit: 100})
		want(t, "read the audit log", err, "")
		seen := map[uuid.UUID]bool{}
		for _, l := range logs.AuditLogs {
			if l.User != nil {
				for _, id := range l.User.OrganizationIDs {
					seen[id] = true
				}
			}
		}
		return seen
	}
	if seen := of(h.root); !seen[h.org] || !seen[second.ID] {
		t.Errorf("the owner sees %v", seen)
	}
	if seen := of(admin); !seen[h.org] || len(seen) != 1 {
		t.Errorf("an administrator of %s sees %v", h.org, seen)
	}
}
