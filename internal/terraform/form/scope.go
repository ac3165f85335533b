package form

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// scope is one instance of a module in an evaluation. It evaluates what is referred to once, at
// the first reference.
type scope struct {
	*evaluation
	module *module
	// inputs returns the value of an input, false if the call does not set it.
	inputs func(name string) (cty.Value, bool)
	values map[reference]sized
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
	toOwner     = "coder_workspace_owner"
	toWorkspace = "coder_workspace"
	toData      = "data"
)

func (e *evaluation) newScope(m *module, inputs func(string) (cty.Value, bool)) *scope {
	return &scope{evaluation: e, module: m, inputs: inputs, values: map[reference]sized{}, calls: map[string]instances{}}
}

// get returns the value of a part of the module, false if the module does not declare it. The value
// of a part that depends on itself is unknown.
func (s *scope) get(to reference) (sized, bool) {
	if v, known := s.values[to]; known {
		return v, true
	}
	s.values[to] = unknown // while it is evaluated
	v, exists := s.evaluate(to)
	if !exists {
		delete(s.values, to)
		return unknown, false
	}
	s.values[to] = v
	return v, true
}

func (s *scope) evaluate(to reference) (v sized, exists bool) {
	here := place{scope: s}
	switch to.kind {
	case toVariable:
		declared, exists := s.module.variables[to.name]
		if !exists {
			return unknown, false
		}
		return s.variable(to.name, declared), true
	case toLocal:
		if expr, exists := s.module.locals[to.name]; exists {
			return here.value(expr), true
		}
		return unknown, false
	case toOutput:
		expr, exists := s.module.outputs[to.name]
		if expr == nil {
			return unknown, exists
		}
		return here.value(expr), true
	case toParameter:
		i := slices.IndexFunc(s.module.parameters, func(b block) bool { return b.label == to.name })
		if i < 0 {
			return unknown, false
		}
		return measure(here.parameter(s.module.parameters[i])), true
	case toOwner:
		return s.owner, s.module.owners[to.name]
	case toWorkspace:
		return s.workspace, s.module.workspaces[to.name]
	}
	return unknown, true
}

func (s *scope) variable(name string, v variable) sized {
	if v.sensitive { // users see the form
		return unknown
	}
	given, set := s.inputs(name)
	if !set {
		return measure(v.fallback)
	}
	return measure(v.typed(given))
}

// ask evaluates all parameters of the module and of those that it calls.
func (s *scope) ask() {
	if len(s.out) >= maxParameters {
		return
	}
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
		return at.value(a.Expr).Value, true
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
				object[name] = v.Value
			}
		}
		objects = append(objects, cty.ObjectVal(object))
	}
	return all.collect(objects), true
}
