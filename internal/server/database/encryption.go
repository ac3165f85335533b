package database

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// noEncryption is the value of Config.EncryptionKeys that turns encryption off.
const noEncryption = "none"

// InClear reports whether secrets are stored in clear and nobody chose that.
func (c Config) InClear() bool { return c.URL != "" && len(c.EncryptionKeys) == 0 }

// unencrypted reports whether encryption is turned off.
func (c Config) unencrypted() bool { return slices.Equal(c.EncryptionKeys, []string{noEncryption}) }

// keyFile returns the file with the generated key of the built-in database.
func (c Config) keyFile() string { return filepath.Join(c.ConfigDir, keyFileName) }

// Vault returns the encryption of columns, after a check that its keys open what the database holds. For the
// built-in database it creates a key if none is configured. It logs a warning if an external database is not
// encrypted.
func (c Config) Vault(ctx context.Context, store *postgres.Store) (*dbcrypt.Vault, error) {
	if c.unencrypted() {
		v := &dbcrypt.Vault{}
		return v, v.Admit(ctx, store)
	}
	if c.InClear() && c.Log != nil {
		c.Log.WarnContext(ctx, "secrets in the database are not encrypted: SSH keys of users, Terraform states, sensitive template variables, "+
			"and tokens of identity providers; set --external-token-encryption-keys to a key of 'openssl rand -base64 32', or to none to accept this")
	}
	create := dbcrypt.New
	keys, err := c.withGenerated(c.EncryptionKeys)
	if err != nil {
		return nil, err
	}
	if c.URL == "" && len(c.EncryptionKeys) == 0 {
		create = dbcrypt.NewDeferred
		if len(keys) == 0 {
			key, err := c.generate(ctx, store)
			if err != nil {
				return nil, err
			}
			keys = []string{key}
		}
	}
	v, err := create(keys)
	if err != nil {
		return nil, err
	}
	return v, v.Admit(ctx, store)
}

// withGenerated returns keys and, for the built-in database, its generated key if there is one.
func (c Config) withGenerated(keys []string) ([]string, error) {
	if c.URL != "" {
		return keys, nil
	}
	generated, err := readKey(c.keyFile())
	if err != nil {
		return nil, codersdk.Errorf(codersdk.CodePrecondition, "read the encryption key of the built-in database: %s", err)
	}
	if generated == "" || slices.Contains(keys, generated) {
		return keys, nil
	}
	return append(slices.Clone(keys), generated), nil
}

// generate creates the key of the built-in database, unless the database is encrypted with another one.
func (c Config) generate(ctx context.Context, store *postgres.Store) (string, error) {
	if err := (&dbcrypt.Vault{}).Admit(ctx, store); err != nil {
		return "", codersdk.Errorf(codersdk.CodePrecondition, "the key file %s of the built-in database is missing; restore it from a backup: %s", c.keyFile(), err)
	}
	key, err := createKey(c.keyFile())
	if err != nil {
		return "", codersdk.Errorf(codersdk.CodePrecondition, "create the encryption key of the built-in database: %s", err)
	}
	return key, nil
}

// RotateEncryption encrypts every encrypted column again with the first of keys; the others decrypt what was
// encrypted earlier. (ENC-01)
func RotateEncryption(ctx context.Context, c Config, keys []string) (dbcrypt.Counts, error) {
	return withVault(ctx, c, keys, (*dbcrypt.Vault).Rotate)
}

// Decrypt stores every encrypted column unencrypted; keys decrypt it.
func Decrypt(ctx context.Context, c Config, keys []string) (dbcrypt.Counts, error) {
	return withVault(ctx, c, keys, (*dbcrypt.Vault).Decrypt)
}

// DropEncrypted deletes everything that is encrypted.
func DropEncrypted(ctx context.Context, c Config) (dbcrypt.Counts, error) {
	return withVault(ctx, c, nil, func(_ *dbcrypt.Vault, ctx context.Context, store *postgres.Store) (dbcrypt.Counts, error) {
		return dbcrypt.Delete(ctx, store)
	})
}

type vaultWork = func(*dbcrypt.Vault, context.Context, *postgres.Store) (dbcrypt.Counts, error)

// withVault calls work with keys and the generated key of the built-in database.
func withVault(ctx context.Context, c Config, keys []string, work vaultWork) (n dbcrypt.Counts, err error) {
	keys, err = c.withGenerated(keys)
	if err != nil {
		return nil, err
	}
	v, err := dbcrypt.New(keys)
	if err != nil {
		return n, err
	}
	err = With(ctx, c, func(store *postgres.Store) error {
		n, err = work(v, ctx, store)
		return err
	})
	return n, err
}
