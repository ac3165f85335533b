package scim

import (
	"maps"
	"slices"
	"strings"
)

// maxOperations is the maximum number of operations of one PATCH.
const maxOperations = 1000

// checkSchemas refuses a body that does not name the schema.
func checkSchemas(body map[string]any, urn string) error {
	list, _ := get(body, "schemas").([]any)
	for _, v := range list {
		if s, ok := v.(string); ok && strings.EqualFold(s, urn) {
			return nil
		}
	}
	return invalid(invalidSyntax, "The schemas of the request must contain %s", urn)
}

// get returns the value of a name in any case.
func get(body map[string]any, name string) any {
	if v, ok := body[name]; ok {
		return v
	}
	for k, v := range body {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return nil
}

// read returns the resource of the body of POST and PUT.
func read(schema *Schema, body map[string]any) (Resource, error) {
	if err := checkSchemas(body, schema.ID); err != nil {
		return nil, err
	}
	r := Resource{}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		a := schema.attribute(name)
		if a == nil || a.Mutability == "readOnly" {
			continue
		}
		v, err := a.parse(body[name])
		if err != nil {
			return nil, err
		}
		r.store(a, v)
	}
	return r, nil
}

// patch returns the resource after the operations of a PATCH. Operations on attributes that the schema does not have
// change nothing. Older clients send some attributes of the resource instead of operations.
func patch(schema *Schema, old Resource, body map[string]any) (Resource, error) {
	r := old.clone()
	if get(body, "Operations") == nil && checkSchemas(body, schema.ID) == nil {
		return r, r.merge(schema, "replace", body)
	}
	if err := checkSchemas(body, patchURN); err != nil {
		return nil, err
	}
	list, ok := get(body, "Operations").([]any)
	if !ok || len(list) == 0 {
		return nil, invalid(invalidSyntax, "The request has no Operations")
	}
	if len(list) > maxOperations {
		return nil, invalid(tooMany, "The request has more than %d operations", maxOperations)
	}
	for _, item := range list {
		o, ok := item.(map[string]any)
		if !ok {
			return nil, invalid(invalidSyntax, "An operation is not an object")
		}
		if err := r.operate(schema, o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// operate applies one operation.
func (r Resource) operate(schema *Schema, o map[string]any) error {
	name, _ := get(o, "op").(string)
	to, _ := get(o, "path").(string)
	value := get(o, "value")
	switch op := strings.ToLower(name); op {
	case "add", "replace":
		if to != "" {
			return r.set(schema, op, to, value, true)
		}
		attributes, ok := value.(map[string]any)
		if !ok {
			return invalid(invalidValue, "An operation without a path needs an object as its value")
		}
		return r.merge(schema, op, attributes)
	case "remove":
		if to == "" {
			return invalid(noTarget, "The operation remove needs a path")
		}
		return r.remove(schema, to, value)
	}
	return invalid(invalidSyntax, "The operation %.20q is not valid; use add, remove or replace", name)
}

// merge sets several attributes. Their names may be paths.
func (r Resource) merge(schema *Schema, op string, attributes map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := r.set(schema, op, name, attributes[name], false); err != nil {
			return err
		}
	}
	return nil
}

// set adds or replaces values. Read-only attributes are an error if a path names them.
func (r Resource) set(schema *Schema, op, name string, value any, named bool) error {
	to, known, err := parsePath(schema, name)
	if err != nil || !known {
		return err
	}
	if to.attribute.Mutability == "readOnly" || to.part != nil && to.part.Mutability == "readOnly" {
		if named {
			return invalid(mutability, "The attribute %s is read-only", to.attribute.Name)
		}
		return nil
	}
	if to.part == nil && to.among == nil {
		v, err := to.attribute.parse(value)
		if err != nil {
			return err
		}
		r.store(to.attribute, r.combined(to.attribute, op, v))
		return nil
	}
	if to.part != nil {
		v, err := to.part.parse(value)
		if err != nil {
			return err
		}
		r.setParts(to, Resource{to.part.Name: v})
		return nil
	}
	v, err := to.attribute.parseMany(value)
	if err != nil {
		return err
	}
	for _, e := range v.([]Resource) { //nolint:errcheck // parseMany returns this type
		r.setParts(to, e)
	}
	return nil
}

// combined returns the new value of an attribute: values are added to a list, and parts to an object.
func (r Resource) combined(a *Attribute, op string, v any) any {
	switch v := v.(type) {
	case []Resource:
		if op != "add" {
			return v
		}
		all, have := elements(r[a.Name]), map[string]int{}
		for i, e := range all {
			have[e.str("value")] = i
		}
		for _, e := range v {
			if i, ok := have[e.str("value")]; ok {
				maps.Copy(all[i], e)
				continue
			}
			have[e.str("value")] = len(all)
			all = append(all, e)
		}
		return all
	case Resource:
		parts := Resource{}
		if old, ok := r[a.Name].(Resource); ok {
			maps.Copy(parts, old)
		}
		maps.Copy(parts, v)
		return parts
	}
	return v
}

// setParts sets parts of the values that a path selects. If it selects none, a value with what the path asks for is
// added: providers address a value before it exists.
func (r Resource) setParts(to path, parts Resource) {
	set := func(e Resource) {
		for name, v := range parts {
			if v == nil {
				delete(e, name)
			} else {
				e[name] = v
			}
		}
	}
	list := elements(r[to.attribute.Name])
	some := false
	for _, e := range list {
		if to.among == nil || to.among.Matches(e) {
			set(e)
			some = true
		}
	}
	if !some {
		e := Resource{}
		to.among.assume(e)
		set(e)
		list = append(list, e)
	}
	list = slices.DeleteFunc(list, func(e Resource) bool { return len(e) == 0 })
	switch {
	case to.attribute.MultiValued:
		r.store(to.attribute, list)
	case len(list) == 0:
		r.store(to.attribute, nil)
	default:
		r.store(to.attribute, list[0])
	}
}

// assume sets the parts that a value must have for the filter to match.
func (f *Filter) assume(e Resource) {
	switch {
	case f == nil:
	case f.op == "and":
		f.left.assume(e)
		f.right.assume(e)
	case f.op == "eq" && f.value != nil && f.path.attribute.Mutability != "readOnly":
		if v, err := f.path.attribute.parse(f.value); err == nil {
			e[f.path.attribute.Name] = v
		}
	}
}

// remove removes an attribute, parts of it, or values of it. Some providers name the values to remove instead of
// selecting them by the path.
func (r Resource) remove(schema *Schema, name string, value any) error {
	to, known, err := parsePath(schema, name)
	if err != nil || !known {
		return err
	}
	if to.attribute.Mutability != "readWrite" || to.attribute.Required {
		return invalid(mutability, "The attribute %s cannot be removed", to.attribute.Name)
	}
	if to.part != nil {
		r.setParts(to, Resource{to.part.Name: nil})
		return nil
	}
	if to.among == nil && (value == nil || !to.attribute.MultiValued) {
		r.store(to.attribute, nil)
		return nil
	}
	gone := func(e Resource) bool { return to.among.Matches(e) }
	if to.among == nil {
		v, err := to.attribute.parseMany(value)
		if err != nil {
			return err
		}
		named := map[string]bool{}
		for _, e := range v.([]Resource) { //nolint:errcheck // parseMany returns this type
			named[e.str("value")] = true
		}
		gone = func(e Resource) bool { return named[e.str("value")] }
	}
	r.store(to.attribute, slices.DeleteFunc(elements(r[to.attribute.Name]), gone))
	return nil
}
