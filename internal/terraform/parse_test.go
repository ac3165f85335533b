package terraform

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
)

func parse(t testing.TB, files map[string]string) *provisioner.ParseComplete {
	t.Helper()
	dir := t.TempDir()
	if err := archive.Unpack(pack(t, files), dir, archive.Upload()); err != nil {
		t.Fatal(err)
	}
	m, err := readModule(dir)
	if err != nil {
		t.Fatal(err)
	}
	return parseComplete(m)
}

func TestVariables(t *testing.T) {
	got := ok[*provisioner.ParseComplete](t)(parse(t, map[string]string{
		"a.tf": `
variable "bare" {}
variable "text" {
  type        = string
  description = "says what"
  default     = "x"
}
variable "secret" {
  type      = string
  sensitive = true
}
variable "count_of" {
  type    = number
  default = 2.5
}
variable "on" {
  default = true
}
variable "zones" {
  type    = list(string)
  default = ["a", "b"]
}
variable "shape" {
  type    = object({ cpu = number, tags = map(string) })
  default = { cpu = 2, tags = {} }
}
variable "none" {
  type    = string
  default = null
}
variable "old" {
  type    = "string"
  default = "x"
}`,
		"b.tf.json":     `{"variable": {"json": {"type": "number", "default": 7, "description": "from JSON"}}}`,
		"c_override.tf": "variable \"text\" {\n  default = \"overridden\"\n}\n",
	}), nil)
	want := []*provisioner.TemplateVariable{
		{Name: "bare", Type: "string", Required: true},
		{Name: "text", Type: "string", Description: "says what", DefaultValue: "overridden"},
		{Name: "secret", Type: "string", Sensitive: true, Required: true},
		{Name: "count_of", Type: "number", DefaultValue: "2.5"},
		{Name: "on", Type: "bool", DefaultValue: "true"},
		{Name: "zones", Type: "list(string)", DefaultValue: `["a","b"]`},
		{Name: "shape", Type: "object({ cpu = number, tags = map(string) })", DefaultValue: `{"cpu":2,"tags":{}}`},
		{Name: "none", Type: "string"},
		{Name: "old", Type: "string", DefaultValue: "x"},
		{Name: "json", Type: "number", DefaultValue: "7", Description: "from JSON"},
	}
	if diff := cmp.Diff(want, got.GetTemplateVariables(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// TestInitNeeded lists the templates for which `terraform init` is left out.
func TestInitNeeded(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"coder alone":        {simple, ""},
		"built-in":           {head + `data "terraform_remote_state" "x" { backend = "local" }`, ""},
		"other local name":   {"terraform {\n  required_providers {\n    c = { source = \"coder/coder\" }\n  }\n}\nresource \"coder_agent\" \"a\" {\n  provider = c\n}", ""},
		"registry written":   {"terraform {\n  required_providers {\n    coder = { source = \"registry.terraform.io/coder/coder\" }\n  }\n}", ""},
		"implied":            {head + `resource "null_resource" "x" {}`, "hashicorp/null"},
		"implied by config":  {head + `provider "aws" {}`, "hashicorp/aws"},
		"coder not declared": {`resource "coder_agent" "x" {}`, "hashicorp/coder"},
		"required":           {head + "terraform {\n  required_providers {\n    docker = { source = \"kreuzwerker/docker\" }\n  }\n}", "kreuzwerker/docker"},
		"module":             {head + `module "x" { source = "./x" }`, "modules"},
		"backend":            {head + "terraform {\n  backend \"s3\" {}\n}", "configures a backend"},
		"unknown block":      {head + `check "x" {}`, "only Terraform understands"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := archive.Unpack(pack(t, map[string]string{"main.tf": c.source}), dir, archive.Upload()); err != nil {
				t.Fatal(err)
			}
			m, err := readModule(dir)
			if err != nil || m.problem != "" {
				t.Fatal(err, m.problem)
			}
			if (c.want == "") != (m.why == "") || !strings.Contains(m.why, c.want) {
				t.Errorf("got %q, want %q", m.why, c.want)
			}
		})
	}
}

const tagged = `
variable "region" { default = "eu" }
variable "gpus" {
  type    = number
  default = 5
}
variable "spot" {
  type    = bool
  default = false
}
data "coder_parameter" "os" { name = "os" }
data "coder_parameter" "size" { name = "Size of ${"it"}" }
data "coder_workspace_tags" "t" {
  tags = {
    plain     = "yes"
    "quoted"  = 5
    flag      = true
    region    = var.region
    os        = data.coder_parameter.os.value
    size      = data.coder_parameter.size.value
    both      = "${var.region}-${data.coder_parameter.size.value}"
    cond      = data.coder_parameter.os.value == "linux" ? "l" : "other"
    not       = !var.spot
    same      = var.gpus == 5 ? "five" : "other"
    formatted = format("%s/%02d", var.region, 7)
  }
}
`

func TestTags(t *testing.T) {
	got := ok[*provisioner.ParseComplete](t)(parse(t, map[string]string{"main.tf": tagged}), nil)
	tags, err := EvalTags(got.GetWorkspaceTags(),
		map[string]string{"region": "us", "gpus": "5", "spot": "false"},
		map[string]string{"os": "linux", "Size of it": "big"})
	if err != nil {
		t.Fatal(err)
	}
	want := codersdk.Tags{
		"plain": "yes", "quoted": "5", "flag": "true", "region": "us", "os": "linux", "size": "big", "both": "us-big",
		"cond": "l", "not": "true", "same": "five", "formatted": "us/07",
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Error(diff)
	}
	// What needs no rewriting stays as the author wrote it.
	if s := got.GetWorkspaceTags()["os"]; s != "data.coder_parameter.os.value" {
		t.Errorf("got %q", s)
	}

	for missing, want := range map[string]string{"region": `the variable "region"`, "os": `the parameter "os"`} {
		variables := map[string]string{"region": "us", "gpus": "5", "spot": "false"}
		parameters := map[string]string{"os": "linux", "Size of it": "big"}
		delete(variables, missing)
		delete(parameters, missing)
		if _, err := EvalTags(got.GetWorkspaceTags(), variables, parameters); codersdk.CodeOf(err) != codersdk.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

func TestTagsRefused(t *testing.T) {
	const front = "locals { x = 1 }\nresource \"terraform_data\" \"r\" {}\ndata \"coder_parameter\" \"p\" {\n  name = local.x\n}\ndata \"coder_workspace_tags\" \"t\" {\n  tags = {\n    a = "
	for expr, want := range map[string]string{
		`local.x`:                       "it uses local.x, but a tag may use",
		`terraform_data.r.id`:           "it uses terraform_data.r.id",
		`data.coder_workspace.me.name`:  "it uses data.coder_workspace.me.name",
		`file("/etc/passwd")`:           "it uses the function file()",
		`upper("x")`:                    "it uses the function upper()",
		`[for s in ["a"] : s]`:          `it uses [for s in ["a"] : s]`,
		`{ a = 1 }`:                     "it uses",
		`var.nothing`:                   `does not declare the variable "nothing"`,
		`data.coder_parameter.no.value`: `does not declare data "coder_parameter" "no"`,
		`data.coder_parameter.p.value`:  "must be a literal",
		`data.coder_parameter.p.name`:   "it uses data.coder_parameter.p.name",
		`path.module`:                   "it uses path.module",
	} {
		got := parse(t, map[string]string{"main.tf": front + expr + "\n  }\n}\n"})
		if !strings.HasPrefix(got.GetError(), "main.tf:8: workspace tag \"a\": ") || !strings.Contains(got.GetError(), want) {
			t.Errorf("%s: got %q, want %q", expr, got.GetError(), want)
		}
	}
	for name, c := range map[string]struct{ source, want string }{
		"not written out": {"data \"coder_workspace_tags\" \"t\" {\n  tags = var.all\n}\nvariable \"all\" {}\n", "main.tf:2: the tags of coder_workspace_tags must be written out"},
		"no tags":         {"data \"coder_workspace_tags\" \"t\" {}\n", "main.tf:1: Missing required argument"},
		"dynamic name":    {"variable \"x\" {}\ndata \"coder_workspace_tags\" \"t\" {\n  tags = { (var.x) = 1 }\n}\n", "main.tf:3: the name of a workspace tag must be a literal"},
	} {
		if got := parse(t, map[string]string{"main.tf": c.source}); !strings.Contains(got.GetError(), c.want) {
			t.Errorf("%s: got %q", name, got.GetError())
		}
	}
	// What a version holds may come from elsewhere: it is judged again.
	for expr, want := range map[string]string{
		"":                "is not an expression",
		"1 +":             "is not an expression",
		`file("x")`:       "the function file()",
		`null`:            "must be a string, a number or a bool",
		`1 / 0`:           "must be a string, a number or a bool",
		`tonumber("x")`:   "cannot convert",
		"var":             "it uses var",
		`"${var.a}" == 1`: `the variable "a"`,

		`"${1e9999999}"`:           "too large",
		`format("%999999999d", 1)`: "a width above 999",
		`format(var.a, 1)`:         "non-literal text",
		strings.Repeat("(", 5000):  "longer than",
	} {
		if tags, err := EvalTags(map[string]string{"a": expr}, nil, nil); codersdk.CodeOf(err) != codersdk.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want %q", expr, tags, err, want)
		}
	}
}

func FuzzEvalTags(f *testing.F) {
	for _, s := range []string{`"x"`, `var.a`, `!var.a`, `format("%d", 1)`, `data.coder_parameter["a b"].value == "x" ? 1 : 2`, `"${var.a}%{ if var.a }x%{ endif }"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		_, err := EvalTags(map[string]string{"a": expr}, map[string]string{"a": "true"}, map[string]string{"a b": "x"})
		if err != nil && codersdk.CodeOf(err) != codersdk.CodeInvalid {
			t.Errorf("%q: %v", expr, err)
		}
	})
}

func TestTooDeep(t *testing.T) {
	for name, source := range map[string]string{
		"brackets":   "locals {\n x = " + strings.Repeat("(", 1<<20) + "\n}\n",
		"signs":      "locals {\n x = " + strings.Repeat("! ", 1<<20) + "true\n}\n",
		"conditions": "locals {\n x = " + strings.Repeat("true ? 1 : ", 1<<16) + "1\n}\n",
	} {
		if got := parse(t, map[string]string{"main.tf": source}); !strings.Contains(got.GetError(), "too deeply") {
			t.Errorf("%s: got %q", name, got.GetError())
		}
	}
	got := parse(t, map[string]string{"main.tf": "variable \"n\" {\n  default = 1e999999999\n}\n"})
	if got.GetError() != "" || len(got.GetTemplateVariables()[0].GetDefaultValue()) > 1000 {
		t.Errorf("got %v", got)
	}
}

func TestReadme(t *testing.T) {
	got := parse(t, map[string]string{"main.tf": head, "README.md": strings.Repeat("x", maxReadme+10)})
	if len(got.GetReadme()) != maxReadme || !bytes.HasPrefix(got.GetReadme(), []byte("xxx")) {
		t.Errorf("got %d bytes", len(got.GetReadme()))
	}
}
