package templatesource_test

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
)

func TestConfiguration(t *testing.T) {
	for file, want := range map[string]string{
		"main.tf": "terraform", "modules/vpc/main.tf": "terraform", "main.tf.json": "terraform", "main.tofu": "tofu", "a/main.tofu.json": "tofu",
		".main.tf": "", "a/.main.tofu": "", "main.json": "", "main.tfvars": "", "main.tf.json.json": "", "tf": "", "notes.tf.md": "", ".hidden/main.tf": "terraform",
	} {
		got := ""
		if templatesource.IsTerraform(file) {
			got += "terraform"
		}
		if templatesource.IsTofu(file) {
			got += "tofu"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}
