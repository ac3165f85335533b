package form

import (
	"encoding/json"
	"math"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

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

func fromJSON(text string) cty.Value {
	t, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		return cty.DynamicVal
	}
	v, err := ctyjson.Unmarshal([]byte(text), t)
	if err != nil {
		return cty.DynamicVal
	}
	return v
}

// parameter evaluates one block, adds its instances, and returns the value that
// references to it see: an object, or several with count or for_each.
func (e *evaluation) parameter(b block, ctx *hcl.EvalContext) cty.Value {
	content, _, _ := b.body.PartialContent(&hcl.BodySchema{Attributes: attributes("count", "for_each", "name")})
	if a := content.Attributes["name"]; a != nil && len(a.Expr.Variables()) == 0 {
		if name, ok := text(e.value(a.Expr, ctx)); ok {
			e.found[name] = true // it may have no instance now
		}
	}
	switch {
	case content.Attributes["count"] != nil:
		n, ok := whole(e.value(content.Attributes["count"].Expr, ctx))
		if !ok || n < 0 || n > maxInstances {
			return e.unknown(b, ctx)
		}
		all := make([]cty.Value, 0, n)
		for i := range n {
			child := ctx.NewChild()
			child.Variables = map[string]cty.Value{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(i)})}
			all = append(all, e.instance(b, child))
		}
		return cty.TupleVal(all)
	case content.Attributes["for_each"] != nil:
		each := e.value(content.Attributes["for_each"].Expr, ctx)
		if !each.IsWhollyKnown() || each.IsNull() || !each.CanIterateElements() || each.LengthInt() > maxInstances {
			return e.unknown(b, ctx)
		}
		all := map[string]cty.Value{}
		for it := each.ElementIterator(); it.Next(); {
			k, v := it.Element()
			if each.Type().IsSetType() {
				k = v
			}
			key, ok := text(k)
			if !ok {
				return e.unknown(b, ctx)
			}
			child := ctx.NewChild()
			child.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": v})}
			all[key] = e.instance(b, child)
		}
		return cty.ObjectVal(all)
	}
	return e.instance(b, ctx)
}

// unknown keeps a block whose instances are unknown as the import found it.
func (e *evaluation) unknown(b block, ctx *hcl.EvalContext) cty.Value {
	content, _, _ := b.body.PartialContent(&hcl.BodySchema{Attributes: attributes("name")})
	if a := content.Attributes["name"]; a != nil {
		if name, ok := text(e.value(a.Expr, ctx)); ok {
			delete(e.found, name)
		}
	}
	return cty.DynamicVal
}

// instance evaluates a block once and adds the parameter.
func (e *evaluation) instance(b block, ctx *hcl.EvalContext) cty.Value {
	content, _, _ := b.body.PartialContent(parameterSchema())
	r := reader{e: e, attributes: content.Attributes, ctx: ctx}
	name, ok := text(r.get("name"))
	if !ok || name == "" {
		return cty.DynamicVal
	}
	if e.found[name] && e.has(name) {
		return cty.DynamicVal // duplicate name, which the import refuses
	}
	e.found[name] = true
	p := Parameter{TemplateVersionParameter: e.static[name]}
	known := e.static[name].Name != ""
	p.Name = name
	if p.Type == "" {
		p.Type = codersdk.ParameterTypeString
	}
	if p.Options == nil {
		p.Options = []codersdk.TemplateVersionParameterOption{}
	}
	r.text("display_name", &p.DisplayName)
	r.text("type", &p.Type)
	r.text("form_type", &p.FormType)
	r.text("icon", &p.Icon)
	if r.text("description", &p.Description) && !known {
		p.DescriptionPlaintext = p.Description
	}
	r.flag("mutable", &p.Mutable)
	r.flag("ephemeral", &p.Ephemeral)
	if n, ok := whole(r.get("order")); ok {
		p.Order = n
	}
	if content.Attributes["default"] == nil {
		p.Required, p.DefaultValue = true, ""
	} else {
		v := r.get("default")
		switch known := v.IsWhollyKnown(); {
		case known && v.IsNull():
			p.Required, p.DefaultValue = true, ""
		case known:
			p.Required = false
			r.text("default", &p.DefaultValue)
		}
	}
	if s, ok := text(r.get("styling")); ok {
		json.Unmarshal([]byte(s), &p.Styling) //nolint:errcheck // styling that cannot be read is none
	}
	e.options(&p, content, ctx)
	e.validation(&p, content, ctx)
	e.out = append(e.out, p)
	return e.seen(p)
}

func (e *evaluation) has(name string) bool {
	for _, p := range e.out {
		if p.Name == name {
			return true
		}
	}
	return false
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
func (e *evaluation) options(p *Parameter, content *hcl.BodyContent, ctx *hcl.EvalContext) {
	out := []codersdk.TemplateVersionParameterOption{}
	for _, b := range content.Blocks {
		known := true
		switch {
		case b.Type == "option":
			out, known = e.option(out, b.Body, ctx)
		case b.Type == "dynamic" && b.Labels[0] == "option":
			out, known = e.dynamicOptions(out, b.Body, ctx)
		}
		if !known || len(out) > maxParameters {
			return
		}
	}
	p.Options = out
}

func (e *evaluation) option(
	out []codersdk.TemplateVersionParameterOption,
	body hcl.Body,
	ctx *hcl.EvalContext,
) ([]codersdk.TemplateVersionParameterOption, bool) {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: attributes("name", "value", "description", "icon")})
	r := reader{e: e, attributes: content.Attributes, ctx: ctx}
	var o codersdk.TemplateVersionParameterOption
	if !r.text("name", &o.Name) || !r.text("value", &o.Value) {
		return out, false
	}
	r.text("description", &o.Description)
	r.text("icon", &o.Icon)
	return append(out, o), true
}

// dynamicOptions expands a dynamic "option" block.
func (e *evaluation) dynamicOptions(
	out []codersdk.TemplateVersionParameterOption,
	body hcl.Body,
	ctx *hcl.EvalContext,
) ([]codersdk.TemplateVersionParameterOption, bool) {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: attributes("for_each", "iterator"), Blocks: []hcl.BlockHeaderSchema{{Type: "content"}}})
	a := content.Attributes["for_each"]
	if a == nil || len(content.Blocks) != 1 {
		return out, false
	}
	each := e.value(a.Expr, ctx)
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
		child := ctx.NewChild()
		child.Variables = map[string]cty.Value{iterator: cty.ObjectVal(map[string]cty.Value{"key": k, "value": v})}
		var known bool
		if out, known = e.option(out, content.Blocks[0].Body, child); !known {
			return out, false
		}
	}
	return out, true
}

// validation reads the rules for values.
func (e *evaluation) validation(p *Parameter, content *hcl.BodyContent, ctx *hcl.EvalContext) {
	for _, b := range content.Blocks {
		if b.Type != "validation" {
			continue
		}
		inner, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: attributes("min", "max", "monotonic", "regex", "error")})
		r := reader{e: e, attributes: inner.Attributes, ctx: ctx}
		bound := func(name string, to **int32) {
			if n, ok := whole(r.get(name)); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
				v := int32(n)
				*to = &v
			}
		}
		bound("min", &p.ValidationMin)
		bound("max", &p.ValidationMax)
		r.text("regex", &p.ValidationRegex)
		r.text("error", &p.ValidationError)
		var monotonic string
		if r.text("monotonic", &monotonic) {
			p.ValidationMonotonic = codersdk.ValidationMonotonicOrder(monotonic)
		}
	}
}

// reader reads the attributes of one block.
type reader struct {
	e          *evaluation
	attributes hcl.Attributes
	ctx        *hcl.EvalContext
}

// get returns an attribute's value, null if it is absent.
func (r reader) get(name string) cty.Value {
	a := r.attributes[name]
	if a == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return r.e.value(a.Expr, r.ctx)
}

// text stores an attribute in to if it is known and not null.
func (r reader) text(name string, to *string) bool {
	s, ok := text(r.get(name))
	if ok {
		*to = s
	}
	return ok
}

func (r reader) flag(name string, to *bool) {
	v := r.get(name)
	if b, err := convert.Convert(v, cty.Bool); err == nil && b.IsKnown() && !b.IsNull() {
		*to = b.True()
	}
}

// text returns a value as Terraform converts it to a string.
func text(v cty.Value) (string, bool) {
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
	return i, accuracy == 0
}
