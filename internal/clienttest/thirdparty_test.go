package clienttest

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/testport"
)

func observability() client {
	return client{"Observability chart", []row{
		rest("GET / on the Prometheus port", func(s *session) {
			for _, path := range []string{"/", "/metrics"} {
				a := s.get(s.w.metrics+path, "Coder-Session-Token", "").want(200)
				if !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
					s.t.Errorf("%s is %s", path, a.header.Get("Content-Type"))
				}
			}
		}),
		notes(all(queriedMetrics, provedBy("internal/presence.TestAgentMetrics", "internal/server.TestMetricsOfTheContract")), "metrics in its dashboards"), notes(humanLog, "logs: human form"),
		notes(outside("the schema is our own: panels that run SQL of another do not work, and docs/compatibility.md says so"), "one exporter runs SQL"),
	}}
}

// queried are the metrics of public dashboards, with labels, that a server exports
// after its first use. It updates those of agents and prebuilds every minute.
var queried = []struct{ name, labels string }{
	{"coderd_workspace_builds_total", "status workspace_name workspace_owner template_name template_version workspace_transition"},
	{"coderd_workspace_latest_build_status", "status template_name template_version workspace_owner workspace_transition"},
	{"coderd_workspace_creation_total", "template_name"},
	{"coderd_workspace_creation_duration_seconds_bucket", "template_name preset_name type"},
	{"coderd_license_active_users", ""}, {"coderd_license_limit_users", ""}, {"coderd_license_user_limit_enabled", ""},
	{"coderd_provisionerd_job_timings_seconds_bucket", "provisioner status"}, {"coderd_provisionerd_job_timings_seconds_count", "provisioner status"},
	{"coderd_provisionerd_jobs_current", "provisioner"}, {"coderd_provisionerd_num_daemons", ""}, {"coderd_api_requests_processed_total", "code method path"},
	{"coder_pubsub_send_latency_seconds", ""}, {"coder_pubsub_receive_latency_seconds", ""}, {"coder_pubsub_latency_measure_errs_total", ""},
}

// queriedMetrics waits until each metric has a sample with its labels. The server
// updates some metrics at intervals.
func queriedMetrics(s *session) {
	missing := []string{}
	s.waitUntil(func() bool {
		text := string(s.get(s.w.metrics+"/metrics", "Coder-Session-Token", "").want(200).body)
		missing = metricsWithout(text)
		return len(missing) == 0
	}, func() string { return strings.Join(missing, ", ") })
}

// metricsWithout returns the queried metrics without a sample in text.
func metricsWithout(text string) (missing []string) {
	for _, q := range queried {
		if !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
			rest, ok := strings.CutPrefix(line, q.name)
			if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
				return false
			}
			for _, label := range strings.Fields(q.labels) {
				if !strings.Contains(rest, "{"+label+"=") && !strings.Contains(rest, ","+label+"=") {
					return false
				}
			}
			return true
		}) {
			missing = append(missing, q.name)
		}
	}
	return missing
}

// humanLog checks that the server log has one plain text line per event.
func humanLog(s *session) {
	b, err := os.ReadFile(filepath.Join(s.w.dir, "server.log"))
	s.must(err)
	if text := string(b); strings.HasPrefix(text, "{") || strings.Count(text, "\n") < 3 {
		s.t.Errorf("%.500s", text)
	}
}

func thirdParty() client {
	return client{"Third-party scripts", []row{
		cli("create", createWithEverything), cli("list", func(s *session) {
			checkFields(s.t, s.json("list", "--output", "json"), "some")
			if out := s.ok("list", "--output", "json", "--search", "owner:me name:missing"); strings.TrimSpace(out) != "[]" {
				s.t.Errorf("%q", out)
			}
			checkFields(s.t, s.json("list", "--output", "json", "--search", "shared:true owner:!me"), "array")
		}),
		cli("ssh --wait=no|yes|auto", func(s *session) {
			exitStatus("--wait=no", "--wait=yes", "--wait=auto")(s)
			if out := s.ok("ssh", "--wait=no", "dev", "--", "echo", "a  b", "&&", "echo", "c"); out != "a b\nc\n" {
				s.t.Errorf("%q", out)
			}
		}),
		cli("ssh --stdio", func(s *session) {
			s.proxied("any", "", "ssh", "--stdio", "dev")
			s.proxied("any", "", "ssh", "--stdio", "dev.main")
		}),
		cli("config-ssh", configSSH), cli("users show me", func(s *session) {
			if v := s.json("users", "show", "me", "-o", "json"); textAt(v, "0.username") != owner && textAt(v, "username") != owner {
				s.t.Errorf("%s", shortJSON(v))
			}
		}),
		cli("users list", func(s *session) {
			checkFields(s.t, s.json("users", "list", "-o", "json"), "some", "[].id uuid", "[].username text")
		}),
		cli("start|stop|restart|delete", func(s *session) {
			name := s.createPlain(false)
			for _, step := range []struct{ command, status string }{{"stop", "stopped"}, {"start", "running"}, {"restart", "running"}} {
				s.ok(step.command, name, "--yes")
				checkFields(s.t, s.latestBuild(name), "status ="+step.status)
			}
		}),
		cli("update", func(s *session) {
			path := filepath.Join(s.t.TempDir(), "parameters.yaml")
			s.must(os.WriteFile(path, []byte("size: \"2\"\n"), 0o600))
			s.ok("update", s.createPlain(false), "--rich-parameter-file", path)
		}),
		cli("port-forward", func(s *session) {
			local, remote := testport.FreeAddress(s.t), strings.TrimPrefix(s.w.url, "http://")
			_, localPort, _ := strings.Cut(local, ":")
			_, remotePort, _ := strings.Cut(remote, ":")
			b := s.startCoder("port-forward", "dev", "--tcp="+localPort+":"+remotePort)
			s.waitReachable("127.0.0.1:" + localPort)
			b.interrupt()
		}),
		cli("logs", func(s *session) {
			b := s.startCoder("logs", "dev", "--follow")
			b.waitForOutput("lives in")
			b.interrupt()
		}),
		cli("open vscode", openVSCode), cli("sharing share", func(s *session) {
			user := s.member()
			s.memo["user"] = user.name
			s.ok("sharing", "share", s.createPlain(false), "--user", user.name+":use")
			user.get("/api/v2/workspaces" + query("shared:true owner:!me")).want(200).fields("count =1")
		}),
		cli("sharing status", func(s *session) {
			if out := s.ok("sharing", "status", s.createPlain(false)); !strings.Contains(out, s.memo["user"]) {
				s.t.Errorf("%s", out)
			}
		}),
		cli("sharing remove", func(s *session) {
			s.ok("sharing", "remove", s.createPlain(false), "--user", s.memo["user"])
			if out := s.ok("sharing", "status", s.createPlain(false)); strings.Contains(out, s.memo["user"]) {
				s.t.Errorf("%s", out)
			}
		}),
		cli("task create", taskCommandsAbsent), cli("task list|status", taskCommandsAbsent),
		cli("login --url=<u>", loginNewToken), cli("login --use-token-as-session", func(s *session) {
			out, token := s.signedOut(), s.newToken("stdin")
			if r := out.coderWithStdin(token+"\n", "login", "--use-token-as-session", s.w.url); r.code != 0 {
				s.t.Fatalf("%+v", r)
			}
			fileContains(s, filepath.Join(out.config(), "session"), token)
		}),
		cli("login --first-user-email", func(s *session) {
			if s.w.firstLogin.code != 0 {
				s.t.Errorf("%+v", s.w.firstLogin)
			}
		}),
		cli("exp mcp server", mcpCommand), cli("external-auth access-token", accessToken),
		rest("ANY /api/experimental/mcp/http", mcpOverHTTP),
		rest("GET /api/v2/workspaces q=", func(s *session) {
			s.get("/api/v2/workspaces?q=&limit=100&offset=0").want(200).fields("count integer", "workspaces some")
		}),
		rest("GET /api/v2/workspaceagents/me/external-auth", agentExternalAuth), rest("PATCH /api/v2/workspaceagents/me/app-status", appStatus),
		rest("GET /install.sh", installs),
		errors_(stageHeadings, "build output lines"), errors_(notLoggedIn, "not logged in"),
		env(tokenFromEnvironment, "CODER_URL", "CODER_SESSION_TOKEN"), env(configDir, "CODER_CONFIG_DIR"),
		env(func(s *session) {
			// The same login from environment variables fails, because the user exists.
			out := s.signedOut().env("CODER_FIRST_USER_EMAIL=x@example.com", "CODER_FIRST_USER_USERNAME=x", "CODER_FIRST_USER_FULL_NAME=X", "CODER_FIRST_USER_PASSWORD="+ownerPassword, "CODER_FIRST_USER_TRIAL=false")
			if r := out.coder("login", s.w.url); r.code == 0 || strings.Contains(r.errs, "unknown") {
				s.t.Errorf("%+v", r)
			}
		}, "CODER_FIRST_USER_EMAIL"),
	}}
}

// createWithEverything creates a workspace with all options that scripts pass.
func createWithEverything(s *session) {
	name := s.name + "-all"
	org := textAt(s.get("/api/v2/organizations/default").want(200).json(), "name")
	version := textAt(s.get("/api/v2/templateversions/"+s.template("plain", "active_version_id")).want(200).json(), "name")
	path := filepath.Join(s.t.TempDir(), "parameters.yaml")
	s.must(os.WriteFile(path, []byte("size: \"2\"\n"), 0o600))
	s.ok("create", name, "--yes", "--template", "plain", "--template-version", version, "--rich-parameter-file", path, "--use-parameter-defaults",
		"--ephemeral-parameter", "debug=on", "--stop-after", "3h", "--automatic-updates", "always", "--org", org, "--preset", "none")
	v := s.get("/api/v2/users/me/workspace/"+name).want(200).fields("automatic_updates =always", "ttl_ms =1.08e+07")
	parameters := wholeJSON(s.get("/api/v2/workspacebuilds/" + textAt(v, "latest_build.id") + "/parameters").want(200).json())
	if !strings.Contains(parameters, `"value":"2"`) {
		s.t.Errorf("parameters %s", parameters)
	}
	s.ok("delete", name, "--yes")
	other := s.name + "-preset"
	s.ok("create", other, "--yes", "--template", "plain", "--preset", "Large", "--parameter", "debug=off")
	s.ok("delete", other, "--yes")
}

func configSSH(s *session) {
	out := s.freshHome()
	args := []string{"config-ssh", "--yes", "--coder-binary-path", s.w.bin, "--ssh-option", "ForwardAgent=no"}
	path := filepath.Join(out.dir, ".ssh", "config")
	out.ok(append(args, "--dry-run")...)
	if _, err := os.Stat(path); err == nil {
		s.t.Error("a dry run wrote the file")
	}
	if r := out.coder(args...); r.code != 0 || !strings.Contains(r.out+r.errs, "Updated") {
		s.t.Errorf("%+v", r)
	}
	if r := out.coder(args...); r.code != 0 || !strings.Contains(r.out+r.errs, "No changes to make") {
		s.t.Errorf("%+v", r)
	}
	for _, host := range []string{"coder.dev", "dev.coder"} {
		if r := out.exec("", "ssh", "-F", path, host, "echo", "hi"); r.out != "hi\n" {
			s.t.Errorf("%s: %+v", host, r)
		}
	}
}

// installs runs the installation script of the server with a new directory.
func installs(s *session) {
	a := s.get("/install.sh", "Coder-Session-Token", "").want(http.StatusOK)
	if !strings.HasPrefix(string(a.body), "#!/bin/sh") && !strings.HasPrefix(string(a.body), "#!/usr/bin/env") {
		s.t.Fatalf("no script: %.200s", a.body)
	}
	prefix := s.t.TempDir()
	if r := s.exec(string(a.body), "sh", "-s", "--", "--prefix", prefix); r.code != 0 {
		s.t.Fatalf("%+v", r)
	}
	r := s.exec("", filepath.Join(prefix, "bin", "coder"), "version", "--output", "json")
	if v := textAt(decode(s.t, []byte(r.out)), "version"); v != s.serverVersion() {
		s.t.Errorf("the installed program has the version %q", v)
	}
}
