// Package vault keeps secrets of others in the database so that a copy of the
// database alone does not give them away: the tokens that identity providers
// gave, and the keys that sign what browsers carry to apps.
//
// Each value is sealed by AES-256-GCM under the newest key of the deployment,
// bound to its place, so that it cannot be moved to another row, and stands
// beside the digest of the key. All keys of the deployment open. Which keys
// the database needs is in dbcrypt_keys, with a known value sealed by each: a
// server that lacks one of them, or has another of the same digest, does not
// start. Without keys values are kept as they are. (ENC-01)
package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
)

// flag is where keys are given, for messages.
const flag = "--external-token-encryption-keys"

// key is one key: what it seals with, and by which digest it is known.
type key struct {
	digest string
	aead   cipher.AEAD
}

// Vault seals and opens values. The zero value and nil have no keys: they keep
// values as they are, and open what is not sealed. It is safe for concurrent use.
type Vault struct{ keys []key }

// New makes a vault of keys of 32 bytes in base64, the newest first: it seals,
// all open. Errors do not quote keys.
func New(keys []string) (*Vault, error) {
	v := &Vault{}
	for i, text := range keys {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil || len(b) != 32 {
			return nil, coder.Errorf(coder.CodeInvalid, "Key %d of %s is not 32 bytes in base64; 'openssl rand -base64 32' makes one", i+1, flag)
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
			return nil, coder.Errorf(coder.CodeInvalid, "Key %d of %s is given twice", i+1, flag)
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

// Seal seals a value for its place, such as "user_links access_token <id>", and
// gives the digest of the key beside it: "" where the vault has no keys, or
// nothing is to be sealed.
func (v *Vault) Seal(place string, value []byte) (sealed []byte, digest string) {
	if v == nil || len(v.keys) == 0 || len(value) == 0 {
		return value, ""
	}
	k := v.keys[0]
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(value)+k.aead.Overhead())
	rand.Read(nonce) //nolint:errcheck // documented never to fail
	return k.aead.Seal(nonce, nonce, value, []byte(place)), k.digest
}

// Open gives what was sealed for a place. A value without a digest was not.
func (v *Vault) Open(place string, sealed []byte, digest string) ([]byte, error) {
	if digest == "" {
		return sealed, nil
	}
	k, ok := v.find(digest)
	if !ok {
		return nil, fmt.Errorf("a value of the database is encrypted with the key %s, which this server was not given: start it with that key in %s", digest, flag)
	}
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return nil, fmt.Errorf("an encrypted value of the database (%s) is damaged: it is too short", place)
	}
	value, err := k.aead.Open(nil, sealed[:n], sealed[n:], []byte(place))
	if err != nil {
		return nil, fmt.Errorf("an encrypted value of the database (%s) is damaged, was moved from elsewhere, or was encrypted with another key of the digest %s", place, digest)
	}
	return value, nil
}

// SealText is Seal for columns of text.
func (v *Vault) SealText(place, value string) (sealed, digest string) {
	b, digest := v.Seal(place, []byte(value))
	if digest == "" {
		return value, ""
	}
	return base64.StdEncoding.EncodeToString(b), digest
}

// OpenText is Open for columns of text.
func (v *Vault) OpenText(place, sealed, digest string) (string, error) {
	if digest == "" {
		return sealed, nil
	}
	b, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", fmt.Errorf("an encrypted value of the database (%s) is damaged: it is not base64", place)
	}
	value, err := v.Open(place, b, digest)
	return string(value), err
}
