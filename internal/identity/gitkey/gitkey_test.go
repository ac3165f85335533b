package gitkey_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity/gitkey"
)

// TestKeysAreReadByOpenSSH compares the public key that ssh-keygen derives.
func TestKeysAreReadByOpenSSH(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("no ssh-keygen on this machine")
	}
	for _, algorithm := range []string{"ed25519", "ecdsa", "rsa4096"} {
		public, private, err := gitkey.New(algorithm)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(private), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(keygen, "-y", "-P", "", "-f", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", algorithm, err, out)
		}
		if got, want := strings.Fields(string(out)), strings.Fields(public); !slices.Equal(got[:2], want) {
			t.Errorf("%s: OpenSSH derives %s, New returned %s", algorithm, got[:2], want)
		}
	}
	if _, _, err := gitkey.New("dsa"); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("unknown algorithm: %v", err)
	}
}
