package parametervalue_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/parametervalue"
)

func TestResolve(t *testing.T) {
	size := codersdk.TemplateVersionParameter{Name: "size", Type: "number", DefaultValue: "10", Mutable: true, ValidationMin: new(int32(1)), ValidationMax: new(int32(100)), ValidationMonotonic: codersdk.ValidationMonotonicOrderIncreasing}
	region := codersdk.TemplateVersionParameter{Name: "region", Type: "string", Required: true, Options: []codersdk.TemplateVersionParameterOption{{Name: "Europe", Value: "eu"}, {Name: "America", Value: "us"}}}
	clean := codersdk.TemplateVersionParameter{Name: "clean", Type: "bool", DefaultValue: "false", Mutable: true, Ephemeral: true}
	tools := codersdk.TemplateVersionParameter{Name: "tools", Type: "list(string)", DefaultValue: "[]", Mutable: true, FormType: "multi-select", Options: []codersdk.TemplateVersionParameterOption{{Value: "go"}, {Value: "vim"}}}
	host := codersdk.TemplateVersionParameter{Name: "host", Type: "string", DefaultValue: "a", Mutable: true, ValidationRegex: "^[a-z]+$", ValidationError: "{value} is not lower case"}
	blank := codersdk.TemplateVersionParameter{Name: "count", Type: "number", Mutable: true}

	type P = []codersdk.WorkspaceBuildParameter
	p := func(kv ...string) (out P) {
		for _, s := range kv {
			k, v, _ := strings.Cut(s, "=")
			out = append(out, codersdk.WorkspaceBuildParameter{Name: k, Value: v})
		}
		return out
	}
	defs := func(d ...codersdk.TemplateVersionParameter) []codersdk.TemplateVersionParameter { return d }
	create, update := parametervalue.Options{Create: true}, parametervalue.Options{Transition: codersdk.WorkspaceTransitionStart}
	stop := parametervalue.Options{Transition: codersdk.WorkspaceTransitionStop}
	for _, tt := range []struct {
		name            string
		defs            []codersdk.TemplateVersionParameter
		given, previous P
		opts            parametervalue.Options
		want            string // the values, or "!field: part of the detail"
	}{
		{"defaults", defs(size, clean), nil, nil, create, "size=10 clean=false"},
		{"required missing", defs(region), nil, nil, create, "!region: needs a value"},
		{"required given", defs(region), p("region=eu"), nil, create, "region=eu"},
		{"not an option", defs(region), p("region=mars"), nil, create, "!region: one of eu, us"},
		{"unknown", defs(size), p("sise=3"), nil, create, "!sise: no such parameter"},
		{"twice", defs(size), p("size=3", "size=4"), nil, create, "!size: more than once"},
		{"kept", defs(size, region), nil, p("size=20", "region=us"), update, "size=20 region=us"},
		{"changed", defs(size), p("size=30"), p("size=20"), update, "size=30"},
		{"may only grow", defs(size), p("size=10"), p("size=20"), update, "!size: only grow"},
		{"free at creation", defs(size), p("size=10"), p("size=20"), create, "size=10"},
		{"too small", defs(size), p("size=0"), nil, create, "!size: less than 1"},
		{"too large", defs(size), p("size=101"), nil, create, "!size: more than 100"},
		{"not a number", defs(size), p("size=ten"), nil, create, "!size: takes a number"},
		{"not hexadecimal", defs(size), p("size=0x10"), nil, create, "!size: takes a number"},
		{"not infinite", defs(size), p("size=Inf"), nil, create, "!size: takes a number"},
		{"blank number without default", defs(blank), nil, nil, create, "count="},
		{"blank number with default", defs(size), p("size="), nil, create, "!size: takes a number"},
		{"immutable the same", defs(region), p("region=us"), p("region=us"), update, "region=us"},
		{"immutable changed", defs(region), p("region=eu"), p("region=us"), update, "!region: cannot be changed"},
		{"immutable new in this version", defs(region), p("region=eu"), nil, update, "region=eu"},
		{"required new in this version", defs(region), nil, nil, update, "!region: needs a value"},
		{"option was removed", defs(region), nil, p("region=asia"), update, "!region: no longer fits"},
		{"option was removed and another given", defs(region), p("region=eu"), p("region=asia"), update, "region=eu"},
		{"parameter was removed", defs(size), nil, p("size=20", "old=1"), update, "size=20"},
		{"ephemeral given", defs(clean), p("clean=true"), nil, update, "clean=true"},
		{"ephemeral forgotten", defs(clean), nil, p("clean=true"), update, "clean=false"},
		{"not a bool", defs(clean), p("clean=yes"), nil, update, "!clean: true or false"},
		{"list", defs(tools), p(`tools=["go","vim"]`), nil, create, `tools=["go","vim"]`},
		{"list of none", defs(tools), p(`tools=[]`), nil, create, `tools=[]`},
		{"list with a stranger", defs(tools), p(`tools=["emacs"]`), nil, create, "!tools: one of go, vim"},
		{"not a list", defs(tools), p(`tools=go`), nil, create, "!tools: JSON list"},
		{"null list", defs(tools), p(`tools=null`), nil, create, "!tools: JSON list"},
		{"pattern", defs(host), p("host=B"), nil, create, "!host: B is not lower case"},
		{"NUL", defs(host), p("host=a\x00"), nil, create, "!host: not plain text"},
		{"stop keeps what no longer fits", defs(region, size), nil, p("region=asia", "size=20"), stop, "region=asia size=20"},
		{"stop without a required value", defs(region), nil, nil, stop, "region="},
		{"preset", defs(size, region), p("size=4"), nil, parametervalue.Options{Create: true, Preset: []codersdk.PresetParameter{{Name: "size", Value: "7"}, {Name: "region", Value: "us"}}}, "size=7 region=us"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := parametervalue.Resolve(tt.defs, tt.given, tt.previous, tt.opts)
			var got []string
			for _, v := range out {
				got = append(got, v.Name+"="+v.Value)
			}
			if want, bad := strings.CutPrefix(tt.want, "!"); bad {
				field, detail, _ := strings.Cut(want, ": ")
				e, ok := errors.AsType[*codersdk.Error](err)
				if !ok || e.Code != codersdk.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Field != field || !strings.Contains(e.Fields[0].Detail, detail) {
					t.Fatalf("error is %v, want %s", err, want)
				}
				return
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Fatalf("got %v and %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestResolveReportsAllProblems(t *testing.T) {
	defs := []codersdk.TemplateVersionParameter{{Name: "a", Type: "string", Required: true}, {Name: "b", Type: "number", Required: true}}
	_, err := parametervalue.Resolve(defs, []codersdk.WorkspaceBuildParameter{{Name: "b", Value: "x"}, {Name: "c", Value: "1"}}, nil, parametervalue.Options{Create: true})
	e, ok := errors.AsType[*codersdk.Error](err)
	if !ok || len(e.Fields) != 3 {
		t.Fatalf("want three fields, got %v", err)
	}
}
