package ahead

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/archive"
)

// TestReadExamples checks that the starter templates without a cloud can be planned ahead, and
// that the others need nothing but the setting.
func TestReadExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/templates/*/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, dir := filepath.Base(filepath.Dir(file)), t.TempDir()
		read := func() Verdict {
			t.Helper()
			source, err := archive.Pack(dir, archive.Upload())
			if err != nil {
				t.Fatal(err)
			}
			return Read(source, nil)
		}
		if err := os.CopyFS(dir, os.DirFS(filepath.Dir(file))); err != nil {
			t.Fatal(err)
		}
		if got := read(); (got.Because == "") != slices.Contains([]string{"local", "ssh-host"}, name) {
			t.Errorf("%s: %q", name, got.Because)
		}
		if err := os.WriteFile(filepath.Join(dir, "setting.tf"), []byte("locals { coder_plan_ahead = true }"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(); got.Because != "" {
			t.Errorf("%s, which vouches: %q", name, got.Because)
		}
	}
}
