package identity

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
)

// TestAuthenticateKey goes by the id of a key, where it was proved otherwise
// whose request it is: everything else must hold as for the whole token.
func TestAuthenticateKey(t *testing.T) {
	h := newHouse(t, Config{SessionDuration: 4 * time.Hour})
	_, err := h.CreateUser(t.Context(), h.root, codersdk.CreateUserRequestWithOrgs{Email: "ann@example.com", Username: "ann", Password: password})
	want(t, "make a user", err, "")
	begin := func() string {
		t.Helper()
		token, err := h.login("ann@example.com", password)
		if err != nil {
			t.Fatal(err)
		}
		return token[:credential.TokenIDLength]
	}
	is := func(what, id string, code codersdk.Code) {
		t.Helper()
		s, err := h.AuthenticateKey(t.Context(), id, here)
		want(t, what, err, code)
		if code == "" && (s.Username != "ann" || s.KeyID != id || s.Origin != here) {
			t.Errorf("%s: %+v", what, s)
		}
	}
	id := begin()
	is("a session", id, "")
	is("no id", "", codersdk.CodeUnauthenticated)
	is("another id", "0000000000", codersdk.CodeUnauthenticated)
	for range 6 { // used every hour, it lives on
		h.clock.pass(time.Hour)
		is("a session in use", id, "")
	}
	h.clock.pass(4 * time.Hour)
	is("an idle session", id, codersdk.CodeUnauthenticated)

	id = begin()
	me, err := h.AuthenticateKey(t.Context(), id, here)
	want(t, "a session", err, "")
	want(t, "logout", h.Logout(t.Context(), me), "")
	is("after logout", id, codersdk.CodeUnauthenticated)

	id = begin()
	_, err = h.SetStatus(t.Context(), h.root, "ann", codersdk.UserStatusSuspended)
	want(t, "suspend", err, "")
	is("of a suspended user", id, codersdk.CodeUnauthenticated)
}
