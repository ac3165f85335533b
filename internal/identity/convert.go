package identity

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/attempt"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// conversionTime is the time that a user has to sign in with the new login type.
const conversionTime = 10 * time.Minute

// ConvertLogin starts the change of a user's login type from password to GitHub or
// OpenID Connect. The user proves knowledge of the password here, and the identity
// at the provider by signing in there with the returned state. EndConversion
// completes the change. (AU-10)
func (s *Service) ConvertLogin(
	ctx context.Context,
	actor access.Subject,
	ref string,
	req codersdk.ConvertLoginRequest,
) (codersdk.OAuthConversionResponse, error) {
	var none codersdk.OAuthConversionResponse
	u, err := s.personal(ctx, actor, ref, codersdk.RBACActionUpdatePersonal)
	if err != nil {
		return none, err
	}
	switch {
	case u.ID != actor.UserID:
		return none, codersdk.Errorf(codersdk.CodeForbidden, "Only %s can change their login type", u.Username)
	case req.ToType != codersdk.LoginTypeGitHub && req.ToType != codersdk.LoginTypeOIDC:
		return none, codersdk.Invalid("to_type", "%.40q is neither github nor oidc", req.ToType)
	case u.LoginType != string(codersdk.LoginTypePassword):
		return none, codersdk.Errorf(codersdk.CodeInvalid, "Your login type is %s; only the login type password can be changed", u.LoginType)
	}
	if err := s.attempts.Count(ctx, attempt.ByAccount("password "+u.ID.String())); err != nil {
		return none, err
	}
	fits, err := s.hasher.Verify(ctx, req.Password, u.PasswordHash)
	if err != nil {
		return none, err
	}
	if !fits {
		return none, codersdk.Invalid("password", "is wrong")
	}
	out := codersdk.OAuthConversionResponse{ExpiresAt: s.now().Add(conversionTime), StateString: credential.RandomText(43), ToType: req.ToType, UserID: u.ID}
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
			Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeConvertLogin, ResourceID: u.ID, Target: u.Username,
			Diff: audit.Diff(nil, map[string]any{"to_type": req.ToType, "expires_at": out.ExpiresAt}),
		})
	})
	return out, err
}

func stateHash(state string) []byte {
	h := sha256.Sum256([]byte("login conversion " + state))
	return h[:]
}

// EndConversion completes the change that ConvertLogin started, in transaction q of
// a sign-in with the new login type, and returns the user. The password is removed.
// A state is valid once, for its login type, until conversionTime has passed.
func (s *Service) EndConversion(ctx context.Context, q *sqlc.Queries, origin access.Origin, state string, by codersdk.LoginType) (uuid.UUID, error) {
	row, err := q.EndLoginConversion(ctx, stateHash(state))
	if codersdk.Is(err, codersdk.CodeNotFound) || err == nil && (row.ToType != string(by) || !row.ExpiresAt.After(s.now())) {
		return uuid.Nil, codersdk.Errorf(codersdk.CodeInvalid, "The change of your login type has expired or was not started here. Start it again.")
	}
	if err != nil {
		return uuid.Nil, err
	}
	old, err := q.UserByIDForUpdate(ctx, row.UserID)
	if err != nil {
		return uuid.Nil, err
	}
	if old.Status == string(codersdk.UserStatusSuspended) {
		return uuid.Nil, suspended()
	}
	if old.LoginType != string(codersdk.LoginTypePassword) {
		return uuid.Nil, codersdk.Errorf(codersdk.CodeConflict, "Your login type was changed in the meantime. Reload the page.")
	}
	if _, err := q.UpdateUserLoginType(ctx, string(by), s.now(), old.ID); err != nil {
		return uuid.Nil, err
	}
	return old.ID, audit.Record(ctx, q, access.Subject{UserID: old.ID, Username: old.Username, Origin: origin}, audit.Entry{
		Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeConvertLogin, ResourceID: old.ID, Target: old.Username,
		Diff: audit.Diff(map[string]any{"login_type": old.LoginType}, map[string]any{"login_type": by}),
	})
}
