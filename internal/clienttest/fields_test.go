package clienttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// kinds maps the names of kinds in specs to checks of a value.
var kinds = map[string]func(v any) bool{
	"string":  func(v any) bool { _, ok := v.(string); return ok },
	"text":    func(v any) bool { s, ok := v.(string); return ok && s != "" },
	"number":  func(v any) bool { _, ok := v.(float64); return ok },
	"integer": func(v any) bool { n, ok := v.(float64); return ok && n == math.Trunc(n) },
	"int32": func(v any) bool {
		n, ok := v.(float64)
		return ok && n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32
	},
	"boolean": func(v any) bool { _, ok := v.(bool); return ok },
	"true":    func(v any) bool { return v == true },
	"false":   func(v any) bool { return v == false },
	"null":    func(v any) bool { return v == nil },
	"array":   func(v any) bool { a, ok := v.([]any); return ok && a != nil },
	"some":    func(v any) bool { a, ok := v.([]any); return ok && len(a) > 0 },
	"object":  func(v any) bool { _, ok := v.(map[string]any); return ok },
	"uuid":    func(v any) bool { s, ok := v.(string); return ok && uuid.Validate(s) == nil },
	"time": func(v any) bool {
		s, _ := v.(string)
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil
	},
}

// allOfKind reports whether all values of an array or a map are of a kind.
func allOfKind(v any, kind string) bool {
	var values []any
	switch v := v.(type) {
	case []any:
		values = v
	case map[string]any:
		values = slices.Collect(maps.Values(v))
	default:
		return false
	}
	return !slices.ContainsFunc(values, func(one any) bool { return !kinds[kind](one) })
}

// memberKinds are kinds of arrays and objects, with the kind of all their members.
var memberKinds = map[string]string{"strings": "string", "numbers": "number"}

// absentKind is the kind of a field that can be absent.
const absentKind = "absent"

// checkFields checks a JSON value against specs of the form "path kind|kind" or
// "path =text". A path consists of names separated by dots. name[] stands for all
// members of an array, which must not be null. name{} stands for all values of an
// object. An empty path is the value itself.
func checkFields(t *testing.T, v any, specs ...string) {
	t.Helper()
	for _, spec := range specs {
		path, want, ok := strings.Cut(spec, " ")
		if !ok {
			path, want = "", spec
		}
		if err := checkPath(v, strings.Split(path, "."), want); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func checkPath(v any, path []string, want string) error {
	if len(path) == 0 || path[0] == "" {
		return checkValue(v, true, want)
	}
	name, each := strings.CutSuffix(path[0], "[]")
	name, values := strings.CutSuffix(name, "{}")
	present := true
	if name != "" {
		object, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is a field of %s, which is not an object", name, shortJSON(v))
		}
		v, present = object[name]
	}
	rest := path[1:]
	switch {
	case each:
		members, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%s is not an array: %s", name, shortJSON(v))
		}
		for i, m := range members {
			if err := checkPath(m, rest, want); err != nil {
				return fmt.Errorf("%s[%d]: %w", name, i, err)
			}
		}
		return nil
	case values:
		members, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not an object: %s", name, shortJSON(v))
		}
		for key, m := range members {
			if err := checkPath(m, rest, want); err != nil {
				return fmt.Errorf("%s[%s]: %w", name, key, err)
			}
		}
		return nil
	case len(rest) == 0:
		return checkValue(v, present, want)
	case v == nil && (strings.Contains(want, "null") || strings.Contains(want, absentKind)):
		return nil
	}
	return checkPath(v, rest, want)
}

func checkValue(v any, present bool, want string) error {
	if text, ok := strings.CutPrefix(want, "="); ok {
		if fmt.Sprint(v) != text {
			return fmt.Errorf("is %s", shortJSON(v))
		}
		return nil
	}
	for _, kind := range strings.Split(want, "|") {
		if kind == absentKind {
			if !present {
				return nil
			}
			continue
		}
		is, ok := kinds[kind]
		if one, plural := memberKinds[kind]; plural {
			is, ok = func(v any) bool { return allOfKind(v, one) }, true
		}
		if !ok {
			return fmt.Errorf("unknown kind %q", kind)
		}
		if present && is(v) {
			return nil
		}
	}
	if !present {
		return fmt.Errorf("is absent")
	}
	return fmt.Errorf("is %s", shortJSON(v))
}

// shortJSON returns the beginning of a value as JSON.
func shortJSON(v any) string {
	b, _ := json.Marshal(v)
	return fmt.Sprintf("%.200s", b)
}

// at returns the value at a path of names and array indexes; nil if it is missing.
func at(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch inner := v.(type) {
		case map[string]any:
			v = inner[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(inner) {
				return nil
			}
			v = inner[i]
		default:
			return nil
		}
	}
	return v
}

// textAt returns the string at a path; "" if it is missing or not a string.
func textAt(v any, path string) string { s, _ := at(v, path).(string); return s }

func TestCheckFields(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(`{"a": [{"b": "x", "c": null}], "n": null, "i": 3, "m": {"k": 1}}`), &v); err != nil {
		t.Fatal(err)
	}
	for spec, good := range map[string]bool{
		"a[].b string": true, "a[].c string|null": true, "a[].c string": false, "a[].d string": false, "a[].d string|absent": true,
		"n.x string|null": true, "n.x string": false, "i integer": true, "i =3": true, "i =4": false, "m{} number": true, "n[] string": false,
		"m{} string": false, "object": true, "array": false, "b.c string": false,
	} {
		path, want, ok := strings.Cut(spec, " ")
		if !ok {
			path, want = "", spec
		}
		if err := checkPath(v, strings.Split(path, "."), want); (err == nil) != good {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
