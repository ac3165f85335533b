package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Pack returns the tar of a template's directory. It leaves out hidden
// directories (.terraform, .git), Terraform's state, crash logs, and .tfvars
// files, whose values are sent as variables and may be secret. Hidden files
// such as .terraform.lock.hcl are included. Links that lead out of the
// directory, and a directory that exceeds the limits, are errors.
func Pack(dir string, l Limits) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "The directory %s does not exist", dir)
		}
		return nil, fmt.Errorf("open template directory: %w", err)
	}
	defer root.Close()
	return PackFS(root.FS(), l)
}

// PackFS is Pack for a file system.
func PackFS(fsys fs.FS, l Limits) ([]byte, error) {
	var out bytes.Buffer
	w := newWriter(&out, l)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case Skipped(name, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return packOne(w, fsys, name, d)
	})
	if err != nil {
		return nil, err
	}
	if err := w.tar.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func packOne(w *writer, fsys fs.FS, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch {
	case d.IsDir():
		return w.add(entry{name: name, kind: tar.TypeDir}, nil)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(fsys, name)
		if err != nil {
			return err
		}
		return w.add(entry{name: name, kind: tar.TypeSymlink, link: path.Clean(strings.ReplaceAll(target, "\\", "/"))}, nil)
	case !d.Type().IsRegular():
		return nil // sockets and pipes of running programs
	}
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return w.add(entry{name: name, kind: tar.TypeReg, size: info.Size(), exec: info.Mode()&0o100 != 0}, f)
}

// Skipped reports whether Pack leaves out a file or directory of that path.
func Skipped(name string, dir bool) bool {
	base := path.Base(name)
	if dir {
		return strings.HasPrefix(base, ".")
	}
	return strings.HasSuffix(base, ".tfstate") || strings.Contains(base, ".tfstate.") ||
		strings.HasSuffix(base, ".tfvars") || strings.HasSuffix(base, ".tfvars.json") ||
		base == "crash.log" || base == ".DS_Store"
}

// writer writes tars that depend only on names and contents.
type writer struct {
	tar   *tar.Writer
	judge judge
}

func newWriter(w io.Writer, l Limits) *writer {
	return &writer{tar: tar.NewWriter(w), judge: judge{limits: l, kinds: map[string]byte{}}}
}

func (w *writer) add(e entry, content io.Reader) error {
	if err := w.judge.admit(&e); err != nil || e.name == "." {
		return err
	}
	h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o644, Linkname: e.link}
	switch {
	case e.kind == tar.TypeDir:
		h.Name, h.Mode = e.name+"/", 0o755
	case e.kind == tar.TypeReg:
		h.Size = e.size
		if e.exec {
			h.Mode = 0o755
		}
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	if e.kind != tar.TypeReg {
		return nil
	}
	n, err := io.Copy(w.tar, io.LimitReader(content, e.size))
	if err == nil && n != e.size {
		err = fmt.Errorf("%s changed while it was read", e.name)
	}
	return err
}
