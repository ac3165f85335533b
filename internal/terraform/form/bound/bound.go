// Package bound limits what the evaluation of expressions of a template may cost.
package bound

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Bounds of what an expression may cost. See Cost.
const (
	maxExpression = 32 << 10 // bytes of its text
	MaxCost       = 16 << 20 // bytes that its result may have
	MaxValue      = 64 << 10 // bytes of a value that is kept
	maxExponent   = 1024     // of a number, by two
	// Budget is what all expressions of one form may cost, each of them
	// EvaluationCost at least.
	Budget         = 64 << 20
	EvaluationCost = 2 << 10
)

// Functions returns the Terraform functions whose results are not larger than their
// arguments, except those in multiplies.
func Functions() map[string]function.Function {
	return map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "max": stdlib.MaxFunc, "min": stdlib.MinFunc,
		"parseint": stdlib.ParseIntFunc, "signum": stdlib.SignumFunc,
		"chomp": stdlib.ChompFunc, "join": stdlib.JoinFunc, "lower": stdlib.LowerFunc, "regex": stdlib.RegexFunc, "replace": stdlib.ReplaceFunc,
		"split": stdlib.SplitFunc, "strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc, "upper": stdlib.UpperFunc,
		"coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc,
		"contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc,
		"index": stdlib.IndexFunc, "keys": stdlib.KeysFunc, "length": length, "lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc,
		"reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc, "setsubtract": stdlib.SetSubtractFunc,
		"setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
		"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"tobool": stdlib.MakeToFunc(
			cty.Bool,
		), "tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"tonumber": stdlib.MakeToFunc(cty.Number), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), "tostring": stdlib.MakeToFunc(cty.String),
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,
	}
}

// length also counts the characters of strings.
var length = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true, AllowUnknown: true, AllowMarked: true}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		if v.Type() == cty.DynamicPseudoType || !v.IsKnown() {
			return cty.UnknownVal(cty.Number), nil
		}
		if v.Type() == cty.String {
			return stdlib.Strlen(v)
		}
		return stdlib.Length(v)
	},
})

// multiplies reports whether the result of a function may be as large as one
// argument for each element of another.
func multiplies(name string) bool { return name == "join" || name == "replace" || name == "zipmap" }

// Cost bounds the size of an expression's result: its text and the values that
// it refers to, once for each element of iterations. Beyond MaxCost it must not
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
	cost := sum
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
			cost = grow(cost, most)
		case *hclsyntax.FunctionCallExpr:
			if multiplies(n.Name) {
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
