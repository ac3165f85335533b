package inbox

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

type fixture struct {
	*Service
	t     *testing.T
	store *postgres.Store
	n     int
}

func newFixture(t *testing.T) *fixture {
	store := postgrestest.New(t)
	return &fixture{Service: New(Config{Store: store}), t: t, store: store}
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	if _, err := f.store.Pool().Exec(f.t.Context(), sql, args...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) user(name string) access.Subject {
	s := access.Subject{UserID: uuid.New(), Username: name}
	f.exec(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, $2, $2, 'none', 'active', now(), now())`, s.UserID, name)
	return s
}

// add puts a notification into an inbox.
func (f *fixture) add(user access.Subject, kind uuid.UUID, targets ...uuid.UUID) uuid.UUID {
	f.t.Helper()
	f.n++
	id := uuid.New()
	f.exec(`INSERT INTO inbox_notifications (id, user_id, kind, targets, title, content, icon, actions, created_at)
		VALUES ($1, $2, $3, $4, $5, '**bold**', '', '[{"label": "View", "url": "https://coder.example.com"}]', now() - interval '1 hour' + $6 * interval '1 second')`,
		id, user.UserID, kind, append([]uuid.UUID{}, targets...), fmt.Sprint("title ", f.n), f.n)
	return id
}

func TestPages(t *testing.T) {
	f := newFixture(t)
	owner, other := f.user("owner"), f.user("other")
	kind := uuid.New()
	for range page + 5 {
		f.add(owner, kind)
	}
	f.add(other, kind)
	first, err := f.List(t.Context(), owner, Filter{})
	if err != nil || len(first.Notifications) != page || first.UnreadCount != page+5 || first.Notifications[0].Title != fmt.Sprint("title ", page+5) {
		t.Fatalf("%+v %v", first, err)
	}
	second, err := f.List(t.Context(), owner, Filter{Before: first.Notifications[page-1].ID})
	if err != nil || len(second.Notifications) != 5 || second.Notifications[4].Title != "title 1" {
		t.Fatalf("%+v %v", second, err)
	}
}

func TestFiltersAndReadStatus(t *testing.T) {
	f := newFixture(t)
	owner, other := f.user("owner"), f.user("other")
	memory, disk, dev, test := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	first := f.add(owner, memory, dev)
	f.add(owner, disk, dev, test)
	f.add(owner, uuid.New(), test)
	count := func(filter Filter) int {
		t.Helper()
		out, err := f.List(t.Context(), owner, filter)
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Notifications)
	}
	for want, filter := range map[int]Filter{
		3: {}, 2: {Templates: []uuid.UUID{memory, disk}, Targets: []uuid.UUID{dev}}, 1: {Targets: []uuid.UUID{dev, test}}, 0: {ReadStatus: ReadStatusRead},
	} {
		if got := count(filter); got != want {
			t.Errorf("%+v found %d, want %d", filter, got, want)
		}
	}
	if _, err := f.SetRead(t.Context(), other, first, true); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("another user read a notification: %v", err)
	}
	out, err := f.SetRead(t.Context(), owner, first, true)
	if err != nil || out.UnreadCount != 2 || out.Notification.ReadAt == nil {
		t.Fatalf("%+v %v", out, err)
	}
	if count(Filter{ReadStatus: ReadStatusRead}) != 1 || count(Filter{ReadStatus: ReadStatusUnread}) != 2 {
		t.Error("the read status is not a filter")
	}
	if out, err = f.SetRead(t.Context(), owner, first, false); err != nil || out.UnreadCount != 3 {
		t.Fatalf("%+v %v", out, err)
	}
	if err := f.ReadAll(t.Context(), owner); err != nil || count(Filter{ReadStatus: ReadStatusUnread}) != 0 {
		t.Errorf("not all is read: %v", err)
	}
	plain, err := f.List(t.Context(), owner, Filter{PlainText: true})
	if err != nil || plain.Notifications[0].Content != "bold" {
		t.Errorf("%+v %v", plain, err)
	}
}

func TestWatch(t *testing.T) {
	f := newFixture(t)
	f.c.Poll = time.Millisecond // there is no hub
	owner := f.user("owner")
	dev, kind := uuid.New(), uuid.New()
	add := func(kind uuid.UUID) uuid.UUID {
		id := f.add(owner, kind, dev)
		f.exec(`UPDATE inbox_notifications SET created_at = now() WHERE id = $1`, id)
		return id
	}
	add(kind) // before the watch
	watch, err := f.Watch(t.Context(), owner, Filter{Templates: []uuid.UUID{kind}, Targets: []uuid.UUID{dev}, PlainText: true})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	want := []uuid.UUID{add(kind), add(kind)}
	add(uuid.New()) // of another template
	enough := errors.New("enough")
	var got []uuid.UUID
	err = watch.Run(t.Context(), func(m codersdk.GetInboxNotificationResponse) error {
		if m.Notification.Content != "bold" || m.UnreadCount < 3 {
			t.Errorf("%+v", m)
		}
		got = append(got, m.Notification.ID)
		if len(got) == 2 {
			want = append(want, add(kind))
		}
		if len(got) == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: %v", got, want, err)
	}
}
