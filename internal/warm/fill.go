package warm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/filelock"
)

// Fill keeps those of names in dir that are there, files or directories, under
// key, in the place of an older entry of that key. skip, which may be nil,
// leaves out directories by their name. No two calls may run at once, not in
// different processes either: callers hold the lock under which they made what
// is kept.
func (s *Store) Fill(ctx context.Context, key, dir string, names []string, skip func(name string) bool, note string) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	// What a crash left behind: nobody else fills now.
	left, _ := filepath.Glob(filepath.Join(s.Dir, partial+"*"))
	for _, d := range left {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	fresh, err := os.MkdirTemp(s.Dir, partial)
	if err != nil {
		return err
	}
	if err := s.gather(fresh, dir, names, skip, note); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	unlock, err := filelock.Wait(ctx, s.lockName())
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	defer unlock()
	if err := s.remove(key); err != nil {
		return err
	}
	if err := os.Rename(fresh, s.entry(key)); err != nil {
		return err
	}
	return s.shrink(key)
}

// gather makes an entry in fresh.
func (s *Store) gather(fresh, dir string, names []string, skip func(string) bool, note string) error {
	l := list{Note: note}
	tree := filepath.Join(fresh, treeDir)
	if err := os.Mkdir(tree, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) && path == filepath.Join(dir, name) {
				return nil
			}
			if err != nil {
				return err
			}
			if d.IsDir() && skip != nil && skip(d.Name()) {
				return filepath.SkipDir
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			it, err := take(path, filepath.Join(tree, rel), d)
			if err != nil || it.Path == "-" {
				return err
			}
			it.Path = filepath.ToSlash(rel)
			l.Items = append(l.Items, it)
			l.Bytes += it.Size
			return nil
		})
		if err != nil {
			return fmt.Errorf("keep %s: %w", name, err)
		}
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(fresh, listFile), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	// The hashes in the list tell whether the rest came to the disk.
	return errors.Join(err, f.Sync(), f.Close())
}

// take puts one thing into the tree; of what is neither file, directory nor a
// link that leads somewhere the path is "-".
func take(path, to string, d fs.DirEntry) (item, error) {
	info, err := d.Info()
	if err != nil {
		return item{}, err
	}
	switch {
	case d.IsDir():
		return item{Dir: true}, os.MkdirAll(to, 0o700)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			return item{Path: "-"}, nil
		}
		if target, err = filepath.Abs(target); err != nil {
			return item{}, err
		}
		seen, err := look(target)
		return item{Target: target, Seen: seen}, err
	case !d.Type().IsRegular():
		return item{Path: "-"}, nil
	}
	it := item{Mode: uint32(info.Mode().Perm()), Size: info.Size()}
	if it.Size >= large && os.Link(path, to) == nil {
		return it, nil
	}
	sum, err := copyFile(path, to, info.Mode().Perm())
	if it.Size < large {
		it.Sum = sum
	}
	return it, err
}

// kept is an entry as far as its size and age matter.
type kept struct {
	key   string
	used  time.Time
	bytes int64
	links []string
	file  string // its path; "" for an entry
}

// shrink removes what was not used for the longest time until the rest fits.
// The entry that was just made stays. The store is locked.
func (s *Store) shrink(fresh string) error {
	limit := s.Limit
	if limit <= 0 {
		limit = 10 << 30
	}
	entries, total := s.entries()
	for _, f := range s.files() {
		entries, total = append(entries, f), total+f.bytes
	}
	packages := s.packages()
	for _, size := range packages {
		total += size
	}
	slices.SortFunc(entries, func(a, b kept) int { return a.used.Compare(b.used) })
	for total > limit {
		removed, err := s.dropPackages(packages, entries)
		if total -= removed; err != nil || total <= limit {
			return err
		}
		i := slices.IndexFunc(entries, func(k kept) bool { return k.file != "" || k.key != fresh })
		if i < 0 {
			return nil // what is needed now is larger than the limit
		}
		if err := s.drop(entries[i]); err != nil {
			return err
		}
		s.Log.Debug("removed what was kept of earlier jobs", "entry", entries[i].key, "bytes", entries[i].bytes)
		total -= entries[i].bytes
		entries = slices.Delete(entries, i, i+1)
	}
	return nil
}

// drop removes an entry or a file.
func (s *Store) drop(k kept) error {
	if k.file == "" {
		return s.remove(k.key)
	}
	if err := os.Remove(k.file); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// files gives the files, apart from those that are just being written.
func (s *Store) files() (all []kept) {
	if s.Files == "" {
		return nil
	}
	dir, _ := os.ReadDir(s.Files)
	for _, d := range dir {
		if info, err := d.Info(); err == nil && d.Type().IsRegular() && !strings.HasPrefix(d.Name(), ".") {
			all = append(all, kept{key: d.Name(), used: info.ModTime(), bytes: info.Size(), file: filepath.Join(s.Files, d.Name())})
		}
	}
	return all
}

func (s *Store) entries() (all []kept, total int64) {
	dirs, _ := os.ReadDir(s.Dir)
	for _, d := range dirs {
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		k := kept{key: d.Name()}
		if info, err := os.Stat(filepath.Join(s.entry(k.key), listFile)); err == nil {
			k.used = info.ModTime()
		}
		if l, err := readList(s.entry(k.key)); err == nil {
			k.bytes = l.Bytes
			for _, it := range l.Items {
				if it.Target != "" {
					k.links = append(k.links, it.Target)
				}
			}
		}
		all, total = append(all, k), total+k.bytes
	}
	return all, total
}

// packages gives the packages with their sizes.
func (s *Store) packages() map[string]int64 {
	sizes := map[string]int64{}
	if s.Packages == "" {
		return sizes
	}
	// Links of entries are resolved, so this must be too.
	root, err := filepath.EvalSymlinks(s.Packages)
	if err != nil {
		return sizes
	}
	found, _ := filepath.Glob(filepath.Join(root, strings.Repeat("*"+string(filepath.Separator), s.PackageDepth-1)+"*"))
	for _, p := range found {
		if info, err := os.Lstat(p); err != nil || !info.IsDir() {
			continue // a link out of here
		}
		sizes[p] = 0
		filepath.WalkDir(p, func(_ string, d fs.DirEntry, err error) error { //nolint:errcheck // what cannot be read counts nothing
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil && d.Type().IsRegular() {
				sizes[p] += info.Size()
			}
			return nil
		})
	}
	return sizes
}

// dropPackages removes packages that nothing leads to from the map and from
// the disk, and gives how many bytes they had.
func (s *Store) dropPackages(packages map[string]int64, entries []kept) (removed int64, err error) {
	needed := map[string]bool{}
	for _, k := range entries {
		for _, l := range k.links {
			needed[l] = true
		}
	}
	if s.InUse != nil {
		for _, tree := range s.InUse() {
			filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error { //nolint:errcheck // a tree that is gone needs nothing
				if err == nil && d.Type()&fs.ModeSymlink != 0 {
					if target, err := filepath.EvalSymlinks(path); err == nil {
						needed[target] = true
					}
				}
				return nil
			})
		}
	}
	for p, size := range packages {
		if needed[p] {
			continue
		}
		if err := os.RemoveAll(p); err != nil {
			return removed, err
		}
		delete(packages, p)
		removed += size
	}
	return removed, nil
}
