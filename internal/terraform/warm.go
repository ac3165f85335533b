package terraform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form"
	"github.com/seed-2a7f8fe7/coder/internal/warm"
)

const lockHCL = ".terraform.lock.hcl"

// warmNote is what the engine keeps with the result of an init.
type warmNote struct {
	Modules []*provisioner.Module `json:"modules,omitempty"`
	// Pinned says that the template's own lock file names every provider and
	// that no module came from elsewhere: an init would do the same again.
	Pinned bool `json:"pinned,omitempty"`
}

// newStore is where the engine keeps results of init, with the packages of
// providers that they lead to: plugins/host/namespace/type/version/platform.
func newStore(c Config) *warm.Store {
	return &warm.Store{
		Dir: filepath.Join(c.CacheDir, "store"), Packages: filepath.Join(c.CacheDir, "plugins"), PackageDepth: 5,
		Files: filepath.Join(c.CacheDir, "modules"), Limit: c.StoreBytes, Log: c.Log,
		InUse: func() []string {
			trees, _ := filepath.Glob(filepath.Join(c.CacheDir, "work", "job-*", "source", ".terraform", "providers"))
			return trees
		},
	}
}

// restoreInit puts the result of an earlier init of the same requirements into
// place. An import, whose work it is to find out what there is now, only takes
// what is pinned.
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
	s.say(provisioner.LogLevel_DEBUG, "terraform init is not needed: its result of an earlier job is used again")
	return true, nil
}

// keepInit keeps the result of an init. That it cannot is no reason for the
// job to fail.
func (s *session) keepInit(ctx context.Context, lock []byte, done *provisioner.InitComplete) {
	remote := slices.ContainsFunc(done.Modules, func(m *provisioner.Module) bool { return strings.HasPrefix(m.GetDir(), modulesDir) })
	if remote && len(done.ModuleFilesHash) == 0 {
		return // too large to be prepared: each init fetches them
	}
	now, _ := os.ReadFile(s.file(lockHCL))
	note, err := json.Marshal(warmNote{Modules: done.Modules, Pinned: !remote && bytes.Equal(lock, now)})
	var key string
	if err == nil {
		// The lock file of the key is that of the template.
		key, err = s.initKey(lock, done.ModuleFilesHash)
	}
	if err == nil {
		skip := func(name string) bool { return name == ".git" }
		err = s.engine.store.Fill(ctx, key, s.source(), []string{".terraform", lockHCL}, skip, string(note))
	}
	if err != nil && ctx.Err() == nil {
		s.engine.config.Log.Warn("the result of an init is not kept", "error", err)
	}
}

// initKey stands for everything that an init depends on: the tool, its
// settings, what the source requires, its lock file, and the files of modules
// from elsewhere.
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
	err := filepath.WalkDir(s.source(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".terraform" {
			return filepath.SkipDir
		}
		if d.IsDir() || !configuration(d.Name()) {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.source(), path)
		fmt.Fprintf(h, "%q\n", rel)
		require(h, d.Name(), src)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read what the template requires: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// configuration says whether a tool reads files of this name.
func configuration(name string) bool {
	return slices.ContainsFunc([]string{".tf", ".tofu", ".tf.json", ".tofu.json", ".tftest.hcl", ".tfvars"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

// require writes what a file requires of an init, in a form that stays the
// same when the rest of the file changes. A file, or a block, that is not
// understood is written whole.
func require(h hash.Hash, name string, src []byte) {
	whole := func() { fmt.Fprintf(h, "%q\n", src) }
	if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".tfvars") || len(src) > maxSource || form.TooDeep(src) {
		whole()
		return
	}
	file, diags := hclparse.NewParser().ParseHCL(src, name)
	if diags.HasErrors() {
		whole()
		return
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		whole()
		return
	}
	var lines []string
	for _, b := range body.Blocks {
		line, ok := requirement(b, src)
		if !ok {
			whole()
			return
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	fmt.Fprintf(h, "%q\n", slices.Compact(lines))
}

// requirement gives what one block requires, "" when nothing; false when only
// the whole file tells.
func requirement(b *hclsyntax.Block, src []byte) (string, bool) {
	attribute := func(name string) string {
		if a, ok := b.Body.Attributes[name]; ok {
			return string(hcl.RangeBetween(a.Expr.Range(), a.Expr.Range()).SliceBytes(src))
		}
		return ""
	}
	switch b.Type {
	case "variable", "locals", "output":
		return "", true
	case "resource", "data", "ephemeral":
		if len(b.Labels) != 2 {
			return "", false
		}
		provider, _, _ := strings.Cut(b.Labels[0], "_")
		return fmt.Sprintf("provider of %q, else %q", attribute("provider"), provider), true
	case "module":
		for _, name := range []string{"source", "version"} {
			// OpenTofu lets them depend on variables and locals.
			if a, ok := b.Body.Attributes[name]; ok && len(a.Expr.Variables()) > 0 {
				return "", false
			}
		}
		return fmt.Sprintf("module %q %q %q", b.Labels, attribute("source"), attribute("version")), true
	}
	return string(b.Range().SliceBytes(src)), true
}
