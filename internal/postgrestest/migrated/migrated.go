// Package migrated caches a stopped PostgreSQL cluster that has the whole schema and
// copies it for test processes, so that initdb and the migrations run only once for
// all of them.
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

// cacheTTL is how long a cached cluster is kept after the last copy.
const cacheTTL = 24 * time.Hour

// sourceDir returns the directory of the cached cluster, which the first call
// creates if needed. Its name contains a digest of the migrations, so that a changed
// schema gets a new directory.
var sourceDir = sync.OnceValues(func() (string, error) {
	if err := os.MkdirAll(cacheDir(), 0o755); err != nil {
		return "", err
	}
	sum, err := schemaDigest()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(cacheDir(), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // only one process creates the cluster
		return "", err
	}
	removeStale(cacheDir())
	dir := filepath.Join(cacheDir(), "migrated-"+sum)
	if _, err := os.Stat(dir); err != nil {
		fresh, err := newOwnedDir()
		if err != nil {
			return "", err
		}
		if err := buildCluster(fresh); err != nil {
			return "", err
		}
		if err := os.Rename(fresh, dir); err != nil {
			return "", err
		}
	}
	now := time.Now()
	return dir, os.Chtimes(dir, now, now) // removeStale uses the time of the last copy
})

// cacheDir returns the directory of all clusters of tests. It is in memory, if
// /dev/shm has more than 4 GiB free, because creating files takes most of the time
// of a clone.
var cacheDir = sync.OnceValue(func() string {
	const memory, enough = "/dev/shm", 4 << 30
	var free syscall.Statfs_t
	if syscall.Statfs(memory, &free) == nil && free.Bavail*uint64(free.Bsize) > enough {
		return filepath.Join(memory, "coder-test-postgres")
	}
	return filepath.Join(os.TempDir(), "coder-test-postgres")
})

// schemaDigest returns a digest of the content of a migrated cluster: the server
// version and all migrations.
func schemaDigest() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, codersdk.Version()) // migrations store the version
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

// buildCluster creates a cluster in dir, runs the migrations, and stops it.
func buildCluster(dir string) error {
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

// Config returns the configuration of a cluster in dir that does not have to survive
// a crash of the machine.
func Config(dir string) embedded.Config {
	return embedded.Config{
		Dir: dir, Log: slog.New(slog.DiscardHandler),
		Settings: map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"max_connections": "300", "shared_buffers": "64MB", "autovacuum": "off", "max_wal_size": "512MB",
			"dynamic_shared_memory_type": "mmap", // shared memory is a file in dir, so it does not outlive a killed PostgreSQL
		},
	}
}

// newOwnedDir creates a directory that removeStale removes after this process has
// ended. Its name is unique, because an earlier process may have had the same ID.
func newOwnedDir() (string, error) { return os.MkdirTemp(cacheDir(), strconv.Itoa(os.Getpid())+"-") }

// Copy copies the migrated cluster into a new directory, which is removed after this
// process has ended. The database coder of the cluster has the schema. Copy is safe
// for concurrent use.
func Copy() (dir string, err error) {
	from, err := sourceDir()
	if err != nil {
		return "", err
	}
	if dir, err = newOwnedDir(); err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if err := os.CopyFS(data, os.DirFS(filepath.Join(from, "data"))); err != nil {
		return "", err
	}
	if err := os.Chmod(data, 0o700); err != nil { // PostgreSQL requires this mode
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
// that uses configDir. The directory must not have a database yet. The copy survives
// kill -9 of all processes, but not a crash of the machine. The caller calls remove
// after the server has ended.
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
		os.WriteFile(filepath.Join(builtin, embedded.LocationFile), []byte(dir+"\n"), 0o600))
	return func() { os.RemoveAll(dir) }, err //nolint:errcheck // the shell of removeAfterwards removes it too
}

// openPipes references the pipes of removeAfterwards, because the garbage collector
// closes unreferenced files.
var openPipes struct {
	sync.Mutex
	pipes []*os.File
}

// removeAfterwards starts a shell that removes dir. The shell waits until this
// process has ended, for any reason, and until the PostgreSQL in dir has exited. The
// kernel stops that PostgreSQL when this process ends.
func removeAfterwards(dir string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	openPipes.Lock()
	openPipes.pipes = append(openPipes.pipes, w)
	openPipes.Unlock()
	shell := exec.Command("sh", "-c", `cat
		while kill -0 "$(head -n 1 "$0/data/postmaster.pid")"; do sleep 0.1; done
		rm -rf "$0"`, dir)
	shell.Stdin = r
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not stop the shell
	return shell.Start()
}

// removeStale removes the clusters of test processes that have ended, and cached
// clusters that were not copied for cacheTTL.
func removeStale(root string) {
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		process, _, _ := strings.Cut(e.Name(), "-")
		pid, err := strconv.Atoi(process)
		gone := err == nil && syscall.Kill(pid, 0) != nil
		if info, err := e.Info(); err == nil && process == "migrated" {
			gone = time.Since(info.ModTime()) > cacheTTL
		}
		if gone {
			os.RemoveAll(filepath.Join(root, e.Name())) //nolint:errcheck // the next process tries again
		}
	}
}
