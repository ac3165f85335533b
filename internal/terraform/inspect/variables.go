package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Variables returns the variables of the root module, by file and line. Default values that
// are no strings, numbers or booleans are JSON.
func (s *Source) Variables() []codersdk.TemplateVersionVariable {
	out := []codersdk.TemplateVersionVariable{}
	for _, name := range s.paths() {
		for _, b := range s.bodies[name].Blocks {
			if b.Type == "variable" && len(b.Labels) == 1 {
				out = append(out, readVariable(b))
			}
		}
	}
	return out
}

func readVariable(b *hclsyntax.Block) codersdk.TemplateVersionVariable {
	v := codersdk.TemplateVersionVariable{Name: b.Labels[0], Type: "string", Required: true}
	literal := func(name string) (cty.Value, bool) {
		a, ok := b.Body.Attributes[name]
		if !ok {
			return cty.NilVal, false
		}
		value, diags := a.Expr.Value(nil)
		return value, !diags.HasErrors() && value.IsWhollyKnown()
	}
	if a, ok := b.Body.Attributes["type"]; ok {
		if v.Type = hcl.ExprAsKeyword(a.Expr); v.Type == "" {
			v.Type = "any"
		}
	}
	if text, ok := literal("description"); ok {
		v.Description = textOf(text)
	}
	if secret, ok := literal("sensitive"); ok && !secret.IsNull() && secret.Type() == cty.Bool {
		v.Sensitive = secret.True()
	}
	if value, ok := literal("default"); ok {
		v.Required, v.DefaultValue = false, textOf(value)
	} else if _, there := b.Body.Attributes["default"]; there {
		v.Required = false
	}
	v.Value = v.DefaultValue
	return v
}

// textOf returns a primitive value as text and another value as JSON; "" for null.
func textOf(v cty.Value) string {
	if v.IsNull() {
		return ""
	}
	if v.Type().IsPrimitiveType() {
		text, err := convert.Convert(v, cty.String)
		if err != nil {
			return ""
		}
		return text.AsString()
	}
	b, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return ""
	}
	return string(b)
}

// SetDefaults returns a file with other default values of its variables, by name. The
// values are texts of the variables' types: string, number or bool. The error is
// codersdk.CodeInvalid for a value that does not fit and for an unknown variable.
func SetDefaults(content string, values map[string]string) (string, error) {
	file, diags := hclwrite.ParseConfig([]byte(content), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		return "", diags
	}
	left := maps.Clone(values)
	for _, b := range file.Body().Blocks() {
		if b.Type() != "variable" || len(b.Labels()) != 1 {
			continue
		}
		name := b.Labels()[0]
		text, ok := left[name]
		if !ok {
			continue
		}
		delete(left, name)
		typ := cty.String
		if a := b.Body().GetAttribute("type"); a != nil {
			switch strings.TrimSpace(string(a.Expr().BuildTokens(nil).Bytes())) {
			case "number":
				typ = cty.Number
			case "bool":
				typ = cty.Bool
			}
		}
		value, err := convert.Convert(cty.StringVal(text), typ)
		if err != nil {
			return "", codersdk.Invalid(name, "%q is not a %s", text, typ.FriendlyName())
		}
		b.Body().SetAttributeValue("default", value)
	}
	if len(left) > 0 {
		return "", codersdk.Invalid("settings", "unknown settings: %s", fmt.Sprint(slices.Sorted(maps.Keys(left))))
	}
	return string(hclwrite.Format(file.Bytes())), nil
}
