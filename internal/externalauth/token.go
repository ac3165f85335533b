package externalauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Times of tokens.
const (
	// trust is how long a validation of a token is valid.
	trust = time.Minute
	// ahead is how long before its end a token is refreshed, so that an outage of the provider for less than
	// that goes unnoticed. Tokens of less than twice that lifetime are refreshed after half of it.
	ahead = 15 * time.Minute
	// lease is how long a claim to refresh is valid. It is longer than the request can take.
	lease = 2 * oauthclient.Timeout
	// again is the time between failed attempts to refresh.
	again = 30 * time.Second
)

// tokens are the secrets of a link.
type tokens struct {
	Access, Refresh string
	Extra           map[string]any
	Expires         *time.Time // nil: never
}

// notLinked is the error of a user without a link that works. The reason is empty if there is no link.
type notLinked struct{ reason string }

func (e *notLinked) Error() string {
	if e.reason == "" {
		return "the account is not linked"
	}
	return e.reason
}

func isNotLinked(err error) (reason string, ok bool) {
	e, ok := errors.AsType[*notLinked](err)
	if !ok {
		return "", false
	}
	return e.reason, true
}

// live returns a token of the user at the provider that works as far as can be known: refreshed if it is
// about to expire, and validated. The error is a *notLinked if there is none, and CodeUnavailable if the
// provider does not answer and the token has expired. A rule of an organization that forbids the link is
// CodeForbidden.
func (s *Service) live(ctx context.Context, userID uuid.UUID, p *provider) (tokens, error) {
	if err := s.permits(ctx, userID, p); err != nil {
		return tokens{}, err
	}
	hint, end := s.Changes(userID)
	defer end()
	for {
		l, err := s.c.Store.ExternalAuthLink(ctx, userID, p.ID)
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return tokens{}, &notLinked{}
		}
		if err != nil {
			return tokens{}, err
		}
		if l.Refused != "" {
			return tokens{}, &notLinked{l.Refused}
		}
		t, err := s.open(l)
		if err != nil {
			return t, err
		}
		again, err := s.refreshDue(ctx, p, l, t)
		switch {
		case err != nil:
			return tokens{}, err
		case again == refreshed:
			continue
		case again == elsewhere: // the token has expired, and another caller gets a new one
			if err := s.await(ctx, hint, s.c.Poll); err != nil {
				return tokens{}, err
			}
			continue
		}
		ok, err := s.validated(ctx, p, l, t)
		if err != nil || ok {
			return t, err
		}
	}
}

// outcome is the result of a check whether tokens must be refreshed.
type outcome int

const (
	current   outcome = iota // use the tokens
	refreshed                // read the tokens again
	elsewhere                // another caller refreshes expired tokens
)

// refreshDue refreshes tokens that are about to expire.
func (s *Service) refreshDue(ctx context.Context, p *provider, l sqlc.ExternalAuthLink, t tokens) (outcome, error) {
	now := s.now()
	if l.ExpiresAt == nil || now.Before(l.ExpiresAt.Add(-min(ahead, l.ExpiresAt.Sub(l.IssuedAt)/2))) {
		return current, nil
	}
	expired := !now.Before(*l.ExpiresAt)
	if p.NoRefresh || t.Refresh == "" {
		if expired {
			return 0, &notLinked{fmt.Sprintf("The token of %s has expired, and cannot be refreshed", p.DisplayName)}
		}
		return current, nil
	}
	out, err := s.refresh(ctx, p, l, t)
	switch {
	case err == nil && out == elsewhere && !expired:
		return current, nil
	case codersdk.Is(err, codersdk.CodeUnavailable) && !expired:
		return current, nil
	}
	return out, err
}

// refresh claims the refresh of the tokens and does it. The result is elsewhere if another caller has the
// claim. After a failure the error is CodeUnavailable, for all callers until the next attempt is due.
func (s *Service) refresh(ctx context.Context, p *provider, l sqlc.ExternalAuthLink, t tokens) (outcome, error) {
	now := s.now()
	if l.RefreshError != "" && l.RefreshingUntil != nil && now.Before(*l.RefreshingUntil) {
		return 0, s.outage(p, l.RefreshError, l.RefreshingUntil.Sub(now))
	}
	until := now.Add(lease)
	n, err := s.c.Store.ExternalAuthClaimRefresh(ctx, sqlc.ExternalAuthClaimRefreshParams{
		UserID: l.UserID, ProviderID: l.ProviderID, Generation: l.Generation, Now: now, Until: &until,
	})
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return elsewhere, nil
	}
	// The caller can leave, but the result of a used refresh token must be stored.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease-time.Second)
	defer cancel()
	got, err := p.refresh(ctx, t.Refresh)
	defer s.changed(l.UserID)
	switch {
	case err == nil:
		return refreshed, s.storeRefresh(ctx, p, l, t, got)
	case p.refused(err):
		reason := fmt.Sprintf("%s no longer accepts the link (%s)", p.DisplayName, oauthclient.Describe(err))
		s.c.Log.InfoContext(ctx, "a provider refused to refresh a token", "provider", p.ID, "user_id", l.UserID, "reason", oauthclient.Describe(err))
		return refreshed, s.refuse(ctx, l, reason)
	}
	why := oauthclient.Describe(err)
	s.c.Log.WarnContext(ctx, "cannot refresh a token", "provider", p.ID, "user_id", l.UserID, "error", why)
	next := s.now().Add(again)
	failed := s.c.Store.ExternalAuthRefreshFailed(ctx, sqlc.ExternalAuthRefreshFailedParams{
		UserID: l.UserID, ProviderID: l.ProviderID, Generation: l.Generation, RefreshError: why, Until: &next,
	})
	return 0, errors.Join(s.outage(p, why, again), failed)
}

// outage is the error of a provider that does not answer.
func (s *Service) outage(p *provider, why string, wait time.Duration) error {
	return codersdk.Errorf(codersdk.CodeUnavailable, "%s does not renew the token at the moment; try again later", p.DisplayName).
		WithDetail("%s", why).WithRetryAfter(wait)
}

func (s *Service) storeRefresh(ctx context.Context, p *provider, l sqlc.ExternalAuthLink, old tokens, got *oauth2.Token) error {
	t := p.tokensOf(got, s.now())
	t.Refresh = first(t.Refresh, old.Refresh)
	if len(t.Extra) == 0 {
		t.Extra = old.Extra
	}
	row, err := s.sealed(l.UserID, p, t)
	if err != nil {
		return err
	}
	_, err = s.c.Store.ExternalAuthRefreshed(ctx, sqlc.ExternalAuthRefreshedParams{
		UserID: l.UserID, ProviderID: l.ProviderID, Generation: l.Generation, Now: s.now(), ExpiresAt: t.Expires,
		AccessToken: row.AccessToken, AccessTokenKeyID: row.AccessTokenKeyID, RefreshToken: row.RefreshToken, RefreshTokenKeyID: row.RefreshTokenKeyID,
		Extra: row.Extra, ExtraKeyID: row.ExtraKeyID,
	})
	return err
}

// refuse marks a link as one that the provider no longer accepts, unless its tokens changed.
func (s *Service) refuse(ctx context.Context, l sqlc.ExternalAuthLink, reason string) error {
	_, err := s.c.Store.ExternalAuthRefuse(ctx, sqlc.ExternalAuthRefuseParams{
		UserID: l.UserID, ProviderID: l.ProviderID, Generation: l.Generation, Refused: reason, Now: s.now(),
	})
	s.changed(l.UserID)
	return err
}

// validated asks the provider whether a token works, unless it was asked a short time ago. It returns false
// if the tokens changed and must be read again.
func (s *Service) validated(ctx context.Context, p *provider, l sqlc.ExternalAuthLink, t tokens) (bool, error) {
	if p.ValidateURL == "" || l.ValidatedAt != nil && s.now().Sub(*l.ValidatedAt) < trust {
		return true, nil
	}
	v, _, why := p.validate(ctx, t.Access)
	switch {
	case v == valid:
		return true, s.c.Store.ExternalAuthValidated(ctx, sqlc.ExternalAuthValidatedParams{
			UserID: l.UserID, ProviderID: l.ProviderID, Generation: l.Generation, Now: s.now(),
		})
	case v == unknown:
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		s.c.Log.WarnContext(ctx, "cannot validate a token; it stays in use", "provider", p.ID, "user_id", l.UserID, "error", oauthclient.Describe(why))
		return true, nil
	case v == revoked && t.Refresh != "" && !p.NoRefresh && l.IssuedAt.Before(s.now().Add(-trust)):
		// The provider may have ended the token before its time. A token that was just issued is not refreshed.
		out, err := s.refresh(ctx, p, l, t)
		if err == nil && out == elsewhere {
			hint, end := s.Changes(l.UserID)
			defer end()
			err = s.await(ctx, hint, s.c.Poll)
		}
		return false, err
	}
	return false, s.refuse(ctx, l, why.Error()+". Link it again.")
}

// tokensOf returns the tokens of a response with the additional fields that the provider's configuration
// names. Their lifetime starts at now: the clock of the provider does not count. A lifetime that is not
// positive is ignored, because a refresh would not help.
func (p *provider) tokensOf(got *oauth2.Token, now time.Time) tokens {
	t := tokens{Access: got.AccessToken, Refresh: got.RefreshToken}
	if lifetime := time.Until(got.Expiry).Round(time.Second); !got.Expiry.IsZero() && lifetime > 0 {
		expiry := now.Add(lifetime)
		t.Expires = &expiry
	}
	for _, key := range p.ExtraTokenKeys {
		if v := got.Extra(key); v != nil {
			if t.Extra == nil {
				t.Extra = map[string]any{}
			}
			t.Extra[key] = v
		}
	}
	return t
}

// sealed returns the sealed secrets of a link.
func (s *Service) sealed(userID uuid.UUID, p *provider, t tokens) (sqlc.ExternalAuthLink, error) {
	row := sqlc.ExternalAuthLink{UserID: userID, ProviderID: p.ID}
	extra := ""
	if len(t.Extra) > 0 {
		b, err := json.Marshal(t.Extra)
		if err != nil {
			return row, fmt.Errorf("encode the token response of %s: %w", p.ID, err)
		}
		extra = string(b)
	}
	s.c.Vault.SealLink(&row, dbcrypt.LinkSecrets{Access: t.Access, Refresh: t.Refresh, Extra: extra})
	return row, nil
}

// open returns the secrets of a link.
func (s *Service) open(l sqlc.ExternalAuthLink) (tokens, error) {
	secrets, err := s.c.Vault.OpenLink(l)
	t := tokens{Access: secrets.Access, Refresh: secrets.Refresh, Expires: l.ExpiresAt}
	if err == nil && secrets.Extra != "" {
		err = json.Unmarshal([]byte(secrets.Extra), &t.Extra)
	}
	return t, err
}
