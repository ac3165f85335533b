// Package dbcrypt encrypts secrets in the database: tokens of identity providers, signing keys, users' SSH
// keys, Terraform states, sensitive variables of templates, and tokens of agents that the server must
// return. A copy of the database alone does not reveal them.
//
// Each value is sealed with AES-256-GCM under the newest key of the deployment and bound to its place, so
// that it cannot be moved to another row. The digest of the key is stored beside it. Every key of the
// deployment can open. The table dbcrypt_keys lists the required keys, with a known value sealed by each.
// A server that lacks one of them, or has another key with the same digest, does not start. Without keys
// values are stored in clear. (ENC-01)
//
// During a rolling upgrade, servers of the previous version read the same rows. They can open what they
// sealed themselves, but not the columns that this version added. So those columns are sealed, and tokens
// of agents replaced by their hashes, only once no earlier server ran for an hour; see Vault.Ready. From
// then on earlier servers refuse to start. A Keeper seals what is in clear, in small batches.
//
// To add a column: store the digest beside it, seal and open with SealText and OpenText under a place that
// names table, column and row, and add an entry to columns.
package dbcrypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// flag is the option with the keys, for messages.
const flag = "--external-token-encryption-keys"

// key is one key with its digest.
type key struct {
	digest string
	aead   cipher.AEAD
}

// Vault seals and opens values. The zero value and nil have no keys: they store values in clear and open
// only such values. A Vault is safe for concurrent use.
type Vault struct {
	keys     []key
	deferred bool // seals nothing before it is ready
	ready    atomic.Bool
}

// New returns a Vault with keys of 32 bytes in base64, the newest first. The first key seals, all open.
// Errors do not quote keys.
func New(keys []string) (*Vault, error) { return newVault(keys, false) }

// NewDeferred is New for keys that earlier servers do not have: nothing is sealed before the Vault is
// ready.
func NewDeferred(keys []string) (*Vault, error) { return newVault(keys, true) }

func newVault(keys []string, deferred bool) (*Vault, error) {
	v := &Vault{deferred: deferred}
	for i, text := range keys {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil || len(b) != 32 {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "Key %d of %s is not 32 bytes in base64; create one with 'openssl rand -base64 32'", i+1, flag)
		}
		block, err := aes.NewCipher(b)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		k := key{hex.EncodeToString(sum[:7]), aead}
		if _, twice := v.find(k.digest); twice {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "Key %d of %s is a duplicate", i+1, flag)
		}
		v.keys = append(v.keys, k)
	}
	return v, nil
}

func (v *Vault) find(digest string) (key, bool) {
	if v != nil {
		for _, k := range v.keys {
			if k.digest == digest {
				return k, true
			}
		}
	}
	return key{}, false
}

// HasKeys reports whether the Vault encrypts values.
func (v *Vault) HasKeys() bool { return v != nil && len(v.keys) > 0 }

// Ready reports whether all servers can read the columns that this version seals, and find agents by the
// hash of their token. A Vault becomes ready in Admit or by its Keeper, and stays ready; nil is ready.
func (v *Vault) Ready() bool { return v == nil || v.ready.Load() }

// late returns the Vault for columns that servers of the previous version read in clear.
func (v *Vault) late() *Vault {
	if v.Ready() {
		return v
	}
	return nil
}

// Seal seals a value for its place, such as "user_links access_token <id>", and returns the digest of the
// key: "" if the Vault has no keys or the value is empty.
func (v *Vault) Seal(place string, value []byte) (sealed []byte, digest string) {
	if !v.HasKeys() || len(value) == 0 || v.deferred && !v.Ready() {
		return value, ""
	}
	k := v.keys[0]
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(value)+k.aead.Overhead())
	rand.Read(nonce) //nolint:errcheck // documented never to fail
	return k.aead.Seal(nonce, nonce, value, []byte(place)), k.digest
}

// Open returns the value that was sealed for a place. A value without a digest is returned as it is.
func (v *Vault) Open(place string, sealed []byte, digest string) ([]byte, error) {
	if digest == "" {
		return sealed, nil
	}
	k, ok := v.find(digest)
	if !ok {
		return nil, fmt.Errorf("a value in the database is encrypted with the key %s, which this server does not have; add the key to %s", digest, flag)
	}
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return nil, fmt.Errorf("an encrypted value in the database (%s) is corrupt: it is too short", place)
	}
	value, err := k.aead.Open(nil, sealed[:n], sealed[n:], []byte(place))
	if err != nil {
		return nil, fmt.Errorf(
			"an encrypted value in the database (%s) is corrupt, was moved from another place, or was encrypted with another key with the digest %s",
			place,
			digest,
		)
	}
	return value, nil
}

// SealText is Seal for text columns.
func (v *Vault) SealText(place, value string) (sealed, digest string) {
	b, digest := v.Seal(place, []byte(value))
	if digest == "" {
		return value, ""
	}
	return base64.StdEncoding.EncodeToString(b), digest
}

// OpenText is Open for text columns.
func (v *Vault) OpenText(place, sealed, digest string) (string, error) {
	if digest == "" {
		return sealed, nil
	}
	b, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", fmt.Errorf("an encrypted value in the database (%s) is corrupt: it is not base64", place)
	}
	value, err := v.Open(place, b, digest)
	return string(value), err
}
