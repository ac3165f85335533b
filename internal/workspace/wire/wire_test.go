package wire

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// A default stays Terraform's: one of null reads as "" here, and must not
// become "" there.
func TestDefaultsOfVariablesAreLeftToTerraform(t *testing.T) {
	got := Variables([]codersdk.TemplateVersionVariable{
		{Name: "null_by_default", Type: "string"},
		{Name: "changed", Type: "string", DefaultValue: "a", Value: "b"},
		{Name: "required_and_empty", Type: "string", Required: true},
	})
	if len(got) != 2 || got[0].Name != "changed" || got[1].Name != "required_and_empty" {
		t.Errorf("variables handed on: %v", got)
	}
}
