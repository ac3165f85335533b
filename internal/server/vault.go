package server

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/vault"
)

// openVault holds the keys of c to what the database needs.
func (s *Server) openVault(ctx context.Context) (*vault.Vault, error) {
	v, err := vault.New(s.c.EncryptionKeys)
	if err != nil {
		return nil, err
	}
	return v, v.Admit(ctx, s.db.store)
}

// RotateEncryption encrypts everything in the database of c anew with the first
// of keys; the others open what was encrypted before. (ENC-01)
func RotateEncryption(ctx context.Context, c Config, keys []string) (n vault.Counts, err error) {
	return withVault(ctx, c, keys, (*vault.Vault).Rotate)
}

// Decrypt writes everything down in the database of c as it is; keys open it.
func Decrypt(ctx context.Context, c Config, keys []string) (vault.Counts, error) {
	return withVault(ctx, c, keys, (*vault.Vault).Decrypt)
}

// DropEncrypted deletes everything in the database of c that is encrypted.
func DropEncrypted(ctx context.Context, c Config) (vault.Counts, error) {
	return withVault(ctx, c, nil, func(_ *vault.Vault, ctx context.Context, store *postgres.Store) (vault.Counts, error) {
		return vault.Delete(ctx, store)
	})
}

func withVault(ctx context.Context, c Config, keys []string, do func(*vault.Vault, context.Context, *postgres.Store) (vault.Counts, error)) (n vault.Counts, err error) {
	v, err := vault.New(keys)
	if err != nil {
		return n, err
	}
	err = withStore(ctx, c, func(store *postgres.Store) error {
		n, err = do(v, ctx, store)
		return err
	})
	return n, err
}
