package servertest_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/uuid"
)

// state returns the Terraform state of a build.
func (h *house) state(build uuid.UUID) (state []byte) {
	h.t.Helper()
	fatal(h.t, h.db.QueryRow(h.t.Context(), `SELECT state FROM workspace_build_states WHERE build_id = $1`, build).Scan(&state))
	return state
}

// issued are values that every build draws.
var issued = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// compare fails unless two states are the same, except for values that every build draws.
func compare(t testing.TB, a, b []byte) {
	t.Helper()
	if x, y := normalized(t, a), normalized(t, b); x != y {
		t.Errorf("the states differ:\n%s\n%s", x, y)
	}
}

// normalized returns a state without its serial, and without what is issued for one build.
func normalized(t testing.TB, state []byte) string {
	t.Helper()
	var s struct {
		Resources []struct {
			Mode, Type, Name string
			Instances        []struct {
				Attributes map[string]any
			}
		}
	}
	fatal(t, json.Unmarshal(state, &s))
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			delete(i.Attributes, "session_token")
			delete(i.Attributes, "oidc_access_token")
		}
	}
	b, err := json.MarshalIndent(s, "", " ")
	fatal(t, err)
	return issued.ReplaceAllString(string(b), "ID")
}
