package coder

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Types of a parameter's value. Values are always text: a number in decimal,
// true or false, and a list as a JSON array of strings.
const (
	ParameterTypeString     = "string"
	ParameterTypeNumber     = "number"
	ParameterTypeBool       = "bool"
	ParameterTypeListString = "list(string)"
)

var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// ParameterOptions says for what kind of build parameters are resolved.
type ParameterOptions struct {
	// Create is true for the first build of a workspace, when there is nothing
	// previous that an immutable parameter could contradict.
	Create bool
	// Transition of the build; empty counts as start. A stop or delete takes
	// the previous values as they are and never fails on them.
	Transition WorkspaceTransition
	// Preset are the values of the chosen preset, which stand above those given.
	Preset []PresetParameter
}

// ResolveParameters gives the values of all parameters that a build is to run
// with, in the order of defs: what the preset says, else what was given, else
// what the previous build had, else the default. Ephemeral parameters take
// nothing from the previous build. The error is CodeInvalid with one field,
// named after the parameter, for each that is unknown, given twice, missing,
// not of its type, against its validation, or immutable and changed. Previous
// values of parameters that defs no longer has are dropped. (TPL-09, TPL-11)
func ResolveParameters(defs []TemplateVersionParameter, given, previous []WorkspaceBuildParameter, opts ParameterOptions) ([]WorkspaceBuildParameter, error) {
	lenient := opts.Transition == WorkspaceTransitionStop || opts.Transition == WorkspaceTransitionDelete
	var problems []ValidationError
	wanted := map[string]string{}
	for _, g := range given {
		switch _, twice := wanted[g.Name]; {
		case twice:
			problems = append(problems, ValidationError{g.Name, "it is given more than once"})
		case !hasParameter(defs, g.Name):
			problems = append(problems, ValidationError{g.Name, "this version of the template has no such parameter"})
		}
		wanted[g.Name] = g.Value
	}
	for _, p := range opts.Preset {
		wanted[p.Name] = p.Value
	}
	before := map[string]string{}
	if !opts.Create {
		for _, p := range previous {
			before[p.Name] = p.Value
		}
	}
	out := make([]WorkspaceBuildParameter, 0, len(defs))
	for _, d := range defs {
		var now, old *string
		if v, ok := wanted[d.Name]; ok {
			now = &v
		}
		if v, ok := before[d.Name]; ok && !d.Ephemeral {
			old = &v
		}
		v, err := d.resolve(now, old, lenient)
		if err != nil {
			problems = append(problems, ValidationError{d.Name, err.Error()})
			continue
		}
		out = append(out, WorkspaceBuildParameter{Name: d.Name, Value: v})
	}
	if len(problems) > 0 {
		e := Errorf(CodeInvalid, "Invalid parameter %q: %s", problems[0].Field, problems[0].Detail)
		e.Fields = problems
		return nil, e
	}
	return out, nil
}

func hasParameter(defs []TemplateVersionParameter, name string) bool {
	return slices.ContainsFunc(defs, func(d TemplateVersionParameter) bool { return d.Name == name })
}

// resolve picks the value of one parameter from what was asked for now and
// what the previous build had, either of which may be nil.
func (p TemplateVersionParameter) resolve(now, old *string, lenient bool) (string, error) {
	if lenient {
		switch {
		case old != nil:
			return *old, nil
		case now != nil && p.CheckValue(*now) == nil:
			return *now, nil
		}
		return p.DefaultValue, nil
	}
	oldFits := old != nil && p.CheckValue(*old) == nil
	switch {
	case now != nil:
		if oldFits && !p.Mutable && *now != *old {
			return "", errors.New("it cannot be changed after the workspace was created")
		}
		if err := p.CheckValue(*now); err != nil {
			return "", err
		}
		if oldFits {
			if err := p.checkDirection(*old, *now); err != nil {
				return "", err
			}
		}
		return *now, nil
	case oldFits:
		return *old, nil
	case old != nil:
		return "", fmt.Errorf("the previous value no longer fits, give a new one: %w", p.CheckValue(*old))
	case p.Required:
		return "", errors.New("it needs a value")
	}
	return p.DefaultValue, nil
}

// CheckValue says why v is not a value of the parameter: its type, its
// options, and its validation. It is nil when v may be used.
func (p TemplateVersionParameter) CheckValue(v string) error {
	if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
		return errors.New("the value is not plain text")
	}
	// A template may leave a parameter blank by default; its own validation
	// then judges what is given, not that nothing was.
	if v == "" && !p.Required && p.DefaultValue == "" {
		return nil
	}
	if err := p.checkType(v); err != nil {
		return err
	}
	return p.checkOptions(v)
}

func (p TemplateVersionParameter) checkType(v string) error {
	switch p.Type {
	case ParameterTypeNumber:
		if !decimal.MatchString(v) {
			return fmt.Errorf("it takes a number, not %.80q", v)
		}
		return p.checkRange(v)
	case ParameterTypeBool:
		if v != "true" && v != "false" {
			return fmt.Errorf("it takes true or false, not %.80q", v)
		}
	case ParameterTypeListString:
		if _, err := stringList(v); err != nil {
			return fmt.Errorf("it takes a JSON list of strings such as [\"a\",\"b\"], not %.80q", v)
		}
	case ParameterTypeString, "":
		if p.ValidationRegex == "" {
			return nil
		}
		re, err := regexp.Compile(p.ValidationRegex)
		if err != nil {
			return fmt.Errorf("the template gives a pattern that is not a regular expression: %w", err)
		}
		if !re.MatchString(v) {
			return p.refusal(v, "does not match %s", p.ValidationRegex)
		}
	default:
		return fmt.Errorf("it has the unknown type %.40q", p.Type)
	}
	return nil
}

func (p TemplateVersionParameter) checkRange(v string) error {
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil:
		return fmt.Errorf("it takes a number, not %.80q", v)
	case p.ValidationMin != nil && n < float64(*p.ValidationMin):
		return p.refusal(v, "is less than %d", *p.ValidationMin)
	case p.ValidationMax != nil && n > float64(*p.ValidationMax):
		return p.refusal(v, "is more than %d", *p.ValidationMax)
	}
	return nil
}

// refusal is the template author's own words when there are any. {value},
// {min} and {max} in them are filled in.
func (p TemplateVersionParameter) refusal(v, format string, args ...any) error {
	if p.ValidationError == "" {
		return fmt.Errorf("the value %.80q %s", v, fmt.Sprintf(format, args...))
	}
	bound := func(n *int32) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(int(*n))
	}
	r := strings.NewReplacer("{value}", v, "{min}", bound(p.ValidationMin), "{max}", bound(p.ValidationMax))
	return errors.New(r.Replace(p.ValidationError))
}

func (p TemplateVersionParameter) checkOptions(v string) error {
	if len(p.Options) == 0 || p.hasOption(v) {
		return nil
	}
	if p.Type == ParameterTypeListString {
		list, err := stringList(v)
		if err == nil && !slices.ContainsFunc(list, func(s string) bool { return !p.hasOption(s) }) {
			return nil
		}
	}
	values := make([]string, 0, len(p.Options))
	for _, o := range p.Options {
		values = append(values, o.Value)
	}
	return fmt.Errorf("it takes one of %s, not %.80q", strings.Join(values, ", "), v)
}

func (p TemplateVersionParameter) hasOption(v string) bool {
	return slices.ContainsFunc(p.Options, func(o TemplateVersionParameterOption) bool { return o.Value == v })
}

func (p TemplateVersionParameter) checkDirection(old, now string) error {
	if p.ValidationMonotonic == "" || p.Type != ParameterTypeNumber {
		return nil
	}
	o, err1 := strconv.ParseFloat(old, 64)
	n, err2 := strconv.ParseFloat(now, 64)
	if err1 != nil || err2 != nil {
		return nil
	}
	switch {
	case p.ValidationMonotonic == ValidationMonotonicOrderIncreasing && n < o:
		return fmt.Errorf("it may only grow: it was %s, so it cannot become %s", old, now)
	case p.ValidationMonotonic == ValidationMonotonicOrderDecreasing && n > o:
		return fmt.Errorf("it may only shrink: it was %s, so it cannot become %s", old, now)
	}
	return nil
}

func stringList(v string) ([]string, error) {
	var list []string
	if err := json.Unmarshal([]byte(v), &list); err != nil {
		return nil, err
	}
	if list == nil {
		return nil, errors.New("null is no list")
	}
	return list, nil
}

// ValidateParameters is ResolveParameters for who wants only the verdict.
func ValidateParameters(defs []TemplateVersionParameter, given, previous []WorkspaceBuildParameter, opts ParameterOptions) error {
	_, err := ResolveParameters(defs, given, previous, opts)
	return err
}
