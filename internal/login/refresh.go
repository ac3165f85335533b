package login

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/vault"
)

// Times of asking whether people are still welcome.
const (
	// asking is how long others let a session be while one asks.
	asking = 30 * time.Second
	// askAgain is when to ask a provider again that could not be reached.
	askAgain = time.Minute
	// trust is how long people are let be whose provider cannot be reached.
	trust = 24 * time.Hour
)

// Verify asks the provider whether a user whose access token has run out is
// still welcome there, and keeps the new tokens. If it says no, the sessions
// that were begun there end, and so does trust when it cannot be asked for a
// day: CodeUnauthenticated. Of many who ask at once, on all servers, one does;
// the others go on meanwhile. It is what identity.Config.Verify wants.
func (s *Service) Verify(ctx context.Context, userID uuid.UUID, by coder.LoginType) error {
	until := s.now().Add(asking)
	claimed, err := s.c.Store.SessionsClaimCheck(ctx, sqlc.SessionsClaimCheckParams{
		UserID: userID, LoginType: string(by), Now: s.now(), Until: &until,
	})
	if err != nil || claimed == 0 {
		return err
	}
	p, err := s.way(by)
	if err != nil {
		return s.end(ctx, userID, by, "this way of logging in is off")
	}
	link, err := s.c.Store.LinkOfUser(ctx, userID, string(by))
	if coder.Is(err, coder.CodeNotFound) || err == nil && link.RefreshToken == "" {
		return s.c.Store.SessionsCheckAt(ctx, nil, userID, string(by))
	}
	if err != nil {
		return err
	}
	given, err := s.c.Vault.OpenTokens(link)
	if err != nil {
		return err
	}
	// Who asked may leave; a refresh token that was used up must not be lost.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askAtMost)
	defer cancel()
	token, err := p.refresh(ctx, given.Refresh)
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && (e.ErrorCode == "invalid_grant" || e.ErrorCode == "bad_refresh_token") {
		return s.end(ctx, userID, by, "the identity provider refused")
	}
	if err != nil {
		return s.unreachable(ctx, userID, by, err)
	}
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		sealed := s.c.Vault.SealTokens(link, vault.Tokens{Access: token.AccessToken, Refresh: either(token.RefreshToken, given.Refresh)})
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

// unreachable lets the sessions be for a while.
func (s *Service) unreachable(ctx context.Context, userID uuid.UUID, by coder.LoginType, why error) error {
	since, err := s.c.Store.LinkUnreachable(ctx, s.now(), userID, string(by))
	if err != nil {
		return err
	}
	s.c.Log.WarnContext(ctx, "the identity provider cannot be asked whether a user is still welcome", "user_id", userID, "login_type", by, "error", why)
	if since != nil && s.now().Sub(*since) > trust {
		return s.end(ctx, userID, by, "the identity provider could not be asked for a day")
	}
	next := s.now().Add(askAgain)
	return s.c.Store.SessionsCheckAt(ctx, &next, userID, string(by))
}

// end ends what was begun with a provider that does not vouch any more.
func (s *Service) end(ctx context.Context, userID uuid.UUID, by coder.LoginType, why string) error {
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
			Action: coder.AuditActionDelete, ResourceType: coder.ResourceTypeAPIKey, Target: u.Username,
			Fields: map[string]any{"automatic_actor": "identity provider", "sessions": n, "reason": why},
		})
	})
	if err != nil {
		return err
	}
	s.c.Log.InfoContext(ctx, "sessions have ended", "user", u.Username, "login_type", by, "reason", why)
	return coder.Errorf(coder.CodeUnauthenticated, "Your session has ended, because %s; log in again", why)
}
