package database

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// TestCreateKey checks that of concurrent processes one creates the key, that only its
// owner can read it, and that nothing else is left.
func TestCreateKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, keyFileName)
	if key, err := readKey(path); err != nil || key != "" {
		t.Fatalf("a missing file: %q, %v", key, err)
	}
	keys := make([]string, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = createKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		if k == "" || k != keys[0] {
			t.Errorf("keys differ: %d and %d bytes", len(k), len(keys[0]))
		}
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestGeneratedKey checks that the built-in database gets a key, that it is used again,
// and that a lost file is an error.
func TestGeneratedKey(t *testing.T) {
	ctx := t.Context()
	store, err := postgres.Open(ctx, postgres.Config{URL: postgrestest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	c := Config{ConfigDir: t.TempDir()}
	first, err := c.Vault(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	sealed, digest := first.SealText("here", "secret")
	again, err := c.Vault(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.OpenText("here", sealed, digest); err != nil || got != "secret" || digest == "" {
		t.Errorf("opened as %q with the key %q, %v", got, digest, err)
	}
	if err := os.Remove(filepath.Join(c.ConfigDir, keyFileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Vault(ctx, store); err == nil || !strings.Contains(err.Error(), keyFileName) || !strings.Contains(err.Error(), digest) {
		t.Errorf("without the file: %v", err)
	}
	if left, err := os.ReadDir(c.ConfigDir); err != nil || len(left) > 0 {
		t.Errorf("another key was created: %v, %v", left, err)
	}
}
