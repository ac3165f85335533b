package httpapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// terms is a parsed search: key:value pairs, and words without a key. Taking
// a key's value marks it as understood; done refuses what nobody took and what
// did not read as it should.
type terms struct {
	words  []string
	values map[string][]string
	taken  map[string]bool
	wrong  []coder.ValidationError
}

// maxSearch bounds the text of a search.
const maxSearch = 2000

// search parses q: terms apart by blanks, quotes around values with blanks,
// keys in any case, all terms together and-ed. (CP-11)
func search(q string) (*terms, error) {
	t := &terms{values: map[string][]string{}, taken: map[string]bool{}}
	if len(q) > maxSearch {
		return nil, coder.Invalid("q", "is longer than %d characters", maxSearch)
	}
	rest := strings.TrimSpace(q)
	for rest != "" {
		var item string
		var err error
		if item, rest, err = nextTerm(rest); err != nil {
			return nil, err
		}
		key, value, ok := cutTerm(item)
		switch {
		case !ok:
			t.words = append(t.words, unquote(item))
		case key == "" || value == "":
			return nil, coder.Invalid("q", "%q is not of the form key:value", clip(item, 64))
		default:
			key = strings.ToLower(key)
			t.values[key] = append(t.values[key], unquote(value))
		}
	}
	return t, nil
}

// nextTerm cuts the first term off; blanks inside quotes do not end it.
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
		return "", "", coder.Invalid("q", "a quote is not closed")
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

// word gives the words without a key, together.
func (t *terms) word() string { return strings.Join(t.words, " ") }

// texts gives every value of a key; one value may hold several apart by commas.
func (t *terms) texts(key string) []string {
	t.taken[key] = true
	out := []string{}
	for _, v := range t.values[key] {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

// text gives the value of a key, "" when absent; twice is wrong.
func (t *terms) text(key string) string {
	t.taken[key] = true
	switch v := t.values[key]; len(v) {
	case 0:
		return ""
	case 1:
		return v[0]
	}
	t.refuse(key, "is given more than once")
	return ""
}

// oneOf gives the value of a key that knows only some values.
func (t *terms) oneOf(key string, known ...string) string {
	v := strings.ToLower(t.text(key))
	if v != "" && !slices.Contains(known, v) {
		t.refuse(key, "%q is none of: %s", clip(v, 64), strings.Join(known, ", "))
		return ""
	}
	return v
}

// boolean gives true, false, or nil when absent.
func (t *terms) boolean(key string) *bool {
	v := t.text(key)
	if v == "" {
		return nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		t.refuse(key, "%q is neither true nor false", clip(v, 64))
		return nil
	}
	return &b
}

// id gives a UUID, Nil when absent.
func (t *terms) id(key string) uuid.UUID {
	v := t.text(key)
	if v == "" {
		return uuid.Nil
	}
	id, err := uuid.Parse(v)
	if err != nil {
		t.refuse(key, "%q is not a UUID", clip(v, 64))
	}
	return id
}

// time gives a moment (RFC 3339) or a day (2006-01-02), nil when absent.
func (t *terms) time(key string) *time.Time {
	v := strings.ToUpper(t.text(key))
	if v == "" {
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, v); err == nil {
			at = at.UTC()
			return &at
		}
	}
	t.refuse(key, "%q is neither like 2006-01-02 nor like 2006-01-02T15:04:05Z", clip(v, 64))
	return nil
}

func (t *terms) refuse(key, format string, args ...any) {
	t.wrong = append(t.wrong, coder.ValidationError{Field: key, Detail: fmt.Sprintf(format, args...)})
}

// done says what of the search was not understood.
func (t *terms) done() error {
	for key := range t.values {
		if !t.taken[key] {
			t.refuse(key, "is not a key to search by here")
		}
	}
	if len(t.wrong) == 0 {
		return nil
	}
	slices.SortFunc(t.wrong, func(a, b coder.ValidationError) int { return strings.Compare(a.Field, b.Field) })
	return &coder.Error{Code: coder.CodeInvalid, Message: "The search cannot be read", Fields: t.wrong}
}
