package identity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// keyObject is a key of a user, for access.
func keyObject(owner uuid.UUID) access.Object {
	return access.Object{Type: coder.RBACResourceAPIKey, OwnerID: owner}
}

// keyOwner finds the user on whose keys the actor may do the action.
func (s *Service) keyOwner(ctx context.Context, actor access.Subject, ref string, action coder.RBACAction) (sqlc.User, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return u, err
	}
	if err := actor.Check(action, keyObject(u.ID)); err != nil || action != coder.RBACActionCreate {
		return u, err
	}
	return u, nobodys(u)
}

// CreateToken makes an API token for a user and gives it, this once. A token
// that is narrowed itself can make none that may do more. (AU-04, AU-05)
func (s *Service) CreateToken(ctx context.Context, actor access.Subject, ref string, req coder.CreateTokenRequest) (coder.GenerateAPIKeyResponse, error) {
	var none coder.GenerateAPIKeyResponse
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionCreate)
	if err != nil {
		return none, err
	}
	k := sqlc.InsertAPIKeyParams{UserID: u.ID, LoginType: string(coder.LoginTypeToken), TokenName: req.TokenName}
	if k.TokenName == "" {
		k.TokenName = coder.RandomName()
	}
	if err := coder.CheckName("token_name", k.TokenName); err != nil {
		return none, err
	}
	if k.Scopes, err = requestedScopes(actor, req); err != nil {
		return none, err
	}
	if k.AllowList, err = requestedList(actor, req.AllowList); err != nil {
		return none, err
	}
	lifetime, longest := req.Lifetime, s.maxLifetime(u)
	if lifetime == 0 {
		lifetime = min(s.c.DefaultTokenLifetime, longest)
	}
	if lifetime < time.Second || lifetime > longest {
		return none, coder.Invalid("lifetime", "must be between a second and %s", longest)
	}
	return s.insertKey(ctx, actor, k, lifetime)
}

// CreateSessionKey makes a key like that of a session, which lives for the
// default lifetime of tokens: for a person to carry to a command line.
func (s *Service) CreateSessionKey(ctx context.Context, actor access.Subject, ref string) (coder.GenerateAPIKeyResponse, error) {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionCreate)
	if err != nil {
		return coder.GenerateAPIKeyResponse{}, err
	}
	if actor.Narrowed() {
		return coder.GenerateAPIKeyResponse{}, coder.Errorf(coder.CodeForbidden, "A token with limited scopes cannot make a session")
	}
	return s.insertKey(ctx, actor, sqlc.InsertAPIKeyParams{
		UserID: u.ID, LoginType: string(coder.LoginTypePassword),
		Scopes: []string{string(coder.APIKeyScopeCoderAll)}, AllowList: []string{"*:*"},
	}, s.c.DefaultTokenLifetime)
}

// insertKey fills in the secret and times of a key, and writes it.
func (s *Service) insertKey(ctx context.Context, actor access.Subject, k sqlc.InsertAPIKeyParams, lifetime time.Duration) (coder.GenerateAPIKeyResponse, error) {
	token, id, hash := newToken()
	k.ID, k.SecretHash, k.Now = id, hash, s.now()
	k.LifetimeSeconds, k.ExpiresAt = int64(lifetime/time.Second), k.Now.Add(lifetime)
	k.UserAgent = audit.Clip(actor.Origin.UserAgent)
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.InsertAPIKey(ctx, k)
		if err != nil {
			return taken(err)
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionCreate, ResourceType: coder.ResourceTypeAPIKey, Target: row.TokenName,
			Diff: audit.Diff(nil, apiKey(row)),
		})
	})
	return coder.GenerateAPIKeyResponse{Key: token}, err
}

// maxLifetime bounds the tokens of a user.
func (s *Service) maxLifetime(u sqlc.User) time.Duration {
	if slices.Contains(u.Roles, access.RoleOwner) {
		return min(s.c.MaxAdminTokenLifetime, s.c.MaxTokenLifetime)
	}
	return s.c.MaxTokenLifetime
}

// requestedScopes checks the scopes asked for, of either form. None asked for
// means all that the actor has.
func requestedScopes(actor access.Subject, req coder.CreateTokenRequest) ([]string, error) {
	asked := slices.Clone(req.Scopes)
	if len(asked) == 0 && req.Scope != "" {
		asked = []coder.APIKeyScope{req.Scope}
	}
	if len(asked) == 0 {
		asked = []coder.APIKeyScope{coder.APIKeyScopeCoderAll}
		if actor.Narrowed() && len(actor.Scopes) > 0 {
			asked = slices.Clone(actor.Scopes)
		}
	}
	var out []string
	for _, sc := range asked {
		switch sc {
		case coder.APIKeyScopeAll:
			sc = coder.APIKeyScopeCoderAll
		case coder.APIKeyScopeApplicationConnect:
			sc = coder.APIKeyScopeCoderApplicationConnect
		}
		if !access.KnownScope(sc) {
			return nil, coder.Invalid("scopes", "there is no scope %.64q; GET /api/v2/auth/scopes lists them", sc)
		}
		if actor.Narrowed() && len(actor.Scopes) > 0 && !slices.Contains(actor.Scopes, sc) && !slices.Contains(actor.Scopes, coder.APIKeyScopeCoderAll) {
			return nil, coder.Errorf(coder.CodeForbidden, "A token cannot make another with a scope that it lacks: %s", sc)
		}
		out = append(out, string(sc))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// requestedList checks an allow list. None asked for means that of the actor.
func requestedList(actor access.Subject, asked []coder.APIAllowListTarget) ([]string, error) {
	if len(asked) == 0 {
		asked = actor.AllowList
	}
	if len(asked) == 0 {
		return []string{"*:*"}, nil
	}
	if len(asked) > 128 {
		return nil, coder.Invalid("allow_list", "has more than 128 entries")
	}
	all := len(actor.AllowList) == 0 || slices.Contains(actor.AllowList, coder.APIAllowListTarget{Type: coder.RBACResourceAny, ID: "*"})
	var out []string
	for _, t := range asked {
		if _, known := access.Actions[t.Type]; !known && t.Type != coder.RBACResourceAny {
			return nil, coder.Invalid("allow_list", "there is no resource type %.64q", t.Type)
		}
		if id, err := uuid.Parse(t.ID); err == nil {
			t.ID = id.String()
		} else if t.ID != "*" {
			return nil, coder.Invalid("allow_list", "%.64q is neither a UUID nor *", t.ID)
		}
		if !all && !slices.Contains(actor.AllowList, t) && !slices.Contains(actor.AllowList, coder.APIAllowListTarget{Type: t.Type, ID: "*"}) {
			return nil, coder.Errorf(coder.CodeForbidden, "A token cannot make another for what it may not use itself: %s:%s", t.Type, t.ID)
		}
		out = append(out, string(t.Type)+":"+t.ID)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Tokens lists a user's API tokens, the latest first, or with everybody those
// of all users whose tokens the actor may see.
func (s *Service) Tokens(ctx context.Context, actor access.Subject, ref string, everybody, expired bool, page coder.Page) ([]coder.APIKey, error) {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionRead)
	if err != nil {
		return nil, err
	}
	p := sqlc.TokensParams{UserID: u.ID, IncludeExpired: expired, Now: s.now(), RowLimit: page.Rows(maxRows), RowOffset: page.Skip()}
	if everybody {
		p.SeeAll = actor.Filter(coder.RBACResourceAPIKey).All
	}
	rows, err := s.c.Store.Tokens(ctx, p)
	out := make([]coder.APIKey, len(rows))
	for i, r := range rows {
		out[i] = apiKey(r)
	}
	return out, err
}

// Token gives a user's API token by its name.
func (s *Service) Token(ctx context.Context, actor access.Subject, ref, name string) (coder.APIKey, error) {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionRead)
	if err != nil {
		return coder.APIKey{}, err
	}
	row, err := s.c.Store.TokenByName(ctx, u.ID, name)
	return apiKey(row), err
}

// Key gives a user's session or API token by its id.
func (s *Service) Key(ctx context.Context, actor access.Subject, ref, id string) (coder.APIKey, error) {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionRead)
	if err != nil {
		return coder.APIKey{}, err
	}
	row, err := s.c.Store.APIKeyOfUser(ctx, id, u.ID)
	return apiKey(row), err
}

// DeleteKey ends a session or API token of a user at once.
func (s *Service) DeleteKey(ctx context.Context, actor access.Subject, ref, id string) error {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionDelete)
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
			Action: coder.AuditActionDelete, ResourceType: coder.ResourceTypeAPIKey, Target: row.TokenName,
			Diff: audit.Diff(apiKey(row), nil),
		})
	})
	if err == nil {
		s.changedRights(u.ID)
	}
	return err
}

// ExpireKey ends a session or API token but keeps its row to be seen.
func (s *Service) ExpireKey(ctx context.Context, actor access.Subject, ref, id string) error {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionUpdate)
	if err != nil {
		return err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		n, err := q.ExpireAPIKey(ctx, s.now(), id, u.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return coder.NotFound()
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeAPIKey, Target: id,
		})
	})
	if err == nil {
		s.changedRights(u.ID)
	}
	return err
}

// TokenConfig says how long a token of a user may live.
func (s *Service) TokenConfig(ctx context.Context, actor access.Subject, ref string) (coder.TokenConfig, error) {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionRead)
	if err != nil {
		return coder.TokenConfig{}, err
	}
	return coder.TokenConfig{MaxTokenLifetime: s.maxLifetime(u)}, nil
}

// buildTokenLifetime bounds a build's token, should its end never be noticed.
const buildTokenLifetime = 24 * time.Hour

// BuildToken makes the session that a build's Terraform run, and the template
// in it, have of the workspace's owner. scope is what the token may do: ""
// or "all" for everything. It is made anew when the build is handed out again.
func (s *Service) BuildToken(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID, scope string) (string, error) {
	if err := s.DeleteBuildToken(ctx, q, ownerID, buildID); err != nil {
		return "", err
	}
	token, id, hash := newToken()
	if scope == "" || scope == "all" {
		scope = string(coder.APIKeyScopeCoderAll)
	}
	if !access.KnownScope(coder.APIKeyScope(scope)) {
		return "", coder.Errorf(coder.CodeInternal, "a build cannot have a token with the scope %q", scope)
	}
	now := s.now()
	_, err := q.InsertAPIKey(ctx, sqlc.InsertAPIKeyParams{
		ID: id, SecretHash: hash, UserID: ownerID, LoginType: string(coder.LoginTypePassword), TokenName: buildTokenName(buildID),
		Scopes: []string{scope}, AllowList: []string{"*:*"}, LifetimeSeconds: int64(buildTokenLifetime / time.Second),
		Now: now, ExpiresAt: now.Add(buildTokenLifetime),
	})
	if err != nil {
		return "", fmt.Errorf("make token of build: %w", err)
	}
	return token, nil
}

// DeleteBuildToken ends the token of a build; without one it does nothing.
func (s *Service) DeleteBuildToken(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID) error {
	return q.DeleteNamedKey(ctx, ownerID, buildTokenName(buildID))
}

// buildTokenName cannot be that of an API token, for which it is too long.
func buildTokenName(buildID uuid.UUID) string { return "build-" + buildID.String() }

// PurgeKeys deletes keys that expired longer ago than keep. (CP-24)
func (s *Service) PurgeKeys(ctx context.Context, keep time.Duration) (int64, error) {
	return s.c.Store.DeleteExpiredAPIKeys(ctx, s.now().Add(-keep))
}

func apiKey(r sqlc.APIKey) coder.APIKey {
	out := coder.APIKey{
		ID: r.ID, UserID: r.UserID, LoginType: coder.LoginType(r.LoginType), TokenName: r.TokenName,
		Scopes: scopes(r.Scopes), AllowList: allowList(r.AllowList), LifetimeSeconds: r.LifetimeSeconds,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, LastUsed: r.LastUsedAt, ExpiresAt: r.ExpiresAt,
	}
	switch { // the field of old, which knows two values
	case slices.Contains(out.Scopes, coder.APIKeyScopeCoderAll):
		out.Scope = coder.APIKeyScopeAll
	case slices.Contains(out.Scopes, coder.APIKeyScopeCoderApplicationConnect):
		out.Scope = coder.APIKeyScopeApplicationConnect
	}
	return out
}
