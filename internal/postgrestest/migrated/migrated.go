// Package migrated keeps a stopped PostgreSQL cluster that has the whole schema,
// and copies it for test processes: initdb and the migrations run once for all of
// them.
package migrated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
)

// unused is how long a cached cluster is kept that no process copies.
const unused = 24 * time.Hour

// source is the directory of a stopped cluster with the whole schema, which
// every test process copies instead of running initdb and the migrations. Its
// name has a digest of the migrations, so that a changed schema gets another.
var source = sync.OnceValues(func() (string, error) {
	if err := os.MkdirAll(root(), 0o755); err != nil {
		return "", err
	}
	sum, err := digest()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(root(), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // one process builds it
		return "", err
	}
	sweep(root())
	dir := filepath.Join(root(), "migrated-"+sum)
	if _, err := os.Stat(dir); err != nil {
		fresh, err := owned()
		if err != nil {
			return "", err
		}
		if err := build(fresh); err != nil {
			return "", err
		}
		if err := os.Rename(fresh, dir); err != nil {
			return "", err
		}
	}
	now := time.Now()
	return dir, os.Chtimes(dir, now, now) // see sweep
})

// root is the directory of all clusters of tests: in memory where Linux has
// enough of it, because most of the time of a clone is the creation of files.
var root = sync.OnceValue(func() string {
	const memory, enough = "/dev/shm", 4 << 30
	var free syscall.Statfs_t
	if syscall.Statfs(memory, &free) == nil && free.Bavail*uint64(free.Bsize) > enough {
		return filepath.Join(memory, "coder-test-postgres")
	}
	return filepath.Join(os.TempDir(), "coder-test-postgres")
})

// digest identifies the content of a migrated cluster.
func digest() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, codersdk.Version()) // migrations write it down
	err := fs.WalkDir(postgres.Migrations(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(postgres.Migrations(), path)
		fmt.Fprintln(sum, path, len(b))
		sum.Write(b)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:8]), err
}

// build migrates a new cluster in dir and stops it.
func build(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := embedded.Start(ctx, Config(dir))
	if err != nil {
		return err
	}
	err = postgres.Migrate(ctx, c.URL())
	if stopped := c.Stop(ctx); err == nil {
		err = stopped
	}
	return err
}

// Config returns the configuration of a cluster in dir that need not survive a
// crash of the machine.
func Config(dir string) embedded.Config {
	return embedded.Config{
		Dir: dir, Log: slog.New(slog.DiscardHandler),
		Settings: map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"max_connections": "300", "shared_buffers": "64MB", "autovacuum": "off", "max_wal_size": "512MB",
			"dynamic_shared_memory_type": "mmap", // is in dir, so it does not outlive a PostgreSQL that is killed
		},
	}
}

// owned creates a directory that sweep removes once this process has ended. Its name is new: another
// process can have had this process's id.
func owned() (string, error) { return os.MkdirTemp(root(), strconv.Itoa(os.Getpid())+"-") }

// Copy copies the migrated cluster into a new directory, which is removed once
// this process has ended. Its database coder has the schema. It may be called by
// several goroutines.
func Copy() (dir string, err error) {
	from, err := source()
	if err != nil {
		return "", err
	}
	if dir, err = owned(); err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if err := os.CopyFS(data, os.DirFS(filepath.Join(from, "data"))); err != nil {
		return "", err
	}
	if err := os.Chmod(data, 0o700); err != nil { // PostgreSQL wants it
		return "", err
	}
	password, err := os.ReadFile(filepath.Join(from, "password"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "password"), password, 0o600); err != nil {
		return "", err
	}
	return dir, removeAfterwards(dir)
}

// Provide makes a copy of the migrated cluster the built-in database of the server
// with that configuration directory, which must not have a database. The copy
// survives kill -9 of all processes, but not a crash of the machine. remove removes
// it once the server has ended.
func Provide(configDir string) (remove func(), err error) {
	dir, err := Copy()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, "data", "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString("fsync = off\nfull_page_writes = off\ndynamic_shared_memory_type = mmap\n")
	builtin := filepath.Join(configDir, "postgres")
	err = errors.Join(err, file.Close(), os.MkdirAll(builtin, 0o700),
		os.WriteFile(filepath.Join(builtin, embedded.Elsewhere), []byte(dir+"\n"), 0o600))
	return func() { os.RemoveAll(dir) }, err //nolint:errcheck // it is removed at the end of this process too
}

// open holds the pipes of removeAfterwards, which a collected file would close.
var open struct {
	sync.Mutex
	pipes []*os.File
}

// removeAfterwards starts a shell that removes dir once this process has ended,
// however it ends, and the PostgreSQL that runs in dir, which the kernel then stops.
func removeAfterwards(dir string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	open.Lock()
	open.pipes = append(open.pipes, w)
	open.Unlock()
	shell := exec.Command("sh", "-c", `cat
		while kill -0 "$(head -n 1 "$0/data/postmaster.pid")"; do sleep 0.1; done
		rm -rf "$0"`, dir)
	shell.Stdin = r
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests
	return shell.Start()
}

// sweep removes the clusters of test processes that have ended, and cached ones
// that were not copied for long.
func sweep(root string) {
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		process, _, _ := strings.Cut(e.Name(), "-")
		pid, err := strconv.Atoi(process)
		gone := err == nil && syscall.Kill(pid, 0) != nil
		if info, err := e.Info(); err == nil && process == "migrated" {
			gone = time.Since(info.ModTime()) > unused
		}
		if gone {
			os.RemoveAll(filepath.Join(root, e.Name())) //nolint:errcheck // the next process tries again
		}
	}
}
