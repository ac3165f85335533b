package vault

import (
	"context"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// known is what the test value of a key holds, and where it stands.
const (
	known     = "coder"
	testPlace = "dbcrypt_keys test"
)

// Admit holds the keys of the vault to those that the database needs, and
// registers the one that seals. Error: a key that the database needs is
// missing or is another than it was.
func (v *Vault) Admit(ctx context.Context, store *postgres.Store) error {
	return store.Tx(ctx, func(q *sqlc.Queries) error {
		needed, err := q.VaultKeys(ctx)
		if err != nil {
			return err
		}
		var missing []string
		for _, k := range needed {
			mine, ok := v.find(k.Digest)
			if !ok {
				missing = append(missing, k.Digest)
				continue
			}
			if err := mine.prove(k); err != nil {
				return err
			}
		}
		if len(missing) > 0 {
			return coder.Errorf(coder.CodePrecondition,
				"The database holds values that are encrypted with the key(s) %s, which the server was not given: add them to %s, or drop what they encrypt with 'coder server dbcrypt delete'",
				strings.Join(missing, ", "), flag)
		}
		return v.register(ctx, q)
	})
}

// prove says whether a key of the same digest is the same key.
func (k key) prove(row sqlc.DbcryptKey) error {
	one := &Vault{keys: []key{k}}
	if got, err := one.OpenText(testPlace, row.Test, k.digest); err != nil || got != known {
		return coder.Errorf(coder.CodePrecondition, "The key %s of %s is not the one that the database was encrypted with, although it has its digest", k.digest, flag)
	}
	return nil
}

// register notes that the newest key seals values from now on.
func (v *Vault) register(ctx context.Context, q *sqlc.Queries) error {
	if v == nil || len(v.keys) == 0 {
		return nil
	}
	test, digest := v.SealText(testPlace, known)
	return q.VaultRegister(ctx, digest, test)
}

// Counts tells what a change of keys went through.
type Counts struct{ Accounts, Keys int }

// Rotate seals everything anew with the newest of the vault's keys, which must
// be able to open all there is. The other keys are needed no more. Servers
// that run meanwhile must have the new key already.
func (v *Vault) Rotate(ctx context.Context, store *postgres.Store) (n Counts, err error) {
	if v == nil || len(v.keys) == 0 {
		return n, coder.Errorf(coder.CodeInvalid, "A key to encrypt with is required: use --new-key")
	}
	err = store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := v.register(ctx, q); err != nil {
			return err
		}
		if n, err = v.reseal(ctx, q, v); err != nil {
			return err
		}
		return q.VaultRevoke(ctx, v.keys[0].digest)
	})
	return n, err
}

// Decrypt writes everything down as it is, so that no key is needed any more.
// No server may run meanwhile.
func (v *Vault) Decrypt(ctx context.Context, store *postgres.Store) (n Counts, err error) {
	err = store.Tx(ctx, func(q *sqlc.Queries) error {
		if n, err = v.reseal(ctx, q, nil); err != nil {
			return err
		}
		return q.VaultRevoke(ctx, "")
	})
	return n, err
}

// Delete drops everything that is encrypted: people whose provider gave tokens
// log in again, and signing keys are made anew. No server may run meanwhile.
func Delete(ctx context.Context, store *postgres.Store) (n Counts, err error) {
	err = store.Tx(ctx, func(q *sqlc.Queries) error {
		accounts, err := q.VaultDropTokens(ctx)
		if err != nil {
			return err
		}
		keys, err := q.VaultDropKeys(ctx)
		if err != nil {
			return err
		}
		n = Counts{int(accounts), int(keys)}
		return q.VaultRevoke(ctx, "")
	})
	return n, err
}

// reseal opens everything by v and seals it by to.
func (v *Vault) reseal(ctx context.Context, q *sqlc.Queries, to *Vault) (n Counts, err error) {
	links, err := q.VaultLinks(ctx)
	if err != nil {
		return n, err
	}
	for _, l := range links {
		t, err := v.OpenTokens(l)
		if err != nil {
			return n, coder.Errorf(coder.CodePrecondition, "Nothing was changed: %s", err)
		}
		s := to.SealTokens(l, t)
		err = q.VaultSetTokens(ctx, sqlc.VaultSetTokensParams{
			UserID: l.UserID, LoginType: l.LoginType,
			AccessToken: s.Access, AccessTokenKeyID: s.AccessKey, RefreshToken: s.Refresh, RefreshTokenKeyID: s.RefreshKey,
		})
		if err != nil {
			return n, err
		}
		n.Accounts++
	}
	keys, err := q.VaultSigningKeys(ctx)
	if err != nil {
		return n, err
	}
	for _, k := range keys {
		secret, err := v.OpenKey(k)
		if err != nil {
			return n, coder.Errorf(coder.CodePrecondition, "Nothing was changed: %s", err)
		}
		k.Secret = secret
		sealed, digest := to.SealKey(k)
		if err := q.VaultSetKey(ctx, sqlc.VaultSetKeyParams{Secret: sealed, SecretKeyID: digest, Feature: k.Feature, Sequence: k.Sequence}); err != nil {
			return n, err
		}
		n.Keys++
	}
	return n, nil
}
