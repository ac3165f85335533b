// Package clone clones git repositories in a workspace so that their files are there early: from the server's mirror
// if it has the repository, otherwise without the history, which follows in the background.
package clone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/seed"
)

// Clone describes a clone.
type Clone struct {
	URL    string // of the remote, in any form of git
	Dir    string // of the files; "" means the last part of the URL, in the working directory
	Branch string // or tag; "" means the default branch
	Wait   bool   // until the history is complete

	Env    []string         // of git
	Client *codersdk.Client // with the token of the agent; nil: without the mirror
	Out    io.Writer        // what users read
	// Complete starts a process that completes the history of a repository.
	Complete func(dir string) error
}

// updatePoll is the time between two requests while the mirror updates its copy.
const updatePoll = 5 * time.Second

// Run clones the repository. If the directory has a clone of the same remote, it does nothing.
func (c *Clone) Run(ctx context.Context) error {
	if strings.HasPrefix(c.URL, "-") {
		return codersdk.Invalid("url", "must not begin with a hyphen")
	}
	dir, err := c.directory()
	if err != nil {
		return err
	}
	exists, err := c.cloned(ctx, dir)
	if err != nil {
		return err
	}
	if exists {
		fmt.Fprintf(c.Out, "%s is already a clone of %s\n", dir, c.URL)
		return nil
	}
	// A clone that was interrupted is never taken for a whole one, unless the directory exists: it can be a mount,
	// which cannot be replaced.
	work := dir
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		work = filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".cloning")
		if err := os.RemoveAll(work); err != nil {
			return fmt.Errorf("remove an interrupted clone: %w", err)
		}
	}
	begun := time.Now()
	whole, err := c.fill(ctx, work)
	if err != nil {
		return err
	}
	if work != dir {
		if err := os.Rename(work, dir); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.Out, "Cloned into %s in %s\n", dir, time.Since(begun).Round(100*time.Millisecond))
	switch {
	case whole:
		return nil
	case c.Wait:
		return c.History(ctx, dir)
	}
	fmt.Fprintln(c.Out, "The history follows in the background")
	return c.Complete(dir)
}

// explain prints why the mirror is not used, unless there is none.
func (c *Clone) explain(err error) {
	switch {
	case errors.Is(err, errNoMirror):
	case errors.Is(err, errUpdating):
		fmt.Fprintf(c.Out, "The git mirror does not have %s yet\n", c.URL)
	default:
		fmt.Fprintf(c.Out, "The git mirror is not used: %v\n", err)
	}
}

// directory returns the absolute path of the files.
func (c *Clone) directory() (string, error) {
	name := c.Dir
	if name == "" {
		trimmed := strings.TrimSuffix(strings.TrimRight(c.URL, "/"), ".git")
		name = trimmed[strings.LastIndexAny(trimmed, "/:")+1:]
		if name == "" || name == "." || name == ".." {
			return "", codersdk.Invalid("url", "has no name of a repository; name the directory")
		}
	}
	return filepath.Abs(name)
}

// cloned reports whether the directory has a clone of the remote. It returns an error if it has something else.
func (c *Clone) cloned(ctx context.Context, dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	remote, err := c.output(ctx, dir, "config", "--local", "remote.origin.url")
	if err == nil && strings.TrimSpace(remote) == c.URL {
		return true, nil
	}
	return false, codersdk.Errorf(codersdk.CodeConflict, "%s exists and is not a clone of %s; name another directory, or remove it", dir, c.URL)
}

// fill clones into a directory, from the mirror or from the host. It reports whether the history is complete.
func (c *Clone) fill(ctx context.Context, dir string) (whole bool, err error) {
	r, err := c.fromMirror(ctx, dir)
	if err == nil {
		fmt.Fprintf(c.Out, "Received %s from the git mirror\n", c.URL)
		return true, c.checkOut(ctx, dir, r)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil { // what fromMirror stored before it failed
		return false, err
	}
	if ctx.Err() != nil {
		return false, err
	}
	c.explain(err)
	args := []string{"-c", "advice.detachedHead=false", "clone", "--depth=1"}
	if c.Branch != "" {
		args = append(args, "--branch="+c.Branch)
	}
	if err := c.git(ctx, "", append(args, "--", c.URL, dir)...); err != nil {
		return false, err
	}
	if err := c.git(ctx, dir, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"); err != nil {
		return false, err
	}
	_, err = os.Stat(shallowFile(dir))
	return errors.Is(err, os.ErrNotExist), nil // git clones whole what is on the same file system
}

// errNoMirror is the error if the server has no mirror, or it does not keep this remote.
var errNoMirror = errors.New("no mirror has this repository")

// errUpdating is the error while the mirror updates its copy.
var errUpdating = errors.New("the git mirror does not have the repository yet")

// fromMirror creates a repository at dir with the packs of the mirror's copy.
func (c *Clone) fromMirror(ctx context.Context, dir string) (seed.Repository, error) {
	packs, err := c.request(ctx, false)
	if err != nil {
		return seed.Repository{}, err
	}
	defer packs.Close()
	if err := c.git(ctx, "", "init", "--quiet", dir); err != nil {
		return seed.Repository{}, err
	}
	return seed.Install(packs, filepath.Join(dir, ".git"))
}

// request requests the mirror's copy as a seed. If the mirror has none, create makes it copy the repository; the line
// to the host is then busy.
func (c *Clone) request(ctx context.Context, create bool) (io.ReadCloser, error) {
	if c.Client == nil || !strings.HasPrefix(c.URL, "https://") && !strings.HasPrefix(c.URL, "http://") {
		return nil, errNoMirror
	}
	resp, err := c.Client.Request(ctx, http.MethodPost, "/workspaceagents/me/git-seed", nil, map[string]any{"url": c.URL, "create": create})
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp.Body, nil
	case http.StatusAccepted:
		err = errUpdating
	default:
		if err = codersdk.ReadError(resp); codersdk.Is(err, codersdk.CodeNotFound) {
			err = errNoMirror
		}
	}
	return nil, errors.Join(err, resp.Body.Close())
}

// checkOut makes the repository at dir, which has the packs of r, what git clone would make.
func (c *Clone) checkOut(ctx context.Context, dir string, r seed.Repository) error {
	var updates strings.Builder
	for ref, object := range r.Refs {
		if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			ref = "refs/remotes/origin/" + branch
		}
		fmt.Fprintf(&updates, "update %s %s\n", ref, object)
	}
	update := c.command(ctx, dir, "update-ref", "--stdin")
	update.Stdin = strings.NewReader(updates.String())
	if err := run(update); err != nil {
		return err
	}
	steps := [][]string{
		{"pack-refs", "--all"},
		{"remote", "add", "origin", c.URL},
	}
	if r.Head != "" {
		steps = append(steps, []string{"symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/" + strings.TrimPrefix(r.Head, "refs/heads/")})
	}
	branch := c.Branch
	if branch == "" {
		branch = strings.TrimPrefix(r.Head, "refs/heads/")
	}
	switch _, isBranch := r.Refs["refs/heads/"+branch]; {
	case isBranch:
		steps = append(steps, []string{"checkout", "--quiet", "-B", branch, "--track", "refs/remotes/origin/" + branch})
	case branch == "": // the remote has no default branch; git clone checks out nothing
	case r.Refs["refs/tags/"+branch] != "":
		steps = append(steps, []string{"checkout", "--quiet", "--detach", "refs/tags/" + branch})
	default:
		return codersdk.Errorf(codersdk.CodeNotFound, "%s has no branch or tag named %s", c.URL, branch)
	}
	for _, args := range steps {
		if err := c.git(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// command returns a git command that runs in dir.
func (c *Clone) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, c.Env
	cmd.Stdout, cmd.Stderr = c.Out, c.Out
	return cmd
}

// git runs a git command in dir.
func (c *Clone) git(ctx context.Context, dir string, args ...string) error {
	return run(c.command(ctx, dir, args...))
}

// output runs a git command in dir and returns what it prints.
func (c *Clone) output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := c.command(ctx, dir, args...)
	cmd.Stdout, cmd.Stderr = nil, nil
	out, err := cmd.Output()
	return string(out), err
}

// run runs a git command, which prints its own errors.
func run(cmd *exec.Cmd) error {
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	return nil
}
