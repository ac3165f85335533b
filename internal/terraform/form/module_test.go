package form

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

func openFiles(t testing.TB, files, installed map[string]string) *Form {
	t.Helper()
	var modules []byte
	if installed != nil {
		modules = testtar.Of(t, installed)
	}
	f, err := Read(testtar.Of(t, files), modules)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const asks = `
variable "name" {
  type = string
}
variable "secret" {
  sensitive = true
  default   = "s"
}
data "coder_parameter" "p" {
  name    = var.name
  default = try(var.secret, "x")
}
output "value" {
  value = data.coder_parameter.p.value
}
output "both" {
  value = "${var.name}/${data.coder_parameter.p.value}"
}
`

// TestModules evaluates parameters of modules.
func TestModules(t *testing.T) {
	parameter := func(name, rest string) string {
		return "data \"coder_parameter\" \"" + name + "\" {\n  name = \"" + name + "\"\n" + rest + "\n}\n"
	}
	static := []codersdk.TemplateVersionParameter{{Name: "a", DefaultValue: "imported"}, {Name: "b", DefaultValue: "imported"}}
	for name, c := range map[string]struct {
		files     map[string]string
		installed map[string]string
		values    map[string]string
		want      string
	}{
		"in the archive": {
			files: map[string]string{"main.tf": "module \"m\" {\n source = \"./x\"\n name = \"a\"\n}\n" + parameter("b", "default = module.m.both"), "x/main.tf": asks},
			want:  "a=imported b=a/imported",
		},
		"installed": {
			files: map[string]string{"main.tf": "module \"m\" {\n source = \"example.com/a/b\"\n name = \"a\"\n}\n" + parameter("b", "default = module.m.value")},
			installed: map[string]string{
				".terraform/modules/modules.json": `{"Modules":[{"Key":"","Dir":"."},{"Key":"m","Dir":".terraform/modules/m/sub"},{"Key":"m.inner","Dir":".terraform/modules/m/inner"}]}`,
				".terraform/modules/m/sub/m.tf":   "variable \"name\" {}\nmodule \"inner\" {\n source = \"../inner\"\n name = var.name\n}\noutput \"value\" {\n value = module.inner.value\n}\n",
				".terraform/modules/m/inner/i.tf": asks,
				".terraform/modules/m/main.tf":    `data "coder_parameter" "c" { name = "c" }`,
			},
			values: map[string]string{"a": "entered"},
			want:   "a=imported b=entered",
		},
		"not there": {
			files: map[string]string{"main.tf": "module \"m\" {\n source = \"example.com/a/b\"\n}\n" + parameter("b", "default = module.m.value")},
			want:  "a=imported b=imported",
		},
		"without an instance": {
			files: map[string]string{"main.tf": "module \"m\" {\n count = 0\n source = \"./x\"\n name = \"a\"\n}\nmodule \"elsewhere\" {\n source = \"example.com/a/b\"\n}\n", "x/main.tf": asks},
			want:  "b=imported",
		},
		"how many is unknown": {
			files: map[string]string{"main.tf": "module \"m\" {\n count = x.y.z\n source = \"./x\"\n name = \"a\"\n}\n" + parameter("b", "default = try(module.m[0].value, 1)"), "x/main.tf": asks},
			want:  "a=imported b=imported",
		},
		"one uses the other": {
			files: map[string]string{
				"main.tf":   "module \"m\" {\n source = \"./x\"\n name = module.n.first\n}\nmodule \"n\" {\n source = \"./y\"\n in = module.m.both\n}\n" + parameter("b", "default = module.n.second"),
				"x/main.tf": asks, "y/main.tf": "variable \"in\" {}\noutput \"first\" {\n value = \"a\"\n}\noutput \"second\" {\n value = var.in\n}\n",
			},
			want: "a=imported b=a/imported",
		},
		"itself": {
			files: map[string]string{"main.tf": "module \"m\" {\n source = \"./x\"\n}\n" + parameter("b", "default = module.m.x"), "x/main.tf": "module \"m\" {\n source = \"../x\"\n}\noutput \"x\" {\n value = module.m.x\n}\n"},
			want:  "a=imported b=imported",
		},
		"a cycle": {
			files: map[string]string{"main.tf": "module \"m\" {\n source = \"./x\"\n name = module.m.value\n}\n" + parameter("b", "default = module.m.value"), "x/main.tf": asks},
			want:  "a=imported b=imported",
		},
		"too many": {
			files: map[string]string{
				"main.tf": "module \"m\" {\n count = 100\n source = \"./x\"\n}\n", "x/main.tf": "module \"m\" {\n count = 100\n source = \"../y\"\n}\n",
				"y/main.tf": "module \"m\" {\n count = 100\n source = \"../z\"\n name = \"a\"\n}\n", "z/main.tf": asks,
			},
			want: "a=imported b=imported",
		},
		"overridden": {
			files: map[string]string{"main.tf": "module \"m\" {\n source = \"./x\"\n name = \"a\"\n}\n", "x/main.tf": asks, "x/override.tf": ""},
			want:  "a=imported b=imported",
		},
		"above the template": {
			files: map[string]string{"main.tf": "module \"m\" {\n source = \"../../x\"\n name = \"a\"\n}\n", "x/main.tf": asks},
			want:  "a=imported b=imported",
		},
	} {
		got, diags := openFiles(t, c.files, c.installed).Parameters(static, Input{Values: c.values})
		if shown(got) != c.want || len(diags) > 0 {
			t.Errorf("%s:\n got %s\nwant %s\n%v", name, shown(got), c.want, diags)
		}
	}
}

// TestGoneParameters drops what the import found and the values exclude.
func TestGoneParameters(t *testing.T) {
	f := open(t, "variable \"names\" {}\ndata \"coder_parameter\" \"p\" {\n for_each = toset(split(\",\", data.coder_parameter.names.value))\n name = each.key\n default = \"\"\n}\ndata \"coder_parameter\" \"names\" {\n name = \"names\"\n default = \"a\"\n}\n")
	got, _ := f.Parameters([]codersdk.TemplateVersionParameter{{Name: "a"}, {Name: "names"}}, Input{Values: map[string]string{"names": "b,c"}})
	if s := shown(got); s != "b= c= names=a" {
		t.Errorf("got %s", s)
	}
}

// TestWhetherModulesAreDynamic recognizes forms that depend on nothing but the source.
func TestWhetherModulesAreDynamic(t *testing.T) {
	literal := "data \"coder_parameter\" \"p\" {\n name = \"a\"\n}\n"
	for name, c := range map[string]struct {
		call, module string
		want         bool
	}{
		"literals":                 {"", literal, false},
		"an input":                 {"", "variable \"v\" {\n default = 1\n}\n" + strings.Replace(literal, "\"a\"", "var.v", 1), true},
		"a condition":              {"count = var.x ? 1 : 0", literal, true},
		"a condition of no matter": {"count = var.x ? 1 : 0", "", false},
	} {
		f := openFiles(t, map[string]string{"main.tf": "module \"m\" {\n source = \"./x\"\n" + c.call + "\n}\n", "x/main.tf": c.module + "\n"}, nil)
		if f.Dynamic() != c.want {
			t.Errorf("%s: dynamic is %v", name, f.Dynamic())
		}
	}
}

// TestTooManyParameters stops at the largest number of parameters, however many there would be.
func TestTooManyParameters(t *testing.T) {
	var many strings.Builder
	many.WriteString("variable \"n\" {}\n")
	for i := range 1900 {
		fmt.Fprintf(&many, "data \"coder_parameter\" \"p%d\" {\n name = \"${var.n}-%d\"\n default = \"%d\"\n description = \"d\"\n}\n", i, i, i)
	}
	f := openFiles(t, map[string]string{
		"main.tf": "module \"m\" {\n count = 100\n source = \"./x\"\n n = count.index\n}\n", "x/main.tf": many.String(),
	}, nil)
	got, _ := f.Parameters(nil, Input{})
	if len(got) != maxParameters {
		t.Errorf("%d parameters", len(got))
	}
}
