package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// refreshEvery is how often at most the use of a key is written down; a
// session is extended at the same time. (AU-03)
const refreshEvery = time.Hour

// signedOut is the answer to every token that is no good: it does not say
// whether the token ever was.
func signedOut() error {
	return coder.Errorf(coder.CodeUnauthenticated, "Your session has ended or was never one of this server; log in to get another")
}

// Authenticate says who holds the token. It costs one query, and once an hour
// a write that notes the use and extends a session.
func (s *Service) Authenticate(ctx context.Context, token string, o access.Origin) (access.Subject, error) {
	if token == "" {
		return access.Subject{}, signedOut()
	}
	id, secret, err := parseToken(token)
	if err != nil {
		return access.Subject{}, err
	}
	row, err := s.keyRow(ctx, id)
	if err != nil {
		return access.Subject{}, err
	}
	if !matches(secret, row.APIKey.SecretHash) {
		return access.Subject{}, signedOut()
	}
	return s.subject(ctx, row, o)
}

// AuthenticateKey says who holds the key of that id. It is for callers who have
// seen proof that its holder sent the request, such as our own signature.
func (s *Service) AuthenticateKey(ctx context.Context, id string, o access.Origin) (access.Subject, error) {
	row, err := s.keyRow(ctx, id)
	if err != nil {
		return access.Subject{}, err
	}
	return s.subject(ctx, row, o)
}

func (s *Service) keyRow(ctx context.Context, id string) (sqlc.APIKeyWithUserRow, error) {
	row, err := s.c.Store.APIKeyWithUser(ctx, id)
	if coder.Is(err, coder.CodeNotFound) {
		return row, signedOut()
	}
	if err != nil {
		return row, fmt.Errorf("look up session: %w", err)
	}
	return row, nil
}

// subject gives whose key it is, while it is good, and notes the use.
func (s *Service) subject(ctx context.Context, row sqlc.APIKeyWithUserRow, o access.Origin) (access.Subject, error) {
	now, k, u := s.now(), row.APIKey, row.UserSubject
	if !k.ExpiresAt.After(now) || u.DeletedAt != nil {
		return access.Subject{}, signedOut()
	}
	if u.Status == string(coder.UserStatusSuspended) {
		return access.Subject{}, suspended()
	}
	if at := k.ProviderCheckAt; at != nil && !at.After(now) && s.c.Verify != nil {
		if err := s.c.Verify(ctx, u.ID, coder.LoginType(k.LoginType)); err != nil {
			return access.Subject{}, err
		}
	}
	subject, err := s.rights(u)
	if err != nil {
		return access.Subject{}, err
	}
	subject.Scopes, subject.AllowList, subject.KeyID, subject.Origin = scopes(k.Scopes), allowList(k.AllowList), k.ID, o
	if now.Sub(k.LastUsedAt) >= refreshEvery || now.Sub(u.LastSeenAt) >= refreshEvery || u.Status == string(coder.UserStatusDormant) {
		if err := s.touch(ctx, k, o, now); err != nil {
			return access.Subject{}, err
		}
	}
	return subject, nil
}

// rights gives the subject that a user is without any token.
func (s *Service) rights(u sqlc.UserSubject) (access.Subject, error) {
	out := access.Subject{
		UserID: u.ID, Username: u.Username, SiteRoles: u.SiteRoles, Groups: u.Groups,
		NoOwnerWorkspaceAccess: s.c.DisableOwnerWorkspaceAccess, NoSharing: s.c.DisableWorkspaceSharing,
	}
	var custom []struct {
		coder.Role
		OrganizationID uuid.UUID `json:"organization_id"`
	}
	if err := errors.Join(json.Unmarshal(u.Organizations, &out.OrganizationRoles), json.Unmarshal(u.CustomRoles, &custom)); err != nil {
		return access.Subject{}, fmt.Errorf("read the roles of %s: %w", u.Username, err)
	}
	for _, c := range custom {
		if out.CustomRoles == nil {
			out.CustomRoles = map[uuid.UUID][]coder.Role{}
		}
		out.CustomRoles[c.OrganizationID] = append(out.CustomRoles[c.OrganizationID], c.Role)
	}
	return out, nil
}

// touch notes that a key was used, and extends a session.
func (s *Service) touch(ctx context.Context, k sqlc.APIKey, o access.Origin, now time.Time) error {
	expires := k.ExpiresAt
	if k.LoginType != string(coder.LoginTypeToken) && k.TokenName == "" && !s.c.DisableSessionRefresh {
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

// SubjectOf gives the subject that a user is without any token: for the
// server when it acts in the user's name. A suspended user is one too.
func (s *Service) SubjectOf(ctx context.Context, userID uuid.UUID) (access.Subject, error) {
	u, err := s.c.Store.UserSubject(ctx, userID)
	if err != nil {
		return access.Subject{}, err
	}
	return s.rights(u)
}

func suspended() error {
	return coder.Errorf(coder.CodeUnauthenticated, "Your account is suspended. Contact an administrator of this deployment to have it activated.")
}

func scopes(stored []string) []coder.APIKeyScope {
	out := make([]coder.APIKeyScope, len(stored))
	for i, v := range stored {
		out[i] = coder.APIKeyScope(v)
	}
	return out
}

// allowList reads entries of the form type:id. A row without any permits nothing.
func allowList(stored []string) []coder.APIAllowListTarget {
	out := make([]coder.APIAllowListTarget, 0, max(1, len(stored)))
	for _, v := range stored {
		t, id, _ := strings.Cut(v, ":")
		out = append(out, coder.APIAllowListTarget{Type: coder.RBACResource(t), ID: id})
	}
	if len(out) == 0 {
		out = append(out, coder.APIAllowListTarget{})
	}
	return out
}
