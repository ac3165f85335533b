package agentcmd

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// call runs the program with an environment of nothing but home and more.
func call(t *testing.T, home string, env []string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
	code = Main(t.Context(), append([]string{"coder"}, args...), strings.NewReader(""), &o, &e, env)
	return o.String(), e.String(), code
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// repository makes a git repository with files; those with #! are executable.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	commit(t, dir, files)
	return dir
}

func commit(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		write(t, filepath.Join(dir, name), text, mode)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "change")
}

func TestDotfilesAreLinked(t *testing.T) {
	repo := repository(t, map[string]string{".bashrc": "one", ".config/app": "conf", "README": "no", ".github/x": "no", ".gitmodules": ""})
	home := t.TempDir()
	write(t, filepath.Join(home, ".bashrc"), "mine", 0o644)
	write(t, filepath.Join(home, ".config", "other"), "stays", 0o644)
	if _, errs, code := call(t, home, nil, "dotfiles", repo); code == 0 || !strings.Contains(errs, "--yes") {
		t.Errorf("without an answer: %d %s", code, errs)
	}
	for range 2 { // the second time changes nothing
		if _, errs, code := call(t, home, nil, "dotfiles", "-y", repo); code != 0 {
			t.Fatalf("%d %s", code, errs)
		}
	}
	want := map[string]string{".bashrc": "one", ".bashrc.bak": "mine", ".config/app": "conf", ".config/other": "stays"}
	for name, text := range want {
		if b, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(b) != text {
			t.Errorf("%s: %v %q", name, err, b)
		}
	}
	for _, name := range []string{"README", ".github", ".gitmodules", ".git"} {
		if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s was linked", name)
		}
	}
	commit(t, repo, map[string]string{".bashrc": "two"})
	if _, errs, code := call(t, home, nil, "dotfiles", "-y", repo); code != 0 {
		t.Fatalf("%d %s", code, errs)
	}
	if b, _ := os.ReadFile(filepath.Join(home, ".bashrc")); string(b) != "two" {
		t.Errorf("not brought up to date: %q", b)
	}
	other := repository(t, map[string]string{".x": ""})
	if _, errs, code := call(t, home, nil, "dotfiles", "-y", other); code == 0 || !strings.Contains(errs, "--repo-dir") {
		t.Errorf("another repository: %d %s", code, errs)
	}
	elsewhere := filepath.Join(home, "elsewhere")
	if _, errs, code := call(t, home, nil, "dotfiles", "-y", "--repo-dir", filepath.Join(home, "clone"), "--symlink-dir", elsewhere, other); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Readlink(filepath.Join(elsewhere, ".x")); err != nil {
		t.Error(err)
	}
}

func TestDotfilesAreInstalled(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		args  []string
		want  string // standard output, or a part of the failure
		code  int
	}{
		"the first in order": {files: map[string]string{"setup.sh": "#!/bin/sh\necho setup", "install": "#!/bin/sh\necho install in $(cat mark)", "mark": "here", ".x": ""}, want: "install in here\n"},
		"in a directory":     {files: map[string]string{"script/setup": "#!/bin/sh\necho deep"}, want: "deep\n"},
		"fails":              {files: map[string]string{"install.sh": "#!/bin/sh\nexit 3"}, want: "install.sh of the repository failed: exit status 3", code: 1},
		"not executable":     {files: map[string]string{"install.sh": "echo no"}, want: "git update-index --chmod=+x install.sh", code: 1},
		"nothing":            {files: map[string]string{"README": ""}, want: "neither an install script", code: 1},
		"no branch":          {files: map[string]string{".x": ""}, args: []string{"-b", "nope"}, want: "clone", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := call(t, t.TempDir(), nil, append([]string{"dotfiles", "-y", repository(t, tc.files)}, tc.args...)...)
			if code != tc.code || code == 0 && out != tc.want || code != 0 && !strings.Contains(errs, tc.want) {
				t.Errorf("%d %q %q", code, out, errs)
			}
		})
	}
	if _, errs, code := call(t, t.TempDir(), nil, "dotfiles", "-y", "--", "--upload-pack=evil"); code == 0 || !strings.Contains(errs, "is not the URL") {
		t.Errorf("%d %s", code, errs)
	}
}

// A command that this program has not is run by the whole of coder, which is
// fetched once for each version.
func TestWholeIsFetched(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program of this test is a shell script")
	}
	program := filepath.Join(t.TempDir(), "coder-agent")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/seed-2a7f8fe7/coder/cmd/coder-agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	script := func(version string) string { return "#!/bin/sh\necho " + version + " ran $*\nexit 7\n" }
	var sent atomic.Int32
	var text atomic.Pointer[string]
	set := func(s string) { text.Store(&s) }
	set(script("v1"))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bin/coder-"+runtime.GOOS+"-"+runtime.GOARCH || r.Header.Get("Coder-Session-Token") != "" {
			t.Errorf("asked for %s with %v", r.URL, r.Header)
		}
		h := sha256.Sum256([]byte(*text.Load()))
		sum := hex.EncodeToString(h[:])
		if strings.Contains(r.Header.Get("If-None-Match"), `"`+sum+`-gzip"`) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		sent.Add(1)
		w.Header().Set("X-Coder-SHA256", sum)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		io.WriteString(z, *text.Load())
	}))
	defer srv.Close()
	home := t.TempDir()
	run := func(url string, args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = []string{"HOME=" + home, "CODER_AGENT_URL=" + url, "CODER_AGENT_TOKEN=secret", "PATH=" + os.Getenv("PATH")}
		out, _ := cmd.CombinedOutput() // the status says it
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run(srv.URL, "list", "-a"); code != 7 || !strings.Contains(out, "once for this version") || !strings.Contains(out, "v1 ran list -a\n") {
		t.Errorf("%d %q", code, out)
	}
	if out, code := run(srv.URL, "--url", "http://x", "ssh", "a", "--", "-b"); code != 7 || out != "v1 ran --url http://x ssh a -- -b\n" {
		t.Errorf("%d %q", code, out)
	}
	set(script("v2"))
	if out, _ := run(srv.URL, "list"); !strings.HasSuffix(out, "v2 ran list\n") {
		t.Errorf("%q", out)
	}
	if n := sent.Load(); n != 2 {
		t.Errorf("fetched %d times", n)
	}
	if files, _ := filepath.Glob(filepath.Join(home, ".cache", "coder", "whole", "*")); len(files) != 1 {
		t.Errorf("kept: %v", files)
	}
	srv.Close()
	if out, code := run(srv.URL, "list"); code != 7 || out != "v2 ran list\n" {
		t.Errorf("without a server: %d %q", code, out)
	}
	home = t.TempDir()
	if out, code := run(srv.URL, "list"); code != 1 || !strings.Contains(out, "cannot reach "+srv.URL) {
		t.Errorf("without a server and a copy: %d %q", code, out)
	}
	if out, code := run("", "list"); code != 1 || !strings.Contains(out, "CODER_AGENT_URL") {
		t.Errorf("outside of a workspace: %d %q", code, out)
	}
	if out, code := run(srv.URL, "stat", "disk"); code != 0 || !strings.Contains(out, "GiB") {
		t.Errorf("its own: %d %q", code, out)
	}
}

// What arrives broken is never run.
func TestBrokenWholeIsNotKept(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Coder-SHA256", strings.Repeat("0", 64))
		io.WriteString(w, "#!/bin/sh\n")
	}))
	defer srv.Close()
	home := t.TempDir()
	if _, errs, code := call(t, home, []string{"CODER_AGENT_URL=" + srv.URL}, "list"); code != 1 || !strings.Contains(errs, "checksum") {
		t.Errorf("%d %s", code, errs)
	}
	if files, _ := filepath.Glob(filepath.Join(home, ".cache", "coder", "whole", "*")); len(files) != 0 {
		t.Errorf("kept: %v", files)
	}
}

func TestGitIsAnswered(t *testing.T) {
	var listening atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/api/v2/workspaceagents/me/external-auth" || r.Header.Get("Coder-Session-Token") != "token" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		switch q.Get("match") {
		case "https://git.example/repo":
			io.WriteString(w, `{"username": "me", "password": "pw"}`)
		case "https://token.example":
			io.WriteString(w, `{"access_token": "tok"}`)
		case "https://new.example":
			if q.Get("listen") == "" {
				io.WriteString(w, `{"url": "https://coder.example/sign-in"}`)
				return
			}
			listening.Store(true)
			io.WriteString(w, `{"access_token": "fresh"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"message": "no provider"}`)
		}
	}))
	defer srv.Close()
	env := []string{"GIT_ASKPASS=/x", "CODER_AGENT_URL=" + srv.URL, "CODER_AGENT_TOKEN=token"}
	for question, want := range map[string]string{
		"Username for 'https://git.example/repo': ":    "me\n",
		"Password for 'https://me@git.example/repo': ": "pw\n",
		"Username for 'https://token.example': ":       "x-access-token\n",
		"Password for 'https://x@token.example': ":     "tok\n",
		"Password for 'https://x@new.example': ":       "fresh\n",
		"Username for 'https://unknown.example': ":     "",
	} {
		out, errs, code := call(t, t.TempDir(), env, question)
		if out != want || (code == 0) != (want != "") || (errs != "") != strings.Contains(question, "new") {
			t.Errorf("%s: %d %q %q", question, code, out, errs)
		}
	}
	if !listening.Load() {
		t.Error("it did not wait for the sign-in")
	}
	if _, errs, code := call(t, t.TempDir(), []string{"GIT_ASKPASS=/x"}, "Username for 'https://a': "); code != 1 || !strings.Contains(errs, "CODER_AGENT_URL") {
		t.Errorf("outside of a workspace: %d %s", code, errs)
	}
}
