package sshd_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// background runs OpenSSH until the test ends, and gives what it writes.
func background(t *testing.T, env []string, args ...string) *safeBuffer {
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("this machine has no ssh")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "ssh", args...)
	out := &safeBuffer{}
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait() //nolint:errcheck // killed
	})
	return out
}

// Forwards as OpenSSH requests them.
func TestOpenSSHForwards(t *testing.T) {
	addr, _ := serve(t)
	conf := openSSH(t, addr)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the app") }))
	defer web.Close()
	app := strings.TrimPrefix(web.URL, "http://")
	dir := t.TempDir()
	here, there := filepath.Join(dir, "here.sock"), filepath.Join(dir, "there.sock")
	local, remote, dynamic := testport.Free(t), testport.Free(t), testport.Free(t)
	background(t, nil, "-N", "-F", conf, "-o", "ExitOnForwardFailure=yes",
		"-L", local+":"+app, "-R", remote+":"+app, "-D", dynamic, "-L", here+":"+app, "-R", there+":"+app, "ws")
	get := func(c *http.Client) string {
		resp, err := c.Get("http://app/")
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body) // shows in what differs
		return string(b)
	}
	for name, to := range map[string][2]string{
		"-L": {"tcp", "127.0.0.1:" + local}, "-R": {"tcp", "127.0.0.1:" + remote}, "-L socket": {"unix", here}, "-R socket": {"unix", there},
	} {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, to[0], to[1])
		}}}
		testwait.Until(t, "the app answers", func() bool { return get(c) == "the app" })
		t.Logf("%s works", name)
	}
	if out := run(t, "curl", "-sS", "--socks5-hostname", "127.0.0.1:"+dynamic, web.URL); out != "the app" {
		t.Errorf("-D: %q", out)
	}
}

func TestGitOverSSH(t *testing.T) {
	there := t.TempDir()
	addr, _ := serve(t, func(c *sshd.Config) { c.Dir = there })
	conf := openSSH(t, addr)
	here := t.TempDir()
	run(t, "git", "init", "-q", "--bare", filepath.Join(there, "repo.git"))
	git := func(args ...string) {
		t.Helper()
		run(t, "git", append([]string{"-C", here, "-c", "core.sshCommand=ssh -F " + conf, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
	}
	git("clone", "-q", "ws:repo.git", "work")
	if err := os.WriteFile(filepath.Join(here, "work", "file"), bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	git("-C", "work", "add", ".")
	git("-C", "work", "commit", "-qm", "one")
	git("-C", "work", "push", "-q", "origin", "HEAD:main")
	git("clone", "-q", "-b", "main", "ws:repo.git", "again")
	if fi, err := os.Stat(filepath.Join(here, "again", "file")); err != nil || fi.Size() != 1<<20 {
		t.Error(err)
	}
}

// Windows of programs in the workspace come to the client's display, with the
// client's cookie.
func TestX11(t *testing.T) {
	if _, err := exec.LookPath("xauth"); err != nil {
		t.Skip("this machine has no xauth")
	}
	addr, _ := serve(t)
	conf := openSSH(t, addr)
	var screen net.Listener
	number := 0
	for n := 50; screen == nil && n < 100; n++ {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 6000+n)); err == nil {
			screen, number = l, n
		}
	}
	if screen == nil {
		t.Skip("there is no port left for a display")
	}
	defer screen.Close()
	const real = "00112233445566778899aabbccddeeff"
	authority := filepath.Join(t.TempDir(), "auth")
	env := []string{fmt.Sprintf("DISPLAY=localhost:%d", number), "XAUTHORITY=" + authority}
	add := exec.CommandContext(t.Context(), "xauth", "-f", authority, "add", fmt.Sprintf("localhost:%d", number), "MIT-MAGIC-COOKIE-1", real)
	if out, err := add.CombinedOutput(); err != nil {
		t.Skipf("xauth: %v %s", err, out)
	}
	out := background(t, env, "-Y", "-F", conf, "ws", `echo "display $DISPLAY"; xauth -f "$XAUTHORITY" list; stat -c %a "$XAUTHORITY"; exec sleep 100`)
	out.wait(t, "600\n")
	lines := strings.Split(out.String(), "\n")
	_, at, _ := strings.Cut(lines[0], "localhost:")
	n, err := strconv.Atoi(strings.TrimSuffix(at, ".0"))
	f := strings.Fields(lines[1])
	if err != nil || n < 10 || len(f) != 3 || f[1] != "MIT-MAGIC-COOKIE-1" || f[2] == real {
		t.Fatalf("%v: %q", err, out.String())
	}
	fake, err := hex.DecodeString(f[2])
	if err != nil {
		t.Fatal(err)
	}
	program, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", 6000+n))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	hello := append([]byte{'l', 0, 11, 0, 0, 0, 18, 0, 16, 0, 0, 0}, "MIT-MAGIC-COOKIE-1\x00\x00"...)
	if _, err := program.Write(append(hello, fake...)); err != nil {
		t.Fatal(err)
	}
	nc, err := screen.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(testwait.Limit)) // it has one
	got := make([]byte, len(hello)+16)
	if _, err := io.ReadFull(nc, got); err != nil || hex.EncodeToString(got[len(hello):]) != real {
		t.Errorf("%v: the display was told %x", err, got)
	}
	if _, err := nc.Write([]byte("welcome")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(program, got[:7]); err != nil || string(got[:7]) != "welcome" {
		t.Errorf("%v: the program was told %q", err, got[:7])
	}
}

func TestLocalTerminal(t *testing.T) {
	addr, srv := serve(t)
	_ = addr
	var out safeBuffer
	term := srv.OpenTerminal(t.Context(), sshd.TerminalOptions{Term: "xterm", Columns: 90, Rows: 30, Output: &out, Command: `echo "<$TERM $(stty size) ${SSH_CONNECTION:-none}>"; read x; echo "<$(stty size) $x>"; sleep 100`})
	out.wait(t, "<xterm 30 90 none>")
	term.Resize(100, 40)
	io.WriteString(term, "typed\r")
	out.wait(t, "<40 100 typed>")
	if n := srv.Counts(); n.SSH != 0 {
		t.Errorf("it is counted: %+v", n)
	}
	term.Close()
	select {
	case <-term.Done():
	case <-time.After(testwait.Limit):
		t.Error("it does not end")
	}
}
