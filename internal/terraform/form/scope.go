package form

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// scope is one instance of a module in an evaluation. It evaluates what is referred to once, at
// the first reference.
type scope struct {
	*evaluation
	module *module
	// inputs returns the value of an input, false if the call does not set it.
	inputs func(name string) (cty.Value, bool)
	values map[reference]cty.Value
	calls  map[string]instances
}

// reference names a part of a module.
type reference struct{ kind, name string }

// Kinds of references, as they are written in expressions.
const (
	toVariable  = "var"
	toLocal     = "local"
	toParameter = "coder_parameter"
	toOutput    = "output"
	toModule    = "module"
	toData      = "data"
)

func (e *evaluation) newScope(m *module, inputs func(string) (cty.Value, bool)) *scope {
	return &scope{evaluation: e, module: m, inputs: inputs, values: map[reference]cty.Value{}, calls: map[string]instances{}}
}

// get returns the value of a part of the module, false if there is no such part. The value of a
// part that depends on itself is unknown.
func (s *scope) get(to reference) (cty.Value, bool) {
	if v, known := s.values[to]; known {
		return v, true
	}
	s.values[to] = cty.DynamicVal // while it is evaluated
	v, exists := s.evaluate(to)
	if !exists {
		delete(s.values, to)
		return cty.NilVal, false
	}
	s.values[to] = v
	return v, true
}

func (s *scope) evaluate(to reference) (cty.Value, bool) {
	here := place{scope: s}
	switch to.kind {
	case toVariable:
		v, declared := s.module.variables[to.name]
		if !declared {
			return cty.NilVal, false
		}
		return s.variable(to.name, v), true
	case toLocal:
		expr, declared := s.module.locals[to.name]
		if !declared {
			return cty.NilVal, false
		}
		return here.value(expr), true
	case toOutput:
		expr, declared := s.module.outputs[to.name]
		if !declared {
			return cty.NilVal, false
		}
		if expr == nil {
			return cty.DynamicVal, true
		}
		return here.value(expr), true
	case toParameter:
		i := slices.IndexFunc(s.module.parameters, func(b block) bool { return b.label == to.name })
		if i < 0 {
			return cty.NilVal, false
		}
		return here.parameter(s.module.parameters[i]), true
	case "coder_workspace_owner":
		return s.owner, s.module.owners[to.name]
	case "coder_workspace":
		return s.workspace, s.module.workspaces[to.name]
	}
	return cty.DynamicVal, true
}

func (s *scope) variable(name string, v variable) cty.Value {
	if v.sensitive { // users see the form
		return cty.DynamicVal
	}
	given, set := s.inputs(name)
	if !set {
		return v.fallback
	}
	return v.typed(given)
}

// ask evaluates all parameters of the module and of those that it calls.
func (s *scope) ask() {
	for _, b := range s.module.parameters {
		s.get(reference{toParameter, b.label})
	}
	for _, c := range s.module.calls {
		all := s.expand(c)
		switch {
		case c.module == nil || all.unknown && c.module.asks:
			s.open = true
		case !c.module.asks:
		case len(all.scopes) == 0:
			s.skipModule(c)
		default:
			for _, child := range all.scopes {
				child.ask()
			}
		}
	}
}

// skip notes the names of the parameters of a module that has no instance now.
func (s *scope) skip() {
	for _, b := range s.module.parameters {
		place{scope: s}.skip(b)
	}
	for _, c := range s.module.calls {
		s.skipModule(c)
	}
}

func (s *scope) skipModule(c *call) {
	if c.module == nil || s.scopes >= maxScopes {
		s.open = true
		return
	}
	s.child(c, place{scope: s}).skip()
}

// instances are the instances of a module that a call makes.
type instances struct {
	repetition
	scopes []*scope
}

// expand returns the instances of a call.
func (s *scope) expand(c *call) instances {
	if all, known := s.calls[c.label]; known {
		return all
	}
	unknown := instances{repetition: repetition{unknown: true}}
	s.calls[c.label] = unknown // while it is evaluated
	if c.module == nil {
		return unknown
	}
	all := instances{repetition: place{scope: s}.repeat(c.count, c.forEach)}
	if s.scopes+len(all.places) > maxScopes {
		return unknown
	}
	for _, at := range all.places {
		all.scopes = append(all.scopes, s.child(c, at))
	}
	s.calls[c.label] = all
	return all
}

// child returns an instance of a called module. Its inputs are evaluated at a place of the caller.
func (s *scope) child(c *call, at place) *scope {
	s.scopes++
	return s.newScope(c.module, func(name string) (cty.Value, bool) {
		a := c.inputs[name]
		if a == nil {
			return cty.NilVal, false
		}
		return at.value(a.Expr), true
	})
}

// outputs returns what a reference to a module sees: an object with the named outputs, or several
// with count or for_each. No names means all of them.
func (s *scope) outputs(label string, names map[string]bool) (cty.Value, bool) {
	i := slices.IndexFunc(s.module.calls, func(c *call) bool { return c.label == label })
	if i < 0 {
		return cty.NilVal, false
	}
	c := s.module.calls[i]
	all := s.expand(c)
	if all.unknown {
		return cty.DynamicVal, true
	}
	if all.repeated || len(names) == 0 {
		names = map[string]bool{}
		for name := range c.module.outputs {
			names[name] = true
		}
	}
	objects := make([]cty.Value, 0, len(all.scopes))
	for _, child := range all.scopes {
		object := map[string]cty.Value{}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if v, exists := child.get(reference{toOutput, name}); exists {
				object[name] = v
			}
		}
		objects = append(objects, cty.ObjectVal(object))
	}
	return all.collect(objects), true
}

// references are what an expression refers to, for its evaluation.
type references struct {
	place
	roots   map[string]cty.Value
	parts   map[string]map[string]cty.Value // by root and name
	data    map[string]map[string]cty.Value // by type and label
	modules map[string]map[string]bool      // names of outputs by label; none for all
}

// context returns the values that an expression refers to. What is not evaluated here is unknown.
func (p place) context(expr hcl.Expression) *hcl.EvalContext {
	r := references{place: p, roots: map[string]cty.Value{}, parts: map[string]map[string]cty.Value{}, data: map[string]map[string]cty.Value{}}
	maps.Copy(r.roots, p.own)
	for _, t := range expr.Variables() {
		if _, own := p.own[t.RootName()]; !own {
			r.add(t)
		}
	}
	for label, names := range r.modules {
		if v, exists := p.outputs(label, names); exists {
			r.part(toModule)[label] = v
		}
	}
	for root, values := range r.parts {
		r.roots[root] = cty.ObjectVal(values)
	}
	if _, unknown := r.roots[toData]; !unknown && len(r.data) > 0 {
		kinds := map[string]cty.Value{}
		for kind, labels := range r.data {
			kinds[kind] = cty.DynamicVal
			if labels != nil {
				kinds[kind] = cty.ObjectVal(labels)
			}
		}
		r.roots[toData] = cty.ObjectVal(kinds)
	}
	return &hcl.EvalContext{Variables: r.roots, Functions: functions}
}

func (r *references) part(root string) map[string]cty.Value {
	if r.parts[root] == nil {
		r.parts[root] = map[string]cty.Value{}
	}
	return r.parts[root]
}

func (r *references) add(t hcl.Traversal) {
	root, name, next := t.RootName(), attribute(t, 1), attribute(t, 2)
	switch {
	case root == toVariable && name != "", root == toLocal && name != "":
		if v, exists := r.get(reference{root, name}); exists {
			r.part(root)[name] = v
		} else {
			r.part(root) // a reference to what is not there is an error
		}
	case root == toModule && name != "":
		if r.modules == nil {
			r.modules = map[string]map[string]bool{}
		}
		if all, known := r.modules[name]; next == "" || known && len(all) == 0 {
			r.modules[name] = nil
		} else if known {
			all[next] = true
		} else {
			r.modules[name] = map[string]bool{next: true}
		}
		r.part(root)
	case root == toData && next != "":
		if !strings.HasPrefix(name, "coder_") {
			r.data[name] = nil
			return
		}
		if r.data[name] == nil {
			r.data[name] = map[string]cty.Value{}
		}
		if v, exists := r.get(reference{name, next}); exists {
			r.data[name][next] = v
		}
	default:
		r.roots[root] = cty.DynamicVal
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
