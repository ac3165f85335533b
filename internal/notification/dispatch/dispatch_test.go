package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notification/dispatch"
	"github.com/seed-2a7f8fe7/coder/internal/notification/inbox"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// fixture is a database with users, and a service whose webhooks are recorded.
type fixture struct {
	*dispatch.Service
	t     *testing.T
	store *postgres.Store
	inbox *inbox.Service
	users map[string]uuid.UUID

	method  codersdk.NotificationMethod // of templates without a method of their own
	senders map[string]dispatch.Send

	mu     sync.Mutex
	sent   []dispatch.Message
	answer func(attempt int) (retry bool, err error) // nil: success
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, store: postgrestest.New(t), users: map[string]uuid.UUID{}, method: codersdk.NotificationMethodWebhook, senders: map[string]dispatch.Send{}}
	f.inbox = inbox.New(inbox.Config{
		Store: f.store, Default: codersdk.NotificationMethodWebhook,
		Methods: []codersdk.NotificationMethod{codersdk.NotificationMethodWebhook, codersdk.NotificationMethodInbox},
	})
	f.sendBy("webhook", func(_ context.Context, m dispatch.Message) (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sent = append(f.sent, m)
		if f.answer == nil {
			return false, nil
		}
		return f.answer(len(f.sent))
	})
	for name, roles := range map[string][]string{
		"owner": {access.RoleOwner}, "userAdmin": {access.RoleUserAdmin}, "templateAdmin": {access.RoleTemplateAdmin}, "otherTemplateAdmin": {access.RoleTemplateAdmin}, "member": {},
	} {
		f.users[name] = uuid.New()
		f.exec(`INSERT INTO users (id, email, username, login_type, status, roles, created_at, updated_at) VALUES ($1, $2 || '@example.com', $2, 'none', 'active', $3, now(), now())`,
			f.users[name], name, roles)
	}
	return f
}

// sendBy adds a method to the service.
func (f *fixture) sendBy(method string, send dispatch.Send) {
	f.senders[method] = send
	f.Service = f.service()
}

// service returns another server on the database.
func (f *fixture) service() *dispatch.Service {
	return dispatch.New(dispatch.Config{
		Store: f.store, AccessURL: &url.URL{Scheme: "https", Host: "coder.example.com"}, Method: f.method, Inbox: true, MaxAttempts: 3,
		Senders: maps.Clone(f.senders),
	})
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	_, err := f.store.Pool().Exec(f.t.Context(), sql, args...)
	f.check(err)
}

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) as(name string, roles ...string) access.Subject {
	return access.Subject{UserID: f.users[name], Username: name, SiteRoles: roles}
}

// enqueue records a custom event for a user.
func (f *fixture) enqueue(user, text string) {
	f.t.Helper()
	f.check(notification.Enqueue(f.t.Context(), f.store.Queries, notification.Event{
		Template: notification.Custom, Recipients: []uuid.UUID{f.users[user]},
		Labels: map[string]string{"custom_title": text, "custom_message": text},
	}))
}

// titles returns the inbox of a user, the newest first.
func (f *fixture) titles(user string) []string {
	f.t.Helper()
	page, err := f.inbox.List(f.t.Context(), f.as(user), inbox.Filter{})
	f.check(err)
	titles := []string{}
	for _, n := range page.Notifications {
		titles = append(titles, n.Title)
	}
	return titles
}

// run does both steps once.
func (f *fixture) run() {
	f.t.Helper()
	f.check(f.Expand(f.t.Context()))
	f.check(f.Deliver(f.t.Context()))
}

func (f *fixture) want(user string, titles ...string) {
	f.t.Helper()
	if got := f.titles(user); !slices.Equal(got, titles) {
		f.t.Errorf("the inbox of %s has %q, want %q", user, got, titles)
	}
}

// pastPauses makes every waiting message due.
func (f *fixture) pastPauses() {
	f.exec(`UPDATE notification_messages SET next_attempt_at = now() - interval '1 second' WHERE sent_at IS NULL AND failed_at IS NULL`)
}

func (f *fixture) status() codersdk.NotificationStatus {
	f.t.Helper()
	out, err := f.inbox.Status(f.t.Context(), f.as("owner", access.RoleOwner))
	f.check(err)
	return out
}

func TestEventAndNotificationAreOneTransaction(t *testing.T) {
	f := newFixture(t)
	undone := errors.New("undone")
	err := f.store.Tx(t.Context(), func(q *sqlc.Queries) error {
		f.check(notification.Enqueue(t.Context(), q, notification.Event{Template: notification.UserCreated, UserID: f.users["member"]}))
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	f.run()
	f.want("owner")
	f.check(notification.Enqueue(t.Context(), f.store.Queries, notification.Event{Template: notification.UserCreated, UserID: f.users["member"], InitiatorID: f.users["owner"]}))
	f.run()
	f.run()
	f.want("owner") // the initiator knows
	f.want("member")
	f.want("userAdmin", `User "member" was created`)
	if len(f.sent) != 1 || f.sent[0].Labels["account_username"] != "member" || f.sent[0].Labels["initiator"] != "owner" || f.sent[0].Email != "userAdmin@example.com" {
		t.Errorf("sent %+v", f.sent)
	}
}

func TestServersShareTheQueues(t *testing.T) {
	f := newFixture(t)
	const events = 30
	for i := range events {
		f.enqueue("member", fmt.Sprint("event ", i))
	}
	var servers sync.WaitGroup
	for range 4 {
		s := f.service()
		servers.Go(func() {
			if err := errors.Join(s.Expand(t.Context()), s.Deliver(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	servers.Wait()
	f.run()
	var rows int
	f.check(f.store.Pool().QueryRow(t.Context(), `SELECT count(*) FROM inbox_notifications`).Scan(&rows))
	if rows != events || len(f.sent) != events {
		t.Errorf("%d events made %d notifications and %d messages", events, rows, len(f.sent))
	}
}

func TestPreferences(t *testing.T) {
	f := newFixture(t)
	member, admin := f.as("member"), f.as("templateAdmin")
	_, err := f.inbox.UpdatePreferences(t.Context(), member, member.UserID, codersdk.UpdateUserNotificationPreferences{
		TemplateDisabledMap: map[string]bool{notification.Custom.String(): true},
	})
	f.check(err)
	f.enqueue("member", "unwanted")
	f.run()
	f.want("member")
	if len(f.sent) != 0 {
		t.Errorf("sent %+v", f.sent)
	}
	if _, err := f.inbox.UpdatePreferences(t.Context(), member, f.users["owner"], codersdk.UpdateUserNotificationPreferences{}); !codersdk.Is(err, codersdk.CodeNotFound) && !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member changed the preferences of another user: %v", err)
	}
	// A template that is disabled by default needs a choice.
	deleted := func() {
		f.check(notification.Enqueue(t.Context(), f.store.Queries, notification.Event{Template: notification.WorkspaceCreated, Labels: map[string]string{"name": "dev", "workspace_owner_username": "member"}}))
		f.run()
	}
	deleted()
	f.want("templateAdmin")
	_, err = f.inbox.UpdatePreferences(t.Context(), admin, admin.UserID, codersdk.UpdateUserNotificationPreferences{
		TemplateDisabledMap: map[string]bool{notification.WorkspaceCreated.String(): false},
	})
	f.check(err)
	deleted()
	f.want("templateAdmin", `Workspace "dev" was created`)
	f.want("otherTemplateAdmin")
}

func TestRepeatsAreQuiet(t *testing.T) {
	f := newFixture(t)
	for range 3 {
		f.enqueue("member", "disk is full")
	}
	f.enqueue("owner", "disk is full")
	f.enqueue("member", "disk is empty")
	f.run()
	f.want("member", "disk is empty", "disk is full")
	f.want("owner", "disk is full")
	f.exec(`UPDATE notification_repeats SET at = at - interval '1 hour'`)
	f.enqueue("member", "disk is full")
	f.run()
	f.want("member", "disk is full", "disk is empty", "disk is full")
}

func TestRetries(t *testing.T) {
	f := newFixture(t)
	f.answer = func(attempt int) (bool, error) {
		if attempt < 3 {
			return true, errors.New("the receiver is down")
		}
		return false, nil
	}
	f.enqueue("member", "late")
	f.run()
	if s := f.status(); len(f.sent) != 1 || s.WaitingMessages != 1 || s.FailedCount != 0 {
		t.Fatalf("after the first attempt: %d sent, %+v", len(f.sent), s)
	}
	f.run() // the pause is not over
	if len(f.sent) != 1 {
		t.Fatal("the second attempt came at once")
	}
	for range 2 {
		f.pastPauses()
		f.run()
	}
	if s := f.status(); len(f.sent) != 3 || s.WaitingMessages != 0 || s.FailedCount != 0 || f.sent[0].ID != f.sent[2].ID {
		t.Fatalf("after three attempts: %d sent, %+v", len(f.sent), s)
	}
	f.want("member", "late")
}

func TestDeadLetters(t *testing.T) {
	for name, c := range map[string]struct {
		retry    bool
		attempts int
	}{"refused for good": {false, 1}, "as often as permitted": {true, 3}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.answer = func(int) (bool, error) { return c.retry, errors.New("no such user") }
			f.enqueue("member", "lost")
			for range 5 {
				f.run()
				f.pastPauses()
			}
			s := f.status()
			if len(f.sent) != c.attempts || s.FailedCount != 1 || s.Failed[0].Error != "no such user" || s.Failed[0].Username != "member" || s.Failed[0].Attempts != c.attempts {
				t.Fatalf("%d attempts, %+v", len(f.sent), s)
			}
			f.answer = nil
			f.check(f.inbox.Retry(t.Context(), f.as("owner", access.RoleOwner), s.Failed[0].ID))
			f.run()
			if s := f.status(); s.FailedCount != 0 || s.WaitingMessages != 0 {
				t.Errorf("after a retry: %+v", s)
			}
			f.want("member", "lost")
		})
	}
}

// TestReceiverThatHangs: while a webhook does not respond, other webhooks and all emails are sent.
func TestReceiverThatHangs(t *testing.T) {
	f := newFixture(t)
	methods := []codersdk.NotificationMethod{codersdk.NotificationMethodWebhook, codersdk.NotificationMethodSMTP}
	inbox := inbox.New(inbox.Config{Store: f.store, Default: codersdk.NotificationMethodWebhook, Methods: methods})
	hangs, respond := make(chan string, 1), make(chan struct{})
	sent := map[string]chan string{"webhook": make(chan string, 1), "smtp": make(chan string, 1)}
	s := dispatch.New(dispatch.Config{
		Store: f.store, AccessURL: &url.URL{Scheme: "https", Host: "coder.example.com"}, Method: codersdk.NotificationMethodWebhook, Leases: 2, Fetch: 10 * time.Millisecond,
		Senders: map[string]dispatch.Send{
			"webhook": func(_ context.Context, m dispatch.Message) (bool, error) {
				if m.Title == "hangs" {
					hangs <- m.Title
					<-respond
				}
				sent["webhook"] <- m.Title
				return false, nil
			},
			"smtp": func(_ context.Context, m dispatch.Message) (bool, error) {
				sent["smtp"] <- m.Title
				return false, nil
			},
		},
	})
	f.check(s.Start(t.Context()))
	defer func() { f.check(s.Stop(context.WithoutCancel(t.Context()))) }()
	expect := func(from <-chan string, want string) {
		t.Helper()
		if got := testwait.Receive(t, want+" is sent", from); got != want {
			t.Errorf("%q was sent, want %q", got, want)
		}
	}
	f.enqueue("member", "hangs")
	expect(hangs, "hangs")
	f.enqueue("member", "webhook")
	expect(sent["webhook"], "webhook")
	_, err := inbox.SetMethod(t.Context(), f.as("owner", access.RoleOwner), notification.Custom, codersdk.NotificationMethodSMTP)
	f.check(err)
	f.enqueue("member", "email")
	expect(sent["smtp"], "email")
	close(respond)
	expect(sent["webhook"], "hangs")
}

// TestLostServer: a server is killed after it took the lease, and another one sends
// the message when the lease ended. What the first does then changes nothing.
func TestLostServer(t *testing.T) {
	f := newFixture(t)
	f.enqueue("member", "from a lost server")
	f.check(f.Expand(t.Context()))
	lease := uuid.New()
	rows, err := f.store.NotificationClaim(t.Context(), sqlc.NotificationClaimParams{LeaseID: &lease, LeaseSeconds: 60, Method: "webhook", AllKinds: true, MaxRows: 10})
	f.check(err)
	f.check(f.Deliver(t.Context()))
	if len(rows) != 1 || len(f.sent) != 0 {
		t.Fatalf("claimed %d, and another server sent %d", len(rows), len(f.sent))
	}
	f.pastPauses()
	f.check(f.Deliver(t.Context()))
	if len(f.sent) != 1 || f.sent[0].ID != rows[0].ID {
		t.Fatalf("sent %+v", f.sent)
	}
	n, err := f.store.NotificationFailed(t.Context(), "too late", rows[0].ID, &lease)
	if s := f.status(); err != nil || n != 0 || s.FailedCount != 0 || s.WaitingMessages != 0 {
		t.Errorf("a lost lease changed %d rows: %+v %v", n, s, err)
	}
}

func TestPause(t *testing.T) {
	f := newFixture(t)
	owner := f.as("owner", access.RoleOwner)
	pause := func(paused, changes bool) {
		changed, err := f.inbox.PutSettings(t.Context(), owner, codersdk.NotificationsSettings{NotifierPaused: paused})
		if err != nil || changed != changes {
			t.Fatalf("changed %v: %v", changed, err)
		}
	}
	pause(true, true)
	pause(true, false)
	f.enqueue("member", "waits")
	f.run()
	f.want("member")
	if s := f.status(); !s.Paused || s.WaitingEvents != 1 {
		t.Errorf("%+v", s)
	}
	pause(false, true)
	f.run()
	f.want("member", "waits")
	if _, err := f.inbox.PutSettings(t.Context(), f.as("member"), codersdk.NotificationsSettings{}); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member paused all notifications: %v", err)
	}
}

// TestEventThatCannotBeRendered does not stop the events behind it.
func TestEventThatCannotBeRendered(t *testing.T) {
	f := newFixture(t)
	f.check(notification.Enqueue(t.Context(), f.store.Queries, notification.Event{Template: notification.Custom, Recipients: []uuid.UUID{f.users["member"]}}))
	f.exec(`INSERT INTO notification_events (id, kind, recipients, labels, data, created_at) VALUES ($1, $1, '{}', '{}', '{}', now())`, uuid.New())
	f.enqueue("member", "behind it")
	f.run()
	f.want("member", "behind it")
	if s := f.status(); s.FailedCount != 2 || s.WaitingEvents != 0 {
		t.Errorf("%+v", s)
	}
}

func TestMethodOfTemplate(t *testing.T) {
	f := newFixture(t)
	owner := f.as("owner", access.RoleOwner)
	changed, err := f.inbox.SetMethod(t.Context(), owner, notification.Custom, codersdk.NotificationMethodInbox)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	f.enqueue("member", "inbox only")
	f.run()
	f.want("member", "inbox only")
	if len(f.sent) != 0 {
		t.Errorf("sent %+v", f.sent)
	}
	if _, err := f.inbox.SetMethod(t.Context(), owner, notification.Custom, "pigeon"); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("pigeon: %v", err)
	}
	if _, err := f.inbox.SetMethod(t.Context(), f.as("member"), notification.Custom, ""); !codersdk.Is(err, codersdk.CodeForbidden) {
		t.Errorf("a member set a method: %v", err)
	}
}

func TestSuspendedAndDeletedUsers(t *testing.T) {
	f := newFixture(t)
	f.exec(`UPDATE users SET status = 'suspended' WHERE id = $1`, f.users["member"])
	f.exec(`UPDATE users SET deleted_at = now() WHERE id = $1`, f.users["otherTemplateAdmin"])
	f.enqueue("member", "unread")
	f.enqueue("otherTemplateAdmin", "unread")
	f.check(notification.Enqueue(t.Context(), f.store.Queries, notification.Event{
		Template: notification.YourAccountSuspended, Recipients: []uuid.UUID{f.users["member"]}, UserID: f.users["member"], InitiatorID: f.users["owner"],
	}))
	f.run()
	f.want("member", "Your account was suspended")
	f.want("otherTemplateAdmin")
}

// TestBrowsers: every subscribed browser gets a message of its own beside the other
// method, and the test of browsers nothing else.
func TestBrowsers(t *testing.T) {
	f := newFixture(t)
	var pushed []dispatch.Message
	f.sendBy(dispatch.WebPush, func(_ context.Context, m dispatch.Message) (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		pushed = append(pushed, m)
		if m.Title == "gone" {
			f.check(f.store.WebpushDeleteByID(context.Background(), m.Subscription))
			return false, dispatch.ErrGone
		}
		return false, nil
	})
	for i := range 2 {
		f.check(f.store.WebpushPut(t.Context(), sqlc.WebpushPutParams{
			ID: uuid.New(), UserID: f.users["member"], Endpoint: fmt.Sprintf("https://push.example.com/%d", i), P256dhKey: "k", AuthKey: "a",
		}))
	}
	f.enqueue("member", "news")
	f.enqueue("owner", "no browser")
	f.run()
	f.want("member", "news")
	if len(pushed) != 2 || pushed[0].Subscription == pushed[1].Subscription || pushed[0].Title != "news" || len(f.sent) != 2 {
		t.Fatalf("pushed %+v, sent %+v", pushed, f.sent)
	}
	f.check(f.inbox.TestBrowsers(t.Context(), f.users["member"]))
	f.run()
	f.want("member", "news")
	if len(pushed) != 4 || pushed[3].Title != "Test notification" || len(f.sent) != 2 {
		t.Fatalf("after a test: pushed %+v, sent %+v", pushed, f.sent)
	}
	f.enqueue("member", "gone")
	f.run()
	if s := f.status(); len(pushed) != 6 || s.FailedCount != 0 || s.WaitingMessages != 0 {
		t.Errorf("after the browsers are gone: %d pushed, %+v", len(pushed), s)
	}
}

// TestPasscodes: the email about a password reset gets a new passcode for every
// attempt, also while notifications are paused, and is in no inbox.
func TestPasscodes(t *testing.T) {
	f := newFixture(t)
	var sent []dispatch.Message
	failures := 1
	f.sendBy("smtp", func(_ context.Context, m dispatch.Message) (bool, error) {
		sent = append(sent, m)
		if len(sent) <= failures {
			return true, errors.New("the mail server is down")
		}
		return false, nil
	})
	f.exec(`UPDATE users SET login_type = 'password' WHERE id = $1`, f.users["member"])
	_, err := f.inbox.PutSettings(t.Context(), f.as("owner", access.RoleOwner), codersdk.NotificationsSettings{NotifierPaused: true})
	f.check(err)
	reset := func(user string) {
		f.check(notification.Enqueue(t.Context(), f.store.Queries, notification.Event{
			Template: notification.PasswordReset, Recipients: []uuid.UUID{f.users[user]}, UserID: f.users[user], InitiatorID: f.users[user],
		}))
		f.run()
	}
	f.enqueue("member", "waits")
	reset("member")
	f.pastPauses()
	f.run()
	f.want("member")
	if len(sent) != 2 || len(f.sent) != 0 || len(sent[1].Secret) < 20 || sent[0].Secret == sent[1].Secret || sent[0].ID != sent[1].ID {
		t.Fatalf("sent %+v and %+v", sent, f.sent)
	}
	for i, valid := range []int64{0, 1} {
		n, err := f.store.PasscodeTake(t.Context(), f.users["member"], credential.HashPasscode(f.users["member"], sent[i].Secret), time.Now())
		if err != nil || n != valid {
			t.Errorf("passcode %d is valid %d times: %v", i, n, err)
		}
	}
	var stored string
	f.check(f.store.Pool().QueryRow(t.Context(), `SELECT string_agg(m::text, ' ') FROM notification_messages m`).Scan(&stored))
	if strings.Contains(stored, sent[1].Secret) {
		t.Error("the database has the passcode")
	}
	reset("owner") // signs in without a password
	if s := f.status(); len(sent) != 2 || s.FailedCount != 1 {
		t.Errorf("of a user without a password: %d sent, %+v", len(sent), s)
	}
}
