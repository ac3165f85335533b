package provisionapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
)

// TestAuthenticate checks the credentials with which provisioners and users read the provider mirror.
func TestAuthenticate(t *testing.T) {
	w := newTown(t)
	own, foreign := w.key(t, w.org, "own", nil), w.key(t, w.other, "foreign", nil)
	const K, P, S = provisionapi.KeyHeader, provisionapi.PSKHeader, codersdk.SessionTokenHeader
	for name, c := range map[string]struct {
		header map[string]string
		ok     bool
	}{
		"key":                              {map[string]string{K: own}, true},
		"key of another organization":      {map[string]string{K: foreign}, true},
		"wrong key":                        {map[string]string{K: "nonsense"}, false},
		"wrong key beats right session":    {map[string]string{K: "nonsense", S: w.owner}, false},
		"PSK":                              {map[string]string{P: psk}, true},
		"wrong PSK":                        {map[string]string{P: "nonsense"}, false},
		"wrong PSK and the member's token": {map[string]string{P: "nonsense", S: w.member}, true},
		"session":                          {map[string]string{S: w.member}, true},
		"wrong session":                    {map[string]string{S: "nonsense"}, false},
		"nothing":                          {nil, false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v2/mirror", nil)
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		if err := w.Authenticate(r); (err == nil) != c.ok || err != nil && !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
