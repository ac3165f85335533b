package identity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/identity/tokenrule"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// keyObject is the access object of a user's keys.
func keyObject(owner uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceAPIKey, OwnerID: owner}
}

// keyOwner returns the user if the actor can do the action on the user's keys.
func (s *Service) keyOwner(ctx context.Context, actor access.Subject, ref string, action codersdk.RBACAction) (sqlc.User, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return u, err
	}
	if err := actor.Check(action, keyObject(u.ID)); err != nil {
		if manages, refused := tokenrule.Manages(ctx, s.c.Store.Queries, actor, u, action, s.SubjectOf); manages || refused != nil {
			return u, refused
		}
		return u, err
	}
	if action != codersdk.RBACActionCreate {
		return u, nil
	}
	return u, nobodys(u)
}

// CreateToken creates an API token and returns its secret once. A token with limited
// rights cannot create a token with more rights. (AU-04, AU-05)
func (s *Service) CreateToken(ctx context.Context, actor access.Subject, ref string, req codersdk.CreateTokenRequest) (codersdk.GenerateAPIKeyResponse, error) {
	var none codersdk.GenerateAPIKeyResponse
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionCreate)
	if err != nil {
		return none, err
	}
	k := sqlc.InsertAPIKeyParams{UserID: u.ID, LoginType: string(codersdk.LoginTypeToken), TokenName: req.TokenName}
	if k.TokenName == "" {
		k.TokenName = codersdk.RandomName()
	}
	if err := codersdk.CheckName("token_name", k.TokenName); err != nil {
		return none, err
	}
	rule, err := tokenrule.Of(ctx, s.c.Store.Queries, u)
	if err != nil {
		return none, err
	}
	if k.Scopes, err = access.TokenScopes(actor, rule.Default(req)); err != nil {
		return none, err
	}
	if err := rule.CheckScopes(k.Scopes); err != nil {
		return none, err
	}
	if k.AllowList, err = access.TokenAllowList(actor, req.AllowList); err != nil {
		return none, err
	}
	longest, err := rule.Longest(s.maxLifetime(u), s.now())
	if err != nil {
		return none, err
	}
	lifetime := req.Lifetime
	if lifetime == 0 {
		lifetime = min(s.c.DefaultTokenLifetime, longest)
	}
	if err := rule.Organizations.CheckLifetime(lifetime); err != nil {
		return none, err
	}
	if lifetime < time.Second || lifetime > longest {
		return none, codersdk.Invalid("lifetime", "must be between a second and %s", longest)
	}
	return s.insertKey(ctx, actor, k, lifetime)
}

// CreateSessionKey creates a session key with the default lifetime of tokens, which a
// user copies to a command line.
func (s *Service) CreateSessionKey(ctx context.Context, actor access.Subject, ref string) (codersdk.GenerateAPIKeyResponse, error) {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionCreate)
	if err != nil {
		return codersdk.GenerateAPIKeyResponse{}, err
	}
	if actor.Narrowed() {
		return codersdk.GenerateAPIKeyResponse{}, codersdk.Errorf(codersdk.CodeForbidden, "A token with limited scopes cannot create a session")
	}
	if u.IsServiceAccount {
		return codersdk.GenerateAPIKeyResponse{}, codersdk.Errorf(codersdk.CodeForbidden, "Service accounts have no sessions; create a token")
	}
	return s.insertKey(ctx, actor, sqlc.InsertAPIKeyParams{
		UserID: u.ID, LoginType: string(codersdk.LoginTypePassword),
		Scopes: []string{string(codersdk.APIKeyScopeCoderAll)}, AllowList: []string{"*:*"},
	}, s.c.DefaultTokenLifetime)
}

// insertKey sets the secret and the times of a key, and inserts it. It replaces an
// expired API token of the same name.
func (s *Service) insertKey(
	ctx context.Context,
	actor access.Subject,
	k sqlc.InsertAPIKeyParams,
	lifetime time.Duration,
) (codersdk.GenerateAPIKeyResponse, error) {
	token, id, hash := credential.NewToken()
	k.ID, k.SecretHash, k.Now = id, hash, s.now()
	k.LifetimeSeconds, k.ExpiresAt = int64(lifetime/time.Second), k.Now.Add(lifetime)
	k.UserAgent = audit.Clip(actor.Origin.UserAgent)
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if k.TokenName != "" {
			if err := q.DeleteExpiredToken(ctx, k.UserID, k.TokenName, k.Now); err != nil {
				return err
			}
		}
		row, err := q.InsertAPIKey(ctx, k)
		if err != nil {
			return taken(err)
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionCreate, ResourceType: codersdk.ResourceTypeAPIKey, Target: row.TokenName,
			Diff: audit.Diff(nil, apiKey(row)),
		})
	})
	return codersdk.GenerateAPIKeyResponse{Key: token}, err
}

// maxLifetime returns the longest lifetime of a user's tokens.
func (s *Service) maxLifetime(u sqlc.User) time.Duration {
	if slices.Contains(u.Roles, access.RoleOwner) {
		return min(s.c.MaxAdminTokenLifetime, s.c.MaxTokenLifetime)
	}
	return s.c.MaxTokenLifetime
}

// Tokens lists a user's API tokens, the newest first, or if all is set the tokens
// of all users whose tokens the actor can see.
func (s *Service) Tokens(
	ctx context.Context,
	actor access.Subject,
	ref string,
	all, expired bool,
	page codersdk.Page,
) ([]codersdk.APIKeyWithOwner, error) {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionRead)
	if err != nil {
		return nil, err
	}
	p := sqlc.TokensParams{UserID: u.ID, IncludeExpired: expired, Now: s.now(), RowLimit: page.Rows(maxRows), RowOffset: page.Skip()}
	if all {
		p.SeeAll = actor.Filter(codersdk.RBACResourceAPIKey).All
	}
	rows, err := s.c.Store.Tokens(ctx, p)
	out := make([]codersdk.APIKeyWithOwner, len(rows))
	for i, r := range rows {
		out[i] = codersdk.APIKeyWithOwner{APIKey: apiKey(r.APIKey), Username: r.Username}
	}
	return out, err
}

// Token returns a user's API token by name.
func (s *Service) Token(ctx context.Context, actor access.Subject, ref, name string) (codersdk.APIKey, error) {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionRead)
	if err != nil {
		return codersdk.APIKey{}, err
	}
	row, err := s.c.Store.TokenByName(ctx, u.ID, name)
	return apiKey(row), err
}

// Key returns a user's session or API token by ID.
func (s *Service) Key(ctx context.Context, actor access.Subject, ref, id string) (codersdk.APIKey, error) {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionRead)
	if err != nil {
		return codersdk.APIKey{}, err
	}
	row, err := s.c.Store.APIKeyOfUser(ctx, id, u.ID)
	return apiKey(row), err
}

// DeleteKey revokes a session or API token of a user.
func (s *Service) DeleteKey(ctx context.Context, actor access.Subject, ref, id string) error {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionDelete)
	if err != nil {
		return err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.APIKeyOfUser(ctx, id, u.ID)
		if err != nil {
			return err
		}
		if _, err := q.DeleteAPIKey(ctx, id, u.ID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionDelete, ResourceType: codersdk.ResourceTypeAPIKey, Target: row.TokenName,
			Diff: audit.Diff(apiKey(row), nil),
		})
	})
	if err == nil {
		s.changedRights(u.ID)
	}
	return err
}

// ExpireKey ends a session or API token but keeps its row.
func (s *Service) ExpireKey(ctx context.Context, actor access.Subject, ref, id string) error {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionUpdate)
	if err != nil {
		return err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		n, err := q.ExpireAPIKey(ctx, s.now(), id, u.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return codersdk.NotFound()
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeAPIKey, Target: id,
		})
	})
	if err == nil {
		s.changedRights(u.ID)
	}
	return err
}

// TokenConfig returns the limit on the lifetime of a user's tokens.
func (s *Service) TokenConfig(ctx context.Context, actor access.Subject, ref string) (codersdk.TokenConfig, error) {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionRead)
	if err != nil {
		return codersdk.TokenConfig{}, err
	}
	rule, err := tokenrule.Of(ctx, s.c.Store.Queries, u)
	if err != nil {
		return codersdk.TokenConfig{}, err
	}
	longest, err := rule.Longest(s.maxLifetime(u), s.now())
	return codersdk.TokenConfig{MaxTokenLifetime: longest}, err
}

// buildTokenLifetime limits a build's token in case the end of the build is missed.
const buildTokenLifetime = 24 * time.Hour

// BuildToken creates the session with which a build's Terraform run, and the template
// in it, act as the workspace's owner. scope limits the token; "" and "all" do not.
// A build that is handed out again gets a new token.
func (s *Service) BuildToken(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID, scope string) (string, error) {
	if err := s.DeleteBuildToken(ctx, q, ownerID, buildID); err != nil {
		return "", err
	}
	token, id, hash := credential.NewToken()
	if scope == "" || scope == "all" {
		scope = string(codersdk.APIKeyScopeCoderAll)
	}
	if !access.KnownScope(codersdk.APIKeyScope(scope)) {
		return "", codersdk.Errorf(codersdk.CodeInternal, "a build cannot have a token with the scope %q", scope)
	}
	now := s.now()
	_, err := q.InsertAPIKey(ctx, sqlc.InsertAPIKeyParams{
		ID: id, SecretHash: hash, UserID: ownerID, LoginType: string(codersdk.LoginTypePassword), TokenName: buildTokenName(buildID),
		Scopes: []string{scope}, AllowList: []string{"*:*"}, LifetimeSeconds: int64(buildTokenLifetime / time.Second),
		Now: now, ExpiresAt: now.Add(buildTokenLifetime),
	})
	if err != nil {
		return "", fmt.Errorf("make token of build: %w", err)
	}
	return token, nil
}

// DeleteBuildToken deletes the token of a build, if there is one.
func (s *Service) DeleteBuildToken(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID) error {
	return q.DeleteNamedKey(ctx, ownerID, buildTokenName(buildID))
}

// buildTokenName returns a name that is too long for an API token.
func buildTokenName(buildID uuid.UUID) string { return "build-" + buildID.String() }

// PurgeKeys deletes keys that expired longer than keep ago. (CP-24)
func (s *Service) PurgeKeys(ctx context.Context, keep time.Duration) (int64, error) {
	before := s.now().Add(-keep)
	return postgres.InBatches(ctx, func() (int64, error) { return s.c.Store.DeleteExpiredAPIKeys(ctx, before) })
}

func apiKey(r sqlc.APIKey) codersdk.APIKey {
	out := codersdk.APIKey{
		ID: r.ID, UserID: r.UserID, LoginType: codersdk.LoginType(r.LoginType), TokenName: r.TokenName,
		Scopes: access.ParseScopes(r.Scopes), AllowList: access.ParseAllowList(r.AllowList), LifetimeSeconds: r.LifetimeSeconds,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, LastUsed: r.LastUsedAt, ExpiresAt: r.ExpiresAt,
	}
	switch { // a field of older clients, which has two values
	case slices.Contains(out.Scopes, codersdk.APIKeyScopeCoderAll):
		out.Scope = codersdk.APIKeyScopeAll
	case slices.Contains(out.Scopes, codersdk.APIKeyScopeCoderApplicationConnect):
		out.Scope = codersdk.APIKeyScopeApplicationConnect
	}
	return out
}
