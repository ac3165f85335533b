// Package embedded runs a private PostgreSQL as a child process, for
// deployments that were given no database. The cluster lives in one directory,
// answers on a Unix socket there (or, where paths are too long for one, on
// loopback with a random password), and ends with its server: cleanly when the
// server stops, and by the kernel's hand when the server is killed. The next
// start recovers whatever the last end left. A lock keeps a second server from
// the same data. PostgreSQL refuses to run as root, so a server that is root
// runs it as somebody else. (CP-07)
package embedded

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Config states where the cluster lives.
type Config struct {
	Dir      string // holds data, socket, password and lock; made when absent
	BinDir   string // PostgreSQL's programs; "" looks on PATH and where distributions put them
	CacheDir string // where fetched programs are kept when none are installed
	Log      *slog.Logger
	// Settings are given to postgres with -c, for tests.
	Settings map[string]string
}

// maxSocketPath is what fits sun_path on every system, with the socket's own name.
const maxSocketPath = 103 - len("/.s.PGSQL.5432")

// Cluster is a running PostgreSQL.
type Cluster struct {
	config Config
	who    user
	lock   *os.File
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process is gone
	url    string
	stderr *tail
}

// Start initializes the cluster if need be, recovers and starts it, and waits
// until it answers.
func Start(ctx context.Context, c Config) (*Cluster, error) {
	who, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if c.Dir, err = place(c.Dir, who); err != nil {
		return nil, err
	}
	if !who.reaches(c.CacheDir) {
		c.CacheDir = c.Dir
	}
	lock, err := lockDir(c.Dir)
	if err != nil {
		return nil, err
	}
	cl := &Cluster{config: c, who: who, lock: lock, stderr: &tail{max: 64 << 10}}
	if err := cl.start(ctx); err != nil {
		lock.Close()
		return nil, err
	}
	return cl, nil
}

func (cl *Cluster) start(ctx context.Context) error {
	c := cl.config
	bin, err := findBinaries(ctx, c, dataVersion(cl.data()))
	if err != nil {
		return err
	}
	if err := stopLeftover(ctx, cl.data()); err != nil {
		return err
	}
	password, err := keepPassword(c.Dir)
	if err != nil {
		return err
	}
	if dataVersion(cl.data()) == "" {
		if err := cl.initialize(ctx, bin, password); err != nil {
			return err
		}
	}
	args, err := cl.arguments(password)
	if err != nil {
		return err
	}
	if err := cl.who.own(c.Dir); err != nil {
		return err
	}
	cl.cmd = exec.Command(filepath.Join(bin, "postgres"), args...)
	cl.cmd.Dir = c.Dir
	cl.cmd.Env = environment()
	cl.cmd.Stderr, cl.cmd.Stdout = cl.stderr, cl.stderr
	cl.who.apply(cl.cmd)
	cl.exited = make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// The kernel ties the death signal to the thread that started the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cl.cmd.Start()
		started <- err
		if err == nil {
			cl.cmd.Wait() //nolint:errcheck // the exit is what matters; its words are in stderr
			close(cl.exited)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", cl.cmd.Path, err)
	}
	if err := cl.await(ctx); err != nil {
		cl.kill()
		return err
	}
	return nil
}

// environment is ours without the PG variables, which are meant for clients and
// would bend the server's settings.
func environment() []string {
	env := []string{"LC_ALL=C"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "LC_") {
			env = append(env, v)
		}
	}
	return env
}

func (cl *Cluster) data() string { return filepath.Join(cl.config.Dir, "data") }

// initialize makes the data directory under another name first: a crash in
// between leaves nothing that looks finished.
func (cl *Cluster) initialize(ctx context.Context, bin, password string) error {
	fresh := filepath.Join(cl.config.Dir, "data.new")
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clear an unfinished database: %w", err)
	}
	pw := filepath.Join(cl.config.Dir, "password")
	if err := cl.who.own(cl.config.Dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata", fresh, "--username", "coder",
		"--encoding", "UTF8", "--no-locale", "--auth-local", "trust", "--auth-host", "scram-sha-256", "--pwfile", pw)
	cmd.Dir = cl.config.Dir
	cmd.Env = environment()
	if cl.config.Settings["fsync"] == "off" {
		cmd.Args = append(cmd.Args, "--no-sync")
	}
	cl.who.apply(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initialize the database with %s: %w\n%s", cmd.Path, err, bytes.TrimSpace(out))
	}
	if err := os.Rename(fresh, cl.data()); err != nil {
		return fmt.Errorf("put the new database in place: %w", err)
	}
	return nil
}

// arguments chooses socket or loopback and gives the command line.
func (cl *Cluster) arguments(password string) ([]string, error) {
	c := cl.config
	args := []string{"-D", cl.data(), "-c", "logging_collector=off"}
	for k, v := range c.Settings {
		args = append(args, "-c", k+"="+v)
	}
	if len(c.Dir) <= maxSocketPath {
		cl.url = (&url.URL{Scheme: "postgres", User: url.User("coder"), Path: "/coder",
			RawQuery: url.Values{"host": {c.Dir}, "port": {"5432"}}.Encode()}).String()
		return append(args, "-c", "listen_addresses=", "-c", "port=5432",
			"-c", "unix_socket_directories="+quoteList(c.Dir), "-c", "unix_socket_permissions=0700"), nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port for the database: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cl.url = (&url.URL{Scheme: "postgres", User: url.UserPassword("coder", password), Path: "/coder",
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), RawQuery: "sslmode=disable"}).String()
	return append(args, "-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(port),
		"-c", "unix_socket_directories="), nil
}

// quoteList quotes a value of a list setting, where commas and blanks part entries.
func quoteList(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// await waits until the cluster answers, and makes the database when it is new.
func (cl *Cluster) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // recovery after a crash may take its time
	defer cancel()
	admin := strings.Replace(cl.url, "/coder?", "/postgres?", 1)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, admin)
		if err == nil {
			defer conn.Close(context.Background())
			var there bool
			if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = 'coder')").Scan(&there); err != nil {
				return fmt.Errorf("look for the database: %w", err)
			}
			if !there {
				if _, err := conn.Exec(ctx, "CREATE DATABASE coder"); err != nil {
					return fmt.Errorf("make the database: %w", err)
				}
			}
			return nil
		}
		select {
		case <-cl.exited:
			return fmt.Errorf("the built-in PostgreSQL ended as it started:\n%s", cl.stderr)
		case <-ctx.Done():
			return fmt.Errorf("the built-in PostgreSQL does not answer: %w\n%s", ctx.Err(), cl.stderr)
		case <-tick.C:
		}
	}
}

// URL returns the connection URL. It holds a password only on loopback.
func (cl *Cluster) URL() string { return cl.url }

// Exited is closed when PostgreSQL has ended, asked or not.
func (cl *Cluster) Exited() <-chan struct{} { return cl.exited }

// Output returns the last of what PostgreSQL said.
func (cl *Cluster) Output() string { return cl.stderr.String() }

// Stop shuts the cluster down: connections are ended and everything is on
// disk when it returns. When ctx ends first the process is killed, which the
// next start recovers from.
func (cl *Cluster) Stop(ctx context.Context) error {
	defer cl.lock.Close()
	if err := cl.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		cl.kill()
		return fmt.Errorf("stop the built-in PostgreSQL: %w", err)
	}
	select {
	case <-cl.exited:
		return nil
	case <-ctx.Done():
		cl.kill()
		return fmt.Errorf("the built-in PostgreSQL did not stop in time and was killed: %w", ctx.Err())
	}
}

func (cl *Cluster) kill() {
	cl.cmd.Process.Kill() //nolint:errcheck // it may be gone
	<-cl.exited
}

// URL returns the connection URL of the cluster in dir, whether it runs or not;
// an error when it has none that lasts.
func URL(dir string) (string, error) {
	if there, err := os.ReadFile(filepath.Join(dir, Elsewhere)); err == nil {
		dir = strings.TrimSpace(string(there))
	}
	if len(dir) > maxSocketPath {
		return "", errors.New(
			"the database directory's path is too long for a socket, so its address changes at each start: see the output of postgres-builtin-serve",
		)
	}
	cl := Cluster{config: Config{Dir: dir}}
	if _, err := cl.arguments(""); err != nil {
		return "", err
	}
	return cl.url, nil
}

// Elsewhere is the file in a directory that has the path of its cluster, if that is another directory.
const Elsewhere = "elsewhere"

// place returns the directory in which the cluster lives, and makes it: dir, or,
// when the user that PostgreSQL runs as cannot get there (root's own directories, in
// a container that knows no user namespaces), one below /var/lib that is then
// remembered in dir.
func place(dir string, who user) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the database directory: %w", err)
	}
	note := filepath.Join(dir, Elsewhere)
	there, err := os.ReadFile(note)
	if errors.Is(err, os.ErrNotExist) {
		if who.reaches(dir) {
			return dir, nil
		}
		if dataVersion(filepath.Join(dir, "data")) != "" {
			return "", fmt.Errorf(
				"PostgreSQL does not run as root, and its data in %s cannot be reached by others: move it to a directory that can, or give --postgres-url",
				dir,
			)
		}
		sum := sha256.Sum256([]byte(dir))
		there = []byte(filepath.Join("/var/lib/coder", "postgres-"+hex.EncodeToString(sum[:4])))
		err = os.WriteFile(note, append(there, '\n'), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("find the database directory: %w", err)
	}
	dir = strings.TrimSpace(string(there))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("make the database directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the database directory: %w", err)
	}
	return dir, nil
}

// keepPassword reads the cluster's password, making one the first time.
func keepPassword(dir string) (string, error) {
	path := filepath.Join(dir, "password")
	b, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the database password: %w", err)
	}
	p := rand.Text()
	if err := os.WriteFile(path+".new", []byte(p+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the database password: %w", err)
	}
	return p, os.Rename(path+".new", path)
}

// dataVersion returns the major version that a data directory belongs to, "" when there is none.
func dataVersion(data string) string {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// tail keeps the last bytes of what a process says.
type tail struct {
	ring syncBuffer
	max  int
}

func (t *tail) Write(p []byte) (int, error) { return t.ring.write(p, t.max) }
func (t *tail) String() string              { return strings.TrimSpace(t.ring.string()) }

var _ io.Writer = (*tail)(nil)
