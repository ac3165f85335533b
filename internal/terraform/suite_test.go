package terraform

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/enginetest"
)

// TestSuite is what every engine must do.
func TestSuite(t *testing.T) {
	enginetest.Run(t, newEngine(t), suiteTemplates(t))
}

func suiteTemplates(t *testing.T) enginetest.Templates {
	return enginetest.Templates{
		Good:     pack(t, map[string]string{"main.tf": simple, "README.md": "# Good"}),
		Resource: "dev",
		BadPlan:  pack(t, map[string]string{"main.tf": head + `resource "coder_agent" "a" {}`}),
		BadApply: pack(t, map[string]string{"main.tf": head + `
resource "terraform_data" "good" {}
resource "terraform_data" "bad" {
  input = terraform_data.good.id
  provisioner "local-exec" { command = "false" }
}`}),
		Hanging: pack(t, map[string]string{"main.tf": head + `
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "echo waiting; sleep 600" }
}`}),
	}
}
