package download

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const testVersion = "v2.37.0-devel+abc"

// installer runs install.sh of a server as a user does, with the tools and on
// the machine that a test wants.
type installer struct {
	*fixture
	tools string // the only directory on PATH
	home  string
}

func newInstaller(t *testing.T, tools ...string) *installer {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	in := &installer{fixture: serve(t), tools: t.TempDir(), home: t.TempDir()}
	var script http.Handler
	mux := http.NewServeMux()
	mux.Handle("/bin/", in.h)
	mux.HandleFunc("GET /install.sh", func(w http.ResponseWriter, r *http.Request) { script.ServeHTTP(w, r) })
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	in.url, script = srv.URL, ServeInstallScript(srv.URL+"/", testVersion)
	base := []string{"cat", "chmod", "cp", "cut", "dirname", "head", "id", "mkdir", "mktemp", "mv", "rm", "sed", "tr", "uname"}
	for _, tool := range append(base, tools...) {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("needs %s", tool)
		}
		if err := os.Symlink(path, filepath.Join(in.tools, tool)); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// fake replaces a tool by a shell script.
func (in *installer) fake(t *testing.T, tool, script string) {
	t.Helper()
	os.Remove(filepath.Join(in.tools, tool))
	put(t, filepath.Join(in.tools, tool), "#!/bin/sh\n"+script+"\n")
}

func (in *installer) machine(t *testing.T, system, machine string) {
	t.Helper()
	in.fake(t, "uname", `case $1 in -s) echo `+system+`;; -m) echo `+machine+`;; esac`)
}

// run is `curl $url/install.sh | sh -s -- args`; it returns both outputs.
func (in *installer) run(t *testing.T, args ...string) (out string, ok bool) {
	t.Helper()
	resp, script := in.ask(t, "GET", "/install.sh")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-s", "--"}, args...)...)
	cmd.Stdin, cmd.Dir = strings.NewReader(script), in.home
	cmd.Env = []string{"PATH=" + in.tools, "HOME=" + in.home, "TMPDIR=" + t.TempDir()}
	b, err := cmd.CombinedOutput()
	return string(b), err == nil
}

// program is what is installed: it runs on every machine that has a shell.
func program(platform string) string {
	return "#!/bin/sh\n# " + strings.Repeat("padding ", 500) + "\necho coder for " + platform + "\n"
}

func TestInstall(t *testing.T) {
	for _, tools := range [][]string{{"curl", "gzip", "sha256sum"}, {"curl", "sha256sum"}, {"wget", "gzip", "openssl"}, {"wget", "sha256sum"}} {
		t.Run(strings.Join(tools, " "), func(t *testing.T) {
			in := newInstaller(t, tools...)
			for platform, machine := range map[string][2]string{
				"linux-amd64": {"Linux", "x86_64"}, "linux-arm64": {"Linux", "aarch64"}, "linux-armv7": {"Linux", "armv7l"},
				"darwin-amd64": {"Darwin", "x86_64"}, "darwin-arm64": {"Darwin", "arm64"},
			} {
				text := program(platform)
				put(t, filepath.Join(in.admin, "coder-"+platform), text)
				in.machine(t, machine[0], machine[1])
				for _, args := range [][]string{{"--prefix", in.home + "/my programs"}, {"--prefix=~/my programs"}, {"--prefix", "my programs", "--method=standalone"}} {
					out, ok := in.run(t, args...)
					file := filepath.Join(in.home, "my programs", "bin", "coder")
					got, _ := os.ReadFile(file) // an absent file is another content
					if !ok || string(got) != text || !strings.Contains(out, "Installed coder "+testVersion+" as "+file) || !strings.Contains(out, "PATH") {
						t.Fatalf("%s %q: %d bytes\n%s", platform, args, len(got), out)
					}
					if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o755 {
						t.Errorf("%v %v", st.Mode(), err)
					}
					if files, _ := filepath.Glob(filepath.Join(in.home, "my programs", "bin", "*")); len(files) != 1 {
						t.Errorf("left: %v", files)
					}
					os.Remove(file)
				}
			}
		})
	}
}

func TestInstallDetails(t *testing.T) {
	in := newInstaller(t, "curl", "gzip", "sha256sum")
	in.machine(t, "Linux", "x86_64")
	put(t, filepath.Join(in.admin, "coder-linux-amd64"), program("linux-amd64"))
	put(t, filepath.Join(in.admin, "coder-linux-armv7"), program("linux-armv7"))
	put(t, filepath.Join(in.admin, "coder-darwin-arm64"), program("darwin-arm64"))
	bin := filepath.Join(in.home, "p", "bin")
	for _, c := range []struct {
		name  string
		args  []string
		setup func()
		ok    bool
		want  string
	}{
		{"help", []string{"--help"}, nil, true, "curl -fsSL " + in.url + "/install.sh | sh -s --"},
		{"dry run", []string{"--dry-run", "--prefix", in.home + "/p"}, nil, true, "+ mv " + bin + "/.coder.new " + bin + "/coder\n"},
		{"another name", []string{"--binary-name=coder2", "--prefix", in.home + "/p"}, nil, true, bin + "/coder2"},
		{"the version of the server", []string{"--version", "2.37.0-devel+abc", "--prefix", in.home + "/p"}, nil, true, "Installed"},
		{"another version", []string{"--version", "2.30.0"}, nil, false, "this server has version " + testVersion + ", not 2.30.0"},
		{"a channel", []string{"--stable", "--prefix", in.home + "/p"}, nil, true, "--stable is ignored"},
		{"unknown option", []string{"--frobnicate"}, nil, false, "unknown option --frobnicate; see --help"},
		{"no value", []string{"--prefix"}, nil, false, "--prefix needs a value"},
		{"empty value", []string{"--prefix="}, nil, false, "--prefix needs a value"},
		{"bad name", []string{"--binary-name=../x"}, nil, false, "must not have a slash"},
		{"bad server", []string{"--server", "ftp://x"}, nil, false, "must begin with http:// or https://"},
		{"absent server", []string{"--server", "http://127.0.0.1:1", "--prefix", in.home + "/p"}, nil, false, "cannot download http://127.0.0.1:1/bin/coder-linux-amd64"},
		{"bad method", []string{"--method", "brew"}, nil, false, "the method brew is unknown"},
		{"windows", nil, func() { in.machine(t, "MINGW64_NT-10.0", "x86_64") }, false, in.url + "/bin/coder-windows-amd64.exe"},
		{"other system", nil, func() { in.machine(t, "FreeBSD", "amd64") }, false, "there is no coder for FreeBSD"},
		{"other machine", nil, func() { in.machine(t, "Linux", "riscv64") }, false, "there is no coder for the architecture riscv64"},
		{"old mac", nil, func() { in.machine(t, "Darwin", "armv7l") }, false, "macOS on armv7l"},
		{"missing platform", []string{"--prefix", in.home + "/p"}, func() { in.machine(t, "Linux", "aarch64") }, false, "make clis"},
		{"rosetta", []string{"--dry-run"}, func() { in.machine(t, "Darwin", "x86_64"); in.fake(t, "sysctl", "echo 1") }, true, "coder-darwin-arm64"},
		{"32-bit system", []string{"--dry-run"}, func() { in.machine(t, "Linux", "aarch64"); in.fake(t, "getconf", "echo 32") }, true, "coder-linux-armv7"},
		{"not executable here", []string{"--prefix", in.home + "/q"}, func() { put(t, filepath.Join(in.admin, "coder-linux-amd64"), "#!/bin/sh\nexit 1\n") }, false, "does not run on this machine"},
		{"damaged", []string{"--prefix", in.home + "/q"}, func() { in.fake(t, "sha256sum", "cat >/dev/null; echo 0000  -") }, false, "its SHA-256 is 0000"},
		{"cannot verify", []string{"--prefix", in.home + "/q"}, func() { os.Remove(filepath.Join(in.tools, "sha256sum")) }, false, "--skip-checksum"},
		{"need not verify", []string{"--prefix", in.home + "/p", "--skip-checksum"}, func() { put(t, filepath.Join(in.admin, "coder-linux-amd64"), program("")) }, true, "Installed"},
		{"no tool", []string{"--prefix", in.home + "/q"}, func() { os.Remove(filepath.Join(in.tools, "curl")) }, false, "install curl or wget first"},
	} {
		if in.machine(t, "Linux", "x86_64"); c.setup != nil {
			c.setup()
		}
		out, ok := in.run(t, c.args...)
		if ok != c.ok || !strings.Contains(out, c.want) {
			t.Errorf("%s: %t\n%s\nwant %s", c.name, ok, out, c.want)
		}
		if c.name == "dry run" {
			if _, err := os.Stat(filepath.Join(in.home, "p")); err == nil {
				t.Error("the dry run wrote a file")
			}
		}
	}
	if files, _ := filepath.Glob(filepath.Join(in.home, "q", "bin", ".*")); len(files) != 0 {
		t.Errorf("left after failures: %v", files)
	}
}

// Where the directory belongs to root, sudo or doas writes to it.
func TestInstallAsRoot(t *testing.T) {
	in := newInstaller(t, "curl", "gzip", "sha256sum")
	in.machine(t, "Linux", "x86_64")
	in.fake(t, "id", "echo 1000")
	put(t, filepath.Join(in.admin, "coder-linux-amd64"), program("linux-amd64"))
	// /proc can be written to by nobody, root included.
	if out, ok := in.run(t, "--prefix", "/proc/coder"); ok || !strings.Contains(out, "use --prefix with a directory of your own") {
		t.Skipf("this system lets everybody write there: %s", out)
	}
	in.fake(t, "doas", "exit 3")
	if out, ok := in.run(t, "--prefix", "/proc/coder", "--dry-run"); !ok || !strings.Contains(out, "+ doas mkdir -p /proc/coder/bin") {
		t.Errorf("%t %s", ok, out)
	}
	in.fake(t, "sudo", `echo "as root: $*"; exit 1`)
	if out, ok := in.run(t, "--prefix", "/proc/coder"); ok || !strings.Contains(out, "as root: mkdir -p /proc/coder/bin") {
		t.Errorf("%t %s", ok, out)
	}
}

// A script that was cut off anywhere must not do half of its work.
func TestInstallScriptCutOff(t *testing.T) {
	script := InstallScript("http://127.0.0.1:1", testVersion)
	home := t.TempDir()
	for at := 0; at < len(script)-len("main \"$@\"\n"); at += 97 {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-s", "--", "--prefix", home+"/p")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(script[:at]), io.Discard, io.Discard
		_ = cmd.Run() // most are errors of syntax
	}
	if files, err := os.ReadDir(home); err != nil || len(files) != 0 {
		t.Errorf("%v %v", files, err)
	}
}

// What an administrator may put into the access URL stays one word.
func TestInstallScriptQuotes(t *testing.T) {
	for url, want := range map[string]string{
		"https://coder.example.com/": "https://coder.example.com", "https://x/'$(touch /tmp/never)`id`": `https://x/'$(touch /tmp/never)` + "`id`",
	} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-s", "--", "--help")
		cmd.Stdin = strings.NewReader(InstallScript(url, "v1\nexit 3"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "from "+want+".\n") {
			t.Errorf("%s: %v\n%s", url, err, out)
		}
	}
}
