package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// sendRaw sends a request as a program that is not our client does, without
// following redirects.
func sendRaw(t *testing.T, s *servertest.Server, method, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.AccessURL().String()+path, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if len(header) == 0 {
		req.Header.Set(codersdk.SessionTokenHeader, s.Client.SessionToken)
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, resp.Header, string(b)
}

// TestPathsOfClients: slashes that scripts double or add, ways to authenticate,
// and paths that do not exist.
func TestPathsOfClients(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Network.AllowCORS = true })
	token := s.Client.SessionToken
	for _, path := range []string{"//api/v2/users/me", "/api//v2///users/me", "/api/v2/users/me/", "/api/v2/organizations/default/members/", "/api/v2/users/", "/api/v2/templates/", "/api/v2", "//api/v2/"} {
		if status, _, body := sendRaw(t, s, "GET", path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _, body := sendRaw(t, s, "POST", "//api/v2/users/me/keys/", "{}"); status != http.StatusCreated {
		t.Errorf("POST with doubled slashes: %d %s", status, body)
	}
	for name, header := range map[string][]string{
		"header": {codersdk.SessionTokenHeader, token}, "bearer": {"Authorization", "Bearer " + token}, "cookie": {"Cookie", codersdk.SessionCookie + "=" + token},
	} {
		if status, _, body := sendRaw(t, s, "GET", "/api/v2/users/me", "", header...); status != http.StatusOK {
			t.Errorf("by %s: %d %s", name, status, body)
		}
	}
	if status, _, body := sendRaw(t, s, "GET", "/api/v2/users/me?coder_session_token="+token, "", "Accept", "*/*"); status != http.StatusOK {
		t.Errorf("by query: %d %s", status, body)
	}
	for path, kind := range map[string]string{
		"/api/experimental/chats": "application/json", "/api": "application/json", "/api/v3/x": "application/json", "/.well-known/oauth-authorization-server": "application/json",
		"/oauth2/tokens": "application/json", "/scim/v2/Users": "application/json", "/derp": "application/json", "/derp/latency-check": "application/json",
		"/nothing/is/here": "text/plain", "/install.txt": "text/plain", "/a.json": "text/plain",
	} {
		for _, method := range []string{"GET", "POST"} {
			status, header, body := sendRaw(t, s, method, path, "")
			var answer codersdk.Response
			if status != http.StatusNotFound || !strings.HasPrefix(header.Get("Content-Type"), kind) || kind == "application/json" && (json.Unmarshal([]byte(body), &answer) != nil || answer.Message == "") {
				t.Errorf("%s %s: %d %s %.100s", method, path, status, header.Get("Content-Type"), body)
			}
		}
	}
	status, header, _ := sendRaw(t, s, "OPTIONS", "/api/v2/users/me", "", "Origin", "https://gerrit.example.com", "Access-Control-Request-Method", "GET")
	if status != http.StatusNoContent || header.Get("Access-Control-Allow-Origin") != "*" || header.Get("Access-Control-Allow-Credentials") != "" || !strings.Contains(header.Get("Allow"), "GET") {
		t.Errorf("preflight: %d %v", status, header)
	}
	if _, header, _ = sendRaw(t, s, "GET", "/api/v2/buildinfo", "", "Origin", "https://gerrit.example.com"); header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("cross-origin GET: %v", header)
	}
}

// TestPreflightWithoutTheOption: a server that allows no other origins answers
// OPTIONS, and nothing in the answer lets a page of another origin in.
func TestPreflightWithoutTheOption(t *testing.T) {
	s := servertest.Start(t, nil)
	for _, method := range []string{"OPTIONS", "GET"} {
		status, header, body := sendRaw(t, s, method, "/api/v2/users/me", "", codersdk.SessionTokenHeader, s.Client.SessionToken,
			"Origin", "https://gerrit.example.com", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "coder-session-token")
		if want := map[string]int{"OPTIONS": http.StatusNoContent, "GET": http.StatusOK}[method]; status != want {
			t.Errorf("%s: %d %s", method, status, body)
		}
		for name := range header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s: %s", method, name, header.Get(name))
			}
		}
		if method == "OPTIONS" && !strings.Contains(header.Get("Allow"), "GET") {
			t.Errorf("OPTIONS: Allow: %q", header.Get("Allow"))
		}
	}
}

// TestBareFollow: "?follow" and "?follow=" are followed over a WebSocket, by each
// endpoint of logs. "?follow=false" is answered at once.
func TestBareFollow(t *testing.T) {
	s := servertest.Start(t, nil)
	version, _, w := echoWorkspace(t, s, "dev", `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "`+uuid.NewString()+`"}]}]}}`)
	for _, path := range []string{
		"/templateversions/" + version.String() + "/logs", "/workspacebuilds/" + w.LatestBuild.ID.String() + "/logs",
		"/workspaceagents/" + w.LatestBuild.Resources[0].Agents[0].ID.String() + "/logs",
	} {
		for _, query := range []string{"follow", "follow=", "follow&after=0", "after=0&follow"} {
			conn, resp, err := websocket.Dial(t.Context(), s.AccessURL().String()+"/api/v2"+path+"?"+query, &websocket.DialOptions{HTTPHeader: http.Header{codersdk.SessionTokenHeader: {s.Client.SessionToken}}})
			if err != nil {
				t.Errorf("%s?%s: %v %v", path, query, err, resp)
				continue
			}
			conn.CloseNow() //nolint:errcheck // it was opened, which is the question
		}
		if status, header, body := sendRaw(t, s, "GET", "/api/v2"+path+"?follow=false", ""); status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
			t.Errorf("%s?follow=false: %d %s", path, status, body)
		}
	}
}

// echoWorkspace creates a workspace of the owner, and a template of its name whose
// graph step is the given one.
func echoWorkspace(t *testing.T, s *servertest.Server, name, graph string) (version, template uuid.UUID, w codersdk.Workspace) {
	t.Helper()
	ctx, c := t.Context(), s.Client
	ended := func(path string) {
		must(t, codersdk.Follow(ctx, c, path, url.Values{"follow": {"true"}}, func(codersdk.ProvisionerJobLog) error { return nil }))
	}
	tar, err := echo.Archive(map[string]string{"graph.jsonl": graph})
	must(t, err)
	up, err := c.Upload(ctx, "application/x-tar", strings.NewReader(string(tar)))
	must(t, err)
	v, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
	must(t, err)
	ended("/templateversions/" + v.ID.String() + "/logs")
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
	must(t, err)
	w, err = c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: tpl.ID})
	must(t, err)
	ended("/workspacebuilds/" + w.LatestBuild.ID.String() + "/logs")
	w, err = c.Workspace(ctx, w.ID, nil)
	must(t, err)
	return v.ID, tpl.ID, w
}

// TestSearchOfSharedWorkspaces: by the user's name and id, and by the group's
// name, organization/name and id.
func TestSearchOfSharedWorkspaces(t *testing.T) {
	s := servertest.Start(t, nil)
	_, ann := s.Member(t, "ann")
	_, bob := s.Member(t, "bob")
	_, template, one := echoWorkspace(t, s, "one", "{}")
	two, err := s.Client.CreateWorkspace(t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: "two", TemplateID: template})
	must(t, err)
	send := func(method, path, body string, status int) string {
		t.Helper()
		got, _, answer := sendRaw(t, s, method, "/api/v2"+path, body)
		if got != status {
			t.Fatalf("%s %s: %d %s", method, path, got, answer)
		}
		return answer
	}
	var devs, ops codersdk.Group
	must(t, json.Unmarshal([]byte(send("POST", "/organizations/default/groups", `{"name":"devs"}`, 201)), &devs))
	must(t, json.Unmarshal([]byte(send("POST", "/organizations/default/groups", `{"name":"ops"}`, 201)), &ops))
	send("PATCH", "/workspaces/"+one.ID.String()+"/acl", `{"user_roles":{"`+ann.ID.String()+`":"use"}}`, 204)
	send("PATCH", "/workspaces/"+two.ID.String()+"/acl", `{"group_roles":{"`+devs.ID.String()+`":"admin"}}`, 204)
	organization := s.First.OrganizationID.String()
	var o codersdk.Organization
	must(t, json.Unmarshal([]byte(send("GET", "/organizations/"+organization, "", 200)), &o))
	for query, want := range map[string]string{
		"shared_with_user:ann": "one", "shared_with_user:" + ann.ID.String(): "one", "shared_with_user:bob": "", "shared_with_user:" + bob.ID.String(): "",
		"shared_with_group:devs": "two", "shared_with_group:DEVS": "two", "shared_with_group:" + o.Name + "/devs": "two", "shared_with_group:" + devs.ID.String(): "two",
		"shared_with_group:ops": "", "shared_with_group:other/devs": "", "shared_with_group:" + ops.ID.String(): "",
		"shared_with_user:ann shared_with_group:devs": "", "owner:me shared_with_group:devs": "two", "shared:true name:one shared_with_user:ann": "one",
	} {
		var got codersdk.WorkspacesResponse
		must(t, json.Unmarshal([]byte(send("GET", "/workspaces?q="+url.QueryEscape(query), "", 200)), &got))
		names := []string{}
		for _, w := range got.Workspaces {
			names = append(names, w.Name)
		}
		if strings.Join(names, ",") != want || got.Count != len(names) {
			t.Errorf("%s: %d, %q, want %q", query, got.Count, names, want)
		}
	}
}

// TestAnswersThatClientsMatch: texts and fields that shipped clients look for.
func TestAnswersThatClientsMatch(t *testing.T) {
	s := servertest.Start(t, nil)
	_, ann := s.Member(t, "ann")
	for _, c := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"GET", "/experiments/available", "", 200, `{"safe":[]}`},
		{"GET", "/workspaceagents/connection", "", 200, `"derp_map":{"regions":{}}`},
		{"GET", "/workspaceagents/connection", "", 200, `"hostname_suffix":"coder"`},
		{"GET", "/users/ann/roles", "", 200, `{"organization_roles":{"` + s.First.OrganizationID.String() + `":[]},"roles":[]}`},
		{"GET", "/workspaces?q=shared_with_user:ann", "", 200, `"workspaces":[]`},
		{"GET", "/workspaces?q=shared_with_user:" + ann.ID.String(), "", 200, `"workspaces":[]`},
		{"GET", "/workspaces?q=shared_with_user:nobody", "", 400, "must be an existing uuid or username"},
		{"GET", "/workspaces?q=shared_with_group:none", "", 200, `"workspaces":[]`},
		{"GET", "/workspaces?q=flavor:sweet", "", 400, "is not a valid query param"},
		{"GET", "/users?q=github_com_user_id:42", "", 200, `"users":[]`},
		{"GET", "/users?q=github_com_user_id:x", "", 400, "GitHub"},
		{"POST", "/users", `{"username":"ann","email":"other@example.com","login_type":"none"}`, 409, "already exists"},
		{"POST", "/users", `{"username":"robot","login_type":"none","service_account":true}`, 201, `"is_service_account":true`},
		{"POST", "/users/me/keys/tokens", `{"token_name":"ci","autostart":true}`, 201, `"key"`},
		{"POST", "/users/me/keys/tokens", `{"token_name":"ci"}`, 409, "already exists"},
		{"POST", "/users/me/keys/tokens", `null`, 400, "cannot be JSON null"},
		{"POST", "/users/me/keys/tokens", `[]`, 400, "cannot be a JSON array"},
		{"POST", "/users/me/keys/tokens", `"ci"`, 400, "cannot be a JSON string"},
		{"POST", "/users/me/keys/tokens", ``, 400, "has no body"},
		{"GET", "/users/me/keys/tokens", "", 200, `"allow_list":["*:*"]`},
		{"GET", "/users/me/keys/tokens", "", 200, `"username":"admin"`},
		{"PUT", "/users/me/password", `{"old_password":"` + servertest.Password + `","password":"` + servertest.Password + `"}`, 400, "New password cannot match old password."},
		{"POST", "/users/me/convert-login", `{"password":"` + servertest.Password + `","to_type":"github"}`, 400, "not enabled"},
		{"POST", "/organizations/default/members/roles", `{"name":"made"}`, 200, `"made"`},
		{"DELETE", "/organizations/default/members/roles/made", "", 204, ""},
		{"PATCH", "/settings/idpsync/organization", `{"field":"orgs","mapping":{"later":["` + uuid.NewString() + `"]},"organization_assign_default":true}`, 200, "later"},
		{"PATCH", "/organizations/default/settings/idpsync/groups/mapping", `{"Add":[{"Given":"later","Gets":"` + uuid.NewString() + `"}],"Remove":[]}`, 200, "later"},
		{"PATCH", "/organizations/default/settings/idpsync/groups", `{"field":"groups","mapping":{"later":["nonsense"]}}`, 400, "not the ID of a group"},
	} {
		if status, _, body := sendRaw(t, s, c.method, "/api/v2"+c.path, c.body); status != c.status || !strings.Contains(body, c.has) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
	key := s.Client.SessionToken[:strings.Index(s.Client.SessionToken, "-")]
	old := s.Client.SessionToken
	if status, _, body := sendRaw(t, s, "PUT", "/api/v2/users/me/keys/"+key+"/expire", ""); status != http.StatusNoContent {
		t.Fatalf("expire the session: %d %s", status, body)
	}
	for token, detail := range map[string]string{old: "API key expired", old[:len(old)-1] + "!": ""} {
		status, _, body := sendRaw(t, s, "GET", "/api/v2/users/me", "", codersdk.SessionTokenHeader, token)
		if status != http.StatusUnauthorized || strings.Contains(body, "API key expired") != (detail != "") {
			t.Errorf("expired or wrong: %d %s", status, body)
		}
	}
}

// TestTemplateOfARunningImport: a template can be created at once with its
// version; workspaces wait for the import, and learn why it failed.
func TestTemplateOfARunningImport(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, c := t.Context(), s.Client
	version := func(script string, tags map[string]string) codersdk.TemplateVersion {
		tar, err := echo.Archive(map[string]string{"plan.jsonl": script})
		must(t, err)
		up, err := c.Upload(ctx, "application/x-tar", strings.NewReader(string(tar)))
		must(t, err)
		v, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{
			FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file", Tags: tags,
			UserVariableValues: []codersdk.VariableValue{{Name: "twice", Value: "first"}, {Name: "twice", Value: "last"}},
		})
		must(t, err)
		return v
	}
	make := func(name string, v codersdk.TemplateVersion) codersdk.Template {
		made, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
		must(t, err)
		return made
	}
	ended := func(v codersdk.TemplateVersion) {
		must(t, codersdk.Follow(ctx, c, "/templateversions/"+v.ID.String()+"/logs", url.Values{"follow": {"true"}}, func(codersdk.ProvisionerJobLog) error { return nil }))
	}
	waits := version("", map[string]string{"zone": "nowhere"})
	never := make("never", waits)
	if _, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "early", TemplateID: never.ID}); !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "still being imported") {
		t.Errorf("a workspace of a waiting import: %v", err)
	}
	must(t, c.CancelTemplateVersion(ctx, waits.ID))
	if _, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "early", TemplateID: never.ID}); !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "did not succeed") {
		t.Errorf("a workspace of a canceled import: %v", err)
	}
	const why = "Error: a provider that this template needs does not exist"
	before := version(`{"hang": true}`, nil) // holds the only provisioner
	wrong := version(`{"error": "`+why+`"}`, nil)
	failed := make("failed", wrong)
	must(t, c.CancelTemplateVersion(ctx, before.ID))
	ended(wrong)
	for path, body := range map[string]string{
		"/users/me/workspaces":                         `{"name":"early","template_id":"` + failed.ID.String() + `"}`,
		"/organizations/default/members/me/workspaces": `{"name":"early","template_version_id":"` + wrong.ID.String() + `"}`,
	} {
		status, _, answer := sendRaw(t, s, "POST", "/api/v2"+path, body)
		var said codersdk.Response
		if err := json.Unmarshal([]byte(answer), &said); err != nil || status != http.StatusPreconditionFailed || !strings.Contains(said.Message, "did not succeed") || !strings.Contains(said.Detail, why) {
			t.Errorf("%s: a workspace of a failed import: %d %s", path, status, answer)
		}
	}
	good := version(`{"log": {"level": "INFO", "output": "soon"}}`, nil)
	soon := make("soon", good)
	ended(good)
	if _, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: soon.ID}); err != nil {
		t.Errorf("a workspace after the import: %v", err)
	}
	if _, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "again", TemplateVersionID: waits.ID}); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("a second template of a version: %v", err)
	}
}
