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
	"strings"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

const (
	loopback = "127.0.0.1"
	password = "SomeLongPassw0rd!"
	psk      = "a long pre-shared key of provisioners"
)

// server is a coder server of the measured binary, with its own data.
type server struct {
	bin, dir, address string
	env               []string
	cmd               *exec.Cmd
	log               bytes.Buffer
	c                 *codersdk.Client
}

// newServer starts a new server on loopback and signs in.
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
	s.c = codersdk.New(u)
	s.env = append(os.Environ(), "CODER_CONFIG_DIR="+filepath.Join(dir, "config"), "CODER_CACHE_DIRECTORY="+filepath.Join(dir, "cache"),
		"HOME="+dir, "CODER_URL="+u.String(), "CODER_HTTP_ADDRESS="+s.address, "CODER_PROVISIONER_DAEMON_PSK="+psk, "CODER_PROMETHEUS_ENABLE=false")
	if err := s.start(ctx, flags...); err != nil {
		return nil, err
	}
	if _, err := s.c.CreateFirstUser(ctx, codersdk.CreateFirstUserRequest{Email: "admin@example.com", Username: "admin", Password: password}); err != nil {
		return nil, err
	}
	login, err := s.c.LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{Email: "admin@example.com", Password: password})
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

// terminate stops a process gracefully and waits for it.
func terminate(cmd *exec.Cmd) {
	cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may be gone
	cmd.Wait()                          //nolint:errcheck // stopped on purpose
}

// spawn starts a command of the binary in its own process group.
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

// build requests a build and waits for it. It returns the time until the
// provisioner's first log line, and until the end.
func (s *server) build(ctx context.Context, w codersdk.Workspace, transition codersdk.WorkspaceTransition) (first, all time.Duration, err error) {
	start := time.Now()
	b, err := s.c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: transition})
	if err != nil {
		return 0, 0, err
	}
	return s.follow(ctx, b.ID, start)
}

func (s *server) follow(ctx context.Context, build fmt.Stringer, start time.Time) (first, all time.Duration, err error) {
	err = codersdk.Follow(ctx, s.c, "/workspacebuilds/"+build.String()+"/logs", url.Values{"follow": {""}}, func(codersdk.ProvisionerJobLog) error {
		if first == 0 {
			first = time.Since(start)
		}
		return nil
	})
	all = time.Since(start)
	return first, all, err
}

// push creates a template from a directory with the given engine, and returns
// it.
func (s *server) push(ctx context.Context, name, dir string) (codersdk.Template, error) {
	if err := s.run(ctx, "templates", "push", name, "--directory", dir, "--yes"); err != nil {
		return codersdk.Template{}, err
	}
	return s.c.TemplateByName(ctx, "default", name)
}

// create creates a workspace and waits for its first build.
func (s *server) create(ctx context.Context, name string, t codersdk.Template) (codersdk.Workspace, error) {
	start := time.Now()
	w, err := s.c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: t.ID})
	if err != nil {
		return w, err
	}
	if _, _, err := s.follow(ctx, w.LatestBuild.ID, start); err != nil {
		return w, err
	}
	w, err = s.c.Workspace(ctx, w.ID, nil)
	if err == nil && w.LatestBuild.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		err = fmt.Errorf("the first build of %s is %s: %s", name, w.LatestBuild.Job.Status, w.LatestBuild.Job.Error)
	}
	return w, err
}
