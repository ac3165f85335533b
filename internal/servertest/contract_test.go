package servertest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/contracttest"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// walk calls endpoints of the contract on a live server.
type walk struct {
	t      *testing.T
	s      *servertest.Server
	c      contracttest.Contract
	byName map[string]contracttest.Endpoint
	// values fill the parameters of paths and bodies in.
	values map[string]string
	called map[string]bool
}

func newWalk(t *testing.T) *walk {
	w := &walk{t: t, s: servertest.Start(t, func(c *server.Config) { c.OAuth2.Enable = true }), c: contracttest.Load(t), byName: map[string]contracttest.Endpoint{}, called: map[string]bool{}}
	for _, e := range w.c.Endpoints {
		w.byName[e.Method+" "+e.Path] = e
	}
	return w
}

var placeholder = regexp.MustCompile(`\{[a-zA-Z_-]+\}`)

func (w *walk) fill(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(p string) string {
		if v, ok := w.values[strings.Trim(p, "{}")]; ok {
			return v
		}
		return p
	})
}

// do sends a request and gives status and body.
func (w *walk) do(method, path, body, token string) (int, []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.s.AccessURL().String()+path, strings.NewReader(body))
	must(w.t, err)
	if token != "" {
		req.Header.Set(codersdk.SessionTokenHeader, token)
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(w.t, err)
	return resp.StatusCode, b
}

// call calls an endpoint, holds the answer to the contract, and gives it.
func (w *walk) call(name, query, body string) map[string]any {
	w.t.Helper()
	e, ok := w.byName[name]
	if !ok {
		w.t.Errorf("%s is not in the contract", name)
		return nil
	}
	w.called[name] = true
	path := absolute(w.fill(e.Path))
	status, b := w.do(e.Method, path+w.fill(query), w.fill(body), w.s.Client.SessionToken)
	schema, documented := "", len(e.Responses) == 0
	for _, r := range e.Responses {
		if r.Status == status {
			schema, documented = r.Schema, true
		}
	}
	if !documented || status >= 400 {
		w.t.Errorf("%s: %d, the contract says %+v: %.300s", name, status, e.Responses, b)
		return nil
	}
	if schema == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		w.t.Errorf("%s: %v: %.100s", name, err, b)
		return nil
	}
	for _, d := range w.c.Conforms(schema, v, name) {
		w.t.Error(d)
	}
	m, _ := v.(map[string]any)
	return m
}

// absolute returns the path of an endpoint of the contract, which leaves out /api/v2.
func absolute(path string) string {
	for _, prefix := range []string{"/api/", "/oauth2/", "/.well-known/"} {
		if strings.HasPrefix(path, prefix) {
			return path
		}
	}
	return "/api/v2" + path
}

// served reports whether the server has an endpoint: an anonymous request gets
// another answer than that of an unknown route.
func (w *walk) served(e contracttest.Endpoint) bool {
	w.t.Helper()
	path := absolute(placeholder.ReplaceAllString(e.Path, uuid.NewString()))
	status, b := w.do(e.Method, path, "", "")
	missing := status == http.StatusMethodNotAllowed || status == http.StatusNotFound && bytes.Contains(b, []byte("No API route matches "))
	if !missing {
		return true
	}
	var r codersdk.Response
	if err := json.Unmarshal(b, &r); err != nil || r.Message == "" {
		w.t.Errorf("%s %s is missing and does not say so as an error: %d %.100s", e.Method, e.Path, status, b)
	}
	return false
}

// build imports a template of which everything is there that JSON may show,
// and builds a workspace of it.
func (w *walk) build() {
	w.t.Helper()
	ctx, c := w.t.Context(), w.s.Client
	archive, err := echo.Archive(map[string]string{
		"README.md":   "# A template",
		"parse.jsonl": `{"complete": {"templateVariables": [{"name": "zone", "type": "string", "defaultValue": "a", "description": "Where"}]}}`,
		"plan.jsonl":  `{"log": {"level": "INFO", "output": "planned"}}`,
		"graph.jsonl": strings.ReplaceAll(`{"complete": {"parameters": [
			{"name": "size", "displayName": "Size", "type": "number", "defaultValue": "2", "mutable": true, "validationMin": 1, "validationMax": 9, "options": [{"name": "Two", "value": "2"}, {"name": "Four", "value": "4"}]}],
			"presets": [{"name": "small", "description": "x", "parameters": [{"name": "size", "value": "2"}]}],
			"externalAuthProviders": [{"id": "github", "optional": true}],
			"resources": [{"type": "null_resource", "name": "host", "icon": "/i.svg", "metadata": [{"key": "k", "value": "v"}],
				"agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "${token}",
					"metadata": [{"key": "cpu", "displayName": "CPU", "script": "x", "interval": 10}],
					"scripts": [{"displayName": "hello", "script": "true", "runOnStart": true}],
					"apps": [{"slug": "ide", "displayName": "IDE", "url": "http://localhost:1", "healthcheck": {"url": "http://localhost:1", "interval": 5, "threshold": 5}}]}]}]}}`, "\n", ""),
	})
	must(w.t, err)
	up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	must(w.t, err)
	version := func() codersdk.TemplateVersion {
		v, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
		must(w.t, err)
		follow(w.t, c, "/templateversions/"+v.ID.String()+"/logs")
		return v
	}
	v := version()
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "tmpl", TemplateVersionID: v.ID})
	must(w.t, err)
	second, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file", TemplateID: tpl.ID, Name: "second"})
	must(w.t, err)
	follow(w.t, c, "/templateversions/"+second.ID.String()+"/logs")
	ttl := int64(time.Hour / time.Millisecond)
	ws, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateID: tpl.ID, TTLMS: &ttl})
	must(w.t, err)
	follow(w.t, c, "/workspacebuilds/"+ws.LatestBuild.ID.String()+"/logs")
	ws, err = c.Workspace(ctx, ws.ID, nil)
	must(w.t, err)
	dry, err := c.CreateTemplateVersionDryRun(ctx, v.ID, codersdk.CreateTemplateVersionDryRunRequest{WorkspaceName: "x"})
	must(w.t, err)
	follow(w.t, c, "/templateversions/"+v.ID.String()+"/dry-run/"+dry.ID.String()+"/logs")
	key, err := c.CreateToken(ctx, "me", codersdk.CreateTokenRequest{TokenName: "ci"})
	must(w.t, err)
	other, err := c.CreateUser(ctx, codersdk.CreateUserRequestWithOrgs{Email: "ann@example.com", Username: "ann", LoginType: codersdk.LoginTypeNone, OrganizationIDs: []uuid.UUID{w.s.First.OrganizationID}})
	must(w.t, err)
	w.values = map[string]string{
		"organization": w.s.First.OrganizationID.String(), "organizationname": "coder", "user": "me", "me": w.s.First.UserID.String(), "ann": other.ID.String(),
		"template": tpl.ID.String(), "templatename": "tmpl", "templateversion": v.ID.String(), "templateversionname": "second", "second": second.ID.String(),
		"workspace": ws.ID.String(), "workspacename": "dev", "workspacebuild": ws.LatestBuild.ID.String(), "buildnumber": "1",
		"workspaceagent": ws.LatestBuild.Resources[0].Agents[0].ID.String(), "agent": "main", "jobID": dry.ID.String(), "job": ws.LatestBuild.Job.ID.String(),
		"fileID": up.Hash, "hash": up.Hash, "keyid": strings.SplitN(key.Key, "-", 2)[0], "keyname": "ci", "os": "linux", "arch": "amd64", "groupName": "devs", "roleName": "helper",
		"deadline": time.Now().Add(3 * time.Hour).UTC().Format(time.RFC3339), "start": time.Now().UTC().AddDate(0, 0, -7).Format("2006-01-02") + "T00:00:00Z",
		"end": time.Now().UTC().AddDate(0, 0, 1).Format("2006-01-02") + "T00:00:00Z",
	}
}

// step is a call that changes something; keep names the value that the field
// id of the answer becomes.
type step struct{ name, query, body, keep string }

func firstSteps() []step {
	return []step{
		{"POST /organizations/{organization}/groups", "", `{"name": "devs", "quota_allowance": 3}`, "group"},
		{"PATCH /groups/{group}", "", `{"add_users": ["{me}"]}`, ""},
		{"POST /organizations/{organization}/members/roles", "", `{"name": "helper", "display_name": "Helper", "organization_permissions": [{"resource_type": "template", "action": "read"}]}`, ""},
		{"PUT /organizations/{organization}/members/roles", "", `{"name": "helper", "display_name": "Help", "organization_permissions": [{"resource_type": "template", "action": "read"}]}`, ""},
		{"POST /organizations/{organization}/provisionerkeys", "", `{"name": "k"}`, ""},
		{"PATCH /organizations/{organization}/settings/workspace-sharing", "", `{"sharing_disabled": false}`, ""},
		{"PATCH /templates/{template}/acl", "", `{"user_perms": {"{ann}": "use"}}`, ""},
		{"PATCH /workspaces/{workspace}/acl", "", `{"user_roles": {"{ann}": "use"}}`, ""},
		{"PATCH /templates/{template}", "", `{"description": "New", "max_port_share_level": "public"}`, ""},
		{"POST /workspaces/{workspace}/port-share", "", `{"agent_name": "main", "port": 8080, "share_level": "authenticated", "protocol": "http"}`, ""},
		{"POST /authcheck", "", `{"checks": {"a": {"action": "read", "object": {"resource_type": "user"}}}}`, ""},
		{"POST /users/login", "", `{"email": "admin@example.com", "password": "` + servertest.Password + `"}`, ""},
		{"POST /users/validate-password", "", `{"password": "x"}`, ""},
		{"POST /csp/reports", "", `{"csp-report": {"blocked-uri": "x"}}`, ""},
		{"PUT /appearance", "", `{"application_name": "Lab", "announcement_banners": [{"enabled": true, "message": "Hello", "background_color": "#aabbcc"}]}`, ""},
		{"POST /licenses", "", `{"license": "a.b.c"}`, "id"},
		{"POST /licenses/refresh-entitlements", "", ``, ""},
		{"POST /workspaceproxies", "", `{"name": "sydney", "display_name": "Sydney"}`, "workspaceproxy"},
		{"PATCH /workspaceproxies/{workspaceproxy}", "", `{"id": "{workspaceproxy}", "name": "sydney", "display_name": "Down under", "icon": "", "regenerate_token": true}`, ""},
		{"PUT /debug/health/settings", "", `{"dismissed_healthchecks": ["DERP"]}`, ""},
		{"POST /oauth2-provider/apps", "", `{"name": "Portal", "callback_url": "https://portal.example.com/"}`, "app"},
		{"PUT /oauth2-provider/apps/{app}", "", `{"name": "Portal", "callback_url": "https://portal.example.com/callback"}`, ""},
		{"POST /oauth2-provider/apps/{app}/secrets", "", ``, "secretID"},
		{"PUT /prebuilds/settings", "", `{"reconciliation_paused": true}`, ""},
		{"POST /templates/{template}/prebuilds/invalidate", "", ``, ""},
		{"PUT /users/{user}/appearance", "", `{"theme_preference": "dark", "terminal_font": ""}`, ""},
		{"PUT /users/{user}/preferences", "", `{"task_notification_alert_dismissed": true}`, ""},
		{"PUT /users/{user}/quiet-hours", "", `{"schedule": "CRON_TZ=Europe/Berlin 30 2 * * *"}`, ""},
		{"PUT /users/{user}/profile", "", `{"username": "admin", "name": "Ada"}`, ""},
		{"PUT /users/{user}/gitsshkey", "", ``, ""},
		{"POST /users/{user}/keys", "", ``, ""},
		{"POST /users/{user}/keys/tokens", "", `{"token_name": "more"}`, ""},
		{"POST /users", "", `{"email": "nell@example.com", "username": "nell", "login_type": "none", "organization_ids": ["{organization}"]}`, "nell"},
		{"POST /organizations", "", `{"name": "lab"}`, "lab"},
		{"PATCH /organizations/{organization}", "", `{"description": "where it all begins"}`, ""},
		{"PUT /workspaces/{workspace}/autostart", "", `{"schedule": "CRON_TZ=UTC 30 9 * * 1-5"}`, ""},
		{"PUT /workspaces/{workspace}/autoupdates", "", `{"automatic_updates": "never"}`, ""},
		{"PUT /workspaces/{workspace}/ttl", "", `{"ttl_ms": 7200000}`, ""},
		{"PUT /workspaces/{workspace}/extend", "", `{"deadline": "{deadline}"}`, ""},
		{"PUT /workspaces/{workspace}/favorite", "", ``, ""},
		{"POST /workspaces/{workspace}/usage", "", `{}`, ""},
		{"PATCH /workspaces/{workspace}", "", `{"name": "dev"}`, ""},
		{"PATCH /templateversions/{templateversion}", "", `{"message": "first"}`, ""},
		{"POST /templateversions/{templateversion}/dynamic-parameters/evaluate", "", `{"id": 3, "inputs": {"size": "7"}}`, ""},
		{"PATCH /templates/{template}/versions", "", `{"id": "{second}"}`, ""},
		{"POST /templateversions/{templateversion}/dry-run", "", `{"workspace_name": "y"}`, ""},
		{"PATCH /settings/idpsync/organization", "", `{"field": "orgs", "mapping": {"staff": ["{organization}"]}, "organization_assign_default": true}`, ""},
		{"PATCH /settings/idpsync/organization/config", "", `{"field": "orgs", "assign_default": true}`, ""},
		{"PATCH /settings/idpsync/organization/mapping", "", `{"add": [{"given": "more", "gets": "{organization}"}]}`, ""},
		{"PATCH /organizations/{organization}/settings/idpsync/groups", "", `{"field": "groups", "mapping": {"staff": ["{group}"]}, "auto_create_missing_groups": false}`, ""},
		{"PATCH /organizations/{organization}/settings/idpsync/groups/config", "", `{"field": "groups", "auto_create_missing_groups": true}`, ""},
		{"PATCH /organizations/{organization}/settings/idpsync/groups/mapping", "", `{"add": [{"given": "more", "gets": "{group}"}]}`, ""},
		{"PATCH /organizations/{organization}/settings/idpsync/roles", "", `{"field": "roles", "mapping": {"boss": ["organization-admin"]}}`, ""},
		{"PATCH /organizations/{organization}/settings/idpsync/roles/config", "", `{"field": "roles"}`, ""},
		{"PATCH /organizations/{organization}/settings/idpsync/roles/mapping", "", `{"add": [{"given": "eyes", "gets": "organization-auditor"}]}`, ""},
	}
}

// lastSteps end things; they come after everything was read.
func lastSteps() []step {
	return []step{
		{"PUT /workspacebuilds/{workspacebuild}/state", "", `{"state": "e30="}`, ""},
		{"PUT /notifications/settings", "", `{"notifier_paused": true}`, ""},
		{"PUT /notifications/templates/{notification_template}/method", "", `{"method": "inbox"}`, ""},
		{"PUT /users/{user}/notifications/preferences", "", `{"template_disabled_map": {"{notification_template}": true}}`, ""},
		{"POST /notifications/custom", "", `{"content": {"title": "Hello", "message": "Text"}}`, ""},
		{"POST /notifications/test", "", ``, ""},
		{"PUT /notifications/inbox/mark-all-as-read", "", ``, ""},
		{"DELETE /workspaces/{workspace}/port-share", "", `{"agent_name": "main", "port": 8080}`, ""},
		{"DELETE /workspaces/{workspace}/acl", "", ``, ""},
		{"DELETE /workspaces/{workspace}/favorite", "", ``, ""},
		{"PUT /workspaces/{workspace}/dormant", "", `{"dormant": true}`, ""},
		{"PUT /workspaces/{workspace}/dormant", "", `{"dormant": false}`, ""},
		{"POST /organizations/{organization}/members/{user}/workspaces", "", `{"name": "two", "template_id": "{template}"}`, "two"},
		{"POST /users/{user}/workspaces", "", `{"name": "three", "template_id": "{template}"}`, ""},
		{"POST /templates/{template}/versions/archive", "", `{"all": false}`, ""},
		{"DELETE /organizations/{organization}/provisionerkeys/{provisionerkey}", "", ``, ""},
		{"DELETE /organizations/{organization}/members/roles/{roleName}", "", ``, ""},
		{"DELETE /groups/{group}", "", ``, ""},
		{"DELETE /workspaceproxies/{workspaceproxy}", "", ``, ""},
		{"DELETE /licenses/{id}", "", ``, ""},
		{"DELETE /users/{user}/keys/{keyid}", "", ``, ""},
		{"DELETE /oauth2-provider/apps/{app}/secrets/{secretID}", "", ``, ""},
		{"DELETE /oauth2-provider/apps/{app}", "", ``, ""},
	}
}

// apart are endpoints that this walk cannot call so simply, with where they are
// tested instead.
func apart() map[string]string {
	return map[string]string{
		"GET /workspacebuilds/{workspacebuild}/state":                                             "the state as it is, whatever the contract says: internal/httpapi",
		"GET /external-auth":                                                                      "two lists, of which the contract names the type of one entry: externalauth_test.go",
		"GET /external-auth/{externalauth}":                                                       "needs a provider: internal/externalauth",
		"DELETE /external-auth/{externalauth}":                                                    "needs a provider: externalauth_test.go",
		"GET /external-auth/{externalauth}/device":                                                "needs a provider: internal/externalauth",
		"POST /external-auth/{externalauth}/device":                                               "needs a provider: internal/externalauth",
		"GET /deployment/config":                                                                  "its settings come from the command line: internal/cli/server",
		"GET /notifications/inbox/watch":                                                          "a WebSocket: notification_test.go",
		"PUT /notifications/inbox/{id}/read-status":                                               "needs a delivered notification: notification_test.go",
		"GET /workspaceagents/me/rpc":                                                             "agents: internal/agentapi",
		"GET /workspaceagents/{workspaceagent}/pty":                                               "a WebSocket: pty_test.go",
		"GET /workspaceagents/{workspaceagent}/listening-ports":                                   "needs an agent: internal/httpapi/ports_test.go, e2e",
		"GET /workspaceagents/{workspaceagent}/containers":                                        "needs an agent: internal/httpapi/container_linux_test.go",
		"GET /workspaceagents/{workspaceagent}/containers/watch":                                  "a WebSocket: internal/httpapi/container_linux_test.go",
		"POST /workspaceagents/{workspaceagent}/containers/devcontainers/{devcontainer}/recreate": "needs an agent: internal/httpapi/container_linux_test.go",
		"DELETE /workspaceagents/{workspaceagent}/containers/devcontainers/{devcontainer}":        "needs an agent: internal/httpapi/container_linux_test.go",
		"GET /workspaces/{workspace}/watch":                                                       "a stream: internal/httpapi",
		"GET /workspaces/{workspace}/watch-ws":                                                    "a stream: internal/httpapi",
		"GET /templateversions/{templateversion}/dynamic-parameters":                              "a WebSocket: parameters_test.go",
		"GET /applications/auth-redirect":                                                         "a redirect: internal/appproxy",
		"POST /files":                                                                             "done in the set-up, takes no JSON",
		"GET /files/{fileID}":                                                                     "bytes: internal/httpapi",
		"POST /users/first":                                                                       "done in the set-up",
		"POST /organizations/{organization}/templateversions":                                     "done in the set-up",
		"POST /organizations/{organization}/templates":                                            "done in the set-up",
		"GET /organizations/{organization}/provisionerdaemons/serve":                              "a WebSocket: internal/provisionapi",
		"GET /workspaces/{workspace}/external-agent/{agent}/credentials":                          "of external agents: internal/httpapi",
	}
}

// queries are what GETs need.
func queries() map[string]string {
	return map[string]string{
		"GET /audit":                            "?limit=5",
		"GET /insights/daus":                    "?tz_offset=2",
		"GET /templates/{template}/daus":        "?tz_offset=-3",
		"GET /insights/templates":               "?start_time={start}&end_time={end}&interval=day&template_ids={template}",
		"GET /insights/user-activity":           "?start_time={start}&end_time={end}",
		"GET /insights/user-latency":            "?start_time={start}&end_time={end}",
		"GET /insights/user-status-counts":      "?tz_offset=0",
		"GET /users/{user}/autofill-parameters": "?template_id={template}",
		"GET /groups":                           "?organization={organization}",
		"GET /settings/idpsync/field-values":    "?claimField=groups",
		"GET /organizations/{organization}/settings/idpsync/field-values": "?claimField=groups",
	}
}

// TestContract calls every endpoint of the contract that is served on a live
// server with live data, holds the answer to its documented status, fields and
// types, and tells how many of all are served. Those that are missing say so
// in the error body of the contract.
func TestContract(t *testing.T) {
	w := newWalk(t)
	w.build()
	served, missing, total := 0, map[string][]string{}, map[string]int{}
	var there []contracttest.Endpoint
	for _, e := range w.c.Endpoints {
		total[e.Area]++
		if w.served(e) {
			served++
			there = append(there, e)
		} else {
			missing[e.Area] = append(missing[e.Area], e.Method+" "+e.Path)
		}
	}
	t.Logf("%d of the contract's %d endpoints are served", served, len(w.c.Endpoints))
	for _, area := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%-16s %3d of %3d %s", area, total[area]-len(missing[area]), total[area], strings.Join(missing[area], ", "))
	}
	isServed := map[string]bool{}
	for _, e := range there {
		isServed[e.Method+" "+e.Path] = true
	}
	run := func(steps []step) {
		for _, s := range steps {
			if !isServed[s.name] {
				continue
			}
			out := w.call(s.name, s.query, s.body)
			if id := out["id"]; id != nil && s.keep != "" {
				w.values[s.keep] = fmt.Sprint(id) // licenses have numbers
			}
		}
	}
	run(firstSteps())
	w.keyOfProvisioners()
	elsewhere := apart()
	for _, e := range there {
		name := e.Method + " " + e.Path
		if e.Method == http.MethodGet && elsewhere[name] == "" && !w.called[name] && !nobodysPerson(e) {
			w.call(name, queries()[name], "")
		}
	}
	w.values["notification_template"] = notification.WorkspaceDeleted.String()
	run(lastSteps())
	w.ends()
	for _, e := range there {
		if name := e.Method + " " + e.Path; !w.called[name] && elsewhere[name] == "" && !nobodysPerson(e) {
			t.Errorf("%s is served and nobody called it: add a step, or say where it is tested", name)
		}
	}
}

// nobodysPerson states that an endpoint is called by others than users: agents,
// identity providers, browsers on their way back from one.
func nobodysPerson(e contracttest.Endpoint) bool {
	return strings.HasPrefix(e.Path, "/workspaceagents/me/") || strings.HasSuffix(e.Path, "-instance-identity") || strings.Contains(e.Path, "/callback") ||
		strings.HasPrefix(e.Path, "/scim/") || strings.HasPrefix(e.Path, "/oauth2/") || strings.HasPrefix(e.Path, "/users/oauth2") || strings.Contains(e.Path, "/otp/") ||
		strings.HasPrefix(e.Path, "/workspaceproxies/me") || strings.HasSuffix(e.Path, "/convert-login")
}

// keyOfProvisioners calls the one endpoint whose caller is a provisioner.
func (w *walk) keyOfProvisioners() {
	w.t.Helper()
	w.values["provisionerkey"] = "k"
	key, err := w.s.Client.CreateProvisionerKey(w.t.Context(), "default", codersdk.CreateProvisionerKeyRequest{Name: "asked"})
	must(w.t, err)
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.s.AccessURL().String()+"/api/v2/provisionerkeys/"+key.Key, nil)
	must(w.t, err)
	resp, err := http.DefaultClient.Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	var v any
	must(w.t, json.NewDecoder(resp.Body).Decode(&v))
	for _, d := range w.c.Conforms("ProvisionerKey", v, "GET /provisionerkeys/{provisionerkey}") {
		w.t.Error(d)
	}
	w.called["GET /provisionerkeys/{provisionerkey}"] = true
}

// ends calls what ends the things that all else needs.
func (w *walk) ends() {
	w.t.Helper()
	w.values["user"] = w.values["nell"]
	for _, s := range []step{
		{"PUT /users/{user}/roles", "", `{"roles": ["auditor"]}`, ""},
		{"PUT /organizations/{organization}/members/{user}/roles", "", `{"roles": ["organization-auditor"]}`, ""},
		{"PUT /users/{user}/status/suspend", "", ``, ""},
		{"PUT /users/{user}/status/activate", "", ``, ""},
		{"DELETE /organizations/{organization}/members/{user}", "", ``, ""},
		{"POST /organizations/{organization}/members/{user}", "", ``, ""},
		{"DELETE /users/{user}", "", ``, ""},
	} {
		w.call(s.name, s.query, s.body)
	}
	w.values["user"] = "me"
	w.call("PUT /users/{user}/password", "", `{"old_password": "`+servertest.Password+`", "password": "Another`+servertest.Password+`"}`)
	login, err := w.s.Client.LoginWithPassword(w.t.Context(), codersdk.LoginWithPasswordRequest{Email: "admin@example.com", Password: "Another" + servertest.Password})
	must(w.t, err)
	w.s.Client.SessionToken = login.SessionToken

	// A job that waits can be canceled: one that no provisioner takes.
	c := w.s.Client
	waiting, err := c.CreateTemplateVersion(w.t.Context(), "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(w.values["hash"]), Provisioner: "echo", StorageMethod: "file", Tags: map[string]string{"nobody": "has it"}})
	must(w.t, err)
	imported := w.values["templateversion"]
	w.values["templateversion"] = waiting.ID.String()
	w.call("PATCH /templateversions/{templateversion}/cancel", "", "")
	w.values["templateversion"] = imported
	w.values["templateversion"] = w.freshVersion(uuid.MustParse(w.values["template"])).String()
	w.call("POST /templateversions/{templateversion}/archive", "", "")
	w.call("POST /templateversions/{templateversion}/unarchive", "", "")
	w.values["templateversion"] = imported
	b := w.call("POST /workspaces/{workspace}/builds", "", `{"transition": "stop"}`)
	if id, ok := b["id"].(string); ok {
		w.values["workspacebuild"] = id
		if status, body := w.do("PATCH", "/api/v2/workspacebuilds/"+id+"/cancel", "", c.SessionToken); status != 200 && status != 400 && status != 412 && status != 409 {
			w.t.Errorf("cancel of a build: %d %s", status, body)
		}
		w.called["PATCH /workspacebuilds/{workspacebuild}/cancel"] = true
	}
	if status, body := w.do("PATCH", w.fill("/api/v2/templateversions/{templateversion}/dry-run/{jobID}/cancel"), "", c.SessionToken); status == 404 || status >= 500 {
		w.t.Errorf("cancel of a dry run that is over: %d %s", status, body)
	}
	w.called["PATCH /templateversions/{templateversion}/dry-run/{jobID}/cancel"] = true
	empty, err := c.CreateTemplate(w.t.Context(), "default", codersdk.CreateTemplateRequest{Name: "empty", TemplateVersionID: w.freshVersion(uuid.Nil)})
	must(w.t, err)
	w.values["template"] = empty.ID.String()
	w.call("DELETE /templates/{template}", "", "")
	w.values["organization"] = cmp.Or(w.values["lab"], "lab")
	w.call("DELETE /organizations/{organization}", "", "")
	w.call("POST /users/logout", "", "")
}

// freshVersion imports one more version, of a template or of none.
func (w *walk) freshVersion(template uuid.UUID) uuid.UUID {
	w.t.Helper()
	v, err := w.s.Client.CreateTemplateVersion(w.t.Context(), "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(w.values["hash"]), Provisioner: "echo", StorageMethod: "file", TemplateID: template})
	must(w.t, err)
	follow(w.t, w.s.Client, fmt.Sprintf("/templateversions/%s/logs", v.ID))
	return v.ID
}
