package dbcrypt

import (
	"context"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// The known value that each key seals, and its place.
const (
	known     = "coder"
	testPlace = "dbcrypt_keys test"
)

// Admit compares the keys of the Vault with those that the database requires, and registers the sealing
// key. It returns an error if a required key is missing or differs. The Vault is ready afterwards if no
// server of an earlier version ran in the last hour.
func (v *Vault) Admit(ctx context.Context, store *postgres.Store) error {
	if v == nil {
		v = &Vault{}
	}
	ready := false
	err := store.Tx(ctx, func(q *sqlc.Queries) (err error) {
		if err := v.require(ctx, q); err != nil {
			return err
		}
		if ready, err = checkReady(ctx, q); err != nil || v.deferred && !ready {
			return err
		}
		return v.register(ctx, q)
	})
	if err == nil && ready {
		v.ready.Store(true)
	}
	return err
}

// require returns an error unless the Vault has all keys that the database requires.
func (v *Vault) require(ctx context.Context, q *sqlc.Queries) error {
	needed, err := q.DbcryptKeys(ctx)
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
		return codersdk.Errorf(
			codersdk.CodePrecondition,
			"The database contains values that are encrypted with the key(s) %s, which the server does not have: add them to %s, or delete the encrypted values with 'coder server dbcrypt delete'",
			strings.Join(missing, ", "),
			flag,
		)
	}
	return nil
}

// prove reports whether a key with the same digest is the same key.
func (k key) prove(row sqlc.DbcryptKey) error {
	one := &Vault{keys: []key{k}}
	if got, err := one.OpenText(testPlace, row.Test, k.digest); err != nil || got != known {
		return codersdk.Errorf(
			codersdk.CodePrecondition,
			"The key %s of %s is not the key that the database was encrypted with, although it has the same digest",
			k.digest,
			flag,
		)
	}
	return nil
}

// register records that the newest key seals values from now on.
func (v *Vault) register(ctx context.Context, q *sqlc.Queries) error {
	if !v.HasKeys() {
		return nil
	}
	test, digest := (&Vault{keys: v.keys[:1]}).SealText(testPlace, known)
	return q.DbcryptRegister(ctx, digest, test)
}

// Rotate seals all values again with the newest key of the Vault, which must have all keys that the database
// requires. Afterwards the other keys are not needed. Running servers must already have the new key. It
// works in batches; after an interruption it can run again.
func (v *Vault) Rotate(ctx context.Context, store *postgres.Store) (Counts, error) {
	if !v.HasKeys() {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "A key to encrypt with is required: use --new-key")
	}
	ready := false
	err := store.Tx(ctx, func(q *sqlc.Queries) (err error) {
		if err := v.require(ctx, q); err != nil {
			return codersdk.Errorf(codersdk.CodePrecondition, "Nothing was changed: %s", err)
		}
		if ready, err = checkReady(ctx, q); err != nil {
			return err
		}
		return v.register(ctx, q)
	})
	if err != nil {
		return nil, err
	}
	v.ready.Store(ready)
	counts, err := move{from: v, to: v}.run(ctx, store)
	if err != nil {
		return counts, err
	}
	return counts, store.DbcryptRevoke(ctx, v.keys[0].digest)
}

// Decrypt stores all values in clear, so that no key is needed. No server may run at the same time. It
// works in batches; after an interruption it can run again.
func (v *Vault) Decrypt(ctx context.Context, store *postgres.Store) (Counts, error) {
	if err := store.Tx(ctx, func(q *sqlc.Queries) error { return v.require(ctx, q) }); err != nil {
		return nil, codersdk.Errorf(codersdk.CodePrecondition, "Nothing was changed: %s", err)
	}
	counts, err := move{from: v, to: nil}.run(ctx, store)
	if err != nil {
		return counts, err
	}
	return counts, store.DbcryptRevoke(ctx, "")
}

// Delete deletes all encrypted values, in one transaction. No server may run at the same time. Users of
// identity providers must sign in again and create new SSH keys, workspaces lose their Terraform state,
// and sensitive variables return to their defaults.
func Delete(ctx context.Context, store *postgres.Store) (counts Counts, err error) {
	err = store.Tx(ctx, func(q *sqlc.Queries) error {
		counts = nil
		for _, c := range columns {
			n, err := c.drop(ctx, q)
			if err != nil {
				return err
			}
			if n > 0 {
				counts = append(counts, Count{c.name, n})
			}
		}
		return q.DbcryptRevoke(ctx, "")
	})
	return counts, err
}
