package clone_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/clone"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/hosttest"
)

// shop is a repository with two branches, a tag and some commits.
func shop(t *testing.T) (host *hosttest.Host, address string) {
	t.Helper()
	host = hosttest.New(t)
	address = host.Create(t, "shop.git")
	for _, content := range []string{"two\n", "three\n"} {
		host.Commit(t, "shop.git", "main", "README", content)
	}
	host.Commit(t, "shop.git", "fix", "b.go", "package b\n")
	host.Run(t, "shop.git", "tag", "-a", "v1", "-m", "first", "main~1")
	return host, address
}

// server serves a mirror as agents see it. cut is the number of bytes after which the next response ends; 0 is none.
func server(t *testing.T, cut *atomic.Int64) *codersdk.Client {
	t.Helper()
	m := gitmirror.New(gitmirror.Config{Dir: t.TempDir(), MaxBytes: 1 << 30, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			URL    string `json:"url"`
			Create bool   `json:"create"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		s, err := m.Open(r.Context(), gitmirror.Remote{URL: req.URL}, req.Create)
		switch {
		case errors.Is(err, gitmirror.ErrUpdating):
			w.WriteHeader(http.StatusAccepted)
		case err != nil:
			http.Error(w, `{"message": "no"}`, http.StatusNotFound)
		default:
			defer s.Close()
			var b bytes.Buffer
			if _, err := s.WriteTo(&b); err != nil {
				t.Error(err)
			}
			if n := cut.Swap(0); n > 0 {
				b.Truncate(int(n))
			}
			_, _ = w.Write(b.Bytes())
		}
	}))
	t.Cleanup(func() {
		srv.Close()
		if err := m.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return codersdk.New(u)
}

// gitEnv is an environment of git without settings of the machine.
func gitEnv() []string {
	return append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
}

// summary returns what matters of a clone.
func summary(t *testing.T, dir string) string {
	t.Helper()
	return strings.Join([]string{
		hosttest.Git(t, dir, "for-each-ref", "--format=%(refname) %(objectname) %(symref)"),
		sorted(hosttest.Git(t, dir, "rev-list", "--all")),
		hosttest.Git(t, dir, "status", "--branch", "--porcelain"),
		hosttest.Git(t, dir, "config", "--local", "--get-regexp", `^(remote|branch)\.`),
		hosttest.Git(t, dir, "ls-files", "--stage"),
		hosttest.Git(t, dir, "fsck", "--full"),
	}, "---\n")
}

func sorted(lines string) string {
	list := strings.Split(lines, "\n")
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// TestRun checks that a clone equals that of git, whether the mirror has the repository, gets it, breaks off or is
// missing.
func TestRun(t *testing.T) {
	_, address := shop(t)
	for _, branch := range []string{"", "fix", "v1"} {
		root := t.TempDir()
		want := filepath.Join(root, "want")
		args := []string{"clone", "--quiet"}
		if branch != "" {
			args = append(args, "--branch="+branch)
		}
		hosttest.Git(t, root, append(args, address, want)...)
		var cut atomic.Int64
		client := server(t, &cut)
		for _, c := range []struct {
			name   string
			client *codersdk.Client
			cut    int64
			says   string
		}{
			{"without a mirror", nil, 0, "is complete after"},
			{"first", client, 0, "is complete after"},
			{"second", client, 0, "from the git mirror"},
			{"interrupted", client, 3000, "The git mirror is not used"},
		} {
			cut.Store(c.cut)
			dir := filepath.Join(root, c.name)
			var out bytes.Buffer
			one := clone.Clone{URL: address, Dir: dir, Branch: branch, Wait: true, Env: gitEnv(), Client: c.client, Out: &out}
			if err := one.Run(t.Context()); err != nil {
				t.Fatalf("%s: %v\n%s", c.name, err, &out)
			}
			if got, want := summary(t, dir), summary(t, want); got != want {
				t.Errorf("branch %q, %s:\n%s\nwant\n%s\n%s", branch, c.name, got, want, &out)
			}
			if !strings.Contains(out.String(), c.says) {
				t.Errorf("branch %q, %s: %s", branch, c.name, &out)
			}
			if left, err := filepath.Glob(filepath.Join(root, ".*.cloning")); err != nil || len(left) > 0 {
				t.Errorf("left over: %v, %v", left, err)
			}
		}
	}
}

// TestAgain checks that a second run leaves a clone alone, and that other directories are not touched.
func TestAgain(t *testing.T) {
	_, address := shop(t)
	root := t.TempDir()
	t.Chdir(root)
	var completed []string
	run := func(address, dir string) (string, error) {
		var out bytes.Buffer
		one := clone.Clone{URL: address, Dir: dir, Env: gitEnv(), Out: &out, Complete: func(dir string) error {
			completed = append(completed, dir)
			return nil
		}}
		err := one.Run(t.Context())
		return out.String(), err
	}
	if out, err := run(address, ""); err != nil || !strings.Contains(out, "in the background") {
		t.Fatalf("%v: %s", err, out)
	}
	if len(completed) != 1 || completed[0] != filepath.Join(root, "shop") {
		t.Errorf("the history of %v follows", completed)
	}
	if err := os.WriteFile(filepath.Join(root, "shop", "README"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(address, ""); err != nil || !strings.Contains(out, "already") {
		t.Errorf("again: %v: %s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(root, "shop", "README")); err != nil || string(b) != "mine\n" {
		t.Errorf("the change is gone: %q, %v", b, err)
	}
	if _, err := run(address+"/other", filepath.Join(root, "shop")); !codersdk.Is(err, codersdk.CodeConflict) {
		t.Errorf("another remote: %v", err)
	}
	if _, err := run(address, root); !codersdk.Is(err, codersdk.CodeConflict) {
		t.Errorf("a directory with files: %v", err)
	}
	if _, err := run("--upload-pack=id", ""); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("an option: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(root, ".half.cloning", ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := run(address, "half"); err != nil {
		t.Errorf("after an interrupted clone: %v: %s", err, out)
	}
	if err := os.Mkdir(filepath.Join(root, "mount"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := run(address, "mount"); err != nil {
		t.Errorf("into an empty directory: %v: %s", err, out)
	}
}
