package inside

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

	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// whole runs args by the whole of coder, of the server's version, which is
// kept in the user's cache directory and fetched when the server has another.
func whole(ctx context.Context, a *app.Run, args []string) error {
	raw := a.Env["CODER_AGENT_URL"]
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return app.Failure("this is the part of coder that a workspace needs, which has no %q, and CODER_AGENT_URL does not say where the whole is", firstWord(args))
	}
	dir, err := cacheDir(a)
	if err != nil {
		return err
	}
	file, err := wholeFile(ctx, client.New(u), a.Stderr, dir)
	if err != nil {
		return fmt.Errorf("coder %s needs the whole of coder, which could not be fetched from %s: %w", firstWord(args), u.Redacted(), err)
	}
	return become(file, args, a)
}

func cacheDir(a *app.Run) (string, error) {
	base := a.Env["XDG_CACHE_HOME"]
	if base == "" {
		base = filepath.Join(a.Home(), ".cache")
	}
	dir := filepath.Join(base, "coder", "whole")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a directory for the whole of coder: %w", err)
	}
	return dir, nil
}

// wholeFile gives the file in dir that is the server's coder for this
// platform, fetching it when it is not there. When the server cannot be asked,
// the one that is there will do.
func wholeFile(ctx context.Context, c *client.Client, say io.Writer, dir string) (string, error) {
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
	if kept != "" && (errors.Is(err, client.ErrUnchanged) || err != nil && ctx.Err() == nil) {
		return kept, nil
	}
	if err != nil {
		return "", err
	}
	defer body.Close()
	fmt.Fprintln(say, "Fetching the whole of coder from the server, once for this version ...")
	file := filepath.Join(dir, prefix+sum)
	if err := save(file, body, sum); err != nil {
		return "", err
	}
	if kept != "" {
		os.Remove(kept) // who still runs it keeps it
	}
	return file, nil
}

// save writes an executable file whole or not at all.
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
		return errors.New("what came is not what the server announced; try again")
	}
	if err := errors.Join(tmp.Chmod(0o700), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
