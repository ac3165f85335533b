package externalauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
	"github.com/seed-2a7f8fe7/coder/internal/orgrule"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// StateLifetime is the time that a link can take from its start to the return of the browser.
const StateLifetime = 10 * time.Minute

// state is the data of a link in progress, in a cookie of the browser.
type state struct {
	State    string    `json:"state"`
	Verifier string    `json:"verifier"` // the PKCE verifier
	User     uuid.UUID `json:"user"`     // who started the link
	Redirect string    `json:"redirect"`
	Ends     time.Time `json:"ends"`
}

// linksPage is the path of the dashboard's page with the user's links.
const linksPage = "/settings/external-auth"

// Begin starts a link of the actor's account. It returns the provider's page to send the browser to, and
// the value of the cookie that the browser must send back within StateLifetime. Afterwards the browser goes
// to the path redirect of this server, by default to the page of links; other targets are replaced by "/".
// For a provider with the device flow, which the page of links starts, it returns that page and no cookie.
func (s *Service) Begin(ctx context.Context, actor access.Subject, id, redirect string) (location, cookie string, err error) {
	if err := user(actor, codersdk.RBACActionUpdatePersonal); err != nil {
		return "", "", err
	}
	p, err := s.provider(id)
	if err != nil {
		return "", "", err
	}
	if err := s.permits(ctx, actor.UserID, p); err != nil {
		return "", "", err
	}
	if p.AuthURL == "" || p.DeviceFlow {
		return linksPage, "", nil
	}
	target := oauthclient.SafeRedirect(first(redirect, linksPage), s.c.AccessURL)
	st := state{State: rand.Text(), Verifier: oauth2.GenerateVerifier(), User: actor.UserID, Redirect: target, Ends: s.now().Add(StateLifetime)}
	if cookie, err = s.seal.Seal(st, p.ID); err != nil {
		return "", "", err
	}
	return p.authorizeURL(st), cookie, nil
}

// permits returns an error if an organization of the user does not permit a link to the provider.
func (s *Service) permits(ctx context.Context, userID uuid.UUID, p *provider) error {
	rules, err := orgrule.Of(ctx, s.c.Store.Queries, userID)
	if err != nil {
		return err
	}
	return rules.CheckLink(p.ID, p.DisplayName)
}

// Answer holds the parameters with which a provider sent the browser back.
type Answer struct {
	State, Code        string
	Error, Description string // the provider's error
}

// End completes a link with the provider's answer and the cookie of Begin. It returns the path to send the
// browser to.
func (s *Service) End(ctx context.Context, actor access.Subject, id, cookie string, a Answer) (redirect string, err error) {
	if err := user(actor, codersdk.RBACActionUpdatePersonal); err != nil {
		return "", err
	}
	p, err := s.provider(id)
	if err != nil {
		return "", err
	}
	var st state
	if !s.seal.Open(cookie, p.ID, &st) || subtle.ConstantTimeCompare([]byte(st.State), []byte(a.State)) != 1 || !s.now().Before(st.Ends) {
		return "", codersdk.Errorf(codersdk.CodeForbidden, "This link was not started in this browser, has expired, or has already finished. Start it again.")
	}
	switch {
	case st.User != actor.UserID:
		return "", codersdk.Errorf(codersdk.CodeForbidden, "Another user started this link in this browser. Start it again.")
	case a.Error != "":
		return "", codersdk.Errorf(codersdk.CodeForbidden, "%s denied access: %.200s", p.DisplayName, first(a.Description, a.Error))
	case a.Code == "":
		return "", codersdk.Errorf(codersdk.CodeInvalid, "%s sent no code. Start the link again.", p.DisplayName)
	}
	got, err := p.exchange(ctx, a.Code, st.Verifier)
	if err != nil {
		return "", s.notExchanged(ctx, p, err)
	}
	return st.Redirect, s.link(ctx, actor, p, got)
}

// notExchanged is the error of a code that the provider did not exchange for tokens.
func (s *Service) notExchanged(ctx context.Context, p *provider, err error) error {
	code, _, refused := oauthclient.Refusal(err)
	s.c.Log.WarnContext(ctx, "a provider did not exchange a code for tokens", "provider", p.ID, "error", oauthclient.Describe(err))
	switch {
	case slices.Contains([]string{"invalid_grant", "bad_verification_code", "invalid_code", "code_already_used"}, code): // the last two are Slack's
		return codersdk.Errorf(codersdk.CodeForbidden, "The code of %s has expired or was used already. Start the link again.", p.DisplayName)
	case refused:
		return codersdk.Errorf(codersdk.CodeUnavailable, "%s rejected this deployment; an administrator must check its configuration", p.DisplayName).
			WithDetail("%s", oauthclient.Describe(err))
	}
	return codersdk.Errorf(codersdk.CodeUnavailable, "%s returned no token; try again later", p.DisplayName).WithDetail("%s", oauthclient.Describe(err))
}

// link validates new tokens and stores them as the actor's.
func (s *Service) link(ctx context.Context, actor access.Subject, p *provider, got *oauth2.Token) error {
	if err := s.permits(ctx, actor.UserID, p); err != nil {
		return err
	}
	t := p.tokensOf(got, s.now())
	verdict, _, why := p.validate(ctx, t.Access)
	if verdict == revoked || verdict == insufficient {
		return codersdk.Errorf(codersdk.CodeForbidden, "%s returned a token that does not work: %s", p.DisplayName, why).
			WithDetail("An administrator must check the scopes of the provider")
	}
	row, err := s.sealed(actor.UserID, p, t)
	if err != nil {
		return err
	}
	now := s.now()
	put := sqlc.ExternalAuthPutParams{
		UserID: actor.UserID, ProviderID: p.ID, Now: now, ExpiresAt: t.Expires,
		AccessToken: row.AccessToken, AccessTokenKeyID: row.AccessTokenKeyID, RefreshToken: row.RefreshToken, RefreshTokenKeyID: row.RefreshTokenKeyID,
		Extra: row.Extra, ExtraKeyID: row.ExtraKeyID,
	}
	if verdict == valid {
		put.ValidatedAt = &now
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.ExternalAuthPut(ctx, put); err != nil {
			return err
		}
		return record(ctx, q, actor, p.ID, false, true)
	})
	if err == nil {
		s.changed(actor.UserID)
	}
	return err
}

// record writes the audit entry of a link that was made or deleted.
func record(ctx context.Context, q *sqlc.Queries, actor access.Subject, id string, before, after bool) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeUser, ResourceID: actor.UserID, Target: actor.Username,
		Diff: codersdk.AuditDiff{"external_auth_" + id: {Old: before, New: after}}, Fields: map[string]any{"external_auth_provider": id},
	})
}

// Device starts a link with the device flow.
func (s *Service) Device(ctx context.Context, actor access.Subject, id string) (codersdk.ExternalAuthDevice, error) {
	p, err := s.deviceProvider(actor, id, codersdk.RBACActionUpdatePersonal)
	if err != nil {
		return codersdk.ExternalAuthDevice{}, err
	}
	if err := s.permits(ctx, actor.UserID, p); err != nil {
		return codersdk.ExternalAuthDevice{}, err
	}
	return oauthclient.Device(ctx, p.client, &p.oauth, p.DisplayName)
}

// ExchangeDevice completes a link with a device code, once the user has entered it at the provider. Until
// then the error is CodeInvalid, with the provider's error code in Detail.
func (s *Service) ExchangeDevice(ctx context.Context, actor access.Subject, id, code string) error {
	p, err := s.deviceProvider(actor, id, codersdk.RBACActionUpdatePersonal)
	if err != nil {
		return err
	}
	if code == "" {
		return codersdk.Invalid("device_code", "is required")
	}
	got, err := oauthclient.DeviceToken(ctx, p.client, &p.oauth, p.DisplayName, code)
	if err != nil {
		return err
	}
	return s.link(ctx, actor, p, got)
}

func (s *Service) deviceProvider(actor access.Subject, id string, action codersdk.RBACAction) (*provider, error) {
	if err := user(actor, action); err != nil {
		return nil, err
	}
	p, err := s.provider(id)
	if err == nil && !p.DeviceFlow {
		err = codersdk.Errorf(codersdk.CodeInvalid, "%s does not use the device flow on this deployment", p.DisplayName)
	}
	return p, err
}

// Unlink deletes the actor's link to a provider. The provider is asked to revoke the tokens; the link is
// deleted whatever it answers. Links to providers that are no longer configured can be deleted, too.
func (s *Service) Unlink(ctx context.Context, actor access.Subject, id string) (out codersdk.DeleteExternalAuthByIDResponse, err error) {
	if err := user(actor, codersdk.RBACActionUpdatePersonal); err != nil {
		return out, err
	}
	var row sqlc.ExternalAuthLink
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		var err error
		if row, err = q.ExternalAuthDelete(ctx, actor.UserID, id); err != nil {
			return err
		}
		return record(ctx, q, actor, id, true, false)
	})
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return out, codersdk.Errorf(codersdk.CodeNotFound, "You have no link to the provider %q", clipID(id))
	}
	if err != nil {
		return out, err
	}
	s.changed(actor.UserID)
	p, err := s.provider(id)
	if err != nil || p.revocation == nil {
		out.TokenRevocationError = "The provider cannot revoke tokens; delete the access in your account there"
		return out, nil
	}
	t, err := s.open(row)
	if err == nil {
		err = p.revoke(ctx, t)
	}
	if err != nil {
		s.c.Log.WarnContext(ctx, "cannot revoke the tokens of a deleted link", "provider", id, "user_id", actor.UserID, "error", err)
		out.TokenRevocationError = "The tokens were not revoked; delete the access in your account at " + p.DisplayName + ": " + oauthclient.Describe(err)
		return out, nil
	}
	out.TokenRevoked = true
	return out, nil
}

// Links returns the providers, and the actor's links, which are checked at the providers.
func (s *Service) Links(ctx context.Context, actor access.Subject) (out codersdk.ListUserExternalAuthResponse, err error) {
	if err := user(actor, codersdk.RBACActionReadPersonal); err != nil {
		return out, err
	}
	out = codersdk.ListUserExternalAuthResponse{Links: []codersdk.ExternalAuthLink{}, Providers: []codersdk.ExternalAuthLinkProvider{}}
	for _, p := range s.providers {
		out.Providers = append(out.Providers, codersdk.ExternalAuthLinkProvider{
			ID: p.ID, Type: p.Type, Device: p.DeviceFlow, DisplayName: p.DisplayName, DisplayIcon: p.DisplayIcon,
			AllowRefresh: !p.NoRefresh, AllowValidate: p.ValidateURL != "", SupportsRevocation: p.revocation != nil,
		})
	}
	rows, err := s.c.Store.ExternalAuthLinks(ctx, actor.UserID)
	if err != nil {
		return out, err
	}
	out.Links = make([]codersdk.ExternalAuthLink, len(rows))
	var all sync.WaitGroup
	for i, row := range rows {
		all.Go(func() { out.Links[i] = s.view(ctx, row) })
	}
	all.Wait()
	return out, ctx.Err()
}

// view returns a link with its state at the provider.
func (s *Service) view(ctx context.Context, row sqlc.ExternalAuthLink) codersdk.ExternalAuthLink {
	out := codersdk.ExternalAuthLink{
		ProviderID: row.ProviderID, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, HasRefreshToken: row.RefreshToken != "",
	}
	if row.ExpiresAt != nil {
		out.Expires = *row.ExpiresAt
	}
	p, err := s.provider(row.ProviderID)
	if err == nil {
		var t tokens
		if t, err = s.live(ctx, row.UserID, p); err == nil && t.Expires != nil {
			out.Expires = *t.Expires
		}
	}
	if out.Authenticated = err == nil; err != nil {
		out.ValidateError = clipText(err)
	}
	return out
}

// clipText returns the message of an error that a user can read.
func clipText(err error) string {
	if reason, ok := isNotLinked(err); ok {
		return first(reason, "The account is not linked")
	}
	if codersdk.CodeOf(err) != codersdk.CodeInternal {
		return err.Error()
	}
	return "The link cannot be checked at the moment"
}

// Provider returns a provider and the state of the actor's link to it.
func (s *Service) Provider(ctx context.Context, actor access.Subject, id string) (out codersdk.ExternalAuth, err error) {
	if err := user(actor, codersdk.RBACActionReadPersonal); err != nil {
		return out, err
	}
	p, err := s.provider(id)
	if err != nil {
		return out, err
	}
	out = codersdk.ExternalAuth{
		AppInstallURL: p.AppInstallURL, AppInstallable: p.AppInstallURL != "", Device: p.DeviceFlow, DisplayName: p.DisplayName,
		Installations: []codersdk.ExternalAuthAppInstallation{}, SupportsRevocation: p.revocation != nil,
	}
	t, err := s.live(ctx, actor.UserID, p)
	if _, is := isNotLinked(err); is {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Authenticated = true
	if verdict, account, _ := p.validate(ctx, t.Access); verdict == valid {
		out.User, out.Installations = account, p.installations(ctx, t.Access)
	}
	return out, nil
}
