// Package warm keeps directories that took long to make, so that the next who
// needs the same gets a copy instead of making it again. The engine keeps what
// `terraform init` installed: a key stands for everything that init depends on.
//
// # What is in it
//
// An entry is a directory: the tree that was kept, a list of what is in it
// with sizes and hashes, and a note of the caller's. Small files are copied in
// and out, so that no job can change what another gets; large ones, which are
// the executables of providers and are checked by Terraform against the lock
// file in every command, are linked. A link in the tree, such as Terraform
// makes into its cache of provider packages, stays one, to the place it really
// leads to, and the list tells what was there.
//
// # What can go wrong
//
// An entry is made under another name, and renamed when it is whole and on
// disk, so a crash leaves only something that the next Fill removes. Restore
// checks everything that it hands out against the list: an entry that is
// damaged, or whose packages are gone, counts as not there. The
// store may be shared by processes: those that read share a lock, and who
// renames or removes holds it alone.
//
// # Its size
//
// When entries, packages and files together are more than the limit, the entries
// and files that were not used for the longest time go, and then packages that neither an
// entry nor a tree in use leads to.
package warm

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

// Store is where entries are. Its methods may be called at once by many
// goroutines and processes, except that Fill must not: see there.
type Store struct {
	// Dir is the store's own; it is made when missing.
	Dir string
	// Packages is a directory that links of entries lead into, each to a
	// directory PackageDepth levels below. They count for Limit. May be "".
	Packages     string
	PackageDepth int
	// Files is a directory of single files, of which each can be made again.
	// They count for Limit and go like entries, by when they were changed last:
	// whoever uses one sets that. May be "".
	Files string
	// InUse finds trees whose links into Packages must stay good. May be nil.
	InUse func() []string
	// Limit is how many bytes there may be; 0 means 10 GiB.
	Limit int64
	Log   *slog.Logger
}

// large is from which size on a file is linked and not copied.
const large = 4 << 20

// item is one thing of an entry's tree.
type item struct {
	Path   string `json:"path"` // with slashes
	Dir    bool   `json:"dir,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Sum    string `json:"sum,omitempty"`    // SHA-256 of a small file
	Target string `json:"target,omitempty"` // of a link
	Seen   string `json:"seen,omitempty"`   // what a link led to
}

// list is what an entry says of itself.
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

// Has says whether there is an entry, damaged or not.
func (s *Store) Has(key string) bool {
	_, err := os.Stat(filepath.Join(s.entry(key), listFile))
	return err == nil
}

// Note gives the note of an entry, "" when there is none.
func (s *Store) Note(key string) string {
	l, err := readList(s.entry(key))
	if err != nil {
		return ""
	}
	return l.Note
}

// Restore puts the tree of an entry into dir, which exists, replacing what has
// the name of something in it. It says whether it could; when not, because
// there is no entry or it is damaged, dir may hold a part of the tree.
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
	s.Log.Warn("what was kept of an earlier init is damaged and is made again", "entry", key, "error", err)
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
		seen, err := look(it.Target)
		if err != nil {
			return err
		}
		if seen != it.Seen {
			return errors.New("what it leads to has changed")
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

// Remove removes an entry, if there is one, and those of its packages that are
// no longer what they were. As for Fill, nobody may make packages meanwhile.
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
			if seen, err := look(it.Target); err != nil || seen != it.Seen {
				if err := os.RemoveAll(it.Target); err != nil {
					return err
				}
			}
		}
	}
	return s.remove(key)
}

// remove takes an entry's name from it and then removes it. The store is locked.
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

// look describes what a link leads to: names, sizes and times of a directory's
// files, or of the one file.
func look(target string) (string, error) {
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

// copyFile copies a file that is not there yet and gives its SHA-256.
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
