package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/identity/tokenrule"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// refreshEvery is the shortest interval between two updates of a key's last use. A
// session is extended at the same time. (AU-03)
const refreshEvery = time.Hour

// signedOut returns the error for every invalid token. It does not reveal whether
// the token was ever valid.
func signedOut() error {
	return codersdk.Errorf(codersdk.CodeUnauthenticated, "Your session has ended or is not valid on this server. Sign in again.")
}

// expired returns the error for an expired key. The caller has shown the secret.
// Clients search the detail for "API key expired".
func expired(at time.Time) error {
	return codersdk.Errorf(codersdk.CodeUnauthenticated, "Your session has ended or is not valid on this server. Sign in again.").
		WithDetail("API key expired at %q.", at.UTC().Format(time.RFC3339))
}

// Authenticate returns the subject of a token. It costs one query, and once an hour
// a write that records the use and extends a session.
func (s *Service) Authenticate(ctx context.Context, token string, o access.Origin) (access.Subject, error) {
	if token == "" {
		return access.Subject{}, signedOut()
	}
	id, secret, err := credential.ParseToken(token)
	if err != nil {
		return access.Subject{}, err
	}
	row, err := s.keyRow(ctx, id)
	if err != nil {
		return access.Subject{}, err
	}
	if !credential.Matches(secret, row.APIKey.SecretHash) {
		return access.Subject{}, signedOut()
	}
	return s.subject(ctx, row, o)
}

// AuthenticateKey returns the subject of the key with that ID. Callers must have
// proof that the holder of the key sent the request, such as a signature of ours.
func (s *Service) AuthenticateKey(ctx context.Context, id string, o access.Origin) (access.Subject, error) {
	row, err := s.keyRow(ctx, id)
	if err != nil {
		return access.Subject{}, err
	}
	return s.subject(ctx, row, o)
}

func (s *Service) keyRow(ctx context.Context, id string) (sqlc.APIKeyWithUserRow, error) {
	row, err := s.c.Store.APIKeyWithUser(ctx, id)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return row, signedOut()
	}
	if err != nil {
		return row, fmt.Errorf("look up session: %w", err)
	}
	return row, nil
}

// subject returns the subject of a valid key and records its use.
func (s *Service) subject(ctx context.Context, row sqlc.APIKeyWithUserRow, o access.Origin) (access.Subject, error) {
	now, k, u := s.now(), row.APIKey, row.UserSubject
	switch {
	case u.DeletedAt != nil:
		return access.Subject{}, signedOut()
	case !k.ExpiresAt.After(now):
		return access.Subject{}, expired(k.ExpiresAt)
	case !inAudience(k.Audience, o.Path):
		return access.Subject{}, codersdk.Errorf(codersdk.CodeUnauthenticated,
			"This token is limited to %s and is not valid here. Request a token for this resource.", k.Audience)
	}
	if u.Status == string(codersdk.UserStatusSuspended) {
		return access.Subject{}, suspended()
	}
	if at := k.ProviderCheckAt; at != nil && !at.After(now) && s.c.Verify != nil {
		if err := s.c.Verify(ctx, u.ID, codersdk.LoginType(k.LoginType)); err != nil {
			return access.Subject{}, err
		}
	}
	if err := tokenrule.CheckUse(ctx, s.c.Store.Queries, row, now); err != nil {
		return access.Subject{}, err
	}
	subject, err := s.rights(u)
	if err != nil {
		return access.Subject{}, err
	}
	subject.Scopes, subject.AllowList, subject.KeyID, subject.Origin = access.ParseScopes(k.Scopes), access.ParseAllowList(k.AllowList), k.ID, o
	if now.Sub(k.LastUsedAt) >= refreshEvery || now.Sub(u.LastSeenAt) >= refreshEvery || u.Status == string(codersdk.UserStatusDormant) {
		if err := s.touch(ctx, k, o, now); err != nil {
			return access.Subject{}, err
		}
	}
	return subject, nil
}

// inAudience reports whether a key that is limited to the part of the API below a path is valid for the path of a
// request. "" does not limit it.
func inAudience(audience, path string) bool {
	return audience == "" || path == audience || strings.HasPrefix(path, audience+"/")
}

// rights returns the subject of a user without a token.
func (s *Service) rights(u sqlc.UserSubject) (access.Subject, error) {
	out := access.Subject{
		UserID: u.ID, Username: u.Username, SiteRoles: u.SiteRoles, Groups: u.Groups,
		NoOwnerWorkspaceAccess: s.c.DisableOwnerWorkspaceAccess, NoSharing: s.c.DisableWorkspaceSharing,
	}
	var custom []struct {
		codersdk.Role
		OrganizationID uuid.UUID `json:"organization_id"`
	}
	if err := errors.Join(json.Unmarshal(u.Organizations, &out.OrganizationRoles), json.Unmarshal(u.CustomRoles, &custom)); err != nil {
		return access.Subject{}, fmt.Errorf("read the roles of %s: %w", u.Username, err)
	}
	for _, c := range custom {
		if out.CustomRoles == nil {
			out.CustomRoles = map[uuid.UUID][]codersdk.Role{}
		}
		out.CustomRoles[c.OrganizationID] = append(out.CustomRoles[c.OrganizationID], c.Role)
	}
	return out, nil
}

// touch records the use of a key and extends a session.
func (s *Service) touch(ctx context.Context, k sqlc.APIKey, o access.Origin, now time.Time) error {
	expires := k.ExpiresAt
	if k.LoginType != string(codersdk.LoginTypeToken) && k.TokenName == "" && !s.c.DisableSessionRefresh {
		expires = now.Add(time.Duration(k.LifetimeSeconds) * time.Second)
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		p := sqlc.TouchAPIKeyParams{ID: k.ID, Now: now, ExpiresAt: expires, IPAddress: k.IPAddress}
		if o.IP.IsValid() {
			p.IPAddress = &o.IP
		}
		if err := q.TouchAPIKey(ctx, p); err != nil {
			return err
		}
		return q.TouchUser(ctx, now, k.UserID)
	})
	if err != nil {
		return fmt.Errorf("extend session: %w", err)
	}
	return nil
}

// SubjectOf returns the subject of a user without a token. The server uses it to act
// on the user's behalf. It also returns suspended users.
func (s *Service) SubjectOf(ctx context.Context, userID uuid.UUID) (access.Subject, error) {
	u, err := s.c.Store.UserSubject(ctx, userID)
	if err != nil {
		return access.Subject{}, err
	}
	return s.rights(u)
}

func suspended() error {
	return codersdk.Errorf(codersdk.CodeUnauthenticated, "Your account is suspended. Contact an administrator of this deployment to have it activated.")
}
