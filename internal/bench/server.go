package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

const (
	loopback = "127.0.0.1"
	password = "SomeLongPassw0rd!"
	psk      = "a long pre-shared key of provisioners"
)

// server is a coder server of the binary under test, with data of its own.
type server struct {
	bin, dir, address string
	env               []string
	cmd               *exec.Cmd
	log               bytes.Buffer
	c                 *client.Client
}

// newServer starts a fresh server on loopback and logs in.
func newServer(ctx context.Context, bin, dir string, flags ...string) (*server, error) {
	return newServerAt(ctx, loopback, bin, dir, flags...)
}

// newServerAt is newServer at another address of this machine.
func newServerAt(ctx context.Context, host, bin, dir string, flags ...string) (*server, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	s := &server{bin: bin, dir: dir, address: l.Addr().String()}
	l.Close()
	u := &url.URL{Scheme: "http", Host: s.address}
	s.c = client.New(u)
	s.env = append(os.Environ(), "CODER_CONFIG_DIR="+filepath.Join(dir, "config"), "CODER_CACHE_DIRECTORY="+filepath.Join(dir, "cache"),
		"HOME="+dir, "CODER_URL="+u.String(), "CODER_HTTP_ADDRESS="+s.address, "CODER_PROVISIONER_DAEMON_PSK="+psk, "CODER_PROMETHEUS_ENABLE=false")
	if err := s.start(ctx, flags...); err != nil {
		return nil, err
	}
	if _, err := s.c.CreateFirstUser(ctx, coder.CreateFirstUserRequest{Email: "admin@example.com", Username: "admin", Password: password}); err != nil {
		return nil, err
	}
	login, err := s.c.LoginWithPassword(ctx, coder.LoginWithPasswordRequest{Email: "admin@example.com", Password: password})
	if err != nil {
		return nil, err
	}
	s.c.SessionToken = login.SessionToken
	s.env = append(s.env, "CODER_SESSION_TOKEN="+login.SessionToken)
	return s, nil
}

// start runs the server and waits until it is healthy.
func (s *server) start(ctx context.Context, flags ...string) error {
	s.cmd = exec.Command(s.bin, append([]string{"server"}, flags...)...)
	s.cmd.Env = s.env
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get("http://" + s.address + "/healthz")
		if err == nil {
			resp.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			s.stop()
			return fmt.Errorf("the server is not healthy: %w\n%s", ctx.Err(), s.log.Bytes())
		case <-tick.C:
		}
	}
}

func (s *server) stop() { terminate(s.cmd) }

// terminate ends a process in order and waits for it.
func terminate(cmd *exec.Cmd) {
	cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may be gone
	cmd.Wait()                          //nolint:errcheck // stopped on purpose
}

// spawn starts a command of the binary, in a process group of its own.
func (s *server) spawn(args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(s.bin, args...)
	cmd.Env = s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, cmd.Start()
}

// run runs a command of the binary against the server.
func (s *server) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("coder %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// build asks for a build and waits for its end; it gives how long until the
// provisioner's first log line, and until the end.
func (s *server) build(ctx context.Context, w coder.Workspace, transition coder.WorkspaceTransition) (first, all time.Duration, err error) {
	start := time.Now()
	b, err := s.c.CreateWorkspaceBuild(ctx, w.ID, coder.CreateWorkspaceBuildRequest{Transition: transition})
	if err != nil {
		return 0, 0, err
	}
	return s.follow(ctx, b.ID, start)
}

func (s *server) follow(ctx context.Context, build fmt.Stringer, start time.Time) (first, all time.Duration, err error) {
	err = client.Follow(ctx, s.c, "/workspacebuilds/"+build.String()+"/logs", url.Values{"follow": {""}}, func(coder.ProvisionerJobLog) error {
		if first == 0 {
			first = time.Since(start)
		}
		return nil
	})
	all = time.Since(start)
	return first, all, err
}

// push makes a template of a directory, with the given engine, and gives it.
func (s *server) push(ctx context.Context, name, dir string) (coder.Template, error) {
	if err := s.run(ctx, "templates", "push", name, "--directory", dir, "--yes"); err != nil {
		return coder.Template{}, err
	}
	return s.c.TemplateByName(ctx, "default", name)
}

// create makes a workspace and waits for its first build.
func (s *server) create(ctx context.Context, name string, t coder.Template) (coder.Workspace, error) {
	start := time.Now()
	w, err := s.c.CreateWorkspace(ctx, "me", coder.CreateWorkspaceRequest{Name: name, TemplateID: t.ID})
	if err != nil {
		return w, err
	}
	if _, _, err := s.follow(ctx, w.LatestBuild.ID, start); err != nil {
		return w, err
	}
	w, err = s.c.Workspace(ctx, w.ID, nil)
	if err == nil && w.LatestBuild.Job.Status != coder.ProvisionerJobStatusSucceeded {
		err = fmt.Errorf("the first build of %s is %s: %s", name, w.LatestBuild.Job.Status, w.LatestBuild.Job.Error)
	}
	return w, err
}

// resident gives the resident memory of a process in bytes.
func resident(pid int) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kb int64
			_, err := fmt.Sscan(rest, &kb)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no resident memory", pid)
}

// used gives the processor time that a process has had.
func used(pid int) (time.Duration, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), ") ") // the name may hold anything
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0, fmt.Errorf("cannot read the processor time of process %d", pid)
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100), nil // USER_HZ is 100 on every Linux
}

// usedByAll gives the processor time that a process and its living
// descendants have had.
func usedByAll(pid int) (time.Duration, error) {
	all, err := used(pid)
	if err != nil {
		return 0, err
	}
	tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		return 0, err
	}
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended
		}
		for child := range strings.FieldsSeq(string(b)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				return 0, err
			}
			if d, err := usedByAll(n); err == nil { // else it has ended
				all += d
			}
		}
	}
	return all, nil
}
