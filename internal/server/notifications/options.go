package notifications

import (
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.Under(
		"Notifications",
		option.String(&c.Method, "notifications-method", "Method beside the inbox: smtp, webhook, or inbox for none").
			Env("CODER_NOTIFICATIONS_METHOD").
			YAML("notifications.method").
			Def("smtp"),
		option.Duration(&c.Timeout, "notifications-dispatch-timeout", "Timeout of one attempt to send a notification").
			Env("CODER_NOTIFICATIONS_DISPATCH_TIMEOUT").
			YAML("notifications.dispatchTimeout").
			Def("1m0s"),
		option.URL(&c.WebhookURL, "notifications-webhook-endpoint", "URL that webhooks are posted to").
			Env("CODER_NOTIFICATIONS_WEBHOOK_ENDPOINT").
			YAML("notifications.webhook.endpoint"),
		option.String(&c.WebhookSecret, "notifications-webhook-secret", "Secret that signs webhooks").
			Env("CODER_NOTIFICATIONS_WEBHOOK_SECRET").
			Hide(),
		option.Not(&c.NoInbox, "notifications-inbox-enabled", "Put notifications into the inboxes of users").
			Env("CODER_NOTIFICATIONS_INBOX_ENABLED").
			YAML("notifications.inbox.enabled").
			Def("true"),
		option.Duration(&c.InboxRetention, "notifications-inbox-retention", "Retention of notifications in inboxes; 0 means forever").
			Env("CODER_NOTIFICATIONS_INBOX_RETENTION").
			YAML("notifications.inbox.retention").
			Def("2160h").
			Hide(),
		option.List(&c.PushServices, "notifications-push-services",
			"Hosts of push services to which browsers of users may subscribe; *. and a domain for all hosts below it. Empty disables web push").
			Env("CODER_NOTIFICATIONS_PUSH_SERVICES").
			YAML("notifications.pushServices").
			Def("fcm.googleapis.com,*.push.services.mozilla.com,*.notify.windows.com,*.push.apple.com").
			Hide(),
		option.Int(&c.MaxAttempts, "notifications-max-send-attempts", "Maximum number of attempts to send a notification").
			Env("CODER_NOTIFICATIONS_MAX_SEND_ATTEMPTS").
			YAML("notifications.maxSendAttempts").
			Def("5"),
		option.Duration(&c.Retry, "notifications-retry-interval", "Interval before the second attempt; it doubles after each further one").
			Env("CODER_NOTIFICATIONS_RETRY_INTERVAL").
			YAML("notifications.retryInterval").
			Def("5m0s").
			Hide(),
		option.Duration(&c.Fetch, "notifications-fetch-interval", "Interval between checks of the queue without a hint").
			Env("CODER_NOTIFICATIONS_FETCH_INTERVAL").
			YAML("notifications.fetchInterval").
			Def("15s").
			Hide(),
		option.Int(&c.Leases, "notifications-lease-count", "Number of notifications of one method that one server sends at a time").
			Env("CODER_NOTIFICATIONS_LEASE_COUNT").
			YAML("notifications.leaseCount").
			Def("10").
			Hide(),
		option.Duration(&c.LeasePeriod, "notifications-lease-period", "Interval after which another server sends a notification that a lost server was sending").
			Env("CODER_NOTIFICATIONS_LEASE_PERIOD").
			YAML("notifications.leasePeriod").
			Def("2m0s").
			Hide(),
	)
}
