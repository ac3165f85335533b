package servertest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/cli"
	askpass "github.com/seed-2a7f8fe7/coder/internal/cli/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/gitmirror"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tfprovider"
)

// TestMain lets git run this program as its askpass.
func TestMain(m *testing.M) {
	if tfprovider.Requested(os.Args, os.Getenv) {
		os.Exit(tfprovider.Serve(os.Args[1:]))
	}
	if askpass.AsksForLogin(os.Args, os.Environ()) {
		os.Exit(askpass.Login(context.Background(), os.Args[1], os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(m.Run())
}

// gitHost is a git host: OAuth2 over HTTP, and a repository over HTTPS for clients with a token.
type gitHost struct {
	*httptest.Server // OAuth2
	git              *httptest.Server
	mu               sync.Mutex
	codes, tokens    map[string]bool
}

func newGitHost(t *testing.T) *gitHost {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "--bare", "project.git"}, {"-C", "project.git", "config", "http.receivepack", "true"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	core, err := exec.Command("git", "--exec-path").Output()
	must(t, err)
	h := &gitHost{codes: map[string]bool{}, tokens: map[string]bool{}}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ann"}}
	h.git = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if !h.knows(password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(h.git.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		code := rand.Text()
		h.mu.Lock()
		h.codes[code] = true
		h.mu.Unlock()
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+url.Values{"code": {code}, "state": {r.FormValue("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if !h.codes[r.FormValue("code")] {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_grant"})
			return
		}
		delete(h.codes, r.FormValue("code"))
		token := "token-" + rand.Text()
		h.tokens[token] = true
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": token, "token_type": "bearer"})
	})
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, r *http.Request) {
		if !h.knows(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Ratelimit-Limit", "5000")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": 1, "login": "ann"})
	})
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h
}

func (h *gitHost) knows(token string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tokens[token]
}

// browse is a user at a browser with a session, who opens a path and allows everything. It returns where the
// browser ends.
func browse(t *testing.T, s *servertest.Server, path string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	jar.SetCookies(s.AccessURL(), []*http.Cookie{{Name: codersdk.SessionCookie, Value: s.Client.SessionToken}})
	client := http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host == s.AccessURL().Host && !strings.HasPrefix(r.URL.Path, "/external-auth/") {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.AccessURL().String()+path, nil)
	must(t, err)
	r.Header.Set("Accept", "text/html")
	resp, err := client.Do(r)
	must(t, err)
	defer resp.Body.Close()
	return resp.Header.Get("Location")
}

// TestExternalAuth is the whole way of a token: the template that requires it, the link in the browser, the
// build, and git over HTTPS in the workspace.
func TestExternalAuth(t *testing.T) {
	ctx := t.Context()
	h := newGitHost(t)
	remote, err := url.Parse(h.git.URL)
	must(t, err)
	t.Setenv("GIT_SSL_NO_VERIFY", "1") // for the git mirror
	s := servertest.Start(t, func(c *server.Config) {
		c.GitMirror = gitmirror.Config{Enable: true, MaxBytes: 1 << 30}
		c.External.Providers = []externalauth.Provider{{ClientSecret: "secret", ExternalAuthConfig: codersdk.ExternalAuthConfig{
			ID: "git", Type: "gitea", ClientID: "id", AuthURL: h.URL + "/authorize", TokenURL: h.URL + "/token", ValidateURL: h.URL + "/user",
			Regex: "^https://" + remote.Host, DisplayName: "Git host",
		}}}
	})
	c := s.Client
	token := uuid.NewString()
	template := func(name, providers string) (codersdk.TemplateVersion, error) {
		archive, err := echo.Archive(map[string]string{
			"graph.jsonl": `{"complete": {"externalAuthProviders": ` + providers + `, "resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "` + token + `"}]}]}}`,
		})
		must(t, err)
		up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
		must(t, err)
		v, err := c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
		must(t, err)
		follow(t, c, "/templateversions/"+v.ID.String()+"/logs")
		if v, err = c.TemplateVersion(ctx, v.ID); err != nil || name == "" {
			return v, err
		}
		_, err = c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
		return v, err
	}
	if v, err := template("", `[{"id": "absent"}]`); err != nil || v.Job.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(v.Job.Error, `provider "absent"`) {
		t.Errorf("the import of a template that requires an unknown provider: %s %q, %v", v.Job.Status, v.Job.Error, err)
	}
	v, err := template("echo", `[{"id": "git"}, {"id": "other", "optional": true}]`)
	must(t, err)
	declared := func(linked bool) {
		t.Helper()
		got, err := c.TemplateVersionExternalAuth(ctx, v.ID)
		if err != nil || len(got) != 2 || got[0].Authenticated != linked || got[0].DisplayName != "Git host" || got[0].Type != "gitea" || got[1].Authenticated || !got[1].Optional ||
			got[0].AuthenticateURL != s.AccessURL().String()+"/external-auth/git" {
			t.Errorf("the template declares %+v, %v", got, err)
		}
	}
	declared(false)
	create := func() (codersdk.Workspace, error) {
		return c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "dev", TemplateVersionID: v.ID})
	}
	if _, err := create(); !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "/external-auth/git") {
		t.Errorf("a workspace without the link: %v", err)
	}
	for path, want := range map[string]string{
		"/external-auth/absent":                    "absent",
		"/external-auth/git/callback?state=forged": "not+started+in+this+browser",
	} {
		if to := browse(t, s, path); !strings.HasPrefix(to, "/settings/external-auth?message=") || !strings.Contains(to, want) {
			t.Errorf("after %s the browser shows %q", path, to)
		}
	}
	if to := browse(t, s, "/external-auth/git/callback?redirect=/templates"); to != "/templates" {
		t.Fatalf("the browser ends at %q", to)
	}
	declared(true)
	w, err := create()
	must(t, err)
	follow(t, c, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/logs")
	if w, err = c.Workspace(ctx, w.ID, nil); err != nil || w.LatestBuild.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("the build: %+v, %v", w.LatestBuild.Job, err)
	}
	gitInWorkspace(t, s, h, token)

	h.mu.Lock()
	clear(h.tokens) // revoked at the host
	h.mu.Unlock()
	got, err := c.DeleteExternalAuth(ctx, "git")
	if err != nil || got.TokenRevoked {
		t.Errorf("unlinked: %+v, %v", got, err)
	}
	b, err := c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	must(t, err)
	follow(t, c, "/workspacebuilds/"+b.ID.String()+"/logs")
	if _, err := c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart}); !codersdk.Is(err, codersdk.CodePrecondition) ||
		!strings.Contains(err.Error(), "Git host at "+s.AccessURL().String()+"/external-auth/git") {
		t.Errorf("a start without the link: %v", err)
	}
	startWaitsForLink(t, s)
}

// startWaitsForLink runs "coder start" for a workspace whose owner lacks a link. It shows the page, and continues
// when the owner has linked the provider there.
func startWaitsForLink(t *testing.T, s *servertest.Server) {
	t.Helper()
	home := t.TempDir()
	shown := logs{make(chan string, 1000)}
	done := make(chan int, 1)
	go func() {
		done <- cli.Main(t.Context(), []string{"coder", "start", "dev", "--yes"}, strings.NewReader(""), shown, shown, []string{
			"HOME=" + home, "CODER_CONFIG_DIR=" + home, "CODER_URL=" + s.AccessURL().String(), "CODER_SESSION_TOKEN=" + s.Client.SessionToken,
		})
	}()
	var text strings.Builder
	for !strings.Contains(text.String(), "/external-auth/git") {
		text.WriteString(testwait.Receive(t, "the command shows the page", shown.lines))
	}
	if to := browse(t, s, "/external-auth/git"); to != "/settings/external-auth" {
		t.Fatalf("the browser ends at %q", to)
	}
	if status := testwait.Receive(t, "the command ends", done); status != 0 {
		t.Errorf("coder start: status %d", status)
	}
	w, err := s.Client.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	if err != nil || w.LatestBuild.Transition != codersdk.WorkspaceTransitionStart || w.LatestBuild.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Errorf("the workspace: %+v, %v", w.LatestBuild.Job, err)
	}
}

// seedFor requests a repository from the git mirror as an agent.
func seedFor(t *testing.T, s *servertest.Server, token, remote string, want int) {
	t.Helper()
	c := codersdk.New(s.AccessURL())
	c.SessionToken = token
	testwait.Until(t, "the mirror answers", func() bool {
		resp, err := c.Request(t.Context(), http.MethodPost, "/workspaceagents/me/git-seed", nil, map[string]any{"url": remote, "create": true})
		must(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode == http.StatusAccepted {
			return false
		}
		if resp.StatusCode != want || strings.Contains(string(b), "token-") {
			t.Errorf("%s from the mirror: %s %.300q", remote, resp.Status, b)
		}
		return true
	})
}

// gitInWorkspace clones, pushes and fetches in the workspace with the agent's token, whose owner has no link
// at first.
func gitInWorkspace(t *testing.T, s *servertest.Server, h *gitHost, token string) {
	t.Helper()
	dir := t.TempDir()
	sock := filepath.Join(dir, "agent.sock")
	a, err := agent.New(agent.Config{
		URL: s.AccessURL(), Token: token, Log: slog.New(slog.DiscardHandler), Env: append(os.Environ(), "HOME="+dir), LogDir: t.TempDir(), ScriptDataDir: t.TempDir(),
		SocketServer: true, SocketPath: sock,
	})
	must(t, err)
	must(t, a.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		must(t, a.Stop(ctx))
	})
	testwait.Until(t, "the agent listens", func() bool { _, err := os.Stat(sock); return err == nil })
	exe, err := os.Executable()
	must(t, err)
	git := func(more []string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append([]string{
			"HOME=" + dir, "GIT_ASKPASS=" + exe, "GIT_TERMINAL_PROMPT=0", "GIT_SSL_NO_VERIFY=1", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x",
			"CODER_AGENT_URL=" + s.AccessURL().String(), "CODER_AGENT_TOKEN=" + token,
		}, more...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	cached := []string{"CODER_AGENT_SOCKET_PATH=" + sock}
	for _, args := range [][]string{
		{"clone", h.git.URL + "/project.git", "work"}, {"-C", "work", "commit", "--allow-empty", "-m", "one"},
		{"-C", "work", "push", "origin", "HEAD:main"}, {"-C", "work", "fetch"}, {"-C", "work", "fetch"},
	} {
		if out, err := git(cached, args...); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if out, err := git(nil, "clone", h.git.URL+"/project.git", "direct"); err != nil { // without the agent's cache
		t.Fatalf("git clone without the socket: %v\n%s", err, out)
	}

	seedFor(t, s, token, h.git.URL+"/project.git", http.StatusOK)

	// A login in the middle: git waits for it.
	if _, err := s.Client.DeleteExternalAuth(t.Context(), "git"); err != nil {
		t.Fatal(err)
	}
	seedFor(t, s, token, h.git.URL+"/project.git", http.StatusNotFound)
	seedFor(t, s, token, "https://other.invalid/project.git", http.StatusNotFound)
	seedFor(t, s, uuid.NewString(), h.git.URL+"/project.git", http.StatusUnauthorized)
	done := make(chan string, 1)
	go func() {
		out, err := git(nil, "clone", h.git.URL+"/project.git", "waiting")
		if err != nil {
			out += err.Error()
		}
		done <- out
	}()
	if to := browse(t, s, "/external-auth/git"); to != "/settings/external-auth" {
		t.Errorf("the browser ends at %q", to)
	}
	if out := <-done; strings.Contains(out, "fatal") {
		t.Errorf("git that waits: %s", out)
	}

	// The provider ends a token and issues another one: the agent is notified, and does not hand out the old one for
	// the minute that its cache is fresh.
	h.mu.Lock()
	clear(h.tokens)
	h.mu.Unlock()
	browse(t, s, "/external-auth/git")
	testwait.Until(t, "git uses the new token", func() bool { _, err := git(cached, "-C", "work", "fetch"); return err == nil }, testwait.Within(50*time.Second))
	if out, err := git(cached, "-C", "work", "ls-remote", "https://other.invalid/x"); err == nil || strings.Contains(out, "token-") {
		t.Errorf("of an unknown host: %v %s", err, out)
	}
}
