// Package bound limits what the evaluation of expressions of a template may cost.
package bound

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Bounds of what an expression may cost. See Cost.
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

// Cost bounds the size of an expression's result: its text and the values that
// it refers to, once for each element of iterations. Functions may count more, see factor. Beyond MaxCost it must not
// be evaluated.
func Cost(e hcl.Expression, ctx *hcl.EvalContext) int {
	node, ok := e.(hclsyntax.Node)
	if !ok {
		return MaxCost + 1
	}
	text := e.Range().End.Byte - e.Range().Start.Byte
	if text > maxExpression {
		return MaxCost + 1
	}
	sum, most := text, max(1, text/2)
	for _, t := range e.Variables() {
		v, diags := t.TraverseAbs(ctx)
		if diags.HasErrors() {
			continue // what is not there costs nothing
		}
		n, elements := Size(v)
		sum, most = sum+n, max(most, elements)
	}
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name == "range" {
			most = max(most, maxRange)
		}
		return nil
	})
	cost := sum
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
			cost = grow(cost, most)
		case *hclsyntax.FunctionCallExpr:
			for range factor(n.Name, len(n.Args)) {
				cost = grow(cost, most)
			}
		case *hclsyntax.LiteralValueExpr:
			if Huge(n.Val) {
				cost = MaxCost + 1
			}
		}
		return nil
	})
	return cost
}

func grow(cost, by int) int { return min(cost, MaxCost+1) * by }

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
