package initscript_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/initscript"
)

func TestPlatforms(t *testing.T) {
	for _, p := range initscript.Platforms() {
		text, ok := initscript.Script(p.OS, p.Arch)
		if !ok || !strings.Contains(text, "${ACCESS_URL}") || !strings.Contains(text, "${AUTH_TYPE}") {
			t.Errorf("%v: placeholders are missing", p)
		}
		if strings.Contains(text, "@") && strings.Contains(text, "@ARCH@") {
			t.Errorf("%v: unfilled", p)
		}
		if !strings.Contains(text, "bin/coder-"+p.OS+"-"+p.Arch) {
			t.Errorf("%v: does not fetch its own binary", p)
		}
	}
	for _, p := range [][2]string{{"plan9", "amd64"}, {"darwin", "armv7"}, {"", ""}} {
		if _, ok := initscript.Script(p[0], p[1]); ok {
			t.Errorf("%v: there is no such agent", p)
		}
	}
	if _, err := initscript.Render("plan9", "mips", "http://x", "token"); err == nil {
		t.Error("want an error that names the platform")
	}
}

// TestRun runs the script as a machine would, against a server that fails
// first, with each of the fetchers that are here.
func TestRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script under test is Linux's")
	}
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			http.Error(w, "not yet", http.StatusBadGateway)
			return
		}
		if r.URL.Path != "/bin/coder-linux-"+arch() {
			t.Errorf("fetched %s", r.URL.Path)
		}
		w.Write([]byte("#!/bin/sh\n[ \"$1\" = version ] && exit 0\necho \"$1 $CODER_AGENT_URL $CODER_AGENT_AUTH $CODER_AGENT_TOKEN\"\n"))
	}))
	defer server.Close()
	ran := 0
	for _, fetcher := range []string{"curl", "wget", "busybox"} {
		program, err := exec.LookPath(fetcher)
		if err != nil {
			t.Logf("%s is not installed, not tried", fetcher)
			continue
		}
		for _, slash := range []string{"", "/"} {
			t.Run(fetcher+slash, func(t *testing.T) {
				calls.Store(0)
				script, err := initscript.Render("linux", arch(), server.URL+slash, "token")
				if err != nil {
					t.Fatal(err)
				}
				out, err := run(t, script, program, "CODER_AGENT_TOKEN=secret")
				if want := "agent " + server.URL + "/ token secret\n"; err != nil || !strings.HasSuffix(out, want) {
					t.Fatalf("got %q, %v; want %q", out, err, want)
				}
				if !strings.Contains(out, "trying again in 1 s") {
					t.Errorf("the first failure was not told: %q", out)
				}
			})
		}
		ran++
	}
	if ran == 0 {
		t.Skip("no fetcher is installed")
	}
}

func TestRefusals(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script under test is Linux's")
	}
	script, _ := initscript.Render("linux", arch(), "http://127.0.0.1:1", "token")
	if out, err := run(t, script, "/bin/true"); err == nil || !strings.Contains(out, "CODER_AGENT_TOKEN is not set") {
		t.Errorf("without a token: %q, %v", out, err)
	}
	if out, err := run(t, script, "/bin/true", "CODER_AGENT_TOKEN=x"); err == nil || !strings.Contains(out, "none of curl, wget and busybox") {
		t.Errorf("without a fetcher: %q, %v", out, err)
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[arch()]
	script, _ = initscript.Render("linux", other, "http://127.0.0.1:1", "token")
	if out, err := run(t, script, "/bin/true", "CODER_AGENT_TOKEN=x"); err == nil || !strings.Contains(out, "the template declares an agent for linux/"+other) {
		t.Errorf("on another architecture: %q, %v", out, err)
	}
}

func arch() string { return runtime.GOARCH }

// run gives the script a PATH with nothing but the basics and one fetcher.
func run(t *testing.T, script, fetcher string, env ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"uname", "mkdir", "mktemp", "chmod", "rm", "sleep"} {
		p, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not installed", name)
		}
		if err := os.Symlink(p, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(fetcher, filepath.Join(bin, filepath.Base(fetcher))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.Env = append([]string{"PATH=" + bin, "TMPDIR=" + t.TempDir(), "no_proxy=*"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
