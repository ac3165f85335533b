package login

import (
	"encoding/json"
	"maps"
	"strings"
)

// maxClaims is the maximum size of stored claims in bytes.
const maxClaims = 64 << 10

// claims are the claims of an identity provider about a user.
type claims map[string]any

// merged returns the claims overridden by those of another source.
func (c claims) merged(other claims) claims {
	out := maps.Clone(c)
	maps.Copy(out, other)
	return out
}

// text returns a string claim without surrounding spaces.
func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return strings.TrimSpace(s)
}

// truth returns a boolean claim; some providers send it as a string.
func (c claims) truth(name string) bool {
	switch v := c[name].(type) {
	case bool:
		return v
	case string:
		return strings.EqualFold(v, "true")
	}
	return false
}

// list returns a claim that is a list of strings, or a single string.
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

// kept returns the claims to store; nil if they are too large.
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
