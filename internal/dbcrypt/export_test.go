package dbcrypt

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// SealPlain is sealPlain for tests.
func (v *Vault) SealPlain(ctx context.Context, store *postgres.Store) (Counts, error) {
	return v.sealPlain(ctx, store)
}
