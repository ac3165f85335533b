package clienttest

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// newToken creates a session token with the API.
func (s *session) newToken(name string) string {
	s.t.Helper()
	v := s.send("POST", "/api/v2/users/me/keys/tokens", map[string]any{"token_name": s.name + "-" + name, "lifetime": int64(3600e9)}).want(http.StatusCreated).fields("key text")
	return textAt(v, "key")
}

// sshFails checks that a ProxyCommand that cannot connect fails with a text.
func (s *session) sshFails(host string, args ...string) {
	s.t.Helper()
	r := s.coder(append(args, host)...)
	if r.code == 0 || strings.TrimSpace(r.errs) == "" || r.out != "" {
		s.t.Errorf("%q: exit status %d, %q, %q", args, r.code, r.out, r.errs)
	}
}

// tasksPanelHidden checks that the extension hides the tasks panel. The version is
// above the range that shows the panel. A devel version passes every gate, so it
// passes the upper one too.
func tasksPanelHidden(s *session) {
	s.versionAgainst(develSemver, "2.35.0", true)
	tasksAbsent(s)
}

// newEditorNames checks the requests of newer extensions. A devel version passes the
// gate of 2.38.0, so these extensions pass --allow-redirects and the name of the
// editor.
func newEditorNames(s *session) {
	s.versionAgainst(develSemver, "2.38.0", true)
	for _, editor := range []string{"cursor", "windsurf"} {
		prefix := "coder-" + editor + ".test--"
		s.proxied(prefix+owner+"--dev.main", editor, "--allow-redirects", "--global-config", s.config(), "ssh", "--stdio", "--usage-app="+editor,
			"--network-info-dir", s.t.TempDir(), "--ssh-host-prefix", prefix, "%h")
	}
}

func versionAsJSON(s *session) {
	if cli, server := s.cliVersion(), s.serverVersion(); cli != server || cli == "" {
		s.t.Errorf("the command line is %q, the server %q", cli, server)
	}
}

func loginWithToken(s *session) {
	for _, globals := range [][]string{{}, {"--url", s.w.url}, {"--global-config", "other"}} {
		out, token := s.signedOut(), s.newToken("login"+strconv.Itoa(len(globals))+strconv.Itoa(len(strings.Join(globals, ""))))
		out.env("CODER_SESSION_TOKEN=" + token).ok(append(globals, "login", "--use-token-as-session", s.w.url)...)
		if v := out.json(append(globals, "whoami", "--output=json")...); textAt(v, "0.username") != owner {
			s.t.Errorf("%q: %s", globals, shortJSON(v))
		}
	}
}

func loginToken(s *session) {
	if out := s.ok("--global-config", s.config(), "login", "token", "--url", s.w.url); strings.TrimSpace(out) != s.token {
		s.t.Errorf("the output is no token: %d bytes", len(out))
	}
	if r := s.signedOut().coder("login", "token", "--url", s.w.url); r.code == 0 || r.out != "" {
		s.t.Errorf("without a token: exit status %d, %d bytes", r.code, len(r.out))
	}
}

func logout(s *session) {
	out, token := s.signedOut(), s.newToken("logout")
	out.ok("login", s.w.url, "--use-token-as-session", "--token", token)
	out.ok("--global-config", out.config(), "logout", "--url", s.w.url, "--yes")
	if b, err := os.ReadFile(filepath.Join(out.config(), "session")); err == nil && len(b) > 0 {
		s.t.Error("the token is left")
	}
}

// updateStopped updates a stopped workspace with closed standard input. The
// workspace must start, and the CLI must not prompt.
func updateStopped(s *session) {
	name := s.createPlain(true)
	s.ok("--global-config", s.config(), "update", "--parameter", "size=2", owner+"/"+name)
	b := s.latestBuild(name)
	checkFields(s.t, b, "transition =start", "status =running")
	s.get("/api/v2/workspacebuilds/"+textAt(b, "id")+"/parameters").want(200).fields("some", "[].name text")
}

func speedtest(s *session) {
	v := s.json("--global-config", s.config(), "speedtest", owner+"/dev", "--output", "json", "-t", "1s")
	numbers := []string{"start_time_seconds number", "end_time_seconds number", "throughput_mbits number"}
	for _, n := range numbers {
		checkFields(s.t, v, "overall."+n, "intervals[]."+n)
	}
}

func netcheck(s *session) {
	r := s.coder("--global-config", s.config(), "netcheck")
	checkFields(s.t, decode(s.t, []byte(r.out)),
		"derp.severity text", "derp.warnings array|null", "derp.error string|null|absent", "derp.regions object|null", "derp.netcheck object|null", "derp.netcheck_err string|null|absent",
		"derp.regions{}.severity string|absent|null", "derp.regions{}.region object|null", "derp.regions{}.node_reports array|null",
		"derp.netcheck.UDP boolean", "derp.netcheck.IPv4 boolean", "derp.netcheck.IPv6 boolean", "derp.netcheck.MappingVariesByDestIP boolean|null|string",
		"derp.netcheck.PreferredDERP number", "derp.netcheck.RegionLatency object|null",
		"interfaces.severity text", "interfaces.warnings array|null", "interfaces.error string|null|absent", "interfaces.interfaces some",
		"interfaces.interfaces[].name text", "interfaces.interfaces[].mtu integer", "interfaces.interfaces[].addresses array")
}

func supportBundle(s *session) {
	path, extra := filepath.Join(s.t.TempDir(), "bundle.zip"), filepath.Join(s.w.facts["HOME"], "notes.txt")
	s.must(os.WriteFile(extra, []byte("noted"), 0o600))
	s.ok("--global-config", s.config(), "support", "bundle", owner+"/dev", "--output-file", path, "--yes", "--workspace-file", extra)
	zipHas(s, path, "notes.txt")
}

func pingUntilInterrupted(s *session) {
	b := s.startCoder("--global-config", s.config(), "ping", owner+"/dev")
	b.waitForOutput(`(?s)ms.*\n.*ms`)
	b.interrupt()
}

func vscodeSSH(s *session) {
	dir := s.t.TempDir()
	token, url, logs := filepath.Join(dir, "token"), filepath.Join(dir, "url"), filepath.Join(dir, "logs")
	s.must(os.WriteFile(token, []byte(s.token), 0o600))
	s.must(os.WriteFile(url, []byte(s.w.url), 0o600))
	s.must(os.Mkdir(logs, 0o700))
	s.signedOut().proxied(vscodeHost(s), "vscode", "vscodessh", "--network-info-dir", dir, "--log-dir", logs, "-v", "--session-token-file", token, "--url-file", url, "%h")
	checkLogFile(s, logs)
}

func configFiles(s *session) {
	out := s.signedOut()
	s.must(os.WriteFile(filepath.Join(out.config(), "url"), []byte(s.w.url+"\n"), 0o600))
	s.must(os.WriteFile(filepath.Join(out.config(), "session"), []byte(s.token), 0o600))
	out.ok("--global-config", out.config(), "whoami")
	fresh, token := s.signedOut(), s.newToken("files")
	fresh.ok("login", s.w.url, "--use-token-as-session", "--token", token)
	fileContains(s, filepath.Join(fresh.config(), "session"), token)
	fileContains(s, filepath.Join(fresh.config(), "url"), s.w.url)
}

// configSSHBlock checks that the block of config-ssh has the markers that the
// extension searches for, and the options of the last run.
func configSSHBlock(s *session) {
	out := s.freshHome()
	out.ok("config-ssh", "--yes", "--ssh-option", "ForwardAgent=yes")
	b, err := os.ReadFile(filepath.Join(out.dir, ".ssh", "config"))
	s.must(err)
	text := string(b)
	begin, end := strings.Index(text, "START-CODER-"), strings.Index(text, "END-CODER-")
	if begin < 0 || end < begin || !strings.Contains(text[begin:end], "# :ssh-option=ForwardAgent=yes\n") {
		s.t.Errorf("no block with the option:\n%s", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "START-CODER") && !(strings.HasPrefix(line, "# -") && strings.HasSuffix(line, "-")) {
			s.t.Errorf("the mark %q is no hash, dashes, word, dashes", line)
		}
	}
}

// freshHome returns a signed-in session with a new HOME.
func (s *session) freshHome() *session {
	s.t.Helper()
	out := s.signedOut()
	out.token = s.token
	s.must(os.WriteFile(filepath.Join(out.config(), "url"), []byte(s.w.url), 0o600))
	s.must(os.WriteFile(filepath.Join(out.config(), "session"), []byte(s.token), 0o600))
	return out
}

func unknownFlag(s *session) { s.fails("unknown flag: --nonsense", "version", "--nonsense") }

// errorBodies checks that every rejected request gets an error response.
func errorBodies(s *session) {
	s.get("/api/v2/workspaces/" + someID).refused(404)
	s.get("/api/v2/workspaces/nonsense").refused(400)
	s.get("/api/v2/nonsense").refused(404)
	s.get("/api/v2/workspaces"+query("nonsense:1")).refused(400, "validations", "not a valid query param")
	s.send("DELETE", "/api/v2/buildinfo", nil).refused(405)
	s.send("POST", "/api/v2/users/me/workspaces", strings.NewReader("{")).refused(400)
	s.send("POST", "/api/v2/users/me/workspaces", map[string]any{"template_id": s.template("plain", "id"), "name": "dev"}).refused(409, "already exists")
	s.get("/api/v2/users/me", "Coder-Session-Token", "").refused(401)
}

func invalidToken(s *session) {
	s.get("/api/v2/users/me", "Coder-Session-Token", "nonsense-token").refused(401)
}

// expiredToken checks the detail of the error response, by which clients distinguish
// an expired token from an invalid one.
func expiredToken(s *session) {
	v := s.send("POST", "/api/v2/users/me/keys/tokens", map[string]any{"token_name": s.name + "-short", "lifetime": int64(1e9)}).want(http.StatusCreated).json()
	token := textAt(v, "key")
	var a answer
	s.waitUntil(func() bool {
		a = s.get("/api/v2/users/me", "Coder-Session-Token", token)
		return a.status == 401
	}, func() string { return "a token that expires" })
	a.refused(401)
	if detail := textAt(a.json(), "detail"); !strings.Contains(detail, "API key expired") {
		s.t.Errorf("detail %q", detail)
	}
}

// dashboardPages checks that the paths that clients open in a browser serve the
// dashboard.
func dashboardPages(paths ...string) func(*session) {
	return func(s *session) {
		for _, path := range paths {
			a := s.get(path, "Coder-Session-Token", "", "Accept", "text/html").want(200)
			if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
				s.t.Errorf("%s is %s", path, a.header.Get("Content-Type"))
			}
		}
	}
}

// openVSCode checks that the CLI prints the URL if no editor is installed.
func openVSCode(s *session) {
	r := s.coder("open", "vscode", "dev", "/tmp", "--generate-token")
	if !strings.Contains(r.out+r.errs, "vscode://coder.coder-remote/open?") || !strings.Contains(r.out+r.errs, "token=") {
		s.t.Errorf("exit status %d\n%s%s", r.code, r.out, r.errs)
	}
}

func tokenFromEnvironment(s *session) {
	out := s.signedOut().env("CODER_URL="+s.w.url, "CODER_SESSION_TOKEN="+s.token)
	checkFields(s.t, out.json("whoami", "--output", "json"), "[].username ="+owner)
	out.ok("list")
}

// headerCommand checks that each line of the header command's output becomes a
// header of every request. The command is set by flag or by environment variable,
// and gets CODER_URL in its environment.
func headerCommand(s *session) {
	seen := headerServer(s)
	out := s.signedOut()
	script := "echo X-From-Command=$CODER_URL; echo X-Second=2"
	for _, run := range []func(){
		func() { out.coder("--url", seen.url, "--header-command", script, "login", "--token", "x") },
		func() { out.env("CODER_HEADER_COMMAND="+script).coder("--url", seen.url, "login", "--token", "x") },
		func() {
			out.env("CODER_HEADER=X-From-Command="+seen.url+",X-Second=2").coder("--url", seen.url, "login", "--token", "x")
		},
	} {
		run()
		if h := seen.last(); h.Get("X-From-Command") != seen.url || h.Get("X-Second") != "2" {
			s.t.Errorf("headers %v", h)
		}
	}
}

func sshLogDir(s *session) {
	dir := s.t.TempDir()
	s.env("CODER_SSH_LOG_DIR="+dir).proxied(vscodeHost(s), "", "ssh", "--stdio", "-v", "--ssh-host-prefix", "coder-vscode.test--", "%h")
	checkLogFile(s, dir)
}

// sshConfigOptions checks that config-ssh accepts the options that the plug-in sets
// for its own block.
func sshConfigOptions(s *session) {
	out := s.freshHome().env("CODER_SSH_CONFIG_OPTS=ForwardX11=yes")
	out.ok("config-ssh", "--yes")
	b, err := os.ReadFile(filepath.Join(out.dir, ".ssh", "config"))
	if err != nil || !strings.Contains(string(b), "ForwardX11=yes") {
		s.t.Errorf("%v\n%s", err, b)
	}
}

func configDir(s *session) {
	out := s.signedOut()
	dir := filepath.Join(out.dir, "elsewhere")
	s.must(os.MkdirAll(dir, 0o700))
	s.must(os.WriteFile(filepath.Join(dir, "url"), []byte(s.w.url), 0o600))
	s.must(os.WriteFile(filepath.Join(dir, "session"), []byte(s.token), 0o600))
	out.env("CODER_CONFIG_DIR=" + dir).ok("whoami")
}

func globalFlags(s *session) {
	s.ok("--url", s.w.url, "--header-command", "echo X-A=b", "--global-config", s.config(), "list")
	s.ok("list", "--global-config", s.config())
	s.ok("list", "--global-config="+s.config(), "--")
}

func userAgent(agent string) func(*session) {
	return func(s *session) { s.get("/api/v2/users/me", "User-Agent", agent).want(200) }
}

func knownWords(s *session) {
	v := s.get("/api/v2/workspaces").want(200).json()
	all, _ := at(v, "workspaces").([]any)
	for _, workspace := range all {
		s.checkStatuses(workspace)
	}
}

// namesRefused checks that the server rejects the names that the plug-ins discard.
func namesRefused(s *session) {
	for _, name := range []string{"two--hyphens", "-first", "last-", "under_score", "dot.ted", strings.Repeat("x", 33), "new", "create"} {
		s.send("POST", "/api/v2/users/me/workspaces", map[string]any{"template_id": s.template("plain", "id"), "name": name}).refused(400)
	}
}
