// Package initcache stores directories that are slow to create, so that a later
// job with the same requirements copies one instead. The engine stores what
// `terraform init` installed, under a key of everything that init depends on.
//
// # Entries
//
// An entry is a directory with the stored tree, a list of its contents with
// sizes and hashes, and a note of the caller. Small files are copied in and
// out, so that no job can change the files of another. Large files are
// executables of providers, which Terraform verifies against the lock file in
// every command; they are hard-linked. A symbolic link in the tree, such as
// Terraform creates into its provider cache, stays a link to its real target,
// and the list records the target's contents.
//
// # Failures
//
// An entry is created under a temporary name and renamed once it is complete
// and on disk. After a crash the next Fill removes the rest. Restore verifies
// everything against the list: an entry that is damaged, or whose packages are
// gone, counts as missing. Processes may share the store: readers share a lock,
// and writers hold it exclusively.
//
// # Size
//
// When entries, packages and files exceed the limit, the least recently used
// entries and files are removed, then the packages to which neither an entry
// nor a tree in use links.
package initcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/filelock"
)

// Store contains the entries. Its methods are safe for concurrent use by
// goroutines and processes, except Fill; see there.
type Store struct {
	// Dir is the directory of the store; it is created if missing.
	Dir string
	// Packages is a directory that links of entries lead to, each to a
	// directory PackageDepth levels below. Its size counts toward Limit. May be
	// "".
	Packages     string
	PackageDepth int
	// Files is a directory of files that can be created again. They count
	// toward Limit and are removed like entries, by modification time, which
	// users of a file update. May be "".
	Files string
	// InUse returns trees whose links into Packages must stay valid. May be
	// nil.
	InUse func() []string
	// Limit is the maximum size in bytes; 0 means 10 GiB.
	Limit int64
	Log   *slog.Logger
}

// large is the size in bytes from which a file is linked instead of copied.
const large = 4 << 20

// item is one file, directory or link of an entry's tree.
type item struct {
	Path   string `json:"path"` // with slashes
	Dir    bool   `json:"dir,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Sum    string `json:"sum,omitempty"`    // SHA-256 of a small file
	Target string `json:"target,omitempty"` // of a link
	Seen   string `json:"seen,omitempty"`   // contents of a link's target
}

// list describes an entry.
type list struct {
	Items []item `json:"items"`
	Note  string `json:"note"`
	Bytes int64  `json:"bytes"`
}

const (
	listFile = "list.json"
	treeDir  = "tree"
	partial  = ".new-"
)

func (s *Store) lockName() string        { return filepath.Join(s.Dir, "lock") }
func (s *Store) entry(key string) string { return filepath.Join(s.Dir, key) }

// Has reports whether an entry exists, damaged or not.
func (s *Store) Has(key string) bool {
	_, err := os.Stat(filepath.Join(s.entry(key), listFile))
	return err == nil
}

// Note returns the note of an entry, or "".
func (s *Store) Note(key string) string {
	l, err := readList(s.entry(key))
	if err != nil {
		return ""
	}
	return l.Note
}

// Restore copies the tree of an entry into the existing directory dir,
// replacing files of the same name. It returns false if the entry is missing or
// damaged; dir may then contain a part of the tree.
func (s *Store) Restore(ctx context.Context, key, dir string) (bool, error) {
	if !s.Has(key) {
		return false, nil
	}
	unlock, err := filelock.Share(ctx, s.lockName())
	if err != nil {
		return false, err
	}
	err = s.restore(s.entry(key), dir)
	unlock()
	if err == nil {
		return true, nil
	}
	if errors.Is(err, os.ErrNotExist) && !s.Has(key) {
		return false, nil // removed meanwhile
	}
	s.Log.Warn("cached init is damaged; running init again", "entry", key, "error", err)
	return false, nil
}

func readList(entry string) (list, error) {
	var l list
	b, err := os.ReadFile(filepath.Join(entry, listFile))
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	return l, err
}

func (s *Store) restore(entry, dir string) error {
	l, err := readList(entry)
	if err != nil {
		return err
	}
	tops := map[string]bool{}
	for _, it := range l.Items {
		if !filepath.IsLocal(filepath.FromSlash(it.Path)) {
			return fmt.Errorf("%q is not in the tree", it.Path)
		}
		top, _, _ := strings.Cut(it.Path, "/")
		if !tops[top] {
			tops[top] = true
			if err := os.RemoveAll(filepath.Join(dir, top)); err != nil {
				return err
			}
		}
		if err := it.restore(filepath.Join(entry, treeDir), dir); err != nil {
			return fmt.Errorf("%s: %w", it.Path, err)
		}
	}
	now := time.Now()
	return os.Chtimes(filepath.Join(entry, listFile), now, now)
}

func (it item) restore(tree, dir string) error {
	from, to := filepath.Join(tree, filepath.FromSlash(it.Path)), filepath.Join(dir, filepath.FromSlash(it.Path))
	switch {
	case it.Dir:
		return os.MkdirAll(to, 0o700)
	case it.Target != "":
		seen, err := describeTarget(it.Target)
		if err != nil {
			return err
		}
		if seen != it.Seen {
			return errors.New("its target has changed")
		}
		return os.Symlink(it.Target, to)
	case it.Sum == "":
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		if info.Size() != it.Size {
			return errors.New("its size has changed")
		}
		if os.Link(from, to) == nil {
			return nil
		}
	}
	sum, err := copyFile(from, to, fs.FileMode(it.Mode))
	if err == nil && it.Sum != "" && sum != it.Sum {
		err = errors.New("its content has changed")
	}
	return err
}

// Remove removes an entry and those of its packages that have changed. As with
// Fill, no package may be created meanwhile.
func (s *Store) Remove(ctx context.Context, key string) error {
	if !s.Has(key) {
		return nil
	}
	unlock, err := filelock.Wait(ctx, s.lockName())
	if err != nil {
		return err
	}
	defer unlock()
	root, err := filepath.EvalSymlinks(s.Packages)
	l, listErr := readList(s.entry(key))
	if err == nil && listErr == nil {
		for _, it := range l.Items {
			if it.Target == "" || !strings.HasPrefix(it.Target, root+string(filepath.Separator)) {
				continue
			}
			if seen, err := describeTarget(it.Target); err != nil || seen != it.Seen {
				if err := os.RemoveAll(it.Target); err != nil {
					return err
				}
			}
		}
	}
	return s.remove(key)
}

// remove renames an entry, then deletes it. The caller holds the lock
// exclusively.
func (s *Store) remove(key string) error {
	gone, err := os.MkdirTemp(s.Dir, partial)
	if err != nil {
		return err
	}
	if err := os.Rename(s.entry(key), filepath.Join(gone, key)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(gone)
}

// describeTarget describes the target of a link: names, sizes and times of a directory's
// files, or of the file.
func describeTarget(target string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(target, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			fmt.Fprintf(h, "%q\n", rel)
			return nil
		}
		fmt.Fprintf(h, "%q %d %d\n", rel, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// copyFile copies a file to a new path and returns its SHA-256.
func copyFile(from, to string, mode fs.FileMode) (sum string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, out.Close())
}

// WriteFile writes a file so that no reader sees a partial one.
func WriteFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err // it may have been removed while the job ran
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
