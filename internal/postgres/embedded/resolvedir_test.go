//go:build linux

package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestResolveUnreachableDir has a user that cannot traverse the configuration
// directory. The cluster gets another directory, which the next start and URL use.
func TestResolveUnreachableDir(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs PostgreSQL as another user")
	}
	dir := filepath.Join(t.TempDir(), "closed", "postgres")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	someone := processUser{drop: &syscall.Credential{Uid: 65534, Gid: 65534}}
	got, err := resolveDir(dir, someone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(got) })
	if !strings.HasPrefix(got, "/var/lib/coder/postgres-") || !someone.canReach(got) {
		t.Errorf("the directory is %s", got)
	}
	if again, err := resolveDir(dir, processUser{namespace: true}); err != nil || again != got {
		t.Errorf("the next start uses %s, %v", again, err)
	}
	if url, err := URL(dir); err != nil || !strings.Contains(url, "postgres-") {
		t.Errorf("the URL is %s, %v", url, err)
	}

	open := filepath.Join(t.TempDir(), "open")
	if got, err := resolveDir(open, processUser{namespace: true}); err != nil || got != open {
		t.Errorf("the directory is %s, %v", got, err)
	}
}

func TestResolveDirRefusesUnreachableData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "closed", "postgres")
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := resolveDir(dir, processUser{drop: &syscall.Credential{Uid: 65534, Gid: 65534}}); err == nil || !strings.Contains(err.Error(), "--postgres-url") {
		t.Errorf("got %v", err)
	}
}
