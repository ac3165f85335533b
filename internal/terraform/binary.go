package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/seed-2a7f8fe7/coder/internal/filelock"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/environ"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/install"
)

// Supported versions: from the first one with JSON output of all commands to
// the end of this major version.
const (
	minVersion   = "v1.1.0"
	belowVersion = "v2.0.0"
)

// WantedVersion and WantedTofu are the versions of Terraform and OpenTofu that are downloaded if none is installed.
const (
	WantedVersion = "1.16.0"
	WantedTofu    = "1.12.6"
)

// First and last minor versions that `make test-terraform` tests. Others run
// with a warning.
const (
	testedTerraformFirst = "v1.5"
	testedTerraformLast  = "v1.16"
	testedTofuFirst      = "v1.10"
	testedTofuLast       = "v1.12"
)

// binary is a Terraform or OpenTofu executable of known version.
type binary struct {
	path    string
	version string // without v
	modTime time.Time
	size    int64
}

// isTofu reports whether the program is OpenTofu, which is known only by its
// file name.
func (b *binary) isTofu() bool { return strings.Contains(filepath.Base(b.path), "tofu") }

// untested returns a warning for operators if the project does not test the
// program's minor version, or "".
func (b *binary) untested() string {
	name, first, last := "Terraform", testedTerraformFirst, testedTerraformLast
	if b.isTofu() {
		name, first, last = "OpenTofu", testedTofuFirst, testedTofuLast
	}
	minor := semver.MajorMinor("v" + b.version)
	if semver.Compare(minor, first) >= 0 && semver.Compare(minor, last) <= 0 {
		return ""
	}
	return fmt.Sprintf("%s %s is not tested with this version of coder; %s to %s are", name, b.version,
		strings.TrimPrefix(first, "v"), strings.TrimPrefix(last, "v"))
}

func (b *binary) tool() string {
	if b.isTofu() {
		return "tofu/" + b.version
	}
	return "terraform/" + b.version
}

// find returns the program to run, and searches again only after it has
// changed.
func (e *Engine) find(ctx context.Context) (*binary, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.binary; b != nil {
		if info, err := os.Stat(b.path); err == nil && info.ModTime().Equal(b.modTime) && info.Size() == b.size {
			return b, nil
		}
		e.binary = nil
	}
	b, unfit, err := e.search(ctx)
	if err == nil && b == nil {
		b, err = e.download(ctx, unfit)
	}
	if err != nil {
		return nil, err
	}
	e.config.Log.Info("found terraform", "path", b.path, "version", b.version)
	if warning := b.untested(); warning != "" {
		e.config.Log.Warn(warning, "path", b.path)
	}
	e.binary = b
	return b, nil
}

// wantsTofu reports whether the engine downloads OpenTofu instead of Terraform.
func (e *Engine) wantsTofu() bool { return e.config.Binary == "tofu" }

// wanted returns the release that the engine downloads, and where its program is afterwards.
func (e *Engine) wanted() (r install.Release, path string) {
	r = install.Terraform(WantedVersion)
	if e.wantsTofu() {
		r = install.OpenTofu(WantedTofu)
	}
	return r, filepath.Join(e.config.CacheDir, r.Name()+"-"+r.Version, r.File())
}

// search returns the configured program, or the first suitable one on PATH or
// in the cache. Without one it returns nil and the reasons.
func (e *Engine) search(ctx context.Context) (fits *binary, unfit []error, err error) {
	_, downloaded := e.wanted()
	if e.config.Binary != "" {
		path, err := exec.LookPath(e.config.Binary)
		if err != nil && e.wantsTofu() {
			if path, err = exec.LookPath(downloaded); err != nil {
				return nil, nil, nil
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("the configured terraform cannot be used: %w", err)
		}
		fits, err = inspect(ctx, path)
		return fits, nil, err
	}
	for _, name := range []string{"terraform", "tofu", downloaded} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		b, err := inspect(ctx, path)
		if err == nil {
			return b, nil, nil
		}
		e.config.Log.Warn("terraform is not suitable", "path", path, "error", err)
		unfit = append(unfit, err)
	}
	return nil, unfit, nil
}

// download installs the wanted program in the cache; unfit are the reasons why installed programs cannot be used.
func (e *Engine) download(ctx context.Context, unfit []error) (*binary, error) {
	release, path := e.wanted()
	err := e.install(ctx, release, path)
	switch {
	case err != nil && e.wantsTofu():
		return nil, fmt.Errorf("tofu is not on PATH, and downloading %s failed; install it, or configure its path: %w", release.Version, err)
	case err != nil:
		return nil, errors.Join(
			append(unfit, fmt.Errorf("no terraform between %s and %s is on PATH, and downloading %s failed; install terraform or tofu, or configure its path: %w",
				minVersion, belowVersion, release.Version, err))...)
	}
	return inspect(ctx, path)
}

// install downloads a program to path.
func (e *Engine) install(ctx context.Context, release install.Release, path string) error {
	unlock, err := filelock.Wait(ctx, filepath.Join(e.config.CacheDir, "install.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return nil // another daemon installed it first
	}
	e.config.Log.Info("downloading "+release.Name(), "version", release.Version)
	dir := filepath.Dir(path)
	partial := dir + ".partial"
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(partial, 0o700)); err != nil {
		return err
	}
	if err := (install.Source{Mirror: e.config.Mirror, Key: e.config.ReleaseKey}).Install(ctx, release, partial); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	return os.Rename(partial, dir)
}

// inspect returns a program and its version if it is supported.
func inspect(ctx context.Context, path string) (*binary, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "-json")
	cmd.Env = append(environ.Daemon(os.Environ()), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s version: %w", path, err)
	}
	var v struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &v); err != nil || v.Version == "" {
		return nil, fmt.Errorf("%s does not print its version as terraform does", path)
	}
	// A pre-release of a supported version is supported.
	release, _, _ := strings.Cut("v"+v.Version, "-")
	if semver.Compare(release, minVersion) < 0 || semver.Compare(release, belowVersion) >= 0 {
		return nil, fmt.Errorf("%s has version %s; a version from %s and below %s is required", path, v.Version, minVersion, belowVersion)
	}
	return &binary{path: path, version: v.Version, modTime: info.ModTime(), size: info.Size()}, nil
}
