package rest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// checkNUL refuses a decoded request with a NUL character in a string, which
// PostgreSQL cannot store. The error names the field.
func checkNUL(v any) error {
	if field := fieldWithNUL(reflect.ValueOf(v), ""); field != "" {
		return codersdk.Invalid(field, "contains a NUL character, which is not allowed")
	}
	return nil
}

// fieldWithNUL returns the JSON path of the first string below v that contains
// a NUL character, or "".
func fieldWithNUL(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.String:
		if strings.ContainsRune(v.String(), 0) {
			return strings.TrimPrefix(path, ".")
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return fieldWithNUL(v.Elem(), path)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 { // bytes may contain anything
			return ""
		}
		for i := range v.Len() {
			if f := fieldWithNUL(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); f != "" {
				return f
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			name := fmt.Sprint(entries.Key())
			if strings.ContainsRune(name, 0) {
				return strings.TrimPrefix(path, ".")
			}
			if f := fieldWithNUL(entries.Value(), path+"."+name); f != "" {
				return f
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			below := path
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous || name != "" {
				below += "." + name
			}
			if found := fieldWithNUL(v.Field(i), below); found != "" {
				return found
			}
		}
	}
	return ""
}
