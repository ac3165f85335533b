// Package files adds files of a workspace to a support bundle.
package files

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/internal/supportbundle"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Limits of the workspace files in a bundle.
const (
	MaxPatterns   = 32
	maxExtraFiles = 10_000
	maxExtraBytes = 100 << 20 // of all files together
	maxFileBytes  = 10 << 20  // of one file; its end is kept
)

// extraFile is a row of agent/extra_files/manifest.json.
type extraFile struct {
	Path      string `json:"path"` // path in the workspace
	Size      int64  `json:"size"`
	Collected int    `json:"collected"` // bytes in the bundle; only the end of a longer file
}

// extras collects the files that --workspace-file names.
type extras struct {
	bundle *supportbundle.Bundle
	files  *sftp.Client
	rows   []extraFile
	errors []string
	seen   map[string]bool
	total  int
}

// Read reads the files of the workspace that match the patterns over SFTP,
// with the permissions of the agent.
func Read(ctx context.Context, bundle *supportbundle.Bundle, conn *tunnel.Conn, patterns []string) error {
	stream, err := conn.Open(ctx, tunnel.KindSSH, "")
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // everything was read
	defer context.AfterFunc(ctx, func() { stream.Close() })()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(conn.Grant().SSHHostKey))
	if err != nil {
		return fmt.Errorf("the server returned no host key for the workspace: %w", err)
	}
	c, channels, requests, err := ssh.NewClientConn(stream, "workspace", &ssh.ClientConfig{User: "coder", HostKeyCallback: ssh.FixedHostKey(key)})
	if err != nil {
		return err
	}
	client := ssh.NewClient(c, channels, requests)
	defer client.Close() //nolint:errcheck // everything was read
	files, err := sftp.NewClient(client)
	if err != nil {
		return err
	}
	defer files.Close() //nolint:errcheck // everything was read
	home, err := files.Getwd()
	if err != nil {
		return err
	}
	x := &extras{bundle: bundle, files: files, rows: []extraFile{}, seen: map[string]bool{}}
	for _, pattern := range patterns {
		x.pattern(ctx, home, pattern)
	}
	if err := bundle.AddJSON("agent/extra_files/manifest.json", x.rows); err != nil {
		return err
	}
	if len(x.errors) == 0 {
		return nil
	}
	return bundle.Add("agent/extra_files/collection_errors.txt", []byte(strings.Join(x.errors, "\n")+"\n"))
}

func (x *extras) failf(format string, args ...any) {
	if len(x.errors) < maxExtraFiles {
		x.errors = append(x.errors, fmt.Sprintf(format, args...))
	}
}

// pattern collects the files that match a pattern. Directories are collected
// recursively.
func (x *extras) pattern(ctx context.Context, home, pattern string) {
	full := pattern
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		full = path.Join(home, rest)
	} else if !path.IsAbs(pattern) {
		full = path.Join(home, pattern)
	}
	found, err := x.files.Glob(full)
	if err != nil {
		x.failf("%s: %s", pattern, err)
		return
	}
	if len(found) == 0 {
		x.failf("%s: no such file", pattern)
	}
	for _, name := range found {
		for walk := x.files.Walk(name); walk.Step(); {
			switch info := walk.Stat(); {
			case ctx.Err() != nil:
				x.failf("%s: %s", name, ctx.Err())
				return
			case walk.Err() != nil:
				x.failf("%s: %s", walk.Path(), walk.Err())
			case info.IsDir():
			case !x.file(walk.Path(), info):
				return
			}
		}
	}
}

// file collects one file. It returns false when no further file may follow.
func (x *extras) file(name string, info os.FileInfo) bool {
	if x.seen[name] {
		return true
	}
	x.seen[name] = true
	if len(x.rows) >= maxExtraFiles || x.total >= maxExtraBytes {
		x.failf("%s: skipped: limit of %d files and %d MiB reached", name, maxExtraFiles, maxExtraBytes>>20)
		return false
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := x.files.Stat(name)
		if err != nil || target.IsDir() {
			x.failf("%s: skipped: link to a directory or to a missing file", name)
			return true
		}
		info = target
	}
	if !info.Mode().IsRegular() {
		x.failf("%s: not a regular file", name)
		return true
	}
	b, err := x.tail(name, info.Size())
	if err == nil {
		err = x.bundle.Add("agent/extra_files/files/"+supportbundle.SafeName(name), b)
	}
	if err != nil {
		x.failf("%s: %s", name, err)
		return true
	}
	x.total += len(b)
	x.rows = append(x.rows, extraFile{Path: name, Size: info.Size(), Collected: len(b)})
	return true
}

// tail reads the last maxFileBytes bytes of a file.
func (x *extras) tail(name string, size int64) ([]byte, error) {
	f, err := x.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	if size > maxFileBytes {
		if _, err := f.Seek(size-maxFileBytes, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, maxFileBytes))
}
