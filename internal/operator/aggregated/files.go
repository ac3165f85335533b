package aggregated

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Limits of a template's files. (OP-22)
const (
	maxFiles     = 2000
	maxFile      = 2 << 20
	maxFilesSize = 40 << 20
)

// source contains the files of a template's version.
type source struct {
	files map[string]string
	// executable are the executable files; hidden are binary files, which are
	// not shown and so cannot be changed.
	executable map[string]bool
	hidden     []string
}

// readSource returns the files of a version.
func readSource(ctx context.Context, at *site, version uuid.UUID) (source, error) {
	var archive []byte
	err := at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		v, err := c.TemplateVersion(ctx, version)
		if err != nil {
			return err
		}
		archive, err = c.Download(ctx, "/files/"+v.Job.FileID.String(), nil)
		return err
	})
	if err != nil {
		return source{}, err
	}
	return unpack(archive)
}

// unpack reads a stored archive, which the control plane has checked.
func unpack(archive []byte) (source, error) {
	s := source{files: map[string]string{}, executable: map[string]bool{}}
	r := tar.NewReader(bytes.NewReader(archive))
	left := int64(maxFilesSize)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, fmt.Errorf("read the template's archive: %w", err)
		}
		name := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		default:
			s.hidden = append(s.hidden, name)
			continue
		}
		if left -= h.Size; left < 0 || h.Size > maxFile || len(s.files) >= maxFiles {
			s.hidden = append(s.hidden, name)
			continue
		}
		b, err := io.ReadAll(io.LimitReader(r, maxFile))
		if err != nil {
			return s, fmt.Errorf("read the template's archive: %w", err)
		}
		if !utf8.Valid(b) {
			s.hidden = append(s.hidden, name)
			continue
		}
		s.files[name], s.executable[name] = string(b), h.Mode&0o100 != 0
	}
}

// pack returns an archive of files. The same files produce the same archive.
// Executable files stay executable.
func pack(files map[string]string, executable map[string]bool) ([]byte, error) {
	if err := checkFiles(files); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode := int64(0o644)
		if executable[name] {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(files[name])), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
			return nil, codersdk.Invalid("spec.files", "%.100q cannot be stored: %s", name, err)
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if out.Len() > maxFilesSize+maxFiles*2048 {
		return nil, tooLarge("all files together", maxFilesSize)
	}
	return out.Bytes(), nil
}

func checkFiles(files map[string]string) error {
	if len(files) > maxFiles {
		return codersdk.Invalid("spec.files", "contains %d files; the maximum is %d", len(files), maxFiles)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
			return codersdk.Invalid("spec.files", "%.100q is not a relative file path such as modules/net/main.tf", name)
		}
		if len(files[name]) > maxFile {
			return tooLarge(name, maxFile)
		}
		if size += len(files[name]); size > maxFilesSize {
			return tooLarge("all files together", maxFilesSize)
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, both := files[dir]; both {
				return codersdk.Invalid("spec.files", "%.100q is both a file and a directory", dir)
			}
		}
	}
	return nil
}

func tooLarge(what string, limit int) error {
	return codersdk.Invalid("spec.files", "%.100s is larger than %d MiB", what, limit>>20)
}
