package toolkit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of inputs without a tag of their own.
const (
	defaultMaxLength = 256 // characters of a string
	defaultMaxItems  = 100 // items of a list, and entries of a map
)

// inputSchema returns the JSON schema of a tool's input. The fields of In have
// these tags beside json and jsonschema (the description):
//
//   - min and max bound the value of a number, the characters of a string, the
//     items of a list or the entries of a map. A number must have both.
//   - enum lists the values of a string, separated by commas.
//   - default is the value of an absent number, boolean or string.
func inputSchema[In any]() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	return s, boundStruct(s, reflect.TypeFor[In]())
}

func boundStruct(s *jsonschema.Schema, t reflect.Type) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			if err := boundStruct(s, f.Type); err != nil {
				return err
			}
			continue
		}
		p := s.Properties[name]
		if p == nil {
			return fmt.Errorf("field %s of %s has no property", f.Name, t)
		}
		if err := bound(p, f.Type, f.Tag); err != nil {
			return fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
	}
	return nil
}

// bound adds the bounds of a value of type t to its schema.
func bound(s *jsonschema.Schema, t reflect.Type, tag reflect.StructTag) error {
	lower, upper, err := limits(tag)
	if err != nil {
		return err
	}
	s.Types = slices.DeleteFunc(s.Types, func(v string) bool { return v == "null" }) // an absent list is absent
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	switch t.Kind() {
	case reflect.String:
		s.MinLength, s.MaxLength = lower, orDefault(upper, defaultMaxLength)
		if values := tag.Get("enum"); values != "" {
			for v := range strings.SplitSeq(values, ",") {
				s.Enum = append(s.Enum, v)
			}
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if lower == nil || upper == nil {
			return fmt.Errorf("a number needs min and max")
		}
		a, b := float64(*lower), float64(*upper)
		s.Minimum, s.Maximum = &a, &b
	case reflect.Slice:
		s.MinItems, s.MaxItems = lower, orDefault(upper, defaultMaxItems)
		if t.Elem().Kind() == reflect.Struct {
			return boundStruct(s.Items, t.Elem())
		}
		return bound(s.Items, t.Elem(), itemTag(tag))
	case reflect.Map:
		s.MinProperties, s.MaxProperties = lower, orDefault(upper, defaultMaxItems)
		return bound(s.AdditionalProperties, t.Elem(), itemTag(tag))
	case reflect.Bool:
	default:
		return fmt.Errorf("inputs of type %s have no bound", t)
	}
	if v, ok := tag.Lookup("default"); ok {
		s.Default = json.RawMessage(v)
		if t.Kind() == reflect.String {
			s.Default = json.RawMessage(strconv.Quote(v))
		}
	}
	return nil
}

// itemTag returns the tag of the items of a list or map: max comes from itemmax.
func itemTag(tag reflect.StructTag) reflect.StructTag {
	if v := tag.Get("itemmax"); v != "" {
		return reflect.StructTag(`max:"` + v + `"`)
	}
	return ""
}

func limits(tag reflect.StructTag) (lower, upper *int, err error) {
	for _, l := range []struct {
		name string
		at   **int
	}{{"min", &lower}, {"max", &upper}} {
		v, ok := tag.Lookup(l.name)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			return nil, nil, fmt.Errorf("tag %s: %w", l.name, err)
		}
		*l.at = &n
	}
	return lower, upper, nil
}

func orDefault(n *int, otherwise int) *int {
	if n != nil {
		return n
	}
	return &otherwise
}
