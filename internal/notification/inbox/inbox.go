// Package inbox serves the notifications of users: their inboxes, preferences and
// browsers, and the settings and dead letters of administrators.
package inbox

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	// Methods are the methods that the server can use, and Default the one of
	// templates that name none.
	Methods []codersdk.NotificationMethod
	Default codersdk.NotificationMethod
	// Poll is the interval of polls of a watch without a hint; 0 means 15 s.
	Poll time.Duration
	Now  func() time.Time // the clock of the database; nil: time.Now
}

// Service implements inboxes. It is safe for concurrent use.
type Service struct{ c Config }

// New returns a Service.
func New(c Config) *Service {
	if c.Poll <= 0 {
		c.Poll = 15 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// ReadStatus selects notifications by whether they were read.
type ReadStatus string

// Values of ReadStatus.
const (
	ReadStatusAll    ReadStatus = "all"
	ReadStatusRead   ReadStatus = "read"
	ReadStatusUnread ReadStatus = "unread"
)

// Filter selects notifications; zero fields match all.
type Filter struct {
	Templates  []uuid.UUID
	Targets    []uuid.UUID // all of them
	ReadStatus ReadStatus
	Before     uuid.UUID // the page starts after this notification
	PlainText  bool      // contents without Markdown
}

// page is the number of notifications on a page.
const page = 25

// object is the access object of a user's notifications.
func object(t codersdk.RBACResource, user uuid.UUID) access.Object {
	return access.Object{Type: t, OwnerID: user}
}

func check(actor access.Subject, action codersdk.RBACAction) error {
	return actor.Check(action, object(codersdk.RBACResourceInboxNotification, actor.UserID))
}

// List returns a page of the actor's inbox, the newest first.
func (s *Service) List(ctx context.Context, actor access.Subject, f Filter) (codersdk.ListInboxNotificationsResponse, error) {
	out := codersdk.ListInboxNotificationsResponse{Notifications: []codersdk.InboxNotification{}}
	if err := check(actor, codersdk.RBACActionRead); err != nil {
		return out, err
	}
	p := f.params(actor.UserID)
	p.MaxRows = page
	if f.Before != uuid.Nil {
		p.Before = &f.Before
	}
	rows, err := s.c.Store.InboxList(ctx, p)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		out.Notifications = append(out.Notifications, view(r, f.PlainText))
	}
	out.UnreadCount, err = s.unread(ctx, actor.UserID)
	return out, err
}

func (f Filter) params(user uuid.UUID) sqlc.InboxListParams {
	p := sqlc.InboxListParams{
		UserID: user, Kinds: append([]uuid.UUID{}, f.Templates...), Targets: append([]uuid.UUID{}, f.Targets...), ReadStatus: string(f.ReadStatus),
	}
	if p.ReadStatus == "" {
		p.ReadStatus = string(ReadStatusAll)
	}
	return p
}

func (s *Service) unread(ctx context.Context, user uuid.UUID) (int, error) {
	n, err := s.c.Store.InboxUnread(ctx, user)
	return int(n), err
}

func view(r sqlc.InboxNotification, plain bool) codersdk.InboxNotification {
	if plain {
		r.Content = notification.Plain(r.Content)
	}
	return codersdk.InboxNotification{
		ID: r.ID, UserID: r.UserID, TemplateID: r.Kind, Targets: r.Targets, Title: r.Title, Content: r.Content, Icon: r.Icon,
		Actions: r.Actions, CreatedAt: r.CreatedAt, ReadAt: r.ReadAt,
	}
}

// SetRead marks a notification of the actor as read or unread.
func (s *Service) SetRead(ctx context.Context, actor access.Subject, id uuid.UUID, read bool) (codersdk.UpdateInboxNotificationReadStatusResponse, error) {
	out := codersdk.UpdateInboxNotificationReadStatusResponse{}
	if err := check(actor, codersdk.RBACActionUpdate); err != nil {
		return out, err
	}
	row, err := s.c.Store.InboxSetRead(ctx, read, id, actor.UserID)
	if err != nil {
		return out, err
	}
	s.changed(actor.UserID)
	out.Message, out.Notification = "Read status updated", view(row, false)
	out.UnreadCount, err = s.unread(ctx, actor.UserID)
	return out, err
}

// ReadAll marks all notifications of the actor as read.
func (s *Service) ReadAll(ctx context.Context, actor access.Subject) error {
	if err := check(actor, codersdk.RBACActionUpdate); err != nil {
		return err
	}
	if err := s.c.Store.InboxReadAll(ctx, actor.UserID); err != nil {
		return err
	}
	s.changed(actor.UserID)
	return nil
}

func (s *Service) changed(user uuid.UUID) {
	if s.c.Hub != nil {
		s.c.Hub.Publish(notify.Inbox(user))
	}
}

// overlap is how far back a watch reads: rows of concurrent transactions do not
// become visible in the order of their times.
const overlap = time.Minute

// Watch follows an inbox. It is not safe for concurrent use.
type Watch struct {
	s      *Service
	user   uuid.UUID
	filter Filter
	wake   <-chan struct{}
	end    func()
	seen   map[uuid.UUID]time.Time // recent notifications that were there before or were reported
}

// Watch starts to follow the actor's inbox: Run reports every notification that
// the filter selects and that comes after Watch returned. The caller calls Close.
func (s *Service) Watch(ctx context.Context, actor access.Subject, f Filter) (*Watch, error) {
	if err := check(actor, codersdk.RBACActionRead); err != nil {
		return nil, err
	}
	w := &Watch{s: s, user: actor.UserID, filter: f, end: func() {}, seen: map[uuid.UUID]time.Time{}}
	if s.c.Hub != nil {
		w.wake, w.end = s.c.Hub.Subscribe(notify.Inbox(actor.UserID))
	}
	if _, err := w.news(ctx); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Close ends the watch.
func (w *Watch) Close() { w.end() }

// Run calls each with every new notification until ctx ends or each fails.
func (w *Watch) Run(ctx context.Context, each func(codersdk.GetInboxNotificationResponse) error) error {
	return lifecycle.Poll(ctx, w.s.c.Poll, w.wake, func(ctx context.Context) (bool, error) {
		rows, err := w.news(ctx)
		for i := 0; i < len(rows) && err == nil; i++ {
			var unread int
			if unread, err = w.s.unread(ctx, w.user); err == nil {
				err = each(codersdk.GetInboxNotificationResponse{Notification: view(rows[i], w.filter.PlainText), UnreadCount: unread})
			}
		}
		return false, err
	})
}

// news returns the notifications that it did not return before, the oldest first.
func (w *Watch) news(ctx context.Context) ([]sqlc.InboxNotification, error) {
	rows, err := w.s.recent(ctx, w.user, w.filter)
	if err != nil {
		return nil, err
	}
	var out []sqlc.InboxNotification
	for i := len(rows) - 1; i >= 0; i-- {
		if _, known := w.seen[rows[i].ID]; !known {
			out = append(out, rows[i])
		}
		w.seen[rows[i].ID] = rows[i].CreatedAt
	}
	for id, at := range w.seen {
		if w.s.c.Now().Sub(at) > 3*overlap {
			delete(w.seen, id)
		}
	}
	return out, nil
}

// recent returns the newest notifications of a user, the newest first.
func (s *Service) recent(ctx context.Context, user uuid.UUID, f Filter) ([]sqlc.InboxNotification, error) {
	p := f.params(user)
	since := s.c.Now().Add(-overlap)
	p.Since, p.MaxRows = &since, 200
	return s.c.Store.InboxList(ctx, p)
}
