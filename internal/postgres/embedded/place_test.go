//go:build linux

package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A user that cannot pass through the configuration directory gets a place of
// its own, remembered for the next start and for who asks for the URL.
func TestPlaceOutOfReach(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives its database to another user")
	}
	dir := filepath.Join(t.TempDir(), "closed", "postgres")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	someone := user{drop: &syscall.Credential{Uid: 65534, Gid: 65534}}
	got, err := place(dir, someone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(got) })
	if !strings.HasPrefix(got, "/var/lib/coder/postgres-") || !someone.reaches(got) {
		t.Errorf("placed in %s", got)
	}
	if again, err := place(dir, user{namespace: true}); err != nil || again != got {
		t.Errorf("the next start looks in %s, %v", again, err)
	}
	if url, err := URL(dir); err != nil || !strings.Contains(url, "postgres-") {
		t.Errorf("the URL is %s, %v", url, err)
	}

	open := filepath.Join(t.TempDir(), "open")
	if got, err := place(open, user{namespace: true}); err != nil || got != open {
		t.Errorf("placed in %s, %v", got, err)
	}
}

func TestPlaceRefusesDataOutOfReach(t *testing.T) {
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
	if _, err := place(dir, user{drop: &syscall.Credential{Uid: 65534, Gid: 65534}}); err == nil || !strings.Contains(err.Error(), "--postgres-url") {
		t.Errorf("got %v", err)
	}
}
