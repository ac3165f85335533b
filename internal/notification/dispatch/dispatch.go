// Package dispatch turns recorded events into notifications and delivers them.
//
// Both steps are queues in the database that every server works on. The first
// takes an event, looks up its names and recipients, and replaces it, in one
// transaction, by rows in inboxes and by messages for the other methods. So each
// recipient finds an event in the inbox exactly once, whenever a server is killed.
// The second leases messages, sends them and records the result. A message whose
// server was killed is sent again when the lease ends, so it arrives at least
// once. A failed attempt is repeated after a pause that doubles; a message that
// cannot be delivered stays as a dead letter for administrators.
package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Message is one notification for one user by one method.
type Message struct {
	ID       uuid.UUID // the same for every attempt
	Template notification.Template
	User     codersdk.MinimalUser
	Email    string
	Title    string
	Content  string // Markdown
	Actions  []codersdk.InboxNotificationAction
	Labels   map[string]string
	Data     []byte // JSON
	Targets  []uuid.UUID
	// Subscription is the browser of a message by web push.
	Subscription uuid.UUID
	Secret       string // of templates with one; "" for the others
}

// ErrGone means that the destination of a message no longer exists. The message was
// deleted with it.
var ErrGone = errors.New("the destination of the notification no longer exists")

// WebPush is the name of the sender to browsers.
const WebPush = "webpush"

// Send delivers a message. retry reports whether another attempt can succeed.
type Send func(ctx context.Context, m Message) (retry bool, err error)

// Config configures a Service. Zero values mean the defaults in the comments.
type Config struct {
	Store     *postgres.Store
	Hub       *notify.Hub // nil: polling only
	Log       *slog.Logger
	AccessURL *url.URL // of the links in notifications
	// Method delivers the notifications of templates that have no method of their
	// own, beside the inbox.
	Method codersdk.NotificationMethod
	// Senders are the configured methods; a notification whose method is missing
	// goes to the inbox only.
	Senders map[string]Send
	// Inbox puts notifications into the inboxes.
	Inbox bool

	MaxAttempts int           // of one message; 5
	Timeout     time.Duration // of one attempt; 1 min
	Fetch       time.Duration // between polls; 15 s
	Retry       time.Duration // after the first failed attempt; 5 min
	Leases      int           // messages of one method that one server sends at a time; 10
	LeasePeriod time.Duration // after which another server sends a message; 2 min

	Now        func() time.Time      // nil: time.Now
	Registerer prometheus.Registerer // nil: no metrics
}

// Service delivers notifications between Start and Stop.
type Service struct {
	Config
	metrics  *metrics
	outboxes []*outbox // one for each method
	group    lifecycle.Group
}

// New returns a Service.
func New(c Config) *Service {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&c.Timeout, time.Minute}, {&c.Fetch, 15 * time.Second}, {&c.Retry, 5 * time.Minute}, {&c.LeasePeriod, 2 * time.Minute}} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxAttempts <= 0 {
		c.MaxAttempts = 5
	}
	if c.Leases <= 0 {
		c.Leases = 10
	}
	s := &Service{Config: c, metrics: newMetrics(c.Registerer)}
	for method := range c.Senders {
		s.outboxes = append(s.outboxes, newOutbox(s, method))
		s.metrics.failures.WithLabelValues(method) // so that the first failure is a rise
	}
	return s
}

// Start starts both steps, the daily emails and the reports of failed builds.
func (s *Service) Start(ctx context.Context) error {
	loops := make([]lifecycle.Named, 0, len(s.outboxes)+3)
	for _, o := range s.outboxes {
		loops = append(loops, lifecycle.Named{Name: "delivery of notifications by " + o.method, Service: &lifecycle.Loop{Run: o.run}})
	}
	return s.group.Start(ctx, append(loops,
		lifecycle.Named{Name: "events of notifications", Service: &lifecycle.Loop{Run: s.expandForEver}},
		lifecycle.Named{Name: "daily emails", Service: &lifecycle.Loop{Run: s.collectForEver}},
		lifecycle.Named{Name: "reports of failed builds", Service: &lifecycle.Loop{Run: s.reportForEver}},
	)...)
}

// Stop stops all of them after the attempts under way.
func (s *Service) Stop(ctx context.Context) error { return s.group.Stop(ctx) }

// hints are the topics that producers of events publish after the commit.
func hints() []string {
	var topics []string
	for _, r := range []codersdk.RBACResource{
		codersdk.RBACResourceWorkspace, codersdk.RBACResourceTemplate, codersdk.RBACResourceUser, codersdk.RBACResourceNotificationMessage,
	} {
		topics = append(topics, notify.Kind(string(r)))
	}
	return topics
}

// minPause is the shortest time between two checks for events: most hints are not
// about notifications.
const minPause = 500 * time.Millisecond

func (s *Service) expandForEver(ctx context.Context) {
	var wake <-chan struct{}
	if s.Hub != nil {
		var end func()
		wake, end = s.Hub.Subscribe(hints()...)
		defer end()
	}
	lifecycle.Poll(ctx, s.Fetch, wake, func(ctx context.Context) (bool, error) { //nolint:errcheck // ends with ctx
		if err := s.Expand(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot read the events of notifications; retrying", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(minPause):
		}
		return false, nil
	})
}

// paused reports whether an administrator paused all notifications, but those that
// ignore it.
func (s *Service) paused(ctx context.Context) (bool, error) {
	settings, err := notification.Settings(ctx, s.Store.Queries)
	return settings.NotifierPaused, err
}
