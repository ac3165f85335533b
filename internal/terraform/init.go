package terraform

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/filelock"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/environ"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/initcache"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/netmirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// maxModules is the maximum size of the module files that are sent to the
// server.
const maxModules = 20 << 20

// overrideFile keeps the state in the work directory whatever backend the
// template configures.
const overrideFile = "zz_coder_override.tf"

// Init unpacks the source and installs what it requires.
func (s *session) Init(ctx context.Context, req *provisioner.InitRequest) (*provisioner.InitComplete, error) {
	done := &provisioner.InitComplete{}
	err := s.prepare(ctx, req, done)
	done.Error, err = reason(err)
	return done, err
}

func (s *session) prepare(ctx context.Context, req *provisioner.InitRequest, done *provisioner.InitComplete) error {
	if err := archive.Unpack(req.GetTemplateSourceArchive(), s.source(), archive.Modules()); err != nil {
		return &templateError{err.Error()}
	}
	m, err := readModule(s.source())
	if err != nil {
		return err
	}
	if s.module = m; m.problem != "" {
		return &templateError{m.problem}
	}
	if m.why == "" {
		return nil
	}
	if m.backend {
		s.logf(provisioner.LogLevel_WARN, "The template's backend is ignored: the server stores the state of workspaces")
		if err := os.WriteFile(s.file(overrideFile), []byte("terraform {\n  backend \"local\" {}\n}\n"), 0o600); err != nil {
			return fmt.Errorf("write backend override: %w", err)
		}
	}
	if hash := req.GetInitialModuleTarHash(); len(hash) > 0 {
		if err := s.restoreModules(hash); err != nil {
			return err
		}
	}
	return s.install(ctx, req, done)
}

// install provides the result of `terraform init`, from the cache or by running
// it.
func (s *session) install(ctx context.Context, req *provisioner.InitRequest, done *provisioner.InitComplete) error {
	lock, err := os.ReadFile(s.file(lockHCL))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read lock file: %w", err)
	}
	key, err := s.initKey(lock, s.modules)
	if err != nil {
		return err
	}
	if ok, err := s.restoreInit(ctx, key, req, done); ok || err != nil {
		return err
	}
	unlock, err := filelock.Wait(ctx, filepath.Join(s.engine.config.CacheDir, "plugins.lock"))
	if err != nil {
		return &templateError{"terraform init was canceled"}
	}
	defer unlock()
	// Another job may have run it while this one waited.
	if ok, err := s.restoreInit(ctx, key, req, done); ok || err != nil {
		return err
	}
	if err := s.engine.store.Remove(ctx, key); err != nil {
		return fmt.Errorf("remove the files of an earlier init: %w", err)
	}
	s.logf(provisioner.LogLevel_DEBUG, "terraform init: %s", s.module.why)
	if done.Timings, err = s.runInit(ctx); err != nil {
		return err
	}
	if err := s.keepModules(req, done); err != nil {
		return err
	}
	s.keepInit(ctx, lock, done)
	return nil
}

// runInit runs `terraform init` with the provider mirror of the server, if it has one. The error
// contains the mirror's, which Terraform does not show.
func (s *session) runInit(ctx context.Context) ([]*provisioner.Timing, error) {
	m, unused, err := netmirror.Start(ctx, s.engine.config.Mirror, s.dir, s.engine.baseEnv())
	if err != nil {
		return nil, err
	}
	if unused != "" {
		s.logf(provisioner.LogLevel_INFO, "The mirror of the server is not used: %s.", unused)
	}
	s.extra = m.Env()
	defer func() { s.extra = nil }()
	timings, _, err := s.terraform(ctx, "init", s.initArgs()...)
	refusal := m.Stop()
	if e, ok := errors.AsType[*templateError](err); ok && refusal != "" && ctx.Err() == nil {
		return timings, &templateError{e.text + "\nThe provider mirror of the server: " + refusal}
	}
	return timings, err
}

// initArgs returns the arguments of `terraform init`, whose output is JSON from
// 1.9 on.
func (s *session) initArgs() []string {
	args := []string{"init", "-no-color", "-input=false"}
	if !s.binary.isTofu() && semver.Compare("v"+s.binary.version, "v1.9.0") >= 0 {
		args = append(args, "-json")
	}
	return args
}

const modulesDir = ".terraform/modules"

// keepModules lists the modules and packs the files of remote ones for the
// server and for the next job.
func (s *session) keepModules(req *provisioner.InitRequest, done *provisioner.InitComplete) error {
	text, err := os.ReadFile(s.file(sourcetree.ModulesFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read terraform's list of modules: %w", err)
	}
	modules, err := sourcetree.ParseModules(text)
	if err != nil {
		return err
	}
	remote := false
	for _, m := range modules {
		if m.Key == "" {
			continue
		}
		remote = remote || strings.HasPrefix(m.Dir, modulesDir)
		done.Modules = append(done.Modules, &provisioner.Module{Source: m.Source, Version: m.Version, Key: m.Key, Dir: m.Dir})
	}
	if !remote {
		return nil
	}
	packed, err := packModules(s.source())
	if errors.Is(err, errTooLarge) {
		s.logf(provisioner.LogLevel_WARN, "The modules are larger than %s in total and are not stored with the version", archive.Size(maxModules))
		return nil
	}
	if err != nil {
		return fmt.Errorf("pack modules: %w", err)
	}
	hash := sha256.Sum256(packed)
	done.ModuleFilesHash = hash[:]
	if !req.GetOmitModuleFiles() && !bytes.Equal(hash[:], req.GetInitialModuleTarHash()) {
		done.ModuleFiles = packed
	}
	name := s.engine.modulesFile(hash[:])
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := initcache.WriteFile(name, packed); err != nil {
		return fmt.Errorf("keep modules: %w", err)
	}
	return nil
}

func (e *Engine) modulesFile(hash []byte) string {
	return filepath.Join(e.config.CacheDir, "modules", hex.EncodeToString(hash)+".tar")
}

// restoreModules restores the modules of an earlier job, so that Terraform does
// not download them again.
func (s *session) restoreModules(hash []byte) error {
	packed, err := os.ReadFile(s.engine.modulesFile(hash))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read kept modules: %w", err)
	}
	if sum := sha256.Sum256(packed); !bytes.Equal(sum[:], hash) {
		return os.Remove(s.engine.modulesFile(hash)) // damaged: download again
	}
	now := time.Now() // the store removes the least recently used files
	if err := os.Chtimes(s.engine.modulesFile(hash), now, now); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("mark kept modules as used: %w", err)
	}
	return s.UseModules(packed)
}

// HasModules reports whether modules of this hash are available, so that
// InitialModuleTarHash is sufficient.
func (s *session) HasModules(hash []byte) bool {
	_, err := os.Stat(s.engine.modulesFile(hash))
	return err == nil
}

// UseModules passes the session the module files of an earlier Init. A daemon
// that received them from the server calls it before Init.
func (s *session) UseModules(packed []byte) error {
	if err := archive.Unpack(packed, s.source(), archive.Modules()); err != nil {
		return fmt.Errorf("unpack kept modules: %w", err)
	}
	sum := sha256.Sum256(packed)
	s.modules = sum[:]
	return nil
}

var errTooLarge = errors.New("too large")

// packModules returns a tar of the module files below dir. The same files
// produce the same bytes.
func packModules(dir string) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	err := filepath.WalkDir(filepath.Join(dir, modulesDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if buf.Len()+len(content) > maxModules {
			return errTooLarge
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return buf.Bytes(), w.Close()
}

// baseEnv is the part of the daemon's environment that Terraform may see.
func (e *Engine) baseEnv() []string { return environ.Base(os.Environ(), e.config.CacheDir) }
