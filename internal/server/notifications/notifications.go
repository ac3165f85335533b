// Package notifications groups the delivery of notifications: the inboxes, and
// email, webhooks and web push beside them.
package notifications

import (
	"context"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/notificationapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/notification/dispatch"
	"github.com/seed-2a7f8fe7/coder/internal/notification/inbox"
	"github.com/seed-2a7f8fe7/coder/internal/notification/webpush"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/server/retention"
	"github.com/seed-2a7f8fe7/coder/internal/webhook"
)

// Config describes how notifications are delivered. Zero durations and numbers
// mean the defaults of package dispatch.
type Config struct {
	Method        string   // beside the inbox: smtp, webhook or inbox for none; "": smtp
	WebhookURL    *url.URL // nil: no webhook
	WebhookSecret string   // signs webhooks; "": no signature
	NoInbox       bool
	PushServices  []string // hosts that notifications of browsers are sent to; empty: none

	MaxAttempts    int           // of one message
	Timeout        time.Duration // of one attempt
	Fetch          time.Duration // between polls of the queue
	Retry          time.Duration // after the first failed attempt; it doubles
	Leases         int           // messages that one server sends at a time
	LeasePeriod    time.Duration // after which another server sends a message
	InboxRetention time.Duration // 0 keeps notifications in the inbox forever
}

// Check refuses values out of range.
func (c Config) Check() error {
	switch codersdk.NotificationMethod(c.Method) {
	case "", codersdk.NotificationMethodSMTP, codersdk.NotificationMethodInbox:
	case codersdk.NotificationMethodWebhook:
		if c.WebhookURL == nil {
			return codersdk.Errorf(codersdk.CodeInvalid, "--notifications-method webhook requires --notifications-webhook-endpoint")
		}
	default:
		return codersdk.Errorf(codersdk.CodeInvalid, "--notifications-method must be smtp, webhook or inbox, got %q", c.Method)
	}
	if u := c.WebhookURL; u != nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return codersdk.Errorf(codersdk.CodeInvalid, "--notifications-webhook-endpoint %q must be an http or https URL", u)
	}
	if c.MaxAttempts < 0 || c.Leases < 0 {
		return codersdk.Errorf(codersdk.CodeInvalid, "--notifications-max-send-attempts and --notifications-lease-count cannot be negative")
	}
	for flag, d := range map[string]time.Duration{
		"dispatch-timeout": c.Timeout, "fetch-interval": c.Fetch, "retry-interval": c.Retry, "lease-period": c.LeasePeriod, "inbox-retention": c.InboxRetention,
	} {
		if d < 0 {
			return codersdk.Errorf(codersdk.CodeInvalid, "--notifications-%s cannot be negative", flag)
		}
	}
	if c.Timeout > 0 && c.LeasePeriod > 0 && c.LeasePeriod <= c.Timeout {
		return codersdk.Errorf(codersdk.CodeInvalid,
			"--notifications-lease-period must be longer than --notifications-dispatch-timeout, or messages are sent twice")
	}
	return nil
}

// Secrets returns the secrets of the configuration, for redaction.
func (c Config) Secrets() []string { return []string{c.WebhookSecret} }

// Group is the use cases and services of notifications.
type Group struct {
	Inbox     *inbox.Service
	Browsers  *webpush.Service
	c         Config
	delivery  *dispatch.Service
	endpoints notificationapi.API
}

// New creates the group. Without a smarthost in the settings of email there is no
// email.
func New(ctx context.Context, b *base.Base, c Config, email mail.Config, users *identity.Service) (*Group, error) {
	if c.Method == "" {
		c.Method = string(codersdk.NotificationMethodSMTP)
	}
	s := senders{base: b, config: c}
	if email.Smarthost != "" {
		email.Timeout = c.Timeout
		mailer, err := mail.New(email)
		if err != nil {
			return nil, err
		}
		s.mailer = mailer
	}
	if c.WebhookURL != nil {
		s.webhook = &webhook.Client{URL: c.WebhookURL.String(), Secret: c.WebhookSecret, Transport: b.Outgoing, UserAgent: "coder/" + b.Version}
	}
	g := &Group{c: c}
	if err := g.createBrowsers(ctx, b); err != nil {
		return nil, err
	}
	s.browsers = g.Browsers
	methods, send := s.methods()
	g.delivery = dispatch.New(dispatch.Config{
		Store: b.Store, Hub: b.Hub, Log: b.Logger("notifications"), AccessURL: b.AccessURL, Method: codersdk.NotificationMethod(c.Method),
		Senders: send, Inbox: !c.NoInbox, MaxAttempts: c.MaxAttempts, Timeout: c.Timeout, Fetch: c.Fetch, Retry: c.Retry,
		Leases: c.Leases, LeasePeriod: c.LeasePeriod, Registerer: b.Registry, Now: b.Now,
	})
	g.Inbox = inbox.New(inbox.Config{Store: b.Store, Hub: b.Hub, Methods: methods, Default: codersdk.NotificationMethod(c.Method), Now: b.Now})
	g.endpoints = notificationapi.API{Inbox: g.Inbox, Browsers: g.Browsers, Identity: users}
	return g, nil
}

// createBrowsers creates the notifications of browsers.
func (g *Group) createBrowsers(ctx context.Context, b *base.Base) error {
	secret, err := b.Secret(ctx, "webpush", 32)
	if err != nil {
		return err
	}
	contact := b.AccessURL.String()
	if b.AccessURL.Scheme != "https" {
		contact = "mailto:admin@" + b.AccessURL.Hostname()
	}
	g.Browsers, err = webpush.New(webpush.Config{
		Store: b.Store, Secret: secret, Hosts: g.c.PushServices, Contact: contact, Transport: b.Outgoing,
		Enqueue: func(ctx context.Context, user uuid.UUID) error { return g.Inbox.TestBrowsers(ctx, user) },
	})
	return err
}

// Routes returns the endpoints.
func (g *Group) Routes() []rest.Route { return g.endpoints.Routes() }

// Services returns what runs in the background.
func (g *Group) Services() []lifecycle.Named {
	return []lifecycle.Named{{Name: "notifications", Service: g.delivery}}
}

// Records returns the kinds of records that are deleted in the background.
func (g *Group) Records() []retention.Kind {
	kinds := []retention.Kind{{Name: "old notification messages", Delete: g.Inbox.PurgeMessages}}
	return append(kinds, retention.Keep("old notifications", g.c.InboxRetention, func(ctx context.Context, keep time.Duration) (int64, error) {
		return g.Inbox.PurgeInbox(ctx, keep)
	})...)
}
