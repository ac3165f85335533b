package servertest_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/cli"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// logs collects what a server or an agent logs, and can be read meanwhile.
type logs struct{ lines chan string }

func (l logs) Write(p []byte) (int, error) {
	l.lines <- string(p)
	return len(p), nil
}

// collect returns a logger, and a function that returns its lines so far.
func collect() (*slog.Logger, func() string) {
	l := logs{make(chan string, 100_000)}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})), func() string {
		var b strings.Builder
		for len(l.lines) > 0 {
			b.WriteString(<-l.lines)
		}
		return b.String()
	}
}

// TestUserSecrets is the whole way of a secret, from the API to new shells and files of a workspace that
// runs; and the value is nowhere else.
func TestUserSecrets(t *testing.T) {
	ctx := t.Context()
	log, logged := collect()
	s := servertest.Start(t, func(c *server.Config) {
		c.Log = log
		c.Database.EncryptionKeys = []string{base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))}
	})
	c := s.Client
	const first, second, third = "value-first-4711", "value-second-4712", "value-third-4713"
	_, err := c.CreateUserSecret(ctx, "me", codersdk.CreateUserSecretRequest{Name: "npm", Value: first, EnvName: "NPM_TOKEN", FilePath: "~/.config/npm/token"})
	must(t, err)
	w, token := agentWorkspace(t, s)
	home := t.TempDir()
	a, err := agent.New(agent.Config{
		URL: s.AccessURL(), Token: token, Log: log, Env: append(os.Environ(), "HOME="+home, "SHELL=/bin/sh", "PS1=$ "), LogDir: t.TempDir(), ScriptDataDir: t.TempDir(),
	})
	must(t, err)
	must(t, a.Start(ctx))
	t.Cleanup(func() {
		stop, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		must(t, a.Stop(stop))
	})
	testwait.Until(t, "the agent is ready", func() bool {
		now, err := c.Workspace(ctx, w.ID, nil)
		must(t, err)
		return now.LatestBuild.Resources[0].Agents[0].LifecycleState == codersdk.WorkspaceAgentLifecycleReady
	})
	agentID := w.LatestBuild.Resources[0].Agents[0].ID
	shell := func(command, want string) {
		t.Helper()
		open(t, c, agentID, url.Values{"reconnect": {uuid.NewString()}, "command": {command}}).see(want)
	}
	file := filepath.Join(home, ".config/npm/token")
	holds := func(want string) bool {
		b, err := os.ReadFile(file)
		return string(b) == want && (err == nil || want == "")
	}
	awaitFile := func(want string) {
		t.Helper()
		testwait.Until(t, fmt.Sprintf("the file holds %q", want), func() bool { return holds(want) })
	}

	shell("echo is-$NPM_TOKEN.", "is-"+first+".")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || !holds(first) {
		t.Errorf("the file is %v, %v", info, err)
	}
	update := func(req codersdk.UpdateUserSecretRequest) {
		t.Helper()
		_, err := c.UpdateUserSecret(ctx, "me", "npm", req)
		must(t, err)
	}
	value := second
	update(codersdk.UpdateUserSecretRequest{Value: &value})
	awaitFile(second) // the agent sets variables before it writes files
	shell("echo is-$NPM_TOKEN.", "is-"+second+".")
	never := false
	update(codersdk.UpdateUserSecretRequest{Enabled: &never})
	awaitFile("")
	shell("echo is-$NPM_TOKEN.", "is-.")
	always := true
	template := func(disable bool) {
		t.Helper()
		_, err := c.UpdateTemplate(ctx, w.TemplateID, codersdk.UpdateTemplateMeta{DisableUserSecrets: &disable})
		must(t, err)
	}
	template(true)
	update(codersdk.UpdateUserSecretRequest{Enabled: &always})
	_, err = c.CreateUserSecret(ctx, "me", codersdk.CreateUserSecretRequest{Name: "other", Value: "other-value", FilePath: "~/other"})
	must(t, err)
	template(false)
	awaitFile(second)
	template(true)
	awaitFile("")
	shell("echo is-$NPM_TOKEN.", "is-.")
	template(false)
	awaitFile(second)
	must(t, c.DeleteUserSecret(ctx, "me", "npm"))
	awaitFile("")
	shell("echo is-$NPM_TOKEN.", "is-.")

	// The value is neither in the database, nor in what the server answers or logs.
	value = third
	_, err = c.CreateUserSecret(ctx, "me", codersdk.CreateUserSecretRequest{Name: "kept", Value: value, EnvName: "KEPT"})
	must(t, err)
	_, err = c.CreateUserSecret(ctx, "me", codersdk.CreateUserSecretRequest{Name: "file", Value: value, FilePath: "~/.config/npm/token"})
	must(t, err)
	awaitFile(third) // so the agent has both
	shell("echo is-$KEPT.", "is-"+third+".")
	bundle := supportBundle(t, s, "dev")
	b, err := c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	must(t, err)
	places := map[string]string{"the log of a build": follow(t, c, "/workspacebuilds/"+b.ID.String()+"/logs"), "logs": logged(), "the database": dump(t, s.PostgresURL)}
	for _, path := range []string{
		"/audit?limit=100", "/workspacebuilds/" + b.ID.String() + "/state", "/debug/metrics", "/users/me/secrets", "/users/me/secrets/kept",
		"/workspaces/" + w.ID.String(), "/workspaceagents/" + agentID.String() + "/logs", "/deployment/config",
	} {
		bare, query, _ := strings.Cut(path, "?")
		q, err := url.ParseQuery(query)
		must(t, err)
		resp, err := c.Request(ctx, "GET", bare, q, nil)
		must(t, err)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		must(t, resp.Body.Close())
		places[path] = string(body)
	}
	for name, text := range bundle {
		places["the support bundle's "+name] = text
	}
	for place, text := range places {
		if text == "" && !strings.HasPrefix(place, "the support") && place != "/workspacebuilds/"+b.ID.String()+"/state" {
			t.Errorf("%s is empty", place)
		}
		for _, v := range []string{first, second, third} {
			for _, form := range []string{v, base64.StdEncoding.EncodeToString([]byte(v))} {
				if strings.Contains(text, form) {
					t.Errorf("%s contains the value of a secret", place)
				}
			}
		}
	}
	if log := places["/audit?limit=100"]; !strings.Contains(log, `"secret_value":{"new":"","old":"","secret":true}`) {
		t.Errorf("the audit log does not show the changes: %s", log)
	}
}

// supportBundle returns the files of the support bundle about a workspace that runs, and of the archives in it.
func supportBundle(t *testing.T, s *servertest.Server, workspace string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "bundle.zip")
	var out strings.Builder
	status := cli.Main(t.Context(), []string{"coder", "support", "bundle", workspace, "--yes", "--output-file", file}, strings.NewReader(""), &out, &out, []string{
		"HOME=" + dir, "CODER_CONFIG_DIR=" + dir, "CODER_URL=" + s.AccessURL().String(), "CODER_SESSION_TOKEN=" + s.Client.SessionToken,
	})
	if status != 0 {
		t.Fatalf("the support bundle: status %d: %s", status, out.String())
	}
	b, err := os.ReadFile(file)
	must(t, err)
	files := map[string]string{}
	unzip(t, "", b, files)
	parts := ""
	for name := range files {
		parts += name + "\n"
	}
	for _, part := range []string{"agent", "workspace", "metrics", "log"} {
		if !strings.Contains(parts, part) {
			t.Errorf("the support bundle contains nothing about %s:\n%s", part, parts)
		}
	}
	return files
}

// unzip reads the files of an archive, and of the archives in it.
func unzip(t *testing.T, prefix string, b []byte, files map[string]string) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	for _, f := range z.File {
		r, err := f.Open()
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		must(t, r.Close())
		if files[prefix+f.Name] = string(content); strings.HasSuffix(f.Name, ".zip") {
			unzip(t, prefix+f.Name+"/", content, files)
		}
	}
}

// dump returns the content of all tables.
func dump(t *testing.T, database string) string {
	t.Helper()
	ctx := t.Context()
	db, err := pgx.Connect(ctx, database)
	must(t, err)
	defer db.Close(ctx) //nolint:errcheck // only read
	rows, err := db.Query(ctx, `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`)
	must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	var out strings.Builder
	for _, name := range tables {
		rows, err := db.Query(ctx, `SELECT t::text FROM `+pgx.Identifier{name}.Sanitize()+` t`)
		must(t, err)
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		out.WriteString(strings.Join(texts, "\n"))
	}
	return out.String()
}
