package form

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form/bound"
)

func attributes(names ...string) []hcl.AttributeSchema {
	out := make([]hcl.AttributeSchema, 0, len(names))
	for _, n := range names {
		out = append(out, hcl.AttributeSchema{Name: n})
	}
	return out
}

func parameterSchema() *hcl.BodySchema {
	return &hcl.BodySchema{
		Attributes: attributes("count", "for_each", "name", "display_name", "description", "type", "form_type", "default",
			"icon", "mutable", "ephemeral", "order", "styling"),
		Blocks: []hcl.BlockHeaderSchema{{Type: "option"}, {Type: "validation"}, {Type: "dynamic", LabelNames: []string{"type"}}},
	}
}

// parameter evaluates one block, adds its instances, and returns the value that
// references to it see: an object, or several with count or for_each.
func (p place) parameter(b block) cty.Value {
	all := p.repeat(b.expr("count"), b.expr("for_each"))
	if all.unknown {
		p.open = true
		return cty.DynamicVal
	}
	if len(all.places) == 0 {
		p.skip(b)
	}
	objects := make([]cty.Value, 0, len(all.places))
	for _, at := range all.places {
		objects = append(objects, at.instance(b))
	}
	return all.collect(objects)
}

// expr returns the expression of an attribute, nil if it is absent.
func (b block) expr(name string) hcl.Expression {
	if a := b.content.Attributes[name]; a != nil {
		return a.Expr
	}
	return nil
}

// skip notes the name of a parameter that has no instance now, if it is the same for all instances.
func (p place) skip(b block) {
	if expr := b.expr("name"); expr != nil {
		if name, ok := text(p.value(expr).Value); ok {
			p.found[name] = true
		}
	}
}

// instance evaluates a block once and adds the parameter.
func (p place) instance(b block) cty.Value {
	if len(p.out) >= maxParameters {
		return cty.DynamicVal
	}
	r := reader{place: p, attributes: b.content.Attributes}
	name, ok := text(r.get("name"))
	if !ok || name == "" {
		p.open = true
		return cty.DynamicVal
	}
	if p.added[name] {
		return cty.DynamicVal // duplicate name, which the import refuses
	}
	p.added[name], p.found[name] = true, true
	imported, known := p.static[name]
	out := Parameter{TemplateVersionParameter: imported}
	out.Name = name
	if out.Type == "" {
		out.Type = codersdk.ParameterTypeString
	}
	if out.Options == nil {
		out.Options = []codersdk.TemplateVersionParameterOption{}
	}
	r.text("display_name", &out.DisplayName)
	r.text("type", &out.Type)
	r.text("form_type", &out.FormType)
	r.text("icon", &out.Icon)
	if r.text("description", &out.Description) && (!known || out.Description != imported.Description) {
		out.DescriptionPlaintext = out.Description
	}
	r.flag("mutable", &out.Mutable)
	r.flag("ephemeral", &out.Ephemeral)
	if n, ok := whole(r.get("order")); ok {
		out.Order = n
	}
	r.fallback(&out)
	if s, ok := text(r.get("styling")); ok {
		json.Unmarshal([]byte(s), &out.Styling) //nolint:errcheck // styling that cannot be read is none
	}
	p.options(&out, b.content)
	p.validation(&out, b.content)
	p.out = append(p.out, out)
	return p.seen(out)
}

// seen returns the value that references to a parameter see. Its value is text,
// "" if unset.
func (e *evaluation) seen(p Parameter) cty.Value {
	value, ok := e.in.Values[p.Name]
	if !ok {
		value = p.DefaultValue
	}
	v := cty.StringVal(value)
	if len(value) > bound.MaxValue {
		v = cty.UnknownVal(cty.String)
	}
	return cty.ObjectVal(map[string]cty.Value{
		"value": v, "name": cty.StringVal(p.Name), "display_name": cty.StringVal(p.DisplayName), "default": cty.StringVal(p.DefaultValue),
		"type": cty.StringVal(p.Type), "id": cty.UnknownVal(cty.String), "optional": cty.BoolVal(!p.Required), "mutable": cty.BoolVal(p.Mutable),
	})
}

// options reads the option blocks, including dynamic ones, or keeps the
// import's options if one is unknown.
func (p place) options(to *Parameter, content *hcl.BodyContent) {
	out := []codersdk.TemplateVersionParameterOption{}
	for _, b := range content.Blocks {
		known := true
		switch {
		case b.Type == "option":
			out, known = p.option(out, b.Body)
		case b.Type == "dynamic" && b.Labels[0] == "option":
			out, known = p.dynamicOptions(out, b.Body)
		}
		if !known || len(out) > maxParameters {
			return
		}
	}
	to.Options = out
}

func (p place) option(out []codersdk.TemplateVersionParameterOption, body hcl.Body) ([]codersdk.TemplateVersionParameterOption, bool) {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: attributes("name", "value", "description", "icon")})
	r := reader{p, content.Attributes}
	var o codersdk.TemplateVersionParameterOption
	if !r.text("name", &o.Name) || !r.text("value", &o.Value) {
		return out, false
	}
	r.text("description", &o.Description)
	r.text("icon", &o.Icon)
	return append(out, o), true
}

// dynamicOptions expands a dynamic "option" block.
func (p place) dynamicOptions(out []codersdk.TemplateVersionParameterOption, body hcl.Body) ([]codersdk.TemplateVersionParameterOption, bool) {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: attributes("for_each", "iterator"), Blocks: []hcl.BlockHeaderSchema{{Type: "content"}}})
	a := content.Attributes["for_each"]
	if a == nil || len(content.Blocks) != 1 {
		return out, false
	}
	each := p.value(a.Expr).Value
	if !each.IsWhollyKnown() || each.IsNull() || !each.CanIterateElements() || each.LengthInt() > maxParameters {
		return out, false
	}
	iterator := "option"
	if i := content.Attributes["iterator"]; i != nil {
		iterator = hcl.ExprAsKeyword(i.Expr)
	}
	for it := each.ElementIterator(); it.Next(); {
		k, v := it.Element()
		if each.Type().IsSetType() {
			k = v
		}
		at := p.with(iterator, map[string]cty.Value{"key": k, "value": v})
		var known bool
		if out, known = at.option(out, content.Blocks[0].Body); !known {
			return out, false
		}
	}
	return out, true
}

// validation reads the rules for values.
func (p place) validation(to *Parameter, content *hcl.BodyContent) {
	for _, b := range content.Blocks {
		if b.Type != "validation" {
			continue
		}
		inner, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: attributes("min", "max", "monotonic", "regex", "error")})
		r := reader{p, inner.Attributes}
		limit := func(name string, to **int32) {
			if n, ok := whole(r.get(name)); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
				v := int32(n)
				*to = &v
			}
		}
		limit("min", &to.ValidationMin)
		limit("max", &to.ValidationMax)
		r.text("regex", &to.ValidationRegex)
		r.text("error", &to.ValidationError)
		var monotonic string
		if r.text("monotonic", &monotonic) {
			to.ValidationMonotonic = codersdk.ValidationMonotonicOrder(monotonic)
		}
	}
}

// reader reads the attributes of one block.
type reader struct {
	place
	attributes hcl.Attributes
}

// get returns an attribute's value, null if it is absent.
func (r reader) get(name string) cty.Value {
	a := r.attributes[name]
	if a == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return r.value(a.Expr).Value
}

// text stores an attribute in to if it is known and not null.
func (r reader) text(name string, to *string) bool {
	s, ok := text(r.get(name))
	if ok {
		*to = s
	}
	return ok
}

// fallback stores what a parameter without a value has.
func (r reader) fallback(to *Parameter) {
	v := r.get("default") // null if it is absent
	switch {
	case !v.IsWhollyKnown():
	case v.IsNull():
		to.Required, to.DefaultValue = true, ""
	default:
		to.Required = false
		r.text("default", &to.DefaultValue)
	}
}

func (r reader) flag(name string, to *bool) {
	v := r.get(name)
	if b, err := convert.Convert(v, cty.Bool); err == nil && b.IsKnown() && !b.IsNull() {
		*to = b.True()
	}
}

// text returns a value as Terraform converts it to a string.
func text(v cty.Value) (string, bool) {
	if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() { // the conversion of any number is slow
		if i, accuracy := v.AsBigFloat().Int64(); accuracy == big.Exact {
			return strconv.FormatInt(i, 10), true
		}
	}
	s, err := convert.Convert(v, cty.String)
	if err != nil || !s.IsKnown() || s.IsNull() {
		return "", false
	}
	return s.AsString(), true
}

// whole returns a value that is a whole number.
func whole(v cty.Value) (int64, bool) {
	n, err := convert.Convert(v, cty.Number)
	if err != nil || !n.IsKnown() || n.IsNull() {
		return 0, false
	}
	i, accuracy := n.AsBigFloat().Int64()
	return i, accuracy == big.Exact
}
