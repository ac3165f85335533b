package initscript_test

import (
	"compress/gzip"
	"fmt"
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
// first, with each of the fetchers that are here, with and without gzip on
// either side.
func TestRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script under test is Linux's")
	}
	const agent = "#!/bin/sh\n[ \"$1\" = version ] && exit 0\necho \"$1 $CODER_AGENT_URL $CODER_AGENT_AUTH $CODER_AGENT_TOKEN\"\n"
	var calls, packed atomic.Int32
	var packs atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			http.Error(w, "not yet", http.StatusBadGateway)
			return
		}
		if r.URL.Path != "/bin/coder-linux-"+arch() || r.URL.RawQuery != "for=agent" {
			t.Errorf("fetched %s", r.URL)
		}
		if !packs.Load() || r.Header.Get("Accept-Encoding") != "gzip" {
			w.Write([]byte(agent))
			return
		}
		packed.Add(1)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		z.Write([]byte(agent))
	}))
	defer server.Close()
	for _, fetcher := range []string{"curl", "wget", "busybox"} {
		program, err := exec.LookPath(fetcher)
		if err != nil {
			t.Logf("%s is not installed, not tried", fetcher)
			continue
		}
		for _, c := range []struct {
			slash           string
			here, there, is bool // gzip in the machine, in the server, in the answer
		}{{"", true, true, true}, {"/", true, false, false}, {"", false, true, false}} {
			t.Run(fmt.Sprintf("%s%s,gzip=%t,%t", fetcher, c.slash, c.here, c.there), func(t *testing.T) {
				calls.Store(0)
				packed.Store(0)
				packs.Store(c.there)
				script, err := initscript.Render("linux", arch(), server.URL+c.slash, "token")
				if err != nil {
					t.Fatal(err)
				}
				programs := []string{program}
				if c.here {
					programs = append(programs, "gzip")
				}
				out, err := run(t, script, programs, "CODER_AGENT_TOKEN=secret")
				if want := "agent " + server.URL + "/ token secret\n"; err != nil || !strings.HasSuffix(out, want) {
					t.Fatalf("got %q, %v; want %q", out, err, want)
				}
				if !strings.Contains(out, "trying again in 1 s") {
					t.Errorf("the first failure was not told: %q", out)
				}
				if (packed.Load() > 0) != c.is {
					t.Errorf("sent compressed %d times", packed.Load())
				}
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script under test is Linux's")
	}
	script, _ := initscript.Render("linux", arch(), "http://127.0.0.1:1", "token")
	if out, err := run(t, script, []string{"/bin/true"}); err == nil || !strings.Contains(out, "CODER_AGENT_TOKEN is not set") {
		t.Errorf("without a token: %q, %v", out, err)
	}
	if out, err := run(t, script, []string{"/bin/true"}, "CODER_AGENT_TOKEN=x"); err == nil || !strings.Contains(out, "none of curl, wget and busybox") {
		t.Errorf("without a fetcher: %q, %v", out, err)
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[arch()]
	script, _ = initscript.Render("linux", other, "http://127.0.0.1:1", "token")
	if out, err := run(t, script, []string{"/bin/true"}, "CODER_AGENT_TOKEN=x"); err == nil || !strings.Contains(out, "the template declares an agent for linux/"+other) {
		t.Errorf("on another architecture: %q, %v", out, err)
	}
}

func arch() string { return runtime.GOARCH }

// run runs the script with a PATH of only the basics and some programs.
func run(t *testing.T, script string, programs []string, env ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range append([]string{"uname", "mkdir", "mktemp", "chmod", "rm", "mv", "sleep"}, programs...) {
		p, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not installed", name)
		}
		if err := os.Symlink(p, filepath.Join(bin, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.Env = append([]string{"PATH=" + bin, "TMPDIR=" + t.TempDir(), "no_proxy=*"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
