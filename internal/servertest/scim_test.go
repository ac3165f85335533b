package servertest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestSCIM provisions and deletes a user at a server that has the option.
func TestSCIM(t *testing.T) {
	const key = "the key of the provider"
	s := servertest.Start(t, func(c *server.Config) { c.Directory.Key = key })
	send := func(method, path, authorization, body string) (int, map[string]any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.AccessURL().String()+"/scim/v2"+path, strings.NewReader(body))
		must(t, err)
		req.Header.Set("Authorization", authorization)
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		defer resp.Body.Close()
		out := map[string]any{}
		if resp.StatusCode != http.StatusNoContent {
			must(t, json.NewDecoder(resp.Body).Decode(&out))
		}
		return resp.StatusCode, out
	}
	if status, out := send("GET", "/Users", "Bearer "+s.Client.SessionToken, ""); status != 401 || out["detail"] == "" {
		t.Errorf("with a session: %d %v", status, out)
	}
	status, out := send("POST", "/Users", "Bearer "+key, `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "jane@example.com"}`)
	if status != 201 || !strings.HasPrefix(out["meta"].(map[string]any)["location"].(string), s.AccessURL().String()+"/scim/v2/Users/") {
		t.Fatalf("create: %d %v", status, out)
	}
	id := out["id"].(string)
	if status, _ := send("DELETE", "/Users/"+id+"/", "Bearer "+key, ""); status != 204 {
		t.Errorf("delete: %d", status)
	}
	u, err := s.Client.User(t.Context(), uuid.MustParse(id).String())
	must(t, err)
	if u.Status != codersdk.UserStatusSuspended || u.Username != "jane" {
		t.Errorf("the account: %+v", u)
	}
	if status, out := send("GET", "/Nothing", "Bearer "+key, ""); status != 404 || out["schemas"] == nil {
		t.Errorf("an unknown path: %d %v", status, out)
	}
}
