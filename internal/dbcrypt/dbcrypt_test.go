package dbcrypt_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
)

func newKey() string {
	b := make([]byte, 32)
	rand.Read(b) //nolint:errcheck // documented never to fail
	return base64.StdEncoding.EncodeToString(b)
}

func open(t *testing.T, keys ...string) *dbcrypt.Vault {
	t.Helper()
	v, err := dbcrypt.New(keys)
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
	for _, v := range []*dbcrypt.Vault{old, both} {
		if got, err := v.OpenText("here", sealed, digest); err != nil || got != "hush" {
			t.Errorf("opened as %q, %v", got, err)
		}
	}
	if _, now := both.SealText("here", "x"); now == digest {
		t.Error("it seals with the older key")
	}
	bad := sealed[:len(sealed)-6] + "AAAA=="
	for what, c := range map[string]struct {
		v             *dbcrypt.Vault
		place, sealed string
		says          string
	}{
		"without the key":    {other, "here", sealed, "key " + digest},
		"without any key":    {nil, "here", sealed, "key " + digest},
		"from another place": {old, "there", sealed, "moved from another place"},
		"changed":            {old, "here", bad, "corrupt"},
		"cut":                {old, "here", "aGk=", "too short"},
		"not even base64":    {old, "here", "%", "not base64"},
	} {
		if _, err := c.v.OpenText(c.place, c.sealed, digest); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", what, err)
		}
	}
	var none *dbcrypt.Vault
	if s, d := none.SealText("here", "plain"); s != "plain" || d != "" {
		t.Errorf("without keys: %q %q", s, d)
	}
	if s, d := old.SealText("here", ""); s != "" || d != "" {
		t.Errorf("nothing is sealed as %q %q", s, d)
	}
}

func FuzzOpen(f *testing.F) {
	v, err := dbcrypt.New([]string{newKey()})
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
		_, err := dbcrypt.New(keys)
		if !codersdk.Is(err, codersdk.CodeInvalid) || strings.Contains(err.Error(), keys[len(keys)-1]) && keys[len(keys)-1] != "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
