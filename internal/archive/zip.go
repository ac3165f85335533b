package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// FromZip converts a zip to a tar of the same files, under the rules and limits
// of Check. It does not trust the sizes that a zip declares.
func FromZip(data []byte, l Limits) ([]byte, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are judged below
		return nil, brokenZip(err)
	}
	if len(r.File) > l.Entries {
		return nil, codersdk.Errorf(codersdk.CodeTooLarge, "The archive contains more than %d files", l.Entries)
	}
	var out bytes.Buffer
	w := newWriter(&out, l)
	files := 0
	for _, f := range r.File {
		left := min(l.Bytes, max(1<<20, l.Ratio*int64(len(data)))) - w.judge.bytes // the ratio does not matter below 1 MiB
		n, err := convert(w, f, left)
		if err != nil {
			return nil, err
		}
		files += n
	}
	if files == 0 {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "The archive contains no files")
	}
	if err := w.tar.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// convert adds one file of a zip and returns the number of regular files added.
func convert(w *writer, f *zip.File, left int64) (int, error) {
	mode := f.Mode()
	switch {
	case mode.IsDir():
		return 0, w.add(entry{name: f.Name, kind: tar.TypeDir}, nil)
	case !mode.IsRegular() && mode&fs.ModeSymlink == 0:
		return 0, refuse(f.Name, "is a device or another special file; only files, directories and symbolic links are allowed")
	case f.Flags&1 != 0:
		return 0, refuse(f.Name, "is encrypted")
	}
	rc, err := f.Open()
	if err != nil {
		return 0, brokenZip(err)
	}
	defer rc.Close()
	content, err := io.ReadAll(io.LimitReader(rc, left+1))
	if err != nil {
		return 0, brokenZip(err)
	}
	if int64(len(content)) > left {
		return 0, codersdk.Errorf(codersdk.CodeTooLarge, "The archive unpacks to more than %s, or %d times its size",
			Size(w.judge.limits.Bytes), w.judge.limits.Ratio)
	}
	if mode&fs.ModeSymlink != 0 {
		return 0, w.add(entry{name: f.Name, kind: tar.TypeSymlink, link: string(content)}, nil)
	}
	e := entry{name: f.Name, kind: tar.TypeReg, size: int64(len(content)), exec: mode&0o100 != 0}
	return 1, w.add(e, bytes.NewReader(content))
}

func brokenZip(err error) error {
	return codersdk.Errorf(codersdk.CodeInvalid, "The zip archive is damaged or incomplete").WithDetail("%v", err)
}

// ToZip converts a tar to a zip of the same files.
func ToZip(data []byte, l Limits) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	err := walk(data, l, func(e entry, r io.Reader) error {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)} // the earliest time of a zip
		switch {
		case e.kind == tar.TypeDir:
			h.Name += "/"
			h.Method = zip.Store
			h.SetMode(fs.ModeDir | 0o755)
		case e.kind == tar.TypeSymlink:
			h.SetMode(fs.ModeSymlink | 0o777)
			r = bytes.NewReader([]byte(e.link))
		case e.exec:
			h.SetMode(0o755)
		default:
			h.SetMode(0o644)
		}
		f, err := w.CreateHeader(h)
		if err != nil || e.kind == tar.TypeDir {
			return err
		}
		_, err = io.Copy(f, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
