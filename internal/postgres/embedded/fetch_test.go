package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// TestFetchOnFreshDisk downloads PostgreSQL to a cache directory that does not
// exist, as at the first start of a server. The next start uses the cache.
func TestFetchOnFreshDisk(t *testing.T) {
	c := Config{CacheDir: filepath.Join(t.TempDir(), "home", ".cache", "coder")}
	downloads := 0
	download := func(_ embeddedpostgres.PostgresVersion, scratch string) error {
		downloads++
		bin := filepath.Join(scratch, "bin", "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(bin, "postgres"), nil, 0o755); err != nil {
			return err
		}
		return errors.New("the server does not start as root")
	}
	for range 2 {
		bin, err := fetchBinaries(c, "", download)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(bin, "postgres")); err != nil {
			t.Error(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(c.CacheDir, "postgres-fetch-*"))
	if downloads != 1 || err != nil || len(left) != 0 {
		t.Errorf("%d downloads, which left %v", downloads, left)
	}
	offline := func(embeddedpostgres.PostgresVersion, string) error { return errors.New("no route to host") }
	if _, err := fetchBinaries(c, "13", offline); err == nil || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("without a network: %v", err)
	}
}
