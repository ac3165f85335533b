package terraform

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// tagRule explains to authors what a tag may use, because tags choose the provisioner
// before the build.
const tagRule = "a tag may use literals, var.<name>, data.coder_parameter.<name>.value, \"${...}\" templates, comparisons, !, conditions and format(); " +
	"resources, locals, other data sources and other functions are unknown when the tags choose the provisioner"

// tagFunctions are the functions that a tag may call. The conversions are for
// typed variables, see retype.
func tagFunctions() map[string]function.Function {
	return map[string]function.Function{
		"format":   stdlib.FormatFunc,
		"tostring": stdlib.MakeToFunc(cty.String),
		"tonumber": stdlib.MakeToFunc(cty.Number),
		"tobool":   stdlib.MakeToFunc(cty.Bool),
	}
}

// tags reads the coder_workspace_tags blocks and returns the text of each tag's
// expression by name. The texts refer to parameters by name, not by block
// label, so that EvalTags needs no more information. (TPL-04)
func (m *module) tags() (map[string]string, error) {
	tags := map[string]string{}
	for _, b := range m.tagBlocks {
		content, _, diags := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "tags", Required: true}}})
		if diags.HasErrors() {
			return nil, fmt.Errorf("%s", diagnosticsText(diags))
		}
		pairs, diags := hcl.ExprMap(content.Attributes["tags"].Expr)
		if diags.HasErrors() {
			return nil, fmt.Errorf("%s: the tags of coder_workspace_tags must be written out as { name = value }", place(content.Attributes["tags"].Range))
		}
		for _, p := range pairs {
			name := literal(p.Key)
			if name == "" {
				return nil, fmt.Errorf("%s: the name of a workspace tag must be a literal", place(p.Key.Range()))
			}
			text, err := m.tagText(m.text(p.Value))
			if err != nil {
				return nil, fmt.Errorf("%s: workspace tag %q: %w", place(p.Value.Range()), name, err)
			}
			tags[name] = text
		}
	}
	return tags, nil
}

func place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// tagText checks an expression and rewrites its references.
func (m *module) tagText(text string) (string, error) {
	expr, err := parseTag(text)
	if err != nil {
		return "", err
	}
	type edit struct {
		from, to int
		with     string
	}
	var edits []edit
	for _, t := range expr.Variables() {
		r := t.SourceRange()
		name := referenceName(t)
		if t.RootName() == "var" {
			if with, ok, err := m.retype(expr, name); err != nil {
				return "", err
			} else if ok {
				edits = append(edits, edit{r.Start.Byte, r.End.Byte, with})
			}
			continue
		}
		parameter, ok := m.parameters[name]
		if !ok {
			return "", fmt.Errorf("the template does not declare data \"coder_parameter\" %q", name)
		}
		if parameter == "" {
			return "", fmt.Errorf("the name of data.coder_parameter.%s must be a literal", name)
		}
		if parameter != name {
			edits = append(edits, edit{r.Start.Byte, r.End.Byte, fmt.Sprintf("data.coder_parameter[%s].value", quoted(parameter))})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		text = text[:e.from] + e.with + text[e.to:]
	}
	return text, nil
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "${", "$${", "%{", "%%{").Replace(s) + `"`
}

// retype converts a non-string variable to its type in comparisons: the values
// of variables are texts, and "5" == 5 is false.
func (m *module) retype(expr hclsyntax.Expression, name string) (text string, ok bool, err error) {
	i := slices.IndexFunc(m.variables, func(v *provisioner.TemplateVariable) bool { return v.GetName() == name })
	if i < 0 {
		return "", false, fmt.Errorf("the template does not declare the variable %q", name)
	}
	typ := m.variables[i].GetType()
	if typ != "number" && typ != "bool" {
		return "", false, nil
	}
	compares := false
	hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		if op, is := n.(*hclsyntax.BinaryOpExpr); is && (op.Op == hclsyntax.OpEqual || op.Op == hclsyntax.OpNotEqual) {
			compares = true
		}
		return nil
	})
	return fmt.Sprintf("to%s(var.%s)", typ, name), compares, nil
}

// maxTag is the longest expression of a tag. The server evaluates tags, so no
// expression may be expensive.
const maxTag = 4 << 10

// costly returns the part of an expression that could use much memory, or "".
func costly(n hclsyntax.Node) string {
	switch n := n.(type) {
	case *hclsyntax.LiteralValueExpr:
		if n.Val.Type() == cty.Number && n.Val.IsKnown() && !n.Val.IsNull() {
			if e := n.Val.AsBigFloat().MantExp(nil); e > 1024 || e < -1024 {
				return "a number that is too large or too small"
			}
		}
	case *hclsyntax.FunctionCallExpr:
		if n.Name == "format" && len(n.Args) > 0 {
			t, ok := n.Args[0].(*hclsyntax.TemplateExpr)
			if !ok || !t.IsStringLiteral() || wideVerb.MatchString(literal(t)) {
				return "format() with a non-literal text or a width above 999"
			}
		}
	}
	return ""
}

var wideVerb = regexp.MustCompile(`\d{4}`)

// parseTag parses a tag's expression and refuses what is unknown before a
// build.
func parseTag(text string) (hclsyntax.Expression, error) {
	if len(text) > maxTag {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxTag)
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), "tag", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s is not an expression: %s", text, diags[0].Summary)
	}
	functions := tagFunctions()
	var refused string
	hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		if refused == "" {
			refused = costly(n)
		}
		switch n := n.(type) {
		case *hclsyntax.LiteralValueExpr, *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr, *hclsyntax.ScopeTraversalExpr,
			*hclsyntax.ParenthesesExpr, *hclsyntax.ConditionalExpr, *hclsyntax.UnaryOpExpr, *hclsyntax.BinaryOpExpr:
		case *hclsyntax.FunctionCallExpr:
			if _, ok := functions[n.Name]; !ok && refused == "" {
				refused = "the function " + n.Name + "()"
			}
		case hclsyntax.Expression:
			if r := n.Range(); refused == "" {
				refused = string(r.SliceBytes([]byte(text)))
			}
		}
		return nil
	})
	for _, t := range expr.Variables() {
		if referenceName(t) == "" && refused == "" {
			r := t.SourceRange()
			refused = string(r.SliceBytes([]byte(text)))
		}
	}
	if refused != "" {
		return nil, fmt.Errorf("it uses %s, but %s", refused, tagRule)
	}
	return expr, nil
}

// referenceName returns x for var.x, data.coder_parameter.x.value and
// data.coder_parameter["x"].value, and "" for every other reference.
func referenceName(t hcl.Traversal) string {
	var path []string
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			path = append(path, step.Name)
		case hcl.TraverseAttr:
			path = append(path, step.Name)
		case hcl.TraverseIndex:
			if step.Key.Type() != cty.String {
				return ""
			}
			path = append(path, step.Key.AsString())
		default:
			return ""
		}
	}
	switch {
	case len(path) == 2 && path[0] == "var":
		return path[1]
	case len(path) == 4 && path[0] == "data" && path[1] == "coder_parameter" && path[3] == "value":
		return path[2]
	}
	return ""
}

// EvalTags evaluates the expressions of a version's workspace tags, as Parse
// returned them, with the values of all variables and parameters by name. An
// expression that cannot be evaluated is CodeInvalid.
func EvalTags(exprs map[string]string, variables, parameters map[string]string) (codersdk.Tags, error) {
	vars, params := map[string]cty.Value{}, map[string]cty.Value{}
	for k, v := range variables {
		vars[k] = cty.StringVal(v)
	}
	for k, v := range parameters {
		params[k] = cty.ObjectVal(map[string]cty.Value{"value": cty.StringVal(v)})
	}
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{
			"var":  cty.ObjectVal(vars),
			"data": cty.ObjectVal(map[string]cty.Value{"coder_parameter": cty.ObjectVal(params)}),
		},
		Functions: tagFunctions(),
	}
	tags := codersdk.Tags{}
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		expr, err := parseTag(exprs[name])
		if err != nil {
			return nil, codersdk.Invalid("workspace_tags", "tag %q: %v", name, err)
		}
		for _, t := range expr.Variables() {
			ref := referenceName(t)
			if _, ok := vars[ref]; t.RootName() == "var" && !ok {
				return nil, codersdk.Invalid("workspace_tags", "tag %q requires a value for the variable %q", name, ref)
			}
			if _, ok := params[ref]; t.RootName() == "data" && !ok {
				return nil, codersdk.Invalid("workspace_tags", "tag %q requires a value for the parameter %q", name, ref)
			}
		}
		v, diags := expr.Value(ctx)
		if diags.HasErrors() {
			return nil, codersdk.Invalid("workspace_tags", "tag %q: %s: %s", name, diags[0].Summary, diags[0].Detail)
		}
		infinite := v.Type() == cty.Number && !v.IsNull() && v.IsKnown() && v.AsBigFloat().IsInf()
		v, err = convert.Convert(v, cty.String)
		if err != nil || v.IsNull() || !v.IsKnown() || infinite {
			return nil, codersdk.Invalid("workspace_tags", "tag %q must be a string, a number or a bool", name)
		}
		tags[name] = v.AsString()
	}
	return tags, nil
}
