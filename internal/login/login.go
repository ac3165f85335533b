// Package login lets people in for whom somebody else vouches: an OpenID
// Connect provider, or GitHub. A login begins with a state, a nonce and a PKCE
// secret that only the browser's own cookie brings back, sealed so that nobody
// else can read or make one; it ends when the provider has traded the code for
// tokens, and these are of the right issuer, for us, and for this very login.
// Who that is then, package identity says; how what the provider says of a
// person becomes organizations, groups and roles, is arranged here, at every
// login, in its transaction.
//
// A session that was begun with a provider that gives refresh tokens lives as
// long as the provider agrees: when an access token runs out, the next use of
// the session asks for another, and a refusal ends all sessions of the person
// that were begun there.
package login

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/vault"
)

// Config is what a Service works with.
type Config struct {
	Store    *postgres.Store
	Identity *identity.Service
	Log      *slog.Logger     // nil: nothing is logged
	Now      func() time.Time // nil: time.Now
	// AccessURL is where browsers reach the server, and are sent back to.
	AccessURL *url.URL
	// Secret seals what browsers keep during a login; all servers of the
	// deployment have the same. 32 bytes.
	Secret []byte
	// Vault encrypts what providers give; nil: it is kept as it is.
	Vault  *vault.Vault
	OIDC   OIDC   // without an issuer: off
	GitHub GitHub // without a client id: off
	// Transport is how providers are reached; nil: http.DefaultTransport.
	Transport http.RoundTripper
}

// Service is the use cases of logging in by others. It is safe for concurrent use.
type Service struct {
	c      Config
	seal   *sealer
	oidc   *oidcProvider   // nil: off
	github *githubProvider // nil: off
}

// provider is a party that vouches for people.
type provider interface {
	// begin gives where to send the browser.
	begin(ctx context.Context, st state) (string, error)
	// person trades the code of a login for who that is.
	person(ctx context.Context, st state, code string) (identity.External, error)
	// refresh gets another access token.
	refresh(ctx context.Context, refreshToken string) (*oauth2.Token, error)
}

// New makes the service, and refuses settings that contradict each other. It
// starts nothing, and asks no provider yet.
func New(c Config) (*Service, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	s := &Service{c: c}
	var err error
	if s.seal, err = newSealer(c.Secret); err != nil {
		return nil, err
	}
	client := &http.Client{Transport: bounded{c.Transport}, Timeout: askAtMost}
	if c.OIDC.IssuerURL != "" || c.OIDC.ClientID != "" {
		if s.oidc, err = newOIDC(c, client); err != nil {
			return nil, err
		}
		s.oidc.sync = s.sync
	}
	if c.GitHub.ClientID != "" {
		if s.github, err = newGitHub(c.GitHub, c.AccessURL, client); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// now is the clock at the precision that the database keeps.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// Methods tells which ways there are. (AU-12, AU-13)
func (s *Service) Methods() (coder.OIDCAuthMethod, coder.GithubAuthMethod) {
	var o coder.OIDCAuthMethod
	if s.oidc != nil {
		o = coder.OIDCAuthMethod{Enabled: true, SignInText: s.c.OIDC.SignInText}
		if s.c.OIDC.Icon != nil {
			o.IconUrl = s.c.OIDC.Icon.String()
		}
	}
	return o, coder.GithubAuthMethod{Enabled: s.github != nil}
}

// way gives a provider that is on.
func (s *Service) way(by coder.LoginType) (provider, error) {
	switch {
	case by == coder.LoginTypeOIDC && s.oidc != nil:
		return s.oidc, nil
	case by == coder.LoginTypeGitHub && s.github != nil:
		return s.github, nil
	}
	return nil, coder.Errorf(coder.CodeNotFound, "Logging in by %s is not set up on this deployment", by)
}

// Begin begins a login that shall end at the path redirect, on this server;
// anything else is taken for "/". With the state that a conversion gave, it
// ends that. It gives where to send the browser, and the value of the cookie
// that it must bring back within StateLifetime.
func (s *Service) Begin(ctx context.Context, by coder.LoginType, redirect, conversion string) (location, cookie string, err error) {
	p, err := s.way(by)
	if err != nil {
		return "", "", err
	}
	st := newState(by, safeRedirect(redirect, s.c.AccessURL), conversion, s.now())
	if cookie, err = s.seal.seal(st); err != nil {
		return "", "", err
	}
	location, err = p.begin(ctx, st)
	return location, cookie, err
}

// Answer is what a provider had the browser bring back.
type Answer struct {
	State, Code, Issuer string
	Error, Description  string // why the provider refused
}

// End ends a login with the provider's answer and the cookie of its beginning:
// it gives the token of a session and the path to go to. Session is who the
// browser is logged in as already, for conversions.
func (s *Service) End(ctx context.Context, o access.Origin, session access.Subject, by coder.LoginType, cookie string, a Answer) (token, redirect string, err error) {
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
		return "", "", coder.Errorf(coder.CodeForbidden, "The identity provider refused: %.200s", either(a.Description, a.Error))
	case a.Code == "":
		return "", "", coder.Errorf(coder.CodeInvalid, "The identity provider sent no code; begin to log in again")
	case a.Issuer != "" && s.oidc != nil && by == coder.LoginTypeOIDC && !s.c.OIDC.SkipIssuerChecks && a.Issuer != s.c.OIDC.IssuerURL:
		return "", "", coder.Errorf(coder.CodeForbidden, "The answer came from another identity provider than was asked")
	}
	person, err := p.person(ctx, st, a.Code)
	if err != nil {
		return "", "", err
	}
	set, err := organizationSettings(ctx, s.c.Store.Queries)
	if err != nil {
		return "", "", err
	}
	person.NoOrganization = by == coder.LoginTypeOIDC && (set.Field != "" || !set.AssignDefault)
	person.Conversion, person.Session = st.Conversion, session
	if token, err = s.c.Identity.LoginExternal(ctx, o, person); err != nil {
		return "", "", err
	}
	return token, st.Redirect, nil
}

// Device begins a login by a code that the person types in at GitHub. What
// comes as its device code is the code to end the login with.
func (s *Service) Device(ctx context.Context) (coder.ExternalAuthDevice, error) {
	if s.github == nil || !s.c.GitHub.DeviceFlow {
		return coder.ExternalAuthDevice{}, coder.Errorf(coder.CodeNotFound, "Logging in to GitHub by a code is not set up on this deployment")
	}
	return s.github.device(ctx)
}

// DeviceFlow says whether logging in to GitHub goes by a code.
func (s *Service) DeviceFlow() bool { return s.github != nil && s.c.GitHub.DeviceFlow }

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
