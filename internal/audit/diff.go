package audit

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
)

// secretFields are fields whose values are never shown, only that they changed.
var secretFields = []string{"password", "secret", "token", "private_key", "hashed", "psk", "variable_values", "user_variable_values", "value"}

// skippedFields change with every write and say nothing.
var skippedFields = []string{"updated_at", "last_seen_at", "last_used_at"}

// Diff compares two states of a thing by their JSON fields. Either may be nil:
// what did not exist before, or does not exist any more.
func Diff(old, new any) coder.AuditDiff {
	a, b := fields(old), fields(new)
	d := coder.AuditDiff{}
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

func put(d coder.AuditDiff, key string, old, new json.RawMessage) {
	for _, s := range skippedFields {
		if key == s {
			return
		}
	}
	for _, s := range secretFields {
		if strings.Contains(key, s) && !strings.HasSuffix(key, "_name") {
			d[key] = coder.AuditDiffField{Old: "", New: "", Secret: true}
			return
		}
	}
	d[key] = coder.AuditDiffField{Old: value(old), New: value(new)}
}

// value decodes a field; what is absent shows as the empty text.
func value(b json.RawMessage) any {
	var v any
	if len(b) == 0 || json.Unmarshal(b, &v) != nil || v == nil {
		return ""
	}
	return v
}

// fields gives the JSON fields of v in a canonical form, none for nil.
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
