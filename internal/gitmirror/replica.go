package gitmirror

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/seed"
)

// maxPacks is the number of packs that are joined. Each update adds at most one.
const maxPacks = 20

// replica is the copy of one repository: a bare repository in the directory "repository", and in the file "refs.json"
// what the remote showed at the last update. An update deletes that file and writes it again at its end.
type replica struct {
	dir string

	mu       sync.Mutex
	current  seed.Repository // after the last update
	known    bool            // all objects are reachable from current
	updating chan struct{}   // closed at the end of the running update; nil: none runs
	failed   time.Time       // end of the last update, if it failed
	size     int64           // bytes of all packs
	used     time.Time
}

func (c *replica) repository() string { return filepath.Join(c.dir, "repository") }
func (c *replica) packs() string      { return filepath.Join(c.repository(), "objects", "pack") }
func (c *replica) refsFile() string   { return filepath.Join(c.dir, "refs.json") }

// load reads a copy of an earlier process.
func load(dir string) *replica {
	c := &replica{dir: dir}
	if info, err := os.Stat(dir); err == nil {
		c.used = info.ModTime()
	}
	b, err := os.ReadFile(c.refsFile())
	c.known = err == nil && json.Unmarshal(b, &c.current) == nil
	c.size = c.measure()
	return c
}

// open returns the copy to a user who sees these refs at the host. Nil if it has others.
func (c *replica) open(seen seed.Repository, now time.Time) (*Seed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.updating != nil || !c.known || !equal(c.current, seen) {
		return nil, nil
	}
	names, err := c.files()
	if err != nil {
		return nil, err
	}
	s := &Seed{repository: c.current}
	for _, name := range names {
		f, err := os.Open(filepath.Join(c.packs(), name))
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("open a copy of a git repository: %w", err)
		}
		s.files = append(s.files, f)
	}
	c.used = now
	_ = os.Chtimes(c.dir, now, now) // the order of the next process is only less exact
	return s, nil
}

// isEmpty reports whether nothing is copied yet.
func (c *replica) isEmpty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size == 0
}

// files returns the names of the packs and their indexes, each index after its pack.
func (c *replica) files() ([]string, error) {
	entries, err := os.ReadDir(c.packs())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, suffix := range []string{".pack", ".rev", ".idx"} {
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "pack-") && strings.HasSuffix(e.Name(), suffix) {
				names = append(names, e.Name())
			}
		}
	}
	return names, nil
}

// measure returns the size of all packs, also of those that are being received.
func (c *replica) measure() (sum int64) {
	entries, err := os.ReadDir(c.packs())
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// watchSize cancels an update that makes the copy larger than all copies may be.
func (c *replica) watchSize(ctx context.Context, most int64, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		if c.measure() > most {
			cancel(fmt.Errorf("the repository has more than %d bytes, the limit of the git mirror", most))
			return
		}
	}
}

// save records what the copy has after an update.
func (c *replica) save(r seed.Repository) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	next := c.refsFile() + ".new"
	if err := os.WriteFile(next, b, 0o600); err != nil {
		return err
	}
	if err := os.Rename(next, c.refsFile()); err != nil {
		return err
	}
	c.current, c.known, c.failed = r, true, time.Time{}
	return nil
}

// remove deletes the copy.
func (c *replica) remove() error {
	c.current, c.known = seed.Repository{Refs: map[string]string{}}, true
	return os.RemoveAll(c.dir)
}

// fetch makes a copy equal to what the remote shows to the user, and removes what is no longer reachable.
func (m *Mirror) fetch(ctx context.Context, c *replica, r Remote) (out seed.Repository, err error) {
	if err := m.prepare(ctx, c); err != nil {
		return out, err
	}
	if err := os.Remove(c.refsFile()); err != nil && !isMissing(err) {
		return out, err
	}
	dir := c.repository()
	if _, err := m.git(ctx, r, "", "-C", dir, "fetch", "--quiet", "--prune", "--no-tags", "--force", "--no-write-fetch-head",
		r.URL, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return out, err
	}
	if out.Refs, err = m.refsOf(ctx, dir); err != nil {
		return out, err
	}
	if err := m.removeUnreachable(ctx, c, out.Refs); err != nil {
		return out, err
	}
	seen, err := m.list(ctx, r) // for the default branch, which git fetch does not tell
	out.Head = seen.Head
	return out, err
}

// prepare creates the repository, and removes what a process that was killed left in it.
func (m *Mirror) prepare(ctx context.Context, c *replica) error {
	if _, err := os.Stat(filepath.Join(c.repository(), "HEAD")); isMissing(err) {
		if err := os.RemoveAll(c.dir); err != nil {
			return err
		}
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return err
		}
		_, err := m.git(ctx, Remote{}, "", "init", "--quiet", "--bare", c.repository())
		return err
	}
	return filepath.WalkDir(c.repository(), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), "tmp_") || strings.HasSuffix(e.Name(), ".lock") || strings.HasSuffix(e.Name(), ".keep") {
			return os.Remove(path)
		}
		return nil
	})
}

// removeUnreachable joins the packs into one with what is reachable, if something else is there or may be there, or
// if there are many.
func (m *Mirror) removeUnreachable(ctx context.Context, c *replica, refs map[string]string) error {
	c.mu.Lock()
	former, known := c.current.Refs, c.known
	c.mu.Unlock()
	join := !known
	if known {
		unreachable, err := m.hasUnreachable(ctx, c.repository(), former, refs)
		if err != nil {
			return err
		}
		join = unreachable
	}
	names, err := c.files()
	if err != nil {
		return err
	}
	packs := slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".pack") })
	if !join && len(packs) <= maxPacks {
		return nil
	}
	_, err = m.git(ctx, Remote{}, "", "-C", c.repository(), "repack", "-a", "-d", "--quiet")
	return err
}
