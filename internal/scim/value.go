package scim

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Resource is a resource or a value with parts, by the names of the schema. A value of it is a string, a bool, a
// Resource or a []Resource.
type Resource map[string]any

// Limits of values.
const (
	maxText     = 1024   // bytes of a string
	maxElements = 10_000 // values of an attribute
)

// str returns a string, "" if there is none.
func (r Resource) str(name string) string {
	s, _ := r[name].(string)
	return s
}

// clone returns a copy that shares nothing with r that a change could alter.
func (r Resource) clone() Resource {
	out := maps.Clone(r)
	for k, v := range out {
		switch v := v.(type) {
		case Resource:
			out[k] = v.clone()
		case []Resource:
			list := make([]Resource, len(v))
			for i, e := range v {
				list[i] = e.clone()
			}
			out[k] = list
		}
	}
	return out
}

// parse returns the value of an attribute from decoded JSON. It is nil for null. Clients send booleans as text, and
// single values as a list of one object with the part value.
func (a *Attribute) parse(v any) (any, error) {
	if a.MultiValued {
		return a.parseMany(v)
	}
	if list, ok := v.([]any); ok && len(list) == 1 {
		if o, ok := list[0].(map[string]any); ok && a.Type != "complex" {
			v = o["value"]
		}
	}
	return a.parseOne(v)
}

func (a *Attribute) parseMany(v any) (any, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	if len(list) > maxElements {
		return nil, invalid(tooMany, "%s has more than %d values", a.Name, maxElements)
	}
	out := make([]Resource, 0, len(list))
	for _, item := range list {
		if s, ok := item.(string); ok {
			item = map[string]any{"value": s}
		}
		e, err := a.parseOne(item)
		if err != nil {
			return nil, err
		}
		if r, ok := e.(Resource); ok && len(r) > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

// parseOne returns one value.
func (a *Attribute) parseOne(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		if a.Type == "boolean" {
			return v, nil
		}
	case string:
		if a.Type == "complex" {
			break
		}
		if a.Type != "boolean" {
			return v, a.checkText(v)
		}
		switch strings.ToLower(v) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	case map[string]any:
		if a.Type != "complex" {
			break
		}
		out := Resource{}
		for name, part := range v {
			p := find(a.SubAttributes, name)
			if p == nil || p.Mutability == "readOnly" {
				continue
			}
			parsed, err := p.parse(part)
			if err != nil {
				return nil, err
			}
			if parsed != nil {
				out[p.Name] = parsed
			}
		}
		return out, nil
	}
	return nil, invalid(invalidValue, "The value of %s is not valid: a %s is required", a.Name, a.Type)
}

func (a *Attribute) checkText(s string) error {
	if len(s) > maxText || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return invalid(invalidValue, "The value of %s is not valid: at most %d bytes of text without NUL characters are allowed", a.Name, maxText)
	}
	return nil
}

// store sets an attribute, or removes it for an empty value.
func (r Resource) store(a *Attribute, v any) {
	switch v := v.(type) {
	case nil:
		delete(r, a.Name)
		return
	case []Resource:
		if len(v) == 0 {
			delete(r, a.Name)
			return
		}
		onePrimary(v)
	}
	r[a.Name] = v
}

// onePrimary leaves the last value that is marked as primary as the only one.
func onePrimary(list []Resource) {
	last := -1
	for i, e := range list {
		if e["primary"] == true {
			last = i
		}
	}
	for i, e := range list {
		if i != last && e["primary"] == true {
			e["primary"] = false
		}
	}
}

// project removes the attributes that a request does not ask for (RFC 7644 section 3.9). Both lists hold names such
// as userName or name.familyName, separated by commas. The ID and the schemas always stay.
func (r Resource) project(schema *Schema, only, without string) Resource {
	switch {
	case only != "":
		out := Resource{}
		for name := range strings.SplitSeq("id,schemas,"+only, ",") {
			r.copyTo(out, schema, strings.TrimSpace(name))
		}
		return out
	case without != "":
		out := r.clone()
		for name := range strings.SplitSeq(without, ",") {
			to, known := (&parser{schema: schema}).resolve(strings.TrimSpace(name))
			if !known || to.attribute.Name == "id" || to.attribute.Name == "schemas" {
				continue
			}
			if to.part == nil {
				delete(out, to.attribute.Name)
				continue
			}
			for _, e := range elements(out[to.attribute.Name]) {
				delete(e, to.part.Name)
			}
		}
		return out
	}
	return r
}

// copyTo copies an attribute, or a part of it, to out.
func (r Resource) copyTo(out Resource, schema *Schema, name string) {
	to, known := (&parser{schema: schema}).resolve(name)
	if !known || r[to.attribute.Name] == nil {
		return
	}
	if to.part == nil {
		out[to.attribute.Name] = r[to.attribute.Name]
		return
	}
	from := elements(r[to.attribute.Name])
	have := elements(out[to.attribute.Name])
	parts := slices.Clone(have)
	for i, e := range from {
		if i >= len(parts) {
			parts = append(parts, Resource{})
		}
		if v, ok := e[to.part.Name]; ok {
			parts[i][to.part.Name] = v
		}
	}
	if to.attribute.MultiValued {
		out[to.attribute.Name] = parts
	} else if len(parts) > 0 {
		out[to.attribute.Name] = parts[0]
	}
}
