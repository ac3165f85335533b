// Package search parses the searches of lists, such as owner:me status:running.
package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// Terms is a parsed search: key:value pairs, and words without a key. Reading a
// key marks it as known; Finish refuses unknown keys and invalid values.
type Terms struct {
	words  []string
	values map[string][]string
	known  map[string]bool
	wrong  []codersdk.ValidationError
}

// Parse parses q: terms separated by blanks, quotes around values with blanks,
// keys in any case. A result must match all terms. (CP-11)
func Parse(q string) (*Terms, error) {
	t := &Terms{values: map[string][]string{}, known: map[string]bool{}}
	if len(q) > rest.MaxSearch {
		return nil, codersdk.Invalid("q", "is longer than %d bytes", rest.MaxSearch)
	}
	left := strings.TrimSpace(q)
	for left != "" {
		var item string
		var err error
		if item, left, err = nextTerm(left); err != nil {
			return nil, err
		}
		key, value, ok := cutTerm(item)
		switch {
		case !ok:
			t.words = append(t.words, unquote(item))
		case key == "" || value == "":
			return nil, codersdk.Invalid("q", "%q is not of the form key:value", rest.Truncate(item, 64))
		default:
			key = strings.ToLower(key)
			t.values[key] = append(t.values[key], unquote(value))
		}
	}
	return t, nil
}

// nextTerm splits off the first term; blanks inside quotes do not end a term.
func nextTerm(s string) (item, rest string, err error) {
	quoted := false
	for i, r := range s {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && (r == ' ' || r == '\t' || r == '\n'):
			return s[:i], strings.TrimSpace(s[i:]), nil
		}
	}
	if quoted {
		return "", "", codersdk.Invalid("q", "contains a quote that is not closed")
	}
	return s, "", nil
}

// cutTerm splits at the first colon outside of quotes.
func cutTerm(item string) (key, value string, ok bool) {
	quoted := false
	for i, r := range item {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ':' && !quoted:
			return item[:i], item[i+1:], true
		}
	}
	return "", "", false
}

func unquote(s string) string { return strings.ReplaceAll(s, `"`, "") }

// FreeText returns the words without a key, joined by blanks.
func (t *Terms) FreeText() string { return strings.Join(t.words, " ") }

// List returns every value of a key; one value may hold several, separated by
// commas.
func (t *Terms) List(key string) []string {
	t.known[key] = true
	out := []string{}
	for _, v := range t.values[key] {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

// Text returns the value of a key, or "" when absent. A repeated key is an
// error.
func (t *Terms) Text(key string) string {
	t.known[key] = true
	switch v := t.values[key]; len(v) {
	case 0:
		return ""
	case 1:
		return v[0]
	}
	t.AddError(key, "appears more than once")
	return ""
}

// OneOf returns the value of a key that accepts only the known values.
func (t *Terms) OneOf(key string, known ...string) string {
	v := strings.ToLower(t.Text(key))
	if v != "" && !slices.Contains(known, v) {
		t.AddError(key, "%q is not one of: %s", rest.Truncate(v, 64), strings.Join(known, ", "))
		return ""
	}
	return v
}

// Boolean returns true, false, or nil when the key is absent.
func (t *Terms) Boolean(key string) *bool {
	v := t.Text(key)
	if v == "" {
		return nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		t.AddError(key, "%q is neither true nor false", rest.Truncate(v, 64))
		return nil
	}
	return &b
}

// ID returns the UUID of a key, or uuid.Nil when absent.
func (t *Terms) ID(key string) uuid.UUID {
	v := t.Text(key)
	if v == "" {
		return uuid.Nil
	}
	id, err := uuid.Parse(v)
	if err != nil {
		t.AddError(key, "%q is not a UUID", rest.Truncate(v, 64))
	}
	return id
}

// Time returns an RFC 3339 time or a date (2006-01-02), or nil when the key is
// absent.
func (t *Terms) Time(key string) *time.Time {
	v := strings.ToUpper(t.Text(key))
	if v == "" {
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, v); err == nil {
			at = at.UTC()
			return &at
		}
	}
	t.AddError(key, "%q is neither a date such as 2006-01-02 nor a time such as 2006-01-02T15:04:05Z", rest.Truncate(v, 64))
	return nil
}

// AddError records an invalid value of a key.
func (t *Terms) AddError(key, format string, args ...any) {
	t.wrong = append(t.wrong, codersdk.ValidationError{Field: key, Detail: fmt.Sprintf(format, args...)})
}

// Finish returns an error that lists unknown keys and invalid values, or nil.
func (t *Terms) Finish() error {
	for key := range t.values {
		if !t.known[key] {
			t.AddError(key, "%q is not a valid query param: this search does not know the key", rest.Truncate(key, 64))
		}
	}
	if len(t.wrong) == 0 {
		return nil
	}
	slices.SortFunc(t.wrong, func(a, b codersdk.ValidationError) int { return strings.Compare(a.Field, b.Field) })
	return &codersdk.Error{Code: codersdk.CodeInvalid, Message: "The search is invalid", Fields: t.wrong}
}
