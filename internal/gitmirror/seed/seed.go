// Package seed is the form in which a server sends a git repository to a workspace: its refs, and its packs with their
// indexes as the server stores them. A workspace only stores the files of a seed, while a clone computes the index of
// what it receives.
//
// A seed is a tar archive. Its first entry, refs.json, is a Repository. The packs follow, each before its index.
package seed

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Bounds of what Install accepts.
const (
	maxRefs  = 64 << 20 // bytes of refs.json
	maxFiles = 1000
)

// refsName is the name of the first entry.
const refsName = "refs.json"

// Repository describes the repository of a seed.
type Repository struct {
	// Head is the default branch, such as refs/heads/main. "" if the remote has none.
	Head string `json:"head"`
	// Refs has the object of each branch and tag by its full name.
	Refs map[string]string `json:"refs"`
	// Files is the number of files that follow.
	Files int `json:"files"`
}

// fileName matches the files of a seed.
var fileName = regexp.MustCompile(`^pack-[0-9a-f]{40,64}\.(?:pack|rev|idx)$`)

// Write writes a seed of files, in which each pack must come before its index.
func Write(w io.Writer, r Repository, files []*os.File) error {
	r.Files = len(files)
	description, err := json.Marshal(r)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	if err := out.WriteHeader(&tar.Header{Name: refsName, Mode: 0o444, Size: int64(len(description))}); err != nil {
		return err
	}
	if _, err := out.Write(description); err != nil {
		return err
	}
	for _, f := range files {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Name: filepath.Base(f.Name()), Mode: 0o444, Size: info.Size()}); err != nil {
			return err
		}
		if _, err := io.Copy(out, f); err != nil {
			return err
		}
	}
	return out.Close()
}

// Install stores the packs of a seed in the repository at gitDir. git uses a pack once its index is there, so an
// interruption leaves no pack that is incomplete. Programs can use the repository meanwhile.
func Install(r io.Reader, gitDir string) (Repository, error) {
	var out Repository
	in := tar.NewReader(r)
	first, err := in.Next()
	if err != nil {
		return out, fmt.Errorf("read the seed: %w", err)
	}
	if first.Name != refsName || first.Size > maxRefs {
		return out, errors.New("read the seed: it does not begin with the refs")
	}
	if err := json.NewDecoder(in).Decode(&out); err != nil {
		return out, fmt.Errorf("read the refs of the seed: %w", err)
	}
	if out.Files < 0 || out.Files > maxFiles {
		return out, fmt.Errorf("read the seed: %d files are more than %d", out.Files, maxFiles)
	}
	packs := filepath.Join(gitDir, "objects", "pack")
	for range out.Files {
		next, err := in.Next()
		if err != nil {
			return out, fmt.Errorf("read the seed: %w", unexpected(err))
		}
		if !fileName.MatchString(next.Name) {
			return out, fmt.Errorf("read the seed: %.80q is not the name of a pack", next.Name)
		}
		if err := store(in, filepath.Join(packs, next.Name)); err != nil {
			return out, fmt.Errorf("store %s: %w", next.Name, err)
		}
	}
	return out, nil
}

// unexpected turns the end of a seed into the error of one that is incomplete.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// store writes a file that is complete once it has its name. A file that exists stays, because the name of a pack is
// that of its content.
func store(r io.Reader, name string) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "tmp_seed_") // git deletes files with this prefix when they are old
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once the file has its name
	if _, err := io.Copy(f, r); err != nil {
		return errors.Join(unexpected(err), f.Close())
	}
	if err := f.Chmod(0o444); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
