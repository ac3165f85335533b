package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-2a7f8fe7/coder/internal/postgrestest/migrated"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// The password of the first user in scripts.
const password = "SomeLongPassw0rd!"

// binary returns the path of coder: CODER_E2E_BINARY, or a program that the first
// call builds.
var binary = sync.OnceValues(func() (string, error) {
	if b := os.Getenv("CODER_E2E_BINARY"); b != "" {
		return filepath.Abs(b)
	}
	dir, err := filepath.Abs("../.cache/e2e")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "coder")
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, "../cmd/coder")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build coder: %w\n%s", err, b)
	}
	return out, nil
})

func TestScripts(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Fatal("terraform is not on PATH: run tools/setup")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	browser := sync.OnceValues(func() (string, error) { return startBrowser(t) })
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("ROOT", root)
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("CODER_CONFIG_DIR", env.WorkDir+"/config")
			env.Setenv("CODER_CACHE_DIRECTORY", filepath.Join(root, ".cache", "e2e", "cache"))
			env.Setenv("PASSWORD", password)
			env.Setenv("TZ", "UTC")
			env.Setenv("SHELL", "/bin/bash")
			env.Setenv("CODER_E2E_BROWSER", os.Getenv("CODER_E2E_BROWSER"))
			env.Setenv("SCREENSHOTS", cmp.Or(os.Getenv("SCREENSHOTS"), "off")) // of every page, for users
			env.Setenv("PICTURES", os.Getenv("PICTURES"))                      // see web/test/pictures.mjs
			if err := os.MkdirAll(env.WorkDir+"/home", 0o700); err != nil {
				return err
			}
			p := &processes{bin: bin, running: map[string]*process{}}
			env.Values[processesKey{}] = p
			env.Defer(p.removeDatabase)
			// Agents have their own sessions. Agents of workspaces that a script did not
			// delete would try to reach their server while the other scripts run.
			env.Defer(func() { _ = exec.Command("pkill", "-KILL", "-f", env.WorkDir+"/home/").Run() })
			env.Defer(p.killAll)
			env.Defer(func() {
				if t, ok := env.T().(interface{ Failed() bool }); ok && t.Failed() {
					env.T().Log(p.tails())
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"browser":    func(ts *testscript.TestScript, _ bool, _ []string) { cmdBrowser(ts, browser) },
			"server":     cmdServer,
			"start":      cmdStart,
			"signal":     cmdSignal,
			"login":      cmdLogin,
			"eventually": cmdEventually,
			"request":    cmdRequest,
			"fill":       cmdFill,
			"take":       cmdTake,
			"port":       cmdPort,
		},
	})
}

type processesKey struct{}

type processes struct {
	bin      string
	running  map[string]*process
	logs     []string // files with the output of all processes
	ports    []string // variables with ports of the script
	database func()   // removes the copy of the migrated database; nil without a copy
}

type process struct {
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{}
	err  error
}

func of(ts *testscript.TestScript) *processes { return ts.Value(processesKey{}).(*processes) }

func (p *processes) killAll() {
	for _, r := range p.running {
		syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM) //nolint:errcheck // it may be gone
	}
	for _, r := range p.running {
		select {
		case <-r.done:
		case <-time.After(testwait.Limit):
			syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
			<-r.done
		}
	}
}

func (p *processes) removeDatabase() {
	if p.database != nil {
		p.database()
	}
}

// tails returns the last lines of the log of each process.
func (p *processes) tails() string {
	var all strings.Builder
	for _, file := range p.logs {
		all.WriteString(tail(file))
	}
	return all.String()
}

// tail returns the name and the last 40 lines of a log.
func tail(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(b), "\n")
	return fmt.Sprintf("%s, the last lines:\n%s\n", filepath.Base(file), strings.Join(lines[max(0, len(lines)-41):], ""))
}

// launch starts coder in a new process group, with its output in NAME.log.
func (p *processes) launch(ts *testscript.TestScript, name string, args []string) {
	file := ts.MkAbs(name + ".log")
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	if !slices.Contains(p.logs, file) {
		p.logs = append(p.logs, file)
	}
	r := &process{log: log, done: make(chan struct{})}
	r.cmd = exec.Command(p.bin, args...)
	r.cmd.Dir = ts.MkAbs(".")
	r.cmd.Env = environ(ts)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ts.Check(r.cmd.Start())
	go func() {
		r.err = r.cmd.Wait()
		log.Close()
		close(r.done)
	}()
	p.running[name] = r
}

func environ(ts *testscript.TestScript) []string {
	var env []string
	names := []string{"PATH", "HOME", "TZ", "SHELL", "TMPDIR", "WORK", "CODER_URL", "CODER_CONFIG_DIR", "CODER_CACHE_DIRECTORY",
		"CODER_HTTP_ADDRESS", "CODER_SESSION_TOKEN", "CODER_PROVISIONER_DAEMON_KEY", "CODER_PROVISIONER_DAEMON_PSK", "CODER_PROXY_SESSION_TOKEN"}
	for _, k := range append(names, of(ts).ports...) {
		if v := ts.Getenv(k); v != "" {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// startBrowser starts the browser of all scripts, which is Chromium or that of the
// environment variable CODER_E2E_BROWSER, and returns its address. The test's cleanup stops it.
func startBrowser(t *testing.T) (string, error) {
	cmd := exec.Command("node", "../web/test/serve.mjs")
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return "", fmt.Errorf("start the browser: %w", err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait() //nolint:errcheck // the scripts have ended
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read the address of the browser: %w", err)
	}
	return strings.TrimSpace(address), nil
}

// browser: makes the journeys of the script use the browser of all scripts.
func cmdBrowser(ts *testscript.TestScript, start func() (string, error)) {
	address, err := start()
	ts.Check(err)
	ts.Setenv("CODER_E2E_BROWSER_SERVER", address)
}

// server [flags]: starts coder server on a free port, or on the port of the last
// start, waits until it is healthy and sets CODER_URL. The first start uses a migrated
// database, unless the script sets DATABASE to new.
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("use: ! exec coder server ...")
	}
	p := of(ts)
	address := ts.Getenv("CODER_HTTP_ADDRESS")
	if address == "" {
		address = testport.FreeAddress(ts)
		ts.Setenv("CODER_HTTP_ADDRESS", address)
		ts.Setenv("CODER_URL", "http://"+address)
	}
	if p.database == nil && ts.Getenv("DATABASE") != "new" {
		remove, err := migrated.Provide(ts.Getenv("CODER_CONFIG_DIR"))
		ts.Check(err)
		p.database = remove
	}
	p.launch(ts, "server", append([]string{"server"}, args...))
	r := p.running["server"]
	deadline := time.Now().Add(testwait.Limit)
	for {
		select {
		case <-r.done:
			ts.Fatalf("the server ended: %v", r.err)
		default:
		}
		resp, err := http.Get(ts.Getenv("CODER_URL") + "/healthz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the server is not healthy after %s", testwait.Limit)
		}
		testwait.Pause(20 * time.Millisecond)
	}
}

// start NAME coder-args...: runs coder in the background as NAME.
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME args...")
	}
	of(ts).launch(ts, args[0], args[1:])
}

// signal NAME SIGNAL: signals a background process (KILL: its process group) and,
// except for HUP, waits until it has exited. With !, its exit status must not be 0.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: signal NAME TERM|INT|KILL|HUP")
	}
	r := of(ts).running[args[0]]
	if r == nil {
		ts.Fatalf("nothing runs as %s", args[0])
	}
	sig := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}[args[1]]
	if sig == 0 {
		ts.Fatalf("unknown signal %s", args[1])
	}
	pid := r.cmd.Process.Pid
	if sig == syscall.SIGKILL {
		pid = -pid
	}
	ts.Check(syscall.Kill(pid, sig))
	select {
	case <-r.done:
	case <-time.After(testwait.Limit):
		ts.Fatalf("%s does not end", args[0])
	}
	delete(of(ts).running, args[0])
	if sig == syscall.SIGKILL {
		return
	}
	if (r.err != nil) != neg {
		ts.Fatalf("%s ended with %v", args[0], r.err)
	}
}

// login: creates the first user and signs in.
func cmdLogin(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("coder", "login", ts.Getenv("CODER_URL"), "--first-user-username", "admin",
		"--first-user-email", "admin@example.com", "--first-user-password", password))
}

// eventually command...: repeats the command until it succeeds (with !, fails). The
// time limit is longer than that of a journey (patience in browser.mjs), because the
// command may wait for a journey in the background.
func cmdEventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: eventually command...")
	}
	const limit = 5 * testwait.Limit
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out []byte
	for {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = environ(ts)
		path, err := lookPath(ts.Getenv("PATH"), args[0])
		ts.Check(err)
		cmd.Path, cmd.Err = path, nil
		out, err = cmd.CombinedOutput()
		if (err == nil) != neg {
			return
		}
		if ctx.Err() != nil {
			ts.Fatalf("not within %s: %s\n%s", limit, strings.Join(args, " "), out)
		}
		testwait.Pause(200 * time.Millisecond)
	}
}

func lookPath(path, name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	for _, d := range filepath.SplitList(path) {
		if st, err := os.Stat(filepath.Join(d, name)); err == nil && st.Mode()&0o111 != 0 {
			return filepath.Join(d, name), nil
		}
	}
	return "", fmt.Errorf("%s is not on PATH", name)
}

// request METHOD PATH STATUS [FILE [CONTENT-TYPE]]: sends an HTTP request with the
// session token and the content of FILE as body, checks the status, and writes the
// response to response.txt.
func cmdRequest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: request METHOD PATH STATUS [FILE [CONTENT-TYPE]]")
	}
	var body io.Reader
	if len(args) > 3 {
		f, err := os.Open(ts.MkAbs(args[3]))
		ts.Check(err)
		defer f.Close()
		body = f
	}
	req, err := http.NewRequest(args[0], ts.Getenv("CODER_URL")+args[1], body)
	ts.Check(err)
	if len(args) > 4 {
		req.Header.Set("Content-Type", args[4])
	}
	token := ts.Getenv("CODER_SESSION_TOKEN")
	if token == "" {
		b, err := os.ReadFile(filepath.Join(ts.Getenv("CODER_CONFIG_DIR"), "session"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			ts.Check(err)
		}
		token = string(bytes.TrimSpace(b))
	}
	if token != "" && token != "none" {
		req.Header.Set("Coder-Session-Token", token)
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("response.txt"), b, 0o600))
	if fmt.Sprint(resp.StatusCode) != args[2] {
		ts.Fatalf("%s %s answered %s, not %s:\n%s", args[0], args[1], resp.Status, args[2], b)
	}
}

// fill FILE BYTES: writes a file of that many zero bytes.
func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	var n int64
	if len(args) == 2 {
		_, err := fmt.Sscan(args[1], &n)
		ts.Check(err)
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(f.Truncate(n))
	ts.Check(f.Close())
}

// port NAME: sets a variable to a free port.
func cmdPort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: port NAME")
	}
	of(ts).ports = append(of(ts).ports, args[0])
	ts.Setenv(args[0], testport.Free(ts))
}

// take NAME FILE: sets a variable to the content of a file.
func cmdTake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: take NAME FILE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}
