package clienttest

import (
	"os"
	"path/filepath"
	"strings"
)

func setupAction() client {
	return client{"setup-action", []row{
		cli("version", versionText), cli("login --token", loginNewToken),
		download("/bin/coder-linux-amd64", all(downloads, platforms("coder-linux-amd64", "coder-linux-arm64"))),
	}}
}

// versionText checks the version output that packagers and old editors parse.
func versionText(s *session) {
	out := s.ok("version")
	if words := strings.Fields(out); len(words) < 2 || words[0] != "Coder" || words[1] != s.serverVersion() {
		s.t.Errorf("%q does not begin with Coder and the version", out)
	}
	if !strings.Contains(out, "Full build") || strings.Contains(out, "AGPL") {
		s.t.Errorf("%q", out)
	}
}

func loginNewToken(s *session) {
	for i, args := range [][]string{{"login", "--token", "TOKEN", s.w.url}, {"login", "--url=" + s.w.url, "--token=TOKEN"}} {
		out, token := s.signedOut(), s.newToken("login-"+string(rune('a'+i)))
		for j := range args {
			args[j] = strings.ReplaceAll(args[j], "TOKEN", token)
		}
		out.ok(args...)
		out.ok("whoami")
	}
}

// byGitHub searches users by their GitHub user ID.
func byGitHub(s *session) {
	s.get("/api/v2/users"+query("github_com_user_id:583231")).want(200).fields("users array", "count =0")
	s.get("/api/v2/users"+query("nonsense:1")).refused(400, "not a valid query param")
}

func startWorkspaceAction() client {
	return client{"start-workspace-action", []row{
		rest("GET /api/v2/users q=github", byGitHub),
		rest("GET /api/v2/templates q=exact_name", func(s *session) {
			s.get("/api/v2/templates"+query("exact_name:plain")).want(200).fields("some", "[].name =plain", "[].id uuid", "[].active_version_id uuid")
		}),
		rest("GET /api/v2/users/{name}", func(s *session) { s.get("/api/v2/users/"+owner).want(200).fields("id ="+s.w.user, "username ="+owner) }),
		rest("POST /api/v2/users/{id}/workspaces", createWorkspace("/api/v2/users/ID/workspaces")),
	}}
}

func createTaskAction() client {
	return client{"create-task-action", []row{
		rest("GET /api/v2/users q=github", byGitHub),
		rest("GET /api/v2/organizations/{org}/templates/{name}", func(s *session) {
			s.get("/api/v2/organizations/default/templates/plain").want(200).fields("id uuid", "active_version_id uuid")
		}),
		rest("GET /api/v2/templateversions/{id}/presets", versionPresets),
		rest("GET /api/experimental/tasks q=", tasksAbsent), rest("POST /api/experimental/tasks/{owner}", tasksAbsent),
		rest("GET /api/experimental/tasks/{owner}/{id}", tasksAbsent), rest("POST /api/experimental/tasks/{owner}/{id}/send", tasksAbsent),
		notes(tasksAbsent, "the same task calls"),
	}}
}

func ciScripts() client {
	return client{"CI scripts", []row{
		cli("templates push", func(s *session) {
			dir := plainTemplate(s)
			s.ok("templates", "push", s.name, "--directory", dir, "--name", "first", "--message", "From CI", "--variable", "image=large", "--yes")
			s.ok("templates", "push", s.name, "--directory", dir, "--name", "second", "--activate=false", "--var", "image=small", "-y")
			v := s.get("/api/v2/organizations/default/templates/" + s.name + "/versions/first").want(200).fields("message =From CI")
			s.get("/api/v2/organizations/default/templates/" + s.name).want(200).fields("active_version_id =" + textAt(v, "id"))
		}),
		cli("templates versions list", func(s *session) {
			if out := s.ok("templates", "versions", "list", s.name, "--column", "name,active"); !strings.Contains(out, "first") || !strings.Contains(out, "second") {
				s.t.Errorf("%s", out)
			}
			s.ok("templates", "versions", "list", s.name)
		}),
		cli("templates versions promote", func(s *session) {
			s.ok("templates", "versions", "promote", "--template", s.name, "--template-version", "second")
			v := s.get("/api/v2/organizations/default/templates/" + s.name + "/versions/second").want(200).json()
			s.get("/api/v2/organizations/default/templates/" + s.name).want(200).fields("active_version_id =" + textAt(v, "id"))
		}),
		cli("templates edit", func(s *session) {
			s.ok("templates", "edit", s.name, "--default-ttl", "2h", "--yes")
			s.get("/api/v2/organizations/default/templates/" + s.name).want(200).fields("default_ttl_ms =7.2e+06")
		}),
		cli("templates init", func(s *session) {
			dir := filepath.Join(s.t.TempDir(), "docker")
			s.ok("templates", "init", "--id", "docker", dir)
			if _, err := os.Stat(filepath.Join(dir, "main.tf")); err != nil {
				s.t.Error(err)
			}
		}),
		cli("users create", func(s *session) {
			for name, more := range map[string][]string{"none": {"--login-type", "none"}, "password": {"--password", "SomeLongPassw0rd!"}} {
				s.ok(append([]string{"users", "create", "--email", s.name + name + "@example.com", "--username", s.name + "-" + name}, more...)...)
			}
			s.ok("users", "create", "--service-account", "--username", s.name+"-svc")
			s.get("/api/v2/users/"+s.name+"-svc").want(200).fields("is_service_account true", "login_type =none")
		}),
		cli("users edit-roles", func(s *session) {
			s.ok("users", "edit-roles", s.name+"-none", "--roles", "auditor,template-admin", "--yes")
			s.get("/api/v2/users/" + s.name + "-none/roles").want(200).fields("roles some")
		}),
		cli("tokens create", func(s *session) {
			out := s.ok("tokens", "create", "--user", s.name+"-none", "--name", s.name, "--lifetime", "8760h", "--scope", "workspace:read", "--scope", "template:read")
			if token := strings.TrimSpace(out); len(strings.Fields(token)) != 1 {
				s.t.Errorf("the output is not only a token: %d bytes", len(out))
			}
		}),
		cli("tokens rm", func(s *session) {
			s.ok("tokens", "create", "--name", s.name+"-mine")
			s.ok("tokens", "rm", s.name+"-mine")
		}),
		env(tokenFromEnvironment, "CODER_URL", "CODER_SESSION_TOKEN"),
	}}
}

func backstage() client {
	return client{"Backstage", []row{
		rest("GET /api/v2/users/me", currentUser), rest("GET /api/v2/workspaces q=", searchWorkspaces),
		rest("GET /api/v2/workspaceagents/\u2026", func(s *session) {
			s.get("/api/v2/workspaceagents/"+s.w.agent).want(200).fields("id uuid", "name text", "status text", "apps array", "display_apps array")
			s.get("/api/v2/workspacebuilds/" + textAt(s.w.dev, "latest_build.id") + "/logs?before=1000000000").want(200).fields("array")
			createWorkspace("/api/v2/organizations/ORG/members/USER/workspaces")(s)
		}),
		rest("GET /oauth2/authorize", backstageOAuth), rest("POST /oauth2/tokens", backstageOAuth),
		errors_(invalidToken, "401 counts as"),
		urls(dashboardPages("/templates/plain/workspace?mode=manual&param.size=2&name=backstage"), "/templates/{template}/workspace"),
	}}
}

func mux() client {
	return client{"Mux", []row{
		passes("2.25.0", threeNumbers, "2.25.0"),
		cli("version --output=json", versionAsJSON),
		cli("whoami --output=json", func(s *session) {
			checkFields(s.t, s.json("whoami", "--output=json"), "some", "[].url ="+s.w.url, "[].username ="+owner, "[].id ="+s.w.user)
			notLoggedIn(s)
		}),
		cli("templates list", func(s *session) {
			checkFields(s.t, s.json("templates", "list", "--output=json"), "some", "[].Template.name text", "[].Template.display_name string", "[].Template.organization_name text", "[].Template.active_version_id uuid")
		}),
		cli("templates presets list", func(s *session) {
			v := s.json("templates", "presets", "list", "plain", "--output=json")
			checkFields(s.t, v, "some", "[].TemplatePreset.ID uuid", "[].TemplatePreset.Name =Large", "[].TemplatePreset.Description string", "[].TemplatePreset.Default true",
				"[].TemplatePreset.Parameters[].Name =size", "[].TemplatePreset.Parameters[].Value =4")
			s.json("templates", "presets", "list", "plain", "--output=json", "--org", textAt(s.get("/api/v2/organizations/default").want(200).json(), "name"))
			if out := s.ok("templates", "presets", "list", "dev", "--output=json"); strings.HasPrefix(out, "[{") {
				s.t.Errorf("a template without presets: %s", out)
			}
		}),
		cli("list --output=json", func(s *session) {
			checkFields(s.t, s.json("list", "--output=json"), append(workspaceFields("[]."), "some")...)
		}),
		cli("list --search", func(s *session) {
			checkFields(s.t, s.json("list", "--search", "name:dev", "--output=json"), "some", "[].name =dev", "[].template_name =dev", "[].template_display_name string", "[].latest_build.status =running")
		}),
		cli("create", func(s *session) {
			org := textAt(s.get("/api/v2/organizations/default").want(200).json(), "name")
			s.ok("create", s.name, "-t", "plain", "--yes", "--org", org, "--preset", "Large", "--parameter", `"debug=off"`)
			b := s.latestBuild(s.name)
			v := s.get("/api/v2/workspacebuilds/" + textAt(b, "id") + "/parameters").want(200).json()
			if !strings.Contains(wholeJSON(v), `"value":"4"`) {
				s.t.Errorf("the preset has no effect: %s", shortJSON(v))
			}
		}),
		cli("stop", func(s *session) {
			s.ok("stop", s.name, "--yes")
			checkFields(s.t, s.latestBuild(s.name), "status =stopped")
		}),
		cli("start", func(s *session) {
			s.ok("start", s.name, "--yes")
			checkFields(s.t, s.latestBuild(s.name), "status =running")
		}),
		cli("delete", func(s *session) {
			s.ok("delete", s.name, "--yes")
			s.get("/api/v2/users/me/workspace/" + s.name).refused(404)
		}),
		cli("ssh <name> --wait=yes", exitStatus("--wait=yes")),
		cli("tokens create", func(s *session) {
			if out := s.ok("tokens", "create", "--lifetime", "5m", "--name", s.name); len(strings.Fields(out)) != 1 {
				s.t.Errorf("the output is not only a token: %d bytes", len(out))
			}
		}),
		cli("tokens delete", func(s *session) { s.ok("tokens", "delete", s.name) }),
		cli("ssh --stdio", func(s *session) {
			s.proxied("dev.mux--coder", "", "ssh", "--stdio", "--hostname-suffix", "mux--coder", "%h")
		}),
		rest("GET /api/v2/templateversions/{id}/rich-parameters", richParameters), rest("GET /api/v2/buildinfo", buildInfo),
		rest("GET /.well-known/oauth-authorization-server", readOAuthMetadata), rest("POST <registration_endpoint>", muxOAuth.register),
		rest("PUT <registration_client_uri>", muxOAuth.replaces), rest("POST /oauth2/tokens", muxOAuth.uses), rest("POST /oauth2/revoke", muxOAuth.uses),
		rest("GET /api/v2/ai/providers", aiGatewayAbsent), rest("ANY /api/v2/aibridge/", aiGatewayAbsent),
	}}
}

// notLoggedIn checks the words on stderr by which clients recognize a missing login.
func notLoggedIn(s *session) {
	for _, args := range [][]string{{"whoami", "--output=json"}, {"list"}, {"netcheck"}} {
		r := s.signedOut().coder(args...)
		low, known := strings.ToLower(r.errs), false
		for _, words := range []string{"not logged in", "try logging in", "please login", "coder login"} {
			known = known || strings.Contains(low, words)
		}
		if r.code == 0 || !known {
			s.t.Errorf("%q: %+v", args, r)
		}
	}
}

// exitStatus checks that coder ssh returns the exit status of its command.
func exitStatus(wait ...string) func(*session) {
	return func(s *session) {
		for _, w := range wait {
			s.ok("ssh", "dev", w, "--", "true")
			if r := s.coder("ssh", w, "dev", "--", "exit", "7"); r.code != 7 {
				s.t.Errorf("%s: exit status %d", w, r.code)
			}
		}
	}
}

func gerrit() client {
	return client{"Gerrit", []row{
		rest("GET /api/v2/workspaces q=", searchWorkspaces), rest("GET /api/v2/users/{user}/workspace/{name}", namedWorkspace),
		rest("POST /api/v2/users/{user}/workspaces", createWorkspace("/api/v2/users/USER/workspaces")),
		rest("POST /api/v2/organizations/{org}/members", createWorkspace("/api/v2/organizations/ORG/members/USER/workspaces")),
		rest("PUT /api/v2/workspaces/{id}/dormant", func(s *session) {
			id := s.createPlainID()
			s.send("PUT", "/api/v2/workspaces/"+id+"/dormant", map[string]any{"dormant": true}).want(200).fields("dormant_at time")
			s.send("PUT", "/api/v2/workspaces/"+id+"/dormant", map[string]any{"dormant": false}).want(200).fields("dormant_at null")
		}),
		rest("PUT /api/v2/workspaces/{id}/ttl", func(s *session) {
			if a := s.send("PUT", "/api/v2/workspaces/"+s.createPlainID()+"/ttl", map[string]any{"ttl_ms": 7200000}); a.status != 200 {
				a.want(204)
			}
		}),
		notes(func(s *session) {
			// The server responds to the preflight of another origin. It allows the
			// origin only if it is configured.
			a := s.send("OPTIONS", "/api/v2/workspaces", nil, "Coder-Session-Token", "", "Origin", "https://gerrit.example.com", "Access-Control-Request-Method", "GET",
				"Access-Control-Request-Headers", "coder-session-token")
			if a.status/100 != 2 || a.header.Get("Access-Control-Allow-Origin") != "" {
				s.t.Errorf("preflight: %d %v", a.status, a.header)
			}
			s.get("/api/v2/users/me?coder_session_token="+s.token, "Coder-Session-Token", "").want(200)
		}, "runs in a browser"),
	}}
}

// connectionInfo checks the requests of Desktop programs and the SDK before they
// connect.
func connectionInfo(s *session) {
	s.get("/api/v2/workspaceagents/connection").want(200).fields("hostname_suffix string", "disable_direct_connections boolean", "derp_force_websockets boolean", "derp_map object|null")
}

func desktopMac() client {
	return client{"Coder Desktop for macOS", []row{
		passes("2.24.3", threeNumbers, "2.24.3"),
		rest("GET /api/v2/buildinfo", buildInfo), rest("GET /api/v2/users/me", currentUser), rest("GET /api/v2/workspaceagents/connection", connectionInfo),
		rest("GET /api/v2/workspaces/{id}", func(s *session) {
			oneWorkspace(s)
			v := s.get("/api/v2/workspaceagents/" + s.w.agent).want(200).json()
			checkFields(s.t, v, "apps some", "apps[].slug text", "apps[].url string|absent", "apps[].external boolean", "apps[].icon string|absent", "apps[].display_name string|absent", "apps[].hidden boolean", "display_apps strings")
		}),
		rest("WS /api/v2/tailnet", tailnetAbsent),
		download("/bin/coder-darwin-arm64", platforms("coder-darwin-arm64", "coder-darwin-amd64")),
		urls(outside("the dashboard builds it; a page of the desktop program opens it"), "coder://<host>"), urls(outside("an interface of the agent inside of a tailnet"), "agent HTTP API"),
	}}
}

func desktopWindows() client {
	return client{"Coder Desktop for Windows", []row{
		passes("2.20.0", threeNumbers, "2.20.0"),
		rest("GET /api/v2/buildinfo", buildInfo), rest("GET /api/v2/users/me", currentUser),
		rest("GET /api/v2/workspaceagents/{id}", func(s *session) {
			s.get("/api/v2/workspaceagents/"+s.w.agent).want(200).fields("apps array", "display_apps strings")
		}),
		rest("GET /api/v2/workspaceagents/connection", connectionInfo),
		download("/bin/coder-windows-<arch>.exe", platforms("coder-windows-amd64.exe", "coder-windows-arm64.exe")),
		notes(func(s *session) {
			if path := strings.TrimPrefix(s.w.url, "http://"); strings.Contains(path, "/") {
				s.t.Errorf("the URL %q has a path", s.w.url)
			}
		}, "base URL"),
	}}
}

func desktopLinux() client {
	return client{"Coder Desktop for Linux", []row{
		passes("2.20.0", threeNumbers, "2.20.0"),
		rest("GET /api/v2/buildinfo", buildInfo), rest("GET /api/v2/users/me", currentUser), rest("GET /api/v2/workspaceagents/connection", connectionInfo),
		rest("WS /api/v2/tailnet", tailnetAbsent), download("/bin/coder-linux-<arch>", downloads),
	}}
}

func marketplace() client {
	return client{"code-marketplace", []row{notes(outside("it never asks the server"), "does not call")}}
}

func webhooks() client {
	return client{"Notification webhook receivers", []row{rest("POST <webhook endpoint>", provedBy("internal/servertest.TestNotifications"))}}
}

func packagers() client {
	return client{"Packagers", []row{
		cli("version", versionText),
		cli("netcheck", func(s *session) {
			if r := s.signedOut().coder("netcheck"); r.code != 1 || !strings.Contains(r.errs, "You are not logged in") {
				s.t.Errorf("%+v", r)
			}
		}),
		cli("server postgres-builtin-url", func(s *session) {
			if out := s.ok("server", "postgres-builtin-url"); !strings.Contains(out, "postgres://") {
				s.t.Errorf("%q", out)
			}
		}),
		download("release assets", provedBy("tools/release.TestFilesOfARelease")),
	}}
}
