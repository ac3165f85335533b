package terraform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/initcache"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/require"
)

const lockHCL = ".terraform.lock.hcl"

// warmNote is the engine's note with a cached init.
type warmNote struct {
	Modules []*provisioner.Module `json:"modules,omitempty"`
	// Pinned reports that the template's lock file names every provider and
	// that there are no remote modules, so that an init would install the same
	// again.
	Pinned bool `json:"pinned,omitempty"`
}

// newStore returns the cache of init results, and of the provider packages that
// they link to: plugins/host/namespace/type/version/platform.
func newStore(c Config) *initcache.Store {
	return &initcache.Store{
		Dir: filepath.Join(c.CacheDir, "store"), Packages: filepath.Join(c.CacheDir, "plugins"), PackageDepth: 5,
		Files: filepath.Join(c.CacheDir, "modules"), Limit: c.StoreBytes, Log: c.Log,
		InUse: func() []string {
			trees, _ := filepath.Glob(filepath.Join(c.CacheDir, "work", "job-*", "source", ".terraform", "providers"))
			return trees
		},
	}
}

// restoreInit restores the result of an earlier init with the same
// requirements. An import must find current versions, so it uses pinned results
// only.
func (s *session) restoreInit(ctx context.Context, key string, req *provisioner.InitRequest, done *provisioner.InitComplete) (bool, error) {
	var note warmNote
	if json.Unmarshal([]byte(s.engine.store.Note(key)), &note) != nil || !req.GetOmitModuleFiles() && !note.Pinned {
		return false, nil
	}
	ok, err := s.engine.store.Restore(ctx, key, s.source())
	if ctx.Err() != nil {
		return false, &templateError{"terraform init was canceled"}
	}
	if err != nil || !ok {
		return false, errors.Join(err, os.RemoveAll(s.file(".terraform")))
	}
	done.Modules, done.ModuleFilesHash = note.Modules, s.modules
	s.logf(provisioner.LogLevel_DEBUG, "terraform init is not needed: the result of an earlier job is reused")
	return true, nil
}

// keepInit stores the result of an init in the cache. A failure does not fail
// the job.
func (s *session) keepInit(ctx context.Context, lock []byte, done *provisioner.InitComplete) {
	remote := slices.ContainsFunc(done.Modules, func(m *provisioner.Module) bool { return strings.HasPrefix(m.GetDir(), modulesDir) })
	if remote && len(done.ModuleFilesHash) == 0 {
		return // too large to cache: each init downloads them
	}
	now, _ := os.ReadFile(s.file(lockHCL))
	note, err := json.Marshal(warmNote{Modules: done.Modules, Pinned: !remote && bytes.Equal(lock, now)})
	var key string
	if err == nil {
		// The key contains the lock file of the template.
		key, err = s.initKey(lock, done.ModuleFilesHash)
	}
	if err == nil {
		skip := func(name string) bool { return name == ".git" }
		err = s.engine.store.Fill(ctx, key, s.source(), []string{".terraform", lockHCL}, skip, string(note))
	}
	if err != nil && ctx.Err() == nil {
		s.engine.config.Log.Warn("caching the result of an init failed", "error", err)
	}
}

// initKey returns a hash of everything that an init depends on: the tool, its
// settings, the requirements of the source, its lock file, and the files of
// remote modules.
func (s *session) initKey(lock, modules []byte) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "1 %s %s/%s %x\n%q\n", s.binary.tool(), runtime.GOOS, runtime.GOARCH, modules, lock)
	for _, kv := range s.engine.baseEnv() {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "TF_") {
			continue
		}
		fmt.Fprintf(h, "%q\n", kv)
		if name == "TF_CLI_CONFIG_FILE" {
			content, _ := os.ReadFile(value)
			fmt.Fprintf(h, "%q\n", content)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		content, _ := os.ReadFile(filepath.Join(home, ".terraformrc"))
		fmt.Fprintf(h, "%q\n", content)
	}
	if err := require.WriteDir(h, s.source()); err != nil {
		return "", fmt.Errorf("read what the template requires: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
