package oauth2provider

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider/redirecturi"
	"github.com/seed-2a7f8fe7/coder/internal/orgrule"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// verifierForm is the form of a PKCE verifier and of a challenge (RFC 7636).
var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// maxState bounds the state of a request, in bytes.
const maxState = 4096

// Authorization is a request of an application for a user's consent, after it was checked.
type Authorization struct {
	App codersdk.OAuth2ProviderApp
	// RedirectURI is where the browser goes with the answer. It is registered.
	RedirectURI   string
	redirectGiven bool
	State         string
	Scopes        []codersdk.APIKeyScope
	resource      string // a path, "" for the whole API
	challenge     string
}

// ScopeText is a scope, and what it means in words.
type ScopeText struct{ Name, About string }

// Describe returns the scopes in words.
func (a Authorization) Describe() []ScopeText {
	out := make([]ScopeText, len(a.Scopes))
	for i, sc := range a.Scopes {
		out[i] = ScopeText{string(sc), describeScope(sc)}
	}
	return out
}

// Full reports whether the application asks for all rights of the user.
func (a Authorization) Full() bool { return slices.Contains(a.Scopes, codersdk.APIKeyScopeCoderAll) }

// Resource returns the part of the API that the tokens are limited to, "" for none.
func (a Authorization) Resource() string { return a.resource }

// Authorize checks an authorization request. If the application or its redirect URI is in doubt, the error is a
// *codersdk.Error for the user. Any other problem is a *Failure, and the Authorization has the redirect URI to
// which Refuse sends it.
func (s *Service) Authorize(ctx context.Context, q url.Values) (a Authorization, err error) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(q[name]) > 1 {
			return a, codersdk.Invalid(name, "is given more than once")
		}
	}
	id, err := uuid.Parse(q.Get("client_id"))
	if err != nil {
		return a, codersdk.Invalid("client_id", "is not the client ID of an application")
	}
	app, err := s.c.Store.OAuth2App(ctx, id)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return a, codersdk.Invalid("client_id", "is not the client ID of an application")
	}
	if err != nil {
		return a, err
	}
	redirect := q.Get("redirect_uri")
	switch {
	case redirect == "" && len(app.RedirectURIs) != 1:
		return a, codersdk.Invalid("redirect_uri", "is required, because the application has several redirect URIs")
	case redirect == "":
		a.RedirectURI = app.RedirectURIs[0]
	case !redirecturi.Match(app.RedirectURIs, redirect):
		return a, codersdk.Invalid("redirect_uri", "is not a redirect URI of this application")
	default:
		a.RedirectURI, a.redirectGiven = redirect, true
	}
	if reason := redirecturi.Check(a.RedirectURI, isPublic(app)); reason != "" {
		a.RedirectURI = ""
		return a, codersdk.Invalid("redirect_uri", "the registered redirect URI %s", reason)
	}
	a.App = s.view(app)
	if state := q.Get("state"); len(state) <= maxState {
		a.State = state
	}
	return a, s.check(&a, app, q)
}

// check reads the parameters whose problems are sent to the redirect URI.
func (s *Service) check(a *Authorization, app sqlc.OAuth2App, q url.Values) error {
	var wrong problems
	for _, name := range []string{"response_type", "scope", "state", "code_challenge", "code_challenge_method"} {
		if len(q[name]) > 1 {
			wrong.add(name, "is given more than once")
		}
	}
	if len(q.Get("state")) > maxState {
		wrong.add("state", "is longer than 4096 bytes")
	}
	a.challenge = q.Get("code_challenge")
	method := q.Get("code_challenge_method")
	switch {
	case a.challenge == "" && method != "":
		wrong.add("code_challenge", "is required with code_challenge_method")
	case a.challenge == "" && isPublic(app):
		wrong.add("code_challenge", "is required for public clients")
	case a.challenge != "" && !verifierForm.MatchString(a.challenge):
		wrong.add("code_challenge", "must have 43 to 128 letters, digits and -._~")
	}
	if method != "" && method != string(codersdk.OAuth2PKCECodeChallengeMethodS256) {
		wrong.add("code_challenge_method", "must be S256")
	}
	if err := wrong.failure(InvalidRequest); err != nil {
		return err
	}
	if q.Get("response_type") != string(codersdk.OAuth2ProviderResponseTypeCode) {
		return failure(UnsupportedResponseType, "Only response_type=code is supported")
	}
	limit, err := parseScopes(app.Scope)
	if err != nil {
		return err
	}
	if a.Scopes, err = grantable(limit, q.Get("scope")); err != nil {
		return err
	}
	a.resource, err = s.resource(q["resource"])
	return err
}

// Answer returns the address to which the browser brings an answer to the application: the code, or the failure of a
// request.
func (s *Service) answer(a Authorization, values url.Values) string {
	if a.State != "" {
		values.Set("state", a.State)
	}
	values.Set("iss", s.Issuer()) // lets clients notice an answer of another server (RFC 9207)
	return redirecturi.WithQuery(a.RedirectURI, values)
}

// Refuse returns the address that reports to the application that its request failed.
func (s *Service) Refuse(a Authorization, err error) string {
	f := AsFailure(err)
	return s.answer(a, url.Values{"error": {f.Code}, "error_description": {f.Description}})
}

// Deny returns the address that reports to the application that the user refused.
func (s *Service) Deny(a Authorization) string {
	return s.Refuse(a, failure(AccessDenied, "The user denied access"))
}

// CheckSession checks that the actor can give consent: with a session of a browser, and not with a token, which could
// otherwise outlive itself.
func (s *Service) CheckSession(ctx context.Context, actor access.Subject) error {
	if err := actor.Check(codersdk.RBACActionCreate, consents(actor.UserID)); err != nil {
		return err
	}
	key, err := s.c.Store.APIKeyOfUser(ctx, actor.KeyID, actor.UserID)
	if err != nil {
		return err
	}
	if actor.Narrowed() || key.LoginType == string(codersdk.LoginTypeToken) || key.TokenName != "" {
		return codersdk.Errorf(codersdk.CodeForbidden, "Access to your account can be granted only after a sign-in, and not with a token")
	}
	return nil
}

// CheckRules returns an error if an organization of the actor does not permit tokens with the scopes.
func (s *Service) CheckRules(ctx context.Context, actor access.Subject, a Authorization) error {
	rules, err := orgrule.Of(ctx, s.c.Store.Queries, actor.UserID)
	if err != nil {
		return err
	}
	return rules.CheckScopes(texts(a.Scopes))
}

// consent is what a consent page was shown for.
type consent struct {
	Query string    `json:"query"`
	Ends  time.Time `json:"ends"`
}

// Seal returns the token of a consent page. The page sends it back with the user's answer, which proves that the answer
// is to this request and from a page that this user's session got.
func (s *Service) Seal(actor access.Subject, q url.Values) (string, error) {
	return s.seal.Seal(consent{Query: q.Encode(), Ends: s.now().Add(ConsentLifetime)}, actor.UserID.String()+" "+actor.KeyID)
}

// CheckSeal checks the token of a consent page against the request that the page answers.
func (s *Service) CheckSeal(actor access.Subject, sealed string, q url.Values) error {
	var c consent
	if !s.seal.Open(sealed, actor.UserID.String()+" "+actor.KeyID, &c) || c.Query != q.Encode() || !s.now().Before(c.Ends) {
		return codersdk.Errorf(codersdk.CodeForbidden, "This page has expired or belongs to another request. Go back to the application and start again.")
	}
	return nil
}

// Approve records the consent of the actor, and returns the address that brings the code to the application. For
// OutOfBand the address is "" and the user copies the code. It is an error if an organization of the actor does not
// permit tokens with the scopes.
func (s *Service) Approve(ctx context.Context, actor access.Subject, a Authorization) (location, code string, err error) {
	if err := s.CheckRules(ctx, actor, a); err != nil {
		return "", "", err
	}
	code = credential.RandomText(43)
	now := s.now()
	row := sqlc.OAuth2InsertGrantParams{
		ID: uuid.New(), AppID: a.App.ID, UserID: actor.UserID, Scopes: texts(a.Scopes), Resource: a.resource, CodeHash: hash(code),
		CodeExpiresAt: now.Add(CodeLifetime), CodeChallenge: a.challenge, RedirectURI: a.RedirectURI, RedirectGiven: a.redirectGiven, Now: now,
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.OAuth2InsertGrant(ctx, row); err != nil {
			return err
		}
		return recordConsent(ctx, q, actor, codersdk.AuditActionWrite, event{a.App.ID, a.App.Name, row.ID, row.Scopes, "granted"})
	})
	if err != nil || a.RedirectURI == redirecturi.OutOfBand {
		return "", code, err
	}
	return s.answer(a, url.Values{"code": {code}}), code, nil
}

// event is a change of a consent, for the audit log.
type event struct {
	app     uuid.UUID
	name    string
	grant   uuid.UUID
	scopes  []string
	happens string
}

// recordConsent writes the audit entry of a consent: a change of the application by the user.
func recordConsent(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.AuditAction, e event) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeOauth2ProviderApp, ResourceID: e.app, Target: e.name,
		Fields: map[string]any{"consent": e.happens, "consent_id": e.grant, "user_id": actor.UserID, "scopes": e.scopes},
	})
}

// checkVerifier compares a PKCE verifier with the challenge of a code.
func checkVerifier(challenge, verifier string) error {
	switch {
	case challenge == "" && verifier == "":
		return nil
	case challenge == "":
		// The verifier shows that the client sent a challenge, and that it was removed on the way.
		return failure(InvalidGrant, "code_verifier: the authorization request had no code_challenge")
	case verifier == "":
		return failure(InvalidRequest, "code_verifier: is required")
	case !verifierForm.MatchString(verifier):
		return failure(InvalidRequest, "code_verifier: must have 43 to 128 letters, digits and -._~")
	}
	h := sha256.Sum256([]byte(verifier))
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(h[:])), []byte(challenge)) != 1 {
		return failure(InvalidGrant, "code_verifier: does not match the code_challenge")
	}
	return nil
}
