// Package hosttest is a git host for tests: bare repositories that git itself serves over HTTP, each to some users.
package hosttest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Host serves the repositories of a directory. It is safe for concurrent use.
type Host struct {
	*httptest.Server
	dir string

	mu       sync.Mutex
	readers  map[string][]string // by repository; none: every user
	passed   map[string]string   // passwords by user
	requests int                 // for objects
	hold     chan struct{}       // holds requests for objects back until it is closed; nil: none
}

// New starts a host.
func New(t testing.TB) *Host {
	t.Helper()
	h := &Host{dir: t.TempDir(), readers: map[string][]string{}, passed: map[string]string{}}
	exe, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed: git hosts are not tested")
	}
	git := &cgi.Handler{
		Path: exe, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + h.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		user, password, _ := r.BasicAuth()
		h.mu.Lock()
		readers, private := h.readers[name]
		known := user != "" && h.passed[user] == password
		var hold chan struct{}
		if fetches(r) {
			h.requests++
			hold = h.hold
		}
		h.mu.Unlock()
		if user != "" && !known || private && !slices.Contains(readers, user) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no such repository", http.StatusUnauthorized)
			return
		}
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		git.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// fetches reports whether a request is for objects, not only for refs.
func fetches(r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
		return false
	}
	b, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(b))
	return err == nil && !bytes.Contains(b, []byte("command=ls-refs")) // short requests are not compressed
}

// Create creates a repository with a commit on main, for the named users; without a name, for every user. It returns
// its URL.
func (h *Host) Create(t testing.TB, name string, readers ...string) string {
	t.Helper()
	Git(t, h.dir, "init", "--quiet", "--bare", "-b", "main", filepath.Join(h.dir, name))
	if len(readers) > 0 {
		h.mu.Lock()
		h.readers[name] = readers
		h.mu.Unlock()
	}
	h.Commit(t, name, "main", "README", "one\n")
	return h.URL + "/" + name
}

// User sets the password of a user.
func (h *Host) User(name, password string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passed[name] = password
}

// Commit adds a commit with a file to a branch, and returns it.
func (h *Host) Commit(t testing.TB, name, branch, file, content string) string {
	t.Helper()
	work := t.TempDir()
	Git(t, work, "init", "--quiet", "-b", branch)
	at := filepath.Join(h.dir, name)
	if Git(t, at, "for-each-ref", "refs/heads/"+branch) != "" {
		Git(t, work, "fetch", "--quiet", at, branch)
		Git(t, work, "reset", "--quiet", "--hard", "FETCH_HEAD")
	}
	if err := os.WriteFile(filepath.Join(work, file), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	Git(t, work, "add", ".")
	Git(t, work, "commit", "--quiet", "-m", "change "+file)
	Git(t, work, "push", "--quiet", at, "HEAD:refs/heads/"+branch)
	return strings.TrimSpace(Git(t, work, "rev-parse", "HEAD"))
}

// Run runs git in a repository of the host.
func (h *Host) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	return Git(t, filepath.Join(h.dir, name), args...)
}

// Requests returns how often objects were requested.
func (h *Host) Requests() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests
}

// Hold holds requests for objects back until release is called.
func (h *Host) Hold() (release func()) {
	held := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold = held
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.hold = nil
		close(held)
	}
}

// Git runs git in a directory as the user of a test, and returns what it prints.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
