// Package externalauth links users to accounts at external providers, mostly git hosts, and passes
// the tokens to their workspaces. A link starts on the provider's page, with a state and a PKCE verifier that only
// the user's browser has, or with a device code. The tokens are stored sealed.
//
// A token that a caller gets has been refreshed if it was about to expire, and validated a short time ago.
// Of any number of replicas exactly one refreshes: it claims the generation of the tokens in the database,
// for a limited time, and its result is dropped if another link replaced the tokens meanwhile. Only an
// answer that says so makes a link invalid. A provider that is down, slow, or responds with something else
// does not: the stored token stays in use until it expires. (AU-21)
package externalauth

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger     // nil: no log
	Now   func() time.Time // nil: time.Now
	// AccessURL is the URL at which browsers reach the server and return to it.
	AccessURL *url.URL
	// Secret seals the cookies of links in progress: 32 bytes, the same on all servers.
	Secret []byte
	// Vault encrypts the tokens; nil stores them in clear.
	Vault *dbcrypt.Vault
	// Providers are the providers, as Check accepts them.
	Providers []Provider
	// Transport sends requests to providers; nil: http.DefaultTransport.
	Transport http.RoundTripper
	// Metrics counts requests to providers; nil counts nothing.
	Metrics *oauthclient.Metrics
	// Poll is the interval at which waiting callers read the database if no notification arrives; 0: 5 s.
	Poll time.Duration
}

// Service implements external authentication. It is safe for concurrent use.
type Service struct {
	c         Config
	seal      *oauthclient.Sealer
	providers []*provider
}

// New returns a Service, or an error if a provider is not valid. It starts nothing and sends no request.
func New(c Config) (*Service, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Metrics == nil {
		c.Metrics = oauthclient.NewMetrics(nil)
	}
	if c.Poll <= 0 {
		c.Poll = 5 * time.Second
	}
	seal, err := oauthclient.NewSealer(c.Secret, "states of external authentication")
	if err != nil {
		return nil, err
	}
	checked, err := Check(c.Providers)
	if err != nil {
		return nil, err
	}
	s := &Service{c: c, seal: seal}
	for _, p := range checked {
		callback := c.AccessURL.JoinPath("external-auth", p.ID, "callback").String()
		s.providers = append(s.providers, newProvider(p, callback, c.Metrics.Client(p.ID, c.Transport)))
	}
	return s, nil
}

// now returns the time at the precision of the database.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// provider returns the provider of an ID.
func (s *Service) provider(id string) (*provider, error) {
	if i := slices.IndexFunc(s.providers, func(p *provider) bool { return p.ID == id }); i >= 0 {
		return s.providers[i], nil
	}
	return nil, codersdk.Errorf(codersdk.CodeNotFound, "External authentication provider %q is not configured on this deployment", clipID(id))
}

// clipID bounds an ID from a request.
func clipID(id string) string { return id[:min(len(id), 64)] }

// page returns the address of the page on which users link a provider.
func (s *Service) page(id string) string { return s.c.AccessURL.JoinPath("external-auth", id).String() }

// user checks that the actor can do an action on the own account.
func user(actor access.Subject, action codersdk.RBACAction) error {
	return actor.Check(action, access.Object{Type: codersdk.RBACResourceUser, ID: actor.UserID, OwnerID: actor.UserID})
}

// Requirement describes a provider to users of a template that declares it: its name, icon, type and page.
// configured is false if the deployment does not have the provider.
func (s *Service) Requirement(id string) (out codersdk.TemplateVersionExternalAuth, configured bool) {
	out = codersdk.TemplateVersionExternalAuth{ID: id, DisplayName: id, AuthenticateURL: s.page(id)}
	p, err := s.provider(id)
	if err != nil {
		return out, false
	}
	out.DisplayName, out.DisplayIcon, out.Type = p.DisplayName, p.DisplayIcon, p.Type
	return out, true
}

// Configured returns the configuration of the providers, without secrets.
func (s *Service) Configured() []codersdk.ExternalAuthConfig {
	out := make([]codersdk.ExternalAuthConfig, 0, len(s.providers))
	for _, p := range s.providers {
		out = append(out, p.ExternalAuthConfig)
	}
	return out
}

// changed notifies callers that wait for a user's link.
func (s *Service) changed(userID uuid.UUID) {
	if s.c.Hub != nil {
		s.c.Hub.Publish(notify.ExternalAuth(userID))
	}
}

// await waits until a link of the user may have changed, or an interval has passed.
func (s *Service) await(ctx context.Context, hint <-chan struct{}, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-hint:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Changes returns a channel that is signaled when a link of the user changes, and its release.
func (s *Service) Changes(userID uuid.UUID) (hint <-chan struct{}, end func()) {
	if s.c.Hub == nil {
		return nil, func() {}
	}
	return s.c.Hub.Subscribe(notify.ExternalAuth(userID))
}
