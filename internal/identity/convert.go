package identity

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// conversionTime is how long somebody has to log in by the new way.
const conversionTime = 10 * time.Minute

// ConvertLogin begins to change the way a user logs in, from a password to
// GitHub or an identity provider. The user shows that they know the password,
// and then, by logging in there with the state that is given, that they are
// that person there, too; EndConversion makes the change. (AU-10)
func (s *Service) ConvertLogin(ctx context.Context, actor access.Subject, ref string, req coder.ConvertLoginRequest) (coder.OAuthConversionResponse, error) {
	var none coder.OAuthConversionResponse
	u, err := s.personal(ctx, actor, ref, coder.RBACActionUpdatePersonal)
	if err != nil {
		return none, err
	}
	switch {
	case u.ID != actor.UserID:
		return none, coder.Errorf(coder.CodeForbidden, "Only %s can change the way they log in", u.Username)
	case req.ToType != coder.LoginTypeGitHub && req.ToType != coder.LoginTypeOIDC:
		return none, coder.Invalid("to_type", "%.40q is neither github nor oidc", req.ToType)
	case u.LoginType != string(coder.LoginTypePassword):
		return none, coder.Errorf(coder.CodeInvalid, "You log in by %s, which cannot be changed; only passwords can be given up", u.LoginType)
	}
	if err := s.attempt(ctx, "password "+u.ID.String(), accountWhile, triesPerAccount); err != nil {
		return none, err
	}
	fits, err := s.verify(ctx, req.Password, u.PasswordHash)
	if err != nil {
		return none, err
	}
	if !fits {
		return none, coder.Invalid("password", "is wrong")
	}
	out := coder.OAuthConversionResponse{ExpiresAt: s.now().Add(conversionTime), StateString: randomText(43), ToType: req.ToType, UserID: u.ID}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.ForgetLoginConversions(ctx, s.now()); err != nil {
			return err
		}
		err := q.BeginLoginConversion(ctx, sqlc.BeginLoginConversionParams{
			StateHash: stateHash(out.StateString), UserID: u.ID, ToType: string(req.ToType), ExpiresAt: out.ExpiresAt,
		})
		if err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionCreate, ResourceType: coder.ResourceTypeConvertLogin, ResourceID: u.ID, Target: u.Username,
			Diff: audit.Diff(nil, map[string]any{"to_type": req.ToType, "expires_at": out.ExpiresAt}),
		})
	})
	return out, err
}

func stateHash(state string) []byte {
	h := sha256.Sum256([]byte("login conversion " + state))
	return h[:]
}

// EndConversion makes the change that ConvertLogin began, in the transaction q
// of a login by the new way: whoever has just logged in there with the state
// is that user from now on, who has no password any more. It gives who that
// is. A state counts once, for its way alone, and not for long.
func (s *Service) EndConversion(ctx context.Context, q *sqlc.Queries, origin access.Origin, state string, by coder.LoginType) (uuid.UUID, error) {
	row, err := q.EndLoginConversion(ctx, stateHash(state))
	if coder.Is(err, coder.CodeNotFound) || err == nil && (row.ToType != string(by) || !row.ExpiresAt.After(s.now())) {
		return uuid.Nil, coder.Errorf(coder.CodeInvalid, "The change of the way you log in was not begun here, or too long ago; begin it again")
	}
	if err != nil {
		return uuid.Nil, err
	}
	old, err := q.UserByIDForUpdate(ctx, row.UserID)
	if err != nil {
		return uuid.Nil, err
	}
	if old.Status == string(coder.UserStatusSuspended) {
		return uuid.Nil, suspended()
	}
	if old.LoginType != string(coder.LoginTypePassword) {
		return uuid.Nil, coder.Errorf(coder.CodeConflict, "The way you log in was changed meanwhile")
	}
	if _, err := q.UpdateUserLoginType(ctx, string(by), s.now(), old.ID); err != nil {
		return uuid.Nil, err
	}
	return old.ID, audit.Record(ctx, q, access.Subject{UserID: old.ID, Username: old.Username, Origin: origin}, audit.Entry{
		Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeConvertLogin, ResourceID: old.ID, Target: old.Username,
		Diff: audit.Diff(map[string]any{"login_type": old.LoginType}, map[string]any{"login_type": by}),
	})
}
