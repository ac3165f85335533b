package terraform

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/parametervalue"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form"
)

// formCase is a template, and what users enter.
type formCase struct {
	files  map[string]string
	values []map[string]string
}

func parameterBlock(name, rest string) string {
	return fmt.Sprintf("data \"coder_parameter\" %q {\n  name = %q\n%s\n}\n", name, name, rest)
}

var formCases = map[string]formCase{
	"a module by condition": {
		map[string]string{
			"main.tf": head + parameterBlock("kind", "default = \"vm\"\norder = 1\noption {\n name = \"VM\"\n value = \"vm\"\n}\noption {\n name = \"Pod\"\n value = \"pod\"\n}") + `
module "pod" {
  count  = data.coder_parameter.kind.value == "pod" ? 1 : 0
  source = "./modules/pod"
  prefix = "${data.coder_workspace_owner.me.name}-${data.coder_parameter.kind.value}"
}
` + parameterBlock("note", `default = try(module.pod[0].name, "none")`),
			"modules/pod/main.tf": `
terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
variable "prefix" { type = string }
variable "sizes" {
  type    = list(number)
  default = [1, 2, 4]
}
locals {
  largest = max(var.sizes...)
}
` + parameterBlock("cpus", "type = \"number\"\ndefault = var.sizes[0]\norder = 2\nvalidation {\n min = 1\n max = local.largest\n}") + parameterBlock("image", "default = \"${var.prefix}/${data.coder_parameter.cpus.value}\"\norder = 3") + `
output "name" { value = upper(data.coder_parameter.image.value) }
`,
		},
		[]map[string]string{nil, {"kind": "pod"}, {"kind": "pod", "cpus": "2"}, {"kind": "pod", "cpus": "9"}, {"kind": "ship"}},
	},
	"a module for each": {
		map[string]string{
			"main.tf": head + parameterBlock("disks", "type = \"list(string)\"\ndefault = jsonencode([\"home\"])") + `
module "disk" {
  for_each = toset(jsondecode(data.coder_parameter.disks.value))
  source   = "./disk"
  name     = each.key
  options  = { large = { size = 100 }, small = { size = 10, label = "tiny" } }
}
` + parameterBlock("total", `default = sum(concat([0], [for d in module.disk : d.size]))`) + parameterBlock("first", `default = join(",", sort(values(module.disk)[*].label))`),
			"disk/main.tf": `
terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
variable "name" {}
variable "options" {
  type = map(object({ size = number, label = optional(string, "plain") }))
}
module "size" {
  source  = "../size"
  options = keys(var.options)
  name    = "${var.name}-size"
}
output "size" { value = var.options[module.size.chosen].size }
output "label" { value = var.options[module.size.chosen].label }
`,
			"size/main.tf": `
terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
variable "name" { type = string }
variable "options" { type = list(string) }
data "coder_parameter" "size" {
  name    = var.name
  default = var.options[0]
  dynamic "option" {
    for_each = var.options
    iterator = o
    content {
      name  = title(o.value)
      value = o.value
    }
  }
}
output "chosen" { value = data.coder_parameter.size.value }
`,
		},
		[]map[string]string{nil, {"disks": `["a","b"]`}, {"disks": `["a","b"]`, "a-size": "small"}, {"disks": `[]`}, {"disks": `["a"]`, "a-size": "huge"}},
	},
	"all that a parameter has": {
		map[string]string{"main.tf": head + `
locals {
  many = data.coder_parameter.on.value == "true"
}
` + parameterBlock("on", "type = \"bool\"\ndefault = \"false\"") + parameterBlock("text", `
default      = local.many ? "x" : null
display_name = format("%s (%d)", "Text", 3)
description  = replace("a.b.c", "/\\./", "-")
icon         = "/icon/${coalesce("", "vim")}.svg"
mutable      = local.many
validation {
  regex = "^[a-z]{1,${local.many ? 5 : 3}}$"
  error = "up to ${local.many ? 5 : 3} letters"
}`) + parameterBlock("number", `
type      = "number"
default   = index(["a", "b"], "b")
mutable   = true
ephemeral = true
validation {
  monotonic = "increasing"
}`) + parameterBlock("list", "type = \"list(string)\"\nform_type = \"multi-select\"\ndefault = jsonencode([\"a\"])\noption {\n name = \"A\"\n value = \"a\"\n}\noption {\n name = \"B\"\n value = \"b\"\n icon = \"/icon/b.svg\"\n}")},
		[]map[string]string{{"text": "abc"}, {"on": "true"}, {"on": "true", "text": "abcde"}, {"text": "abcde"}, {"text": "abc", "list": `["b","c"]`}},
	},
}

// TestFormsAgreeWithPlans compares the forms of templates with what Terraform plans for the same
// values: the same parameters, and the same values are valid.
func TestFormsAgreeWithPlans(t *testing.T) {
	e := newEngine(t)
	for name, c := range formCases {
		t.Run(name, func(t *testing.T) {
			f, err := form.Read(pack(t, c.files), nil)
			if err != nil || !f.Dynamic() {
				t.Fatalf("the form is not dynamic: %v", err)
			}
			j, done := open(t, e, c.files)
			if done.GetError() != "" {
				t.Fatal(done.GetError())
			}
			imported, problem := planParameters(t, j, nil, true)
			if problem != "" {
				t.Fatal(problem)
			}
			var static []codersdk.TemplateVersionParameter
			for _, p := range imported {
				static = append(static, codersdk.TemplateVersionParameter{Name: p.GetName(), FormType: formTypeOf(p)})
			}
			for _, values := range c.values {
				m := metadata(provisioner.WorkspaceTransition_START)
				got, diags := f.Parameters(static, form.Input{Owner: form.Owner{Name: m.GetWorkspaceOwner()}, Values: values})
				want, problem := planParameters(t, j, values, false)
				var refused []string
				for i, p := range got {
					var given *string
					if v, ok := values[p.Name]; ok {
						given = &v
					}
					for _, d := range parametervalue.Preview(p.TemplateVersionParameter, i, given).Diagnostics {
						refused = append(refused, p.Name+": "+d.Detail)
					}
				}
				switch {
				case problem != "":
					if len(refused) == 0 {
						t.Errorf("%v: Terraform refuses what the form accepts: %s", values, problem)
					}
				case len(refused) > 0 || len(diags) > 0:
					t.Errorf("%v: the form refuses what Terraform accepts: %v %v", values, refused, diags)
				default:
					compareForms(t, values, got, want)
				}
			}
		})
	}
}

// TestFormOfInstalledModule reads a module of a repository from the files that the import stores.
func TestFormOfInstalledModule(t *testing.T) {
	e := newEngine(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: this test of module sources does not run")
	}
	repository := t.TempDir()
	c := formCases["a module for each"]
	for name, text := range c.files {
		file := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, repository)
	files := map[string]string{"main.tf": strings.Replace(c.files["main.tf"], "./disk", "git::file://"+repository+"//disk", 1)}
	j, done := open(t, e, files)
	if done.GetError() != "" {
		t.Fatal(done.GetError())
	}
	f, err := form.Read(pack(t, files), done.GetModuleFiles())
	if err != nil {
		t.Fatal(err)
	}
	values := c.values[2]
	got, _ := f.Parameters(nil, form.Input{Values: values})
	want, problem := planParameters(t, j, values, false)
	if problem != "" || len(want) < 3 {
		t.Fatal(problem, want)
	}
	compareForms(t, values, got, want)
}

func compareForms(t *testing.T, values map[string]string, got []form.Parameter, want []*provisioner.RichParameter) {
	t.Helper()
	var ours, theirs []string
	for _, p := range got {
		ours = append(ours, describeForm(p))
	}
	for _, p := range want {
		theirs = append(theirs, describePlan(p))
	}
	if !slices.Equal(ours, theirs) {
		t.Errorf("%v:\nform\n  %s\nplan\n  %s", values, strings.Join(ours, "\n  "), strings.Join(theirs, "\n  "))
	}
}

// planParameters returns the parameters of a plan with values, or its error.
func planParameters(t *testing.T, j *job, values map[string]string, isImport bool) ([]*provisioner.RichParameter, string) {
	t.Helper()
	m := metadata(provisioner.WorkspaceTransition_START)
	if isImport {
		m.WorkspaceBuildId = ""
	}
	req := &provisioner.PlanRequest{Metadata: m}
	for name, value := range values {
		req.RichParameterValues = append(req.RichParameterValues, &provisioner.RichParameterValue{Name: name, Value: value})
	}
	planned, err := j.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if planned.GetError() != "" {
		return nil, planned.GetError()
	}
	graph := ok[*provisioner.GraphComplete](t)(j.Graph(t.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN}))
	return graph.GetParameters(), ""
}

func formTypeOf(p *provisioner.RichParameter) string {
	name := strings.ToLower(p.GetFormType().String())
	return strings.ReplaceAll(strings.ReplaceAll(name, "multiselect", "multi-select"), "tagselect", "tag-select")
}

func limit(n *int32) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

func describeForm(p form.Parameter) string {
	var options []string
	for _, o := range p.Options {
		options = append(options, fmt.Sprintf("%s=%s %s", o.Name, o.Value, o.Icon))
	}
	return fmt.Sprintf("%s %q %q %s default %q required %v mutable %v ephemeral %v order %d icon %s options %q regex %q %q min %s max %s %s",
		p.Name, p.DisplayName, p.Description, p.Type, p.DefaultValue, p.Required, p.Mutable, p.Ephemeral, p.Order, p.Icon, options,
		p.ValidationRegex, p.ValidationError, limit(p.ValidationMin), limit(p.ValidationMax), p.ValidationMonotonic)
}

func describePlan(p *provisioner.RichParameter) string {
	var options []string
	for _, o := range p.GetOptions() {
		options = append(options, fmt.Sprintf("%s=%s %s", o.GetName(), o.GetValue(), o.GetIcon()))
	}
	return fmt.Sprintf("%s %q %q %s default %q required %v mutable %v ephemeral %v order %d icon %s options %q regex %q %q min %s max %s %s",
		p.GetName(), p.GetDisplayName(), p.GetDescription(), p.GetType(), p.GetDefaultValue(), p.GetRequired(), p.GetMutable(), p.GetEphemeral(),
		p.GetOrder(), p.GetIcon(), options, p.GetValidationRegex(), p.GetValidationError(), limit(p.ValidationMin), limit(p.ValidationMax), p.GetValidationMonotonic())
}

// TestFunctionsAgree evaluates expressions with each function by Terraform and in a form.
func TestFunctionsAgree(t *testing.T) {
	expressions := []string{
		`abs(-3)`, `ceil(1.2)`, `floor(-1.2)`, `log(8, 2)`, `max(1, 3, 2)`, `min(3, 1)`, `parseint("ff", 16)`, `pow(2, 10)`, `signum(-4)`, `sum([1, "2", 3.5])`,
		`base64decode("aMOk")`, `base64encode("hä")`, `chomp("a\n")`, `endswith("abc", "bc")`, `endswith("abc", "x")`, `format("%s-%03d %v %q", "a", 7, true, "b")`,
		`formatdate("YYYY-MM-DD", "2026-01-02T03:04:05Z")`, `formatlist("%s!", ["a", "b"])`, `join("-", ["a", "b"])`, `lower("AB")`, `md5("a")`, `sha1("a")`,
		`sha256("a")`, `sha512("a")`, `regex("[a-z]+", "12ab")`, `regex("(?P<n>[0-9])", "a1")`, `regexall("[a-z]", "a1b")`, `replace("a.b", ".", "-")`,
		`replace("hello", "/l+/", "L")`, `replace("hello", "/(h)(e)/", "$2$1")`, `split(",", "a,b")`, `startswith("abc", "ab")`, `strcontains("abc", "b")`,
		`strrev("abc")`, `substr("hello", 1, 3)`, `substr("hello", -2, -1)`, `timeadd("2026-01-02T03:04:05Z", "10m")`, `title("a b")`, `trim("xax", "x")`,
		`trimprefix("ab", "a")`, `trimspace(" a ")`, `trimsuffix("ab", "b")`, `upper("ä")`, `urlencode("a b&c/ü")`,
		`alltrue([true, "true"])`, `alltrue([])`, `alltrue([true, null])`, `anytrue([])`, `anytrue([false, true])`, `chunklist([1, 2, 3], 2)`, `coalesce("", "a")`,
		`coalesce(null, 3)`, `coalesce(null, "", "b", "c")`, `coalesce(1, "b")`, `coalescelist([], ["a"])`, `compact(["a", "", "b"])`, `concat([1], ["a"])`, `contains(["a"], "a")`,
		`distinct(["a", "a"])`, `element(["a", "b"], 3)`, `flatten([["a"], [["b"]]])`, `index(["a", "b"], "b")`, `index([1, 2], 2)`, `keys({ b = 1, a = 2 })`,
		`length("hä")`, `length({ a = 1 })`, `length([])`, `lookup({ a = 1 }, "b", 3)`, `lookup({ a = 1 }, "a")`, `merge({ a = 1 }, { a = "b", c = 2 })`,
		`one([])`, `one(["a"])`, `one(toset(["a"]))`, `range(3)`, `range(1, 7, 2)`, `reverse(["a", "b"])`, `setintersection(["a", "b"], ["b"])`,
		`setproduct(["a", "b"], [1, 2])`, `setsubtract(["a", "b"], ["a"])`, `setunion(["b"], ["a"])`, `slice(["a", "b", "c"], 1, 2)`, `sort(["b", "a"])`,
		`values({ b = 1, a = 2 })`, `zipmap(["a", "b"], [1, 2])`, `jsondecode("{\"a\": [1, null]}")`, `jsonencode({ a = "<" })`, `nonsensitive(sensitive("a"))`, `tobool("true")`,
		`tolist(toset(["b", "a"]))`, `tomap({ a = 1 })`, `tonumber("3.0")`, `toset(["b", "a", "b"])`, `tostring(1e3)`, `tostring(0.1 + 0.2)`, `can(tonumber("a"))`, `try(tonumber("a"), 7)`,
		`[for k, v in { a = 1, b = 2 } : "${k}${v}" if v > 1]`, `{ for s in ["a", "bb"] : length(s) => s... }`, `[[1, 2], [3]][*][0]`, `1 == 1.0 ? "yes" : "no"`, `"%{for x in ["a", "b"]}${x},%{endfor}"`,
		`5 / 2`, `5 % 3`, `-(-3)`, `!true || false`, `"a" == "b"`, `[1, 2] == [1, 2]`, `{ a = 1 }["a"]`, `10 > 9`,
	}
	var source strings.Builder
	source.WriteString(head)
	for i, expression := range expressions {
		source.WriteString(parameterBlock(fmt.Sprintf("p%03d", i), "default = jsonencode("+expression+")"))
	}
	files := map[string]string{"main.tf": source.String()}
	f, err := form.Read(pack(t, files), nil)
	if err != nil {
		t.Fatal(err)
	}
	j, _ := open(t, newEngine(t), files)
	want, problem := planParameters(t, j, nil, false)
	if problem != "" {
		t.Fatal(problem)
	}
	got, diags := f.Parameters(nil, form.Input{})
	if len(diags) > 0 || len(got) != len(want) || len(got) != len(expressions) {
		t.Fatalf("%d parameters, Terraform has %d: %v", len(got), len(want), diags)
	}
	for i, expression := range expressions {
		if got[i].DefaultValue != want[i].GetDefaultValue() {
			t.Errorf("%s is %s, Terraform's is %s", expression, got[i].DefaultValue, want[i].GetDefaultValue())
		}
	}
}
