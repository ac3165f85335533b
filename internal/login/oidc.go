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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// OIDC is how people log in by an OpenID Connect provider: what the options
// --oidc-* say. (AU-12)
type OIDC struct {
	IssuerURL, ClientID, ClientSecret string
	// ClientKeyFile and ClientCertFile are of a key with which the server shows
	// who it is instead of with a secret (private_key_jwt, RSA).
	ClientKeyFile, ClientCertFile string
	Scopes                        []string          // openid, profile, email
	AuthURLParams                 map[string]string // added to the URL that browsers are sent to
	AllowSignups                  bool
	SignupsDisabledText           string
	EmailDomains                  []string // nil: any
	IgnoreEmailVerified           bool
	IgnoreUserInfo                bool
	SkipIssuerChecks              bool
	SignInText                    string
	Icon                          *url.URL // nil: none

	// UsernameField, NameField and EmailField are the claims with the names and
	// the address: preferred_username, name, email.
	UsernameField, NameField, EmailField string

	// Groups of the default organization, unless it has settings of its own.
	GroupField      string
	GroupMapping    map[string]string // names there to names here
	GroupRegex      string
	GroupAutoCreate bool
	AllowedGroups   []string // who is in none of them is not let in; nil: everybody is

	// Roles of the site. Without a field, roles are given here only.
	UserRoleField   string
	UserRoleMapping map[string][]string
	UserRoleDefault []string
}

// Where providers send browsers back to.
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
		return nil, coder.Errorf(coder.CodeInvalid, "--oidc-client-id needs --oidc-issuer-url: the URL of the identity provider")
	case o.ClientID == "":
		return nil, coder.Errorf(coder.CodeInvalid, "--oidc-issuer-url needs --oidc-client-id: what the identity provider calls this deployment")
	case (o.ClientKeyFile == "") != (o.ClientCertFile == ""):
		return nil, coder.Errorf(coder.CodeInvalid, "--oidc-client-key-file and --oidc-client-cert-file come together")
	case o.ClientSecret == "" && o.ClientKeyFile == "":
		return nil, coder.Errorf(coder.CodeInvalid, "OpenID Connect needs --oidc-client-secret, or --oidc-client-key-file with its certificate")
	}
	if u, err := url.Parse(o.IssuerURL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, coder.Errorf(coder.CodeInvalid, "--oidc-issuer-url must be like https://id.example.com, got %q", o.IssuerURL)
	}
	if _, err := regexp.Compile(o.GroupRegex); err != nil {
		return nil, coder.Errorf(coder.CodeInvalid, "--oidc-group-regex-filter: %s", err)
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
		return nil, coder.Errorf(coder.CodeInvalid, "--oidc-scopes must have openid among them")
	}
	p := &oidcProvider{c: o, client: client, now: c.Now, returnURL: c.AccessURL.JoinPath(oidcCallback).String()}
	if o.ClientKeyFile == "" {
		return p, nil
	}
	var err error
	p.key, err = readClientKey(o.ClientKeyFile, o.ClientCertFile)
	return p, err
}

// discovered asks the provider what it can, the first time.
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
			return nil, nil, coder.Errorf(coder.CodeUnavailable, "The identity provider at %s calls itself something else; --oidc-issuer-url must be the very issuer", p.c.IssuerURL).WithCause(err)
		}
		return nil, nil, coder.Errorf(coder.CodeUnavailable, "The identity provider at %s cannot be reached, or is none; try again later", p.c.IssuerURL).WithCause(err)
	}
	p.found = found
	p.verifier = found.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), p.client), &oidc.Config{ClientID: p.c.ClientID, SkipIssuerCheck: p.c.SkipIssuerChecks, Now: p.now})
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
	ctx = oidc.ClientContext(ctx, p.client)
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
		By: coder.LoginTypeOIDC, Issuer: issuer, Subject: c.text("sub"), Username: c.text(p.c.UsernameField), Name: c.text(p.c.NameField),
		SignUp: p.c.AllowSignups, SignUpRefused: p.c.SignupsDisabledText, AvatarURL: picture(c),
		AccessToken: token.AccessToken, RefreshToken: token.RefreshToken, TokenExpires: token.Expiry, Claims: c.kept(),
	}
	if e.Email, err = p.email(c); err != nil {
		return none, err
	}
	e.Username = either(e.Username, e.Email)
	if len(p.c.AllowedGroups) > 0 && !slices.ContainsFunc(c.list(either(p.c.GroupField, "groups")), func(g string) bool { return slices.Contains(p.c.AllowedGroups, g) }) {
		return none, coder.Errorf(coder.CodeForbidden, "You are in none of the groups that may use this deployment; ask an administrator")
	}
	e.Sync = func(ctx context.Context, q *sqlc.Queries, u sqlc.User) error { return p.sync(ctx, q, u, c) }
	return e, nil
}

// claims gives what the tokens say of the person, once they are sure to be of
// this provider, for us, and for this login.
func (p *oidcProvider) claims(ctx context.Context, found *oidc.Provider, verifier *oidc.IDTokenVerifier, st state, token *oauth2.Token) (claims, string, error) {
	distrusted := func(why error, what string) error {
		return coder.Errorf(coder.CodeForbidden, "What the identity provider sent cannot be trusted: %s", what).WithCause(why)
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
		return nil, "", distrusted(nil, "the ID token belongs to another login")
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
		return nil, "", distrusted(nil, "the ID token was made for another party")
	}
	if id.Subject == "" {
		return nil, "", distrusted(nil, "the ID token names nobody")
	}
	if p.c.IgnoreUserInfo || found.UserInfoEndpoint() == "" {
		return c, id.Issuer, nil
	}
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, "", coder.Errorf(coder.CodeUnavailable, "The identity provider does not tell who you are; try again").WithCause(err)
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return nil, "", distrusted(err, "the user info cannot be read")
	}
	if info.Subject != id.Subject {
		return nil, "", distrusted(nil, "the user info is of another person")
	}
	return c.merged(more), id.Issuer, nil
}

// email gives the address, if it may be believed and let in.
func (p *oidcProvider) email(c claims) (string, error) {
	email := c.text(p.c.EmailField)
	if email == "" && strings.Contains(c.text(p.c.UsernameField), "@") {
		email = c.text(p.c.UsernameField)
	}
	if email == "" {
		return "", coder.Errorf(coder.CodeForbidden, "The identity provider says no e-mail address of you: there is no claim %q", p.c.EmailField)
	}
	// Some providers never say whether an address is verified: what is absent is
	// no refusal, as people know it from before.
	if _, told := c["email_verified"]; told && !p.c.IgnoreEmailVerified && !c.truth("email_verified") {
		return "", coder.Errorf(coder.CodeForbidden, "The identity provider has not verified your address %.80q; verify it there and log in again", email).
			WithDetail("An administrator can believe unverified addresses with --oidc-ignore-email-verified.")
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
	return "", coder.Errorf(coder.CodeForbidden, "Your address %.80q is not of a domain that may use this deployment: %s", email, strings.Join(p.c.EmailDomains, ", "))
}

// picture is the claim of that name, where it is a picture on the web.
func picture(c claims) string {
	u := c.text("picture")
	if len(u) > 2000 || !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
		return ""
	}
	return u
}

// refresh gets another access token.
func (p *oidcProvider) refresh(ctx context.Context, refreshToken string) (*oauth2.Token, error) {
	found, _, err := p.discovered(ctx)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
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

// refusedCode says why a provider did not trade a code for tokens.
func refusedCode(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if e.ErrorCode == "invalid_grant" {
			return coder.Errorf(coder.CodeForbidden, "The identity provider does not know this login any more; begin to log in again").WithCause(err)
		}
		return coder.Errorf(coder.CodeUnavailable, "The identity provider refused this deployment (%.100s); an administrator finds more in the server's log", either(e.ErrorCode, "no reason given")).WithCause(err)
	}
	return coder.Errorf(coder.CodeUnavailable, "The identity provider cannot be reached; try again later").WithCause(err)
}
