package dbcrypt

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// userSecretPlace is the place of a value in a row of user_secrets.
func userSecretPlace(id uuid.UUID) string { return "user_secrets value " + id.String() }

// SealUserSecret seals the value of a user's secret, which must not be empty. A value is never returned in
// clear: without keys the error is CodePrecondition, and CodeUnavailable while earlier servers, which do
// not have a generated key, may still run.
func (v *Vault) SealUserSecret(id uuid.UUID, value string) (sealed, digest string, err error) {
	if !v.HasKeys() {
		return "", "", codersdk.Errorf(codersdk.CodePrecondition,
			"User secrets require encryption of the database, which this deployment does not have; an administrator must set %s", flag)
	}
	sealed, digest = v.SealText(userSecretPlace(id), value)
	if digest == "" {
		return "", "", codersdk.Errorf(codersdk.CodeUnavailable,
			"User secrets cannot be stored in the first hour after the upgrade of this deployment; try again later")
	}
	return sealed, digest, nil
}

// OpenUserSecret returns the value of a user's secret.
func (v *Vault) OpenUserSecret(id uuid.UUID, sealed, digest string) (string, error) {
	return v.OpenText(userSecretPlace(id), sealed, digest)
}

func moveUserSecrets(ctx context.Context, q *sqlc.Queries, m move, after uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.UserSecretsSealed(ctx, after, m.digest(), m.plain)
	return forEach(rows, err, func(r sqlc.UserSecretsSealedRow) (uuid.UUID, error) {
		sealed, digest, err := m.text(userSecretPlace(r.ID), r.Value, r.ValueKeyID)
		if err != nil {
			return r.ID, err
		}
		return r.ID, q.UserSecretReseal(ctx, sealed, digest, r.ID)
	})
}
