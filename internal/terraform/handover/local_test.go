package handover_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/handover"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

// TestReadExamples: workspaces of the local template can be handed over.
func TestReadExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/templates/*/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := handover.Read(testtar.Of(t, map[string]string{"main.tf": string(text)}), nil)
		t.Logf("%s: %+v", file, got)
		if filepath.Base(filepath.Dir(file)) == "local" && !got.First {
			t.Errorf("local: %s", got.Because)
		}
	}
}
