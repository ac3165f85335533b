package form

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/form/bound"
)

// place is where an expression stands: an instance of a module, and what only this place knows:
// count, each, iterators of dynamic blocks.
type place struct {
	*scope
	own map[string]cty.Value
}

// with returns a place in a repeated block.
func (p place) with(name string, object map[string]cty.Value) place {
	own := map[string]cty.Value{name: cty.ObjectVal(object)}
	for n, v := range p.own {
		if n != name {
			own[n] = v
		}
	}
	return place{p.scope, own}
}

// value evaluates an expression. A result that is too expensive is unknown.
func (p place) value(expr hcl.Expression) cty.Value {
	if p.depth >= maxDepth {
		return cty.DynamicVal
	}
	p.depth++
	defer func() { p.depth-- }()
	ctx := p.context(expr)
	price := bound.Cost(expr, ctx)
	if price > bound.MaxCost || p.spent > bound.Budget {
		return cty.DynamicVal
	}
	p.spent += price + bound.EvaluationCost
	v, diags := expr.Value(ctx)
	if diags.HasErrors() {
		if !callsUnknown(diags) {
			p.note(expr.Range(), diags[0])
		}
		return cty.DynamicVal
	}
	v, _ = v.UnmarkDeep()
	if n, _ := bound.Size(v); n > bound.MaxValue || bound.Huge(v) {
		return cty.DynamicVal
	}
	return v
}

// repetition is the instances of a block.
type repetition struct {
	places   []place
	unknown  bool
	repeated bool        // by count or for_each
	keys     []cty.Value // of for_each
}

// repeat returns the instances of a block that count or for_each repeats.
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
	n, ok := whole(p.value(count))
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
	each := p.value(expr)
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
