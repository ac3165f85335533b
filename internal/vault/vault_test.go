package vault_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/vault"
)

func newKey() string {
	b := make([]byte, 32)
	rand.Read(b) //nolint:errcheck // documented never to fail
	return base64.StdEncoding.EncodeToString(b)
}

func open(t *testing.T, keys ...string) *vault.Vault {
	t.Helper()
	v, err := vault.New(keys)
	must(t, err)
	return v
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSealAndOpen(t *testing.T) {
	a, b := newKey(), newKey()
	old, both, other := open(t, a), open(t, b, a), open(t, b)
	sealed, digest := old.SealText("here", "hush")
	if strings.Contains(sealed, "hush") || len(digest) != 14 {
		t.Fatalf("sealed as %q with %q", sealed, digest)
	}
	if again, _ := old.SealText("here", "hush"); again == sealed {
		t.Error("the same value looks the same twice")
	}
	for _, v := range []*vault.Vault{old, both} {
		if got, err := v.OpenText("here", sealed, digest); err != nil || got != "hush" {
			t.Errorf("opened as %q, %v", got, err)
		}
	}
	if _, now := both.SealText("here", "x"); now == digest {
		t.Error("it seals with the older key")
	}
	bad := sealed[:len(sealed)-6] + "AAAA=="
	for what, c := range map[string]struct {
		v             *vault.Vault
		place, sealed string
		says          string
	}{
		"without the key": {other, "here", sealed, "key " + digest},
		"without any key": {nil, "here", sealed, "key " + digest},
		"from elsewhere":  {old, "there", sealed, "moved from elsewhere"},
		"changed":         {old, "here", bad, "damaged"},
		"cut":             {old, "here", "aGk=", "too short"},
		"not even base64": {old, "here", "%", "not base64"},
	} {
		if _, err := c.v.OpenText(c.place, c.sealed, digest); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", what, err)
		}
	}
	var none *vault.Vault
	if s, d := none.SealText("here", "plain"); s != "plain" || d != "" {
		t.Errorf("without keys: %q %q", s, d)
	}
	if s, d := old.SealText("here", ""); s != "" || d != "" {
		t.Errorf("nothing is sealed as %q %q", s, d)
	}
}

func FuzzOpen(f *testing.F) {
	v, err := vault.New([]string{newKey()})
	if err != nil {
		f.Fatal(err)
	}
	sealed, digest := v.Seal("here", []byte("hush"))
	f.Add(sealed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := v.Open("here", b, digest); err == nil && (!bytes.Equal(b, sealed) || string(got) != "hush") {
			t.Fatalf("%x opens as %q", b, got)
		}
	})
}

func TestBadKeys(t *testing.T) {
	good := newKey()
	for what, keys := range map[string][]string{
		"short": {"c2hvcnQ="}, "no base64": {good, "not-base64!"}, "empty": {""}, "twice": {good, good},
	} {
		_, err := vault.New(keys)
		if !coder.Is(err, coder.CodeInvalid) || strings.Contains(err.Error(), keys[len(keys)-1]) && keys[len(keys)-1] != "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// filled is a database with a user's tokens and a signing key.
func filled(t *testing.T, v *vault.Vault) (*postgres.Store, sqlc.UserLink) {
	t.Helper()
	store := postgrestest.New(t)
	must(t, v.Admit(t.Context(), store))
	l := sqlc.UserLink{UserID: uuid.New(), LoginType: "oidc"}
	_, err := store.Pool().Exec(t.Context(), `INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, 'a@x', 'a', 'oidc', 'active', now(), now())`, l.UserID)
	must(t, err)
	s := v.SealTokens(l, vault.Tokens{Access: "access!", Refresh: "refresh!"})
	_, err = store.Pool().Exec(t.Context(), `INSERT INTO user_links (user_id, login_type, issuer, subject, access_token, access_token_key_id, refresh_token, refresh_token_key_id, created_at, updated_at)
		VALUES ($1, 'oidc', 'i', 's', $2, $3, $4, $5, now(), now())`, l.UserID, s.Access, s.AccessKey, s.Refresh, s.RefreshKey)
	must(t, err)
	k := sqlc.CryptoKey{Feature: "workspace_apps_token", Secret: []byte("signs")}
	sealed, digest := v.SealKey(k)
	_, err = store.Pool().Exec(t.Context(), `INSERT INTO crypto_keys (feature, sequence, secret, secret_key_id, starts_at) VALUES ($1, 1, $2, $3, now())`, k.Feature, sealed, digest)
	must(t, err)
	return store, l
}

// holds says whether the database opens with the vault, and shows nothing by itself.
func holds(t *testing.T, store *postgres.Store, l sqlc.UserLink, v *vault.Vault, plain bool) {
	t.Helper()
	link, err := store.LinkOfUser(t.Context(), l.UserID, "oidc")
	must(t, err)
	if shown := link.AccessToken == "access!" && link.AccessTokenKeyID == "" && link.RefreshTokenKeyID == ""; shown != plain {
		t.Errorf("the database holds %q with the key %q", link.AccessToken, link.AccessTokenKeyID)
	}
	if got, err := v.OpenTokens(link); err != nil || got.Access != "access!" || got.Refresh != "refresh!" {
		t.Errorf("opened as %+v, %v", got, err)
	}
	keys, err := store.VaultSigningKeys(t.Context())
	must(t, err)
	if got, err := v.OpenKey(keys[0]); err != nil || string(got) != "signs" {
		t.Errorf("the signing key is %q, %v", got, err)
	}
}

func refused(t *testing.T, err error, says ...string) {
	t.Helper()
	for _, s := range says {
		if !coder.Is(err, coder.CodePrecondition) || !strings.Contains(err.Error(), s) {
			t.Errorf("%v does not say %q", err, s)
		}
	}
}

// TestLifeOfKeys: from no encryption to a key, to another, and back.
func TestLifeOfKeys(t *testing.T) {
	ctx, a, b := t.Context(), newKey(), newKey()
	store, l := filled(t, nil)
	one := open(t, a)
	must(t, one.Admit(ctx, store))
	holds(t, store, l, one, true) // what was there stays readable

	if n, err := one.Rotate(ctx, store); err != nil || n != (vault.Counts{Accounts: 1, Keys: 1}) {
		t.Fatalf("encrypted %+v, %v", n, err)
	}
	holds(t, store, l, one, false)
	var none *vault.Vault
	_, digest := one.SealText("", "x")
	refused(t, none.Admit(ctx, store), digest, "--external-token-encryption-keys", "dbcrypt delete")
	refused(t, open(t, b).Admit(ctx, store), digest)
	must(t, open(t, b, a).Admit(ctx, store))

	if _, err := open(t, b).Rotate(ctx, store); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("rotated without the old key: %v", err)
	}
	holds(t, store, l, one, false)
	_, err := open(t, b, a).Rotate(ctx, store)
	must(t, err)
	two := open(t, b)
	holds(t, store, l, two, false)
	must(t, two.Admit(ctx, store)) // the old key is needed no more
	refused(t, one.Admit(ctx, store))

	if _, err := one.Decrypt(ctx, store); err == nil {
		t.Error("decrypted with another key")
	}
	_, err = two.Decrypt(ctx, store)
	must(t, err)
	holds(t, store, l, none, true)
	must(t, none.Admit(ctx, store))
	must(t, one.Admit(ctx, store)) // and an old key may come again
	_, err = one.Rotate(ctx, store)
	must(t, err)
	refused(t, none.Admit(ctx, store), digest)
}

// TestLostKey: what nobody can open any more can be dropped.
func TestLostKey(t *testing.T) {
	ctx := t.Context()
	store, l := filled(t, open(t, newKey()))
	var none *vault.Vault
	refused(t, none.Admit(ctx, store))
	if n, err := vault.Delete(ctx, store); err != nil || n != (vault.Counts{Accounts: 1, Keys: 1}) {
		t.Fatalf("dropped %+v, %v", n, err)
	}
	must(t, none.Admit(ctx, store))
	link, err := store.LinkOfUser(ctx, l.UserID, "oidc")
	must(t, err)
	if got, err := none.OpenTokens(link); err != nil || got != (vault.Tokens{}) {
		t.Errorf("left is %+v, %v", got, err)
	}
}
