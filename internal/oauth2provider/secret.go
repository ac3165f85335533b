package oauth2provider

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Form of a client secret: "coder_<prefix>_<secret>". The prefix finds the row.
const (
	secretStart  = "coder_"
	prefixLength = 10
	secretLength = 40
	maxSecrets   = 100 // of one application
)

var secretObject = access.Object{Type: codersdk.RBACResourceOauth2AppSecret}

// Secrets lists the secrets of an application without their values, the oldest first.
func (s *Service) Secrets(ctx context.Context, actor access.Subject, app uuid.UUID) ([]codersdk.OAuth2ProviderAppSecret, error) {
	if err := actor.Check(codersdk.RBACActionRead, secretObject); err != nil {
		return nil, err
	}
	if _, err := s.c.Store.OAuth2App(ctx, app); err != nil {
		return nil, err
	}
	rows, err := s.c.Store.OAuth2Secrets(ctx, app)
	out := make([]codersdk.OAuth2ProviderAppSecret, len(rows))
	for i, r := range rows {
		out[i] = codersdk.OAuth2ProviderAppSecret{ID: r.ID, ClientSecretTruncated: r.Display, LastUsedAt: r.LastUsedAt}
	}
	return out, err
}

// CreateSecret creates a secret of an application. Its value is returned once.
func (s *Service) CreateSecret(ctx context.Context, actor access.Subject, app uuid.UUID) (out codersdk.OAuth2ProviderAppSecretFull, err error) {
	if err := actor.Check(codersdk.RBACActionCreate, secretObject); err != nil {
		return out, err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.OAuth2AppForUpdate(ctx, app)
		if err != nil {
			return err
		}
		if isPublic(row) {
			return codersdk.Errorf(codersdk.CodeConflict, "%s is a public client, which has no secret", row.Name)
		}
		all, err := q.OAuth2Secrets(ctx, app)
		if err != nil {
			return err
		}
		if len(all) >= maxSecrets {
			return codersdk.Errorf(codersdk.CodeConflict, "The application has %d secrets, which is the maximum; delete one first", maxSecrets)
		}
		if out, err = s.insertSecret(ctx, q, app); err != nil {
			return err
		}
		return recordSecret(ctx, q, actor, codersdk.AuditActionCreate, row, out.ID)
	})
	return out, err
}

func (s *Service) insertSecret(ctx context.Context, q *sqlc.Queries, app uuid.UUID) (codersdk.OAuth2ProviderAppSecretFull, error) {
	prefix, secret := credential.RandomText(prefixLength), credential.RandomText(secretLength)
	out := codersdk.OAuth2ProviderAppSecretFull{ID: uuid.New(), ClientSecretFull: secretStart + prefix + "_" + secret}
	return out, q.OAuth2InsertSecret(ctx, sqlc.OAuth2InsertSecretParams{
		ID: out.ID, AppID: app, Prefix: prefix, SecretHash: hash(secret), Display: secret[secretLength-6:], Now: s.now(),
	})
}

// DeleteSecret deletes a secret of an application, and the consents whose tokens were issued to it.
func (s *Service) DeleteSecret(ctx context.Context, actor access.Subject, app, id uuid.UUID) error {
	if err := actor.Check(codersdk.RBACActionDelete, secretObject); err != nil {
		return err
	}
	var users []uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.OAuth2AppForUpdate(ctx, app)
		if err != nil {
			return err
		}
		if users, err = q.OAuth2UsersOfSecret(ctx, &id); err != nil {
			return err
		}
		n, err := q.OAuth2DeleteSecret(ctx, id, app)
		if err != nil {
			return err
		}
		if n == 0 {
			return codersdk.NotFound()
		}
		return recordSecret(ctx, q, actor, codersdk.AuditActionDelete, row, id)
	})
	if err == nil {
		s.changedRights(users...)
	}
	return err
}

func recordSecret(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.AuditAction, app sqlc.OAuth2App, id uuid.UUID) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeOauth2ProviderAppSecret, ResourceID: id, Target: app.Name, Icon: app.Icon,
		Fields: map[string]any{"oauth2_app_id": app.ID},
	})
}

// Credentials are what an application proves itself with.
type Credentials struct {
	ClientID string
	Secret   string // "" for public clients
}

// client is an authenticated application.
type client struct {
	sqlc.OAuth2App
	secretID *uuid.UUID // nil for public clients
}

// authenticate returns the application of the credentials.
func (s *Service) authenticate(ctx context.Context, c Credentials) (client, error) {
	refused := failure(InvalidClient, "The client ID or the client secret is wrong")
	id, err := uuid.Parse(c.ClientID)
	if err != nil {
		return client{}, refused
	}
	app, err := s.c.Store.OAuth2App(ctx, id)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return client{}, refused
	}
	if err != nil {
		return client{}, err
	}
	if isPublic(app) {
		if c.Secret != "" {
			return client{}, failure(InvalidClient, "The application is a public client, which has no secret")
		}
		return client{OAuth2App: app}, nil
	}
	prefix, secret, ok := strings.Cut(strings.TrimPrefix(c.Secret, secretStart), "_")
	if !ok || len(prefix) != prefixLength || len(secret) != secretLength || strings.ContainsRune(prefix, 0) {
		return client{}, refused
	}
	row, err := s.c.Store.OAuth2SecretByPrefix(ctx, strings.ToValidUTF8(prefix, ""), app.ID)
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound), err == nil && !credential.Matches(secret, row.SecretHash):
		return client{}, refused
	case err != nil:
		return client{}, err
	}
	return client{app, &row.ID}, s.c.Store.OAuth2TouchSecret(ctx, s.now(), row.ID)
}
