package identity

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/dormancy"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// person creates a user with a password, and signs the user in.
func (h *house) person(name string) (access.Subject, string) {
	h.t.Helper()
	_, err := h.CreateUser(h.t.Context(), h.root, codersdk.CreateUserRequestWithOrgs{Email: name + "@example.com", Username: name, Password: password})
	if err != nil {
		h.t.Fatal(err)
	}
	token, err := h.login(name+"@example.com", password)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.Authenticate(h.t.Context(), token, here)
	if err != nil {
		h.t.Fatal(err)
	}
	return s, token
}

func TestSessions(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	ann, first := h.person("ann")
	h.clock.pass(time.Minute)
	second, err := h.login("ann@example.com", password)
	want(t, "second login", err, "")
	key, err := h.CreateToken(ctx, ann, "me", codersdk.CreateTokenRequest{})
	want(t, "token", err, "")
	list, err := h.Sessions(ctx, ann, "me", codersdk.Page{})
	if err != nil || len(list) != 2 || list[0].Current || !list[1].Current || list[1].IPAddress != "192.0.2.1" || list[1].UserAgent != "test" || list[1].LoginType != codersdk.LoginTypePassword {
		t.Fatalf("sessions: %+v, %v", list, err)
	}
	if id, _, _ := strings.Cut(second, "-"); list[0].ID != id {
		t.Errorf("the first is %s", list[0].ID)
	}
	bob, _ := h.person("bob")
	_, err = h.Sessions(ctx, bob, "ann", codersdk.Page{})
	want(t, "another's sessions", err, codersdk.CodeNotFound)
	want(t, "ending another's sessions", h.EndSessions(ctx, bob, "ann"), codersdk.CodeNotFound)
	want(t, "ending the others", h.EndSessions(ctx, ann, "me"), "")
	_, err = h.Authenticate(ctx, second, here)
	want(t, "the other session", err, codersdk.CodeUnauthenticated)
	for _, good := range []string{first, key.Key} {
		_, err = h.Authenticate(ctx, good, here)
		want(t, "this session and the token", err, "")
	}
	want(t, "an owner ends those of ann", h.EndSessions(ctx, h.root, "ann"), "")
	_, err = h.Authenticate(ctx, first, here)
	want(t, "the session that an owner ended", err, codersdk.CodeUnauthenticated)
}

func TestConvertLogin(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	ann, _ := h.person("ann")
	bob := h.user("bob")
	for what, c := range map[string]struct {
		who  access.Subject
		ref  string
		req  codersdk.ConvertLoginRequest
		code codersdk.Code
	}{
		"wrong password":    {ann, "me", codersdk.ConvertLoginRequest{Password: "wrong", ToType: codersdk.LoginTypeOIDC}, codersdk.CodeInvalid},
		"no password":       {ann, "me", codersdk.ConvertLoginRequest{ToType: codersdk.LoginTypeOIDC}, codersdk.CodeInvalid},
		"to a token":        {ann, "me", codersdk.ConvertLoginRequest{Password: password, ToType: codersdk.LoginTypeToken}, codersdk.CodeInvalid},
		"to a password":     {ann, "me", codersdk.ConvertLoginRequest{Password: password, ToType: codersdk.LoginTypePassword}, codersdk.CodeInvalid},
		"without one":       {bob, "me", codersdk.ConvertLoginRequest{Password: password, ToType: codersdk.LoginTypeOIDC}, codersdk.CodeInvalid},
		"for another":       {bob, "ann", codersdk.ConvertLoginRequest{Password: password, ToType: codersdk.LoginTypeOIDC}, codersdk.CodeNotFound},
		"for one's subject": {h.root, "ann", codersdk.ConvertLoginRequest{Password: password, ToType: codersdk.LoginTypeOIDC}, codersdk.CodeForbidden},
	} {
		_, err := h.ConvertLogin(ctx, c.who, c.ref, c.req)
		want(t, what, err, c.code)
	}
	begin := func() string {
		t.Helper()
		out, err := h.ConvertLogin(ctx, ann, "me", codersdk.ConvertLoginRequest{Password: password, ToType: codersdk.LoginTypeOIDC})
		want(t, "begin", err, "")
		if out.UserID != ann.UserID || out.ToType != codersdk.LoginTypeOIDC || !out.ExpiresAt.After(h.clock.now()) || len(out.StateString) < 40 {
			t.Errorf("begun: %+v", out)
		}
		return out.StateString
	}
	end := func(state string, by codersdk.LoginType) (id uuid.UUID, err error) {
		err = h.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
			id, err = h.EndConversion(ctx, q, here, state, by)
			return err
		})
		return id, err
	}
	_, err := end(begin(), codersdk.LoginTypeGitHub)
	want(t, "by another way", err, codersdk.CodeInvalid)
	_, err = end("nonsense", codersdk.LoginTypeOIDC)
	want(t, "nonsense", err, codersdk.CodeInvalid)
	late := begin()
	h.clock.pass(conversionTime)
	_, err = end(late, codersdk.LoginTypeOIDC)
	want(t, "too late", err, codersdk.CodeInvalid)
	one, other := begin(), begin()
	id, err := end(one, codersdk.LoginTypeOIDC)
	if err != nil || id != ann.UserID {
		t.Fatal(id, err)
	}
	_, err = end(one, codersdk.LoginTypeOIDC)
	want(t, "twice", err, codersdk.CodeInvalid)
	_, err = end(other, codersdk.LoginTypeOIDC)
	want(t, "after another", err, codersdk.CodeConflict)
	_, err = h.login("ann@example.com", password)
	want(t, "the old password", err, codersdk.CodeUnauthenticated)
	if kind, err := h.LoginType(ctx, h.as(ann.UserID), "me"); err != nil || kind.LoginType != codersdk.LoginTypeOIDC {
		t.Error(kind, err)
	}
	logs, err := h.AuditLogs(ctx, h.root, AuditSearch{Search: audit.Search{ResourceType: "convert_login", Limit: 10}})
	if err != nil || logs.Count != 5 || logs.AuditLogs[0].Diff["login_type"].New != "oidc" {
		t.Errorf("the log has %+v, %v", logs, err)
	}
}

func TestQuietHours(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	ann := h.user("ann")
	got, err := h.QuietHours(ctx, ann, "me")
	if err != nil || got.RawSchedule != "CRON_TZ=UTC 0 0 * * *" || got.Time != "00:00" || got.Timezone != "UTC" || got.UserSet || !got.UserCanSet || !got.Next.Equal(time.Date(2030, 1, 3, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("usual: %+v, %v", got, err)
	}
	got, err = h.UpdateQuietHours(ctx, ann, "me", codersdk.UpdateUserQuietHoursScheduleRequest{Schedule: "CRON_TZ=Europe/Lisbon  5 22 * * *"})
	if err != nil || got.RawSchedule != "CRON_TZ=Europe/Lisbon 5 22 * * *" || got.Time != "22:05" || got.Timezone != "Europe/Lisbon" || !got.UserSet || got.Next.Hour() != 22 || got.Next.Day() != 2 {
		t.Errorf("set: %+v, %v", got, err)
	}
	for _, bad := range []string{"nonsense", "* 22 * * *", "5 24 * * *", "5 22 * * 1", "5 22 1 * *", "CRON_TZ=Moon/Sea 5 22 * * *", "CRON_TZ= 5 22 * * *", "@daily", strings.Repeat("5 ", 200), "5 -1 * * *", "5 22 * * * *"} {
		_, err := h.UpdateQuietHours(ctx, ann, "me", codersdk.UpdateUserQuietHoursScheduleRequest{Schedule: bad})
		want(t, bad, err, codersdk.CodeInvalid)
	}
	got, err = h.UpdateQuietHours(ctx, ann, "me", codersdk.UpdateUserQuietHoursScheduleRequest{})
	if err != nil || got.UserSet || got.RawSchedule != "CRON_TZ=UTC 0 0 * * *" {
		t.Errorf("cleared: %+v, %v", got, err)
	}
	_, err = h.QuietHours(ctx, ann, "root")
	want(t, "another's", err, codersdk.CodeNotFound)
	h.c.Quiet.Fixed = true
	_, err = h.UpdateQuietHours(ctx, ann, "me", codersdk.UpdateUserQuietHoursScheduleRequest{Schedule: "5 22 * * *"})
	want(t, "not one's own to say", err, codersdk.CodeForbidden)
}

func TestDormancy(t *testing.T) {
	h := newHouse(t, Config{})
	ctx := t.Context()
	ann, _ := h.person("ann")
	h.clock.pass(dormancy.After - time.Hour)
	bob, _ := h.person("bob")
	h.clock.pass(2 * time.Hour)
	status := func(who access.Subject) codersdk.UserStatus {
		t.Helper()
		u, err := h.UserByRef(ctx, access.System(), who.UserID.String())
		want(t, "user", err, "")
		return u.Status
	}
	want(t, "mark", h.MarkDormant(ctx), "")
	if status(ann) != codersdk.UserStatusDormant || status(bob) != codersdk.UserStatusActive {
		t.Errorf("ann is %s, bob %s", status(ann), status(bob))
	}
	if _, err := h.login("ann@example.com", password); err != nil || status(ann) != codersdk.UserStatusActive {
		t.Errorf("after a login ann is %s, %v", status(ann), err)
	}
	// A user whom an administrator activated has time to sign in.
	h.clock.pass(dormancy.After + time.Hour)
	want(t, "mark", h.MarkDormant(ctx), "")
	_, err := h.SetStatus(ctx, h.root, "bob", codersdk.UserStatusActive)
	want(t, "activate", err, "")
	want(t, "mark", h.MarkDormant(ctx), "")
	if status(bob) != codersdk.UserStatusActive || status(ann) != codersdk.UserStatusDormant {
		t.Errorf("ann is %s, bob %s", status(ann), status(bob))
	}
}

// TestHold without hints: what is held ends by the poll at the latest, or at
// once when there is nothing left to hold.
func TestHold(t *testing.T) {
	h := newHouse(t, Config{})
	ann, token := h.person("ann")
	held, end := h.Hold(t.Context(), ann, nil)
	if held.Err() != nil {
		t.Fatal(held.Err())
	}
	end()
	if held.Err() == nil {
		t.Error("it goes on after its end")
	}
	id, _, _ := strings.Cut(token, "-")
	want(t, "end of the key", h.DeleteKey(t.Context(), ann, "me", id), "")
	held, end = h.Hold(t.Context(), ann, nil)
	defer end()
	<-held.Done()
	want(t, "why it ended", context.Cause(held), codersdk.CodeUnauthenticated)
	asked := 0
	held, end = h.Hold(t.Context(), h.root, func(context.Context, access.Subject) error { asked++; return codersdk.NotFound() })
	defer end()
	<-held.Done()
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
