// Package terraform is the engine that runs Terraform, or OpenTofu, for a
// provisioner daemon.
//
// # One job, as few processes as correctness allows
//
// A Session has a work directory, a process group, and one process that serves
// the coder/coder provider out of our own executable (see tfprovider). Every
// Terraform command of the job attaches to that process, so nothing is
// downloaded or hashed, and a version constraint or lock entry for coder/coder
// cannot get in the way. `terraform init` is left out when nothing needs it: no
// module, no backend, no provider but coder/coder and the built-in one. A build
// of such a template is two commands, plan and apply; resources and agents are
// read from the state file that the apply left, not by further commands. Only
// an import, which has no state, asks Terraform for the plan as JSON and for
// the graph.
//
// What an init installed is kept for the next job of the same requirements and
// the same tool, on whichever slot or daemon that shares the cache directory
// (see package warm): that job has no init either. Inits themselves take turns,
// because Terraform's cache of plug-ins is made for one at a time.
//
// # What it promises
//
//   - Errors of a template come back as text for its author, with file and line.
//   - Whatever happens, Apply gives the state: Terraform rewrites the file after
//     each resource, so it is true also after a kill.
//   - When the context ends the whole group is interrupted, as by Ctrl-C, and
//     killed when the grace is over: plug-ins and local-exec children too. When
//     the daemon itself dies, the provider process kills the group.
//   - Terraform sees the daemon's environment without any CODER_* variable of
//     the daemon, and the workspace's values in their place. (TF-01)
//
// # Reading
//
// A template is read without running anything for its variables, its workspace
// tags, and whether an init is needed (module.go, tags.go). What was planned or
// made is read by package graph. (TPL-04, TF-02 to TF-08)
package terraform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/filelock"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/cage"
	"github.com/seed-2a7f8fe7/coder/internal/warm"
)

// Config says where and how an Engine works.
type Config struct {
	// CacheDir holds work directories, provider plug-ins, modules and a
	// downloaded Terraform. It is made when missing. Engines, also of several
	// processes, may share it.
	CacheDir string
	// Binary is the terraform or tofu to run. Empty means the one in the cache
	// or on PATH with a supported version, else one is downloaded.
	Binary string
	// Provider is the executable that serves coder/coder when started under
	// the name tfprovider.Name. Empty means the running one.
	Provider string
	// Grace is how long an interrupted Terraform may take to end before it is
	// killed. 0 means 3 minutes.
	Grace time.Duration
	// StoreBytes bounds what is kept of inits and provider packages; what was
	// not used for the longest time goes first. 0 means 10 GiB.
	StoreBytes int64
	// Limits bound what the processes of one job may take, on Linux where the
	// daemon may make control groups; elsewhere the log says once that they
	// have no effect.
	Limits cage.Limits
	// Log is told about what concerns the daemon and not the template's author.
	Log *slog.Logger
}

// Engine runs jobs. It may be used by many goroutines; each session by one.
type Engine struct {
	config  Config
	store   *warm.Store
	limiter *cage.Limiter // nil for no limits

	mu     sync.Mutex
	binary *binary // nil until found
	swept  bool
}

var _ provisioner.Engine = (*Engine)(nil)

// New checks the configuration and makes the cache directory. Terraform is
// looked for by the first Open, or by Ensure.
func New(c Config) (*Engine, error) {
	if c.CacheDir == "" {
		return nil, errors.New("terraform: no cache directory given")
	}
	dir, err := filepath.Abs(c.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("cache directory: %w", err)
	}
	c.CacheDir = dir
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Grace <= 0 {
		c.Grace = 3 * time.Minute
	}
	if c.Provider == "" {
		if c.Provider, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the own executable, which serves the provider: %w", err)
		}
	}
	for _, d := range []string{"work", "plugins", "modules", "store"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("cache directory: %w", err)
		}
	}
	e := &Engine{config: c, store: newStore(c)}
	if c.Limits != (cage.Limits{}) {
		if e.limiter, err = cage.New(c.Limits); err != nil {
			c.Log.Warn("builds run without limits of their own: control groups cannot be used", "error", err)
		}
	}
	return e, nil
}

// Ensure finds or downloads Terraform and gives its path and version, so that a
// daemon can fail or tell early. Without it the first Open does the same.
func (e *Engine) Ensure(ctx context.Context) (path, version string, err error) {
	b, err := e.find(ctx)
	if err != nil {
		return "", "", err
	}
	return b.path, b.version, nil
}

// Tool gives the name and version of what jobs are run with, such as
// terraform/1.11.4 or tofu/1.9.0.
func (e *Engine) Tool(ctx context.Context) (string, error) {
	b, err := e.find(ctx)
	if err != nil {
		return "", err
	}
	return b.tool(), nil
}

// Open makes a work directory and starts the provider's process.
func (e *Engine) Open(ctx context.Context, config *provisioner.Config, log func(*provisioner.Log)) (provisioner.Session, error) {
	bin, err := e.find(ctx)
	if err != nil {
		return nil, err
	}
	e.sweep()
	dir, err := os.MkdirTemp(filepath.Join(e.config.CacheDir, "work"), "job-")
	if err != nil {
		return nil, fmt.Errorf("make work directory: %w", err)
	}
	s := &session{engine: e, binary: bin, config: config, dir: dir, log: log}
	if s.lock, err = filelock.Try(filepath.Join(dir, lockName)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock work directory: %w", err), os.RemoveAll(dir))
	}
	if err := os.MkdirAll(s.source(), 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make work directory: %w", err), s.Close())
	}
	if s.cage, err = e.limiter.Cage(); err != nil {
		return nil, errors.Join(fmt.Errorf("make the job's control group: %w", err), s.Close())
	}
	if s.provider, err = startProvider(e.config.Provider, dir, s.cage); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// lockName is the file whose lock says that a work directory is in use.
const lockName = "lock"

// sweep removes, once in the life of an engine, the work directories of
// daemons that died. They hold state, and state holds secrets.
func (e *Engine) sweep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.swept {
		return
	}
	e.swept = true
	dirs, _ := filepath.Glob(filepath.Join(e.config.CacheDir, "work", "job-*"))
	for _, dir := range dirs {
		// One that is just being made has no lock file yet.
		age := time.Minute
		if _, err := os.Stat(filepath.Join(dir, claimFile)); err == nil {
			age = keepLeftovers // a server may want its state yet
		}
		if info, err := os.Stat(dir); err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		lock, err := filelock.Try(filepath.Join(dir, lockName))
		if err != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			e.config.Log.Warn("remove the work directory of a dead job", "dir", dir, "error", err)
		}
		lock.Close()
	}
}
