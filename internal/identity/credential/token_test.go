package credential

import "testing"

func TestIsToken(t *testing.T) {
	token, _, _ := NewToken()
	for text, is := range map[string]bool{
		token: true, token + "x": false, token[1:]: false, "": false, token[:12] + "?" + token[13:]: false, "Bearer " + token: false,
		"eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2ln": false, "ghp_0123456789012345678901234567890123": false,
	} {
		if IsToken(text) != is {
			t.Errorf("%q: %v", text, !is)
		}
	}
}
