// Package tokenrule limits API tokens: which scopes they can have and until when they are valid. The rules of the
// user's organizations apply to all tokens, and the settings of a service account to its tokens.
package tokenrule

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/orgrule"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Rule limits the tokens of an account. The zero Rule permits all.
type Rule struct {
	Scopes []string   // that tokens can have; empty: all
	Until  *time.Time // end of every token; nil: none
	// Organizations are the rules of the organizations of the account.
	Organizations orgrule.Set
}

// Of returns the rule for the tokens of a user.
func Of(ctx context.Context, q *sqlc.Queries, u sqlc.User) (Rule, error) {
	set, err := orgrule.Of(ctx, q, u.ID)
	if err != nil || !u.IsServiceAccount {
		return Rule{Organizations: set}, err
	}
	row, err := q.ServiceAccount(ctx, u.ID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = nil
	}
	return Rule{Scopes: row.ServiceAccount.Scopes, Until: row.ServiceAccount.ExpiresAt, Organizations: set}, err
}

// Default returns the request with the scopes of the rule if it asks for none. An account with scopes of its own gets
// those of them that its organizations permit.
func (r Rule) Default(req codersdk.CreateTokenRequest) codersdk.CreateTokenRequest {
	if len(req.Scopes) > 0 || req.Scope != "" {
		return req
	}
	if len(r.Scopes) > 0 {
		req.Scopes = r.Organizations.Permitted(access.ParseScopes(r.Scopes))
	} else if scopes, limited := r.Organizations.Scopes(); limited {
		req.Scopes = scopes
	}
	return req
}

// Permits reports whether a token can have the scopes.
func (r Rule) Permits(scopes []string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !r.permits(s) })
}

func (r Rule) permits(scope string) bool {
	resource, _, _ := strings.Cut(scope, ":")
	return len(r.Scopes) == 0 || slices.Contains(r.Scopes, scope) || slices.Contains(r.Scopes, string(codersdk.APIKeyScopeCoderAll)) ||
		resource != "coder" && slices.Contains(r.Scopes, resource+":*")
}

// CheckScopes refuses scopes that a token of the account cannot have.
func (r Rule) CheckScopes(scopes []string) error {
	if r.Permits(scopes) {
		return r.Organizations.CheckScopes(scopes)
	}
	return codersdk.Invalid("scopes", "tokens of this service account can have only the scopes %s", strings.Join(r.Scopes, ", "))
}

// CheckUse returns an error if an organization of the user does not permit the token of a request, or no longer.
func CheckUse(ctx context.Context, q *sqlc.Queries, row sqlc.APIKeyWithUserRow, now time.Time) error {
	if !row.Ruled {
		return nil
	}
	rules, err := orgrule.Of(ctx, q, row.UserSubject.ID)
	if err != nil {
		return err
	}
	return rules.CheckToken(row.APIKey.Scopes, row.APIKey.CreatedAt, now)
}

// Longest returns the maximum lifetime of a token that is created now. After the end of the account it is an error.
func (r Rule) Longest(longest time.Duration, now time.Time) (time.Duration, error) {
	longest = r.Organizations.Shorten(longest)
	if r.Until == nil {
		return longest, nil
	}
	left := r.Until.Sub(now).Truncate(time.Second)
	if left < time.Second {
		return 0, codersdk.Errorf(codersdk.CodeInvalid, "The service account has expired; change its expiry first")
	}
	return min(longest, left), nil
}

// Create stores the settings of a new service account. Without settings, the actor becomes its owner.
func Create(ctx context.Context, q *sqlc.Queries, actor access.Subject, id uuid.UUID, req *codersdk.UpdateServiceAccountRequest, now time.Time) error {
	if req == nil {
		req = &codersdk.UpdateServiceAccountRequest{}
	}
	if req.OwnerID == nil && actor.UserID != uuid.Nil {
		if u, err := q.UserByID(ctx, actor.UserID); err == nil && !u.IsServiceAccount && !u.IsSystem {
			req = &codersdk.UpdateServiceAccountRequest{OwnerID: &u.ID, ExpiresAt: req.ExpiresAt, Scopes: req.Scopes}
		}
	}
	return Store(ctx, q, id, *req, now)
}

// Store checks and stores the settings of a service account.
func Store(ctx context.Context, q *sqlc.Queries, id uuid.UUID, req codersdk.UpdateServiceAccountRequest, now time.Time) error {
	p := sqlc.ServiceAccountPutParams{UserID: id, OwnerID: req.OwnerID, ExpiresAt: req.ExpiresAt, Scopes: []string{}, Now: now}
	if req.OwnerID != nil {
		u, err := q.UserByID(ctx, *req.OwnerID)
		if err != nil || u.IsServiceAccount || u.IsSystem {
			return codersdk.Invalid("owner_id", "%s is not the ID of a user", req.OwnerID)
		}
	}
	if req.ExpiresAt != nil && !req.ExpiresAt.After(now) {
		return codersdk.Invalid("expires_at", "must be in the future")
	}
	if len(req.Scopes) > 0 {
		var err error
		if p.Scopes, err = access.TokenScopes(access.Subject{}, codersdk.CreateTokenRequest{Scopes: req.Scopes}); err != nil {
			return err
		}
	}
	return q.ServiceAccountPut(ctx, p)
}
