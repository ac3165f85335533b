// Package terraform is the engine that runs Terraform or OpenTofu for a provisioner
// daemon. (TPL-04, TF-01 to TF-08)
//
// A Session has a work directory, a process group, and one process that serves the
// coder/coder provider from this executable (see tfprovider). Every Terraform command of
// the job attaches to that process. So the provider is neither downloaded nor hashed, and
// a version constraint or lock entry for coder/coder has no effect.
//
// `terraform init` is skipped if nothing needs it: no modules, no backend, no providers
// except coder/coder and the built-in one. A build then runs two commands, plan and apply.
// Only an import, which has no state, also requests the plan as JSON and the graph. The
// result of an init is cached for later jobs with the same requirements (see package
// initcache). Inits run one at a time, as Terraform's plug-in cache requires.
//
// Errors of a template are texts for its author, with file and line. Apply returns the
// state in every case: Terraform rewrites the file after each resource. When the context
// ends, the whole group is interrupted as by Ctrl-C, and killed after the grace period. If
// the daemon dies, the provider process kills the group. Terraform sees the daemon's
// environment with the workspace's CODER_* variables in place of the daemon's.
//
// Variables, workspace tags, and whether an init is needed are read from the source without
// running Terraform (module.go, tags.go). Package graph reads plans and states.
package terraform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/filelock"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/cage"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/initcache"
)

// Config configures an Engine.
type Config struct {
	// CacheDir contains work directories, provider plug-ins, modules and a
	// downloaded Terraform. It is created if missing. Engines of several
	// processes may share it.
	CacheDir string
	// Binary is the terraform or tofu to run; "tofu" is downloaded if it is not on
	// PATH. Empty means a supported version in the cache or on PATH, or else a
	// download of Terraform.
	Binary string
	// Provider is the executable that serves coder/coder when started as
	// tfprovider.Name. Empty means this executable.
	Provider string
	// Grace is how long an interrupted Terraform may run before it is killed. 0
	// means 3 minutes.
	Grace time.Duration
	// StoreBytes bounds the cache of inits and provider packages; the least
	// recently used are removed first. 0 means 10 GiB.
	StoreBytes int64
	// Limits bound the resources of one job, on Linux if the daemon may create
	// control groups. Otherwise a warning is logged once.
	Limits cage.Limits
	// Mirror passes requests to the provider mirror of the server: / for its status,
	// /providers/<hostname>/... for packages and /releases/... for programs; nil for none.
	Mirror http.Handler
	// ReleaseKey is the armored key that signs the downloaded program. Empty means that of its authors.
	ReleaseKey string
	// Log receives messages for the operator of the daemon, not for template
	// authors.
	Log *slog.Logger
}

// Engine runs jobs. It is safe for concurrent use; a session is not.
type Engine struct {
	config  Config
	store   *initcache.Store
	limiter *cage.Limiter // nil for no limits

	mu     sync.Mutex
	binary *binary // nil until found
	swept  bool
}

var _ provisioner.Engine = (*Engine)(nil)

// New checks the configuration and creates the cache directory. The first Open,
// or Ensure, searches for Terraform.
func New(c Config) (*Engine, error) {
	if c.CacheDir == "" {
		return nil, errors.New("terraform: the cache directory is missing")
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
	e := &Engine{config: c, store: newStore(c)}
	if err := e.makeDirectories(); err != nil {
		return nil, err
	}
	if c.Limits != (cage.Limits{}) {
		if e.limiter, err = cage.New(c.Limits); err != nil {
			c.Log.Warn("builds run without resource limits because control groups are not available", "error", err)
		}
	}
	return e, nil
}

// makeDirectories creates missing parts of the cache directory.
func (e *Engine) makeDirectories() error {
	for _, d := range []string{"work", "plugins", "modules", "store"} {
		if err := os.MkdirAll(filepath.Join(e.config.CacheDir, d), 0o700); err != nil {
			return fmt.Errorf("cache directory: %w", err)
		}
	}
	return nil
}

// Ensure finds or downloads Terraform and returns its path and version, so that
// a daemon can fail early. Otherwise the first Open does the same.
func (e *Engine) Ensure(ctx context.Context) (path, version string, err error) {
	b, err := e.find(ctx)
	if err != nil {
		return "", "", err
	}
	return b.path, b.version, nil
}

// Tool returns the name and version of the program that runs jobs, such as
// terraform/1.16.0 or tofu/1.12.6.
func (e *Engine) Tool(ctx context.Context) (string, error) {
	b, err := e.find(ctx)
	if err != nil {
		return "", err
	}
	return b.tool(), nil
}

// InstalledTool is Tool without a download: it returns "" if no suitable
// program is installed.
func (e *Engine) InstalledTool(ctx context.Context) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.binary, error(nil)
	if b == nil {
		b, _, err = e.search(ctx)
	}
	if err != nil || b == nil {
		return "", err
	}
	return b.tool(), nil
}

// Open creates a work directory and starts the provider's process.
func (e *Engine) Open(ctx context.Context, config *provisioner.Config, log func(*provisioner.Log)) (provisioner.Session, error) {
	bin, err := e.find(ctx)
	if err != nil {
		return nil, err
	}
	// They may have been removed since the last job.
	if err := e.makeDirectories(); err != nil {
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

// lockName is the file whose lock marks a work directory as in use.
const lockName = "lock"

// sweep removes the work directories of daemons that died, once per engine.
// They contain state, which contains secrets.
func (e *Engine) sweep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.swept {
		return
	}
	e.swept = true
	dirs, _ := filepath.Glob(filepath.Join(e.config.CacheDir, "work", "job-*"))
	for _, dir := range dirs {
		// A directory that is being created has no lock file yet.
		age := time.Minute
		for _, name := range []string{claimFile, staleFile} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				age = keepLeftovers // a server or an operator may still need its state
			}
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
