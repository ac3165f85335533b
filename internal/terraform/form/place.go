package form

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/form/bound"
)

// place is where an expression stands: an instance of a module, and what only this place knows:
// count, each, iterators of dynamic blocks.
type place struct {
	*scope
	own map[string]sized
}

// sized is a value with the results of bound.Size.
type sized struct {
	cty.Value
	size, elements int
}

func measure(v cty.Value) sized {
	size, elements := bound.Size(v)
	return sized{v, size, elements}
}

// unknown is the value of what is not evaluated here.
var unknown = measure(cty.DynamicVal)

// with returns a place in a repeated block.
func (p place) with(name string, object map[string]cty.Value) place {
	own := map[string]sized{name: measure(cty.ObjectVal(object))}
	for n, v := range p.own {
		if n != name {
			own[n] = v
		}
	}
	return place{p.scope, own}
}

// value evaluates an expression. A result that is too expensive is unknown.
func (p place) value(expr hcl.Expression) sized {
	if v, ok := literal(expr); ok {
		return measure(v)
	}
	if p.depth >= maxDepth {
		return unknown
	}
	p.depth++
	defer func() { p.depth-- }()
	v, diags, ok := p.compute(expr)
	if !ok {
		return unknown
	}
	if diags.HasErrors() {
		if !callsUnknown(diags) {
			p.note(expr.Range(), diags[0])
		}
		return unknown
	}
	v, _ = v.UnmarkDeep()
	out := measure(v)
	if out.size > bound.MaxValue || bound.Huge(v) {
		return unknown
	}
	return out
}

// compute evaluates an expression, unless that is too expensive.
func (p place) compute(expr hcl.Expression) (v cty.Value, diags hcl.Diagnostics, ok bool) {
	if p.spent > bound.Budget {
		return cty.NilVal, nil, false
	}
	p.spent += bound.EvaluationCost
	if e, ok := expr.(*hclsyntax.ScopeTraversalExpr); ok {
		if v, diags, ok := p.follow(e.Traversal); ok {
			return v, diags, true
		}
	}
	shape := p.shape(expr)
	r := p.resolve(shape.References)
	price := shape.Cost(r.size, r.elements)
	if price > bound.MaxCost {
		return cty.NilVal, nil, false
	}
	p.spent += price
	v, diags = r.evaluate(expr)
	return v, diags, true
}

// shape returns the shape of an expression, which all evaluations of a form share.
func (e *evaluation) shape(expr hcl.Expression) *bound.Shape {
	if s, known := e.shapes.Load(expr); known {
		return s.(*bound.Shape)
	}
	s := bound.Inspect(expr)
	e.shapes.Store(expr, s)
	return s
}

// literal returns the value of an expression that is a plain literal, without what others need.
func literal(expr hcl.Expression) (cty.Value, bool) {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return e.Val, !bound.Huge(e.Val)
	case *hclsyntax.TemplateExpr:
		if r := e.Range(); e.IsStringLiteral() && r.End.Byte-r.Start.Byte <= bound.MaxValue {
			v, diags := e.Value(nil)
			return v, !diags.HasErrors()
		}
	}
	return cty.NilVal, false
}

// repetition is the instances of a block.
type repetition struct {
	places   []place
	unknown  bool
	repeated bool        // by count or for_each
	keys     []cty.Value // of for_each
}

// repeat returns the instances of a block with the arguments count and for_each, which are nil if absent.
func (p place) repeat(count, forEach hcl.Expression) repetition {
	switch {
	case count != nil:
		return p.times(count)
	case forEach != nil:
		return p.forEach(forEach)
	}
	return repetition{places: []place{p}}
}

func (p place) times(count hcl.Expression) repetition {
	n, ok := whole(p.value(count).Value)
	if !ok || n < 0 || n > maxInstances {
		return repetition{unknown: true}
	}
	out := repetition{repeated: true}
	for i := range n {
		out.places = append(out.places, p.with("count", map[string]cty.Value{"index": cty.NumberIntVal(i)}))
	}
	return out
}

func (p place) forEach(expr hcl.Expression) repetition {
	each := p.value(expr).Value
	if !each.IsKnown() || each.IsNull() || !each.CanIterateElements() || each.LengthInt() > maxInstances {
		return repetition{unknown: true}
	}
	out := repetition{repeated: true, keys: []cty.Value{}}
	for it := each.ElementIterator(); it.Next(); {
		k, v := it.Element()
		if each.Type().IsSetType() {
			k = v
		}
		key, ok := text(k)
		if !ok {
			return repetition{unknown: true}
		}
		out.keys = append(out.keys, cty.StringVal(key))
		out.places = append(out.places, p.with("each", map[string]cty.Value{"key": cty.StringVal(key), "value": v}))
	}
	return out
}

// collect returns the value of the block: one object, a tuple with count, an object by key with for_each.
func (r repetition) collect(objects []cty.Value) cty.Value {
	switch {
	case !r.repeated:
		return objects[0]
	case r.keys == nil:
		return cty.TupleVal(objects)
	}
	byKey := map[string]cty.Value{}
	for i, key := range r.keys {
		byKey[key.AsString()] = objects[i]
	}
	return cty.ObjectVal(byKey)
}
