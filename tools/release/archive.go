package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// archive writes the archive of one program: tar.gz for Linux, zip for the
// others, as packagers expect.
func (r *release) archive(p platform) error {
	name := "coder"
	if p.os == "windows" {
		name = "coder.exe"
	}
	files := []entry{
		{name, filepath.Join(r.bin, p.program("coder")), 0o755},
		{"LICENSE", filepath.Join(r.source, "LICENSE"), 0o644},
		{"NOTICE", filepath.Join(r.source, "NOTICE"), 0o644},
		{"README.md", filepath.Join(r.source, "README.md"), 0o644},
	}
	if p.os == "linux" {
		return r.create("_"+p.os+"_"+p.arch+".tar.gz", func(w io.Writer) error {
			z := gzip.NewWriter(w)
			return errors.Join(r.tar(z, files), z.Close())
		})
	}
	return r.create("_"+p.os+"_"+p.arch+".zip", func(w io.Writer) error { return r.zip(w, files) })
}

// downloads writes the archive of all platforms, which are compressed already.
func (r *release) downloads() error {
	packed, err := r.packed()
	if err != nil {
		return err
	}
	var files []entry
	for _, path := range packed {
		files = append(files, entry{filepath.Base(path), path, 0o644})
	}
	return r.create("_downloads.tar", func(w io.Writer) error { return r.tar(w, files) })
}

// entry is a file in an archive.
type entry struct {
	name, path string
	mode       os.FileMode
}

func (r *release) create(rest string, write func(io.Writer) error) error {
	f, err := os.Create(r.file(rest))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func (r *release) tar(w io.Writer, files []entry) error {
	t := tar.NewWriter(w)
	for _, e := range files {
		st, err := os.Stat(e.path)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: e.name, Mode: int64(e.mode), Size: st.Size(), ModTime: r.time, Typeflag: tar.TypeReg}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if err := copyFile(t, e.path); err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) zip(w io.Writer, files []entry) error {
	z := zip.NewWriter(w)
	for _, e := range files {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.time}
		h.SetMode(e.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if err := copyFile(f, e.path); err != nil {
			return err
		}
	}
	return z.Close()
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// checksums writes what `sha256sum --check checksums.txt` reads.
func (r *release) checksums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range files {
		h := sha256.New()
		if err := copyFile(h, filepath.Join(r.out, f.Name())); err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", h.Sum(nil), f.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(text.String()), 0o644)
}
