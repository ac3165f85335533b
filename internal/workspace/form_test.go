package workspace_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

const conditional = `
data "coder_workspace_owner" "me" {}
data "coder_parameter" "region" {
  name    = "region"
  default = "eu"
  mutable = true
  option {
    name  = "Europe"
    value = "eu"
  }
  option {
    name  = "America"
    value = "us"
  }
}
data "coder_parameter" "zone" {
  count   = data.coder_parameter.region.value == "us" ? 1 : 0
  name    = "zone"
  default = "east"
  mutable = true
}
data "coder_parameter" "city" {
  count   = data.coder_parameter.region.value == "eu" ? 1 : 0
  name    = "city"
  default = "for ${data.coder_workspace_owner.me.name}"
  mutable = true
}
`

// TestParametersThatDepend: a build is held to the parameters that there are
// with its values, and keeps no others.
func TestParametersThatDepend(t *testing.T) {
	h := open(t)
	h.exec(`UPDATE files SET data = $1`, testtar.Of(t, map[string]string{"main.tf": conditional}))
	// What the import finds: the defaults, of its own user.
	options := []codersdk.TemplateVersionParameterOption{{Name: "Europe", Value: "eu"}, {Name: "America", Value: "us"}}
	tmpl, _ := h.newTemplate("depends", spec{parameters: []codersdk.TemplateVersionParameter{
		{Name: "region", Type: "string", DefaultValue: "eu", Mutable: true, Options: options}, {Name: "city", Type: "string", DefaultValue: "for admin", Mutable: true},
	}})
	h.exec(`UPDATE provisioner_jobs SET provisioner = 'terraform'`)
	ann := h.user("ann1")
	make := func(name string, values ...codersdk.WorkspaceBuildParameter) (codersdk.Workspace, error) {
		return h.CreateWorkspace(t.Context(), ann, uuid.Nil, ann.UserID, codersdk.CreateWorkspaceRequest{Name: name, TemplateID: tmpl, RichParameterValues: values})
	}
	has := func(id uuid.UUID, want ...codersdk.WorkspaceBuildParameter) {
		t.Helper()
		got, err := h.BuildParameters(t.Context(), ann, id)
		h.must(err)
		if !slices.Equal(got, want) {
			t.Errorf("the build has %v, want %v", got, want)
		}
	}
	p := func(name, value string) codersdk.WorkspaceBuildParameter {
		return codersdk.WorkspaceBuildParameter{Name: name, Value: value}
	}
	w1, err := make("one")
	h.must(err)
	has(w1.LatestBuild.ID, p("city", "for ann1"), p("region", "eu")) // of equal order, so by name as in an import
	// A parameter that only the values bring, and one that they take away.
	w2, err := make("two", p("region", "us"), p("zone", "west"), p("city", "Paris"))
	h.must(err)
	has(w2.LatestBuild.ID, p("region", "us"), p("zone", "west"))
	_, err = make("three", p("zone", "west"))
	wantCode(t, err, codersdk.CodeInvalid)
	_, err = make("four", p("region", "mars"))
	wantCode(t, err, codersdk.CodeInvalid)
	// A template that says so is asked as its import found it.
	h.exec(`UPDATE templates SET use_classic_parameter_flow = true WHERE id = $1`, tmpl)
	w5, err := make("five")
	h.must(err)
	has(w5.LatestBuild.ID, p("region", "eu"), p("city", "for admin"))
}
