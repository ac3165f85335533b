package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
)

// source returns a source of one file.
func source(text string) *Source {
	return Parse([]templatesource.TemplateFile{{Path: "main.tf", Content: text}})
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // place and summary of each problem
	}{
		"nothing": {`resource "a_b" "c" {}`, ""},
		"syntax":  {"resource \"a_b\" \"c\" {\n  x = \n}", "2:7 Invalid expression"},
		"variable": {
			"variable \"region\" {}\nlocals {\n  x = var.regoin\n}",
			"3:7 Reference to undeclared variable",
		},
		"local":       {"locals {\n  a = local.b\n}", "2:7 Reference to undeclared local value"},
		"data":        {"locals {\n  a = data.x_y.z.id\n}", "2:7 Reference to undeclared data source"},
		"module":      {"locals {\n  a = module.m.id\n}", "2:7 Reference to undeclared module"},
		"resource":    {"locals {\n  a = coder_agent.main.id\n}", "2:7 Reference to undeclared resource"},
		"bare word":   {"locals {\n  a = linux\n}", "2:7 Invalid reference"},
		"duplicate":   {"variable \"a\" {}\nvariable \"a\" {}", "2:1 Duplicate declaration"},
		"indexed":     {"resource \"a_b\" \"c\" {\n  count = 1\n}\nlocals {\n  x = a_b.c[0].id\n  y = [for v in a_b.c : v.id]\n}", ""},
		"each":        {"resource \"a_b\" \"c\" {\n  for_each = toset([])\n  x = each.key\n}", ""},
		"self":        {"resource \"a_b\" \"c\" {\n  provisioner \"local-exec\" {\n    command = self.id\n  }\n}", ""},
		"type":        {"variable \"a\" {\n  type = list(string)\n}", ""},
		"ignored":     {"resource \"a_b\" \"c\" {\n  lifecycle {\n    ignore_changes = [name, tags[\"x\"]]\n  }\n}", ""},
		"all ignored": {"resource \"a_b\" \"c\" {\n  lifecycle {\n    ignore_changes = all\n  }\n}", ""},
		"provisioner": {"resource \"a_b\" \"c\" {\n  provisioner \"local-exec\" {\n    when = destroy\n    on_failure = continue\n  }\n}", ""},
		"provider":    {"resource \"a_b\" \"c\" {\n  provider = a.west\n}", ""},
		"dynamic": {
			"resource \"a_b\" \"c\" {\n  dynamic \"env\" {\n    for_each = [1]\n    content {\n      v = env.value\n    }\n  }\n}", "",
		},
		"iterator": {
			"resource \"a_b\" \"c\" {\n  dynamic \"env\" {\n    for_each = [1]\n    iterator = it\n    content {\n      v = it.value\n      w = env.value\n    }\n  }\n}",
			"7:11 Reference to undeclared resource",
		},
		"terraform": {"terraform {\n  required_providers {\n    a = { source = \"x/a\", configuration_aliases = [a.west] }\n  }\n}", ""},
		"moved":     {"moved {\n  from = a_b.c\n  to = a_b.d\n}\nresource \"a_b\" \"d\" {}", ""},
		"too deep":  {"locals { a = " + strings.Repeat("[", 3000), "1:1 Nesting is too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range source(c.text).Check() {
				if d.Path != "main.tf" || d.Severity != codersdk.DiagnosticSeverityError {
					t.Errorf("got %+v", d)
				}
				got = append(got, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Summary))
			}
			if joined := strings.Join(got, "; "); joined != c.want {
				t.Errorf("got %q, want %q", joined, c.want)
			}
		})
	}
}

func TestSuggestion(t *testing.T) {
	diags := source("variable \"region\" {}\nlocals {\n  x = var.regoin\n}").Check()
	if len(diags) != 1 || !strings.HasSuffix(diags[0].Detail, "Did you mean var.region?") {
		t.Errorf("got %+v", diags)
	}
}

func TestOverridesAreNotChecked(t *testing.T) {
	s := Parse([]templatesource.TemplateFile{
		{Path: "main.tf", Content: "locals {\n  x = var.y\n}"}, {Path: "more.tf.json", Content: `{"variable":{"y":{}}}`},
	})
	if diags := s.Check(); len(diags) > 0 {
		t.Errorf("got %+v", diags)
	}
}

func TestFilesOfDirectories(t *testing.T) {
	s := Parse([]templatesource.TemplateFile{
		{Path: "main.tf", Content: "module \"m\" {\n  source = \"./m\"\n}"},
		{Path: "m/main.tf", Content: "locals {\n  x = var.of_the_module\n}"},
		{Path: "m/broken.tf", Content: "locals {"},
	})
	diags := s.Check()
	if len(diags) != 1 || diags[0].Path != "m/broken.tf" {
		t.Errorf("got %+v", diags)
	}
	blocks := s.Blocks()
	if len(blocks) != 1 || blocks[0].Type != "module" || blocks[0].Labels[0] != "m" || blocks[0].Line != 1 {
		t.Errorf("got %+v", blocks)
	}
}

func TestFormat(t *testing.T) {
	got, ok := Format("locals {\na=1\n  long = 2\n}\n")
	if want := "locals {\n  a    = 1\n  long = 2\n}\n"; !ok || got != want {
		t.Errorf("got %q, %t", got, ok)
	}
	if got, ok := Format("locals {"); ok || got != "locals {" {
		t.Errorf("got %q, %t", got, ok)
	}
}

func TestVariables(t *testing.T) {
	got := source(`
variable "a" { description = "A text" }
variable "b" {
  type = number
  default = 4
}
variable "c" {
  type = list(string)
  default = ["x"]
}
variable "d" {
  default = null
  sensitive = true
}`).Variables()
	want := []codersdk.TemplateVersionVariable{
		{Name: "a", Type: "string", Description: "A text", Required: true},
		{Name: "b", Type: "number", DefaultValue: "4", Value: "4"},
		{Name: "c", Type: "any", DefaultValue: `["x"]`, Value: `["x"]`},
		{Name: "d", Type: "string", Sensitive: true},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v", got)
	}
}

func TestSetDefaults(t *testing.T) {
	const text = "# Kept.\nvariable \"port\" {\n  type    = number\n  default = 1\n}\n\nvariable \"name\" {\n  type = string\n}\n"
	got, err := SetDefaults(text, map[string]string{"port": "8080", "name": `"${x}`})
	want := "# Kept.\nvariable \"port\" {\n  type    = number\n  default = 8080\n}\n\nvariable \"name\" {\n  type    = string\n  default = \"\\\"$${x}\"\n}\n"
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, values := range []map[string]string{{"port": "many"}, {"other": "1"}} {
		if _, err := SetDefaults(text, values); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%v: got %v", values, err)
		}
	}
}
