// Package parametervalue resolves and checks the values of template parameters. The
// server resolves the values of a build; the CLI checks a value when a user enters it;
// forms show both. (TPL-09, TPL-11)
package parametervalue

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// decimal is the format of numbers. It excludes hexadecimal, exponents and infinity.
var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// Options describe the build whose parameters are resolved.
type Options struct {
	// Create is true for the first build of a workspace. Previous values do not count
	// then, so immutable parameters accept any value.
	Create bool
	// Transition of the build; empty counts as start. A stop or delete uses the previous
	// values without checks.
	Transition codersdk.WorkspaceTransition
	// Preset are the values of the chosen preset. They win over the given values.
	Preset []codersdk.PresetParameter
}

// Resolve returns the values of all parameters of a build in the order of defs. The value
// of the preset wins over the given value, then come the value of the previous build and
// the default. Ephemeral parameters ignore the previous build. Previous values of
// parameters that are not in defs are dropped.
//
// The error is CodeInvalid with one field, named after the parameter, for each parameter
// that is unknown, given twice, missing, of another type, rejected by its validation, or
// immutable and changed.
func Resolve(
	defs []codersdk.TemplateVersionParameter, given, previous []codersdk.WorkspaceBuildParameter, opts Options,
) ([]codersdk.WorkspaceBuildParameter, error) {
	lenient := opts.Transition == codersdk.WorkspaceTransitionStop || opts.Transition == codersdk.WorkspaceTransitionDelete
	var problems []codersdk.ValidationError
	wanted := map[string]string{}
	for _, g := range given {
		switch _, twice := wanted[g.Name]; {
		case twice:
			problems = append(problems, codersdk.ValidationError{Field: g.Name, Detail: "it is given more than once"})
		case !hasParameter(defs, g.Name):
			problems = append(problems, codersdk.ValidationError{Field: g.Name, Detail: "this version of the template has no such parameter"})
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
	out := make([]codersdk.WorkspaceBuildParameter, 0, len(defs))
	for _, d := range defs {
		var now, old *string
		if v, ok := wanted[d.Name]; ok {
			now = &v
		}
		if v, ok := before[d.Name]; ok && !d.Ephemeral {
			old = &v
		}
		v, err := resolve(d, now, old, lenient)
		if err != nil {
			problems = append(problems, codersdk.ValidationError{Field: d.Name, Detail: err.Error()})
			continue
		}
		out = append(out, codersdk.WorkspaceBuildParameter{Name: d.Name, Value: v})
	}
	if len(problems) > 0 {
		e := codersdk.Errorf(codersdk.CodeInvalid, "Invalid parameter %q: %s", problems[0].Field, problems[0].Detail)
		e.Fields = problems
		return nil, e
	}
	return out, nil
}

func hasParameter(defs []codersdk.TemplateVersionParameter, name string) bool {
	return slices.ContainsFunc(defs, func(d codersdk.TemplateVersionParameter) bool { return d.Name == name })
}

// resolve returns the value of one parameter. now is the requested value and old that of
// the previous build; each can be nil.
func resolve(p codersdk.TemplateVersionParameter, now, old *string, lenient bool) (string, error) {
	if lenient {
		switch {
		case old != nil:
			return *old, nil
		case now != nil && Check(p, *now) == nil:
			return *now, nil
		}
		return p.DefaultValue, nil
	}
	oldFits := old != nil && Check(p, *old) == nil
	switch {
	case now != nil:
		if oldFits && !p.Mutable && *now != *old {
			return "", errors.New("it cannot be changed after the workspace was created")
		}
		if err := Check(p, *now); err != nil {
			return "", err
		}
		if oldFits {
			if err := checkDirection(p, *old, *now); err != nil {
				return "", err
			}
		}
		return *now, nil
	case oldFits:
		return *old, nil
	case old != nil:
		return "", fmt.Errorf("the previous value no longer fits, give a new one: %w", Check(p, *old))
	case p.Required:
		return "", errors.New("it needs a value")
	}
	return p.DefaultValue, nil
}

// Check returns an error if v is not a value of the parameter: if it is not of its type,
// not among its options, or rejected by its validation.
func Check(p codersdk.TemplateVersionParameter, v string) error {
	if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
		return errors.New("the value is not plain text")
	}
	// A template can leave a parameter blank by default. Its validation applies to
	// values only, not to the absence of one.
	if v == "" && !p.Required && p.DefaultValue == "" {
		return nil
	}
	if err := checkType(p, v); err != nil {
		return err
	}
	return checkOptions(p, v)
}

func checkType(p codersdk.TemplateVersionParameter, v string) error {
	switch p.Type {
	case codersdk.ParameterTypeNumber:
		if !decimal.MatchString(v) {
			return fmt.Errorf("it takes a number, not %.80q", v)
		}
		return checkRange(p, v)
	case codersdk.ParameterTypeBool:
		if v != "true" && v != "false" {
			return fmt.Errorf("it takes true or false, not %.80q", v)
		}
	case codersdk.ParameterTypeListString:
		if _, err := stringList(v); err != nil {
			return fmt.Errorf("it takes a JSON list of strings such as [\"a\",\"b\"], not %.80q", v)
		}
	case codersdk.ParameterTypeString, "":
		if p.ValidationRegex == "" {
			return nil
		}
		re, err := regexp.Compile(p.ValidationRegex)
		if err != nil {
			return fmt.Errorf("the template has a pattern that is not a regular expression: %w", err)
		}
		if !re.MatchString(v) {
			return validationError(p, v, "does not match %s", p.ValidationRegex)
		}
	default:
		return fmt.Errorf("it has the unknown type %.40q", p.Type)
	}
	return nil
}

func checkRange(p codersdk.TemplateVersionParameter, v string) error {
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil:
		return fmt.Errorf("it takes a number, not %.80q", v)
	case p.ValidationMin != nil && n < float64(*p.ValidationMin):
		return validationError(p, v, "is less than %d", *p.ValidationMin)
	case p.ValidationMax != nil && n > float64(*p.ValidationMax):
		return validationError(p, v, "is more than %d", *p.ValidationMax)
	}
	return nil
}

// validationError returns the template's own error text with {value}, {min} and {max}
// replaced, or else a standard text.
func validationError(p codersdk.TemplateVersionParameter, v, format string, args ...any) error {
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

func checkOptions(p codersdk.TemplateVersionParameter, v string) error {
	if len(p.Options) == 0 || hasOption(p, v) {
		return nil
	}
	if p.Type == codersdk.ParameterTypeListString {
		list, err := stringList(v)
		if err == nil && !slices.ContainsFunc(list, func(s string) bool { return !hasOption(p, s) }) {
			return nil
		}
	}
	values := make([]string, 0, len(p.Options))
	for _, o := range p.Options {
		values = append(values, o.Value)
	}
	return fmt.Errorf("it takes one of %s, not %.80q", strings.Join(values, ", "), v)
}

func hasOption(p codersdk.TemplateVersionParameter, v string) bool {
	return slices.ContainsFunc(p.Options, func(o codersdk.TemplateVersionParameterOption) bool { return o.Value == v })
}

func checkDirection(p codersdk.TemplateVersionParameter, old, now string) error {
	if p.ValidationMonotonic == "" || p.Type != codersdk.ParameterTypeNumber {
		return nil
	}
	o, err1 := strconv.ParseFloat(old, 64)
	n, err2 := strconv.ParseFloat(now, 64)
	if err1 != nil || err2 != nil {
		return nil
	}
	switch {
	case p.ValidationMonotonic == codersdk.ValidationMonotonicOrderIncreasing && n < o:
		return fmt.Errorf("it may only grow: it was %s, so it cannot become %s", old, now)
	case p.ValidationMonotonic == codersdk.ValidationMonotonicOrderDecreasing && n > o:
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
