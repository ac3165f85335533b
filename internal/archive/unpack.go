package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Unpack writes the files of a tar below dir, which is created if missing. The
// whole archive is checked before the first byte is written. Existing files of
// the same name are replaced, others stay.
func Unpack(data []byte, dir string, l Limits) error {
	if err := walk(data, l, func(e entry, r io.Reader) error {
		n, err := io.Copy(io.Discard, r)
		if err == nil && n != e.size {
			err = io.ErrUnexpectedEOF
		}
		return err
	}); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return walk(data, l, func(e entry, r io.Reader) error {
		if err := unpackOne(root, e, r); err != nil {
			return fmt.Errorf("unpack %s: %w", e.name, err)
		}
		return nil
	})
}

func unpackOne(root *os.Root, e entry, r io.Reader) error {
	name := filepath.FromSlash(e.name)
	if e.kind == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if parent := path.Dir(e.name); parent != "." {
		if err := root.MkdirAll(filepath.FromSlash(parent), 0o755); err != nil {
			return err
		}
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if e.kind == tar.TypeSymlink {
		return root.Symlink(filepath.FromSlash(e.link), name)
	}
	mode := fs.FileMode(0o644)
	if e.exec {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
