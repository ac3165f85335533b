package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notification/dispatch"
	"github.com/seed-2a7f8fe7/coder/internal/notification/inbox"
)

// emails sends by email, and returns the sent emails in their order.
func (f *fixture) emails() func() []dispatch.Message {
	f.method = codersdk.NotificationMethodSMTP
	var sent []dispatch.Message
	f.sendBy(string(codersdk.NotificationMethodSMTP), func(_ context.Context, m dispatch.Message) (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		sent = append(sent, m)
		return false, nil
	})
	return func() []dispatch.Message {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Clone(sent)
	}
}

func (f *fixture) daily(user string, daily bool) {
	f.t.Helper()
	got, err := f.inbox.UpdateDigest(f.t.Context(), f.as(user), f.users[user], inbox.UpdateNotificationDigest{Daily: daily})
	f.check(err)
	if got.Daily != daily {
		f.t.Errorf("the choice is %+v", got)
	}
}

// nextDay makes the waiting notifications due.
func (f *fixture) nextDay() {
	f.t.Helper()
	f.exec(`UPDATE notification_digest_entries SET due_at = due_at - interval '1 day'`)
}

// collect sends what is due.
func (f *fixture) collect() {
	f.t.Helper()
	f.check(f.Collect(f.t.Context()))
	f.check(f.Deliver(f.t.Context()))
}

// TestDailyEmail: the emails of a day are one, and the inbox gets its notifications at
// once.
func TestDailyEmail(t *testing.T) {
	f := newFixture(t)
	sent := f.emails()
	f.daily("member", true)
	f.enqueue("member", "first *news*")
	f.enqueue("member", "second")
	f.enqueue("owner", "another user")
	f.check(notification.Enqueue(t.Context(), f.store.Queries, notification.Event{Template: notification.Test, Recipients: []uuid.UUID{f.users["member"]}}))
	f.run()
	f.collect()
	f.want("member", "Test notification", "second", "first *news*")
	if got := sent(); len(got) != 2 || slices.ContainsFunc(got, func(m dispatch.Message) bool {
		return m.User.Username == "member" && m.Template.ID != notification.Test
	}) {
		t.Fatalf("before the end of the day, sent %+v", got)
	}
	f.nextDay()
	f.collect()
	f.collect()
	got := sent()
	if len(got) != 3 || got[2].Title != "2 notifications" || got[2].Email != "member@example.com" || got[2].Template.ID != notification.Digest {
		t.Fatalf("sent %+v", got)
	}
	const want = "first *news*\n\nfirst *news*\n\nsecond\n\nsecond"
	if text := notification.Plain(got[2].Content); text != want {
		t.Errorf("the email is\n%s\nwant\n%s", text, want)
	}
	if a := got[2].Actions; len(a) != 1 || a[0].URL != "https://coder.example.com/notifications" {
		t.Errorf("the links are %+v", a)
	}

	f.enqueue("member", "alone")
	f.run()
	f.nextDay()
	f.collect()
	if got := sent(); len(got) != 4 || got[3].Title != "alone" {
		t.Errorf("a single notification is %+v", got)
	}
}

// TestEndOfDailyEmail: waiting notifications are sent when the user no longer wants one
// email a day, and later ones at once.
func TestEndOfDailyEmail(t *testing.T) {
	f := newFixture(t)
	sent := f.emails()
	f.daily("member", true)
	f.enqueue("member", "waits")
	f.run()
	f.daily("member", false)
	f.collect()
	f.enqueue("member", "at once")
	f.run()
	if got := sent(); len(got) != 2 || got[0].Title != "waits" || got[1].Title != "at once" {
		t.Errorf("sent %+v", got)
	}
}

// TestDailyEmailOfManyServers: servers that collect at the same time send each
// notification once.
func TestDailyEmailOfManyServers(t *testing.T) {
	f := newFixture(t)
	sent := f.emails()
	const users, each = 4, 60
	names := []string{"owner", "userAdmin", "templateAdmin", "member"}
	for _, name := range names {
		f.daily(name, true)
		for i := range each {
			f.enqueue(name, fmt.Sprintf("%s %d", name, i))
		}
	}
	f.run()
	f.nextDay()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := f.Collect(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f.check(f.Deliver(t.Context()))
	got := sent()
	if len(got) != users {
		t.Fatalf("%d emails were sent", len(got))
	}
	for _, m := range got {
		if m.Title != "60 notifications" || !strings.Contains(m.Content, "further notifications: 10") || strings.Count(m.Content, "**") != 100 {
			t.Errorf("%s got %q:\n%s", m.User.Username, m.Title, m.Content)
		}
	}
}

// TestPausedDailyEmail: a pause holds daily emails back.
func TestPausedDailyEmail(t *testing.T) {
	f := newFixture(t)
	sent := f.emails()
	f.daily("member", true)
	f.enqueue("member", "news")
	f.run()
	f.nextDay()
	f.exec(`INSERT INTO site_settings (name, value, updated_at) VALUES ($1, '{"notifier_paused": true}', now())`, notification.SettingsName)
	f.collect()
	if got := sent(); len(got) != 0 {
		t.Fatalf("sent %+v", got)
	}
	f.exec(`DELETE FROM site_settings WHERE name = $1`, notification.SettingsName)
	f.collect()
	if got := sent(); len(got) != 1 {
		t.Errorf("sent %+v", got)
	}
}

func TestTimeOfDailyEmail(t *testing.T) {
	f := newFixture(t)
	f.emails()
	f.daily("member", true)
	for now, want := range map[string]string{
		"2026-03-01T07:59:59Z":      "2026-03-01T08:00:00Z",
		"2026-03-01T08:00:00Z":      "2026-03-02T08:00:00Z",
		"2026-03-01T23:00:00-09:00": "2026-03-03T08:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		f.check(err)
		f.Now = func() time.Time { return at }
		f.enqueue("member", now)
		f.check(f.Expand(t.Context()))
		var due time.Time
		f.check(f.store.Pool().QueryRow(t.Context(), `DELETE FROM notification_digest_entries RETURNING due_at`).Scan(&due))
		if got := due.UTC().Format(time.RFC3339); got != want {
			t.Errorf("at %s the next is %s, want %s", now, got, want)
		}
	}
}
