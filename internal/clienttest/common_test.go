package clienttest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
)

// common returns the rows for facts that all clients rely on.
func common() client {
	fact := func(topic string, run func(*session)) row { return row{commonSection, []string{topic}, run} }
	return client{commonSection, []row{
		fact("authentication", currentUser),
		fact("error body", all(errorBodies, forbidden, provedBy("internal/httpapi.TestRateLimit", "internal/agentapi.TestREST"))),
		fact("error texts that clients match", all(expiredToken, errorBodies, unknownFlag, notLoggedIn, stageHeadings,
			provedBy("internal/clienttest.configSSH", "internal/httpapi.TestAnswersThatClientsMatch"))),
		fact("version", all(oneVersion, versionAsJSON)),
		fact("version that suits all clients", func(s *session) {
			for _, threshold := range []string{"2.31.0", "2.32.0"} {
				s.versionAgainst(develSemver, threshold, true)
				s.versionAgainst(plainSemver, threshold, true)
			}
			s.versionAgainst(strictSemver, "3.0.0", false)
		}),
		fact("buildinfo", buildInfo),
		fact("success codes", all(upload, createVersion, createTemplate, versionSucceeds, deleteTemplate, createWorkspace("/api/v2/users/USER/workspaces"),
			func(s *session) { s.newToken("created") }, provedBy("internal/servertest.TestContract"))),
		fact("enumerations", knownWords),
		fact("nulls", neverNull),
		fact("names", all(namesRefused, provedBy("internal/terraform.TestShapes"))),
		fact("slashes", all(appStatus, workspaceEnv("CODER_AGENT_URL"), terraformFacts, provedBy("internal/httpapi.TestPathsOfClients"))),
		fact("unknown paths", absent("GET /api/v2/nonsense", "POST /api/v2/nonsense", "GET /api/experimental/nonsense", "GET /api/v9/users/me", "GET /.well-known/nonsense")),
		fact("unknown fields and queries", all(createWorkspace("/api/v2/organizations/ORG/members/USER/workspaces"), followAgentLogs)),
		fact("header command", all(headerCommand, headerOfWebSockets)),
		fact("CLI words", all(globalFlags, unknownFlag, unknownCommand("nonsense"), unknownCommand("templates", "nonsense"), func(s *session) {
			s.json("list", "-o", "json")
			s.json("list", "--output=json")
			s.ok("ssh", "--wait=no", "dev", "--", "echo", "--not-a-flag")
		})),
		fact("CLI ssh", func(s *session) {
			for _, host := range []string{owner + "--dev.main", owner + "--dev", "dev"} {
				for _, wait := range []string{"yes", "no", "auto"} {
					s.proxied("prefix-"+host, "", "ssh", "--stdio", "--usage-app=disable", "--disable-autostart", "--wait="+wait, "--network-info-dir", s.t.TempDir(),
						"--network-info-interval", "1s", "--log-dir", s.t.TempDir(), "-v", "--ssh-host-prefix", "prefix-", "--hostname-suffix", "suffix", "%h")
				}
			}
			for _, target := range []string{owner + "/dev", owner + "/dev.main"} {
				s.proxied("any", "", "ssh", "--stdio", target)
			}
		}),
		fact("files of the CLI", all(configFiles, configDir)),
		fact("binaries", all(downloads, noSignature, platforms("coder-linux-amd64", "coder-linux-arm64", "coder-linux-armv7", "coder-darwin-amd64", "coder-darwin-arm64",
			"coder-windows-amd64.exe", "coder-windows-arm64.exe"))),
		fact("install script", installs),
		fact("OAuth 2 provider", all(toolboxOAuth.uses, muxOAuth.replaces, backstageOAuthWithoutRedirect)),
		fact("WebSockets", all(refusedHandshakes, watchWorkspace, followBuildLogs)),
	}}
}

// forbidden checks that requests without permission get an error response.
func forbidden(s *session) {
	s.member().get("/api/v2/deployment/config").refused(http.StatusForbidden)
}

// stageHeadings checks the lines that start the stages of a build. Scripts search
// for them.
func stageHeadings(s *session) {
	r := s.coder("restart", s.createPlain(false), "--yes")
	if !strings.Contains("\n"+r.out+r.errs, "\n==>") {
		s.t.Errorf("no stage heading: %+v", r)
	}
}

// neverNull checks fields that are never null, even for a user without workspaces.
func neverNull(s *session) {
	user := s.member()
	user.get("/api/v2/workspaces").want(200).fields("workspaces array", "count =0")
	user.get("/api/v2/appearance").want(200).fields("application_name string")
	user.get("/api/v2/entitlements").want(200).fields("features object")
	s.get("/api/v2/workspaces").want(200).fields(workspaceFields("workspaces[].")...)
	templates, _ := s.get("/api/v2/templates").want(200).json().([]any)
	for _, template := range templates {
		for name, value := range template.(map[string]any) {
			if value == nil {
				s.t.Errorf("%s of a template is null", name)
			}
		}
	}
}

// headerOfWebSockets checks that WebSocket requests of the CLI have the header from
// the header command.
func headerOfWebSockets(s *session) {
	to, err := url.Parse(s.w.url)
	s.must(err)
	var with, without atomic.Int32
	forward := httputil.NewSingleHostReverseProxy(to)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			if r.Header.Get("X-From-Command") == "yes" {
				with.Add(1)
			} else {
				without.Add(1)
			}
		}
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	defer proxy.CloseClientConnections()
	s.ok("--url", proxy.URL, "--header-command", "echo X-From-Command=yes", "ssh", "dev", "--", "true")
	if with.Load() == 0 || without.Load() > 0 {
		s.t.Errorf("%d WebSockets with the header, %d without", with.Load(), without.Load())
	}
}

// backstageOAuthWithoutRedirect checks that an application with one redirect URI can
// omit it from requests.
func backstageOAuthWithoutRedirect(s *session) {
	id, _ := s.portalSignIn("Portal", "https://portal.example.com/callback", nil)
	s.send("DELETE", "/api/v2/oauth2-provider/apps/"+id, nil).want(204)
}

// differences returns the rows for faults that clients once had with this product.
// The rows check that the faults are fixed.
func differences() client {
	fault := func(id string, run ...func(*session)) row { return row{differenceSection, []string{id}, all(run...)} }
	const (
		code, toolbox, coderd = "VS Code extension", "JetBrains Toolbox", "Terraform provider coderd"
		operator, modules     = "Kubernetes operator", "Registry modules"
		scripts               = "Third-party scripts"
	)
	answers := provedBy("internal/httpapi.TestAnswersThatClientsMatch")
	paths := provedBy("internal/httpapi.TestPathsOfClients")
	return client{differenceSection, []row{
		fault("D01", provedByRow(code, gateSection, "0.25.0")),
		fault("D02", provedByRow(code, cliSection, "<globals> ssh [--disable-autostart]")),
		fault("D03", provedByRow(code, cliSection, "<globals> start"), provedByRow(toolbox, cliSection, "--global-config <dir>/config start")),
		fault("D04", func(s *session) { s.ok("ssh", "--force-new-tunnel", "dev", "--", "true") }),
		fault("D05", provedByRow(code, cliSection, "vscodessh")),
		fault("D06", provedByRow(operator, restSection, "POST /api/v2/organizations/{org}/templates"), provedByRow("Gerrit", restSection, "POST /api/v2/users/{user}/workspaces"),
			provedByRow("Gerrit", restSection, "POST /api/v2/organizations/{org}/members"), provedByRow("Backstage", restSection, "POST /oauth2/tokens")),
		fault("D07", answers, func(s *session) { s.send("POST", "/api/v2/notifications/test", nil).want(http.StatusNoContent) }),
		fault("D08", provedByRow(coderd, restSection, "GET /api/v2/organizations/{org}/members/"), paths),
		fault("D09", provedByRow(code, socketSection, "/api/v2/workspaceagents/{id}/logs"), provedBy("internal/httpapi.TestBareFollow")),
		fault("D10", answers, func(s *session) {
			s.get("/api/v2/users/me/keys/tokens").want(200).fields("some", "[].allow_list strings", "[].username ="+owner)
		}),
		fault("D11", provedByRow(coderd, restSection, "PUT /api/v2/users/{id}/roles")),
		fault("D12", provedByRow(operator, errorSection, "409 whose message")),
		fault("D13", provedByRow(operator, restSection, "POST /api/v2/organizations/{org}/templates"), provedBy("internal/httpapi.TestTemplateOfARunningImport")),
		fault("D14", plainConfiguration),
		fault("D15", provedByRow(commonSection, commonSection, "unknown paths"), paths),
		fault("D16", provedByRow(coderd, restSection, "PATCH /api/v2/organizations/{org}/settings/idpsync/"), answers),
		fault("D17", provedByRow(code, restSection, "GET /api/v2/workspaces q="), answers),
		fault("D18", provedByRow(code, downloadSection, "/bin/coder-<os>-<arch>[.exe]")),
		fault("D19", provedByRow(commonSection, commonSection, "binaries")),
		fault("D20", provedByRow(code, socketSection, "/api/v2/notifications/inbox/watch"), provedByRow(scripts, cliSection, "external-auth access-token"),
			provedByRow(code, restSection, "GET /.well-known/oauth-authorization-server"), provedByRow(coderd, restSection, "POST /api/v2/licenses"),
			provedBy("internal/servertest.TestContract"), tasksAbsent, aiGatewayAbsent, tailnetAbsent),
		fault("D21", provedByRow(code, cliSection, "<globals> support bundle")),
		fault("D22", provedByRow(modules, cliSection, "boundary --help")),
		fault("D23", provedByRow(scripts, cliSection, "exp mcp server"), provedByRow(modules, cliSection, "exp mcp configure"), firewallAbsent,
			func(s *session) { s.ok("exp", "scaletest", "--help") }),
		fault("D24", provedByRow(code, cliSection, "<globals> netcheck")),
		fault("D25", provedByRow(modules, gateSection, "Terraform 1.12")),
		fault("D26", provedByRow("Observability chart", noteSection, "metrics in its dashboards")),
		fault("D27", provedByRow(coderd, restSection, "PATCH /api/v2/templates/{id}")),
		fault("D28", provedByRow(coderd, restSection, "POST /api/v2/organizations/{org}/templateversions"), provedByRow(coderd, restSection, "POST /api/v2/users")),
		fault("D29", func(s *session) {
			s.get("/api/v2/workspaces/" + someID).refused(http.StatusNotFound)
			s.send("DELETE", "/api/v2/templates/"+s.template("dev", "id"), nil).refused(http.StatusPreconditionFailed)
		}),
		fault("D30", provedByRow(scripts, cliSection, "create"), func(s *session) { s.fails("container", "open", "vscode", "dev", "--container", "missing") }),
		fault("D31", provedByRow(modules, envSection, "CODER_AGENT_SOCKET_SERVER_ENABLED")),
		fault("D32", provedByRow("Packagers", cliSection, "version"), provedByRow("Packagers", cliSection, "netcheck")),
		fault("D33", provedByRow("Mux", cliSection, "templates list"), provedByRow("Mux", cliSection, "templates presets list")),
		fault("D34", provedByRow(modules, restSection, "PATCH /api/v2/workspaceagents/me/app-status"), paths),
		fault("D35", answers, func(s *session) { s.get("/api/v2/experiments/available").want(200).fields("safe array") }),
		fault("D36", provedByRow(code, restSection, "GET /api/v2/templates/{id}"), provedByRow(code, restSection, "GET /api/v2/templateversions/{id}/presets"), func(s *session) {
			s.get("/api/v2/deployment/config").want(200).fields("config.config_ssh.DeploymentName string", "config.config_ssh.SSHConfigOptions array|null")
		}),
		fault("D37", provedByRow("start-workspace-action", restSection, "GET /api/v2/users q=github")),
		fault("D38", provedByRow(scripts, restSection, "GET /install.sh")),
		fault("D39", provedByRow(toolbox, errorSection, "401 whose detail")),
		fault("D40", provedByRow(coderd, restSection, "PUT /api/v2/users/{id}/password")),
		fault("D41", provedByRow("Coder Desktop for macOS", restSection, "GET /api/v2/workspaceagents/connection")),
		fault("D42", provedByRow(code, fileSection, "~/.ssh/config"), provedByRow(scripts, cliSection, "config-ssh")),
		fault("D43", provedByRow(code, errorSection, "stderr `unknown flag")),
		fault("D44", provedByRow("Packagers", cliSection, "version")),
		fault("D45", provedByRow("Gerrit", noteSection, "runs in a browser"), provedBy("internal/httpapi.TestPreflightWithoutTheOption", "internal/httpapi.TestPathsOfClients")),
	}}
}

// plainConfiguration checks that the deployment configuration has URLs and addresses
// as strings, and lists as arrays.
func plainConfiguration(s *session) {
	fields := []string{"options some", "config.support.links array|null", "config.external_auth array|null"}
	for _, name := range []string{
		"access_url", "docs_url", "agent_fallback_troubleshooting_url", "derp.server.relay_url", "oidc.icon_url", "telemetry.url",
		"notifications.webhook.endpoint", "address", "prometheus.address", "pprof.address", "tls.address",
	} {
		fields = append(fields, "config."+name+" string")
	}
	s.get("/api/v2/deployment/config").want(200).fields(fields...)
}

// provedByRow marks an entry that a row of a client proves. client and entry can be
// prefixes of the names.
func provedByRow(client, section, entry string) func(*session) {
	return func(s *session) {
		for _, c := range clients() {
			if !strings.HasPrefix(c.name, client) {
				continue
			}
			for _, r := range c.rows {
				if r.section == section && len(beginningWith(entry, r.entries)) == 1 {
					return
				}
			}
		}
		s.t.Errorf("%s has no row %s %q", client, section, entry)
	}
}
