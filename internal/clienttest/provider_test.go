package clienttest

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"net/http"
	"os"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

func provider() client {
	return client{"Terraform provider coder (", []row{
		cli("login <url> --first-user-email", func(s *session) {
			if s.w.firstLogin.code != 0 {
				s.t.Errorf("%+v", s.w.firstLogin)
			}
			// The second time, the user exists: the command fails without a prompt.
			if r := s.signedOut().coder("login", s.w.url, "--first-user-email=x@example.com", "--first-user-password="+ownerPassword, "--first-user-trial=false", "--first-user-username=x"); r.code == 0 {
				s.t.Errorf("%+v", r)
			}
		}),
		cli("templates push", func(s *session) {
			s.ok("templates", "push", s.name, "--directory", plainTemplate(s), "--var", "image=large", "--yes")
		}),
		cli("create <workspace>", func(s *session) {
			s.ok("create", s.name, "-t", s.name, "--use-parameter-defaults", "--yes")
			s.ok("delete", s.name, "--yes")
		}),
		env(provedBy("internal/terraform/environ.TestWorkspaceEnv", "internal/terraform/environ.TestDaemonEnv"),
			"CODER_AGENT_URL", "CODER_WORKSPACE_BUILD_ID", "CODER_WORKSPACE_TRANSITION", "CODER_WORKSPACE_NAME", "CODER_WORKSPACE_IS_PREBUILD", "CODER_WORKSPACE_OWNER,",
			"CODER_WORKSPACE_OWNER_SSH", "CODER_WORKSPACE_OWNER_GROUPS", "CODER_WORKSPACE_OWNER_SESSION_TOKEN", "CODER_WORKSPACE_OWNER_RBAC_ROLES",
			"CODER_PARAMETER_<", "CODER_PARAMETER_PREVIOUS_", "CODER_AGENT_SCRIPT_", "CODER_RUNNING_WORKSPACE_AGENT_TOKEN_"),
		env(provedBy("internal/terraform/environ.TestWorkspaceEnv"), "CODER_EXTERNAL_AUTH_ACCESS_TOKEN_"), env(tasksAbsent, "CODER_TASK_ID"),
		// Terraform does not receive user secrets, because the data source
		// coder_secret stores them in the state. Agents pass them to workspaces.
		env(provedBy("internal/servertest.TestUserSecrets"), "CODER_SECRET_ENV_"),
		notes(provedBy("internal/terraform.TestImport"), "coder_agent:", "default display_apps", "app slug"),
		notes(terraformFacts, "data coder_workspace access_url"),
	}}
}

// plainTemplate returns the directory of the template "plain".
func plainTemplate(s *session) string { return s.w.dir + "/templates/plain" }

// archive returns the template "plain" as a tar archive.
func archive(s *session) []byte {
	s.t.Helper()
	text, err := os.ReadFile(plainTemplate(s) + "/main.tf")
	s.must(err)
	return testtar.Of(s.t, map[string]string{"main.tf": string(text) + "\n# " + rand.Text() + "\n"}) // the hash is unique
}

// upload uploads a template's source twice. The responses are 201, then 200 with the
// same ID.
func upload(s *session) {
	b := archive(s)
	first := s.send("POST", "/api/v2/files", bytes.NewReader(b), "Content-Type", "application/x-tar").want(http.StatusCreated).fields("hash uuid")
	again := s.send("POST", "/api/v2/files", bytes.NewReader(b), "Content-Type", "application/x-tar").want(http.StatusOK).fields("hash uuid")
	if textAt(first, "hash") != textAt(again, "hash") {
		s.t.Errorf("%s, then %s", shortJSON(first), shortJSON(again))
	}
	s.memo["file"] = textAt(first, "hash")
}

// createVersion creates a version with a duplicate variable. The last value wins.
func createVersion(s *session) {
	v := s.send("POST", "/api/v2/organizations/"+s.w.organization+"/templateversions", map[string]any{
		"storage_method": "file", "file_id": s.memo["file"], "provisioner": "terraform", "tags": map[string]string{},
		"user_variable_values": []map[string]string{{"name": "image", "value": "first"}, {"name": "image", "value": "second"}},
	}).want(http.StatusCreated).fields("id uuid", "job.id uuid", "job.status text", "name text")
	s.memo["version"] = textAt(v, "id")
}

// createTemplate creates a template while the import of its version still runs.
func createTemplate(s *session) {
	v := s.send("POST", "/api/v2/organizations/"+s.w.organization+"/templates", map[string]any{"name": s.name, "template_version_id": s.memo["version"]}).
		want(http.StatusCreated).fields("id uuid", "name ="+s.name, "active_version_id ="+s.memo["version"])
	s.memo["template"] = textAt(v, "id")
	again := s.send("POST", "/api/v2/organizations/"+s.w.organization+"/templateversions", map[string]any{
		"storage_method": "file", "file_id": s.memo["file"], "provisioner": "terraform", "tags": map[string]string{},
	}).want(http.StatusCreated).json()
	s.send("POST", "/api/v2/organizations/"+s.w.organization+"/templates", map[string]any{"name": s.name, "template_version_id": textAt(again, "id")}).refused(409, "already exists")
}

func versionSucceeds(s *session) {
	s.eventually("/api/v2/templateversions/"+s.memo["version"], func(v any) bool { return textAt(v, "job.status") == "succeeded" })
	s.get("/api/v2/templateversions/"+s.memo["version"]+"/variables").want(200).fields("some", "[].name =image", "[].value =second")
}

// patchTemplate checks that absent fields keep their values, and that false and 0
// are values.
func patchTemplate(s *session) {
	path := "/api/v2/templates/" + s.memo["template"]
	s.send("PATCH", path, map[string]any{"display_name": "Shown", "default_ttl_ms": 3600000}).want(200).fields("display_name =Shown", "default_ttl_ms =3.6e+06")
	s.send("PATCH", path, map[string]any{"description": "Only this"}).want(200).fields("display_name =Shown", "default_ttl_ms =3.6e+06", "description =Only this")
	s.send("PATCH", path, map[string]any{"default_ttl_ms": 0, "allow_user_autostart": false, "allow_user_autostop": false}).want(200).
		fields("default_ttl_ms =0", "allow_user_autostart false", "allow_user_autostop false", "display_name =Shown")
}

func patchActiveVersion(s *session) {
	s.send("PATCH", "/api/v2/templates/"+s.memo["template"]+"/versions", map[string]any{"id": s.memo["version"]}).want(200)
}

func deleteTemplate(s *session) {
	s.send("DELETE", "/api/v2/templates/"+s.memo["template"], nil).want(200)
	s.get("/api/v2/templates/" + s.memo["template"]).refused(404)
}

func deploymentProvider() client {
	org := func(s *session) string { return "/api/v2/organizations/" + s.w.organization }
	return client{"Terraform provider coderd", []row{
		passes("2.10.1", threeNumbers, "2.10.1"), gate("n/a", entitlements),
		rest("GET /api/v2/users/me", currentUser), rest("GET /api/v2/entitlements", entitlements),
		rest("POST /api/v2/users", createUsers), rest("GET /api/v2/users/{id or name}", func(s *session) {
			for _, path := range []string{s.memo["user"], s.name} {
				s.get("/api/v2/users/"+path).want(200).fields("id ="+s.memo["user"], "username ="+s.name)
			}
			a := s.get("/api/v2/users/missing-user")
			if a.status != 404 {
				a.refused(400, "must be an existing uuid or username")
			}
		}),
		rest("PUT /api/v2/users/{id}/roles", func(s *session) {
			s.send("PUT", "/api/v2/users/"+s.memo["user"]+"/roles", map[string]any{"roles": []string{"auditor"}}).want(200).fields("id ="+s.memo["user"], "roles[].name =auditor")
			s.get("/api/v2/users/"+s.memo["user"]+"/roles").want(200).fields("roles strings", "organization_roles object", "organization_roles{} strings")
		}),
		rest("PUT /api/v2/users/{id}/password", func(s *session) {
			s.send("PUT", "/api/v2/users/"+s.memo["user"]+"/password", map[string]any{"password": "AnotherLongPassw0rd!"}).want(204)
			// A repeated apply must succeed, or fail with the text that the provider ignores.
			if a := s.send("PUT", "/api/v2/users/"+s.memo["user"]+"/password", map[string]any{"password": "AnotherLongPassw0rd!"}); a.status != 204 {
				a.refused(400, "New password cannot match old password.")
			}
			s.member().send("PUT", "/api/v2/users/me/password", map[string]any{"old_password": ownerPassword, "password": ownerPassword}).refused(400, "New password cannot match old password.")
		}),
		rest("PUT /api/v2/users/{id}/status/", func(s *session) {
			s.send("PUT", "/api/v2/users/"+s.memo["user"]+"/status/suspend", nil).want(200).fields("status =suspended")
			s.send("PUT", "/api/v2/users/"+s.memo["user"]+"/status/activate", nil).want(200).fields("id =" + s.memo["user"])
		}),
		rest("DELETE /api/v2/users/{id}", func(s *session) {
			gone := s.member()
			v := s.get("/api/v2/users/" + gone.name).want(200).json()
			s.send("DELETE", "/api/v2/users/"+textAt(v, "id"), nil).want(200)
			s.get("/api/v2/users/" + textAt(v, "id")).refused(404)
		}),
		rest("GET /api/v2/organizations/{org}/members/", func(s *session) {
			s.get(org(s)+"/members/").want(200).fields("some", "[].user_id uuid", "[].username text", "[].roles array")
			s.get("/api/v2/users/").want(200).fields("users some", "count integer")
			s.get("/api/v2/templates/").want(200).fields("array")
		}),
		rest("POST /api/v2/organizations", func(s *session) {
			v := s.send("POST", "/api/v2/organizations", map[string]any{"name": s.name, "display_name": "Other"}).want(201).fields("id uuid", "name ="+s.name, "is_default false")
			s.memo["organization"] = textAt(v, "id")
			s.send("POST", "/api/v2/organizations", map[string]any{"name": s.name}).refused(409, "already exists")
		}),
		rest("PATCH /api/v2/organizations/{org}", func(s *session) {
			s.send("PATCH", "/api/v2/organizations/"+s.memo["organization"], map[string]any{"display_name": "Changed"}).want(200).fields("display_name =Changed", "name ="+s.name)
		}),
		rest("GET /api/v2/organizations/{org}/groups/{name}", func(s *session) {
			v := s.send("POST", org(s)+"/groups", map[string]any{"name": s.name}).want(201).fields("id uuid")
			s.memo["group"] = textAt(v, "id")
			s.get(org(s)+"/groups/"+s.name).want(200).fields("id ="+s.memo["group"], "members array", "quota_allowance =0")
		}),
		rest("PATCH /api/v2/groups/{id}", func(s *session) {
			s.send("PATCH", "/api/v2/groups/"+s.memo["group"], map[string]any{
				"name": s.name, "display_name": "Group", "avatar_url": "", "quota_allowance": 5, "add_users": []string{s.w.user}, "remove_users": []string{},
			}).want(200).fields("members[].id ="+s.w.user, "quota_allowance =5", "display_name =Group")
		}),
		rest("PATCH /api/v2/organizations/{org}/settings/idpsync/", func(s *session) {
			other := "/api/v2/organizations/" + s.memo["organization"] + "/settings/idpsync/"
			s.send("PATCH", other+"groups", map[string]any{"field": "groups", "mapping": map[string][]string{"far": {someID}}, "auto_create_missing_groups": false}).want(200).fields("field =groups", "mapping object")
			s.send("PATCH", other+"roles", map[string]any{"field": "roles", "mapping": map[string][]string{"far": {"organization-admin"}}}).want(200).fields("field =roles", "mapping object")
			s.send("PATCH", "/api/v2/settings/idpsync/organization", map[string]any{"field": "", "mapping": map[string][]string{"far": {someID}}, "organization_assign_default": true}).want(200)
			s.send("PATCH", "/api/v2/settings/idpsync/organization", map[string]any{"field": "", "mapping": map[string][]string{}, "organization_assign_default": true}).want(200)
		}),
		rest("GET /api/v2/organizations/{org}/settings/idpsync/", func(s *session) {
			for _, kind := range []string{"groups", "roles"} {
				s.get(org(s)+"/settings/idpsync/"+kind).want(200).fields("field string", "mapping object|null")
			}
		}),
		rest("POST /api/v2/files", upload), rest("POST /api/v2/organizations/{org}/templateversions", createVersion),
		rest("GET /api/v2/templateversions/{id}/logs", func(s *session) { s.follow("/api/v2/templateversions/" + s.memo["version"] + "/logs") }),
		rest("GET /api/v2/templateversions/{id}", versionSucceeds), rest("POST /api/v2/organizations/{org}/templates", createTemplate),
		rest("PATCH /api/v2/templates/{id}", patchTemplate), rest("PATCH /api/v2/templates/{id}/versions", patchActiveVersion),
		rest("PATCH /api/v2/templates/{id}/acl", func(s *session) {
			s.send("PATCH", "/api/v2/templates/"+s.memo["template"]+"/acl", map[string]any{
				"user_perms": map[string]string{s.memo["user"]: "use"}, "group_perms": map[string]string{s.memo["group"]: "admin"},
			}).want(200)
		}),
		rest("GET /api/v2/templates/{id}/acl", func(s *session) {
			s.get("/api/v2/templates/"+s.memo["template"]+"/acl").want(200).fields("users some", "group some", "users[].role text", "group[].role text")
			s.send("PATCH", "/api/v2/templates/"+s.memo["template"]+"/acl", map[string]any{"user_perms": map[string]string{s.memo["user"]: ""}, "group_perms": map[string]string{s.memo["group"]: ""}}).want(200)
		}),
		rest("DELETE /api/v2/templates/{id}", deleteTemplate), rest("POST /api/v2/workspaceproxies", createProxy),
		rest("POST /api/v2/licenses", licenses), rest("GET /api/v2/licenses", licenses), rest("DELETE /api/v2/licenses/{id}", licenses),
		rest("PATCH /api/v2/organizations/{org}/settings/workspace-sharing", func(s *session) {
			if a := s.send("PATCH", org(s)+"/settings/workspace-sharing", map[string]any{"sharing_disabled": false}); a.status != 200 {
				a.refused(404)
			}
		}),
		rest("GET /api/v2/oauth2-provider/settings", oauthSettings), rest("GET/POST/PATCH /api/v2/ai/providers", aiGatewayAbsent),
		errors_(func(s *session) { s.get("/api/v2/templates/" + someID).refused(404) }, "404"),
		errors_(func(s *session) {
			s.send("POST", "/api/v2/organizations/"+s.w.organization+"/groups", map[string]any{"name": s.name}).refused(409, "already exists")
		}, "409"),
		errors_(provedBy("internal/clienttest.deploymentProvider"), "400 with `must be", "`New password"), errors_(outside("a status that the provider tolerates; the request's row has it"), "403 with"),
		env(tokenFromEnvironment, "CODER_URL", "CODER_SESSION_TOKEN"), env(headerCommand, "CODER_HEADER"),
	}}
}

// entitlements checks that the features that the provider needs are enabled, and
// that no field is null.
func entitlements(s *session) {
	fields := []string{"features object", "errors array", "warnings array", "has_license boolean", "trial boolean", "require_telemetry boolean", "features{}.entitlement text", "features{}.enabled boolean"}
	for _, name := range []string{"advanced_template_scheduling", "access_control", "template_rbac", "control_shared_ports", "workspace_proxy", "external_provisioner_daemons"} {
		fields = append(fields, "features."+name+".enabled true", "features."+name+".entitlement =entitled")
	}
	s.get("/api/v2/entitlements").want(200).fields(fields...)
}

// createUsers creates a user, and a service account without an email address.
func createUsers(s *session) {
	v := s.send("POST", "/api/v2/users", map[string]any{
		"username": s.name, "email": s.name + "@example.com", "name": "A User", "password": "SomeLongPassw0rd!!", "login_type": "password", "organization_ids": []string{s.w.organization},
	}).want(201).fields("id uuid", "username ="+s.name, "status text", "organization_ids some", "login_type =password")
	s.memo["user"] = textAt(v, "id")
	s.send("POST", "/api/v2/users", map[string]any{
		"username": s.name + "-svc", "login_type": "none", "organization_ids": []string{s.w.organization}, "service_account": true,
	}).want(201).fields("is_service_account true", "login_type =none", "status =active")
	s.send("POST", "/api/v2/users", map[string]any{
		"username": s.name, "email": "other-" + s.name + "@example.com", "password": "SomeLongPassw0rd!!", "login_type": "password", "organization_ids": []string{s.w.organization},
	}).refused(409, "already exists")
}

func createProxy(s *session) {
	v := s.send("POST", "/api/v2/workspaceproxies", map[string]any{"name": s.name, "display_name": "Far", "icon": ""}).want(201).fields("proxy.id uuid", "proxy.name ="+s.name, "proxy_token text")
	s.send("DELETE", "/api/v2/workspaceproxies/"+textAt(v, "proxy.id"), nil).want(200)
}

// licenses checks that a license is listed until it is deleted. No feature needs
// one.
func licenses(s *session) {
	const path = "/api/v2/licenses"
	s.send("POST", path, map[string]any{"license": ""}).refused(400, "license")
	created := s.send("POST", path, map[string]any{"license": "of " + s.name}).want(201).fields("id int32", "uuid uuid", "uploaded_at time", "claims object")
	s.send("POST", path, map[string]any{"license": "of " + s.name}).refused(409, "already exists")
	s.get(path).want(200).fields("some", "[].id int32", "[].uploaded_at time", "[].claims object")
	s.send("DELETE", path+"/"+shortJSON(at(created, "id")), nil).want(200)
}

func kubernetes() client {
	return client{"Kubernetes operator", []row{
		cli("server", outside("every row speaks to one; world.stop holds it to end at SIGTERM")),
		cli("provisioner start", func(s *session) {
			v := s.send("POST", "/api/v2/organizations/"+s.w.organization+"/provisionerkeys", map[string]any{"name": s.name + "-run", "tags": map[string]string{"for": s.name}}).want(201).fields("key text")
			out := s.signedOut().env("CODER_URL="+s.w.url, "CODER_PROVISIONER_DAEMON_KEY="+textAt(v, "key"))
			b := out.startCoder("provisioner", "start", "--cache-dir", out.dir, "--name", s.name)
			s.eventually("/api/v2/organizations/"+s.w.organization+"/provisionerdaemons", func(v any) bool { return strings.Contains(wholeJSON(v), `"name":"`+s.name+`"`) })
			b.interrupt()
		}),
		cli("wsproxy server", func(s *session) {
			v := s.send("POST", "/api/v2/workspaceproxies", map[string]any{"name": s.name, "display_name": "Near", "icon": ""}).want(201).fields("proxy_token text", "proxy.id uuid")
			address := testport.FreeAddress(s.t)
			out := s.signedOut().env("CODER_PRIMARY_ACCESS_URL="+s.w.url, "CODER_PROXY_SESSION_TOKEN="+textAt(v, "proxy_token"), "CODER_ACCESS_URL=http://"+address)
			b := out.startCoder("wsproxy", "server", "--http-address="+address)
			s.waitReachable(address)
			b.interrupt()
			s.send("DELETE", "/api/v2/workspaceproxies/"+textAt(v, "proxy.id"), nil).want(200)
		}),
		rest("GET /api/v2/organizations/{name}", func(s *session) {
			v := s.get("/api/v2/organizations/"+s.w.organization).want(200).fields("name text", "is_default true")
			s.get("/api/v2/organizations/" + textAt(v, "name")).want(200).fields("id =" + s.w.organization)
			s.get("/api/v2/organizations/default").want(200).fields("id =" + s.w.organization)
		}),
		rest("GET /api/v2/templates and", func(s *session) {
			s.get("/api/v2/templates").want(200).fields("some")
			s.get("/api/v2/organizations/" + s.w.organization + "/templates").want(200).fields("some")
			s.get("/api/v2/organizations/"+s.w.organization+"/templates/plain").want(200).fields("name =plain", "id uuid", "active_version_id uuid")
			s.get("/api/v2/organizations/" + s.w.organization + "/templates/missing").refused(404)
		}),
		rest("POST /api/v2/files", upload), rest("POST /api/v2/organizations/{org}/templateversions", createVersion),
		rest("POST /api/v2/organizations/{org}/templates", createTemplate), rest("PATCH /api/v2/templates/{id}", patchTemplate),
		rest("PATCH /api/v2/templates/{id}/versions", func(s *session) { versionSucceeds(s); patchActiveVersion(s) }), rest("DELETE /api/v2/templates/{id}", deleteTemplate),
		rest("GET /api/v2/files/{id}", func(s *session) {
			a := s.get("/api/v2/files/" + s.memo["file"]).want(200)
			if kind := a.header.Get("Content-Type"); kind != "application/x-tar" {
				s.t.Errorf("content type %q", kind)
			}
			if _, err := tar.NewReader(bytes.NewReader(a.body)).Next(); err != nil {
				s.t.Error(err)
			}
		}),
		rest("GET /api/v2/workspaces q=", func(s *session) {
			s.get("/api/v2/workspaces"+query("owner:me")+"&limit=1&offset=0").want(200).fields("workspaces some", "count integer")
			s.get("/api/v2/workspaces?limit=1&offset=1000").want(200).fields("workspaces array")
		}),
		rest("GET /api/v2/users/{owner}/workspace/{name}", namedWorkspace), rest("POST /api/v2/users/{user}/workspaces", createWorkspace("/api/v2/users/USER/workspaces")),
		rest("POST /api/v2/workspaces/{id}/builds", buildFor("dashboard")), rest("GET /api/v2/entitlements", entitlements), rest("GET/POST /api/v2/licenses", licenses),
		rest("POST/GET/DELETE /api/v2/organizations/{org}/provisionerkeys", func(s *session) {
			path := "/api/v2/organizations/" + s.w.organization + "/provisionerkeys"
			s.send("POST", path, map[string]any{"name": s.name, "tags": map[string]string{}}).want(201).fields("key text")
			s.send("POST", path, map[string]any{"name": s.name, "tags": map[string]string{}}).refused(409, "already exists")
			s.get(path).want(200).fields("some", "[].name text", "[].id uuid", "[].tags object")
			s.send("DELETE", path+"/"+s.name, nil).want(204)
		}),
		rest("POST /api/v2/workspaceproxies", createProxy),
		errors_(errorBodies, "409 whose message", "404 not found", "400 with validations"),
		errors_(forbidden, "403 forbidden"),
		env(outside("the server of the rows takes the first; internal/cli/server holds each option to its variable"), "server container"),
		notes(func(s *session) { s.get("/healthz", "Coder-Session-Token", "").want(200) }, "health endpoint"),
		notes(provedBy("internal/servertest.TestContract"), "the SDK insists"),
	}}
}

// member returns the session of a user without roles.
func (s *session) member() *session {
	s.t.Helper()
	name := s.name + "-m" + strings.ToLower(rand.Text()[:4])
	s.send("POST", "/api/v2/users", map[string]any{
		"username": name, "email": name + "@example.com", "password": ownerPassword, "login_type": "password", "organization_ids": []string{s.w.organization},
	}).want(201)
	v := s.send("POST", "/api/v2/users/login", map[string]any{"email": name + "@example.com", "password": ownerPassword}, "Coder-Session-Token", "").want(201).fields("session_token text")
	c := *s
	c.token, c.name = textAt(v, "session_token"), name
	return &c
}
