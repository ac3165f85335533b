package sshd_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// serve serves SSH on a loopback port and gives its address. Everything of it
// has ended when the test ends.
func serve(t testing.TB, change ...func(*sshd.Config)) (string, *sshd.Server) {
	t.Helper()
	return serveWith(t, sshd.Options{}, change...)
}

func serveWith(t testing.TB, o sshd.Options, change ...func(*sshd.Config)) (string, *sshd.Server) {
	t.Helper()
	c := sshd.Config{HostKeySeed: bytes.Repeat([]byte{7}, 32), Env: append(os.Environ(), "HOME="+t.TempDir()), Dir: t.TempDir()}
	for _, f := range change {
		f(&c)
	}
	s, err := sshd.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { _ = s.ServeConn(ctx, nc, o) }) // what clients do wrong is the tests' business
		}
	})
	t.Cleanup(func() {
		l.Close()
		cancel()
		wait.Wait()
	})
	return l.Addr().String(), s
}

func dial(t testing.TB, addr string) *ssh.Client {
	t.Helper()
	c, err := ssh.Dial("tcp", addr, &ssh.ClientConfig{User: "anybody", HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: testwait.Limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func session(t testing.TB, c *ssh.Client) *ssh.Session {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestExec(t *testing.T) {
	addr, _ := serve(t)
	c := dial(t, addr)
	for _, tc := range []struct {
		name, command, stdin string
		stdout, stderr       string
		code                 int
		signal               string
	}{
		{name: "output", command: "echo out; echo err >&2", stdout: "out\n", stderr: "err\n"},
		{name: "exit code", command: "exit 42", code: 42},
		{name: "end of input", command: "cat; echo end", stdin: "some input", stdout: "some inputend\n"},
		{name: "input not read", command: "true", stdin: strings.Repeat("x", 1<<20)},
		{name: "unknown command", command: "no-such-command 2>/dev/null", code: 127},
		{name: "signal", command: "kill -TERM $$", signal: "TERM"},
		{name: "kill", command: "kill -KILL $$", signal: "KILL"},
		{name: "quotes", command: `printf '%s|' "a b" 'c"d'`, stdout: `a b|c"d|`},
		{name: "much output at once", command: "head -c 1000000 /dev/zero | tr '\\0' x", stdout: strings.Repeat("x", 1000000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := session(t, c)
			var out, errs bytes.Buffer
			s.Stdout, s.Stderr, s.Stdin = &out, &errs, strings.NewReader(tc.stdin)
			err := s.Run(tc.command)
			if out.String() != tc.stdout || errs.String() != tc.stderr {
				t.Errorf("stdout %.80q, stderr %.80q", out.String(), errs.String())
			}
			exit := &ssh.ExitError{}
			switch {
			case tc.code == 0 && tc.signal == "":
				// A client that still writes when the command has ended gets io.EOF.
				if err != nil && !(errors.Is(err, io.EOF) && len(tc.stdin) > 1000) {
					t.Errorf("error %v", err)
				}
			case !errors.As(err, &exit):
				t.Errorf("error %v, not an exit", err)
			case tc.signal != "" && exit.Signal() != tc.signal, tc.signal == "" && exit.ExitStatus() != tc.code:
				t.Errorf("status %d, signal %q", exit.ExitStatus(), exit.Signal())
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	addr, _ := serve(t, func(c *sshd.Config) { c.Dir = dir; c.Env = append(c.Env, "GIVEN=by template") })
	s := session(t, dial(t, addr))
	if err := s.Setenv("ASKED", "by client"); err != nil {
		t.Fatal(err)
	}
	if err := s.Setenv("BAD=NAME", "x"); err == nil {
		t.Error("a name with = was taken")
	}
	out, err := s.Output(`echo "$GIVEN,$ASKED,$PWD,${SSH_CONNECTION:+set},$CODER_SSH_SESSION_TYPE"; test -n "$HOME" -a -n "$USER" -a -x "$SHELL"`)
	if want := "by template,by client," + dir + ",set,\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

func TestDirectoryGone(t *testing.T) {
	home := t.TempDir()
	addr, _ := serve(t, func(c *sshd.Config) { c.Dir = "/does/not/exist"; c.Env = append(c.Env, "HOME="+home) })
	out, err := session(t, dial(t, addr)).Output("pwd")
	if err != nil || strings.TrimSpace(string(out)) != home {
		t.Errorf("%v: began in %q, not at home %q", err, out, home)
	}
}

// A child in the background holds the pipe open, but what the command wrote is
// all there, and soon.
func TestBackgroundChildHoldsPipe(t *testing.T) {
	addr, _ := serve(t)
	pid := filepath.Join(t.TempDir(), "pid")
	t.Cleanup(func() {
		b, _ := os.ReadFile(pid)
		if child, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			syscall.Kill(child, syscall.SIGKILL) //nolint:errcheck // it may be gone
		}
	})
	ended := make(chan int, 1)
	s := session(t, dial(t, addr))
	go func() {
		out, err := s.Output("sleep 600 & echo $! > " + pid + "; head -c 60000 /dev/zero; exit 0")
		if err != nil {
			t.Error(err)
		}
		ended <- len(out)
	}()
	if n := testwait.Receive(t, "the end of the session", ended); n != 60000 {
		t.Errorf("%d bytes", n)
	}
}

// An agent that nohup started ignores SIGHUP; the commands of its sessions must not.
func TestHangupNotIgnored(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
	addr, _ := serve(t)
	out, err := session(t, dial(t, addr)).Output("kill -HUP $$; echo ignored")
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || exit.Signal() != "HUP" {
		t.Errorf("%q, %v: SIGHUP did not end the command", out, err)
	}
}

func TestTerminal(t *testing.T) {
	motd := filepath.Join(t.TempDir(), "motd")
	if err := os.WriteFile(motd, []byte("Welcome\nto work\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	addr, _ := serve(t, func(c *sshd.Config) { c.MOTDFile = motd })
	s := session(t, dial(t, addr))
	if err := s.RequestPty("xterm-256color", 33, 111, ssh.TerminalModes{ssh.ECHO: 0, ssh.ONLCR: 0}); err != nil {
		t.Fatal(err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out safeBuffer
	s.Stdout = &out
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `echo "<$TERM $(stty size) $(tty | cut -c1-8)>"`)
	out.wait(t, "<xterm-256color 33 111 /dev/pts>")
	if err := s.WindowChange(44, 122); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `until [ "$(stty size)" = "44 122" ]; do sleep 0.02; done; echo "<$(stty size)>"`) // input can overtake the change
	out.wait(t, "<44 122>")
	fmt.Fprintln(in, "exit 7")
	exit := &ssh.ExitError{}
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 7 {
		t.Errorf("ended with %v", err)
	}
	if !strings.HasPrefix(out.String(), "Welcome\r\nto work\r\n") {
		t.Errorf("no message of the day: %q", out.String())
	}
}

func TestTerminalEndOfInput(t *testing.T) {
	addr, _ := serve(t)
	s := session(t, dial(t, addr))
	if err := s.RequestPty("vt100", 24, 80, nil); err != nil {
		t.Fatal(err)
	}
	s.Stdin = strings.NewReader("echo last\n")
	out, err := s.Output("sh -s")
	if err != nil || !strings.Contains(string(out), "last") {
		t.Errorf("%v: %q", err, out)
	}
}

func TestSignal(t *testing.T) {
	addr, _ := serve(t)
	s := session(t, dial(t, addr))
	var out safeBuffer
	s.Stdout = &out
	if err := s.Start(`trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.05; done`); err != nil {
		t.Fatal(err)
	}
	out.wait(t, "ready")
	if err := s.Signal(ssh.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	out.wait(t, "got")
	exit := &ssh.ExitError{}
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 3 {
		t.Errorf("ended with %v", err)
	}
}

// The processes of a session end with its client.
func TestClientLeaves(t *testing.T) {
	for _, tty := range []bool{false, true} {
		t.Run(fmt.Sprintf("terminal=%t", tty), func(t *testing.T) {
			addr, srv := serve(t)
			c := dial(t, addr)
			s := session(t, c)
			if tty {
				if err := s.RequestPty("xterm", 24, 80, nil); err != nil {
					t.Fatal(err)
				}
			}
			var out safeBuffer
			s.Stdout = &out
			if err := s.Start(`sh -c 'echo "pid $$."; exec sleep 1000' & wait`); err != nil {
				t.Fatal(err)
			}
			out.wait(t, ".")
			_, text, _ := strings.Cut(out.String(), "pid ")
			pid, err := strconv.Atoi(strings.TrimRight(text, ".\r\n"))
			if err != nil {
				t.Fatal(err)
			}
			if n := srv.Counts(); n.SSH != 1 {
				t.Errorf("%+v sessions are open", n)
			}
			c.Close()
			testwait.Until(t, "the process has ended", func() bool { return gone(pid) || zombie(pid) })
			testwait.Until(t, "no session is left", func() bool { return srv.Counts().SSH == 0 })
		})
	}
}

func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestManySessions(t *testing.T) {
	addr, srv := serve(t)
	before := runtime.NumGoroutine()
	c := dial(t, addr)
	data := make([]byte, 1<<20)
	_, _ = rand.Read(data)
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			s, err := c.NewSession()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			s.Stdin = bytes.NewReader(data)
			out, err := s.Output("sha256sum")
			if err != nil || !strings.HasPrefix(string(out), sum) {
				t.Errorf("%v: %q", err, out)
			}
		})
	}
	wait.Wait()
	c.Close()
	testwait.Until(t, "no session and no goroutine is left", func() bool { return srv.Counts().SSH == 0 && runtime.NumGoroutine() <= before })
}

func TestBigTransfer(t *testing.T) {
	addr, _ := serve(t)
	c := dial(t, addr)
	const size = 64 << 20
	t.Run("down", func(t *testing.T) {
		s := session(t, c)
		h := sha256.New()
		s.Stdout = h
		begin := time.Now()
		if err := s.Run("head -c 67108864 /dev/zero"); err != nil {
			t.Fatal(err)
		}
		t.Logf("%.0f MB/s", size/1e6/time.Since(begin).Seconds())
		if want := sha256.Sum256(make([]byte, size)); !bytes.Equal(h.Sum(nil), want[:]) {
			t.Error("other bytes arrived")
		}
	})
	t.Run("up", func(t *testing.T) {
		s := session(t, c)
		s.Stdin = io.LimitReader(zeros{}, size)
		begin := time.Now()
		out, err := s.Output("wc -c")
		t.Logf("%.0f MB/s", size/1e6/time.Since(begin).Seconds())
		if err != nil || strings.TrimSpace(string(out)) != strconv.Itoa(size) {
			t.Errorf("%v: %q", err, out)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestSFTP(t *testing.T) {
	dir := t.TempDir()
	addr, _ := serve(t, func(c *sshd.Config) { c.Dir = dir })
	c, err := sftp.NewClient(dial(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Create("new file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if b, err := os.ReadFile(filepath.Join(dir, "new file")); err != nil || string(b) != "content" {
		t.Errorf("%v: %q", err, b)
	}
	if wd, err := c.Getwd(); err != nil || wd != dir {
		t.Errorf("%v: begins in %q", err, wd)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestGate(t *testing.T) {
	open := make(chan struct{})
	addr, _ := serve(t, func(c *sshd.Config) {
		c.Gate = func(ctx context.Context, say func(string)) error {
			say("hold on")
			select {
			case <-open:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	c := dial(t, addr)
	hasty := session(t, c)
	if err := hasty.Setenv("CODER_SSH_WAIT", "no"); err != nil {
		t.Fatal(err)
	}
	if out, err := hasty.Output("echo in"); err != nil || string(out) != "in\n" {
		t.Errorf("past the gate: %v: %q", err, out)
	}
	s := session(t, c)
	var out, errs safeBuffer
	s.Stdout, s.Stderr = &out, &errs
	if err := s.Start("echo in"); err != nil {
		t.Fatal(err)
	}
	errs.wait(t, "hold on")
	if out.String() != "" {
		t.Error("the gate was not awaited")
	}
	close(open)
	if err := s.Wait(); err != nil || out.String() != "in\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}

func TestSessionKinds(t *testing.T) {
	addr, srv := serve(t)
	c := dial(t, addr)
	for kind, count := range map[string]func(sshd.Counts) int64{
		"vscode":    func(n sshd.Counts) int64 { return n.VSCode },
		"jetbrains": func(n sshd.Counts) int64 { return n.JetBrains },
		"cursor":    func(n sshd.Counts) int64 { return n.VSCode },
		"ssh":       func(n sshd.Counts) int64 { return n.SSH },
		"":          func(n sshd.Counts) int64 { return n.SSH },
	} {
		s := session(t, c)
		if kind != "" {
			if err := s.Setenv("CODER_SSH_SESSION_TYPE", kind); err != nil {
				t.Fatal(err)
			}
		}
		in, err := s.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start("cat"); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the session is counted", func() bool { return count(srv.Counts()) == 1 })
		in.Close()
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		testwait.Until(t, "the session is no longer counted", func() bool { return count(srv.Counts()) == 0 })
	}
}

// TestClientsThatAreAwayDoNotCount: the sessions and the app of a client that sleeps are no
// use of the workspace, and are again when the client returns.
func TestClientsThatAreAwayDoNotCount(t *testing.T) {
	for app, want := range map[string]sshd.Counts{"": {SSH: 1}, "vscode": {VSCode: 1}} {
		var away atomic.Bool
		addr, srv := serveWith(t, sshd.Options{App: app, Away: away.Load})
		s := session(t, dial(t, addr))
		if err := s.Start("cat"); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the session counts", func() bool { return srv.Counts() == want })
		away.Store(true)
		if got := srv.Counts(); got != (sshd.Counts{}) {
			t.Errorf("%q counts as %+v while its client is away", app, got)
		}
		away.Store(false)
		if got := srv.Counts(); got != want {
			t.Errorf("%q counts as %+v after its client returned, not %+v", app, got, want)
		}
	}
}

// TestAppOfAConnection: a connection whose client says what it is for counts once
// while it lasts, whatever its sessions say.
func TestAppOfAConnection(t *testing.T) {
	for app, want := range map[string]sshd.Counts{
		"vscode":           {VSCode: 1},
		"jetbrains":        {JetBrains: 1},
		"reconnecting-pty": {ReconnectingPTY: 1},
		"ssh":              {SSH: 1},
		"disable":          {},
	} {
		addr, srv := serveWith(t, sshd.Options{App: app})
		c := dial(t, addr)
		testwait.Until(t, fmt.Sprintf("the counts are %+v", want), func() bool { return srv.Counts() == want })
		s := session(t, c)
		if err := s.Setenv("CODER_SSH_SESSION_TYPE", "vscode"); err != nil {
			t.Fatal(err)
		}
		if out, err := s.Output("echo in"); err != nil || string(out) != "in\n" || srv.Counts() != want {
			t.Errorf("%s: %q, %v, counted as %+v, want %+v", app, out, err, srv.Counts(), want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		testwait.Until(t, "no session is counted", func() bool { return srv.Counts() == sshd.Counts{} })
	}
}

func TestRefusals(t *testing.T) {
	addr, _ := serve(t)
	c := dial(t, addr)
	if _, _, err := c.OpenChannel("x11", nil); err == nil {
		t.Error("an unknown channel was opened")
	}
	if _, _, err := c.OpenChannel("direct-tcpip", []byte("nonsense")); err == nil {
		t.Error("a forward to nowhere was opened")
	}
	if err := session(t, c).RequestSubsystem("nonsense"); err == nil {
		t.Error("an unknown subsystem was begun")
	}
	s := session(t, c)
	if err := s.Start("cat"); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.SendRequest("exec", true, ssh.Marshal(struct{ C string }{"echo twice"})); ok || err != nil {
		t.Errorf("a second command was begun: %v", err)
	}
	for _, kind := range []string{"pty-req", "window-change", "signal", "env", "exec", "subsystem"} {
		if ok, err := session(t, c).SendRequest(kind, true, []byte{1}); ok || err != nil {
			t.Errorf("a broken %s was taken: %v", kind, err)
		}
	}
	if ok, _, err := c.SendRequest("keepalive@openssh.com", true, nil); err != nil || !ok {
		t.Errorf("keepalive: %t, %v", ok, err)
	}
	if _, err := sshd.New(sshd.Config{HostKeySeed: []byte("short")}); err == nil {
		t.Error("a short seed was taken")
	}
}

// safeBuffer is a buffer that may be written and read at once.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *safeBuffer) wait(t *testing.T, text string) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("%q is written", text), func() bool { return strings.Contains(b.String(), text) }, testwait.Showing(b.String))
}
