// Package embedded runs a private PostgreSQL as a child process, for deployments
// without a configured database. (CP-07)
//
// All files of the cluster are in one directory. PostgreSQL listens on a Unix
// socket there. If the path is too long for a socket, it listens on the loopback
// address with a random password.
//
// PostgreSQL ends with its server. A server that stops shuts it down cleanly. When
// the server is killed, the kernel signals PostgreSQL to stop. The next start runs
// crash recovery if needed. A file lock prevents a second server from using the
// same data. PostgreSQL refuses to run as root, so a server that runs as root
// starts it as another user.
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

// Config is the configuration of a cluster.
type Config struct {
	Dir      string // directory of data, socket, password and lock; created if missing
	BinDir   string // directory of PostgreSQL's programs; "" searches PATH and the directories of distributions
	CacheDir string // directory for downloaded programs, if none are installed
	Log      *slog.Logger
	// Settings are passed to postgres with -c, for tests.
	Settings map[string]string
}

// maxSocketPath is the longest directory whose socket fits sun_path on every
// operating system.
const maxSocketPath = 103 - len("/.s.PGSQL.5432")

// Cluster is a running PostgreSQL.
type Cluster struct {
	config Config
	runAs  processUser
	lock   *os.File
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has exited
	url    string
	stderr *tail
}

// Start starts the cluster and waits until it accepts connections. It initializes
// the data directory if needed.
func Start(ctx context.Context, c Config) (*Cluster, error) {
	runAs, err := findUnprivilegedUser()
	if err != nil {
		return nil, err
	}
	if c.Dir, err = resolveDir(c.Dir, runAs); err != nil {
		return nil, err
	}
	if !runAs.canReach(c.CacheDir) {
		c.CacheDir = c.Dir
	}
	lock, err := lockDir(c.Dir)
	if err != nil {
		return nil, err
	}
	cl := &Cluster{config: c, runAs: runAs, lock: lock, stderr: &tail{max: 64 << 10}}
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
	password, err := loadOrCreatePassword(c.Dir)
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
	if err := cl.runAs.chown(c.Dir); err != nil {
		return err
	}
	cl.cmd = exec.Command(filepath.Join(bin, "postgres"), args...)
	cl.cmd.Dir = c.Dir
	cl.cmd.Env = environment()
	cl.cmd.Stderr, cl.cmd.Stdout = cl.stderr, cl.stderr
	cl.runAs.configure(cl.cmd)
	cl.exited = make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// The kernel ties the death signal to the thread that started the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cl.cmd.Start()
		started <- err
		if err == nil {
			cl.cmd.Wait() //nolint:errcheck // only the exit matters; cl.stderr has the error
			close(cl.exited)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", cl.cmd.Path, err)
	}
	if err := cl.waitUntilReady(ctx); err != nil {
		cl.kill()
		return err
	}
	return nil
}

// environment returns the environment of this process without PG* and LC_*
// variables, and with LC_ALL=C. PG* variables are meant for clients and would
// change settings of the server.
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

// initialize creates the data directory. initdb writes to data.new, which is
// renamed at the end, so that a crash leaves no incomplete data directory.
func (cl *Cluster) initialize(ctx context.Context, bin, password string) error {
	fresh := filepath.Join(cl.config.Dir, "data.new")
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clear an unfinished database: %w", err)
	}
	pw := filepath.Join(cl.config.Dir, "password")
	if err := cl.runAs.chown(cl.config.Dir); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata", fresh, "--username", "coder",
		"--encoding", "UTF8", "--no-locale", "--auth-local", "trust", "--auth-host", "scram-sha-256", "--pwfile", pw)
	cmd.Dir = cl.config.Dir
	cmd.Env = environment()
	if cl.config.Settings["fsync"] == "off" {
		cmd.Args = append(cmd.Args, "--no-sync")
	}
	cl.runAs.configure(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initialize the database with %s: %w\n%s", cmd.Path, err, bytes.TrimSpace(out))
	}
	if err := os.Rename(fresh, cl.data()); err != nil {
		return fmt.Errorf("put the new database in place: %w", err)
	}
	return nil
}

// arguments returns the command line of postgres and sets cl.url. It chooses the
// Unix socket or the loopback address.
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

// quoteList quotes an entry of a list setting, where commas and blanks separate
// entries.
func quoteList(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// waitUntilReady waits until PostgreSQL accepts connections, and creates the
// database coder if it is missing.
func (cl *Cluster) waitUntilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // crash recovery can take long
	defer cancel()
	admin := strings.Replace(cl.url, "/coder?", "/postgres?", 1)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, admin)
		if err == nil {
			defer conn.Close(context.Background())
			var exists bool
			if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = 'coder')").Scan(&exists); err != nil {
				return fmt.Errorf("look for the database: %w", err)
			}
			if !exists {
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

// URL returns the connection URL. It contains a password only if the cluster
// listens on the loopback address.
func (cl *Cluster) URL() string { return cl.url }

// Exited returns a channel that is closed when PostgreSQL has exited, for any
// reason.
func (cl *Cluster) Exited() <-chan struct{} { return cl.exited }

// Output returns the end of PostgreSQL's output, at most 64 KiB.
func (cl *Cluster) Output() string { return cl.stderr.String() }

// Stop shuts the cluster down. It closes all connections, and all data is on disk
// when it returns nil. If ctx ends first, Stop kills the process and returns an
// error. The next start then runs crash recovery.
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
	cl.cmd.Process.Kill() //nolint:errcheck // the process may have exited
	<-cl.exited
}

// URL returns the connection URL of the cluster in dir, whether it runs or not. It
// returns an error if the URL changes at each start.
func URL(dir string) (string, error) {
	if location, err := os.ReadFile(filepath.Join(dir, LocationFile)); err == nil {
		dir = strings.TrimSpace(string(location))
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

// LocationFile is the name of a file in Config.Dir. It contains the path of the
// cluster's directory, if that is not Config.Dir.
const LocationFile = "elsewhere"

// resolveDir returns the directory of the cluster and creates it. This is dir, if
// the user that PostgreSQL runs as can reach dir. A user without a user namespace
// cannot reach directories of root, as in some containers. resolveDir then chooses
// a directory below /var/lib/coder and writes its path to LocationFile in dir.
func resolveDir(dir string, runAs processUser) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the database directory: %w", err)
	}
	locationFile := filepath.Join(dir, LocationFile)
	location, err := os.ReadFile(locationFile)
	if errors.Is(err, os.ErrNotExist) {
		if runAs.canReach(dir) {
			return dir, nil
		}
		if dataVersion(filepath.Join(dir, "data")) != "" {
			return "", fmt.Errorf(
				"PostgreSQL does not run as root, and its data in %s cannot be reached by others: move it to a directory that can, or give --postgres-url",
				dir,
			)
		}
		sum := sha256.Sum256([]byte(dir))
		location = []byte(filepath.Join("/var/lib/coder", "postgres-"+hex.EncodeToString(sum[:4])))
		err = os.WriteFile(locationFile, append(location, '\n'), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("find the database directory: %w", err)
	}
	dir = strings.TrimSpace(string(location))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("make the database directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the database directory: %w", err)
	}
	return dir, nil
}

// loadOrCreatePassword reads the cluster's password from dir. The first call
// creates a random one.
func loadOrCreatePassword(dir string) (string, error) {
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

// dataVersion returns the major version of PostgreSQL that a data directory belongs
// to; "" if the directory is missing or not initialized.
func dataVersion(data string) string {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// tail is a writer that keeps the last max bytes of a process's output.
type tail struct {
	ring syncBuffer
	max  int
}

func (t *tail) Write(p []byte) (int, error) { return t.ring.write(p, t.max) }
func (t *tail) String() string              { return strings.TrimSpace(t.ring.string()) }

var _ io.Writer = (*tail)(nil)
