package login

import (
	"encoding/json"
	"maps"
	"strings"
)

// maxClaims bounds what is kept of what a provider says of a person, in bytes.
const maxClaims = 64 << 10

// claims are what a provider says of a person.
type claims map[string]any

// merged is the claims with those of another statement over them.
func (c claims) merged(other claims) claims {
	out := maps.Clone(c)
	maps.Copy(out, other)
	return out
}

// text gives a claim that is a text, without blanks at its ends.
func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return strings.TrimSpace(s)
}

// truth gives a claim that is true or false; some providers say it as text.
func (c claims) truth(name string) bool {
	switch v := c[name].(type) {
	case bool:
		return v
	case string:
		return strings.EqualFold(v, "true")
	}
	return false
}

// list gives a claim that is a list of texts, or one text.
func (c claims) list(name string) []string {
	var out []string
	switch v := c[name].(type) {
	case string:
		if v != "" {
			out = append(out, v)
		}
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok && s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// kept is what is remembered of the claims; nothing when that is too much.
func (c claims) kept() json.RawMessage {
	c = maps.Clone(c)
	for _, once := range []string{"nonce", "at_hash", "c_hash", "jti", "sid"} {
		delete(c, once)
	}
	b, err := json.Marshal(c)
	if err != nil || len(b) > maxClaims || strings.Contains(string(b), `\u0000`) {
		return json.RawMessage(`{}`)
	}
	return b
}
