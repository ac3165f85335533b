package clienttest

import (
	"net/http"
	"strings"
)

func currentUser(s *session) {
	fields := []string{"id uuid", "username =" + owner, "name string", "email =" + ownerEmail, "avatar_url string", "roles[].name text", "organization_ids some"}
	s.get("/api/v2/users/me").want(200).fields(fields...)
	// Send the token in each place that clients use.
	for _, header := range [][]string{{"Authorization", "Bearer " + s.token}, {"Cookie", "coder_session_token=" + s.token}} {
		s.get("/api/v2/users/me", "Coder-Session-Token", "", header[0], header[1]).want(200).fields("username =" + owner)
	}
	s.get("/api/v2/users/me?coder_session_token="+s.token, "Coder-Session-Token", "").want(200).fields("username =" + owner)
}

func buildInfo(s *session) {
	s.get("/api/v2/buildinfo", "Coder-Session-Token", "").want(200).fields("external_url text", "version text", "dashboard_url text", "deployment_id text",
		"agent_api_version text", "provisioner_api_version text", "upgrade_message string", "workspace_proxy false", "telemetry boolean")
}

func appearance(s *session) {
	s.get("/api/v2/appearance").want(200).fields("application_name string", "announcement_banners array", "announcement_banners[].enabled boolean",
		"announcement_banners[].message string", "announcement_banners[].background_color string", "service_banner.enabled boolean")
}

// searchWorkspaces checks, for each search of clients, whether it finds the
// workspace.
func searchWorkspaces(s *session) {
	for search, found := range map[string]bool{
		"": true, "owner:me": true, "status:running": true, "status:failed": false, "outdated:true": false, "shared:true": false, "dormant:true": false,
		"owner:" + owner + " name:dev": true, "owner:me name:dev": true, "name:dev": true, "shared:true owner:!me": false, `param:"repository=https://git.example"`: false,
		"shared_with_user:" + s.w.user: false, "shared_with_user:" + owner: false, "shared_with_group:Everyone": false, "template:dev": true,
	} {
		v := s.get("/api/v2/workspaces" + query(search) + "&limit=100").want(200).fields(append(workspaceFields("workspaces[]."), "count integer", "workspaces array")...)
		has := false
		all, _ := at(v, "workspaces").([]any)
		for _, one := range all {
			has = has || textAt(one, "name") == "dev"
			s.checkStatuses(one)
		}
		if has != found {
			s.t.Errorf("%q finds dev: %v, want %v", search, has, found)
		}
	}
	s.get("/api/v2/workspaces" + query("nonsense:1")).refused(400)
}

func oneWorkspace(s *session) {
	s.checkStatuses(s.get("/api/v2/workspaces/" + textAt(s.w.dev, "id")).want(200).fields(workspaceFields("")...))
	s.get("/api/v2/workspaces/" + someID).refused(404)
}

func namedWorkspace(s *session) {
	s.get("/api/v2/users/" + owner + "/workspace/dev").want(200).fields(workspaceFields("")...)
	s.get("/api/v2/users/" + owner + "/workspace/dev?include_deleted=true").want(200).fields("name =dev")
	s.get("/api/v2/users/" + owner + "/workspace/missing").refused(404)
}

func deploymentSSH(s *session) {
	s.get("/api/v2/deployment/ssh").want(200).fields("hostname_prefix string", "hostname_suffix string", "ssh_config_options object", "ssh_config_options{} string")
}

func oneTemplate(s *session) {
	s.get("/api/v2/templates/"+s.template("plain", "id")).want(200).fields("id uuid", "name =plain", "display_name string", "active_version_id uuid", "deprecated boolean",
		"icon string", "organization_id uuid", "organization_name text", "build_time_stats object", "build_time_stats{}.P50 number|null", "build_time_stats{}.P95 number|null")
	s.get("/api/v2/templates/" + someID).refused(404)
}

func templateVersion(s *session) {
	s.get("/api/v2/templateversions/"+s.template("plain", "active_version_id")).want(200).fields("id uuid", "name text", "job.status =succeeded", "job.error string|absent", "archived boolean")
}

func versionResources(s *session) {
	s.get("/api/v2/templateversions/"+s.template("dev", "active_version_id")+"/resources").want(200).fields("some", "[].id uuid", "[].name text", "[].type text", "[].agents array|null|absent")
}

func richParameters(s *session) {
	s.get("/api/v2/templateversions/"+s.template("plain", "active_version_id")+"/rich-parameters").want(200).fields("some", "[].name text", "[].display_name string|absent",
		"[].description_plaintext string", "[].type text", "[].form_type text", "[].mutable boolean", "[].required boolean", "[].ephemeral boolean", "[].default_value string",
		"[].options array", "[].options[].name text", "[].options[].value text", "[].options[].description string", "[].validation_min integer|null|absent",
		"[].validation_max integer|null|absent", "[].validation_regex string|absent", "[].validation_error string|absent")
}

func versionPresets(s *session) {
	s.get("/api/v2/templateversions/"+s.template("plain", "active_version_id")+"/presets").want(200).fields("some", "[].ID uuid", "[].Name =Large", "[].Description string",
		"[].Default true", "[].Parameters some", "[].Parameters[].Name =size", "[].Parameters[].Value =4")
}

// buildFor starts a build with a reason, as the plug-ins do.
func buildFor(reason string) func(*session) {
	return func(s *session) {
		id := s.createPlainID()
		checkFields(s.t, s.build(id, map[string]any{"transition": "stop"}), "transition =stop", "status =stopped")
		b := s.build(id, map[string]any{
			"transition": "start", "template_version_id": s.template("plain", "active_version_id"), "reason": reason,
			"rich_parameter_values": []map[string]string{{"name": "size", "value": "3"}},
		})
		checkFields(s.t, b, "transition =start", "status =running", "reason ="+reason)
		s.send("POST", "/api/v2/workspaces/"+id+"/builds", map[string]any{"transition": "nonsense"}).refused(400)
	}
}

// restartInOne checks a request that creates a stop build and queues the start
// build after it.
func restartInOne(s *session) {
	id := s.createPlainID()
	before := s.latestBuild(s.name)
	s.build(id, map[string]any{"transition": "stop", "on_success": map[string]any{"transition": "start"}})
	s.eventually("/api/v2/workspaces/"+id, func(v any) bool {
		return textAt(v, "latest_build.transition") == "start" && textAt(v, "latest_build.id") != textAt(before, "id") && ended(textAt(v, "latest_build.job.status"))
	})
}

func postUsage(apps ...string) func(*session) {
	return func(s *session) {
		for _, app := range apps {
			s.send("POST", "/api/v2/workspaces/"+textAt(s.w.dev, "id")+"/usage", map[string]any{"agent_id": s.w.agent, "app_name": app}).want(http.StatusNoContent)
		}
		s.send("POST", "/api/v2/workspaces/"+textAt(s.w.dev, "id")+"/usage", map[string]any{"agent_id": s.w.agent, "app_name": "nonsense"}).refused(400)
	}
}

// createWorkspace creates a workspace with one of the two paths of the API.
func createWorkspace(path string) func(*session) {
	return func(s *session) {
		path := strings.NewReplacer("USER", "me", "ID", s.w.user, "ORG", s.w.organization).Replace(path)
		name := s.name + "-" + string(rune('a'+len(s.memo)))
		request := map[string]any{
			"template_id": s.template("plain", "id"), "name": name, "autostart": true,
			"rich_parameter_values": []map[string]string{{"name": "size", "value": "2"}},
		}
		v := s.send("POST", path, request).want(http.StatusCreated).fields(workspaceFields("")...)
		s.memo[name] = textAt(v, "id")
		s.send("POST", path, request).refused(http.StatusConflict, "already exists")
		s.waitBuild(textAt(v, "latest_build.id"))
		s.send("POST", "/api/v2/workspaces/"+textAt(v, "id")+"/builds", map[string]any{"transition": "delete", "orphan": true}).want(http.StatusCreated)
	}
}
