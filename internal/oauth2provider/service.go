// Package oauth2provider lets applications act for users: the server is an OAuth2 authorization server. (AU-22)
//
// An application is created by an administrator, or registers itself (RFC 7591) where the deployment allows it. A
// user grants consent on a page of this server (Authorize, Approve). The application exchanges the code that the
// browser brings back for an access token and a refresh token (Exchange), and later the refresh token for the next
// pair (Refresh). An access token is a key of the user that is limited to the scopes of the consent, so that
// everything that checks tokens also checks these.
//
// All codes, tokens and secrets are stored as hashes. They hang on the consent: to delete a consent, an application or
// a secret deletes the tokens in the same statement. A code and a refresh token are valid once. A second use proves
// that another party has them, and ends the consent.
package oauth2provider

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider/redirecturi"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Lifetimes.
const (
	CodeLifetime    = 10 * time.Minute // of an authorization code
	ConsentLifetime = 10 * time.Minute // of a consent page that the user has not answered
	// AccessLifetime is the maximum lifetime of an access token. Clients refresh it up to ten minutes before its
	// end.
	AccessLifetime = time.Hour
	// DefaultRefreshLifetime is the default of Config.RefreshLifetime.
	DefaultRefreshLifetime = 30 * 24 * time.Hour
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger     // nil: no log
	Now   func() time.Time // nil: time.Now
	// AccessURL is the URL at which browsers and applications reach the server. It is the issuer.
	AccessURL *url.URL
	// Secret seals the consent pages: 32 bytes, the same on all servers.
	Secret []byte
	// RefreshLifetime is the lifetime of a refresh token; 0: DefaultRefreshLifetime.
	RefreshLifetime time.Duration
	// MaxTokenLifetime and MaxAdminTokenLifetime limit access tokens, as they limit all tokens of users and of
	// owners; 0: no limit.
	MaxTokenLifetime, MaxAdminTokenLifetime time.Duration
	// Resources are the parts of the API to which tokens can be limited (RFC 8707): the path, and the scopes that the
	// part uses.
	Resources map[string][]codersdk.APIKeyScope
}

// Service is the OAuth2 provider. It is safe for concurrent use.
type Service struct {
	c    Config
	seal *oauthclient.Sealer
}

// New returns a Service. It starts nothing.
func New(c Config) (*Service, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.RefreshLifetime <= 0 {
		c.RefreshLifetime = DefaultRefreshLifetime
	}
	seal, err := oauthclient.NewSealer(c.Secret, "consent pages of the OAuth2 provider")
	if err != nil {
		return nil, err
	}
	return &Service{c: c, seal: seal}, nil
}

// now returns the time at the precision of the database.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// address returns the URL of a path of this server.
func (s *Service) address(path ...string) string { return s.c.AccessURL.JoinPath(path...).String() }

// Issuer returns the identifier of this server in OAuth2: its URL without a slash at the end.
func (s *Service) Issuer() string { return redirecturi.TrimSlash(s.c.AccessURL.String()) }

func hash(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// changedRights makes connections of the users check their tokens at once.
func (s *Service) changedRights(users ...uuid.UUID) {
	if s.c.Hub == nil {
		return
	}
	for _, id := range users {
		s.c.Hub.Publish(notify.Rights(id))
	}
}

// consents returns the access object of a user's consents.
func consents(user uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceOauth2AppCodeToken, OwnerID: user}
}

// Purge deletes what has expired: consents a day after their last token, records of spent refresh tokens, and
// applications that registered themselves and were not used within a week.
func (s *Service) Purge(ctx context.Context) (int64, error) {
	const day = 24 * time.Hour
	now, deleted := s.now(), int64(0)
	for _, purge := range []struct {
		query  func(context.Context, time.Time) (int64, error)
		before time.Time
	}{
		{s.c.Store.OAuth2PurgeGrants, now.Add(-day)},
		{s.c.Store.OAuth2PurgeSpent, now.Add(-s.c.RefreshLifetime)},
		{s.c.Store.OAuth2PurgeUnused, now.Add(-7 * day)},
	} {
		n, err := postgres.InBatches(ctx, func() (int64, error) { return purge.query(ctx, purge.before) })
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// lifetime returns the lifetime of an access token of a user.
func (s *Service) lifetime(u sqlc.UserSubject) time.Duration {
	out := AccessLifetime
	if most := s.c.MaxTokenLifetime; most > 0 {
		out = min(out, most)
	}
	subject := access.Subject{UserID: u.ID, SiteRoles: u.SiteRoles}
	if most := s.c.MaxAdminTokenLifetime; most > 0 && subject.IsOwner() {
		out = min(out, most)
	}
	return out
}
