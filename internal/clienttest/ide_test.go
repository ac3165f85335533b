package clienttest

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
)

func visualStudioCode() client {
	return client{"VS Code extension", []row{
		gate("0.25.0", all(oneVersion, func(s *session) { s.versionAgainst(develSemver, "0.25.0", true) })),
		passes("2.4.0", develSemver, "2.4.0"), passes("2.10.0", develSemver, "2.10.0"), passes("2.19.0", develSemver, "2.19.0"),
		passes("2.24.0", develSemver, "2.24.0"), passes("2.25.0", develSemver, "2.25.0"), passes("2.29.0, CLI", develSemver, "2.29.0"),
		passes("2.31.0", develSemver, "2.32.0"), gate("2.29.0 and below 2.35.0", tasksPanelHidden), passes("2.36.0", develSemver, "2.36.0"),
		gate("2.38.0", newEditorNames),
		cli("version --output json", versionAsJSON),
		cli("<globals> login --use-token-as-session", loginWithToken), cli("<globals> login token", loginToken), cli("<globals> logout", logout),
		cli("<globals> start", startsWith("vscode_connection", "--global-config", "config", "start", "--yes", "--reason", "vscode_connection", "WORKSPACE")),
		cli("<globals> update", updateStopped), cli("<globals> speedtest", speedtest), cli("<globals> netcheck", netcheck),
		cli("<globals> support bundle", supportBundle), cli("<globals> ping", pingUntilInterrupted),
		cli("<globals> ssh <workspace>", func(s *session) {
			if out := s.ok("--global-config", "config", "ssh", "dev", "echo", "terminal"); out != "terminal\n" {
				s.t.Errorf("%q", out)
			}
		}),
		cli("<globals> ssh [--disable-autostart]", func(s *session) {
			logs, info := s.t.TempDir(), s.t.TempDir()
			s.proxied(vscodeHost(s), "vscode", "--global-config", s.config(), "ssh", "--disable-autostart", "--stdio", "--usage-app=vscode",
				"--network-info-dir", info, "--log-dir", logs, "-v", "--ssh-host-prefix", "coder-vscode.test--", "%h")
			checkLogFile(s, logs)
			s.waitForSessionType("vscode")
			s.sshFails("coder-vscode.test--"+owner+"--missing.main", "ssh", "--stdio", "--usage-app=vscode", "--ssh-host-prefix", "coder-vscode.test--")
		}),
		cli("vscodessh", vscodeSSH),
		rest("GET /api/v2/users/me", all(currentUser, invalidToken)), rest("GET /api/v2/buildinfo", buildInfo), rest("GET /api/v2/appearance", appearance),
		rest("GET /api/v2/workspaces q=", searchWorkspaces), rest("GET /api/v2/workspaces/{id}", oneWorkspace),
		rest("GET /api/v2/users/{owner}/workspace/{name} include", namedWorkspace), rest("GET /api/v2/deployment/ssh", deploymentSSH),
		rest("GET /api/v2/templates/{id}", oneTemplate), rest("GET /api/v2/templates q=has-ai-task", func(s *session) {
			s.get("/api/v2/templates" + query("has-ai-task:true")).want(200).fields("array")
		}),
		rest("GET /api/v2/templateversions/{id}", templateVersion), rest("GET /api/v2/templateversions/{id}/resources", versionResources),
		rest("GET /api/v2/templateversions/{id}/rich-parameters", richParameters), rest("GET /api/v2/templateversions/{id}/presets", versionPresets),
		rest("GET /api/v2/workspacebuilds/{id}/parameters", func(s *session) {
			id := textAt(s.latestBuild(s.createPlain(false)), "id")
			s.get("/api/v2/workspacebuilds/"+id+"/parameters").want(200).fields("some", "[].name text", "[].value string")
		}),
		rest("GET /api/v2/users/{owner}/workspace/{name}/builds/{number}", func(s *session) {
			s.get("/api/v2/users/"+owner+"/workspace/dev/builds/1").want(200).fields("build_number =1", "job.status =succeeded", "status text", "resources array")
		}),
		rest("POST /api/v2/workspaces/{id}/builds", all(buildFor("vscode_connection"), restartInOne)),
		rest("GET /api/v2/tasks q=", tasksAbsent), rest("GET /api/v2/tasks/me/{task id}", tasksAbsent), rest("POST /api/v2/tasks/me", tasksAbsent),
		rest("GET /api/v2/tasks/me/{task id}/logs", tasksAbsent), rest("POST /api/v2/tasks/me/{task id}/send", tasksAbsent),
		rest("POST /api/v2/tasks/me/{task id}/pause", tasksAbsent), rest("POST /api/v2/tasks/me/{task id}/resume", tasksAbsent),
		rest("DELETE /api/v2/tasks/me/{task id}", tasksAbsent), rest("POST /api/v2/workspaces/{id}/usage", postUsage("vscode", "jetbrains", "reconnecting-pty", "ssh")),
		rest("GET /.well-known/oauth-authorization-server", readOAuthMetadata), rest("POST <registration_endpoint>", vscodeOAuth.register),
		rest("POST <token_endpoint>", vscodeOAuth.uses), rest("POST <revocation_endpoint>", vscodeOAuth.uses),
		socket("/api/v2/workspaces/{id}/watch-ws", watchWorkspace), socket("/api/v2/workspaceagents/{id}/watch-metadata-ws", watchMetadata),
		socket("/api/v2/workspacebuilds/{id}/logs", followBuildLogs), socket("/api/v2/workspaceagents/{id}/logs", followAgentLogs),
		socket("/api/v2/notifications/inbox/watch", watchInbox), socket("no subprotocol", refusedHandshakes),
		download("/bin/coder-<os>-<arch>[.exe]", downloads), download("/bin/coder-<os>-<arch>[.exe].asc", noSignature),
		file("<config dir>/session", configFiles), file("<network info dir>", networkInfo("vscode", func(s *session, dir string) (string, []string) {
			return vscodeHost(s), []string{"ssh", "--stdio", "--usage-app=vscode", "--network-info-dir", dir, "--ssh-host-prefix", "coder-vscode.test--", "%h"}
		})),
		file("<log dir>", func(s *session) {
			dir := s.t.TempDir()
			s.proxied(vscodeHost(s), "", "ssh", "--stdio", "--log-dir", dir, "-v", "--ssh-host-prefix", "coder-vscode.test--", "%h")
			checkLogFile(s, dir)
		}),
		file("~/.ssh/config", configSSHBlock),
		errors_(unknownFlag, "stderr `unknown flag"), errors_(errorBodies, "API error body"), errors_(vscodeOAuth.errorCodes, "OAuth errors"),
		errors_(outside("clients show the errors of their TLS library"), "certificate errors"),
		urls(dashboardPages("/cli-auth", "/templates", "/@"+owner+"/dev", "/@"+owner+"/dev/settings", "/@"+owner+"/dev/builds/1"), "dashboard pages opened"),
		urls(openVSCode, "<scheme>://coder.coder-remote/open?"),
		urls(outside("the dashboard builds the URL of a dev container"), "<scheme>://coder.coder-remote/openDevContainer"),
		env(tokenFromEnvironment, "CODER_URL", "CODER_SESSION_TOKEN"), env(headerCommand, "CODER_HEADER_COMMAND"),
		env(outside("the extension reads these itself, for places of its own"), "CODER_BINARY_DESTINATION"), env(sshLogDir, "CODER_SSH_LOG_DIR"),
		notes(globalFlags, "<globals>"), notes(outside("the rows themselves end in less"), "REST time-out"), notes(all(vscodeOAuth.uses, vscodeNewerOAuth.uses), "OAuth scopes", "access tokens"),
	}}
}

// vscodeHost returns the host name that the extension uses for the workspace.
func vscodeHost(*session) string { return "coder-vscode.test--" + owner + "--dev.main" }

func toolbox() client {
	prefix := "coder-jetbrains-toolbox-test--"
	host := prefix + owner + "--dev.main"
	return client{"JetBrains Toolbox", []row{
		passes("2.5.0", strictSemver, "2.5.0"), passes("2.13.0", strictSemver, "2.13.0"), passes("2.19.0", strictSemver, "2.19.0"), passes("2.25.0", strictSemver, "2.25.0"),
		cli("version --output json", versionAsJSON),
		cli("login <url> --token", func(s *session) {
			out := s.signedOut()
			out.ok("login", s.w.url, "--token", s.newToken("toolbox"), "--global-config", filepath.Join(out.dir, "config"))
			checkFields(s.t, out.json("--global-config", filepath.Join(out.dir, "config"), "whoami", "-o", "json"), "[].username ="+owner)
		}),
		cli("--global-config <dir>/config start", startsWith("jetbrains_connection", "--global-config", "config", "start", "--yes", "--reason", "jetbrains_connection", "--", "WORKSPACE")),
		cli("--global-config <dir>/config --url", func(s *session) {
			logs := s.t.TempDir()
			s.proxied(host, "JetBrains", "--global-config", s.config(), "--url", s.w.url, "--header-command", "echo X-Test=1", "ssh", "--stdio", "--disable-autostart",
				"--network-info-dir", s.t.TempDir(), "--log-dir", logs, "-v", "--usage-app=jetbrains", "--ssh-host-prefix", prefix, "--", "%h")
			checkLogFile(s, logs)
			s.waitForSessionType("jetbrains")
			s.proxied("any", "JetBrains", "--global-config", s.config(), "--url", s.w.url, "ssh", "--stdio", "--usage-app=jetbrains", "--", owner+"/dev.main")
		}),
		rest("GET /api/v2/users/me", currentUser), rest("GET /api/v2/buildinfo", buildInfo), rest("GET /api/v2/appearance", appearance),
		rest("GET /api/v2/workspaces q=", searchWorkspaces), rest("GET /api/v2/workspaces/{id}", oneWorkspace),
		rest("GET /api/v2/templates", func(s *session) {
			s.get("/api/v2/templates").want(200).fields("some", "[].id uuid", "[].active_version_id uuid", "[].name text", "[].display_name string", "[].deprecated boolean")
		}),
		rest("GET /api/v2/templates/{id}", oneTemplate), rest("POST /api/v2/workspaces/{id}/builds", buildFor("jetbrains_connection")),
		rest("GET /.well-known/oauth-authorization-server", readOAuthMetadata), rest("POST <registration_endpoint>", toolboxOAuth.register), rest("POST <token_endpoint>", toolboxOAuth.uses),
		download("/bin/coder-<os>-<arch>[.exe]", downloads), download("/bin/\u2026.asc", noSignature),
		file("<network info dir>", networkInfo("JetBrains", func(_ *session, dir string) (string, []string) {
			return host, []string{"ssh", "--stdio", "--usage-app=jetbrains", "--network-info-dir", dir, "--ssh-host-prefix", prefix, "--", "%h"}
		})),
		file("<config dir>/url and session", configFiles), file("~/.ssh/config", outside("the plug-in writes its own block; the options are those of the command line's rows")),
		errors_(errorBodies, "error body must hold"), errors_(expiredToken, "401 whose detail"), errors_(toolboxOAuth.uses, "401 with a stored refresh token"),
		urls(outside("the plug-in opens and the dashboard builds it"), "jetbrains://gateway/coder"),
		urls(dashboardPages("/login?redirect=%2Fcli-auth", "/@"+owner+"/dev", "/"+owner+"/dev/terminal", "/templates/plain"), "pages opened"),
		env(headerCommand, "CODER_HEADER_COMMAND"), env(sshConfigOptions, "CODER_SSH_CONFIG_OPTIONS"), env(configDir, "CODER_CONFIG_DIR"), env(tokenFromEnvironment, "CODER_URL"),
		notes(userAgent("Coder Toolbox/0.9.3 (linux; amd64)"), "User-Agent"), notes(knownWords, "enum words", "lifecycle starting"), notes(namesRefused, "owners, workspaces and agents"),
		notes(toolboxOAuth.uses, "scope asked"),
	}}
}

func gateway() client {
	prefix := "coder-jetbrains-test--"
	host := prefix + owner + "--dev"
	return client{"JetBrains Gateway", []row{
		gate("0.12.9 and below 3.0.0", func(s *session) {
			s.versionAgainst(strictSemver, "0.12.9", true)
			s.versionAgainst(strictSemver, "3.0.0", false)
		}),
		passes("2.5.0", strictSemver, "2.5.0"), passes("2.13.0", strictSemver, "2.13.0"), passes("2.19.0", strictSemver, "2.19.0"), passes("2.25.0", strictSemver, "2.25.0"),
		cli("version --output json", versionAsJSON),
		cli("login <url> --use-token-as-session", func(s *session) {
			out, token := s.signedOut(), s.newToken("gateway")
			dir := filepath.Join(out.dir, "other")
			out.ok("login", s.w.url, "--use-token-as-session", "--token", token, "--global-config", dir)
			fileContains(s, filepath.Join(dir, "session"), token)
		}),
		cli("--global-config <dir> start", startsWith("jetbrains_connection", "--global-config", "config", "start", "--yes", "WORKSPACE", "--reason", "jetbrains_connection")),
		cli("--global-config <dir> [--header-command", func(s *session) {
			logs := s.t.TempDir()
			s.proxied(host, "JetBrains", "--global-config", s.config(), "--header-command", "echo X-Test=1", "--url", s.w.url, "ssh", "--stdio", "--disable-autostart",
				"--log-dir", logs, "--usage-app=jetbrains", "--ssh-host-prefix", prefix, "%h")
			s.proxied("coder-jetbrains-test-bg--"+owner+"--dev", "", "--global-config", s.config(), "--url", s.w.url, "ssh", "--stdio",
				"--usage-app=disable", "--ssh-host-prefix", "coder-jetbrains-test-bg--", "%h")
			s.proxied("any", "", "--global-config", s.config(), "--url", s.w.url, "ssh", "--stdio", "--usage-app=jetbrains", owner+"/dev.main")
		}),
		rest("GET /api/v2/users/me", currentUser), rest("GET /api/v2/buildinfo", buildInfo), rest("GET /api/v2/workspaces q=", searchWorkspaces),
		rest("GET /api/v2/users/{user}/workspace/{name}", namedWorkspace), rest("GET /api/v2/templates/{id}", oneTemplate),
		rest("GET /api/v2/templateversions/{id}/resources", versionResources), rest("POST /api/v2/workspaces/{id}/builds", buildFor("jetbrains_connection")),
		rest("GET <template_icon>", func(s *session) { s.get("/icon/docker.png", "Coder-Session-Token", "").want(200) }),
		download("/bin/coder-<os>-<arch>[.exe]", downloads),
		file("~/.ssh/config", outside("the plug-in writes its own block; the options are those of the command line's rows")), file("<config dir>/url and session", configFiles),
		errors_(all(errorBodies, invalidToken), "same error body"),
		urls(outside("the plug-in opens and the dashboard builds it"), "jetbrains-gateway://connect"),
		env(headerCommand, "CODER_HEADER_COMMAND"), env(sshConfigOptions, "CODER_SSH_CONFIG_OPTIONS"), env(configDir, "CODER_CONFIG_DIR"),
		notes(userAgent("Coder Gateway/2.23.1 (linux; amd64)"), "User-Agent"),
		notes(func(s *session) {
			out := s.overSSH(host, "", []string{"ssh", "--stdio", "--usage-app=disable", "--ssh-host-prefix", prefix, "%h"}, "-tt", "tty")
			_ = out
		}, "also runs OpenSSH itself"),
	}}
}

// fileContains checks that a file contains a text.
func fileContains(s *session, path, want string) {
	s.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(b)) != want {
		s.t.Errorf("%s: %d bytes, %v", path, len(b), err)
	}
}

// zipHas checks that a file is a zip archive with the members.
func zipHas(s *session, path string, members ...string) {
	s.t.Helper()
	z, err := zip.OpenReader(path)
	s.must(err)
	defer z.Close()
	for _, want := range members {
		found := false
		for _, f := range z.File {
			found = found || strings.HasSuffix(f.Name, want)
		}
		if !found {
			s.t.Errorf("%s has no %s", path, want)
		}
	}
}
