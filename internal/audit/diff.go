package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// secretFields are fields whose values are never recorded, only that they changed.
var secretFields = []string{"password", "secret", "token", "private_key", "hashed", "psk", "variable_values", "user_variable_values", "value"}

// plainSuffixes end the names of fields that describe a secret, and do not contain it.
var plainSuffixes = []string{"_name", "_scopes", "_seconds"}

// skippedFields change with every write and carry no information.
var skippedFields = []string{"updated_at", "last_seen_at", "last_used_at"}

// Diff compares two states of an object by their JSON fields. Either can be nil: before a creation,
// or after a deletion.
func Diff(old, new any) codersdk.AuditDiff {
	a, b := fields(old), fields(new)
	d := codersdk.AuditDiff{}
	for k, v := range a {
		if w, ok := b[k]; !ok || !bytes.Equal(v, w) {
			put(d, k, v, w)
		}
	}
	for k, w := range b {
		if _, ok := a[k]; !ok {
			put(d, k, nil, w)
		}
	}
	return d
}

func put(d codersdk.AuditDiff, key string, old, new json.RawMessage) {
	for _, s := range skippedFields {
		if key == s {
			return
		}
	}
	if isSecret(key) && !(isSwitch(old) && isSwitch(new)) {
		d[key] = codersdk.AuditDiffField{Old: "", New: "", Secret: true}
		return
	}
	d[key] = codersdk.AuditDiffField{Old: value(old), New: value(new)}
}

// isSecret reports whether the values of a field are never recorded.
func isSecret(key string) bool {
	return slices.ContainsFunc(secretFields, func(s string) bool { return strings.Contains(key, s) }) &&
		!slices.ContainsFunc(plainSuffixes, func(s string) bool { return strings.HasSuffix(key, s) })
}

// isSwitch reports whether a value is true, false or absent: no secret whatever its field is called.
func isSwitch(b json.RawMessage) bool {
	switch string(b) {
	case "", "null", "true", "false":
		return true
	}
	return false
}

// value decodes a field; absent fields are empty strings.
func value(b json.RawMessage) any {
	var v any
	if len(b) == 0 || json.Unmarshal(b, &v) != nil || v == nil {
		return ""
	}
	return v
}

// fields returns the JSON fields of v in canonical form, none for nil.
func fields(v any) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	if v == nil {
		return out
	}
	b, err := json.Marshal(v)
	if err != nil || json.Unmarshal(b, &out) != nil {
		return map[string]json.RawMessage{}
	}
	return out
}
