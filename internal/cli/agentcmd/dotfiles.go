package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// dotfiles is one run of the command.
type dotfiles struct {
	*command.Run
	url, branch, symlinks, dir string
	yes                        bool
}

// dotfilesCommand returns the command that installs the user's dotfiles. (AG-20)
func dotfilesCommand(a *command.Run) *command.Command {
	d := &dotfiles{Run: a}
	return &command.Command{
		Name: "dotfiles", Args: "<git_repo_url>", Min: 1, Max: 1,
		Short: "Install your dotfiles from a git repository",
		Long: "Clones or updates the repository, then runs the first of these files that it contains: " + strings.Join(installers(), ", ") + ". " +
			"If there is none, every file and directory whose name starts with a dot is linked into your home " +
			"directory. Directories that already exist are merged. Existing files are renamed to <name>.bak.",
		Examples: []command.Example{
			{Text: "Install dotfiles from a startup script, without prompts", Line: "coder dotfiles --yes git@github.com:you/dotfiles.git"},
		},
		Options: []*option.Option{
			option.Path(&d.symlinks, a.Home(), "symlink-dir", "Directory for the links (default: your home directory)").Env("CODER_SYMLINK_DIR").As("string"),
			option.String(&d.branch, "branch", "Branch to check out (default: the repository's default branch)").Short("b"),
			option.String(&d.dir, "repo-dir", "Directory of the clone, relative to the configuration directory unless absolute").
				Env("CODER_DOTFILES_REPO_DIR").
				Def("dotfiles"),
			command.Yes(&d.yes),
		},
		Run: func(ctx context.Context, args []string) error {
			d.url = args[0]
			return d.run(ctx)
		},
	}
}

// installers returns the names of install scripts, in the order of preference.
func installers() []string {
	return []string{"install.sh", "install", "bootstrap.sh", "bootstrap", "script/bootstrap", "setup.sh", "setup", "script/setup"}
}

func (d *dotfiles) run(ctx context.Context) error {
	if strings.HasPrefix(d.url, "-") {
		return command.Failure("%q is not the URL of a git repository", d.url)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return command.Failure("git is not installed in this workspace; add it to the template's image")
	}
	if !filepath.IsAbs(d.dir) {
		d.dir = filepath.Join(d.ConfigDir, d.dir)
	}
	if d.symlinks == "" {
		d.symlinks = d.Home()
	}
	if err := d.Confirm(fmt.Sprintf("Install the dotfiles from %s?", d.url), d.yes); err != nil {
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

// fetch clones or updates the repository.
func (d *dotfiles) fetch(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(d.dir, ".git")); err != nil {
		if err := os.MkdirAll(filepath.Dir(d.dir), 0o750); err != nil {
			return fmt.Errorf("create the directory of the clone: %w", err)
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
		return command.Failure("%s contains a clone of %q; remove it, or choose another directory with --repo-dir", d.dir, had)
	}
	fmt.Fprintln(d.Stderr, "Updating", d.dir, "...")
	if err := d.git(ctx, d.dir, "fetch", "origin"); err != nil {
		return fmt.Errorf("fetch %s: %w", d.url, err)
	}
	if d.branch != "" {
		if err := d.git(ctx, d.dir, "checkout", d.branch); err != nil {
			return fmt.Errorf("check out the branch %s: %w", d.branch, err)
		}
	}
	if err := d.git(ctx, d.dir, "merge", "--ff-only"); err != nil {
		return fmt.Errorf("%s has local changes that conflict; commit and push them, or remove the directory: %w", d.dir, err)
	}
	return nil
}

// git runs git in a directory. It accepts unknown SSH host keys, because a
// startup script cannot prompt.
func (d *dotfiles) git(ctx context.Context, dir string, args ...string) error {
	ssh := d.Env["GIT_SSH_COMMAND"]
	if ssh == "" {
		ssh = "ssh"
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(d.Environ(), "GIT_SSH_COMMAND="+ssh+" -o StrictHostKeyChecking=accept-new")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.Stdin, d.RawErr, d.RawErr
	return cmd.Run()
}

func (d *dotfiles) install(ctx context.Context, name, file string, fi os.FileInfo) error {
	if fi.Mode()&0o111 == 0 {
		return command.Failure("%s in the repository is not executable; run 'git update-index --chmod=+x %s' there, commit and push", name, name)
	}
	fmt.Fprintf(d.Stderr, "Running %s ...\n", name)
	cmd := exec.CommandContext(ctx, file)
	cmd.Dir, cmd.Env = d.dir, d.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.Stdin, d.Raw, d.RawErr
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
		return command.Failure("the repository has neither an install script (%s) nor a dotfile", strings.Join(installers(), ", "))
	}
	return errors.Join(failed...)
}

// linkOne links one file or directory of the repository. An existing directory
// is merged: it keeps its content and gets links to that of the repository. It
// may contain the clone itself.
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
		fmt.Fprintf(d.Stderr, "%s already exists and is renamed to %s.bak\n", to, to)
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

// isDirectory reports whether path is a directory and not a symbolic link.
func isDirectory(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir()
}
