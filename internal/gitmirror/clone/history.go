package clone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/seed"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// updateWait is how long the mirror may take to copy a repository before its history is requested from the host.
const updateWait = time.Hour

// shallowFile is where git keeps the commits of a repository whose parents it does not have.
func shallowFile(dir string) string { return filepath.Join(dir, ".git", "shallow") }

// History completes the history of a repository that has only the newest commit, from the mirror as soon as it has the
// repository, otherwise from the host.
func (c *Clone) History(ctx context.Context, dir string) error {
	begun := time.Now()
	if err := c.historyFromMirror(ctx, dir); err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.explain(err)
		if err := c.git(ctx, dir, "fetch", "--quiet", "--unshallow", "--tags", "origin"); err != nil {
			return err
		}
	}
	if _, err := c.output(ctx, dir, "symbolic-ref", "refs/remotes/origin/HEAD"); err != nil { // a clone of another branch
		_, _ = c.output(ctx, dir, "remote", "set-head", "origin", "--auto") // fails if the remote has no default branch
	}
	fmt.Fprintf(c.Out, "The history of %s is complete after %s\n", dir, time.Since(begun).Round(100*time.Millisecond))
	return nil
}

// historyFromMirror adds the packs of the mirror.
func (c *Clone) historyFromMirror(ctx context.Context, dir string) error {
	limited, cancel := context.WithTimeout(ctx, updateWait)
	defer cancel()
	err := lifecycle.Poll(limited, updatePoll, nil, func(ctx context.Context) (bool, error) {
		packs, err := c.request(ctx, true)
		if errors.Is(err, errUpdating) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer packs.Close()
		_, err = seed.Install(packs, filepath.Join(dir, ".git"))
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if err := c.deepen(ctx, dir); err != nil {
		return err
	}
	// git finds that it has the objects of all branches and requests at most what is newer than the copy.
	return c.git(ctx, dir, "fetch", "--quiet", "--tags", "origin")
}

// deepen makes git use the history that the repository now has.
func (c *Clone) deepen(ctx context.Context, dir string) error {
	name := shallowFile(dir)
	lock, err := os.OpenFile(name+".lock", os.O_CREATE|os.O_EXCL, 0o600) // as git locks it
	if err != nil {
		return err
	}
	defer os.Remove(name + ".lock")
	if err := lock.Close(); err != nil {
		return err
	}
	kept := name + ".kept"
	if err := os.Rename(name, kept); err != nil {
		return err
	}
	if _, err := c.output(ctx, dir, "rev-list", "--quiet", "--all"); err != nil {
		return errors.Join(errors.New("the copy of the mirror lacks commits of this repository"), os.Rename(kept, name))
	}
	return os.Remove(kept)
}
