// Image builds a container image of a directory without a registry or daemon,
// in the format of `docker load` and `ctr images import`:
//
//	image -name example.test/app:v1 -entrypoint /opt/app -user 1000:1000 -o app.tar DIRECTORY
//
// Files belong to root, those below -own to the user.
package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run() error {
	var entry, cmd, env, own list
	name := flag.String("name", "", "name and tag")
	out := flag.String("o", "", "file to write")
	user := flag.String("user", "0:0", "user that runs the program, uid:gid")
	dir := flag.String("workdir", "/", "working directory")
	flag.Var(&entry, "entrypoint", "word of the entry point (repeatable)")
	flag.Var(&cmd, "cmd", "word of the default arguments (repeatable)")
	flag.Var(&env, "env", "environment variable, NAME=value (repeatable)")
	flag.Var(&own, "own", "directory owned by the user (repeatable)")
	flag.Parse()
	if flag.NArg() != 1 || *name == "" || *out == "" {
		return errors.New("usage: image -name NAME:TAG -o FILE [options] DIRECTORY; see -help")
	}
	layer, err := os.CreateTemp(filepath.Dir(*out), "layer-*.tar")
	if err != nil {
		return err
	}
	defer os.Remove(layer.Name())
	defer layer.Close()
	sum := sha256.New()
	if err := pack(io.MultiWriter(layer, sum), flag.Arg(0), *user, own); err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"created": time.Unix(0, 0).UTC(), "architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"User": *user, "Env": env, "Entrypoint": entry, "Cmd": cmd, "WorkingDir": *dir},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum.Sum(nil))}},
	})
	if err != nil {
		return err
	}
	id := sha256.Sum256(config)
	file := hex.EncodeToString(id[:]) + ".json"
	manifest, err := json.Marshal([]map[string]any{{"Config": file, "RepoTags": []string{*name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	return write(*out, layer, map[string][]byte{file: config, "manifest.json": manifest})
}

// write writes the parts of an image.
func write(out string, layer *os.File, files map[string][]byte) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	size, err := layer.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = layer.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = w.WriteHeader(&tar.Header{Name: "layer.tar", Mode: 0o644, Size: size})
	}
	if err == nil {
		_, err = io.Copy(w, layer)
	}
	for name, b := range files {
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b))})
		}
		if err == nil {
			_, err = w.Write(b)
		}
	}
	return errors.Join(err, w.Close(), f.Close())
}

// pack writes the one layer.
func pack(to io.Writer, root, user string, own []string) error {
	u, g, _ := strings.Cut(user, ":")
	uid, err := strconv.Atoi(u)
	if err != nil {
		return fmt.Errorf("-user: %w", err)
	}
	gid, err := strconv.Atoi(g)
	if err != nil {
		return fmt.Errorf("-user: %w", err)
	}
	w := tar.NewWriter(to)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		link := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		h.Name, h.Uid, h.Gid, h.Uname, h.Gname, h.ModTime = filepath.ToSlash(rel), 0, 0, "", "", time.Unix(0, 0)
		if d.IsDir() {
			h.Name += "/"
		}
		for _, o := range own {
			if at := "/" + strings.TrimSuffix(h.Name, "/"); at == o || strings.HasPrefix(at, o+"/") {
				h.Uid, h.Gid = uid, gid
			}
		}
		if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	})
	return errors.Join(err, w.Close())
}
