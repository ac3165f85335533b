package speed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
)

// The repository that is cloned. Its content is random, so that nothing can compress it: 240 MB, of which the files
// of the newest commit are 40 MB.
const (
	blobSize = 10_000
	files    = 4_000
	rewrites = 20_000 // files that earlier commits have
	commits  = 50
	lineRate = 50_000_000 / 8 // bytes per second that the host sends
)

// cloneRows measures clones of a repository whose host is behind a line of 50 Mbit/s: in the first workspace, when
// the mirror does not have it, in the second one, and a plain clone.
func cloneRows(ctx context.Context, c Config) (rows []figure.Row, err error) {
	dir, err := os.MkdirTemp("", "coder-speed-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := makeRepository(ctx, filepath.Join(dir, "shop")); err != nil {
		return nil, err
	}
	host, err := serveSlowly(dir)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	r, err := rig.New(ctx, rig.Config{Binary: c.Coder, Dir: dir, Env: []string{
		"CODER_GIT_MIRROR=true", "CODER_EXTERNAL_AUTH_0_ID=git", "CODER_EXTERNAL_AUTH_0_TYPE=gitea", "CODER_EXTERNAL_AUTH_0_CLIENT_ID=id",
		"CODER_EXTERNAL_AUTH_0_CLIENT_SECRET=secret", "CODER_EXTERNAL_AUTH_0_AUTH_URL=" + host.URL + "/login/oauth/authorize",
	}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	provisioner, err := r.StartProvisioner("provisioner", 2)
	if err != nil {
		return nil, err
	}
	defer rig.Terminate(provisioner)
	if err := r.Run(ctx, "templates", "push", "local", "--directory", filepath.Join(c.Root, "examples/templates/local"), "--yes"); err != nil {
		return nil, err
	}
	url := host.URL + "/shop"
	begun := time.Now()
	if err := run(ctx, dir, "git", "clone", "--quiet", url, "plain"); err != nil {
		return nil, err
	}
	plain := time.Since(begun)
	first, err := clone(ctx, r, "first", url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, deleteAll(context.WithoutCancel(ctx), r, "first", "second")) }()
	const whole = "until test $(git -C shop rev-parse --is-shallow-repository) = false; do sleep 0.1; done"
	if err := r.Run(ctx, "ssh", "first", whole); err != nil {
		return nil, err
	}
	history := time.Since(first.begun)
	second, err := clone(ctx, r, "second", url)
	if err != nil {
		return nil, err
	}
	return []figure.Row{
		figure.Plain("clone_plain", plain.Seconds(), "s"),
		figure.AtMost("clone_first_shell", first.shell.Seconds(), 5, "s"),
		figure.AtMost("clone_first_tree", first.tree.Seconds(), 10, "s"),
		figure.Plain("clone_first_history", history.Seconds(), "s"),
		figure.Plain("clone_second_shell", second.shell.Seconds(), "s"),
		figure.AtMost("clone_second_tree", second.tree.Seconds(), 2, "s"),
	}, nil
}

// cloned has the times of a workspace from the start of coder create: to the end of the first session, and until all
// files of the repository are there.
type cloned struct {
	begun       time.Time
	shell, tree time.Duration
}

// clone creates a workspace that clones a repository.
func clone(ctx context.Context, r *rig.Rig, name, url string) (cloned, error) {
	c := cloned{begun: time.Now()}
	if err := r.Run(ctx, "create", name, "--template", "local", "--parameter", "repository="+url, "--use-parameter-defaults", "--yes"); err != nil {
		return c, err
	}
	if err := r.Run(ctx, "ssh", name, "true"); err != nil {
		return c, err
	}
	c.shell = time.Since(c.begun)
	if err := r.Run(ctx, "ssh", name, "until test -d shop; do sleep 0.02; done"); err != nil {
		return c, err
	}
	c.tree = time.Since(c.begun)
	return c, nil
}

func deleteAll(ctx context.Context, r *rig.Rig, names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, r.Run(ctx, "delete", name, "--yes"))
	}
	return errors.Join(errs...)
}

func run(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", args, err, out)
	}
	return nil
}

// makeRepository creates the repository.
func makeRepository(ctx context.Context, dir string) error {
	if err := run(ctx, "", "git", "init", "--quiet", "--bare", "-b", "main", dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "git", "fast-import", "--quiet")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = writeHistory(in)
	return errors.Join(err, in.Close(), cmd.Wait())
}

// writeHistory writes the commits for git fast-import. The last one rewrites all files.
func writeHistory(to io.Writer) error {
	w := bufio.NewWriter(to)
	random := rand.NewChaCha8([32]byte{1})
	blob := make([]byte, blobSize)
	for n := range commits {
		count := rewrites / (commits - 1)
		if n == commits-1 {
			count = files
		}
		fmt.Fprintf(w, "commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata 2\nm\n", 1_700_000_000+n)
		for i := range count {
			_, _ = random.Read(blob) // it never fails
			file := (n*count + i) % files
			fmt.Fprintf(w, "M 100644 inline d%d/f%d\ndata %d\n", file%100, file, blobSize)
			if _, err := w.Write(blob); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

// serveSlowly serves the repositories of a directory over a line with lineRate.
func serveSlowly(dir string) (*httptest.Server, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, err
	}
	host := httptest.NewUnstartedServer(&cgi.Handler{
		Path: git, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	})
	host.Listener = &line{Listener: host.Listener, free: make(chan time.Time, 1)}
	host.Listener.(*line).free <- time.Now()
	host.Start()
	return host, nil
}

// line is a listener whose connections share the bytes that may be sent each second.
type line struct {
	net.Listener
	free chan time.Time // when the bytes that were written so far are sent
}

func (l *line) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &slowConn{Conn: c, line: l}, err
}

type slowConn struct {
	net.Conn
	line *line
}

// Write writes in parts, so that connections take turns.
func (c *slowConn) Write(p []byte) (n int, err error) {
	const part = 16 << 10
	for len(p) > 0 && err == nil {
		size := min(len(p), part)
		free := <-c.line.free
		if now := time.Now(); free.Before(now) {
			free = now
		}
		sent := free.Add(time.Duration(size) * time.Second / lineRate)
		c.line.free <- sent
		time.Sleep(time.Until(free))
		var m int
		m, err = c.Conn.Write(p[:size])
		n, p = n+m, p[size:]
	}
	return n, err
}
