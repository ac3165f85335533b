package clienttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/postgrestest/migrated"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// The first user of the server, who owns everything in it.
const (
	owner         = "admin"
	ownerEmail    = "admin@example.com"
	ownerPassword = "SomeLongPassw0rd!"
)

// binary returns the path of the program under test: CODER_E2E_BINARY, or a program
// that binary builds with the flags of make build.
var binary = sync.OnceValues(func() (string, error) {
	if b := os.Getenv("CODER_E2E_BINARY"); b != "" {
		return filepath.Abs(b)
	}
	out, err := filepath.Abs("../../.cache/clienttest/coder")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "../../cmd/coder")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build coder: %w\n%s", err, b)
	}
	return out, nil
})

// world is a server with a first user, two templates and a workspace "dev" whose
// agent is connected.
type world struct {
	bin, dir     string
	source       string // directory of this package
	url, metrics string
	token        string
	firstLogin   result // result of the command that creates the first user
	server       *exec.Cmd
	ended        chan struct{} // closed when the server has ended

	user, organization string            // IDs
	templates          map[string]any    // by name
	dev                any               // the workspace
	agent              string            // ID of its agent
	agentToken         string            // token of the agent, from a script
	facts              map[string]string // files of the workspace by name
}

func newWorld(t *testing.T) *world {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	// Paths of sockets must be short, so do not use t.TempDir.
	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{bin: bin, dir: dir, source: source, templates: map[string]any{}, facts: map[string]string{}, ended: make(chan struct{})}
	removeDatabase, err := migrated.Provide(filepath.Join(dir, "server"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.stop(t)
		removeDatabase()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	w.start(t)
	s := w.session(t, "setup")
	w.firstLogin = s.coder("login", "--first-user-email", ownerEmail, "--first-user-username", owner, "--first-user-full-name", "Ada Owner",
		"--first-user-password", ownerPassword, "--first-user-trial=false", w.url)
	if w.firstLogin.code != 0 {
		t.Fatalf("first login: %+v", w.firstLogin)
	}
	w.token = strings.TrimSpace(s.ok("tokens", "create", "--name", "clients", "--lifetime", "24h"))
	s.token = w.token
	me := s.get("/api/v2/users/me").want(200).json()
	w.user, w.organization = textAt(me, "id"), textAt(me, "organization_ids.0")
	s.allowRegistration()
	local := filepath.Join(dir, "templates", "dev")
	s.must(os.CopyFS(local, os.DirFS("../../examples/templates/local")))
	s.must(os.CopyFS(local, os.DirFS("testdata/dev")))
	s.must(os.CopyFS(filepath.Join(dir, "templates", "plain"), os.DirFS("testdata/plain")))
	s.ok("templates", "push", "dev", "--directory", local, "--variable", "base_directory="+filepath.Join(dir, "home"), "--yes")
	s.ok("templates", "push", "plain", "--directory", filepath.Join(dir, "templates", "plain"), "--yes")
	s.ok("create", "dev", "--template", "dev", "--use-parameter-defaults", "--yes")
	if out := s.ok("ssh", "--wait=yes", "dev", "--", "cat script.env"); true {
		for _, line := range strings.Split(out, "\n") {
			if name, value, ok := strings.Cut(line, "="); ok {
				w.facts[name] = value
			}
		}
	}
	w.refresh(s)
	return w
}

// refresh reads the templates and the workspace again.
func (w *world) refresh(s *session) {
	s.t.Helper()
	templates, _ := s.get("/api/v2/templates").want(200).json().([]any)
	for _, tpl := range templates {
		w.templates[textAt(tpl, "name")] = tpl
	}
	w.dev = s.get("/api/v2/users/me/workspace/dev").want(200).json()
	resources, _ := at(w.dev, "latest_build.resources").([]any)
	for _, r := range resources {
		if id := textAt(r, "agents.0.id"); id != "" {
			w.agent = id
		}
	}
	w.agentToken = w.facts["CODER_AGENT_TOKEN"]
}

// start starts the server and waits until it is healthy.
func (w *world) start(t *testing.T) {
	t.Helper()
	address, metrics := testport.FreeAddress(t), testport.FreeAddress(t)
	cache, err := filepath.Abs("../../.cache/e2e/cache")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(w.dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	w.url, w.metrics = "http://"+address, "http://"+metrics
	w.server = exec.Command(w.bin, "server")
	w.server.Env = append(baseEnv(w.dir), "CODER_HTTP_ADDRESS="+address, "CODER_ACCESS_URL="+w.url, "CODER_CACHE_DIRECTORY="+cache,
		"CODER_CONFIG_DIR="+filepath.Join(w.dir, "server"), "CODER_EXTERNAL_AUTH_0_TYPE=github", "CODER_EXTERNAL_AUTH_0_CLIENT_ID=x", "CODER_EXTERNAL_AUTH_0_CLIENT_SECRET=y", "CODER_TELEMETRY_ENABLE=false", "CODER_EXPERIMENTS=oauth2,mcp-server-http",
		"CODER_PROMETHEUS_ENABLE=true", "CODER_PROMETHEUS_ADDRESS="+metrics, "CODER_PROMETHEUS_COLLECT_AGENT_STATS=true")
	w.server.Stdout, w.server.Stderr = log, log
	w.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.server.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.ended)
		_ = w.server.Wait() // any exit status
	}()
	for deadline := time.Now().Add(time.Minute); ; {
		resp, err := http.Get(w.url + "/healthz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-w.ended:
		case <-time.After(20 * time.Millisecond):
			if time.Now().Before(deadline) {
				continue
			}
		}
		b, _ := os.ReadFile(log.Name())
		t.Fatalf("the server is not healthy:\n%s", b)
	}
}

// stop deletes the workspace, whose agent is a process on this machine, and stops
// the server. The server must exit on SIGTERM.
func (w *world) stop(t *testing.T) {
	if w.server == nil || w.server.Process == nil {
		return
	}
	if w.dev != nil {
		s := w.session(t, "teardown")
		if r := s.coder("delete", "dev", "--yes"); r.code != 0 {
			t.Errorf("delete dev: %+v", r)
		}
	}
	if t.Failed() {
		b, _ := os.ReadFile(filepath.Join(w.dir, "server.log"))
		t.Logf("end of the server log:\n%s", b[max(0, len(b)-4000):])
	}
	_ = w.server.Process.Signal(syscall.SIGTERM) // fails if the server has exited
	select {
	case <-w.ended:
	case <-time.After(testwait.Limit):
		_ = syscall.Kill(-w.server.Process.Pid, syscall.SIGKILL) // the process group
		t.Error("the server did not exit on SIGTERM")
	}
}

// baseEnv returns the base environment of every process. It inherits only PATH and
// the temporary directory from the test process.
func baseEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TZ=UTC", "SHELL=/bin/bash", "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8"}
}

// session lets a row use the world: the CLI with a configuration directory of the
// client, and HTTP with a token.
type session struct {
	t     *testing.T
	w     *world
	name  string // name of the client, valid as a name in the product
	dir   string // HOME, with the configuration directory in it
	token string
	extra []string          // environment variables
	memo  map[string]string // values that rows of a client store for later rows
}

// session returns a session. It is signed in as the owner if the world has a token.
func (w *world) session(t *testing.T, name string) *session {
	t.Helper()
	s := &session{t: t, w: w, name: name, dir: filepath.Join(w.dir, name), token: w.token}
	s.must(os.MkdirAll(s.config(), 0o700))
	if w.token != "" {
		s.must(os.WriteFile(filepath.Join(s.config(), "url"), []byte(w.url), 0o600))
		s.must(os.WriteFile(filepath.Join(s.config(), "session"), []byte(w.token), 0o600))
	}
	return s
}

// with returns a copy of the session for another test.
func (s *session) with(t *testing.T) *session { c := *s; c.t = t; return &c }

// env returns a copy of the session with more environment variables.
func (s *session) env(kv ...string) *session {
	c := *s
	c.extra = append(append([]string{}, s.extra...), kv...)
	return &c
}

// signedOut returns a copy of the session with an empty configuration directory.
func (s *session) signedOut() *session {
	s.t.Helper()
	c := *s
	c.dir, c.token = s.t.TempDir(), ""
	s.must(os.MkdirAll(c.config(), 0o700))
	return &c
}

func (s *session) config() string { return filepath.Join(s.dir, "config") }

func (s *session) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// result is the output and exit status of a command.
type result struct {
	out, errs string
	code      int
}

// commandTimeout bounds a command. waitTimeout bounds a wait for a condition.
const (
	commandTimeout = testwait.Limit
	waitTimeout    = testwait.Limit
)

// coder runs the CLI with empty standard input.
func (s *session) coder(args ...string) result { s.t.Helper(); return s.coderWithStdin("", args...) }

// coderWithStdin runs the CLI with a text as standard input.
func (s *session) coderWithStdin(stdin string, args ...string) result {
	s.t.Helper()
	return s.exec(stdin, s.w.bin, args...)
}

// exec runs a program in the session's environment.
func (s *session) exec(stdin, program string, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.dir
	cmd.Env = s.environ()
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = testwait.Limit
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ctx.Err() != nil {
		s.t.Fatalf("%s %q: %v %v\n%s%s", filepath.Base(program), args, err, ctx.Err(), &out, &errs)
	} else if ok {
		return result{out.String(), errs.String(), exit.ExitCode()}
	}
	return result{out.String(), errs.String(), 0}
}

func (s *session) environ() []string {
	env := append(baseEnv(s.dir), "CODER_CONFIG_DIR="+s.config())
	if s.token == s.w.token && s.token != "" {
		env = append(env, "CODER_HEADER="+bypassHeader+"=true")
	}
	return append(env, s.extra...)
}

// ok runs the CLI, which must succeed, and returns its output.
func (s *session) ok(args ...string) string {
	s.t.Helper()
	r := s.coder(args...)
	if r.code != 0 {
		s.t.Fatalf("coder %q: exit status %d\n%s%s", args, r.code, r.out, r.errs)
	}
	return r.out
}

// json runs the CLI and returns its output, which must be JSON.
func (s *session) json(args ...string) any {
	s.t.Helper()
	return decode(s.t, []byte(s.ok(args...)))
}

// fails runs the CLI, which must fail and print text on stderr.
func (s *session) fails(text string, args ...string) result {
	s.t.Helper()
	r := s.coder(args...)
	if r.code == 0 || !strings.Contains(r.errs, text) {
		s.t.Errorf("coder %q: exit status %d, want a failure with %q on stderr\n%s%s", args, r.code, text, r.out, r.errs)
	}
	return r
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("the text is not JSON: %v\n%.500s", err, b)
	}
	return v
}

// answer is a response of the server.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   []byte
}

// noRedirect is an HTTP client that does not follow redirects, as curl.
var noRedirect = &http.Client{
	Timeout:       time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send sends a request. The body is encoded as JSON, unless it is an io.Reader. A
// path that begins with http is a complete URL.
func (s *session) send(method, path string, body any, header ...string) answer {
	s.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case io.Reader:
		r = b
	default:
		j, err := json.Marshal(b)
		s.must(err)
		r = bytes.NewReader(j)
	}
	url := path
	if !strings.HasPrefix(path, "http") {
		url = s.w.url + path
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, r)
	s.must(err)
	req.Header = s.header()
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
		if header[i] == "Coder-Session-Token" || header[i] == "Authorization" {
			req.Header.Del(bypassHeader) // the token may belong to a user who is not an owner
		}
	}
	resp, err := noRedirect.Do(req)
	s.must(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	s.must(err)
	return answer{s.t, method + " " + path, resp.StatusCode, resp.Header, b}
}

// bypassHeader disables the rate limit for owners, because the rows of all clients
// use the same user.
const bypassHeader = "X-Coder-Bypass-Ratelimit"

// header returns the headers of the session's requests.
func (s *session) header() http.Header {
	h := http.Header{}
	if s.token != "" {
		h.Set("Coder-Session-Token", s.token)
	}
	if s.token == s.w.token && s.token != "" {
		h.Set(bypassHeader, "true")
	}
	return h
}

func (s *session) get(path string, header ...string) answer {
	s.t.Helper()
	return s.send("GET", path, nil, header...)
}

// agentSession returns a copy of the session with the token of the agent.
func (s *session) agentSession() *session { c := *s; c.token = s.w.agentToken; return &c }

// want checks that the response has one of the statuses.
func (a answer) want(status ...int) answer {
	a.t.Helper()
	for _, s := range status {
		if a.status == s {
			return a
		}
	}
	a.t.Fatalf("%s: status %d, want %v\n%s", a.what, a.status, status, printable(a.body))
	return a
}

// json returns the decoded body. The content type must be JSON.
func (a answer) json() any {
	a.t.Helper()
	if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		a.t.Errorf("%s: content type %q", a.what, kind)
	}
	return decode(a.t, a.body)
}

// fields checks the JSON of the body against specs and returns it; see checkFields.
func (a answer) fields(specs ...string) any {
	a.t.Helper()
	v := a.json()
	checkFields(a.t, v, specs...)
	return v
}

// refused checks that the response is an error with a status and the texts.
func (a answer) refused(status int, texts ...string) {
	a.t.Helper()
	a.want(status)
	v := a.fields("message text", "detail string|absent", "validations array|absent")
	if at(v, "validations") != nil {
		checkFields(a.t, v, "validations[].field string", "validations[].detail string")
	}
	for _, text := range texts {
		if !strings.Contains(string(a.body), text) {
			a.t.Errorf("%s: the response does not contain %q: %s", a.what, text, a.body)
		}
	}
}

// printable returns the beginning of a body, quoted on one line.
func printable(b []byte) string { return fmt.Sprintf("%.400q", b[:min(len(b), 400)]) }
