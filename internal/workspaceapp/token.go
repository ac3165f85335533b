package workspaceapp

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Feature is the purpose of a signing key.
type Feature string

// Values of Feature.
const (
	FeatureSession Feature = "workspace_apps_api_key" // Session and authorization code
	FeaturePass    Feature = "workspace_apps_token"   // Pass
)

// Lifetimes of keys. A new key signs only after every replica has read it. An old key verifies as long as
// the values that it signed are valid.
const (
	keyCheck    = time.Minute
	keyDuration = 30 * 24 * time.Hour
	keyNotice   = time.Hour // between the creation of a key and its first use
	keyAfter    = 2 * SessionDuration
)

// keyring is the valid keys of a feature, as last read.
type keyring struct {
	feature Feature
	keys    atomic.Pointer[[]sqlc.CryptoKey] // the newest first
}

// RotateKeys reads the keys, creates the first key or a successor when it is due, and deletes keys that
// are no longer needed.
func (s *Service) RotateKeys(ctx context.Context) error {
	for f, ring := range s.keys {
		now := s.now()
		keys, err := s.c.Store.AppKeys(ctx, string(f), now)
		if err != nil {
			return fmt.Errorf("read the keys of %s: %w", f, err)
		}
		if len(keys) == 0 || now.Sub(keys[0].StartsAt) >= keyDuration {
			if err := s.succeed(ctx, f, keys, now); err != nil {
				return fmt.Errorf("replace the key of %s: %w", f, err)
			}
			if keys, err = s.c.Store.AppKeys(ctx, string(f), now); err != nil {
				return fmt.Errorf("read the keys of %s: %w", f, err)
			}
		}
		for i := range keys {
			if keys[i].Secret, err = s.c.Vault.OpenKey(keys[i]); err != nil {
				return fmt.Errorf("read the keys of %s: %w", f, err)
			}
		}
		ring.keys.Store(&keys)
	}
	_, err := s.c.Store.AppDeleteKeys(ctx, s.now())
	return err
}

// succeed inserts the successor of the newest key. Of several replicas one succeeds.
func (s *Service) succeed(ctx context.Context, f Feature, keys []sqlc.CryptoKey, now time.Time) error {
	p := sqlc.AppInsertKeyParams{Feature: string(f), Sequence: 1, Secret: make([]byte, 64), StartsAt: now}
	if len(keys) > 0 {
		p.Sequence, p.StartsAt = keys[0].Sequence+1, now.Add(keyNotice)
	}
	rand.Read(p.Secret) //nolint:errcheck // documented never to fail
	p.Secret, p.SecretKeyID = s.c.Vault.SealKey(sqlc.CryptoKey{Feature: p.Feature, Secret: p.Secret})
	return s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		n, err := q.AppInsertKey(ctx, p)
		if err != nil || n == 0 {
			return err
		}
		return q.AppRetireKeys(ctx, p.StartsAt.Add(keyAfter), string(f), p.Sequence)
	})
}

// current returns the signing key.
func (k *keyring) current(now time.Time) (sqlc.CryptoKey, error) {
	if keys := k.keys.Load(); keys != nil {
		for _, key := range *keys {
			if !key.StartsAt.After(now) {
				return key, nil
			}
		}
	}
	return sqlc.CryptoKey{}, codersdk.Errorf(codersdk.CodeUnavailable, "The server has no key to sign with yet; try again in a moment")
}

// bySequence returns the key with that number, if it is valid.
func (k *keyring) bySequence(n int32, now time.Time) (sqlc.CryptoKey, bool) {
	if keys := k.keys.Load(); keys != nil {
		for _, key := range *keys {
			if key.Sequence == n {
				return key, key.DeletesAt == nil || key.DeletesAt.After(now)
			}
		}
	}
	return sqlc.CryptoKey{}, false
}

// signed is the envelope of all signed values. The kind prevents the use of one kind of value as another.
type signed[T any] struct {
	Kind    string `json:"t"`
	Expires int64  `json:"e"` // Unix seconds
	Body    T      `json:"b"`
}

// maxSigned is the maximum length of a value that verify parses.
const maxSigned = 4096

// sign returns "sequence.payload.mac" in URL-safe letters.
func sign[T any](s *Service, f Feature, kind string, lifetime time.Duration, body T) (string, error) {
	now := s.now()
	key, err := s.keys[f].current(now)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(signed[T]{kind, now.Add(lifetime).Unix(), body})
	if err != nil {
		return "", fmt.Errorf("encode a signed %s: %w", kind, err)
	}
	text := strconv.Itoa(int(key.Sequence)) + "." + base64.RawURLEncoding.EncodeToString(b)
	return text + "." + base64.RawURLEncoding.EncodeToString(mac(key.Secret, text)), nil
}

// verify returns a signed value and its expiry; ok is false for anything else, and after the expiry.
func verify[T any](s *Service, f Feature, kind, text string) (body T, until time.Time, ok bool) {
	if len(text) > maxSigned {
		return body, until, false
	}
	cut := strings.LastIndexByte(text, '.')
	if cut < 0 {
		return body, until, false
	}
	sequence, payload, found := strings.Cut(text[:cut], ".")
	n, err := strconv.ParseInt(sequence, 10, 32)
	if !found || err != nil {
		return body, until, false
	}
	now := s.now()
	key, found := s.keys[f].bySequence(int32(n), now)
	given, err := base64.RawURLEncoding.Strict().DecodeString(text[cut+1:])
	if !found || err != nil || !hmac.Equal(given, mac(key.Secret, text[:cut])) {
		return body, until, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(payload)
	if err != nil {
		return body, until, false
	}
	var frame signed[T]
	if json.Unmarshal(b, &frame) != nil || frame.Kind != kind || now.Unix() >= frame.Expires {
		return body, until, false
	}
	return frame.Body, time.Unix(frame.Expires, 0), true
}

func mac(secret []byte, text string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(text))
	return m.Sum(nil)
}
