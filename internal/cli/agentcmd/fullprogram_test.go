package agentcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// downloads serves one program, as /bin of a server does, and counts its downloads.
type downloads struct {
	program, sum string
	sent         int
}

func (d *downloads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Header.Get("If-None-Match"), d.sum) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	d.sent++
	w.Header().Set("X-Coder-SHA256", d.sum)
	io.WriteString(w, d.program) //nolint:errcheck // the client finds out
}

func (d *downloads) set(program string) {
	sum := sha256.Sum256([]byte(program))
	d.program, d.sum = program, hex.EncodeToString(sum[:])
}

// TestFullProgram downloads the full program once for each version, and keeps the
// last one when the server does not answer or sends something else.
func TestFullProgram(t *testing.T) {
	t.Parallel()
	d := &downloads{}
	server := httptest.NewServer(d)
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	fetch := func() (string, error) {
		return fetchFullProgram(context.Background(), codersdk.New(u), io.Discard, dir)
	}
	for i, tc := range []struct {
		program string
		sent    int
	}{{"one", 1}, {"one", 1}, {"two", 2}, {"two", 2}} {
		d.set(tc.program)
		file, err := fetch()
		if err != nil {
			t.Fatalf("fetch %d: %v", i, err)
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != tc.program || d.sent != tc.sent {
			t.Errorf("fetch %d: %q after %d downloads, %v", i, got, d.sent, err)
		}
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("fetch %d: mode %v, %v", i, st.Mode(), err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d programs are kept", len(files))
	}
	d.set("three")
	d.program = "something else"
	if _, err := fetch(); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a wrong program: %v", err)
	}
	server.Close()
	file, err := fetch()
	if got, _ := os.ReadFile(file); err != nil || string(got) != "two" {
		t.Errorf("without the server: %q, %v", got, err)
	}
}

// TestStat runs the commands that templates use as metadata.
func TestStat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for args, want := range map[string]string{
		"stat":                                   "HOST CPU",
		"stat --output json":                     `"host_cpu"`,
		"stat cpu --host":                        "cores",
		"stat mem --prefix Mi":                   "MiB",
		"stat disk --path " + dir:                "GiB",
		"stat disk --output json --path " + dir:  `"total"`,
		"stat disk --path " + dir + "/not/there": "",
	} {
		out, errs, code := call(t, dir, nil, strings.Fields(args)...)
		if (code != 0) != (want == "") || !strings.Contains(out, want) {
			t.Errorf("coder %s: %d\n%s%s", args, code, out, errs)
		}
	}
	if _, errs, code := call(t, dir, []string{"CODER_AGENT_URL=http://127.0.0.1:1", "XDG_CACHE_HOME=" + filepath.Join(dir, "cache")}, "list"); code == 0 || !strings.Contains(errs, "cannot reach http://127.0.0.1:1") {
		t.Errorf("the full program of no server: %d %s", code, errs)
	}
}
