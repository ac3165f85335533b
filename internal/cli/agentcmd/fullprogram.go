package agentcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// runFullProgram runs args with the full coder program of the server's version. The
// program is cached in the user's cache directory and downloaded when the
// version changes.
func runFullProgram(ctx context.Context, a *command.Run, args []string) error {
	raw := a.Env["CODER_AGENT_URL"]
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return command.Failure("this slim build has no command %q, and CODER_AGENT_URL is not set to download the full program", firstWord(args))
	}
	dir, err := cacheDir(a)
	if err != nil {
		return err
	}
	file, err := fetchFullProgram(ctx, codersdk.New(u), a.Stderr, dir)
	if err != nil {
		return fmt.Errorf("download the full program for coder %s from %s: %w", firstWord(args), u.Redacted(), err)
	}
	return become(file, args, a)
}

func cacheDir(a *command.Run) (string, error) {
	base := a.Env["XDG_CACHE_HOME"]
	if base == "" {
		base = filepath.Join(a.Home(), ".cache")
	}
	dir := filepath.Join(base, "coder", "whole")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create a directory for the full program: %w", err)
	}
	return dir, nil
}

// fetchFullProgram returns the path in dir of the server's coder program for this
// platform. It downloads the program when it is missing or outdated. When the
// server is unreachable, the cached program is used.
func fetchFullProgram(ctx context.Context, c *codersdk.Client, say io.Writer, dir string) (string, error) {
	const prefix = "coder-"
	arch := runtime.GOARCH
	if arch == "arm" {
		arch = "armv7"
	}
	have, kept := "", ""
	files, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if sum := strings.TrimPrefix(filepath.Base(f), prefix); len(sum) == 64 {
			have, kept = sum, f
		}
	}
	body, sum, err := c.Binary(ctx, runtime.GOOS, arch, have)
	if kept != "" && (errors.Is(err, codersdk.ErrUnchanged) || err != nil && ctx.Err() == nil) {
		return kept, nil
	}
	if err != nil {
		return "", err
	}
	defer body.Close()
	fmt.Fprintln(say, "Downloading the full coder program, once for this version ...")
	file := filepath.Join(dir, prefix+sum)
	if err := save(file, body, sum); err != nil {
		return "", err
	}
	if kept != "" {
		os.Remove(kept) // running processes keep the open file
	}
	return file, nil
}

// save atomically writes an executable file and verifies its checksum.
func save(file string, body io.Reader, sum string) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(tmp, h), body); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return errors.New("the checksum of the download does not match; try again")
	}
	if err := errors.Join(tmp.Chmod(0o700), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
