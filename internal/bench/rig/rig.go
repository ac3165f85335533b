// Package rig runs a deployment of the coder binary for measurements: a server with its built-in PostgreSQL or
// another one, external provisioners, and templates of the echo engine, whose builds need no infrastructure. Each
// process can be killed and started again at the same address.
package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/scaletest"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
)

const (
	password = "SomeLongPassw0rd!"
	psk      = "a long pre-shared key of provisioners"
)

// patience ends a wait for something that does not happen.
const patience = 2 * time.Minute

// Config configures a Rig.
type Config struct {
	Binary string   // path of the coder binary
	Dir    string   // directory for all data
	Env    []string // more variables of all processes
	// PostgresURL is the URL of the database, "" for the built-in one.
	PostgresURL string
	// Address, Metrics and Pprof are the addresses of the server; "" means free ones.
	Address, Metrics, Pprof string
}

// Rig is a running deployment.
type Rig struct {
	Config
	Client *codersdk.Client // of the first user, an owner whose requests are not limited
	Server *exec.Cmd
	env    []string
	log    *os.File
}

// New starts a server and creates the first user. The caller calls Close.
func New(ctx context.Context, c Config) (*Rig, error) {
	var err error
	if c.Binary, err = filepath.Abs(c.Binary); err != nil {
		return nil, err
	}
	for _, address := range []*string{&c.Address, &c.Metrics, &c.Pprof} {
		if *address == "" {
			if *address, err = freeAddress(); err != nil {
				return nil, err
			}
		}
	}
	u := &url.URL{Scheme: "http", Host: c.Address}
	r := &Rig{Config: c, Client: codersdk.New(u)}
	r.env = append(os.Environ(), "HOME="+c.Dir, "CODER_CONFIG_DIR="+filepath.Join(c.Dir, "config"), "CODER_CACHE_DIRECTORY="+filepath.Join(c.Dir, "cache"),
		"CODER_URL="+u.String(), "CODER_PROVISIONER_DAEMON_PSK="+psk)
	r.env = append(r.env, c.Env...)
	if r.log, err = os.Create(filepath.Join(c.Dir, "server.log")); err != nil {
		return nil, err
	}
	if err := r.StartServer(ctx); err != nil {
		return nil, err
	}
	if err := r.signIn(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Rig) signIn(ctx context.Context) error {
	first := codersdk.CreateFirstUserRequest{Email: "admin@example.com", Username: "admin", Password: password}
	if _, err := r.Client.CreateFirstUser(ctx, first); err != nil {
		return err
	}
	login, err := r.Client.LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{Email: first.Email, Password: password})
	if err != nil {
		return err
	}
	r.Client.SessionToken = login.SessionToken
	r.Client.Header = http.Header{scaletest.BypassHeader: {"true"}}
	return nil
}

// StartServer starts the server without built-in provisioners and waits until it is healthy.
func (r *Rig) StartServer(ctx context.Context) error {
	args := []string{"server", "--http-address", r.Address, "--provisioner-daemons", "0",
		"--prometheus-enable", "--prometheus-address", r.Metrics, "--prometheus-collect-agent-stats", "--pprof-enable", "--pprof-address", r.Pprof}
	if r.PostgresURL != "" {
		args = append(args, "--postgres-url", r.PostgresURL)
	}
	r.Server = r.command("", args...)
	if err := r.Server.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := lifecycle.Poll(ctx, 20*time.Millisecond, nil, func(ctx context.Context) (bool, error) {
		_, err := get(ctx, "http://"+r.Address+"/healthz")
		return err == nil, nil
	})
	if err != nil {
		Kill(r.Server)
		b, _ := os.ReadFile(r.log.Name())
		return fmt.Errorf("the server is not healthy: %w\n%s", err, b[max(0, len(b)-4096):])
	}
	return nil
}

// Close stops the server.
func (r *Rig) Close() {
	Terminate(r.Server)
	r.log.Close()
}

// command prepares a command of the binary with its own configuration directory below name, "" for that of the
// server.
func (r *Rig) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(r.Binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = r.env, r.log, r.log
	if name != "" {
		own := filepath.Join(r.Dir, name)
		cmd.Env = append(cmd.Env, "HOME="+own, "CODER_CONFIG_DIR="+own, "CODER_CACHE_DIRECTORY="+own)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// StartProvisioner starts an external provisioner with slots for Terraform and echo builds.
func (r *Rig) StartProvisioner(name string, slots int) (*exec.Cmd, error) {
	cmd := r.command(name, "provisioner", "start", "--name", name, "--concurrency", strconv.Itoa(slots), "--provisioner-types", "terraform,echo")
	return cmd, cmd.Start()
}

// StartAgent starts an agent with a token.
func (r *Rig) StartAgent(name string, token uuid.UUID) (*exec.Cmd, error) {
	if err := os.MkdirAll(filepath.Join(r.Dir, name), 0o755); err != nil {
		return nil, err
	}
	cmd := r.command(name, "agent")
	cmd.Dir = filepath.Join(r.Dir, name)
	cmd.Env = append(cmd.Env, "CODER_AGENT_URL=http://"+r.Address, "CODER_AGENT_TOKEN="+token.String(), "TMPDIR="+cmd.Dir)
	return cmd, cmd.Start()
}

// Run runs a command of the binary as the first user.
func (r *Rig) Run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, r.Binary, args...)
	cmd.Env = append(r.env, "CODER_SESSION_TOKEN="+r.Client.SessionToken)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("coder %q: %w\n%s", args, err, out)
	}
	return nil
}

// Terminate stops a process gracefully and waits for it.
func Terminate(cmd *exec.Cmd) {
	cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may be gone
	cmd.Wait()                          //nolint:errcheck // stopped on purpose
}

// Kill kills a process with its process group and waits for it.
func Kill(cmd *exec.Cmd) {
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
	cmd.Wait()                                      //nolint:errcheck // killed
}

// DatabaseURL returns the URL of the server's database.
func (r *Rig) DatabaseURL() (string, error) {
	if r.PostgresURL != "" {
		return r.PostgresURL, nil
	}
	return database.EmbeddedURL(filepath.Join(r.Dir, "config"))
}

// Store opens the server's database. The caller closes it.
func (r *Rig) Store(ctx context.Context) (*postgres.Store, error) {
	u, err := r.DatabaseURL()
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, postgres.Config{URL: u})
}

// ServerUsage returns what the server uses, and what its built-in PostgreSQL uses, which is its only child.
func (r *Rig) ServerUsage() (server, database process.Usage, err error) {
	if server, err = process.Alone(r.Server.Process.Pid); err != nil {
		return server, database, err
	}
	for _, child := range process.Children(r.Server.Process.Pid) {
		u, err := process.Tree(child)
		if err != nil {
			return server, database, err
		}
		database.Add(u)
	}
	return server, database, nil
}

// Scrape returns the server's Prometheus metrics in their text form.
func (r *Rig) Scrape(ctx context.Context) ([]byte, error) {
	return get(ctx, "http://"+r.Metrics+"/metrics")
}

// Template creates a template for the echo engine from its files (see package echo).
func (r *Rig) Template(ctx context.Context, name string, files map[string]string) (codersdk.Template, error) {
	var none codersdk.Template
	archive, err := echo.Archive(files)
	if err != nil {
		return none, err
	}
	up, err := r.Client.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	if err != nil {
		return none, err
	}
	file, err := uuid.Parse(up.Hash)
	if err != nil {
		return none, err
	}
	request := codersdk.CreateTemplateVersionRequest{FileID: file, Provisioner: "echo", StorageMethod: "file"}
	v, err := r.Client.CreateTemplateVersion(ctx, "default", request)
	if err != nil {
		return none, err
	}
	err = lifecycle.Poll(ctx, 50*time.Millisecond, nil, func(ctx context.Context) (bool, error) {
		v, err = r.Client.TemplateVersion(ctx, v.ID)
		return v.Job.CompletedAt != nil, err
	})
	if err != nil {
		return none, fmt.Errorf("import template %s: %w", name, err)
	}
	return r.Client.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
}

// Workspace creates a workspace of the first user and waits for its build, which must succeed.
func (r *Rig) Workspace(ctx context.Context, name string, t codersdk.Template) (codersdk.Workspace, error) {
	w, err := r.Client.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: t.ID})
	if err != nil {
		return w, err
	}
	_, err = r.Await(ctx, w.LatestBuild.ID)
	if err != nil {
		return w, err
	}
	return r.Client.Workspace(ctx, w.ID, nil)
}

// Build starts or stops a workspace and waits for the end of the build, which must succeed.
func (r *Rig) Build(ctx context.Context, workspace uuid.UUID, transition codersdk.WorkspaceTransition) (codersdk.WorkspaceBuild, error) {
	b, err := r.Client.CreateWorkspaceBuild(ctx, workspace, codersdk.CreateWorkspaceBuildRequest{Transition: transition})
	if err != nil {
		return b, err
	}
	return r.Await(ctx, b.ID)
}

// Await follows the log of a build until its end, and returns the build, which must have succeeded.
func (r *Rig) Await(ctx context.Context, build uuid.UUID) (codersdk.WorkspaceBuild, error) {
	follow := url.Values{"follow": {""}}
	err := codersdk.Follow(ctx, r.Client, "/workspacebuilds/"+build.String()+"/logs", follow, func(codersdk.ProvisionerJobLog) error { return nil })
	if err != nil {
		return codersdk.WorkspaceBuild{}, fmt.Errorf("follow build %s: %w", build, err)
	}
	b, err := r.Client.WorkspaceBuild(ctx, build)
	if err == nil && b.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		err = fmt.Errorf("build %s: the job is %s: %s", build, b.Job.Status, b.Job.Error)
	}
	return b, err
}

// get returns the body of a response with status 200.
func get(ctx context.Context, u string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", u, resp.Status)
	}
	return b, err
}

// freeAddress returns an address of the loopback interface at which nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
