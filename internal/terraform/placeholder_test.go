package terraform

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// TestImportOfRequiredParametersWithRules imports parameters that have no
// default and whose rules take no empty value; what the import reports has no
// default either, and a build goes by the real values.
func TestImportOfRequiredParametersWithRules(t *testing.T) {
	e := newEngine(t)
	parameter := func(name, rest string) string {
		return "data \"coder_parameter\" \"" + name + "\" {\n  name = \"" + name + "\"\n" + rest + "\n}\n"
	}
	rules := map[string]string{
		"cpus":    "type = \"number\"\nvalidation {\n min = 2\n max = 8\n}",
		"below":   "type = \"number\"\nvalidation { max = -3 }",
		"free":    "type = \"number\"\nvalidation { monotonic = \"increasing\" }",
		"word":    "validation {\n regex = \"^[a-z]{3}-(dev|prod)[0-9]+$\"\n error = \"abc-dev1\"\n}",
		"mail":    "validation {\n regex = \"^\\\\S+@\\\\S+$\"\n error = \"no\"\n}",
		"chosen":  "option {\n name = \"no\"\n value = \"no\"\n}\noption {\n name = \"eu\"\n value = \"eu\"\n}\nvalidation {\n regex = \"^eu$\"\n error = \"eu\"\n}",
		"names":   "type = \"list(string)\"\nvalidation {}",
		"sure":    "type = \"bool\"\nvalidation {}",
		"plain":   "",
		"default": "default = \"5\"\ntype = \"number\"\nvalidation { min = 5 }",
	}
	var main strings.Builder
	main.WriteString(head)
	for name, rest := range rules {
		main.WriteString(parameter(name, rest))
	}
	main.WriteString("resource \"terraform_data\" \"a\" { input = data.coder_parameter.cpus.value }\n")
	j, _ := open(t, e, map[string]string{"main.tf": main.String()})
	m := metadata(provisioner.WorkspaceTransition_START)
	m.WorkspaceBuildId = ""
	ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m}))
	graph := ok[*provisioner.GraphComplete](t)(j.Graph(t.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN}))
	if len(graph.GetParameters()) != len(rules) {
		t.Fatalf("the import reports %d parameters", len(graph.GetParameters()))
	}
	for _, p := range graph.GetParameters() {
		want := ""
		if p.GetName() == "default" {
			want = "5"
		}
		if p.GetDefaultValue() != want || p.GetRequired() != (want == "") {
			t.Errorf("parameter %s: default %q, required %v", p.GetName(), p.GetDefaultValue(), p.GetRequired())
		}
	}
	// A build has no placeholders.
	p, err := j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: metadata(provisioner.WorkspaceTransition_START)})
	if err != nil || !strings.Contains(p.GetError(), "validation") {
		t.Errorf("a build without values: %v, %q", err, p.GetError())
	}
}

// TestImportOfImpossibleRule states what to do.
func TestImportOfImpossibleRule(t *testing.T) {
	e := newEngine(t)
	j, _ := open(t, e, map[string]string{"main.tf": head + `
data "coder_parameter" "p" {
  name = "p"
  validation {
    regex = "^a$^b$"
    error = "never"
  }
}`})
	m := metadata(provisioner.WorkspaceTransition_START)
	m.WorkspaceBuildId = ""
	p, err := j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m})
	if err != nil || !strings.Contains(p.GetError(), "set a default") {
		t.Errorf("%v, %q", err, p.GetError())
	}
}
