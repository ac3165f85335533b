package identity

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

func TestPasscodes(t *testing.T) {
	var sent []string
	h := newHouse(t, Config{SendPasscode: func(_ context.Context, _ uuid.UUID, passcode string) error {
		sent = append(sent, passcode)
		return nil
	}})
	request := func(email string) error {
		return h.RequestPasscode(t.Context(), here, coder.RequestOneTimePasscodeRequest{Email: email})
	}
	change := func(email, passcode, password string) error {
		return h.ChangePasswordByPasscode(t.Context(), here, coder.ChangePasswordWithOneTimePasscodeRequest{Email: email, OneTimePasscode: passcode, Password: password})
	}
	const fresh = "another horse, another battery"
	session, err := h.login("root@example.com", password)
	want(t, "login", err, "")

	h.user("headless")
	want(t, "of nobody", request("nobody@example.com"), "")
	want(t, "of one without a password", request("headless@example.com"), "")
	want(t, "of none", request("nobody"), coder.CodeInvalid)
	if len(sent) != 0 {
		t.Fatalf("%d were sent", len(sent))
	}
	want(t, "request", request("ROOT@example.com"), "")
	want(t, "again", request("root@example.com"), "")
	if len(sent) != 2 || len(sent[1]) < 20 {
		t.Fatalf("sent: %q", sent)
	}
	want(t, "a short password", change("root@example.com", sent[1], "short"), coder.CodeInvalid)
	want(t, "the older passcode", change("root@example.com", sent[0], fresh), coder.CodeInvalid)
	want(t, "of another", change("headless@example.com", sent[1], fresh), coder.CodeInvalid)
	want(t, "of nobody", change("nobody@example.com", sent[1], fresh), coder.CodeInvalid)
	want(t, "the passcode", change("root@example.com", strings.ToLower(sent[1])+" ", fresh), "")
	want(t, "twice", change("root@example.com", sent[1], fresh), coder.CodeInvalid)
	_, err = h.Authenticate(t.Context(), session, here)
	want(t, "sessions of before", err, coder.CodeUnauthenticated)
	_, err = h.login("root@example.com", fresh)
	want(t, "the new password", err, "")

	want(t, "request", request("root@example.com"), "")
	h.clock.pass(passcodeTime)
	want(t, "late", change("root@example.com", sent[2], fresh), coder.CodeInvalid)
	for range triesPerAccount {
		err = change("root@example.com", "guess", fresh)
	}
	want(t, "guesses", err, coder.CodeRateLimited)
	h.clock.pass(time.Hour)
	if _, err := h.PurgeAttempts(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = New(Config{Store: h.c.Store}).RequestPasscode(t.Context(), here, coder.RequestOneTimePasscodeRequest{Email: "root@example.com"})
	want(t, "without e-mail", err, coder.CodePrecondition)
}
