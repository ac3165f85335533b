// Package bound limits what the evaluation of expressions of a template may cost.
package bound

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Bounds of what an expression may cost. See Shape.
const (
	maxExpression = 32 << 10 // bytes of its text
	MaxCost       = 16 << 20 // bytes that its result may have
	MaxValue      = 64 << 10 // bytes of a value that is kept
	maxExponent   = 1024     // of a number, by two
	maxRange      = 1024     // elements that range() returns
	// Budget is what all expressions of one form may cost, each of them
	// EvaluationCost at least.
	Budget         = 64 << 20
	EvaluationCost = 2 << 10
)

// Shape is what the cost of an expression depends on, besides the values that it refers to. The zero
// value is not valid; see Inspect. It does not change.
type Shape struct {
	References []hcl.Traversal

	text      int // bytes
	elements  int // that an iteration may have at least
	loops     int // that may multiply the size of the result
	forbidden bool
}

// Inspect returns the shape of an expression.
func Inspect(e hcl.Expression) *Shape {
	text := e.Range().End.Byte - e.Range().Start.Byte
	s := &Shape{References: e.Variables(), text: text, elements: max(1, text/2)}
	node, ok := e.(hclsyntax.Node)
	if s.forbidden = !ok || text > maxExpression; s.forbidden {
		return s
	}
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
			s.loops++
		case *hclsyntax.FunctionCallExpr:
			s.loops += factor(n.Name, len(n.Args))
			if n.Name == "range" {
				s.elements = max(s.elements, maxRange)
			}
		case *hclsyntax.LiteralValueExpr:
			s.forbidden = s.forbidden || Huge(n.Val)
		}
		return nil
	})
	return s
}

// Cost bounds the size of an expression's result: its text and the values that
// it refers to, once for each element of iterations. Beyond MaxCost it must not
// be evaluated. size and elements are the sum of the sizes of the values and the
// largest number of elements in them, see Size.
func (s *Shape) Cost(size, elements int) int {
	if s.forbidden {
		return MaxCost + 1
	}
	cost := s.text + size
	for range s.loops {
		cost = min(cost, MaxCost+1) * max(s.elements, elements)
	}
	return cost
}

// Size returns the bytes of a value and the largest number of elements of a
// collection in it.
func Size(v cty.Value) (n, elements int) {
	cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) { //nolint:errcheck // the function gives no error
		n += 8
		if !v.IsKnown() || v.IsNull() {
			return false, nil
		}
		switch t := v.Type(); {
		case t == cty.String:
			n += len(v.AsString())
			elements = max(elements, len(v.AsString()))
		case t.IsCollectionType() || t.IsTupleType() || t.IsObjectType():
			elements = max(elements, v.LengthInt())
		}
		return n <= MaxCost, nil
	})
	return n, elements
}

// Huge reports whether a value contains numbers whose text would be unbounded.
func Huge(v cty.Value) bool {
	found := false
	cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) { //nolint:errcheck // the function gives no error
		if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() {
			f := v.AsBigFloat()
			e := f.MantExp(nil)
			found = found || f.IsInf() || e > maxExponent || e < -maxExponent
		}
		return !found, nil
	})
	return found
}
