package identity

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity/attempt"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
)

func TestPasscodes(t *testing.T) {
	h := newHouse(t, Config{SendsEmail: true})
	var sent []string
	request := func(email string) error {
		if err := h.RequestPasscode(t.Context(), here, codersdk.RequestOneTimePasscodeRequest{Email: email}); err != nil {
			return err
		}
		// The email is sent later, and gets its passcode then.
		events, err := h.c.Store.NotificationEventsForUpdate(t.Context(), false, notification.Unpausable(), 10)
		for _, e := range events {
			if e.Kind != notification.PasswordReset || len(e.Recipients) != 1 || len(e.Labels) != 0 {
				t.Errorf("enqueued %+v", e)
			}
			if err == nil {
				err = h.c.Store.NotificationEventDelete(t.Context(), e.ID)
			}
			sent = append(sent, rand.Text())
			err = errors.Join(err, h.c.Store.PasscodePut(t.Context(), e.Recipients[0],
				credential.HashPasscode(e.Recipients[0], sent[len(sent)-1]), h.now().Add(credential.PasscodeTime)))
		}
		return err
	}
	change := func(email, passcode, password string) error {
		return h.ChangePasswordByPasscode(t.Context(), here, codersdk.ChangePasswordWithOneTimePasscodeRequest{Email: email, OneTimePasscode: passcode, Password: password})
	}
	const fresh = "another horse, another battery"
	session, err := h.login("root@example.com", password)
	want(t, "login", err, "")

	h.user("headless")
	want(t, "of nobody", request("nobody@example.com"), "")
	want(t, "of one without a password", request("headless@example.com"), "")
	want(t, "of none", request("nobody"), codersdk.CodeInvalid)
	if len(sent) != 0 {
		t.Fatalf("%d were sent", len(sent))
	}
	want(t, "request", request("ROOT@example.com"), "")
	want(t, "again", request("root@example.com"), "")
	if len(sent) != 2 || len(sent[1]) < 20 {
		t.Fatalf("sent: %q", sent)
	}
	want(t, "a short password", change("root@example.com", sent[1], "short"), codersdk.CodeInvalid)
	want(t, "the older passcode", change("root@example.com", sent[0], fresh), codersdk.CodeInvalid)
	want(t, "of another", change("headless@example.com", sent[1], fresh), codersdk.CodeInvalid)
	want(t, "of nobody", change("nobody@example.com", sent[1], fresh), codersdk.CodeInvalid)
	want(t, "the passcode", change("root@example.com", strings.ToLower(sent[1])+" ", fresh), "")
	want(t, "twice", change("root@example.com", sent[1], fresh), codersdk.CodeInvalid)
	_, err = h.Authenticate(t.Context(), session, here)
	want(t, "sessions of before", err, codersdk.CodeUnauthenticated)
	_, err = h.login("root@example.com", fresh)
	want(t, "the new password", err, "")

	want(t, "request", request("root@example.com"), "")
	h.clock.pass(credential.PasscodeTime)
	want(t, "late", change("root@example.com", sent[2], fresh), codersdk.CodeInvalid)
	for range attempt.AccountBurst {
		err = change("root@example.com", "guess", fresh)
	}
	want(t, "guesses", err, codersdk.CodeRateLimited)
	h.clock.pass(time.Hour)
	if _, err := h.PurgeAttempts(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = New(Config{Store: h.c.Store}).RequestPasscode(t.Context(), here, codersdk.RequestOneTimePasscodeRequest{Email: "root@example.com"})
	want(t, "without email", err, codersdk.CodePrecondition)
}
