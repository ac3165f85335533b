package inside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// dotfiles is one run of the command.
type dotfiles struct {
	*app.Run
	url, branch, symlinks, dir string
	yes                        bool
}

// dotfilesCommand brings a person's own files into a workspace. (AG-20)
func dotfilesCommand(a *app.Run) *app.Command {
	d := &dotfiles{Run: a}
	return &app.Command{
		Name: "dotfiles", Args: "<git_repo_url>", Min: 1, Max: 1,
		Short: "Bring your dotfiles into this workspace from a git repository.",
		Long: "Clones the repository, or brings the clone up to date, and runs the first of these that it has: " + strings.Join(installers(), ", ") + ". " +
			"Without any of them every file and directory whose name begins with a dot is linked from your home directory, inside of directories that you have already; what is in the way is kept as <name>.bak.",
		Examples: []app.Example{
			{Text: "From a start script, without questions", Line: "coder dotfiles --yes git@github.com:you/dotfiles.git"},
		},
		Options: []*option.Option{
			option.Path(&d.symlinks, a.Home(), "symlink-dir", "Directory to link files from, instead of your home directory.").Env("CODER_SYMLINK_DIR").As("string"),
			option.String(&d.branch, "branch", "Branch to take; the repository's own otherwise.").Short("b"),
			option.String(&d.dir, "repo-dir", "Directory of the clone, in the configuration directory unless it is absolute.").Env("CODER_DOTFILES_REPO_DIR").Def("dotfiles"),
			app.Yes(&d.yes),
		},
		Run: func(ctx context.Context, args []string) error {
			d.url = args[0]
			return d.run(ctx)
		},
	}
}

// installers are the programs of a repository that are looked for, in order.
func installers() []string {
	return []string{"install.sh", "install", "bootstrap.sh", "bootstrap", "script/bootstrap", "setup.sh", "setup", "script/setup"}
}

func (d *dotfiles) run(ctx context.Context) error {
	if strings.HasPrefix(d.url, "-") {
		return app.Failure("%q is not the URL of a git repository", d.url)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return app.Failure("git is not installed in this workspace; add it to the template's image")
	}
	if !filepath.IsAbs(d.dir) {
		d.dir = filepath.Join(d.ConfigDir, d.dir)
	}
	if d.symlinks == "" {
		d.symlinks = d.Home()
	}
	if err := d.Confirm(fmt.Sprintf("Install the dotfiles of %s?", d.url), d.yes); err != nil {
		return err
	}
	if err := d.fetch(ctx); err != nil {
		return err
	}
	for _, name := range installers() {
		file := filepath.Join(d.dir, filepath.FromSlash(name))
		fi, err := os.Stat(file)
		if err != nil || !fi.Mode().IsRegular() {
			continue
		}
		return d.install(ctx, name, file, fi)
	}
	return d.link()
}

// fetch clones the repository or brings the clone up to date.
func (d *dotfiles) fetch(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(d.dir, ".git")); err != nil {
		if err := os.MkdirAll(filepath.Dir(d.dir), 0o750); err != nil {
			return fmt.Errorf("make a directory for the clone: %w", err)
		}
		args := []string{"clone"}
		if d.branch != "" {
			args = append(args, "--branch", d.branch)
		}
		if err := d.git(ctx, "", append(args, "--", d.url, d.dir)...); err != nil {
			return fmt.Errorf("clone %s: %w", d.url, err)
		}
		return nil
	}
	out, err := exec.CommandContext(ctx, "git", "-C", d.dir, "remote", "get-url", "origin").Output()
	if had := strings.TrimSpace(string(out)); err != nil || had != d.url {
		return app.Failure("%s holds a clone of %q; remove it, or choose another directory with --repo-dir", d.dir, had)
	}
	fmt.Fprintln(d.Stderr, "Bringing", d.dir, "up to date ...")
	if err := d.git(ctx, d.dir, "fetch", "origin"); err != nil {
		return fmt.Errorf("fetch %s: %w", d.url, err)
	}
	if d.branch != "" {
		if err := d.git(ctx, d.dir, "checkout", d.branch); err != nil {
			return fmt.Errorf("check out the branch %s: %w", d.branch, err)
		}
	}
	if err := d.git(ctx, d.dir, "merge", "--ff-only"); err != nil {
		return fmt.Errorf("%s has changes of its own that are in the way; commit and push them, or remove the directory: %w", d.dir, err)
	}
	return nil
}

// git runs git in a directory. A host that ssh does not know is trusted when
// it is first seen, for a start script has nobody to ask.
func (d *dotfiles) git(ctx context.Context, dir string, args ...string) error {
	ssh := d.Env["GIT_SSH_COMMAND"]
	if ssh == "" {
		ssh = "ssh"
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(d.Environ(), "GIT_SSH_COMMAND="+ssh+" -o StrictHostKeyChecking=accept-new")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.Stdin, d.Stderr, d.Stderr
	return cmd.Run()
}

func (d *dotfiles) install(ctx context.Context, name, file string, fi os.FileInfo) error {
	if fi.Mode()&0o111 == 0 {
		return app.Failure("%s of the repository is not executable; run 'git update-index --chmod=+x %s' there, commit and push", name, name)
	}
	fmt.Fprintf(d.Stderr, "Running %s ...\n", name)
	cmd := exec.CommandContext(ctx, file)
	cmd.Dir, cmd.Env = d.dir, d.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.Stdin, d.Stdout, d.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s of the repository failed: %w", name, err)
	}
	return nil
}

// link links every dotfile of the repository.
func (d *dotfiles) link() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	n := 0
	var failed []error
	for _, e := range entries {
		switch name := e.Name(); {
		case !strings.HasPrefix(name, "."), name == ".git", name == ".github", name == ".gitmodules", name == ".gitattributes":
		default:
			n++
			failed = append(failed, d.linkOne(name))
		}
	}
	if n == 0 {
		return app.Failure("the repository has neither a program to run (%s) nor a file whose name begins with a dot", strings.Join(installers(), ", "))
	}
	return errors.Join(failed...)
}

// linkOne links a file or directory of the repository. A directory that is
// there already keeps what it has, and gets what is in the repository's: the
// clone itself may be below it.
func (d *dotfiles) linkOne(name string) error {
	from, to := filepath.Join(d.dir, name), filepath.Join(d.symlinks, name)
	if target, err := os.Readlink(to); err == nil && target == from {
		return nil
	}
	if entries, err := os.ReadDir(from); err == nil && isDirectory(to) {
		var failed []error
		for _, e := range entries {
			failed = append(failed, d.linkOne(filepath.Join(name, e.Name())))
		}
		return errors.Join(failed...)
	}
	if _, err := os.Lstat(to); err == nil {
		fmt.Fprintf(d.Stderr, "%s is in the way and is kept as %s.bak\n", to, to)
		if err := os.Rename(to, to+".bak"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(d.symlinks, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(d.Stderr, "Linking %s\n", to)
	return os.Symlink(from, to)
}

// isDirectory says that path is a directory and no link to one.
func isDirectory(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir()
}
