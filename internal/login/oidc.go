package login

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// OIDC configures sign-in with an OpenID Connect provider: the options --oidc-*. (AU-12)
type OIDC struct {
	IssuerURL, ClientID, ClientSecret string
	// ClientKeyFile and ClientCertFile contain a key that authenticates the server instead
	// of a secret (private_key_jwt, RSA).
	ClientKeyFile, ClientCertFile string
	// RedirectURL is the URL to which the provider redirects browsers; nil: a path of the
	// access URL.
	RedirectURL         *url.URL
	Scopes              []string          // openid, profile, email
	AuthURLParams       map[string]string // added to the authorization URL
	AllowSignups        bool
	SignupsDisabledText string
	EmailDomains        []string // nil for any
	IgnoreEmailVerified bool
	IgnoreUserInfo      bool
	SkipIssuerChecks    bool
	SignInText          string
	Icon                *url.URL // nil for none

	// UsernameField, NameField and EmailField are the names of claims; the defaults are
	// preferred_username, name and email.
	UsernameField, NameField, EmailField string

	// Groups of the default organization, unless it has sync settings.
	GroupField      string
	GroupMapping    map[string]string // claim value to group name
	GroupRegex      string
	GroupAutoCreate bool
	AllowedGroups   []string // members of other groups only are rejected; nil accepts all

	// Site roles. Without a field, roles are assigned only in this deployment.
	UserRoleField   string
	UserRoleMapping map[string][]string
	UserRoleDefault []string
}

// Redirect paths.
const (
	oidcCallback   = "/api/v2/users/oidc/callback"
	githubCallback = "/api/v2/users/oauth2/github/callback"
)

type oidcProvider struct {
	c         OIDC
	client    *http.Client
	now       func() time.Time
	returnURL string
	key       *clientKey // nil: a secret is used
	sync      func(ctx context.Context, q *sqlc.Queries, u sqlc.User, c claims) error

	mu       sync.Mutex
	found    *oidc.Provider
	verifier *oidc.IDTokenVerifier
}

func newOIDC(c Config, client *http.Client) (*oidcProvider, error) {
	o := c.OIDC
	switch {
	case o.IssuerURL == "":
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-client-id needs --oidc-issuer-url: the URL of the identity provider")
	case o.ClientID == "":
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-issuer-url needs --oidc-client-id: the ID of this deployment at the identity provider")
	case (o.ClientKeyFile == "") != (o.ClientCertFile == ""):
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-client-key-file and --oidc-client-cert-file must be set together")
	case o.ClientSecret == "" && o.ClientKeyFile == "":
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "OpenID Connect needs --oidc-client-secret, or --oidc-client-key-file with its certificate")
	}
	if u, err := url.Parse(o.IssuerURL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-issuer-url must be like https://id.example.com, got %q", o.IssuerURL)
	}
	if _, err := regexp.Compile(o.GroupRegex); err != nil {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-group-regex-filter: %s", err)
	}
	for _, f := range []struct {
		value *string
		usual string
	}{{&o.UsernameField, "preferred_username"}, {&o.NameField, "name"}, {&o.EmailField, "email"}} {
		*f.value = either(*f.value, f.usual)
	}
	if len(o.Scopes) == 0 {
		o.Scopes = []string{oidc.ScopeOpenID, "profile", "email"}
	}
	if !slices.Contains(o.Scopes, oidc.ScopeOpenID) {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-scopes must include openid")
	}
	p := &oidcProvider{c: o, client: client, now: c.Now, returnURL: c.AccessURL.JoinPath(oidcCallback).String()}
	if o.RedirectURL != nil {
		if o.RedirectURL.Scheme != "https" && o.RedirectURL.Scheme != "http" || o.RedirectURL.Host == "" {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "--oidc-redirect-url must be like https://coder.example.com%s, got %q", oidcCallback, o.RedirectURL)
		}
		p.returnURL = o.RedirectURL.String()
	}
	if o.ClientKeyFile == "" {
		return p, nil
	}
	var err error
	p.key, err = readClientKey(o.ClientKeyFile, o.ClientCertFile)
	return p, err
}

// discovered fetches the provider's configuration on the first call.
func (p *oidcProvider) discovered(ctx context.Context) (*oidc.Provider, *oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, p.verifier, nil
	}
	ask := oidc.ClientContext(ctx, p.client)
	if p.c.SkipIssuerChecks {
		ask = oidc.InsecureIssuerURLContext(ask, p.c.IssuerURL)
	}
	found, err := oidc.NewProvider(ask, p.c.IssuerURL)
	if err != nil {
		if _, wrong := errors.AsType[*oidc.IssuerMismatchError](err); wrong {
			return nil, nil, codersdk.Errorf(codersdk.CodeUnavailable,
				"The identity provider at %s has another issuer; --oidc-issuer-url must equal it",
				p.c.IssuerURL).WithCause(err)
		}
		return nil, nil, codersdk.Errorf(codersdk.CodeUnavailable,
			"The identity provider at %s cannot be reached or is not an OpenID Connect provider; try again later",
			p.c.IssuerURL).
			WithCause(err)
	}
	p.found = found
	p.verifier = found.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), p.client),
		&oidc.Config{ClientID: p.c.ClientID, SkipIssuerCheck: p.c.SkipIssuerChecks, Now: p.now})
	return p.found, p.verifier, nil
}

func (p *oidcProvider) config(found *oidc.Provider) *oauth2.Config {
	c := &oauth2.Config{ClientID: p.c.ClientID, ClientSecret: p.c.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: p.returnURL, Scopes: p.c.Scopes}
	if p.key != nil {
		c.ClientSecret, c.Endpoint.AuthStyle = "", oauth2.AuthStyleInParams
	}
	return c
}

func (p *oidcProvider) begin(ctx context.Context, st state) (string, error) {
	found, _, err := p.discovered(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(st.Nonce), oauth2.S256ChallengeOption(st.Verifier)}
	for k, v := range p.c.AuthURLParams {
		options = append(options, oauth2.SetAuthURLParam(k, v))
	}
	return p.config(found).AuthCodeURL(st.State, options...), nil
}

func (p *oidcProvider) person(ctx context.Context, st state, code string) (identity.External, error) {
	var none identity.External
	found, verifier, err := p.discovered(ctx)
	if err != nil {
		return none, err
	}
	ctx = oauthclient.WithSource(oidc.ClientContext(ctx, p.client), oauthclient.SourceExchange)
	options := []oauth2.AuthCodeOption{oauth2.VerifierOption(st.Verifier)}
	assertion, err := p.assertion(found)
	if err != nil {
		return none, err
	}
	token, err := p.config(found).Exchange(ctx, code, append(options, assertion...)...)
	if err != nil {
		return none, refusedCode(err)
	}
	c, issuer, err := p.claims(ctx, found, verifier, st, token)
	if err != nil {
		return none, err
	}
	e := identity.External{
		By: codersdk.LoginTypeOIDC, Issuer: issuer, Subject: c.text("sub"), Username: c.text(p.c.UsernameField), Name: c.text(p.c.NameField),
		SignUp: p.c.AllowSignups, SignUpRefused: p.c.SignupsDisabledText, AvatarURL: picture(c),
		AccessToken: token.AccessToken, RefreshToken: token.RefreshToken, TokenExpires: token.Expiry, Claims: c.kept(),
	}
	if e.Email, err = p.email(c); err != nil {
		return none, err
	}
	e.Username = either(e.Username, e.Email)
	if len(p.c.AllowedGroups) > 0 &&
		!slices.ContainsFunc(c.list(either(p.c.GroupField, "groups")), func(g string) bool { return slices.Contains(p.c.AllowedGroups, g) }) {
		return none, codersdk.Errorf(codersdk.CodeForbidden, "You are not in a group that can use this deployment; ask an administrator")
	}
	e.Sync = func(ctx context.Context, q *sqlc.Queries, u sqlc.User) error { return p.sync(ctx, q, u, c) }
	return e, nil
}

// claims returns the claims of the tokens after verifying that they come from this provider, for
// this client and this sign-in.
func (p *oidcProvider) claims(
	ctx context.Context,
	found *oidc.Provider,
	verifier *oidc.IDTokenVerifier,
	st state,
	token *oauth2.Token,
) (claims, string, error) {
	distrusted := func(why error, what string) error {
		return codersdk.Errorf(codersdk.CodeForbidden, "The response of the identity provider is not valid: %s", what).WithCause(why)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, "", distrusted(nil, "there is no ID token")
	}
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, "", distrusted(err, "the ID token is not valid, or not for this deployment")
	}
	if id.Nonce != st.Nonce {
		return nil, "", distrusted(nil, "the ID token belongs to another sign-in")
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, "", distrusted(err, "the access token does not belong to the ID token")
		}
	}
	c := claims{}
	if err := id.Claims(&c); err != nil {
		return nil, "", distrusted(err, "the claims cannot be read")
	}
	if azp := c.text("azp"); len(id.Audience) > 1 && azp != "" && azp != p.c.ClientID {
		return nil, "", distrusted(nil, "the ID token was issued for another client")
	}
	if id.Subject == "" {
		return nil, "", distrusted(nil, "the ID token has no subject")
	}
	if p.c.IgnoreUserInfo || found.UserInfoEndpoint() == "" {
		return c, id.Issuer, nil
	}
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil && strings.HasPrefix(err.Error(), "oidc: failed to decode userinfo") { // the provider will return the same response again
		return nil, "", distrusted(err, "a claim of the user info, such as email, is not a string")
	}
	if err != nil {
		return nil, "", codersdk.Errorf(codersdk.CodeUnavailable, "The identity provider did not return the user info; try again").WithCause(err)
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return nil, "", distrusted(err, "the user info cannot be read")
	}
	if info.Subject != id.Subject {
		return nil, "", distrusted(nil, "the user info is about another user")
	}
	return c.merged(more), id.Issuer, nil
}

// email returns the email address if it is verified and its domain is allowed.
func (p *oidcProvider) email(c claims) (string, error) {
	email := c.text(p.c.EmailField)
	if _, isText := c[p.c.EmailField].(string); c[p.c.EmailField] != nil && !isText {
		return "", codersdk.Errorf(
			codersdk.CodeForbidden,
			"The identity provider did not return one email address for this account: the claim %q is not a string; an administrator can select another claim with --oidc-email-field",
			p.c.EmailField,
		)
	}
	if email == "" && strings.Contains(c.text(p.c.UsernameField), "@") {
		email = c.text(p.c.UsernameField)
	}
	if email == "" {
		return "", codersdk.Errorf(
			codersdk.CodeForbidden,
			"The identity provider did not return an email address for this account: the claim %q is missing",
			p.c.EmailField,
		)
	}
	// Some providers never send email_verified. A missing claim is accepted, as clients
	// expect.
	if _, told := c["email_verified"]; told && !p.c.IgnoreEmailVerified && !c.truth("email_verified") {
		return "", codersdk.Errorf(codersdk.CodeForbidden, "The identity provider has not verified your address %.80q; verify it there and sign in again", email).
			WithDetail("An administrator can accept unverified addresses with --oidc-ignore-email-verified.")
	}
	if len(p.c.EmailDomains) == 0 {
		return email, nil
	}
	domain := email[strings.LastIndexByte(email, '@')+1:]
	for _, d := range p.c.EmailDomains {
		if strings.EqualFold(strings.TrimPrefix(d, "@"), domain) {
			return email, nil
		}
	}
	return "", codersdk.Errorf(codersdk.CodeForbidden, "The domain of your address %.80q cannot use this deployment; allowed domains: %s",
		email, strings.Join(p.c.EmailDomains, ", "))
}

// picture returns the claim of that name if it is an https URL of a picture.
func picture(c claims) string {
	u := c.text("picture")
	if len(u) > 2000 || !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
		return ""
	}
	return u
}

// refresh returns a new access token.
func (p *oidcProvider) refresh(ctx context.Context, refreshToken string) (*oauth2.Token, error) {
	found, _, err := p.discovered(ctx)
	if err != nil {
		return nil, err
	}
	ctx = oauthclient.WithSource(oidc.ClientContext(ctx, p.client), oauthclient.SourceRefresh)
	if p.key == nil {
		return p.config(found).TokenSource(ctx, &oauth2.Token{RefreshToken: refreshToken}).Token()
	}
	assertion, err := p.assertion(found)
	if err != nil {
		return nil, err
	}
	return p.config(found).Exchange(ctx, "", append(assertion,
		oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", refreshToken))...)
}

// refusedCode returns the error for a code that a provider did not exchange for tokens.
func refusedCode(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if e.ErrorCode == "invalid_grant" {
			return codersdk.Errorf(codersdk.CodeForbidden, "The sign-in has expired at the identity provider. Start it again.").WithCause(err)
		}
		if r := e.Response; r != nil && (r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests) {
			return codersdk.Errorf(codersdk.CodeUnavailable, "The identity provider responded %.100s; try again later", r.Status).WithCause(err)
		}
		return codersdk.Errorf(codersdk.CodeUnavailable,
			"The identity provider rejected this deployment (%.100s); an administrator finds details in the server's log",
			either(e.ErrorCode, "no reason given")).
			WithCause(err)
	}
	return codersdk.Errorf(codersdk.CodeUnavailable, "The identity provider cannot be reached; try again later").WithCause(err)
}
