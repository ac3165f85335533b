package oauth2provider

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/orgrule"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// refreshLength is the length of a refresh token.
const refreshLength = 50

// single returns the failure of a form with a known parameter that is given more than once.
func single(form url.Values, names ...string) error {
	var wrong problems
	for _, name := range names {
		if len(form[name]) > 1 {
			wrong.add(name, "is given more than once")
		}
	}
	return wrong.failure(InvalidRequest)
}

// Token answers a request for tokens, with an authorization code or a refresh token. Failures are *Failure.
func (s *Service) Token(ctx context.Context, o access.Origin, c Credentials, form url.Values) (out codersdk.OAuth2TokenResponse, err error) {
	if len(form["grant_type"]) != 1 {
		return out, failure(UnsupportedGrantType, "grant_type: must be given once")
	}
	if err := single(form, "code", "redirect_uri", "code_verifier", "refresh_token", "scope", "client_id", "client_secret"); err != nil {
		return out, err
	}
	switch codersdk.OAuth2ProviderGrantType(form.Get("grant_type")) {
	case codersdk.OAuth2ProviderGrantTypeAuthorizationCode, codersdk.OAuth2ProviderGrantTypeRefreshToken:
	default:
		return out, failure(UnsupportedGrantType, "grant_type: must be authorization_code or refresh_token")
	}
	app, err := s.authenticate(ctx, c)
	if err != nil {
		return out, err
	}
	if form.Get("grant_type") == string(codersdk.OAuth2ProviderGrantTypeRefreshToken) {
		return s.refresh(ctx, o, app, form)
	}
	return s.exchange(ctx, o, app, form)
}

// exchange exchanges an authorization code for tokens. A code that was exchanged before ends the consent.
func (s *Service) exchange(ctx context.Context, o access.Origin, app client, form url.Values) (codersdk.OAuth2TokenResponse, error) {
	code := form.Get("code")
	if code == "" {
		return codersdk.OAuth2TokenResponse{}, failure(InvalidRequest, "code: is required")
	}
	bad := failure(InvalidGrant, "The code is not valid, has expired, or was used before")
	return s.issueFor(ctx, o, app, func(q *sqlc.Queries) (issue, error) {
		g, err := q.OAuth2GrantByCode(ctx, hash(code))
		switch {
		case codersdk.Is(err, codersdk.CodeNotFound), err == nil && g.AppID != app.ID:
			return issue{}, bad
		case err != nil:
			return issue{}, err
		case g.ExchangedAt != nil:
			return issue{grant: g, stolen: "authorization code"}, bad
		case !g.CodeExpiresAt.After(s.now()):
			return issue{}, bad
		}
		if err := checkVerifier(g.CodeChallenge, form.Get("code_verifier")); err != nil {
			return issue{}, err
		}
		redirect := form.Get("redirect_uri")
		if redirect != "" && redirect != g.RedirectURI || redirect == "" && g.RedirectGiven && g.CodeChallenge == "" {
			return issue{}, failure(InvalidGrant, "redirect_uri: must be that of the authorization request")
		}
		limit, err := parseScopes(app.Scope)
		if err == nil {
			err = covered(limit, access.ParseScopes(g.Scopes))
		}
		if err != nil {
			return issue{}, failure(InvalidGrant, "The application no longer allows the scopes of this code: "+AsFailure(err).Description)
		}
		resource, err := s.resource(form["resource"])
		if err != nil || len(form["resource"]) > 0 && resource != g.Resource {
			return issue{}, failure(InvalidTarget, "resource: must be that of the authorization request")
		}
		return issue{grant: g, scopes: g.Scopes}, nil
	})
}

// refresh exchanges a refresh token for new tokens. A refresh token that was exchanged before ends the consent.
func (s *Service) refresh(ctx context.Context, o access.Origin, app client, form url.Values) (codersdk.OAuth2TokenResponse, error) {
	token := form.Get("refresh_token")
	if token == "" {
		return codersdk.OAuth2TokenResponse{}, failure(InvalidRequest, "refresh_token: is required")
	}
	bad := failure(InvalidGrant, "The refresh token is not valid, has expired, or was used before")
	return s.issueFor(ctx, o, app, func(q *sqlc.Queries) (issue, error) {
		g, err := q.OAuth2GrantByRefresh(ctx, hash(token))
		switch {
		case codersdk.Is(err, codersdk.CodeNotFound), err == nil && g.AppID != app.ID:
			return issue{}, bad
		case err != nil:
			return issue{}, err
		case !slices.Equal(g.RefreshHash, hash(token)):
			return issue{grant: g, stolen: "refresh token"}, bad
		case g.RefreshExpiresAt == nil || !g.RefreshExpiresAt.After(s.now()):
			return issue{}, bad
		}
		scopes := access.ParseScopes(g.Scopes)
		if asked := form.Get("scope"); strings.TrimSpace(asked) != "" {
			narrower, err := parseScopes(asked)
			if err == nil {
				err = covered(scopes, narrower)
			}
			if err != nil {
				return issue{}, err
			}
			scopes = narrower
		}
		limit, err := parseScopes(app.Scope)
		if err == nil {
			err = covered(limit, scopes)
		}
		if err != nil {
			return issue{}, failure(InvalidGrant, "The application no longer allows the scopes of this consent: "+AsFailure(err).Description)
		}
		resource, err := s.resource(form["resource"])
		if err != nil || len(form["resource"]) > 0 && resource != g.Resource {
			return issue{}, failure(InvalidTarget, "resource: must be that of the authorization request")
		}
		return issue{grant: g, scopes: texts(scopes), spent: hash(token)}, nil
	})
}

// issue is the decision on a request for tokens.
type issue struct {
	grant  sqlc.OAuth2Grant
	scopes []string // of the access token
	spent  []byte   // hash of the refresh token that is exchanged; nil for a code
	stolen string   // what was used twice; the consent ends
}

// issueFor runs decide, which locks the consent, and issues tokens in the same transaction. The consent ends, although
// the request fails, if a code or a token was used twice.
func (s *Service) issueFor(
	ctx context.Context,
	o access.Origin,
	app client,
	decide func(*sqlc.Queries) (issue, error),
) (out codersdk.OAuth2TokenResponse, err error) {
	var refused error
	var ended uuid.UUID
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		refused, ended = nil, uuid.Nil
		d, err := decide(q)
		if err != nil && d.stolen == "" {
			return err
		}
		if d.stolen != "" {
			refused, ended = err, d.grant.UserID
			return s.endStolen(ctx, q, o, app, d)
		}
		out, err = s.issue(ctx, q, o, app, d)
		return err
	})
	if err == nil && refused != nil {
		s.c.Log.WarnContext(ctx, "an OAuth2 code or token was used twice; the consent ended", "app_id", app.ID, "user_id", ended, "remote", o.IP)
		s.changedRights(ended)
		return codersdk.OAuth2TokenResponse{}, refused
	}
	return out, err
}

func (s *Service) endStolen(ctx context.Context, q *sqlc.Queries, o access.Origin, app client, d issue) error {
	if _, err := q.OAuth2DeleteGrant(ctx, d.grant.ID); err != nil {
		return err
	}
	actor := access.Subject{UserID: d.grant.UserID, Origin: o}
	ended := event{app.ID, app.Name, d.grant.ID, d.grant.Scopes, "ended: the " + d.stolen + " was used twice"}
	return recordConsent(ctx, q, actor, codersdk.AuditActionWrite, ended)
}

// issue creates an access token and a refresh token for a consent.
func (s *Service) issue(ctx context.Context, q *sqlc.Queries, o access.Origin, app client, d issue) (out codersdk.OAuth2TokenResponse, err error) {
	u, err := q.UserSubject(ctx, d.grant.UserID)
	if err != nil {
		return out, err
	}
	if u.DeletedAt != nil || u.Status == string(codersdk.UserStatusSuspended) {
		return out, failure(InvalidGrant, "The account of the user is suspended or deleted")
	}
	rules, err := orgrule.Of(ctx, q, u.ID)
	if err != nil {
		return out, err
	}
	if err := rules.CheckScopes(d.scopes); err != nil {
		return out, failure(InvalidGrant, AsFailure(err).Description)
	}
	now := s.now()
	if d.spent != nil {
		if err := q.OAuth2SpendToken(ctx, d.spent, d.grant.ID, now); err != nil {
			return out, err
		}
	}
	refresh, refreshEnds := credential.RandomText(refreshLength), now.Add(rules.Shorten(s.c.RefreshLifetime))
	if err := q.OAuth2IssueTokens(ctx, sqlc.OAuth2IssueTokensParams{
		ID: d.grant.ID, Now: now, RefreshHash: hash(refresh), RefreshExpiresAt: &refreshEnds, SecretID: app.secretID,
	}); err != nil {
		return out, err
	}
	if err := q.OAuth2TouchApp(ctx, now, app.ID); err != nil {
		return out, err
	}
	token, id, digest := credential.NewToken()
	lifetime := rules.Shorten(s.lifetime(u))
	key := sqlc.OAuth2InsertKeyParams{
		ID: id, SecretHash: digest, UserID: u.ID, TokenName: "oauth2-" + app.ID.String(), Scopes: d.scopes,
		LifetimeSeconds: int64(lifetime / time.Second), UserAgent: audit.Clip(o.UserAgent), Now: now, ExpiresAt: now.Add(lifetime),
		OAuth2GrantID: &d.grant.ID, Audience: d.grant.Resource,
	}
	if o.IP.IsValid() {
		key.IPAddress = &o.IP
	}
	if _, err := q.OAuth2InsertKey(ctx, key); err != nil {
		return out, err
	}
	if d.spent == nil { // refreshes are not recorded: there is one each hour for each application and user
		actor := access.Subject{UserID: u.ID, Username: u.Username, Origin: o}
		if err := recordConsent(ctx, q, actor, codersdk.AuditActionLogin, event{app.ID, app.Name, d.grant.ID, d.scopes, "tokens issued"}); err != nil {
			return out, err
		}
	}
	return codersdk.OAuth2TokenResponse{
		AccessToken: token, TokenType: "Bearer", ExpiresIn: key.LifetimeSeconds, Expiry: key.ExpiresAt, RefreshToken: refresh,
		Scope: strings.Join(d.scopes, " "),
	}, nil
}
