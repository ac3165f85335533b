package scim

import (
	"slices"
	"strings"
)

// parser reads filters and paths. It reads each byte at most twice.
type parser struct {
	in     string
	at     int
	schema *Schema
	within *Attribute // in brackets: the attribute before them
	depth  int
	terms  int
}

// ParseFilter parses a filter on resources of a schema. Attributes that the schema does not have are an error: a
// client that asks for a user by an unknown attribute would otherwise conclude that the user does not exist.
func ParseFilter(schema *Schema, in string) (*Filter, error) {
	if len(in) > maxFilter {
		return nil, invalid(invalidFilter, "The filter is longer than %d bytes", maxFilter)
	}
	p := &parser{in: in, schema: schema}
	f, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.skip(); p.at < len(p.in) {
		return nil, p.fail("unexpected %.20q", p.in[p.at:])
	}
	return f, nil
}

func (p *parser) fail(format string, args ...any) error {
	e := invalid(invalidFilter, format, args...)
	e.Err.Message = "The filter is not valid: " + e.Err.Message
	return e
}

// skip advances over spaces.
func (p *parser) skip() {
	for p.at < len(p.in) && p.in[p.at] == ' ' {
		p.at++
	}
}

// next advances over a character, if it is the next one.
func (p *parser) next(c byte) bool {
	p.skip()
	if p.at < len(p.in) && p.in[p.at] == c {
		p.at++
		return true
	}
	return false
}

// word advances over letters up to a space, a bracket or the end, and returns them.
func (p *parser) word() string {
	p.skip()
	start := p.at
	for p.at < len(p.in) && !strings.ContainsRune(" ()[]\"", rune(p.in[p.at])) {
		p.at++
	}
	return p.in[start:p.at]
}

// keyword advances over a word, if it is the next one.
func (p *parser) keyword(k string) bool {
	before := p.at
	if strings.EqualFold(p.word(), k) {
		return true
	}
	p.at = before
	return false
}

func (p *parser) or() (*Filter, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("more than %d nested parentheses", maxDepth)
	}
	defer func() { p.depth-- }()
	left, err := p.and()
	for err == nil && p.keyword("or") {
		var right *Filter
		right, err = p.and()
		left = &Filter{op: "or", left: left, right: right}
	}
	return left, err
}

func (p *parser) and() (*Filter, error) {
	left, err := p.term()
	for err == nil && p.keyword("and") {
		var right *Filter
		right, err = p.term()
		left = &Filter{op: "and", left: left, right: right}
	}
	return left, err
}

// term parses a comparison, parentheses, or the negation of parentheses.
func (p *parser) term() (*Filter, error) {
	if p.terms++; p.terms > maxTerms {
		return nil, p.fail("more than %d comparisons", maxTerms)
	}
	before := p.at
	negated := p.keyword("not")
	if !p.next('(') {
		p.at = before
		return p.comparison()
	}
	f, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.next(')') {
		return nil, p.fail("a parenthesis is not closed")
	}
	if negated {
		f = &Filter{op: "not", left: f}
	}
	return f, nil
}

// comparison parses an attribute with an operator and a value, or with a filter of its values in brackets.
func (p *parser) comparison() (*Filter, error) {
	name := p.word()
	if name == "" {
		return nil, p.fail("an attribute is missing at position %d", p.at)
	}
	to, known := p.resolve(name)
	if !known {
		return nil, p.fail("attribute %.64q is not supported", name)
	}
	if p.at < len(p.in) && p.in[p.at] == '[' {
		return p.amongValues(to)
	}
	return p.operator(to)
}

// amongValues parses the filter in brackets, which another part of the same value may follow:
// emails[type eq "work"].value eq "a".
func (p *parser) amongValues(to path) (*Filter, error) {
	if p.within != nil || to.part != nil || to.attribute.Type != "complex" {
		return nil, p.fail("%q has no values with parts", to.attribute.Name)
	}
	among, err := p.brackets(to.attribute)
	if err != nil {
		return nil, err
	}
	if p.at < len(p.in) && p.in[p.at] == '.' {
		p.at++
		part := find(to.attribute.SubAttributes, p.word())
		if part == nil {
			return nil, p.fail("%q does not have this part", to.attribute.Name)
		}
		same, err := p.operator(path{attribute: part})
		if err != nil {
			return nil, err
		}
		among = &Filter{op: "and", left: among, right: same}
	}
	return &Filter{op: "has", path: to, left: among}, nil
}

// brackets parses a filter in brackets on the values of an attribute.
func (p *parser) brackets(of *Attribute) (*Filter, error) {
	p.at++
	p.within = of
	defer func() { p.within = nil }()
	f, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.next(']') {
		return nil, p.fail("a bracket is not closed")
	}
	return f, nil
}

// operator parses an operator with its value.
func (p *parser) operator(of path) (*Filter, error) {
	f := &Filter{op: strings.ToLower(p.word()), path: of}
	if f.op == "pr" {
		return f, nil
	}
	if !slices.Contains(operators, f.op) {
		return nil, p.fail("operator %.20q not found; use pr, %s", f.op, strings.Join(operators, ", "))
	}
	p.skip()
	start := p.at
	if p.at < len(p.in) && p.in[p.at] == '"' {
		p.quoted()
	} else {
		p.word()
	}
	v, ok := literal(p.in[start:p.at])
	if !ok {
		return nil, p.fail("%.64q is not a JSON string, number, true, false or null", p.in[start:p.at])
	}
	f.value = v
	return f, nil
}

// quoted advances over a JSON string.
func (p *parser) quoted() {
	for p.at++; p.at < len(p.in); p.at++ {
		switch p.in[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			return
		}
	}
	p.at = len(p.in) // it is not closed: literal refuses it
}

// resolve returns the attribute of a name such as userName, name.familyName, or either after the URN of the schema.
func (p *parser) resolve(name string) (path, bool) {
	if p.within != nil {
		a := find(p.within.SubAttributes, name)
		return path{attribute: a}, a != nil
	}
	if urn := p.schema.ID + ":"; len(name) > len(urn) && strings.EqualFold(name[:len(urn)], urn) {
		name = name[len(urn):]
	}
	name, part, some := strings.Cut(name, ".")
	to := path{attribute: p.schema.attribute(name)}
	if to.attribute == nil || !some {
		return to, to.attribute != nil
	}
	to.part = find(to.attribute.SubAttributes, part)
	return to, to.part != nil
}

// parsePath parses the path of a change: attribute, attribute.part, attribute[filter] or attribute[filter].part.
// It reports false for attributes that the schema does not have.
func parsePath(schema *Schema, in string) (to path, known bool, err error) {
	if len(in) > maxFilter {
		return to, false, invalid(invalidPath, "The path is longer than %d bytes", maxFilter)
	}
	p := &parser{in: in, schema: schema}
	name := p.word()
	to, known = p.resolve(name)
	if p.at < len(p.in) && p.in[p.at] == '[' && known {
		if to.part != nil || !to.attribute.MultiValued || to.attribute.Type != "complex" {
			return to, false, invalid(invalidPath, "The path %.64q is not valid: the attribute has no values to select", in)
		}
		if to.among, err = p.brackets(to.attribute); err != nil {
			return to, false, err
		}
		if rest := p.in[p.at:]; strings.HasPrefix(rest, ".") {
			p.at = len(p.in)
			to.part = find(to.attribute.SubAttributes, rest[1:])
			known = to.part != nil
		}
	}
	if name == "" || known && p.at < len(p.in) {
		return to, false, invalid(invalidPath, "The path %.64q is not valid", in)
	}
	return to, known, nil
}
