package form

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form/bound"
)

// evaluation is one form with one input.
type evaluation struct {
	f         *Form
	in        Input
	static    map[string]codersdk.TemplateVersionParameter // of the import, by name
	functions map[string]function.Function
	variables cty.Value
	owner     cty.Value
	workspace cty.Value
	locals    map[string]cty.Value                   // those that are known
	values    map[string]cty.Value                   // of coder_parameter, by label
	found     map[string]bool                        // names of parameters in the source
	spent     int                                    // of budget
	out       []Parameter                            // of the last pass
	problems  map[string]codersdk.FriendlyDiagnostic // by place
}

// Parameters returns the parameters for the input, in the order of the form.
// static are the parameters that the import found; they replace what is unknown
// here.
func (f *Form) Parameters(static []codersdk.TemplateVersionParameter, in Input) ([]Parameter, []codersdk.FriendlyDiagnostic) {
	e := &evaluation{
		f: f, in: in, static: map[string]codersdk.TemplateVersionParameter{}, functions: bound.Functions(), locals: map[string]cty.Value{},
		values: map[string]cty.Value{}, variables: variables(f.variables, in.Variables), owner: owner(in.Owner),
	}
	for _, p := range static {
		e.static[p.Name] = p
	}
	e.workspace = cty.ObjectVal(map[string]cty.Value{
		"id": cty.UnknownVal(cty.String), "name": cty.UnknownVal(cty.String), "access_url": cty.UnknownVal(cty.String), "access_port": cty.UnknownVal(cty.Number),
		"template_id": cty.UnknownVal(cty.String), "template_name": cty.UnknownVal(cty.String), "template_version": cty.UnknownVal(cty.String),
		"transition": cty.StringVal(
			"start",
		), "start_count": cty.NumberIntVal(1), "prebuild_count": cty.NumberIntVal(0), "is_prebuild": cty.False, "is_prebuild_claim": cty.False,
	})
	// Each pass uses the results of the one before, so the number of passes
	// bounds the length of a chain of references.
	for range min(len(f.locals)+len(f.parameters)+1, maxPasses) {
		if !e.pass() {
			break
		}
	}
	out := e.out
	for i, p := range static { // of modules
		if !e.found[p.Name] {
			out = append(out, Parameter{TemplateVersionParameter: p, Order: int64(i)})
		}
	}
	slices.SortStableFunc(out, func(a, b Parameter) int { return int(a.Order - b.Order) })
	var diags []codersdk.FriendlyDiagnostic
	for _, place := range slices.Sorted(maps.Keys(e.problems)) {
		diags = append(diags, e.problems[place])
	}
	if len(out) > maxParameters {
		out = out[:maxParameters]
	}
	return out, diags
}

// pass evaluates everything once, and reports whether something became known.
func (e *evaluation) pass() bool {
	changed := false
	ctx := e.context()
	for name, expr := range e.f.locals {
		if _, known := e.locals[name]; known {
			continue
		}
		if v := e.value(expr, ctx); v.IsWhollyKnown() {
			e.locals[name] = v
			changed = true
		}
	}
	e.out, e.found, e.problems = nil, map[string]bool{}, map[string]codersdk.FriendlyDiagnostic{}
	ctx = e.context()
	for _, b := range e.f.parameters {
		v := e.parameter(b, ctx)
		if old, there := e.values[b.label]; !there || !old.RawEquals(v) {
			e.values[b.label] = v
			changed = true
		}
	}
	return changed
}

// context returns what expressions may refer to; everything else is unknown.
func (e *evaluation) context() *hcl.EvalContext {
	locals := map[string]cty.Value{}
	for name := range e.f.locals {
		locals[name] = cty.DynamicVal
		if v, ok := e.locals[name]; ok {
			locals[name] = v
		}
	}
	parameters := map[string]cty.Value{}
	for _, b := range e.f.parameters {
		parameters[b.label] = cty.DynamicVal
		if v, ok := e.values[b.label]; ok {
			parameters[b.label] = v
		}
	}
	data := map[string]cty.Value{"coder_parameter": cty.ObjectVal(parameters)}
	for kind, labels := range map[string][]string{"coder_workspace_owner": e.f.owners, "coder_workspace": e.f.workspaces} {
		all := map[string]cty.Value{}
		for _, label := range labels {
			all[label] = e.owner
			if kind == "coder_workspace" {
				all[label] = e.workspace
			}
		}
		data[kind] = cty.ObjectVal(all)
	}
	return &hcl.EvalContext{
		Variables: map[string]cty.Value{"var": e.variables, "local": cty.ObjectVal(locals), "data": cty.ObjectVal(data)},
		Functions: e.functions,
	}
}

// value evaluates an expression. A result that is unknown or too expensive is
// unknown.
func (e *evaluation) value(expr hcl.Expression, ctx *hcl.EvalContext) cty.Value {
	if !refersToKnown(expr, ctx) {
		return cty.DynamicVal
	}
	price := bound.Cost(expr, ctx)
	if price > bound.MaxCost || e.spent > bound.Budget {
		return cty.DynamicVal
	}
	e.spent += price + bound.EvaluationCost
	v, diags := expr.Value(ctx)
	if diags.HasErrors() {
		if !callsUnknown(diags) {
			e.note(expr.Range(), diags[0])
		}
		return cty.DynamicVal
	}
	v, _ = v.UnmarkDeep()
	if n, _ := bound.Size(v); n > bound.MaxValue || bound.Huge(v) {
		return cty.DynamicVal
	}
	return v
}

// refersToKnown reports whether an expression refers only to what this package
// evaluates, not to resources, modules or other data sources.
func refersToKnown(expr hcl.Expression, ctx *hcl.EvalContext) bool {
	for _, t := range expr.Variables() {
		switch root := t.RootName(); root {
		case "var", "local", "each", "count", "option":
		case "data":
			attr, ok := hcl.TraverseAttr{}, false
			if len(t) > 1 {
				attr, ok = t[1].(hcl.TraverseAttr)
			}
			if !ok || !strings.HasPrefix(attr.Name, "coder_") || !ctxHas(ctx, attr.Name) {
				return false
			}
		default:
			if _, iterator := lookup(ctx, root); !iterator {
				return false
			}
		}
	}
	return true
}

func lookup(ctx *hcl.EvalContext, name string) (cty.Value, bool) {
	for c := ctx; c != nil; c = c.Parent() {
		if v, ok := c.Variables[name]; ok {
			return v, true
		}
	}
	return cty.NilVal, false
}

func ctxHas(ctx *hcl.EvalContext, kind string) bool {
	data, ok := lookup(ctx, "data")
	return ok && data.Type().HasAttribute(kind)
}

// callsUnknown reports whether an expression calls an unsupported function.
func callsUnknown(diags hcl.Diagnostics) bool {
	return slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return strings.Contains(d.Summary, "unknown function") })
}

// note records an error in an expression for users.
func (e *evaluation) note(r hcl.Range, d *hcl.Diagnostic) {
	if e.problems == nil {
		return
	}
	place := fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
	e.problems[place] = codersdk.FriendlyDiagnostic{Severity: codersdk.DiagnosticSeverityWarning, Summary: d.Summary, Detail: place + ": " + d.Detail}
}

// variables returns the typed values of a template's variables.
func variables(names []string, given []codersdk.TemplateVersionVariable) cty.Value {
	out := map[string]cty.Value{}
	for _, n := range names {
		out[n] = cty.DynamicVal
	}
	for _, v := range given {
		if v.Sensitive { // users see the form
			out[v.Name] = cty.DynamicVal
			continue
		}
		text := v.Value
		if text == "" {
			text = v.DefaultValue
		}
		value := cty.StringVal(text)
		switch v.Type {
		case "number":
			value = converted(value, cty.Number)
		case "bool":
			value = converted(value, cty.Bool)
		case "string", "":
		default:
			value = fromJSON(text)
		}
		if bound.Huge(value) {
			value = cty.DynamicVal
		}
		out[v.Name] = value
	}
	return cty.ObjectVal(out)
}

func converted(v cty.Value, t cty.Type) cty.Value {
	c, err := convert.Convert(v, t)
	if err != nil {
		return cty.UnknownVal(t)
	}
	return c
}

// owner returns the workspace's owner as templates see it.
func owner(o Owner) cty.Value {
	roles := []cty.Value{}
	for _, r := range o.Roles {
		roles = append(roles, cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(r.Name), "org_id": cty.StringVal(r.OrganizationID)}))
	}
	roleType := cty.Object(map[string]cty.Type{"name": cty.String, "org_id": cty.String})
	groups := []cty.Value{}
	for _, g := range o.Groups {
		groups = append(groups, cty.StringVal(g))
	}
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal(o.ID), "name": cty.StringVal(o.Name), "full_name": cty.StringVal(o.FullName), "email": cty.StringVal(o.Email),
		"login_type": cty.StringVal(o.LoginType), "ssh_public_key": cty.StringVal(o.SSHPublicKey), "ssh_private_key": cty.UnknownVal(cty.String),
		"session_token": cty.UnknownVal(cty.String), "oidc_access_token": cty.UnknownVal(cty.String),
		"groups": listOf(cty.String, groups), "rbac_roles": listOf(roleType, roles),
	})
}

func listOf(t cty.Type, all []cty.Value) cty.Value {
	if len(all) == 0 {
		return cty.ListValEmpty(t)
	}
	return cty.ListVal(all)
}
