package scim

import (
	"encoding/json"
	"strings"
	"time"
)

// Filter is a parsed filter (RFC 7644 section 3.4.2.2).
type Filter struct {
	op          string // and, or, not, has (a value path), pr, or a comparison
	left, right *Filter
	path        path
	value       any // string, bool, float64 or nil
}

// path names an attribute, or a part of it, and for several values those to which it applies.
type path struct {
	attribute, part *Attribute
	among           *Filter // of values of the attribute; nil for all
}

// Matches reports whether a resource, or a value of an attribute, has what the filter asks for.
func (f *Filter) Matches(r Resource) bool {
	switch f.op {
	case "and":
		return f.left.Matches(r) && f.right.Matches(r)
	case "or":
		return f.left.Matches(r) || f.right.Matches(r)
	case "not":
		return !f.left.Matches(r)
	case "has":
		for _, v := range elements(r[f.path.attribute.Name]) {
			if f.left.Matches(v) {
				return true
			}
		}
		return false
	}
	return f.compare(f.path.values(r))
}

// compare reports whether one of the values passes the comparison.
func (f *Filter) compare(values []any) bool {
	switch {
	case f.op == "pr":
		return len(values) > 0
	case len(values) == 0:
		return f.op == "eq" && f.value == nil || f.op == "ne" && f.value != nil
	}
	leaf := f.path.leaf()
	for _, v := range values {
		if compareOne(leaf, f.op, v, f.value) {
			return true
		}
	}
	return false
}

// leaf returns the attribute whose values are compared.
func (p path) leaf() *Attribute {
	switch {
	case p.part != nil:
		return p.part
	case p.attribute.Type == "complex":
		if v := find(p.attribute.SubAttributes, "value"); v != nil {
			return v
		}
	}
	return p.attribute
}

// values returns the values of a path that are not empty. Those of an attribute with parts are its parts named
// value.
func (p path) values(r Resource) (out []any) {
	v, ok := r[p.attribute.Name]
	if !ok || v == nil || v == "" {
		return nil
	}
	if p.attribute.Type != "complex" {
		if list, ok := v.([]string); ok {
			for _, item := range list {
				out = append(out, item)
			}
			return out
		}
		return []any{v}
	}
	leaf := p.leaf()
	for _, e := range elements(v) {
		if x, ok := e[leaf.Name]; ok && x != nil && x != "" {
			out = append(out, x)
		} else if leaf == p.attribute && len(e) > 0 { // one without a part named value is present if it has any part
			out = append(out, true)
		}
	}
	return out
}

// elements returns the values of an attribute with parts: one, several or none.
func elements(v any) []Resource {
	switch v := v.(type) {
	case []Resource:
		return v
	case Resource:
		return []Resource{v}
	}
	return nil
}

// compareOne reports whether have passes the comparison with want.
func compareOne(a *Attribute, op string, have, want any) bool {
	if b, ok := have.(bool); ok {
		same := want == b
		if s, ok := want.(string); ok { // clients send booleans as text
			same = strings.EqualFold(s, "true") == b && (strings.EqualFold(s, "true") || strings.EqualFold(s, "false"))
		}
		return op == "eq" && same || op == "ne" && !same
	}
	h, ok := have.(string)
	w, wanted := want.(string)
	if !ok || !wanted {
		return op == "ne"
	}
	if a.Type == "dateTime" {
		x, err := time.Parse(time.RFC3339Nano, h)
		y, err2 := time.Parse(time.RFC3339Nano, w)
		return err == nil && err2 == nil && ordered(op, x.Compare(y))
	}
	if !a.CaseExact {
		h, w = strings.ToLower(h), strings.ToLower(w)
	}
	switch op {
	case "co":
		return strings.Contains(h, w)
	case "sw":
		return strings.HasPrefix(h, w)
	case "ew":
		return strings.HasSuffix(h, w)
	}
	return ordered(op, strings.Compare(h, w))
}

// ordered reports whether the result of a comparison passes the operator.
func ordered(op string, c int) bool {
	switch op {
	case "eq":
		return c == 0
	case "ne":
		return c != 0
	case "gt":
		return c > 0
	case "ge":
		return c >= 0
	case "lt":
		return c < 0
	case "le":
		return c <= 0
	}
	return false
}

// equals returns a value that the path must have for the filter to match, if there is one. Paths are of the form
// attribute or attribute.part.
func (f *Filter) equals(name string) (string, bool) {
	if f == nil {
		return "", false
	}
	switch f.op {
	case "and":
		if v, ok := f.left.equals(name); ok {
			return v, true
		}
		return f.right.equals(name)
	case "eq":
		own := f.path.attribute.Name
		if leaf := f.path.leaf(); leaf != f.path.attribute {
			own += "." + leaf.Name
		}
		if own == name {
			v, text := f.value.(string)
			return v, text
		}
	}
	return "", false
}

// Limits of a filter.
const (
	maxFilter = 4096 // bytes
	maxTerms  = 64   // comparisons
	maxDepth  = 16   // nested parentheses and brackets
)

// operators are the comparisons with a value.
var operators = []string{"eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"}

// literal parses a value of a comparison: a JSON string, number, boolean or null.
func literal(s string) (any, bool) {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return nil, false
	}
	switch v.(type) {
	case string, bool, float64, nil:
		return v, true
	}
	return nil, false
}
