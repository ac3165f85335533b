package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/postgrestest/migrated"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// resources is the number of resources that a build of these tests creates in sequence.
const resources = 4

// testServer is a server without built-in provisioners, with a CLI that is signed in.
type testServer struct {
	bin, dir, address string
	tmp               string // directory for sockets, whose paths must be short
	server            *exec.Cmd
}

// shortDir returns a directory whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// killAgents kills agents of the template local that a failed test left running.
func (p *testServer) killAgents() {
	names, _ := filepath.Glob(filepath.Join(p.dir, ".local/share/coder-local/*/run/agent.pid"))
	for _, n := range names {
		b, _ := os.ReadFile(n)
		first, _, _ := strings.Cut(string(b), "\n")
		if pid, err := strconv.Atoi(first); err == nil && pid > 1 {
			syscall.Kill(-pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
		}
	}
}

func newTestServer(t *testing.T) *testServer {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &testServer{bin: bin, dir: t.TempDir(), address: testport.FreeAddress(t), tmp: shortDir(t)}
	t.Cleanup(p.killAgents)
	p.provideDatabase(t)
	p.serve(t)
	p.run(t, "login", "http://"+p.address, "--first-user-username", "admin", "--first-user-email", "admin@example.com", "--first-user-password", password)
	return p
}

// provideDatabase makes a migrated database the built-in database of the server.
func (p *testServer) provideDatabase(t *testing.T) {
	t.Helper()
	remove, err := migrated.Provide(filepath.Join(p.dir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
}

// env returns the environment of every process. Variables in more take precedence.
func (p *testServer) env(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.tmp, "TZ=UTC", "CODER_CONFIG_DIR=" + filepath.Join(p.dir, "config"),
		"CODER_URL=http://" + p.address, "CODER_CACHE_DIRECTORY=" + filepath.Join(p.dir, "cache")}, more...)
}

// printedLogs has the logs that a test has printed, because several processes can share
// a log.
var printedLogs sync.Map

// start runs coder in a new process group until the test ends. If the test fails, start
// prints the last lines of the log.
func (p *testServer) start(t *testing.T, log string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(p.bin, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, env, f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			if _, printed := printedLogs.LoadOrStore(log, true); !printed {
				t.Log(tail(log))
			}
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) //nolint:errcheck // it may be gone
		late := time.AfterFunc(testwait.Limit, func() { kill(cmd) })
		defer late.Stop()
		cmd.Wait() //nolint:errcheck // Wait may have been called before
	})
	return cmd
}

// kill kills a process group with kill -9.
func kill(cmd *exec.Cmd) {
	if cmd.ProcessState != nil { // another process may have its ID
		return
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
	cmd.Wait()                                      //nolint:errcheck // killed
}

func (p *testServer) serve(t *testing.T) {
	t.Helper()
	p.server = p.start(t, filepath.Join(p.dir, "server.log"), p.env(), "server", "--http-address", p.address, "--access-url", "http://"+p.address,
		"--provisioner-daemons", "0", "--provisioner-daemon-psk", password)
	awaitHealth(t, p.address)
}

// awaitHealth waits until a server is healthy.
func awaitHealth(t *testing.T, address string) {
	t.Helper()
	testwait.Until(t, "the server answers", func() bool {
		resp, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// run runs a command of the CLI, which must succeed, and returns its output.
func (p *testServer) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.try(args...)
	if err != nil {
		t.Fatalf("coder %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (p *testServer) try(args ...string) (string, error) {
	cmd := exec.Command(p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// job is a workspace that is being created, with its own provisioners.
type job struct {
	*testServer
	name, dir string
	program   string        // path of Terraform for its provisioners; "" for the default
	created   chan struct{} // closed when create has ended
	out       string
}

// daemon starts a provisioner for this job only. Its cache directory has its name.
func (j *job) daemon(t *testing.T, name, url string) *exec.Cmd {
	t.Helper()
	log := filepath.Join(j.dir, name+".log")
	cmd := j.start(t, log, j.env("CODER_CONFIG_DIR="+j.dir, "CODER_URL="+url, "CODER_CACHE_DIRECTORY="+filepath.Join(j.dir, name), "CODER_PROVISIONER_DAEMON_PSK="+password,
		"CODER_PROMETHEUS_ENABLE=false", "CODER_PROVISIONER_DAEMON_TERRAFORM_BINARY="+j.program), "provisioner", "start", "--name", j.name+"-"+name, "--tag", "job="+j.name)
	return cmd
}

// waitAtGate is a command for build. It waits until the test calls open for the
// resource.
const waitAtGate = "until test -e ${self.input}.open; do sleep 0.05; done"

// open opens the gates of the resources 1 to upTo, if they use waitAtGate.
func (j *job) open(t *testing.T, upTo int) {
	t.Helper()
	for i := 1; i <= upTo; i++ {
		if err := os.WriteFile(j.marker(i)+".open", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// build pushes a template and starts to create a workspace from it with daemon a. Each
// resource runs command and then writes a marker. The resources are created in sequence.
func (p *testServer) build(t *testing.T, name, url, command string) (*job, *exec.Cmd) {
	t.Helper()
	j := &job{testServer: p, name: name, dir: filepath.Join(p.dir, name), created: make(chan struct{})}
	source := "terraform {\n  required_providers {\n    coder = { source = \"coder/coder\" }\n  }\n}\ndata \"coder_workspace\" \"me\" {}\n"
	for i := 1; i <= resources; i++ {
		after := ""
		if i > 1 {
			after = fmt.Sprintf("  depends_on = [terraform_data.r%d]\n", i-1)
		}
		source += fmt.Sprintf(`resource "terraform_data" "r%d" {
  input = %q
%s  provisioner "local-exec" { command = "%s; echo made >> ${self.input}" }
  provisioner "local-exec" {
    when    = destroy
    command = "rm ${self.input}"
  }
}
`, i, j.marker(i), after, command)
	}
	if err := os.MkdirAll(filepath.Join(j.dir, "template"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.dir, "template", "main.tf"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	a := j.daemon(t, "a", url)
	p.run(t, "templates", "push", name, "--directory", filepath.Join(j.dir, "template"), "--provisioner-tag", "job="+name, "--yes")
	go func() {
		defer close(j.created)
		j.out, _ = p.try("create", name, "--template", name, "--yes")
	}()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		logs, _ := p.try("logs", name)
		t.Log(j.out, logs)
	})
	return j, a
}

func (j *job) marker(i int) string { return filepath.Join(j.dir, fmt.Sprintf("r%d", i)) }

func (j *job) waitCreated(t *testing.T, i int) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("resource %d is created", i), func() bool {
		b, err := os.ReadFile(j.marker(i))
		return err == nil && len(b) > 0
	})
}

// complete reports whether a state has a resource as complete.
func complete(state []byte, name string) bool {
	var s struct {
		Resources []struct {
			Name      string
			Instances []struct{ Status string }
		}
	}
	if json.Unmarshal(state, &s) != nil {
		return false // the state is being written
	}
	for _, r := range s.Resources {
		if r.Name == name && len(r.Instances) == 1 {
			return r.Instances[0].Status != "tainted"
		}
	}
	return false
}

// waitReported waits until the state on the server has a complete resource.
func (j *job) waitReported(t *testing.T, name string) {
	t.Helper()
	var w struct {
		LatestBuild struct{ ID string } `json:"latest_build"`
	}
	j.request(t, http.MethodGet, "/users/me/workspace/"+j.name, &w)
	testwait.Until(t, "the server has resource "+name, func() bool {
		return complete(j.send(t, http.MethodGet, "/workspacebuilds/"+w.LatestBuild.ID+"/state"), name)
	}, testwait.Every(200*time.Millisecond)) // the server limits the rate of requests
}

// waitWritten waits until daemon a has a complete resource in the state on its disk and
// in its journal. If daemon a is killed before the journal has the resource, the next
// build creates the resource again.
func (j *job) waitWritten(t *testing.T, name string) {
	t.Helper()
	testwait.Until(t, "the provisioner has resource "+name+" in its state and its journal", func() bool {
		dirs, _ := filepath.Glob(filepath.Join(j.dir, "a", "provisioner", "work", "job-*"))
		return slices.ContainsFunc(dirs, func(dir string) bool {
			state, err := os.ReadFile(filepath.Join(dir, "source", "terraform.tfstate"))
			return err == nil && complete(state, name) && journaled(dir, name)
		})
	})
}

// journaled reports whether the journal in a work directory has a completed resource.
func journaled(dir, name string) bool {
	b, _ := os.ReadFile(filepath.Join(dir, "journal")) // a missing journal has no lines
	for text := range bytes.Lines(b) {
		var e struct {
			Event    string
			Instance struct{ Name string }
		}
		if json.Unmarshal(text, &e) == nil && e.Event == "apply_complete" && e.Instance.Name == name {
			return true
		}
	}
	return false
}

// checkFinished waits for the end of the build and checks the result. Each resource must
// have been created once and be in the state. A delete must remove all resources.
func (j *job) checkFinished(t *testing.T) {
	t.Helper()
	testwait.Receive(t, "the end of the build", j.created)
	testwait.Until(t, "the workspace runs", func() bool {
		out, err := j.try("list")
		return err == nil && strings.Contains(line(out, j.name), "Running")
	})
	var state struct {
		Resources []struct{ Name, Type, Mode string }
	}
	if out := j.run(t, "state", "pull", j.name); json.Unmarshal([]byte(out), &state) != nil {
		t.Fatalf("the state is %q", out)
	}
	in := map[string]bool{}
	for _, r := range state.Resources {
		in[r.Name] = true
	}
	for i := 1; i <= resources; i++ {
		b, err := os.ReadFile(j.marker(i))
		if err != nil || string(b) != "made\n" {
			t.Errorf("resource %d was created %d times (%v)", i, strings.Count(string(b), "made"), err)
		}
		if !in[fmt.Sprintf("r%d", i)] {
			t.Errorf("resource %d is not in the state", i)
		}
	}
	j.run(t, "delete", j.name, "--yes")
	for i := 1; i <= resources; i++ {
		if _, err := os.Stat(j.marker(i)); err == nil {
			t.Errorf("resource %d still exists after the delete", i)
		}
	}
}

func line(text, with string) string {
	for l := range strings.Lines(text) {
		if strings.Contains(l, with) {
			return l
		}
	}
	return ""
}

// processes returns the command lines of processes that contain the job's directory.
func (j *job) processes() []string {
	var out []string
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, n := range names {
		if b, err := os.ReadFile(n); err == nil && (bytes.Contains(b, []byte(filepath.Join(j.dir, "r"))) || bytes.Contains(b, []byte(filepath.Join(j.dir, j.name)))) {
			out = append(out, strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return out
}

// TestKilledProvisioner kills the provisioner with kill -9 after each resource of an
// apply. Another provisioner must continue, and no resource may be lost or created twice.
func TestKilledProvisioner(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	t.Run("cases", func(t *testing.T) {
		for i := 1; i <= resources; i++ {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				j, a := p.build(t, fmt.Sprintf("kill%d", i), "http://"+p.address, waitAtGate)
				j.open(t, i)
				j.waitCreated(t, i)
				j.waitReported(t, fmt.Sprintf("r%d", i))
				kill(a)
				killed := time.Now()
				testwait.Until(t, "what the provisioner ran is dead too", func() bool { return len(j.processes()) == 0 })
				j.open(t, resources)
				j.daemon(t, "b", "http://"+p.address)
				if i < resources {
					testwait.Until(t, "the build goes on elsewhere", func() bool {
						b, _ := os.ReadFile(filepath.Join(j.dir, "b.log"))
						return bytes.Contains(b, []byte("job started"))
					})
					t.Logf("the loss was noticed within %s", time.Since(killed).Round(100*time.Millisecond))
				}
				j.checkFinished(t)
			})
		}
		t.Run("comes back", func(t *testing.T) {
			t.Parallel()
			j, a := p.build(t, "back", "http://"+p.address, waitAtGate)
			j.open(t, 2)
			j.waitWritten(t, "r2") // the server may not have the resource yet
			kill(a)
			killed := time.Now()
			testwait.Until(t, "what the provisioner ran is dead too", func() bool { return len(j.processes()) == 0 })
			j.open(t, resources)
			j.daemon(t, "a", "http://"+p.address)
			j.waitCreated(t, 3)
			t.Logf("it went on after %s", time.Since(killed).Round(100*time.Millisecond))
			j.checkFinished(t)
		})
	})
}

// token returns the session token of the CLI.
func (p *testServer) token(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, "config", "session"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// request sends a REST API request as the first user and decodes the response.
func (p *testServer) request(t *testing.T, method, path string, answer any) {
	t.Helper()
	if b := p.send(t, method, path); json.Unmarshal(b, answer) != nil {
		t.Fatalf("%s %s: %s", method, path, b)
	}
}

// send sends a REST API request as the first user and returns the response body.
func (p *testServer) send(t *testing.T, method, path string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.address+"/api/v2"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Coder-Session-Token", p.token(t))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v\n%s", method, path, resp.Status, err, b)
	}
	return b
}

// TestCancelInterruptsTerraform cancels a build whose first resource never completes.
// Terraform must stop the build and keep the created resources in the state.
func TestCancelInterruptsTerraform(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	j, _ := p.build(t, "cancel", "http://"+p.address, waitAtGate)
	testwait.Until(t, "the first resource is begun", func() bool { return len(j.processes()) > 0 })
	var w struct {
		LatestBuild struct {
			ID, Status string
		} `json:"latest_build"`
	}
	p.request(t, http.MethodGet, "/users/me/workspace/cancel", &w)
	began := time.Now()
	p.request(t, http.MethodPatch, "/workspacebuilds/"+w.LatestBuild.ID+"/cancel", &struct{}{})
	testwait.Until(t, "what Terraform ran has ended", func() bool { return len(j.processes()) == 0 })
	t.Logf("interrupted %s after the request to cancel", time.Since(began).Round(time.Millisecond))
	testwait.Until(t, "the build is canceled", func() bool {
		p.request(t, http.MethodGet, "/users/me/workspace/cancel", &w)
		return w.LatestBuild.Status == "canceled"
	}, testwait.Every(200*time.Millisecond)) // the server limits the rate of requests
	if out := p.run(t, "state", "pull", j.name); !strings.Contains(out, `"r1"`) {
		t.Errorf("the state after the interruption is %s", out)
	}
	p.run(t, "delete", j.name, "--yes")
}

// TestKilledServer kills the server with kill -9 during an apply on an external
// provisioner. The apply must continue.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	j, _ := p.build(t, "crash", "http://"+p.address, "sleep 1")
	j.waitCreated(t, 1)
	kill(p.server)
	p.serve(t)
	j.checkFinished(t)
}

// cuttableProxy is a TCP proxy to the server whose connections can be cut.
type cuttableProxy struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newCuttableProxy(t *testing.T, to string) *cuttableProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cuttableProxy{Listener: l, to: to}
	t.Cleanup(func() { l.Close(); c.set(true) })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go c.join(in)
		}
	}()
	return c
}

func (c *cuttableProxy) join(in net.Conn) {
	defer in.Close()
	c.mu.Lock()
	cut := c.cut
	c.mu.Unlock()
	if cut {
		return
	}
	out, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer out.Close()
	c.mu.Lock()
	c.conns = append(c.conns, in, out)
	c.mu.Unlock()
	go func() {
		io.Copy(out, in) //nolint:errcheck // the test cuts the connection
		out.Close()
	}()
	io.Copy(in, out) //nolint:errcheck // the test cuts the connection
}

func (c *cuttableProxy) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for _, n := range c.conns {
			n.Close()
		}
		c.conns = nil
	}
}

// TestCutConnection cuts the provisioner's connection for 500 milliseconds after each
// resource. The build must not be affected.
func TestCutConnection(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	c := newCuttableProxy(t, p.address)
	j, _ := p.build(t, "cut", "http://"+c.Addr().String(), "sleep 1")
	for i := 1; i < resources; i++ {
		j.waitCreated(t, i)
		c.set(true)
		testwait.Pause(500 * time.Millisecond)
		c.set(false)
	}
	j.checkFinished(t)
}

// TestLongCut cuts the provisioner's connection until the provisioner gives up the job,
// while a resource is being created. After it has reconnected, the provisioner must
// upload its state, and the build must finish.
func TestLongCut(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	c := newCuttableProxy(t, p.address)
	j, _ := p.build(t, "long", "http://"+c.Addr().String(), waitAtGate)
	j.open(t, 1)
	j.waitCreated(t, 1)
	c.set(true)
	j.open(t, 2)
	j.waitCreated(t, 2)
	// The provisioner gives up after half of its lease of 12 seconds, while the third
	// resource waits.
	testwait.Until(t, "the provisioner gives up the job", func() bool {
		out, _ := os.ReadFile(filepath.Join(j.dir, "a.log"))
		return bytes.Contains(out, []byte("unreachable for as long"))
	})
	testwait.Until(t, "the processes of the provisioner have ended", func() bool { return len(j.processes()) == 0 })
	c.set(false)
	j.open(t, resources)
	j.checkFinished(t)
}
