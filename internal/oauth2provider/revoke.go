package oauth2provider

import (
	"context"
	"net/url"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Revoke revokes a token of the application (RFC 7009). A refresh token takes the consent with its access tokens with
// it. A token that is unknown, or belongs to another application, is not an error. The hint of the type is not
// needed.
func (s *Service) Revoke(ctx context.Context, o access.Origin, c Credentials, form url.Values) error {
	if err := single(form, "token", "token_type_hint", "client_id", "client_secret"); err != nil {
		return err
	}
	app, err := s.authenticate(ctx, c)
	if err != nil {
		return err
	}
	token := form.Get("token")
	if token == "" {
		return failure(InvalidRequest, "token: is required")
	}
	if id, secret, err := credential.ParseToken(token); err == nil {
		return s.revokeAccess(ctx, app, id, secret)
	}
	var user uuid.UUID
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		g, err := q.OAuth2GrantByRefresh(ctx, hash(token))
		if codersdk.Is(err, codersdk.CodeNotFound) || err == nil && g.AppID != app.ID {
			return nil
		}
		if err != nil {
			return err
		}
		user = g.UserID
		if _, err := q.OAuth2DeleteGrant(ctx, g.ID); err != nil {
			return err
		}
		actor := access.Subject{UserID: g.UserID, Origin: o}
		return recordConsent(ctx, q, actor, codersdk.AuditActionWrite, event{app.ID, app.Name, g.ID, g.Scopes, "ended by the application"})
	})
	if err == nil && user != uuid.Nil {
		s.changedRights(user)
	}
	return err
}

func (s *Service) revokeAccess(ctx context.Context, app client, id, secret string) error {
	row, err := s.c.Store.OAuth2GrantByKey(ctx, id)
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound):
		return nil
	case err != nil:
		return err
	case row.OAuth2Grant.AppID != app.ID || !credential.Matches(secret, row.APIKey.SecretHash):
		return nil
	}
	if _, err := s.c.Store.OAuth2DeleteKey(ctx, id); err != nil {
		return err
	}
	s.changedRights(row.OAuth2Grant.UserID)
	return nil
}

// RevokeApp ends all consents of the actor for an application, with their tokens.
func (s *Service) RevokeApp(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	if err := actor.Check(codersdk.RBACActionDelete, consents(actor.UserID)); err != nil {
		return err
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		app, err := q.OAuth2App(ctx, id)
		if err != nil {
			return err
		}
		n, err := q.OAuth2DeleteGrantsOfUser(ctx, actor.UserID, id)
		if err != nil || n == 0 {
			return err
		}
		return recordConsent(ctx, q, actor, codersdk.AuditActionWrite, event{app: id, name: app.Name, scopes: []string{}, happens: "ended by the user"})
	})
	if err == nil {
		s.changedRights(actor.UserID)
	}
	return err
}

// Grants returns a page of the actor's consents, by the name of the application.
func (s *Service) Grants(ctx context.Context, actor access.Subject, page codersdk.Page) ([]codersdk.OAuth2ProviderGrant, error) {
	if err := actor.Check(codersdk.RBACActionRead, consents(actor.UserID)); err != nil {
		return nil, err
	}
	rows, err := s.c.Store.OAuth2Grants(ctx, sqlc.OAuth2GrantsParams{
		UserID: actor.UserID, Now: s.now(), RowLimit: page.Rows(maxRows), RowOffset: page.Skip(),
	})
	out := make([]codersdk.OAuth2ProviderGrant, len(rows))
	for i, r := range rows {
		g := r.OAuth2Grant
		out[i] = codersdk.OAuth2ProviderGrant{
			ID: g.ID, App: s.view(r.OAuth2App), Scopes: access.ParseScopes(g.Scopes), CreatedAt: g.CreatedAt, LastUsedAt: g.LastUsedAt,
		}
		if g.Resource != "" {
			out[i].Resource = s.address(g.Resource)
		}
		if g.RefreshExpiresAt != nil {
			out[i].ExpiresAt = *g.RefreshExpiresAt
		}
	}
	return out, err
}
