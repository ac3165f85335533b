package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/hc-install/product"
	"github.com/hashicorp/hc-install/releases"
	"golang.org/x/mod/semver"

	"github.com/seed-2a7f8fe7/coder/internal/filelock"
)

// The versions that work: from the first with JSON output of all commands to
// the last of this major version. Wanted is downloaded when none is there.
const (
	minVersion    = "v1.1.0"
	belowVersion  = "v2.0.0"
	wantedVersion = "1.11.4"
)

// binary is a Terraform or OpenTofu that was asked for its version.
type binary struct {
	path    string
	version string // without v
	modTime time.Time
	size    int64
}

// isTofu says whether the program is OpenTofu, which names itself so on its
// file alone.
func (b *binary) isTofu() bool { return strings.Contains(filepath.Base(b.path), "tofu") }

func (b *binary) tool() string {
	if b.isTofu() {
		return "tofu/" + b.version
	}
	return "terraform/" + b.version
}

// find gives the program to run, looking again only when it has changed.
func (e *Engine) find(ctx context.Context) (*binary, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.binary; b != nil {
		if info, err := os.Stat(b.path); err == nil && info.ModTime().Equal(b.modTime) && info.Size() == b.size {
			return b, nil
		}
		e.binary = nil
	}
	b, err := e.look(ctx)
	if err != nil {
		return nil, err
	}
	e.config.Log.Info("found terraform", "path", b.path, "version", b.version)
	e.binary = b
	return b, nil
}

func (e *Engine) look(ctx context.Context) (*binary, error) {
	if e.config.Binary != "" {
		path, err := exec.LookPath(e.config.Binary)
		if err != nil {
			return nil, fmt.Errorf("the given terraform cannot be run: %w", err)
		}
		return inspect(ctx, path)
	}
	own := filepath.Join(e.config.CacheDir, "terraform-"+wantedVersion)
	var unfit []error
	for _, name := range []string{"terraform", "tofu", filepath.Join(own, exe("terraform"))} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		b, err := inspect(ctx, path)
		if err == nil {
			return b, nil
		}
		e.config.Log.Warn("terraform does not fit", "path", path, "error", err)
		unfit = append(unfit, err)
	}
	path, err := e.install(ctx, own)
	if err != nil {
		return nil, errors.Join(append(unfit, fmt.Errorf("no terraform between %s and %s is on PATH, and downloading %s failed; install terraform or tofu, or give its path: %w",
			minVersion, belowVersion, wantedVersion, err))...)
	}
	return inspect(ctx, path)
}

func exe(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// install downloads Terraform into dir, checking HashiCorp's signature.
func (e *Engine) install(ctx context.Context, dir string) (string, error) {
	unlock, err := filelock.Wait(ctx, filepath.Join(e.config.CacheDir, "install.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, exe("terraform"))
	if _, err := os.Stat(path); err == nil {
		return path, nil // another daemon was faster
	}
	e.config.Log.Info("downloading terraform", "version", wantedVersion)
	partial := dir + ".partial"
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(partial, 0o700)); err != nil {
		return "", err
	}
	v := &releases.ExactVersion{Product: product.Terraform, Version: version.Must(version.NewVersion(wantedVersion)), InstallDir: partial}
	if _, err := v.Install(ctx); err != nil {
		return "", errors.Join(err, os.RemoveAll(partial))
	}
	return path, os.Rename(partial, dir)
}

// inspect asks a program for its version and judges it.
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
	cmd.Env = append(daemonEnv(os.Environ()), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s version: %w", path, err)
	}
	var v struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &v); err != nil || v.Version == "" {
		return nil, fmt.Errorf("%s does not tell its version as terraform does", path)
	}
	// A pre-release of a version that fits is as good as the version.
	release, _, _ := strings.Cut("v"+v.Version, "-")
	if semver.Compare(release, minVersion) < 0 || semver.Compare(release, belowVersion) >= 0 {
		return nil, fmt.Errorf("%s has version %s, but from %s and below %s is needed", path, v.Version, minVersion, belowVersion)
	}
	return &binary{path: path, version: v.Version, modTime: info.ModTime(), size: info.Size()}, nil
}
