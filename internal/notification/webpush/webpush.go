// Package webpush sends notifications to browsers, also while no page of the
// dashboard is open.
//
// A browser subscribes at the push service of its vendor, and the dashboard stores
// the subscription. A notification is encrypted for the browser (RFC 8291), so the
// push service cannot read it, and signed with the key of the deployment (RFC 8292),
// the only one that the push service accepts for this subscription. The key is
// created once; see Key. The server connects to the listed push services only, as
// subscriptions come from users.
package webpush

import (
	"context"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	push "github.com/SherClockHolmes/webpush-go"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	// Secret is the secret of the deployment from which Key derives the key.
	Secret []byte
	// Hosts are the push services: host names, and *.name for all names below one.
	// Subscriptions at other hosts are refused. Empty: web push is off.
	Hosts []string
	// Contact is a URL or an email address at which operators of push services find
	// those of this server.
	Contact   string
	Transport http.RoundTripper // nil: http.DefaultTransport
	// Enqueue sends a test notification to a user's browsers.
	Enqueue func(ctx context.Context, user uuid.UUID) error
}

// Service sends to browsers. It is safe for concurrent use.
type Service struct {
	c               Config
	private, public string // base64url
	client          *http.Client
}

// New returns a Service.
func New(c Config) (*Service, error) {
	for _, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, "/@ ") || strings.Contains(strings.TrimPrefix(h, "*."), "*") {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "%q is not a host name, or *. and a domain", h)
		}
	}
	key := Key(c.Secret)
	return &Service{
		c: c, private: base64.RawURLEncoding.EncodeToString(key.Bytes()), public: base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()),
		client: &http.Client{
			Transport:     c.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Key returns the P-256 key of a secret, the same for the same secret.
func Key(secret []byte) *ecdh.PrivateKey {
	for i := 0; ; i++ { // a hash is above the order of the curve once in 2^32 times
		sum := sha256.Sum256(fmt.Appendf(nil, "webpush %d %x", i, secret))
		if key, err := ecdh.P256().NewPrivateKey(sum[:]); err == nil {
			return key
		}
	}
}

// Enabled reports whether browsers can subscribe.
func (s *Service) Enabled() bool { return len(s.c.Hosts) > 0 }

// PublicKey returns the key that browsers subscribe with, base64url; "" while web
// push is off.
func (s *Service) PublicKey() string {
	if !s.Enabled() {
		return ""
	}
	return s.public
}

// Payload is a notification as the service worker of the dashboard reads it.
type Payload struct {
	ID    uuid.UUID `json:"id"`
	Title string    `json:"title"`
	Body  string    `json:"body"` // plain text
	// Actions are links; a click on the notification opens the first.
	Actions []codersdk.InboxNotificationAction `json:"actions"`
}

// maxBody bounds the body, in bytes: a push has room for 3993 bytes, and JSON can
// double those of a text.
const maxBody = 1000

// lifetime is how long a push service keeps a notification for a browser that is
// not running, in seconds.
const lifetime = 24 * 60 * 60

// Push sends to a subscription once. gone reports that the subscription ended; it is
// deleted then, with its pending messages. retry reports whether another attempt can
// succeed.
func (s *Service) Push(ctx context.Context, subscription uuid.UUID, p Payload) (gone, retry bool, err error) {
	row, err := s.c.Store.WebpushByID(ctx, subscription)
	if err != nil {
		return codersdk.Is(err, codersdk.CodeNotFound), true, err
	}
	if err := s.check(row.Endpoint); err != nil { // the list may be shorter than it was
		return false, false, err
	}
	body, err := p.encode()
	if err != nil {
		return false, false, err
	}
	resp, err := push.SendNotificationWithContext(ctx, body, &push.Subscription{
		Endpoint: row.Endpoint, Keys: push.Keys{P256dh: row.P256dhKey, Auth: row.AuthKey},
	}, &push.Options{
		HTTPClient: s.client, Subscriber: strings.TrimPrefix(s.c.Contact, "mailto:"), VAPIDPublicKey: s.public, VAPIDPrivateKey: s.private,
		TTL: lifetime, Urgency: push.UrgencyNormal,
		Topic: base64.RawURLEncoding.EncodeToString(p.ID[:]), // a repetition replaces the first
	})
	if err != nil {
		return false, true, fmt.Errorf("push service: %w", err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // a part is enough for the log
	switch status := resp.StatusCode; {
	case status/100 == 2:
		return false, false, nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return true, false, s.c.Store.WebpushDeleteByID(ctx, subscription)
	default:
		retry = status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
		return false, retry, fmt.Errorf("push service: it responded %s: %.200q", resp.Status, answer)
	}
}

// encode returns the payload as JSON that a push has room for.
func (p Payload) encode() ([]byte, error) {
	for limit := maxBody; ; limit /= 2 {
		p.Title, p.Body = shorten(p.Title, limit), shorten(p.Body, limit)
		b, err := json.Marshal(p)
		if err != nil || len(b) <= int(push.MaxRecordSize)-110 || limit == 0 {
			return b, err
		}
		if limit < maxBody { // long links
			p.Actions = p.Actions[:min(len(p.Actions), 1)]
		}
	}
}

// shorten bounds a text, in bytes.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
