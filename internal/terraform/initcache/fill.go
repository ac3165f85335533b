package initcache

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

// Fill stores the existing ones of names in dir, files or directories, under
// key, and replaces an older entry of that key. skip, which may be nil, leaves
// out directories by name. Calls must not run concurrently, in other processes
// neither: callers hold the lock under which they created the files.
func (s *Store) Fill(ctx context.Context, key, dir string, names []string, skip func(name string) bool, note string) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	// Remove what a crash left; no other Fill is running.
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

// gather creates an entry in fresh.
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
			it, err := addItem(path, filepath.Join(tree, rel), d)
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
	// The hashes in the list show whether everything reached the disk.
	return errors.Join(err, f.Sync(), f.Close())
}

// addItem adds one item to the tree. The path is "-" for anything but a file, a
// directory or a link with a target.
func addItem(path, to string, d fs.DirEntry) (item, error) {
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
		seen, err := describeTarget(target)
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

// kept is the size and age of an entry, for eviction.
type kept struct {
	key   string
	used  time.Time
	bytes int64
	links []string
	file  string // path of a file; "" for an entry
}

// shrink removes the least recently used entries until the rest fits. The
// newest entry stays. The caller holds the lock exclusively.
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
			return nil // the current entry alone exceeds the limit
		}
		if err := s.drop(entries[i]); err != nil {
			return err
		}
		s.Log.Debug("removed a cached init", "entry", entries[i].key, "bytes", entries[i].bytes)
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

// files returns the files, except those that are being written.
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

// packages returns the packages with their sizes.
func (s *Store) packages() map[string]int64 {
	sizes := map[string]int64{}
	if s.Packages == "" {
		return sizes
	}
	// Links of entries are resolved, so this path must be, too.
	root, err := filepath.EvalSymlinks(s.Packages)
	if err != nil {
		return sizes
	}
	found, _ := filepath.Glob(filepath.Join(root, strings.Repeat("*"+string(filepath.Separator), s.PackageDepth-1)+"*"))
	for _, p := range found {
		if info, err := os.Lstat(p); err != nil || !info.IsDir() {
			continue // a link to another directory
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

// dropPackages removes unreferenced packages from the map and from the disk,
// and returns their size in bytes.
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
