//go:build !race

package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// whole are lists that are given at once, each with what bounds it.
func whole() map[string]string {
	const file = "what one template's source or state holds, whose size is bounded"
	const logs = "a log, whose size is bounded; read from where one is with after"
	return map[string]string{
		"GET /experiments":                            "known beforehand",
		"GET /notifications/dispatch-methods":         "known beforehand",
		"GET /notifications/templates/system":         "one for each kind of event",
		"GET /notifications/templates/custom":         "one for each kind of event",
		"GET /users/{user}/notifications/preferences": "one for each kind of event",
		"GET /users/{user}/secrets":                   "50 of a user",
		"GET /mirror/needs":                           "1000, by name",
		"GET /templates/examples":                     "known beforehand", "GET /templates/modules": "known beforehand", "GET /templates/summaries": "100, by id", "GET /organizations/{organization}/templates/examples": "known beforehand",
		"GET /users/roles": "known beforehand", "GET /organizations/{organization}/members/roles": "100 of an organization",
		"GET /replicas": "the servers",
		"GET /licenses": "100 of a deployment",
		"GET /oauth2-provider/apps/{app}/secrets":                             "100 of an application",
		"GET /workspaceagents/{workspaceagent}/logs":                          logs,
		"GET /workspacebuilds/{workspacebuild}/logs":                          logs,
		"GET /templateversions/{templateversion}/logs":                        logs,
		"GET /workspaceagents/{workspaceagent}/startup-logs":                  logs,
		"GET /templateversions/{templateversion}/dry-run/{jobID}/logs":        logs,
		"GET /templateversions/{templateversion}/dry-run/{jobID}/resources":   file,
		"GET /workspacebuilds/{workspacebuild}/parameters":                    file,
		"GET /workspacebuilds/{workspacebuild}/resources":                     file,
		"GET /templateversions/{templateversion}/resources":                   file,
		"GET /templateversions/{templateversion}/rich-parameters":             file,
		"GET /templateversions/{templateversion}/variables":                   file,
		"GET /templateversions/{templateversion}/presets":                     file,
		"GET /templateversions/{templateversion}/external-auth":               file,
		"GET /users/{user}/autofill-parameters":                               file,
		"GET /workspaceagents/{workspaceagent}/watch-metadata":                file,
		"GET /workspaceagents/{workspaceagent}/watch-metadata-ws":             file,
		"GET /settings/idpsync/available-fields":                              "1000, by name",
		"GET /settings/idpsync/field-values":                                  "1000, by name",
		"GET /organizations/{organization}/settings/idpsync/available-fields": "1000, by name",
		"GET /organizations/{organization}/settings/idpsync/field-values":     "1000, by name",
	}
}

// TestEveryListIsPaged holds every list to be given page by page, or to be
// bounded by something else that is said here; and, by asking a server with
// three of everything, that the pages of one row make up the whole.
func TestEveryListIsPaged(t *testing.T) {
	m := newMatrix(t)
	m.prefix = "z"
	owner := m.person(m.home, roles()[0])
	f := m.things(m.home, owner)
	for range 2 {
		m.things(m.home, owner)
		m.person(m.home, roles()[4])
		m.n++
		_, err := m.db.Exec(t.Context(), `INSERT INTO organizations (id, name, created_at, updated_at) VALUES (gen_random_uuid(), $1, now(), now())`, fmt.Sprintf("o%d", m.n))
		must(t, err)
	}
	unpaged, several := whole(), 0
	for _, r := range httpapi.EveryRoute() {
		name := r.Method + " " + r.Path
		offset := slices.ContainsFunc(r.Query, func(p rest.Param) bool { return p.Name == "offset" })
		if r.Method != http.MethodGet || !offset && (r.Out == nil || reflect.TypeOf(r.Out).Kind() != reflect.Slice) {
			continue
		}
		if !offset {
			if unpaged[name] == "" {
				t.Errorf("%s is neither paged nor said to be bounded", name)
			}
			continue
		}
		all := m.rows(f, owner, r.Path, "?limit=1000")
		if len(all) > 1 {
			several++
		}
		for i := range min(len(all), 8) {
			one := m.rows(f, owner, r.Path, fmt.Sprintf("?limit=1&offset=%d", i))
			if len(one) != 1 || !bytes.Equal(lasting(one[0]), lasting(all[i])) {
				t.Errorf("%s: row %d alone is %s, in the whole %s", name, i, one, all[i])
			}
		}
		if behind := m.rows(f, owner, r.Path, fmt.Sprintf("?limit=5&offset=%d", len(all))); len(behind) != 0 {
			t.Errorf("%s: behind its end are %d rows", name, len(behind))
		}
	}
	if several < 15 {
		t.Errorf("only %d lists had several rows to page through", several)
	}
}

// rows returns the rows of a list: an array, or the only array of an object.
func (m *matrix) rows(f fixture, who person, path, query string) []json.RawMessage {
	m.t.Helper()
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, m.s.AccessURL().String()+httpapi.Prefix+f.fill(path)+query+"&"+spans(path), nil)
	must(m.t, err)
	req.Header.Set(codersdk.SessionTokenHeader, who.token)
	resp, err := http.DefaultClient.Do(req)
	must(m.t, err)
	defer resp.Body.Close()
	var body json.RawMessage
	must(m.t, json.NewDecoder(resp.Body).Decode(&body))
	if resp.StatusCode != http.StatusOK {
		m.t.Fatalf("%s%s: %d %s", path, query, resp.StatusCode, body)
	}
	var out []json.RawMessage
	if json.Unmarshal(body, &out) == nil {
		return out
	}
	var object map[string]json.RawMessage
	must(m.t, json.Unmarshal(body, &object))
	if users, ok := object["users"]; ok { // beside others, each with pages of its own
		must(m.t, json.Unmarshal(users, &out))
		return out
	}
	for _, v := range object {
		if len(v) > 0 && v[0] == '[' {
			var more []json.RawMessage
			must(m.t, json.Unmarshal(v, &more))
			if len(more) > len(out) {
				out = more
			}
		}
	}
	return out
}

// spans is what some lists must be asked beside their page.
func spans(path string) string {
	if path == "/insights/user-activity" {
		return "start_time=2026-01-01T00:00:00Z&end_time=2026-01-02T00:00:00Z"
	}
	return ""
}

// lasting is what of a row does not change while one looks.
func lasting(row json.RawMessage) []byte {
	var v struct {
		ID, Name, Username string
		UserID             string          `json:"user_id"`
		Key                json.RawMessage `json:"key"`
		Tags               json.RawMessage `json:"tags"`
	}
	json.Unmarshal(row, &v) //nolint:errcheck // rows without these are compared by nothing
	b, _ := json.Marshal(v) //nolint:errcheck // it was JSON
	return b
}
