package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

func open(t testing.TB, source string) *Form {
	t.Helper()
	f, err := Read(testtar.Of(t, map[string]string{"main.tf": source, "modules/x/main.tf": `data "coder_parameter" "hidden" { name = "hidden" }`}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// shown returns a form in short: name=default(options) and ? for required.
func shown(ps []Parameter) string {
	var out []string
	for _, p := range ps {
		s := p.Name + "=" + p.DefaultValue
		if p.Required {
			s = p.Name + "?"
		}
		for _, o := range p.Options {
			s += "|" + o.Value
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

const template = `
variable "zones" {
  type    = list(string)
  default = ["a", "b"]
}
variable "big" {
  type = bool
  default = true
}
locals {
  ides     = ["vim", "emacs"]
  all      = concat(local.ides, contains(data.coder_workspace_owner.me.groups, "pros") ? ["idea"] : [])
  loud     = upper(data.coder_parameter.region.value)
}
data "coder_workspace_owner" "me" {}
data "coder_workspace" "me" {}
data "coder_parameter" "region" {
  name    = "region"
  order   = 1
  default = "eu"
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
  order   = 2
  default = var.zones[0]
  dynamic "option" {
    for_each = var.zones
    content {
      name  = upper(option.value)
      value = option.value
    }
  }
}
data "coder_parameter" "ide" {
  name    = "ide"
  order   = 3
  type    = "list(string)"
  form_type = "multi-select"
  default = jsonencode(slice(local.all, 0, 1))
  dynamic "option" {
    for_each = toset(local.all)
    iterator = it
    content {
      name  = it.key
      value = it.value
    }
  }
}
data "coder_parameter" "note" {
  count   = length(data.coder_parameter.zone) > 0 && try(data.coder_parameter.zone[0].value, "") == "b" ? 1 : 0
  name    = "note"
  display_name = "In ${local.loud}"
  order   = 4
  styling = jsonencode({ placeholder = "write", disabled = var.big })
}
data "coder_parameter" "disk" {
  for_each = { small = 10, large = 100 }
  name     = "disk-${each.key}"
  type     = "number"
  order    = 5
  default  = each.value
  validation {
    min = each.value
    max = data.coder_parameter.region.value == "eu" ? 200 : 300
  }
}
data "coder_parameter" "image" {
  name    = "image"
  order   = 6
  default = data.docker_image.x.name
}
resource "null_resource" "x" {}
module "elsewhere" {
  source = "example.com/elsewhere/local"
}
`

// TestForms: what is asked for follows what was filled in and who asks.
func TestForms(t *testing.T) {
	f := open(t, template)
	if !f.Dynamic() {
		t.Fatal("the template is not dynamic")
	}
	static := []codersdk.TemplateVersionParameter{
		{Name: "region"}, {Name: "hidden", DefaultValue: "x"}, {Name: "zone", DefaultValue: "a"}, {Name: "ide"},
		{Name: "disk-large"}, {Name: "disk-small"}, {Name: "image", DefaultValue: "debian"},
	}
	vars := []codersdk.TemplateVersionVariable{{Name: "zones", Type: "list(string)", DefaultValue: `["a","b"]`}, {Name: "big", Type: "bool", DefaultValue: "true"}}
	for name, c := range map[string]struct {
		values map[string]string
		groups []string
		want   string
	}{
		"defaults":       {nil, nil, `region=eu|eu|us hidden=x ide=["vim"]|emacs|vim disk-large=100 disk-small=10 image=debian`},
		"another region": {map[string]string{"region": "us"}, nil, `region=eu|eu|us hidden=x zone=a|a|b ide=["vim"]|emacs|vim disk-large=100 disk-small=10 image=debian`},
		"a chain":        {map[string]string{"region": "us", "zone": "b"}, nil, `region=eu|eu|us hidden=x zone=a|a|b ide=["vim"]|emacs|vim note? disk-large=100 disk-small=10 image=debian`},
		"who asks":       {nil, []string{"pros"}, `region=eu|eu|us hidden=x ide=["vim"]|emacs|idea|vim disk-large=100 disk-small=10 image=debian`},
	} {
		got, diags := f.Parameters(static, Input{Owner: Owner{Groups: c.groups}, Variables: vars, Values: c.values})
		if shown(got) != c.want || len(diags) != 0 {
			t.Errorf("%s:\n got %s\nwant %s\n%v", name, shown(got), c.want, diags)
		}
		for _, p := range got {
			if p.Name == "note" && (p.DisplayName != "In US" || p.Styling != codersdk.PreviewParameterStyling{Placeholder: "write", Disabled: true}) {
				t.Errorf("note: %+v", p)
			}
			if p.Name == "disk-large" && (p.ValidationMin == nil || *p.ValidationMin != 100 || p.ValidationMax == nil || *p.ValidationMax != map[bool]int32{true: 300, false: 200}[c.values["region"] == "us"]) {
				t.Errorf("disk-large: %+v", p)
			}
		}
	}
}

// TestStaticForms: a template whose parameters are literals needs no evaluation,
// and neither does one that cannot be read.
func TestStaticForms(t *testing.T) {
	for name, source := range map[string]string{
		"literals": "data \"coder_parameter\" \"a\" {\n  name = \"a\"\n  option {\n    name  = \"x\"\n    value = 1 + 2\n  }\n}",
		"none":     "",
		"broken":   `data "coder_parameter" "a" { count = local.x`,
		"too deep": "locals {\n x = " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + "\n}\ndata \"coder_parameter\" \"a\" { \n count = local.x \n}",
	} {
		if open(t, source).Dynamic() {
			t.Errorf("%s: the template is dynamic", name)
		}
	}
	if f, err := Read(testtar.Of(t, map[string]string{"main.tf": `data "coder_parameter" "a" { count = local.x }`, "x.tf.json": "{}"}), nil); err != nil || f.Dynamic() {
		t.Errorf("JSON beside it: %v", err)
	}
	if _, err := Read([]byte("no archive"), nil); err == nil {
		t.Error("no archive is read")
	}
}

// TestBombs: what would cost more than there is stays open. Without bounds most
// of these end no test run.
func TestBombs(t *testing.T) {
	double := &strings.Builder{}
	fmt.Fprint(double, "locals {\n  x0 = \"aaaaaaaaaa\"\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(double, "  x%d = \"${local.x%d}${local.x%d}\"\n", i, i-1, i-1)
	}
	fmt.Fprint(double, "}\n")
	square := &strings.Builder{}
	fmt.Fprint(square, "locals {\n  x0 = 1e300\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(square, "  x%d = local.x%d * local.x%d\n", i, i-1, i-1)
	}
	fmt.Fprint(square, "}\n")
	chain := &strings.Builder{}
	fmt.Fprint(chain, "locals {\n  x1900 = \"a\"\n")
	for i := range 1900 {
		fmt.Fprintf(chain, "  x%d = upper(local.x%d)\n", i, i+1)
	}
	fmt.Fprint(chain, "}\n")
	list := "[" + strings.Repeat("1,", 3000) + "]"
	parameter := "data \"coder_parameter\" \"p\" {\n  name = \"p\"\n  default = %s\n}\n"
	for name, source := range map[string]string{
		"doubling text":    double.String() + fmt.Sprintf(parameter, "local.x59"),
		"squares":          square.String() + fmt.Sprintf(parameter, `"${local.x59}"`),
		"loops in loops":   "locals {\n l = " + list + "\n}\n" + fmt.Sprintf(parameter, "jsonencode([for a in local.l : [for b in local.l : [for c in local.l : c]]])"),
		"joins in joins":   "locals {\n l = [for i in " + list + " : \"aaaaaaaaaaaaaaaa\"]\n}\n" + fmt.Sprintf(parameter, `join(join(join("b", local.l), local.l), local.l)`),
		"a long chain":     chain.String() + fmt.Sprintf(parameter, "local.x0"),
		"a wide format":    fmt.Sprintf(parameter, `format("%999999999d", 1)`),
		"a huge number":    fmt.Sprintf(parameter, `"${1e999999999}"`),
		"a cycle":          "locals {\n a = local.b\n b = local.a\n}\n" + fmt.Sprintf(parameter, "local.a"),
		"itself":           fmt.Sprintf(parameter, "data.coder_parameter.p.value"),
		"many instances":   "data \"coder_parameter\" \"p\" {\n  count = 100000000\n  name = \"p${count.index}\"\n}\n",
		"replace":          "locals {\n l = \"" + strings.Repeat("a", 60000) + "\"\n}\n" + fmt.Sprintf(parameter, `replace(local.l, "a", replace(local.l, "a", local.l))`),
		"a file":           fmt.Sprintf(parameter, `file("/etc/passwd")`),
		"a secret of mine": "data \"coder_workspace_owner\" \"me\" {}\n" + fmt.Sprintf(parameter, `data.coder_workspace_owner.me.session_token`),
	} {
		got, _ := open(t, source).Parameters([]codersdk.TemplateVersionParameter{{Name: "p", DefaultValue: "as imported"}}, Input{})
		if len(got) != 1 || got[0].DefaultValue != "as imported" {
			t.Errorf("%s: %.200s", name, shown(got))
		}
	}
}

func FuzzForm(f *testing.F) {
	f.Add(template, "us")
	f.Add(`data "coder_parameter" "a" { count = length(var.x) }`, "")
	f.Fuzz(func(t *testing.T, source, value string) {
		if len(source) > 4<<10 {
			return
		}
		got, diags := open(t, source).Parameters(nil, Input{Values: map[string]string{"region": value, "a": value}})
		if _, err := json.Marshal([]any{got, diags}); err != nil {
			t.Error(err)
		}
	})
}
