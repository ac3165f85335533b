package webpush

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	maxEndpoint      = 2000 // bytes of the URL of a subscription
	maxSubscriptions = 20   // browsers of a user
)

// object is the access object of a user's subscriptions.
func object(user uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceWebpushSubscription, OwnerID: user}
}

// Subscribe stores the subscription of a browser for a user. The same browser of
// another user changes its user. Of more than 20 browsers the oldest is forgotten.
func (s *Service) Subscribe(ctx context.Context, actor access.Subject, user uuid.UUID, req codersdk.WebpushSubscription) error {
	if err := actor.Check(codersdk.RBACActionCreate, object(user)); err != nil {
		return err
	}
	if user != actor.UserID {
		return codersdk.Errorf(codersdk.CodeForbidden, "Only the user who is signed in to a browser can subscribe it")
	}
	if !s.Enabled() {
		return codersdk.Errorf(codersdk.CodePrecondition, "Web push is disabled on this deployment")
	}
	if err := s.check(req.Endpoint); err != nil {
		return err
	}
	if key, err := decode(req.P256dhKey); err != nil || !isPoint(key) {
		return codersdk.Invalid("p256dh_key", "must be the public key of a browser, base64url")
	}
	if secret, err := decode(req.AuthKey); err != nil || len(secret) != 16 {
		return codersdk.Invalid("auth_key", "must be the 16 bytes of the secret of a browser, base64url")
	}
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.WebpushPut(ctx, sqlc.WebpushPutParams{
			ID: uuid.New(), UserID: user, Endpoint: req.Endpoint, P256dhKey: req.P256dhKey, AuthKey: req.AuthKey,
		}); err != nil {
			return err
		}
		if err := q.WebpushForget(ctx, req.Endpoint); err != nil {
			return err
		}
		return q.WebpushTrim(ctx, user, maxSubscriptions)
	})
}

// decode reads base64url, padded or not.
func decode(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
}

// isPoint reports whether b is an uncompressed point of P-256.
func isPoint(b []byte) bool {
	_, err := ecdh.P256().NewPublicKey(b)
	return err == nil
}

// check refuses endpoints that are not at a push service.
func (s *Service) check(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || len(endpoint) > maxEndpoint || u.User != nil || u.Host == "" {
		return codersdk.Invalid("endpoint", "must be a URL of at most %d bytes", maxEndpoint)
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	listed := slices.ContainsFunc(s.c.Hosts, func(h string) bool {
		domain, below := strings.CutPrefix(strings.ToLower(h), "*.")
		return host == domain && !below || below && strings.HasSuffix(host, "."+domain)
	})
	if !listed {
		return codersdk.Invalid("endpoint", "%.100q is not a push service of this deployment; ask an administrator to add it to --notifications-push-services", host)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return codersdk.Invalid("endpoint", "must be an https URL")
	}
	return nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Unsubscribe deletes the subscription of a browser, if there is one.
func (s *Service) Unsubscribe(ctx context.Context, actor access.Subject, user uuid.UUID, req codersdk.DeleteWebpushSubscription) error {
	if err := actor.Check(codersdk.RBACActionDelete, object(user)); err != nil {
		return err
	}
	return s.c.Store.WebpushDelete(ctx, user, req.Endpoint)
}

// Test sends a test notification to the browsers of a user.
func (s *Service) Test(ctx context.Context, actor access.Subject, user uuid.UUID) error {
	if err := actor.Check(codersdk.RBACActionCreate, object(user)); err != nil {
		return err
	}
	rows, err := s.c.Store.WebpushOfUser(ctx, user)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return codersdk.Errorf(codersdk.CodePrecondition, "No browser of this user is subscribed. Turn on notifications in this browser first.")
	}
	return s.c.Enqueue(ctx, user)
}
