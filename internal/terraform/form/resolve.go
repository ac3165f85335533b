package form

import (
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// resolved is what an expression refers to. What is not evaluated here is unknown.
type resolved struct {
	place
	roots          map[string]cty.Value            // values that are no part of others
	parts          map[string]map[string]cty.Value // by root and name
	data           map[string]map[string]cty.Value // by type and label; nil for an unknown type
	modules        map[string]map[string]bool      // names of outputs by label; nil for all
	size, elements int                             // of all values, see bound.Size
}

// resolve evaluates what an expression refers to.
func (p place) resolve(references []hcl.Traversal) *resolved {
	r := &resolved{place: p}
	for _, t := range references {
		r.add(t)
	}
	for label, names := range r.modules {
		if v, exists := p.outputs(label, names); exists {
			r.part(toModule)[label] = r.count(measure(v))
		}
	}
	return r
}

// evaluate evaluates the expression.
func (r *resolved) evaluate(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	variables := map[string]cty.Value{}
	for root, values := range r.parts {
		variables[root] = cty.ObjectVal(values)
	}
	if len(r.data) > 0 {
		kinds := map[string]cty.Value{}
		for kind, labels := range r.data {
			kinds[kind] = cty.DynamicVal
			if labels != nil {
				kinds[kind] = cty.ObjectVal(labels)
			}
		}
		variables[toData] = cty.ObjectVal(kinds)
	}
	maps.Copy(variables, r.roots)
	return expr.Value(&hcl.EvalContext{Variables: variables, Functions: functions})
}

// follow evaluates a reference to one value, without copies of what it is part of. It reports false for
// references that need resolve.
func (p place) follow(t hcl.Traversal) (v cty.Value, diags hcl.Diagnostics, ok bool) {
	root, name, next := t.RootName(), attribute(t, 1), attribute(t, 2)
	base, steps := p.own[root], 1
	_, ok = p.own[root]
	switch {
	case ok:
	case root == toVariable && name != "", root == toLocal && name != "":
		base, ok = p.get(reference{root, name})
		steps = 2
	case root == toData && next != "" && strings.HasPrefix(name, "coder_"):
		base, ok = p.get(reference{name, next})
		steps = 3
	}
	if !ok {
		return cty.NilVal, nil, false
	}
	v, diags = t[steps:].TraverseRel(base.Value)
	return v, diags, true
}

// count adds the size of a value.
func (r *resolved) count(v sized) cty.Value {
	r.size, r.elements = r.size+v.size, max(r.elements, v.elements)
	return v.Value
}

// root adds a value that is no part of others.
func (r *resolved) root(name string, v sized) {
	if r.roots == nil {
		r.roots = map[string]cty.Value{}
	}
	r.roots[name] = r.count(v)
}

// part returns the values that are parts of a root.
func (r *resolved) part(root string) map[string]cty.Value {
	if r.parts == nil {
		r.parts = map[string]map[string]cty.Value{}
	}
	if r.parts[root] == nil {
		r.parts[root] = map[string]cty.Value{}
	}
	return r.parts[root]
}

func (r *resolved) add(t hcl.Traversal) {
	root, name, next := t.RootName(), attribute(t, 1), attribute(t, 2)
	own, isOwn := r.own[root]
	switch {
	case isOwn:
		r.root(root, own)
	case root == toVariable && name != "", root == toLocal && name != "":
		values := r.part(root) // a reference to what is not declared is an error
		if v, exists := r.get(reference{root, name}); exists {
			values[name] = r.count(v)
		}
	case root == toModule && name != "":
		r.addModule(name, next)
	case root == toData && next != "":
		r.addData(name, next)
	default:
		r.root(root, unknown)
	}
}

func (r *resolved) addModule(label, output string) {
	if r.modules == nil {
		r.modules = map[string]map[string]bool{}
	}
	r.part(toModule)
	names, known := r.modules[label]
	switch {
	case output == "" || known && names == nil:
		r.modules[label] = nil
	case known:
		names[output] = true
	default:
		r.modules[label] = map[string]bool{output: true}
	}
}

func (r *resolved) addData(kind, label string) {
	if r.data == nil {
		r.data = map[string]map[string]cty.Value{}
	}
	if !strings.HasPrefix(kind, "coder_") {
		r.data[kind] = nil
		return
	}
	if r.data[kind] == nil {
		r.data[kind] = map[string]cty.Value{}
	}
	if v, exists := r.get(reference{kind, label}); exists {
		r.data[kind][label] = r.count(v)
	}
}

// attribute returns the name in a step of a traversal, "" if the step is an index or missing.
func attribute(t hcl.Traversal, step int) string {
	if len(t) <= step {
		return ""
	}
	a, _ := t[step].(hcl.TraverseAttr)
	return a.Name
}
