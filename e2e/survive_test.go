package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// remote is a workspace, and a user who connects to it over a separate network.
type remote struct {
	*testServer
	user, agent *faultyNetwork
	log         string
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{testServer: &testServer{bin: bin, dir: t.TempDir(), address: testport.FreeAddress(t), tmp: shortDir(t)}}
	r.log = filepath.Join(r.dir, "server.log")
	r.user, r.agent = newFaultyNetwork(t, r.address), newFaultyNetwork(t, r.address)
	r.provideDatabase(t)
	r.serve(t)
	t.Cleanup(r.killAgents)
	r.run(t, "login", r.user.url(), "--first-user-username", "admin", "--first-user-email", "admin@example.com", "--first-user-password", password)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	r.run(t, "templates", "push", "local", "--directory", filepath.Join(root, "examples/templates/local"), "--yes")
	r.run(t, "create", "dev", "--template", "local", "--use-parameter-defaults", "--yes")
	r.run(t, "ssh", "dev", "true")
	return r
}

func (r *remote) serve(t *testing.T) {
	t.Helper()
	r.server = r.start(t, r.log, r.env(), "server", "--http-address", r.address, "--access-url", r.agent.url(), "--provisioner-daemons", "1")
	awaitHealth(t, r.address)
}

// environ returns the environment of the user. It forces connections over the relay,
// because the faults do not affect a direct path.
func (r *remote) environ() []string {
	return r.env("CODER_URL="+r.user.url(), "CODER_DISABLE_DIRECT_CONNECTIONS=true", "SHELL=/bin/bash", "TERM=xterm")
}

// command returns a command of the user.
func (r *remote) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = r.dir, r.environ(), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// session starts a command with a talker.
func (r *remote) session(t *testing.T, label, name string, args ...string) *talker {
	t.Helper()
	cmd := r.command(name, args...)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	return talk(label, in, out)
}

// background runs a command until the test ends.
func (r *remote) background(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := r.command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
}

// echoes starts TCP and UDP echo servers at the same port of the workspace's machine.
func echoes(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); u.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c) //nolint:errcheck // the reader of the echo reports failures
				c.Close()
			}()
		}
	}()
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			u.WriteTo(b[:n], from) //nolint:errcheck // UDP packets can be lost
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

func dialSoon(t *testing.T, network, address string) net.Conn {
	t.Helper()
	var c net.Conn
	testwait.Until(t, "a listener at "+address, func() (ok bool) {
		var err error
		c, err = net.Dial(network, address)
		return err == nil
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// answered sends datagrams until one comes back.
func answered(t *testing.T, c net.Conn) {
	t.Helper()
	b := make([]byte, 100)
	testwait.Until(t, "a datagram comes back", func() bool {
		c.SetDeadline(time.Now().Add(200 * time.Millisecond)) //nolint:errcheck // Read returns the error
		c.Write([]byte("hello"))                              //nolint:errcheck // Read fails then
		n, err := c.Read(b)
		return err == nil && string(b[:n]) == "hello"
	})
}

func (r *remote) webTerminal(t *testing.T) *talker {
	t.Helper()
	u, err := url.Parse(r.user.url())
	if err != nil {
		t.Fatal(err)
	}
	c := codersdk.New(u)
	c.SessionToken, c.HTTP = r.token(t), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ws, err := c.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	if err != nil {
		t.Fatal(err)
	}
	out, feed := io.Pipe()
	w := &webTerminal{c: c, out: feed, lines: 1, q: url.Values{
		"reconnect": {uuid.NewString()}, "viewer": {uuid.NewString()}, "width": {"80"}, "height": {"24"}, "command": {"stty -echo; echo ready; cat"},
	}}
	for _, res := range ws.LatestBuild.Resources {
		for _, a := range res.Agents {
			w.agent = a.ID
		}
	}
	go w.run(t.Context())
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		t.Fatalf("the web terminal begins with %q, %v", line, err)
	}
	return talk("the web terminal", w, lines)
}

// bulk reads a long output slowly enough to last for the whole test.
type bulk struct {
	sum  hash.Hash
	n    atomic.Int64
	stop chan struct{}
	done chan error
}

func (b *bulk) read(out io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		b.sum.Write(buf[:n])
		b.n.Add(int64(n))
		if errors.Is(err, io.EOF) {
			err = nil
			b.done <- err
			return
		}
		if err != nil {
			b.done <- err
			return
		}
		select {
		case <-b.stop: // now read without a limit
		default:
			testwait.Pause(20 * time.Millisecond)
		}
	}
}

const bulkLines = 12_000_000

// TestSessionsSurvive checks that all kinds of sessions continue when the server is
// killed with kill -9 and restarted. They must also continue when the network of the
// user, of the workspace, or of both fails in each way. All lines must come back once
// and in order.
func TestSessionsSurvive(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	config := filepath.Join(r.dir, "ssh_config")
	r.run(t, "config-ssh", "--yes", "--ssh-config-file", config)
	port, local := echoes(t), testport.Free(t)
	r.background(t, r.bin, "port-forward", "dev", "--tcp", local+":"+port, "--udp", local+":"+port)

	forwarded := dialSoon(t, "tcp", "127.0.0.1:"+local)
	datagrams := dialSoon(t, "udp", "127.0.0.1:"+local)
	answered(t, datagrams)
	talkers := []*talker{
		r.session(t, "coder ssh", r.bin, "ssh", "dev", "cat"),
		r.session(t, "OpenSSH", "ssh", "-F", config, "coder.dev", "cat"),
		talk("a forwarded connection", closeWriter{forwarded.(*net.TCPConn)}, forwarded),
		r.webTerminal(t),
	}
	long := &bulk{sum: sha256.New(), stop: make(chan struct{}), done: make(chan error, 1)}
	printing := r.command("ssh", "-F", config, "coder.dev", fmt.Sprintf("seq 1 %d", bulkLines))
	out, err := printing.StdoutPipe()
	if err = errors.Join(err, printing.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(printing) })
	go long.read(out)
	all := func(after string) {
		t.Helper()
		for _, k := range talkers {
			k.waitForEcho(t, after)
		}
	}
	all("the begin")
	testwait.Until(t, "the long output has begun", func() bool { return long.n.Load() > 0 })

	for _, c := range []struct {
		name   string
		which  []*faultyNetwork
		state  string
		length time.Duration
		forget bool
	}{
		{"the user's network was cut", []*faultyNetwork{r.user}, "cut", 300 * time.Millisecond, false},
		{"the user's network was away for 4 s", []*faultyNetwork{r.user}, "cut", 4 * time.Second, false},
		{"the user's network held all up for 3 s", []*faultyNetwork{r.user}, "hole", 3 * time.Second, false},
		{"the user's network let nothing through for 12 s and forgot its connections", []*faultyNetwork{r.user}, "hole", 12 * time.Second, true},
		{"the workspace's network was cut", []*faultyNetwork{r.agent}, "cut", 300 * time.Millisecond, false},
		{"the workspace's network held all up for 3 s", []*faultyNetwork{r.agent}, "hole", 3 * time.Second, false},
		{"the workspace's network let nothing through for 12 s and forgot its connections", []*faultyNetwork{r.agent}, "hole", 12 * time.Second, true},
		{"both networks were away for 4 s", []*faultyNetwork{r.user, r.agent}, "cut", 4 * time.Second, false},
	} {
		for _, w := range c.which {
			w.set(c.state)
		}
		testwait.Pause(c.length)
		for _, w := range c.which {
			w.set("up", c.forget)
		}
		all(c.name)
	}
	answered(t, datagrams)

	for range 2 {
		kill(r.server)
		r.serve(t)
		all("kill -9 of the server")
	}
	if err := r.server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.server.Wait() //nolint:errcheck // the log has the exit reason
	r.serve(t)
	all("a restart of the server")
	answered(t, datagrams)

	for _, k := range talkers {
		k.checkAllEchoed(t)
	}
	if n := long.n.Load(); n == 0 {
		t.Error("nothing of the long output came")
	} else {
		t.Logf("%d MB of the long output came meanwhile", n>>20)
	}
	close(long.stop)
	if err := <-long.done; err != nil {
		t.Error(err)
	}
	want := sha256.New()
	for i := range bulkLines {
		want.Write(append(strconv.AppendInt(nil, int64(i+1), 10), '\n'))
	}
	if !bytes.Equal(want.Sum(nil), long.sum.Sum(nil)) {
		t.Error("the long output is not what was printed")
	}
	r.run(t, "delete", "dev", "--yes")
}

type closeWriter struct{ *net.TCPConn }

func (c closeWriter) Close() error { return c.CloseWrite() }

// TestDeadSessionIsLeft kills the server without a restart. ~. and Ctrl-C must end the
// sessions and restore the terminal.
func TestDeadSessionIsLeft(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	config := filepath.Join(r.dir, "ssh_config")
	r.run(t, "config-ssh", "--yes", "--ssh-config-file", config)
	type session struct {
		what, typed string
		cmd         *exec.Cmd
		tty         *os.File
		seen        *lockedBuffer
	}
	var all []*session
	begin := func(what, typed, name string, args ...string) {
		cmd := r.command(name, args...)
		cmd.Stderr, cmd.SysProcAttr = nil, nil
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tty.Close(); cmd.Process.Kill(); cmd.Wait() }) //nolint:errcheck // it may be gone
		s := &session{what: what, typed: typed, cmd: cmd, tty: tty, seen: &lockedBuffer{}}
		go io.Copy(s.seen, tty) //nolint:errcheck // ends with the terminal
		all = append(all, s)
	}
	begin("~. in coder ssh", "\r~.", r.bin, "ssh", "dev")
	begin("Ctrl-C in coder ssh", "\x03", r.bin, "ssh", "dev")
	begin("~. in OpenSSH", "\r~.", "ssh", "-tt", "-F", config, "coder.dev")
	begin("Ctrl-C in coder port-forward", "\x03", r.bin, "port-forward", "dev", "--tcp", testport.Free(t)+":1")
	for _, s := range all {
		testwait.Until(t, s.what+": a session", func() bool {
			if strings.Contains(s.what, "forward") {
				return strings.Contains(s.seen.String(), "Ready")
			}
			io.WriteString(s.tty, "echo rea''dy\r") //nolint:errcheck // the test waits for the output
			testwait.Pause(100 * time.Millisecond)
			return strings.Contains(s.seen.String(), "ready")
		})
	}
	kill(r.server)
	testwait.Until(t, "the report of the interruption", func() bool {
		io.WriteString(all[0].tty, "x") //nolint:errcheck // the client reports the broken connection
		testwait.Pause(50 * time.Millisecond)
		return strings.Contains(all[0].seen.String(), "interrupted")
	})
	for _, s := range all {
		began := time.Now()
		if _, err := io.WriteString(s.tty, s.typed); err != nil {
			t.Error(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.cmd.Wait() }()
		select {
		case err := <-ended:
			t.Logf("%s: left after %s (%v)", s.what, time.Since(began).Round(time.Millisecond), err)
		case <-time.After(testwait.Limit):
			t.Errorf("%s does not end it; seen:\n%s", s.what, s.seen)
		}
	}
	r.serve(t)
	r.run(t, "delete", "dev", "--yes")
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
