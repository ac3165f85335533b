// Package login signs users in through an OpenID Connect provider or GitHub. A sign-in starts
// with a state, a nonce and a PKCE verifier, sealed in a cookie of the browser so that nobody
// else can read or forge them. It ends when the provider has exchanged the code for tokens,
// and these have the right issuer, audience and nonce. Package identity finds or creates the
// user. This package maps the provider's claims to organizations, groups and roles at every
// sign-in, in the same transaction.
//
// A session from a provider with refresh tokens is valid as long as the provider agrees. When
// an access token expires, the next use of the session refreshes it; a refusal ends all
// sessions of the user with that provider.
package login

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Config configures a Service.
type Config struct {
	Store    *postgres.Store
	Identity *identity.Service
	Log      *slog.Logger     // nil: no log
	Now      func() time.Time // nil: time.Now
	// AccessURL is the URL at which browsers reach the server and return to it.
	AccessURL *url.URL
	// Secret seals the cookies of sign-ins: 32 bytes, the same on all servers of the
	// deployment.
	Secret []byte
	// Vault encrypts the tokens of providers; nil stores them in clear.
	Vault  *dbcrypt.Vault
	OIDC   OIDC   // without an issuer: disabled
	GitHub GitHub // without a client ID: disabled
	// Transport sends requests to providers; nil: http.DefaultTransport.
	Transport http.RoundTripper
	// Metrics counts requests to providers; nil counts nothing.
	Metrics *oauthclient.Metrics
}

// Service implements sign-in through identity providers. It is safe for concurrent use.
type Service struct {
	c      Config
	seal   *sealer
	oidc   *oidcProvider   // nil: disabled
	github *githubProvider // nil: disabled
}

// provider is an identity provider.
type provider interface {
	// begin returns the URL to redirect the browser to.
	begin(ctx context.Context, st state) (string, error)
	// person exchanges the code of a sign-in for the account.
	person(ctx context.Context, st state, code string) (identity.External, error)
	// refresh returns a new access token.
	refresh(ctx context.Context, refreshToken string) (*oauth2.Token, error)
}

// New returns a Service, or an error if settings contradict each other. It starts nothing and
// sends no request.
func New(c Config) (*Service, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{c: c}
	var err error
	if s.seal, err = newSealer(c.Secret); err != nil {
		return nil, err
	}
	if c.Metrics == nil {
		c.Metrics = oauthclient.NewMetrics(nil)
	}
	if c.OIDC.IssuerURL != "" || c.OIDC.ClientID != "" {
		client := c.Metrics.Client("oidc", c.Transport)
		client.CheckRedirect = nil // the discovery document may have moved
		if s.oidc, err = newOIDC(c, client); err != nil {
			return nil, err
		}
		s.oidc.sync = s.sync
	}
	if c.GitHub.ClientID != "" {
		if s.github, err = newGitHub(c.GitHub, c.AccessURL, c.Metrics.Client("github", c.Transport)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// now returns the time at the precision of the database.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// Methods returns the enabled login types. (AU-12, AU-13)
func (s *Service) Methods() (codersdk.OIDCAuthMethod, codersdk.GithubAuthMethod) {
	var o codersdk.OIDCAuthMethod
	if s.oidc != nil {
		o = codersdk.OIDCAuthMethod{Enabled: true, SignInText: s.c.OIDC.SignInText}
		if s.c.OIDC.Icon != nil {
			o.IconUrl = s.c.OIDC.Icon.String()
		}
	}
	return o, codersdk.GithubAuthMethod{Enabled: s.github != nil}
}

// way returns an enabled provider.
func (s *Service) way(by codersdk.LoginType) (provider, error) {
	switch {
	case by == codersdk.LoginTypeOIDC && s.oidc != nil:
		return s.oidc, nil
	case by == codersdk.LoginTypeGitHub && s.github != nil:
		return s.github, nil
	}
	return nil, codersdk.Errorf(codersdk.CodeNotFound, "Sign-in with %s is not configured on this deployment", by)
}

// Begin starts a sign-in that ends at the path redirect of this server; other targets are
// replaced by "/". With the state of a conversion, the sign-in completes it. Begin returns the
// URL to redirect the browser to, and the value of the cookie that the browser must send back
// within StateLifetime.
func (s *Service) Begin(ctx context.Context, by codersdk.LoginType, redirect, conversion string) (location, cookie string, err error) {
	p, err := s.way(by)
	if err != nil {
		return "", "", err
	}
	st := newState(by, oauthclient.SafeRedirect(redirect, s.c.AccessURL), conversion, s.now())
	if cookie, err = s.seal.seal(st); err != nil {
		return "", "", err
	}
	location, err = p.begin(ctx, st)
	return location, cookie, err
}

// Answer holds the parameters with which a provider redirected the browser back.
type Answer struct {
	State, Code, Issuer string
	Error, Description  string // the provider's error
}

// End completes a sign-in with the provider's answer and the cookie from Begin. It returns a
// session token and the path to redirect to. Session is the current user of the browser, for
// conversions.
func (s *Service) End(
	ctx context.Context,
	o access.Origin,
	session access.Subject,
	by codersdk.LoginType,
	cookie string,
	a Answer,
) (token, redirect string, err error) {
	p, err := s.way(by)
	if err != nil {
		return "", "", err
	}
	st, err := s.seal.open(cookie, by, a.State, s.now())
	if err != nil {
		return "", "", err
	}
	switch {
	case a.Error != "":
		return "", "", codersdk.Errorf(codersdk.CodeForbidden, "The identity provider denied the sign-in: %.200s", either(a.Description, a.Error))
	case a.Code == "":
		return "", "", codersdk.Errorf(codersdk.CodeInvalid, "The identity provider sent no code. Start the sign-in again.")
	case a.Issuer != "" && s.oidc != nil && by == codersdk.LoginTypeOIDC && !s.c.OIDC.SkipIssuerChecks && a.Issuer != s.c.OIDC.IssuerURL:
		return "", "", codersdk.Errorf(codersdk.CodeForbidden, "The response came from an unexpected identity provider")
	}
	person, err := p.person(ctx, st, a.Code)
	if err != nil {
		return "", "", err
	}
	set, err := organizationSettings(ctx, s.c.Store.Queries)
	if err != nil {
		return "", "", err
	}
	person.NoOrganization = by == codersdk.LoginTypeOIDC && (set.Field != "" || !set.AssignDefault)
	person.Conversion, person.Session = st.Conversion, session
	if token, err = s.c.Identity.LoginExternal(ctx, o, person); err != nil {
		return "", "", err
	}
	return token, st.Redirect, nil
}

// Device starts a sign-in with GitHub's device flow. The returned device code is the code for
// End.
func (s *Service) Device(ctx context.Context) (codersdk.ExternalAuthDevice, error) {
	if s.github == nil || !s.c.GitHub.DeviceFlow {
		return codersdk.ExternalAuthDevice{}, codersdk.Errorf(codersdk.CodeNotFound, "The device flow of GitHub is not enabled on this deployment")
	}
	return s.github.device(ctx)
}

// DeviceFlow reports whether sign-in with GitHub uses the device flow.
func (s *Service) DeviceFlow() bool { return s.github != nil && s.c.GitHub.DeviceFlow }

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
