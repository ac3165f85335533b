package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// builtin are the roots of references that need no declaration.
var builtin = []string{"each", "count", "self", "path", "terraform", "ephemeral"}

// declarations are the names of the root module, such as "var.region", by the place of the
// first declaration.
type declarations map[string]hcl.Range

// checkReferences reports duplicate declarations and references to nothing.
func (s *Source) checkReferences() {
	known := declarations{}
	for _, name := range s.paths() {
		for _, b := range s.bodies[name].Blocks {
			s.declare(known, b)
		}
	}
	for _, name := range s.paths() {
		for _, b := range s.bodies[name].Blocks {
			switch b.Type {
			case "terraform", "moved", "removed", "import":
			default:
				s.checkBody(known, b.Type, b.Body, nil)
			}
		}
	}
}

// declare records what a block declares.
func (s *Source) declare(known declarations, b *hclsyntax.Block) {
	add := func(name string, at hcl.Range) {
		if first, ok := known[name]; ok {
			s.fail(at, "Duplicate declaration", fmt.Sprintf("%s is already declared at %s:%d.", name, first.Filename, first.Start.Line))
			return
		}
		known[name] = at
	}
	switch {
	case b.Type == "locals":
		for name, a := range b.Body.Attributes {
			add("local."+name, a.NameRange)
		}
	case b.Type == "variable" && len(b.Labels) == 1:
		add("var."+b.Labels[0], b.DefRange())
	case b.Type == "module" && len(b.Labels) == 1:
		add("module."+b.Labels[0], b.DefRange())
	case b.Type == "data" && len(b.Labels) == 2:
		add("data."+strings.Join(b.Labels, "."), b.DefRange())
	case b.Type == "resource" && len(b.Labels) == 2:
		add(strings.Join(b.Labels, "."), b.DefRange())
	case b.Type == "check":
		for _, inner := range b.Body.Blocks {
			s.declare(known, inner)
		}
	}
}

// checkBody reports references to nothing in a body. iterators are the names that enclosing
// dynamic blocks declare.
func (s *Source) checkBody(known declarations, kind string, body *hclsyntax.Body, iterators []string) {
	for name, a := range body.Attributes {
		switch {
		case kind == "variable" && name == "type",
			kind == "lifecycle" && name == "ignore_changes",
			kind == "provisioner" && (name == "when" || name == "on_failure"),
			(kind == "resource" || kind == "data") && name == "provider",
			kind == "module" && name == "providers":
			continue // names, not references
		}
		for _, t := range a.Expr.Variables() {
			s.checkReference(known, t, iterators)
		}
	}
	for _, b := range body.Blocks {
		inner := iterators
		if b.Type == "dynamic" && len(b.Labels) == 1 {
			name := b.Labels[0]
			if a, ok := b.Body.Attributes["iterator"]; ok {
				name = hcl.ExprAsKeyword(a.Expr)
			}
			inner = append(slices.Clone(iterators), name)
		}
		s.checkBody(known, b.Type, b.Body, inner)
	}
}

// checkReference reports a reference to nothing.
func (s *Source) checkReference(known declarations, t hcl.Traversal, iterators []string) {
	root := t.RootName()
	if slices.Contains(builtin, root) || slices.Contains(iterators, root) {
		return
	}
	steps := map[string]int{"var": 1, "local": 1, "module": 1, "data": 2}[root]
	if steps == 0 {
		steps = 1
	}
	names := []string{root}
	for _, step := range t[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok || len(names) > steps {
			break
		}
		names = append(names, attr.Name)
	}
	if len(names) <= steps {
		if len(t) == 1 && steps == 1 && !slices.Contains([]string{"var", "local", "module"}, root) {
			s.fail(t.SourceRange(), "Invalid reference", fmt.Sprintf("%q is neither a block nor a value. Put quotes around a text.", root))
		}
		return
	}
	name := strings.Join(names, ".")
	if _, ok := known[name]; ok {
		return
	}
	what := map[string]string{"var": "variable", "local": "local value", "module": "module", "data": "data source"}[root]
	if what == "" {
		what = "resource"
	}
	s.fail(t.SourceRange(), "Reference to undeclared "+what, fmt.Sprintf("%s is not declared in this template.%s", name, suggest(known, name)))
}

// suggest returns a sentence with a declared name that differs from name in little.
func suggest(known declarations, name string) string {
	best, distance := "", len(name)/4+1
	for other := range known {
		if d := levenshtein.Distance(name, other, nil); d < distance || d == distance && best != "" && other < best {
			best, distance = other, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %s?", best)
}
