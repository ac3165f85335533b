package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// matrix asks a live server, for every route of the table that an action on a
// resource stands behind, what users with each role may do with what is their
// own, another's of their organization, and another organization's, and holds
// the answers to what access says.
type matrix struct {
	t         *testing.T
	s         *servertest.Server
	db        *pgx.Conn
	home, far uuid.UUID // organizations
	tags      map[uuid.UUID]int64
	prefix    string // of names
	n         int    // makes them different
}

// role is one column of the matrix.
type role struct {
	name        string
	site, inOrg []string
}

func roles() []role {
	return []role{
		{"owner", []string{access.RoleOwner}, nil},
		{"template-admin", []string{access.RoleTemplateAdmin}, nil},
		{"user-admin", []string{access.RoleUserAdmin}, nil},
		{"auditor", []string{access.RoleAuditor}, nil},
		{"member", nil, nil},
		{"organization-admin", nil, []string{access.RoleOrganizationAdmin}},
		{"organization-auditor", nil, []string{access.RoleOrganizationAuditor}},
		{"organization-template-admin", nil, []string{access.RoleOrganizationTemplateAdmin}},
		{"organization-user-admin", nil, []string{access.RoleOrganizationUserAdmin}},
		{"organization-workspace-creation-ban", nil, []string{access.RoleOrganizationCreationBan}},
	}
}

// person is a user made for one request or a few.
type person struct {
	access.Subject
	token string
}

// fixture is one of everything that paths name, owned by owner in org.
type fixture struct {
	org, owner uuid.UUID
	ids        map[string]string // by the name of the parameter
}

func newMatrix(t *testing.T) *matrix {
	m := &matrix{t: t, s: servertest.Start(t, func(c *server.Config) { c.OAuth2.Enable = true }), tags: map[uuid.UUID]int64{}}
	m.connect()
	far, err := m.s.Client.CreateOrganization(t.Context(), codersdk.CreateOrganizationRequest{Name: "far"})
	must(t, err)
	m.home, m.far = m.s.First.OrganizationID, far.ID
	for _, org := range []uuid.UUID{m.home, m.far} {
		var id int64
		must(t, m.db.QueryRow(t.Context(), `INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, 'none', '{"scope": "organization", "owner": "", "none": "here"}') RETURNING id`, org).Scan(&id))
		m.tags[org] = id
	}
	return m
}

func (m *matrix) connect() {
	m.t.Helper()
	var err error
	m.db, err = pgx.Connect(m.t.Context(), m.s.PostgresURL)
	must(m.t, err)
	m.t.Cleanup(func() { m.db.Close(context.Background()) }) //nolint:errcheck // the test is over
}

// batch runs statements in one transaction and one message.
func (m *matrix) batch(fill func(q func(sql string, args ...any))) {
	m.t.Helper()
	var b pgx.Batch
	fill(func(sql string, args ...any) { b.Queue(sql, args...) })
	must(m.t, m.db.SendBatch(m.t.Context(), &b).Close())
}

// person makes a user with roles in an organization, with a session.
func (m *matrix) person(org uuid.UUID, r role) person {
	m.t.Helper()
	m.n++
	p := person{Subject: access.Subject{UserID: uuid.New(), Username: fmt.Sprintf("%sp%d", m.prefix, m.n), SiteRoles: r.site, OrganizationRoles: map[uuid.UUID][]string{org: r.inOrg}}}
	secret := strings.Repeat("s", 22)
	hash := sha256.Sum256([]byte(secret))
	p.KeyID = fmt.Sprintf("%sk%08d", m.prefix, m.n)
	p.token = p.KeyID + "-" + secret
	m.batch(func(q func(string, ...any)) {
		q(`INSERT INTO users (id, email, username, login_type, status, roles, created_at, updated_at, last_seen_at) VALUES ($1, $2 || '@x.test', $2, 'password', 'active', $3, now(), now(), now())`, p.UserID, p.Username, append([]string{}, r.site...))
		q(`INSERT INTO organization_members (organization_id, user_id, roles, created_at, updated_at) VALUES ($1, $2, $3, now(), now())`, org, p.UserID, append([]string{}, r.inOrg...))
		q(`INSERT INTO api_keys (id, secret_hash, user_id, login_type, lifetime_seconds, created_at, updated_at, last_used_at, expires_at) VALUES ($1, $2, $3, 'password', 3600, now(), now(), now(), now() + interval '1 hour')`, p.KeyID, hash[:], p.UserID)
	})
	return p
}

// things makes one of everything, owned by owner in org.
func (m *matrix) things(org uuid.UUID, owner person) fixture {
	m.t.Helper()
	m.n++
	id := map[string]uuid.UUID{}
	for _, k := range []string{"template", "templateversion", "file", "import", "older", "olderimport", "daemon", "workspace", "workspacebuild", "build", "resource", "workspaceagent", "dryrun", "group", "customrole", "provisionerkey", "workspaceproxy", "secret", "app", "secretID"} {
		id[k] = uuid.New()
	}
	name, key := fmt.Sprintf("%st%d", m.prefix, m.n), fmt.Sprintf("%st%08d", m.prefix, m.n)
	hash := sha256.Sum256([]byte(name))
	job := func(q func(string, ...any), jobID uuid.UUID, kind, input string) {
		q(`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, completed_at, lease_expires_at, worker_id)
			VALUES ($1, $2, $3, $4, 'echo', $5, $6, $7, now(), now(), now(), now(), now(), $1)`, jobID, org, owner.UserID, kind, m.tags[org], id["file"], input)
	}
	m.batch(func(q func(string, ...any)) {
		q(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, $2, $3, 'application/x-tar', 'data', now())`, id["file"], name, owner.UserID)
		job(q, id["import"], "template_version_import", fmt.Sprintf(`{"template_version_id": %q}`, id["templateversion"]))
		job(q, id["olderimport"], "template_version_import", `{}`)
		job(q, id["build"], "workspace_build", fmt.Sprintf(`{"workspace_build_id": %q, "workspace_id": %q}`, id["workspacebuild"], id["workspace"]))
		job(q, id["dryrun"], "template_version_dry_run", fmt.Sprintf(`{"template_version_id": %q}`, id["templateversion"]))
		q(`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, group_acl, created_at, updated_at) VALUES ($1, $2, $3, 'echo', $4, $5, jsonb_build_object($2::uuid::text, 'use'), now(), now())`, id["template"], org, name, id["templateversion"], owner.UserID)
		q(`INSERT INTO template_versions (id, template_id, organization_id, job_id, name, created_by, has_external_agent, created_at, updated_at) VALUES ($1, $2, $3, $4, 'v1', $5, true, now(), now())`, id["templateversion"], id["template"], org, id["import"], owner.UserID)
		q(`INSERT INTO template_versions (id, template_id, organization_id, job_id, name, created_by, created_at, updated_at) VALUES ($1, $2, $3, $4, 'v0', $5, now() - interval '1 hour', now())`, id["older"], id["template"], org, id["olderimport"], owner.UserID)
		q(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at) VALUES ($1, $2, $3, $4, $5, now(), now(), now())`, id["workspace"], org, owner.UserID, id["template"], name)
		q(`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at) VALUES ($1, $2, $3, 1, 'start', $4, 'initiator', $5, now(), now())`, id["workspacebuild"], id["workspace"], id["templateversion"], owner.UserID, id["build"])
		q(`INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at) VALUES ($1, $2, 'start', 'coder_external_agent', 'host', now())`, id["resource"], id["build"])
		q(`INSERT INTO workspace_agents (id, resource_id, name, token, operating_system, architecture, created_at, updated_at) VALUES ($1, $2, 'main', $1, 'linux', 'amd64', now(), now())`, id["workspaceagent"], id["resource"])
		q(`INSERT INTO oauth2_apps (id, name, redirect_uris, created_at, updated_at) VALUES ($1, $2, '{https://app.example.com/}', now(), now())`, id["app"], name)
		q(`INSERT INTO oauth2_app_secrets (id, app_id, prefix, secret_hash, display, created_at) VALUES ($1, $2, $3, $4, 'secret', now())`, id["secretID"], id["app"], name, hash[:])
		q(`INSERT INTO oauth2_grants (id, app_id, user_id, scopes, code_hash, code_expires_at, redirect_uri, redirect_given, exchanged_at, refresh_expires_at, created_at, last_used_at) VALUES (gen_random_uuid(), $1, $2, '{coder:all}', $3, now(), '', false, now(), now() + interval '1 hour', now(), now())`, id["app"], owner.UserID, hash[:])
		q(`INSERT INTO groups (id, organization_id, name) VALUES ($1, $2, $3)`, id["group"], org, name)
		q(`INSERT INTO workspace_proxies (id, name, token_hash, created_at, updated_at) VALUES ($1, $2, $3, now(), now())`, id["workspaceproxy"], name, hash[:])
		q(`INSERT INTO custom_roles (id, organization_id, name, created_at, updated_at) VALUES ($1, $2, $3, now(), now())`, id["customrole"], org, name)
		q(`INSERT INTO provisioner_keys (id, organization_id, name, secret_hash, created_at) VALUES ($1, $2, $3, $4, now())`, id["provisionerkey"], org, name, hash[:])
		q(`INSERT INTO provisioner_daemons (id, organization_id, key_id, name, owner, provisioners, tags, created_at, last_seen_at) VALUES ($1, $2, $1, $3, $4, '{echo}', jsonb_build_object('scope', 'user', 'owner', $4::text), now(), now())`, id["daemon"], org, name, owner.UserID.String())
		q(`INSERT INTO user_secrets (id, user_id, name, env_name, enabled, value, value_bytes, created_at, updated_at) VALUES ($1, $2, $3, 'V_' || $3::text, true, 'hush', 4, now(), now())`, id["secret"], owner.UserID, name)
		q(`INSERT INTO api_keys (id, secret_hash, user_id, login_type, token_name, lifetime_seconds, created_at, updated_at, last_used_at, expires_at) VALUES ($1, $2, $3, 'token', $4, 3600, now(), now(), now(), now() + interval '1 hour')`, key, hash[:], owner.UserID, name)
	})
	f := fixture{org: org, owner: owner.UserID, ids: map[string]string{
		"organization": org.String(), "user": owner.Username, "fileID": id["file"].String(), "job": id["build"].String(), "jobID": id["dryrun"].String(),
		"templatename": name, "templateversionname": "v1", "workspacename": name, "buildnumber": "1", "agent": "main", "groupName": name,
		"roleName": name, "provisionerkey": name, "keyid": key, "secret": name, "secret_id": id["secret"].String(), "keyname": name, "organizationname": org.String(), "owner_id": owner.UserID.String(),
		"id": id["group"].String(), "notification_template": "cb15edbe-83c2-4831-a668-8241add33d5e",
	}}
	for _, k := range []string{"template", "templateversion", "workspace", "workspacebuild", "workspaceagent", "group", "older", "daemon", "workspaceproxy", "app", "secretID"} {
		f.ids[k] = id[k].String()
	}
	return f
}

// object is what the action of a route is about, for access.
func (f fixture) object(r rest.Route, me uuid.UUID) access.Object {
	o := access.Object{Type: r.Resource}
	id := func(name string) uuid.UUID { return uuid.MustParse(f.ids[name]) }
	switch r.Resource {
	case codersdk.RBACResourceWorkspace:
		o.ID, o.OrganizationID, o.OwnerID = id("workspace"), f.org, f.owner
	case codersdk.RBACResourceTemplate:
		o.ID, o.OrganizationID, o.GroupACL = id("template"), f.org, map[string]string{f.org.String(): "use"}
	case codersdk.RBACResourceUser:
		o.ID, o.OwnerID = f.owner, f.owner
	case codersdk.RBACResourceUserSecret:
		o.OwnerID = f.owner
		if strings.Contains(r.Path, "{secret}") {
			o.ID = id("secret_id")
		}
	case codersdk.RBACResourceAPIKey, codersdk.RBACResourceFile:
		o.OwnerID = f.owner
	case codersdk.RBACResourceOrganization:
		o.ID, o.OrganizationID = f.org, f.org
	case codersdk.RBACResourceAuditLog, codersdk.RBACResourceConnectionLog, codersdk.RBACResourceOrganizationMember, codersdk.RBACResourceAssignOrgRole, codersdk.RBACResourceGroup, codersdk.RBACResourceProvisionerDaemon:
		o.OrganizationID = f.org
	case codersdk.RBACResourceInboxNotification, codersdk.RBACResourceOauth2AppCodeToken: // of the requesting user
		o.OwnerID = me
	case codersdk.RBACResourceNotificationPreference, codersdk.RBACResourceWebpushSubscription:
		o.OwnerID = f.owner
	case codersdk.RBACResourceProvisionerJobs:
		o.OrganizationID, o.OwnerID = f.org, f.owner
	}
	if strings.HasPrefix(r.Path, "/external-auth/") { // links of one's own
		o.ID, o.OwnerID = me, me
	}
	switch r.Path {
	case "/templateversions/{templateversion}/dry-run": // a workspace of one's own, if it were made
		o.OwnerID = me
	case "/organizations/{organization}/provisionerdaemons":
		o.OwnerID = f.owner
	case "/insights/user-status-counts", "/insights/daus": // of all
		o = access.Object{Type: r.Resource}
	}
	if r.Resource == codersdk.RBACResourceIdpsyncSettings && strings.Contains(r.Path, "{organization}") {
		o.OrganizationID = f.org
	}
	if r.Action == codersdk.RBACActionCreate {
		o.ID = uuid.Nil
		if r.Resource == codersdk.RBACResourceUser || r.Resource == codersdk.RBACResourceOrganization {
			o = access.Object{Type: r.Resource} // nobody's and nowhere yet
		}
	}
	return o
}

func (f fixture) fill(text string) string {
	for k, v := range f.ids {
		text = strings.ReplaceAll(text, "{"+k+"}", v)
	}
	return text
}

// bodies are what a request must say so that it is not refused for its form
// before it is asked who sends it.
func bodies() map[string]string {
	return map[string]string{
		"POST /oauth2-provider/apps":                                   `{"name": "fresh", "redirect_uris": ["https://app.example.com/"]}`,
		"PUT /oauth2-provider/apps/{app}":                              `{"name": "fresh"}`,
		"POST /users/{user}/workspaces":                                `{"name": "fresh", "template_id": "{template}"}`,
		"POST /organizations/{organization}/members/{user}/workspaces": `{"name": "fresh", "template_id": "{template}"}`,
		"POST /applications/reconnecting-pty-signed-token":             `{"url": "x", "agentID": "{workspaceagent}"}`,
		"POST /workspaces/{workspace}/builds":                          `{"transition": "stop"}`,
		"PATCH /workspaces/{workspace}/acl":                            `{"group_roles": {"{group}": "use"}}`,
		"PUT /workspaces/{workspace}/autoupdates":                      `{"automatic_updates": "always"}`,
		"POST /users/{user}/secrets":                                   `{"name": "fresh", "value": "hush", "env_name": "FRESH"}`,
		"POST /users/{user}/secrets/batch":                             `{"content": "FRESH=hush", "format": "env"}`,
		"PATCH /users/{user}/secrets/{secret}":                         `{"description": "changed"}`,
		"PATCH /workspaces/{workspace}":                                `{"name": "renamed"}`,
		"PUT /workspaces/{workspace}/extend":                           `{"deadline": "2099-01-01T00:00:00Z"}`,
		"PATCH /templates/{template}":                                  `{"description": "changed"}`,
		"PATCH /templates/{template}/acl":                              `{"group_perms": {"{group}": "use"}}`,
		"PATCH /templates/{template}/versions":                         `{"id": "{older}"}`,
		"PATCH /templateversions/{templateversion}":                    `{"name": "v9"}`,
		"POST /templateversions/{templateversion}/dry-run":             `{"workspace_name": "dry"}`,
		"POST /organizations/{organization}/templateversions":          `{"provisioner": "echo", "storage_method": "file", "file_id": "{fileID}"}`,
		"POST /organizations/{organization}/provisionerkeys":           `{"name": "fresh"}`,
		"PUT /organizations/{organization}/members/roles":              `{"name": "{roleName}", "display_name": "Changed"}`,
		"PATCH /workspaceproxies/{workspaceproxy}":                     `{"display_name": "Changed"}`,
		"PATCH /groups/{group}":                                        `{"quota_allowance": 5}`,
		"PUT /users/{user}/profile":                                    `{"username": "", "name": "Changed"}`,
		"PUT /users/{user}/quiet-hours":                                `{"schedule": "CRON_TZ=UTC 5 22 * * *"}`,
	}
}

// queries narrow lists to what the fixture has, and say what a request must.
func queries() map[string]string {
	const span = "?template_ids={template}&start_time=2026-01-01T00:00:00Z&end_time=2026-01-02T00:00:00Z"
	return map[string]string{
		"GET /users": "?q={user}", "GET /workspaces": "?q={workspacename}", "GET /groups": "?group_ids={group}",
		"GET /templates": "?q={templatename}", "GET /organizations/{organization}/templates": "?q={templatename}",
		"GET /organizations/{organization}/members": "?q={user}", "GET /organizations/{organization}/paginated-members": "?q={user}",
		"GET /organizations/{organization}/provisionerjobs": "?ids={job}", "GET /organizations/{organization}/provisionerdaemons": "?ids={daemon}",
		"GET /users/{user}/autofill-parameters": "?template_id={template}", "GET /workspaceagents/{workspaceagent}/pty": "?reconnect={group}",
		"GET /insights/templates": span + "&interval=day", "GET /insights/user-activity": span, "GET /insights/user-latency": span,
		"GET /insights/breakdown": "?start_date=2020-01-01&end_date=2020-01-02&template={template}", "GET /insights/versions": "?template={template}",
	}
}

// shows returns the text that a list contains if it contains the fixture's object.
func shows() map[string]string {
	return map[string]string{
		"GET /groups": "{group}", "GET /organizations/{organization}/groups": "{group}", "GET /templates": "{template}",
		"GET /organizations/{organization}/templates": "{template}", "GET /workspaces": "{workspace}", "GET /users": "{owner_id}",
		"GET /organizations": "{organization}", "GET /organizations/{organization}/members": "{owner_id}",
		"GET /organizations/{organization}/paginated-members": "{owner_id}", "GET /organizations/{organization}/provisionerjobs": "{job}",
		"GET /organizations/{organization}/provisionerdaemons": "{daemon}", "GET /organizations/{organization}/provisionerkeys": "{provisionerkey}", "GET /organizations/{organization}/provisionerkeys/daemons": "{provisionerkey}",
		"GET /users/{user}/organizations": "{organization}", "GET /users/{user}/secrets": "{secret_id}",
	}
}

// ask sends a route's request as a user and reports whether it was let through.
func (m *matrix) ask(r rest.Route, who person, f fixture) (through bool, status int, body string) {
	m.t.Helper()
	name := r.Method + " " + r.Path
	content := bodies()[name]
	if content == "" && r.Method != http.MethodGet {
		content = "{}"
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, m.s.AccessURL().String()+httpapi.Prefix+f.fill(r.Path+queries()[name]), strings.NewReader(f.fill(content)))
	must(m.t, err)
	req.Header.Set(codersdk.SessionTokenHeader, who.token)
	resp, err := http.DefaultClient.Do(req)
	must(m.t, err)
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return true, resp.StatusCode, ""
	}
	b, err := io.ReadAll(resp.Body)
	must(m.t, err)
	switch {
	case resp.StatusCode == http.StatusForbidden, bytes.Contains(b, []byte("template not found, or you do not have access to it")), bytes.Contains(b, []byte("Invalid template_ids: template ")):
		return false, resp.StatusCode, string(b)
	case resp.StatusCode == http.StatusNotFound: // of who may not see, or of what is not there
		var answer codersdk.Response
		return json.Unmarshal(b, &answer) == nil && answer.Message != codersdk.NotFound().Message, resp.StatusCode, string(b)
	}
	if thing, ok := shows()[name]; ok {
		return bytes.Contains(b, []byte(f.fill(thing))), resp.StatusCode, string(b)
	}
	return true, resp.StatusCode, string(b)
}

// TestEveryRouteAtOnce requests every route as two users at once, of their own
// objects. It looks for data races; TestMatrixLive has the other cells.
func TestEveryRouteAtOnce(t *testing.T) {
	newMatrix(t).columns([]role{roles()[0], roles()[4]}, "own")
}

// columns asks all routes as each role, about objects of each relation.
func (m *matrix) columns(roles []role, relations ...string) {
	table := slices.DeleteFunc(httpapi.EveryRoute(), func(r rest.Route) bool {
		return r.Action == "" || apartFromTable()[r.Method+" "+r.Path] != ""
	})
	for i, role := range roles {
		m.t.Run(role.name, func(t *testing.T) {
			t.Parallel()
			own := *m
			own.t, own.prefix = t, string(rune('a'+i))
			own.connect()
			for _, relation := range relations {
				own.column(table, role, relation)
			}
		})
	}
}

// column asks all routes as one role about things of one relation.
func (m *matrix) column(table []rest.Route, role role, relation string) {
	org := m.home
	if relation == "foreign" {
		org = m.far
	}
	fresh := func() (person, fixture) {
		me := m.person(m.home, role)
		owner := me
		if relation != "own" {
			owner = m.person(org, roles()[4])
		}
		return me, m.things(org, owner)
	}
	m.batch(func(q func(string, ...any)) { // lists have an end
		q(`DELETE FROM groups WHERE id <> organization_id AND name LIKE $1`, m.prefix+"%")
		q(`DELETE FROM provisioner_keys WHERE name LIKE $1`, m.prefix+"%")
		q(`DELETE FROM workspace_proxies WHERE name LIKE $1`, m.prefix+"%")
	})
	me, f := fresh()
	used, changed := false, false // since they were created
	for _, r := range table {
		name := r.Method + " " + r.Path
		if !strings.Contains(r.Path+queries()[name], "{") && shows()[name] == "" && relation != "own" {
			continue // it is about nobody's things
		}
		changes := r.Method != http.MethodGet
		if changed || changes && used {
			me, f = fresh()
		}
		used, changed = true, changes
		want := me.Can(r.Action, f.object(r, me.UserID))
		got, status, body := m.ask(r, me, f)
		switch {
		case status == http.StatusUnauthorized, status >= 500 && status != http.StatusServiceUnavailable:
			m.t.Errorf("%s on %s: %d %.200s", name, relation, status, body)
		case status < 300 && status != max(r.Status, http.StatusOK):
			m.t.Errorf("%s on %s: answered %d, the table says %d", name, relation, status, r.Status)
		case got != want:
			m.t.Errorf("%s on %s: let through %v, access says %v: %d %.200s", name, relation, got, want, status, body)
		}
		if changes {
			m.recorded(name, me, status)
		}
	}
}

// recorded holds that what changed something is in the audit log, with whom it
// was, and that what was refused changed nothing.
func (m *matrix) recorded(name string, who person, status int) {
	m.t.Helper()
	var n int
	must(m.t, m.db.QueryRow(m.t.Context(), `SELECT count(*) FROM audit_logs WHERE user_id = $1`, who.UserID).Scan(&n))
	switch {
	case status < 300 && n == 0 && unrecorded()[name] == "":
		m.t.Errorf("%s: %d, and nothing in the audit log", name, status)
	case status >= 300 && n > 0:
		m.t.Errorf("%s: %d, and %d rows in the audit log", name, status, n)
	}
}

// unrecorded are requests that may change nothing that is worth a row, each
// with the reason.
func unrecorded() map[string]string {
	const same, nothing = "nothing is otherwise after it", "it changes nothing that others see"
	return map[string]string{
		"POST /templateversions/{templateversion}/dynamic-parameters/evaluate": nothing,
		"POST /templates/compose":                                        nothing,
		"POST /templates/format":                                         nothing,
		"POST /organizations/{organization}/templates/check":             nothing,
		"POST /templateversions/{templateversion}/dry-run":               nothing,
		"PUT /workspaces/{workspace}/favorite":                           nothing,
		"DELETE /workspaces/{workspace}/favorite":                        nothing,
		"PUT /notifications/inbox/mark-all-as-read":                      nothing,
		"POST /notifications/test":                                       nothing,
		"POST /notifications/custom":                                     nothing,
		"POST /users/{user}/webpush/test":                                nothing,
		"DELETE /users/{user}/webpush/subscription":                      nothing,
		"PUT /users/{user}/notifications/preferences":                    same,
		"PUT /users/{user}/notifications/digest":                         nothing,
		"PUT /users/{user}/preferences":                                  nothing,
		"POST /licenses/refresh-entitlements":                            nothing,
		"PUT /users/{user}/appearance":                                   nothing,
		"DELETE /workspaces/{workspace}/acl":                             same,
		"POST /templateversions/{templateversion}/unarchive":             same,
		"POST /templates/{template}/versions/archive":                    same,
		"PATCH /organizations/{organization}/settings/workspace-sharing": same,
		"PUT /debug/health/settings":                                     same,
		"PUT /appearance":                                                same,
	}
}

// apartFromTable are routes whose rule is not one question, each with the rule.
func apartFromTable() map[string]string {
	return map[string]string{
		"PUT /notifications/inbox/{id}/read-status":          "a notification of one's own",
		"POST /users/{user}/webpush/subscription":            "a browser of one's own",
		"POST /users/{user}/convert-login":                   "only oneself, whatever one's role",
		"GET /workspace-quota/{user}":                        "members of the default organization alone",
		"POST /workspaces/{workspace}/usage":                 "whoever may enter it or change it",
		"GET /files/{fileID}":                                "who uploaded it, or may change a template made of it",
		"GET /organizations/{organization}/provisionerqueue": "who may see all of its jobs",
	}
}
