package login

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/oauthclient"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Intervals of checks with providers.
const (
	// asking is how long a check keeps other requests from checking the same session.
	asking = 30 * time.Second
	// askAgain is the time until the next check after a provider could not be reached.
	askAgain = time.Minute
	// trust is how long sessions stay valid while their provider cannot be reached.
	trust = 24 * time.Hour
)

// Verify checks with the provider whether a user whose access token has expired is still valid,
// and stores the new tokens. The sessions with that provider end if it refuses, or if it could
// not be reached for trust: CodeUnauthenticated. Of any number of concurrent callers on all
// servers one checks; the others continue. Verify implements identity.Config.Verify.
func (s *Service) Verify(ctx context.Context, userID uuid.UUID, by codersdk.LoginType) error {
	until := s.now().Add(asking)
	claimed, err := s.c.Store.SessionsClaimCheck(ctx, sqlc.SessionsClaimCheckParams{
		UserID: userID, LoginType: string(by), Now: s.now(), Until: &until,
	})
	if err != nil || claimed == 0 {
		return err
	}
	p, err := s.way(by)
	if err != nil {
		return s.end(ctx, userID, by, "this login type is disabled")
	}
	link, err := s.c.Store.LinkOfUser(ctx, userID, string(by))
	if codersdk.Is(err, codersdk.CodeNotFound) || err == nil && link.RefreshToken == "" {
		return s.c.Store.SessionsCheckAt(ctx, nil, userID, string(by))
	}
	if err != nil {
		return err
	}
	given, err := s.c.Vault.OpenTokens(link)
	if err != nil {
		return err
	}
	// The caller may leave, but the result of a used refresh token must be stored.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), oauthclient.Timeout)
	defer cancel()
	token, err := p.refresh(ctx, given.Refresh)
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && (e.ErrorCode == "invalid_grant" || e.ErrorCode == "bad_refresh_token") {
		return s.end(ctx, userID, by, "the identity provider refused")
	}
	if err != nil {
		return s.unreachable(ctx, userID, by, err)
	}
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		sealed := s.c.Vault.SealTokens(link, dbcrypt.Tokens{Access: token.AccessToken, Refresh: either(token.RefreshToken, given.Refresh)})
		t := sqlc.LinkTokensParams{
			UserID: userID, LoginType: string(by), Now: s.now(),
			AccessToken: sealed.Access, AccessTokenKeyID: sealed.AccessKey, RefreshToken: sealed.Refresh, RefreshTokenKeyID: sealed.RefreshKey,
		}
		if !token.Expiry.IsZero() {
			t.TokenExpiresAt = &token.Expiry
		}
		if err := q.LinkTokens(ctx, t); err != nil {
			return err
		}
		return q.SessionsCheckAt(ctx, t.TokenExpiresAt, userID, string(by))
	})
}

// unreachable keeps the sessions valid for the moment.
func (s *Service) unreachable(ctx context.Context, userID uuid.UUID, by codersdk.LoginType, why error) error {
	since, err := s.c.Store.LinkUnreachable(ctx, s.now(), userID, string(by))
	if err != nil {
		return err
	}
	s.c.Log.WarnContext(ctx, "cannot check with the identity provider whether a user is still valid",
		"user_id", userID, "login_type", by, "error", why)
	if since != nil && s.now().Sub(*since) > trust {
		return s.end(ctx, userID, by, "the identity provider could not be reached for a day")
	}
	next := s.now().Add(askAgain)
	return s.c.Store.SessionsCheckAt(ctx, &next, userID, string(by))
}

// end ends the sessions with a provider that no longer vouches for the user.
func (s *Service) end(ctx context.Context, userID uuid.UUID, by codersdk.LoginType, why string) error {
	u, err := s.c.Store.UserByID(ctx, userID)
	if err != nil {
		return err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		n, err := q.SessionsEnd(ctx, userID, string(by))
		if err != nil || n == 0 {
			return err
		}
		return audit.Record(ctx, q, access.System(), audit.Entry{
			Action: codersdk.AuditActionDelete, ResourceType: codersdk.ResourceTypeAPIKey, Target: u.Username,
			Fields: map[string]any{"automatic_actor": "identity provider", "sessions": n, "reason": why},
		})
	})
	if err != nil {
		return err
	}
	s.c.Log.InfoContext(ctx, "ended sessions", "user", u.Username, "login_type", by, "reason", why)
	return codersdk.Errorf(codersdk.CodeUnauthenticated, "Your session has ended because %s. Sign in again.", why)
}
