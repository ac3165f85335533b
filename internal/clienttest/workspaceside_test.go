package clienttest

import (
	"os"
	"path/filepath"
	"strings"
)

func registry() client {
	return client{"Registry modules", []row{
		passes("2.30, server version", threeNumbers, "2.30"),
		gate("Terraform 1.12", func(s *session) {
			r := s.exec("", "terraform", "version", "-json")
			if ok, err := threeNumbers(textAt(decode(s.t, []byte(r.out)), "terraform_version"), "1.12"); err != nil || !ok {
				s.t.Errorf("terraform: %v %v %s", ok, err, r.out)
			}
		}),
		gate("provider 0.x", providerConstraints),
		cli("stat cpu", oneLine("stat cpu", "stat cpu --host")), cli("stat mem", oneLine("stat mem", "stat mem --host")), cli("stat disk", oneLine("stat disk --path /")),
		cli("exp sync want", func(s *session) { s.sync("want", s.name+"-b", s.name+"-a") }),
		cli("exp sync start", func(s *session) {
			if r := s.inWorkspace(s.w.bin + " exp sync start --timeout 1ms " + s.name + "-b"); r.code == 0 {
				s.t.Error("a unit started before its dependency")
			}
			s.sync("start", "--timeout", "30m", s.name+"-a")
		}),
		cli("exp sync complete", func(s *session) {
			s.sync("complete", s.name+"-a")
			s.sync("start", s.name+"-b")
			if r := s.inWorkspace(s.w.bin + " exp sync want " + s.name + "-c " + s.name + "-d && " + s.w.bin + " exp sync want " + s.name + "-d " + s.name + "-c"); r.code == 0 {
				s.t.Error("a cyclic dependency was accepted")
			}
		}),
		cli("external-auth access-token", accessToken), cli("exp mcp server", mcpCommand), cli("exp mcp configure", mcpConfigured),
		cli("agent-firewall --help", firewallAbsent), cli("boundary --help", firewallAbsent), cli("agent-firewall -- ", firewallAbsent),
		cli("dotfiles", dotfiles), cli("login", tokenFromEnvironment),
		rest("GET /api/v2/workspaceagents/me/gitsshkey", agentKey("/api/v2/workspaceagents/me/gitsshkey", "//api/v2/workspaceagents/me/gitsshkey")),
		rest("GET /api/v2/users/me/gitsshkey", func(s *session) {
			s.get("/api/v2/users/me/gitsshkey").want(200).fields("public_key text")
		}),
		rest("POST /api/v2/workspaceagents/me/tasks/", taskSnapshotsAbsent),
		rest("PATCH /api/v2/workspaceagents/me/app-status", appStatus),
		rest("ANY /api/v2/aibridge/openai", aiGatewayAbsent), rest("ANY /api/v2/aibridge/anthropic", aiGatewayAbsent), rest("GET /api/v2/aibridge/proxy", aiGatewayAbsent),
		rest("GET git commit signing", agentKey("/api/v2/workspaceagents/me/gitsshkey")),
		file("~/.config/coder_boundary", outside("written and read by the modules and the firewall")),
		file("$CODER_SCRIPT_BIN_DIR", func(s *session) {
			if r := s.inWorkspace("linked"); r.out != "linked\n" {
				s.t.Errorf("a program that a script puts there: %+v", r)
			}
		}),
		file("$CODER_SCRIPT_DATA_DIR", func(s *session) {
			if _, err := os.Stat(filepath.Join(s.w.facts["CODER_SCRIPT_DATA_DIR"], "kept")); err != nil {
				s.t.Error(err)
			}
		}),
		file("~/.coder-modules", outside("kept by the modules; the server does not touch it")),
		errors_(firewallAbsent, "`license is not entitled`"), errors_(accessToken, "empty or null external-auth token"),
		urls(outside("the dashboard fills it in; web/e2e opens apps"), "app URLs may hold", "protocols in external apps", "coder://<host>"),
		urls(func(s *session) {
			out := s.freshHome()
			out.ok("config-ssh", "--yes")
			for _, host := range []string{"dev.coder", "main.dev." + owner + ".coder"} {
				if out := out.exec("", "ssh", "-F", filepath.Join(out.dir, ".ssh", "config"), host, "echo", "hi"); out.out != "hi\n" {
					s.t.Errorf("%s: %+v", host, out)
				}
			}
		}, "zed://ssh/"),
		urls(func(s *session) {
			for _, path := range []string{"/@" + owner + "/dev/apps/web/", "/@" + owner + "/dev.main/apps/web/"} {
				if a := s.get(path); a.status == 404 || a.status == 400 {
					s.t.Errorf("%s: %d %.200s", path, a.status, a.body)
				}
			}
		}, "the app path form"),
		env(workspaceEnv("CODER_AGENT_URL", "CODER_AGENT_TOKEN", "CODER_SCRIPT_BIN_DIR", "CODER_SCRIPT_DATA_DIR", "CODER_WORKSPACE_AGENT_NAME", "CODER_WORKSPACE_NAME",
			"CODER_WORKSPACE_OWNER_NAME", "GREETING", "GIT_ASKPASS", "GIT_SSH_COMMAND"),
			"CODER_AGENT_URL", "CODER_AGENT_TOKEN", "CODER_SCRIPT_BIN_DIR", "CODER_SCRIPT_DATA_DIR", "CODER_WORKSPACE_AGENT_NAME", "CODER_WORKSPACE_NAME", "CODER_WORKSPACE_OWNER_NAME", "GIT_ASKPASS"),
		env(provedBy("internal/agent.TestLife"), "VSCODE_PROXY_URI"),
		env(tokenFromEnvironment, "CODER_URL", "CODER_SESSION_TOKEN"),
		env(func(s *session) { s.sync("ping") }, "CODER_AGENT_SOCKET_SERVER_ENABLED"),
		env(all(mcpCommand, mcpConfigured), "CODER_MCP_APP_STATUS_SLUG", "CODER_MCP_AI_AGENTAPI_URL", "CODER_MCP_ALLOWED_TOOLS", "CODER_MCP_CLAUDE_"),
		notes(initScript, "templates take init_script"), notes(provedBy("internal/terraform.TestFullGraph"), "Terraform types in use"), notes(terraformFacts, "attributes in use"),
	}}
}

// sync runs a command of exp sync in the workspace, without environment variables of
// the template.
func (s *session) sync(args ...string) {
	s.t.Helper()
	if r := s.inWorkspace(s.w.bin + " exp sync " + strings.Join(args, " ")); r.code != 0 {
		s.t.Errorf("exp sync %q: %+v", args, r)
	}
}

// oneLine checks that command lines print one line of text.
func oneLine(lines ...string) func(*session) {
	return func(s *session) {
		for _, line := range lines {
			if out := s.ok(strings.Fields(line)...); strings.Count(out, "\n") != 1 || len(out) < 3 {
				s.t.Errorf("%s: %q", line, out)
			}
		}
	}
}

func dotfiles(s *session) {
	home, repo := s.freshHome(), s.t.TempDir()
	git(s, repo, "init", "-q", "-b", "main")
	s.must(os.WriteFile(filepath.Join(repo, ".profile-test"), []byte("x"), 0o600))
	git(s, repo, "add", "-A")
	git(s, repo, "commit", "-qm", "Add a file")
	git(s, repo, "branch", "other")
	for _, args := range [][]string{{repo, "-y"}, {repo, "--branch", "other", "-y"}} {
		home.ok(append([]string{"dotfiles"}, args...)...)
	}
	if _, err := os.Stat(filepath.Join(home.dir, ".profile-test")); err != nil {
		s.t.Error(err)
	}
}

// agentKey reads the Git SSH key with the token of the agent.
func agentKey(paths ...string) func(*session) {
	return func(s *session) {
		for _, path := range paths {
			s.agentSession().get(path).want(200).fields("public_key text", "private_key text")
		}
	}
}

func appStatus(s *session) {
	for _, path := range []string{"/api/v2/workspaceagents/me/app-status", "//api/v2/workspaceagents/me/app-status"} {
		s.agentSession().send("PATCH", path, map[string]any{"app_slug": "web", "state": "working", "message": "Reading", "uri": ""}).want(200)
	}
	s.agentSession().send("PATCH", "/api/v2/workspaceagents/me/app-status", map[string]any{"app_slug": "missing", "state": "working", "message": "x"}).refused(400)
}

// workspaceEnv checks environment variables of scripts.
func workspaceEnv(names ...string) func(*session) {
	return func(s *session) {
		for _, name := range names {
			if s.w.facts[name] == "" {
				s.t.Errorf("scripts have no %s", name)
			}
		}
		if url := s.w.facts["CODER_AGENT_URL"]; url != s.w.url+"/" {
			s.t.Errorf("CODER_AGENT_URL is %q", url)
		}
	}
}

// initScript checks that the init script is a string for a POSIX shell, and that it
// contains the URL with a trailing slash.
func initScript(s *session) {
	path := filepath.Join(s.w.facts["HOME"], "init.sh")
	b, err := os.ReadFile(path)
	s.must(err)
	if text := string(b); !strings.HasPrefix(text, "#!") || !strings.Contains(text, s.w.url+"/") {
		s.t.Errorf("%.300s", text)
	}
	if r := s.exec("", "sh", "-n", path); r.code != 0 {
		s.t.Errorf("%+v", r)
	}
}

// terraformFacts checks the attributes that templates read.
func terraformFacts(s *session) {
	fileContains(s, filepath.Join(s.w.facts["HOME"], "facts"), strings.Join([]string{s.w.url, "1", "start", "dev", ownerEmail}, " "))
}

func envbuilder() client {
	return client{"envbuilder", []row{
		passes("2.9", threeNumbers, "2.9"),
		rest("GET /api/v2/buildinfo", buildInfo), rest("PATCH /api/v2/workspaceagents/me/logs", patchesLogs),
		socket("/api/v2/workspaceagents/me/rpc", sendsLogs("version=2.0")),
		env(workspaceEnv("CODER_AGENT_URL", "CODER_AGENT_TOKEN"), "CODER_AGENT_URL", "CODER_AGENT_TOKEN"), env(provedBy("internal/agent.TestConfigFromEnv"), "CODER_AGENT_SUBSYSTEM"),
	}}
}

func envbox() client {
	return client{"envbox", []row{
		passes("2.13", threeNumbers, "2.13"),
		rest("PATCH /api/v2/workspaceagents/me/logs", patchesLogs), rest("GET /api/v2/buildinfo", buildInfo),
		socket("/api/v2/workspaceagents/me/rpc", sendsLogs("version=2.7")),
		env(workspaceEnv("CODER_AGENT_URL", "CODER_AGENT_TOKEN"), "CODER_AGENT_URL", "CODER_AGENT_TOKEN"),
	}}
}

func logstream() client {
	return client{"coder-logstream-kube", []row{
		passes("2.31.0", plainSemver, "2.31.0"),
		rest("POST /api/v2/workspaceagents/me/log-source", func(s *session) {
			for range 2 {
				s.agentSession().send("POST", "/api/v2/workspaceagents/me/log-source", map[string]any{
					"id": "cabdacf8-7c90-425c-9815-cae3c75d1169", "icon": "/icon/k8s.png", "display_name": "Kubernetes",
				}).want(201).fields("id =cabdacf8-7c90-425c-9815-cae3c75d1169", "display_name =Kubernetes", "icon =/icon/k8s.png", "workspace_agent_id uuid", "created_at time")
			}
		}),
		rest("GET /api/v2/buildinfo", buildInfo),
		socket("/api/v2/workspaceagents/me/rpc", sendsLogs("version=2.8&role=logstream-kube")),
		env(tokenFromEnvironment, "CODER_URL"), env(outside("the program reads the pods of Kubernetes"), "finds agents by"),
		notes(all(provedBy("internal/agentapi.TestRPCRole"), logsDuringBuild), "starts before the agent connects"),
	}}
}

func boundary() client {
	return client{"boundary", []row{
		cli("boundary", firewallAbsent), rest("ANY /api/v2/aibridge/", aiGatewayAbsent),
		socket("unix socket of the agent", outside("only used when the socket exists, which it does not")),
		env(outside("read by the firewall itself"), "BOUNDARY_", "PROXY_PORT", "DISABLE_AUDIT_LOGS"),
		env(func(s *session) {
			if p := s.w.facts["CODER_AGENT_BOUNDARY_LOG_PROXY_SOCKET_PATH"]; p != "" {
				s.t.Errorf("the environment has a socket path %s", p)
			}
		}, "CODER_AGENT_BOUNDARY_LOG_PROXY_SOCKET_PATH"),
		env(workspaceEnv("CODER_AGENT_URL"), "CODER_AGENT_URL"),
	}}
}

func agentAPI() client {
	return client{"AgentAPI", []row{
		rest("GET http://<workspace>:3284/status", tasksAbsent), rest("GET \u2026:3284/messages", tasksAbsent), rest("POST \u2026:3284/message", tasksAbsent),
		rest("GET \u2026:3284/events", tasksAbsent), rest("POST \u2026:3284/upload", tasksAbsent),
		notes(all(tasksAbsent, mcpCommand), "the server (tasks)"),
	}}
}

func codeServer() client {
	return client{"code-server", []row{
		env(provedBy("internal/agent.TestLife"), "VSCODE_PROXY_URI"),
		notes(provedBy("internal/appproxy.TestWebSocket", "internal/appproxy.TestUpgrade"), "health check", "needs WebSockets"),
	}}
}

// providerConstraints checks that templates import if they require an old or a new
// version of the provider.
func providerConstraints(s *session) {
	text, err := os.ReadFile(filepath.Join(plainTemplate(s), "main.tf"))
	s.must(err)
	for i, constraint := range []string{"~> 0.23", ">= 2.13"} {
		dir := filepath.Join(s.t.TempDir(), "template")
		s.must(os.Mkdir(dir, 0o700))
		s.must(os.WriteFile(filepath.Join(dir, "main.tf"), []byte(strings.Replace(string(text), ">= 2.5", constraint, 1)), 0o600))
		s.ok("templates", "push", s.name+"-"+string(rune('a'+i)), "--directory", dir, "--yes")
	}
}

// logsDuringBuild builds a template that sends a log line with the token of its
// agent during the build. The build fails if the server rejects the line.
func logsDuringBuild(s *session) {
	s.ok("templates", "push", s.name, "--directory", filepath.Join(s.w.source, "testdata", "early"), "--yes")
	s.ok("create", s.name, "--template", s.name, "--yes", "--use-parameter-defaults")
	v := s.get("/api/v2/users/me/workspace/" + s.name).want(200).json()
	resources, _ := at(v, "latest_build.resources").([]any)
	for _, r := range resources {
		if id := textAt(r, "agents.0.id"); id != "" {
			a := s.get("/api/v2/workspaceagents/" + id + "/logs").want(200)
			if !strings.Contains(string(a.body), "before the build ended") {
				s.t.Errorf("%s", a.body)
			}
		}
	}
	s.ok("delete", s.name, "--yes")
}
