package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// bundleFiles reads a support bundle, with the files of the archives in it.
func bundleFiles(t *testing.T, file string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return filesOf(t, b)
}

// filesOf reads the bytes of a support bundle.
func filesOf(t *testing.T, b []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	var read func(prefix string, b []byte)
	read = func(prefix string, b []byte) {
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%s is no zip: %v", prefix, err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			out[prefix+f.Name] = string(content)
			if strings.HasSuffix(f.Name, ".zip") {
				read(prefix+f.Name+"/", content)
			}
		}
	}
	read("", b)
	return out
}

type bundleManifest struct {
	Workspace string
	Files     []struct{ Path string }
	Errors    []struct{ Part, Kind, Error string }
}

func manifestOf(t *testing.T, files map[string]string) (m bundleManifest) {
	t.Helper()
	if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil {
		t.Fatalf("manifest.json: %v\n%s", err, files["manifest.json"])
	}
	for _, f := range m.Files {
		if _, ok := files[f.Path]; !ok {
			t.Errorf("manifest.json names %s, which is not there", f.Path)
		}
	}
	return m
}

// planted are secrets as they appear in logs, scripts, sources and files. Each
// holds the word that must not be found, PLANT and a number, or is one.
func planted() (texts, words []string) {
	for i, form := range []string{
		"password=%s", "DB_PASSWORD=%s", `{"client_secret":"%s"}`, `{\"api_key\":\"%s\"}`, "postgres://coder:%s@db/coder",
		"Authorization: Bearer %s", "Authorization: Basic %s", "Cookie: coder_session_token=%s", "Set-Cookie: sid=%s; HttpOnly", "Coder-Session-Token: %s",
		"GET /callback?access_token=%s&x=1", "host=db password='%s' dbname=coder", "secret: %s", `token = "%s"`, "run --token %s",
		"run --db-password=%s", "machine git login ann password %s", "-----BEGIN RSA PRIVATE KEY-----\\n%s\\n-----END RSA PRIVATE KEY-----", "AWS_SECRET_ACCESS_KEY=%s", "private_key: %s",
		"AccountKey=%s;EndpointSuffix=x", "encryption_key=%s", "CODER_AGENT_TOKEN=%s", "CODER_PROVISIONER_DAEMON_PSK=%s", "redis://:%s@cache:6379",
		"https://hooks.slack.com/services/T0/B0/%s", "X-Api-Key: %s", `"passphrase": "%s"`, "credentials=%s", "session_cookie=%s",
	} {
		word := fmt.Sprintf("PLANT%02dabcdefgh", i)
		words, texts = append(words, word), append(texts, fmt.Sprintf(form, word))
	}
	for _, whole := range []string{
		"ghp_0123456789abcdefghijABCDEFGHIJ012345", "glpat-0123456789abcdefghij", "xoxb-0123456789-abcdefghij", "AKIAPLANTEDPLANTED12", "AIzaPlanted0123456789abcdefghijABCDEFGHI",
		"sk-planted0123456789abcdefghij", "npm_planted0123456789abcdefghijABCDEFGHI", "hvs.planted0123456789abcdefghij", "abcdeplant-abcdefghijklmnopqrplan", "eyJhbGciOiJub25lIn0.eyJwbGFudGVkIjoxfQ.c2lnbmF0dXJl",
	} {
		words, texts = append(words, whole), append(texts, "seen "+whole+" there")
	}
	return texts, words
}

// TestSupportBundle: a bundle of a workspace that runs has every part, and none
// of the secrets that were planted in the configuration, in logs of the server,
// the build, the agent and its scripts, in parameters, the template's source,
// the environment and a file of the workspace.
func TestSupportBundle(t *testing.T) {
	texts, words := planted()
	recent := &telemetry.Recent{}
	h := newHouse(t, func(c *server.Config) {
		c.Log, c.Observability.RecentLogs = slog.New(slog.NewTextHandler(recent, nil)), recent
		c.Provisioning.PSK = "planted-psk-of-the-server"
	})
	words = append(words, "planted-psk-of-the-server", "planted-parameter", "planted-env-of-the-caller", "planted-agent-env", h.Client.SessionToken)
	for _, s := range append(slices.Clone(texts), "the psk planted-psk-of-the-server was tried", "and "+h.Client.SessionToken) {
		recent.Write([]byte("level=WARN msg=" + s + "\n")) //nolint:errcheck // it never fails
	}
	var buildLog bytes.Buffer
	for _, s := range texts {
		b, err := json.Marshal(map[string]any{"log": map[string]string{"level": "INFO", "output": s}})
		h.must(err)
		buildLog.Write(append(b, '\n'))
	}
	const token = "5f0c7a3e-3c1a-4d2e-9f51-6a1c2b3d4e5f"
	dir := t.TempDir()
	h.must(os.WriteFile(filepath.Join(dir, "app.log"), []byte(strings.Join(texts, "\n")), 0o600))
	script, err := json.Marshal("cat " + filepath.Join(dir, "app.log"))
	h.must(err)
	h.template("whole", map[string]string{
		"apply.jsonl": buildLog.String(), "main.tf": strings.Join(texts, "\n"),
		"graph.jsonl": strings.ReplaceAll(`{"complete": {"parameters": [{"name": "api_token", "type": "string", "mutable": true, "defaultValue": "planted-parameter"}],
			"resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "`+token+`",
			"env": {"APP": "planted-agent-env"}, "scripts": [{"displayName": "start", "script": `+string(script)+`, "runOnStart": true}]}]}]}}`, "\n", ""),
	})
	h.template("source", map[string]string{"readme.md": strings.Join(texts, "\n")})
	h.ok("create", "dev", "-t", "whole", "--yes")
	h.agent(token)

	file := filepath.Join(dir, "bundle.zip")
	env := append(h.env(), "MY_APP_PASSWORD=planted-env-of-the-caller", "CODER_SUPPORT_BUNDLE_OUTPUT_FILE="+file)
	out, errs, status := runWith(env, "support", "bundle", "dev", "--yes", "--pprof", "--template", "source", "--workspace-file", filepath.Join(dir, "*.log"))
	if status != 0 || !strings.Contains(out, file) || !strings.Contains(errs, "deployment/health.json") {
		t.Fatalf("status %d, %s\n%s", status, out, errs)
	}
	files := bundleFiles(t, file)
	m := manifestOf(t, files)
	if len(m.Errors) > 0 || m.Workspace != "admin/dev" {
		t.Errorf("the manifest of a bundle without trouble: %+v", m)
	}
	for _, name := range []string{
		"deployment/buildinfo.json", "deployment/config.json", "deployment/health.json", "deployment/replicas.json", "deployment/metrics.txt", "deployment/logs.txt", "deployment/workspaces.json",
		"provisioners/coder/daemons.json", "provisioners/coder/queue.json", "provisioners/coder/jobs.json", "provisioners/coder/explanations.json",
		"network/netcheck.json", "network/connection_info.json", "network/coordinator_debug.json", "pprof/server/heap.pprof", "pprof/server/profile.pprof",
		"workspace/workspace.json", "workspace/parameters.json", "workspace/build_logs.txt", "workspace/builds.json", "workspace/template_version.json",
		"agent/agent.json", "agent/startup_logs.txt", "agent/logs.txt", "agent/manifest.json", "agent/listening_ports.json", "agent/prometheus.txt", "agent/connection.json", "agent/connections.json",
		"agent/netcheck.json", "deployment/notifications.json",
		"agent/extra_files/manifest.json", "agent/extra_files/files" + filepath.Join(dir, "app.log"), "template/template.json", "template/template_file.zip/readme.md", "cli_logs.txt",
	} {
		if files[name] == "" {
			t.Errorf("the bundle has no %s", name)
		}
	}
	noSecrets(t, files, words)
	for name, says := range map[string]string{
		"workspace/build_logs.txt": "GET /callback", "agent/startup_logs.txt": "GET /callback", "deployment/logs.txt": "GET /callback",
		"template/template_file.zip/readme.md": "GET /callback", "workspace/parameters.json": "api_token", "deployment/metrics.txt": "go_goroutines",
	} {
		if !strings.Contains(files[name], says) {
			t.Errorf("%s does not hold %q: %.300s", name, says, files[name])
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle's mode: %v, %v", info.Mode(), err)
	}
	if !strings.Contains(files["agent/netcheck.json"], `"can_exchange_messages": true`) {
		t.Errorf("the agent's network check: %s", files["agent/netcheck.json"])
	}
	h.dashboardBundle(words)
}

// noSecrets checks that no file contains one of the words.
func noSecrets(t *testing.T, files map[string]string, words []string) {
	t.Helper()
	for name, content := range files {
		for _, w := range words {
			if strings.Contains(content, w) {
				i := strings.Index(content, w)
				t.Errorf("%s holds the secret %s: %.80q", name, w, content[max(0, i-40):])
			}
		}
	}
}

// download creates a bundle as the dashboard does.
func (h *house) download(c *codersdk.Client, q url.Values) (files map[string]string, progress []codersdk.SupportBundleProgress) {
	h.t.Helper()
	conn, err := c.Dial(h.t.Context(), "/debug/support-bundle", q)
	h.must(err)
	defer conn.CloseNow() //nolint:errcheck // everything was read
	conn.SetReadLimit(1 << 20)
	var archive bytes.Buffer
	for {
		kind, b, err := conn.Read(h.t.Context())
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			return filesOf(h.t, archive.Bytes()), progress
		}
		h.must(err)
		if kind == websocket.MessageBinary {
			archive.Write(b)
			continue
		}
		var p codersdk.SupportBundleProgress
		h.must(json.Unmarshal(b, &p))
		progress = append(progress, p)
	}
}

// dashboardBundle checks that the dashboard's bundle of admin/dev has the parts of
// the command line's that do not depend on the machine of the user, and no secret.
func (h *house) dashboardBundle(words []string) {
	t := h.t
	t.Helper()
	w, err := h.Client.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	h.must(err)
	organizations, err := h.Client.Organizations(t.Context())
	h.must(err)
	source, err := h.Client.TemplateByName(t.Context(), organizations[0].ID.String(), "source")
	h.must(err)
	files, progress := h.download(h.Client, url.Values{"workspace": {w.ID.String()}, "template": {source.ID.String()}, "pprof": {"true"}})
	m := manifestOf(t, files)
	if len(m.Errors) > 0 || m.Workspace != "admin/dev" {
		t.Errorf("the manifest of the dashboard's bundle: %+v", m)
	}
	for _, name := range []string{
		"deployment/config.json", "deployment/health.json", "deployment/logs.txt", "deployment/metrics.txt", "deployment/notifications.json", "provisioners/coder/queue.json",
		"network/coordinator_debug.json", "pprof/server/profile.pprof", "workspace/build_logs.txt", "agent/startup_logs.txt", "agent/logs.txt", "agent/manifest.json",
		"agent/listening_ports.json", "agent/prometheus.txt", "agent/connections.json", "agent/netcheck.json", "template/template_file.zip/readme.md", "collection_logs.txt",
	} {
		if files[name] == "" {
			t.Errorf("the dashboard's bundle has no %s", name)
		}
	}
	noSecrets(t, files, words)
	last := progress[len(progress)-1]
	if last.Result == nil || last.Result.Files != len(m.Files)+1 || last.Result.Missing != 0 || !strings.HasSuffix(last.Result.Name, ".zip") {
		t.Errorf("the last message: %+v", last)
	}
	if n := len(progress) - 2; progress[n].Done != progress[n].Total || progress[n].Part == "" || len(progress) != progress[n].Total+1 {
		t.Errorf("the progress: %+v", progress)
	}
	member, _ := h.Member(t, "bob")
	files, _ = h.download(member, nil)
	forbidden := 0
	for _, e := range manifestOf(t, files).Errors {
		if e.Kind == "forbidden" {
			forbidden++
		}
	}
	if files["deployment/buildinfo.json"] == "" || files["deployment/logs.txt"] != "" || files["deployment/config.json"] != "" || forbidden < 5 {
		t.Errorf("a member's bundle: %v", manifestOf(t, files))
	}
	if _, err := member.Dial(t.Context(), "/debug/support-bundle", url.Values{"workspace": {w.ID.String()}}); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a member asks for a workspace of another user: %v", err)
	}
}

// agent runs the agent of a workspace beside the test, until it is ready.
func (h *house) agent(token string) {
	h.t.Helper()
	ctx, stop := context.WithCancel(h.t.Context())
	dir, done := h.t.TempDir(), make(chan int, 1)
	env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "CODER_AGENT_URL=" + h.AccessURL().String(), "CODER_AGENT_TOKEN=" + token, "CODER_AGENT_LOG_DIR=" + dir, "CODER_AGENT_SCRIPT_DATA_DIR=" + dir}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		done <- Main(ctx, []string{"coder", "agent"}, strings.NewReader(""), io.Discard, io.Discard, env)
	}()
	h.t.Cleanup(func() { stop(); <-ended }) // it writes to the test's directory
	h.until("the agent is ready", func() bool {
		select {
		case status := <-done:
			h.t.Fatalf("the agent ended with status %d", status)
		default:
		}
		page, err := h.Client.Workspaces(h.t.Context(), url.Values{"q": {"owner:me"}})
		h.must(err)
		for _, w := range page.Workspaces {
			for _, r := range w.LatestBuild.Resources {
				for _, agent := range r.Agents {
					if agent.LifecycleState == codersdk.WorkspaceAgentLifecycleReady {
						return true
					}
				}
			}
		}
		return false
	})
}

// TestSupportBundleOfTrouble: whatever fails, there is a bundle that says so.
func TestSupportBundleOfTrouble(t *testing.T) {
	h := newHouse(t, nil) // which keeps no log
	h.template("plain", map[string]string{
		"graph.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "${token}"}]}]}}`,
	})
	h.ok("create", "dev", "-t", "plain", "--yes")
	file := filepath.Join(t.TempDir(), "bundle.zip")
	errorsOf := func(env []string, args ...string) (map[string]string, map[string]string) {
		t.Helper()
		out, errs, status := runWith(env, append([]string{"support", "bundle", "--yes", "-O", file}, args...)...)
		if status != 0 {
			t.Fatalf("%s: status %d, %s%s", args, status, out, errs)
		}
		files, failed := bundleFiles(t, file), map[string]string{}
		for _, e := range manifestOf(t, files).Errors {
			failed[e.Part] = e.Kind
		}
		return files, failed
	}
	if files, failed := errorsOf(h.env(), "dev"); failed["agent"] != "unavailable" || failed["deployment/logs.txt"] != "unavailable" || files["workspace/workspace.json"] == "" || len(failed) != 2 {
		t.Errorf("an agent that never came: %v", failed)
	}
	member, _ := h.Member(t, "ann")
	env := append(h.env(), "CODER_SESSION_TOKEN="+member.SessionToken)
	if files, failed := errorsOf(env); failed["deployment/config.json"] != "forbidden" || failed["deployment/logs.txt"] != "forbidden" || files["network/netcheck.json"] == "" || files["deployment/buildinfo.json"] == "" {
		t.Errorf("a member: %v", failed)
	}
	if files, failed := errorsOf(append(h.env(), "CODER_URL=http://127.0.0.1:1"), "dev"); failed["workspace"] != "unavailable" || failed["network/netcheck.json"] == "" || files["network/netcheck.json"] == "" {
		t.Errorf("no server: %v", failed)
	}
	h.sql(`ALTER TABLE replicas RENAME TO replicas_gone`)
	if files, failed := errorsOf(h.env(), "dev"); failed["deployment/replicas.json"] == "" || files["workspace/workspace.json"] == "" {
		t.Errorf("a database that is half broken: %v", failed)
	}
	h.sql(`ALTER TABLE replicas_gone RENAME TO replicas`)
	for _, c := range []struct{ line, says string }{
		{"nowhere --yes", "you have no workspace nowhere"},
		{"dev other --yes", `has no agent "other"`},
		{"--yes -O " + filepath.Join(t.TempDir(), "no", "x.zip"), "no such file"},
		{"--yes -O " + t.TempDir(), "is a directory"},
		{"-O " + file, "use --yes"},
		{"--yes --workspace-file x", "needs a workspace"},
	} {
		if out, errs, status := h.run(append([]string{"support", "bundle"}, strings.Fields(c.line)...)...); status != 1 || !strings.Contains(errs, c.says) {
			t.Errorf("%s: status %d, %q, %q, want %q", c.line, status, out, errs, c.says)
		}
	}
}
