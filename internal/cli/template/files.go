package template

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/examples"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func templatesInitCommand(a *command.Run) *command.Command {
	var id string
	all, broken := examples.List()
	var ids []string
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return &command.Command{
		Name: "init", Args: "[directory]", Max: 1,
		Short:    "Create a directory from a starter template",
		Examples: []command.Example{{Text: "Create a template for Docker containers", Line: "coder templates init --id docker ./docker"}},
		Options:  []*option.Option{option.Choice(&id, "id", "Starter template", ids...)},
		Run: func(_ context.Context, args []string) error {
			if broken != nil {
				return broken
			}
			i := slices.Index(ids, id)
			if i < 0 {
				items := make([]command.Item, len(all))
				for n, t := range all {
					items[n] = command.Item{Label: t.ID, Note: t.Description}
				}
				var err error
				if i, err = a.Pick("Which starter template?", items, 0, "use --id with one of "+strings.Join(ids, ", ")); err != nil {
					return err
				}
			}
			dir := all[i].ID
			if len(args) == 1 {
				dir = args[0]
			}
			files, _ := examples.Source(all[i].ID)
			if err := writeStarter(dir, files); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.Stdout, "Created starter template %s in %s. Edit it as needed, then run:\n\n    coder templates push -d %s\n", all[i].ID, dir, dir)
			return err
		},
	}
}

// writeStarter copies files to dir. dir may exist, but must not contain any of
// the files.
func writeStarter(dir string, files fs.FS) error {
	var names []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return command.Failure("%s already exists; choose another directory", filepath.Join(dir, name))
		}
	}
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pullOptions holds the flags of templates pull.
type pullOptions struct {
	tar, zip, yes bool
	version, org  string
}

func templatesPullCommand(a *command.Run) *command.Command {
	var o pullOptions
	return &command.Command{
		Name: "pull", Args: "<name> [destination]", Min: 1, Max: 2,
		Short: "Download the source of a template",
		Long:  "The destination defaults to a directory with the name of the template. With --tar or --zip the archive is written to standard output.",
		Examples: []command.Example{
			{Text: "Download the active version to ./my-template", Line: "coder templates pull my-template"},
			{Text: "Download a zip archive", Line: "coder templates pull my-template --zip > my-template.zip"},
		},
		Options: []*option.Option{
			option.Bool(&o.tar, "tar", "Write a tar archive to standard output"),
			option.Bool(&o.zip, "zip", "Write a zip archive to standard output"),
			option.String(&o.version, "version", "Name of the version, or \"active\" (default: active)"),
			command.Yes(&o.yes), command.Org(&o.org),
		},
		Run: func(ctx context.Context, args []string) error { return templatesPull(ctx, a, args, &o) },
	}
}

func templatesPull(ctx context.Context, a *command.Run, args []string, o *pullOptions) error {
	if o.tar && o.zip {
		return command.Failure("--tar and --zip are mutually exclusive; use one of them")
	}
	if (o.tar || o.zip) && len(args) > 1 {
		return command.Failure("an archive is written to standard output; remove the destination")
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	t, err := build.Template(ctx, a, c, o.org, args[0])
	if err != nil {
		return err
	}
	v, err := c.TemplateVersion(ctx, t.ActiveVersionID)
	if o.version != "" && o.version != "active" {
		v, err = build.Version(ctx, a, c, t, o.version)
	}
	if err != nil {
		return err
	}
	q := url.Values{}
	if o.zip {
		q.Set("format", "zip")
	}
	data, err := c.Download(ctx, "/files/"+v.Job.FileID.String(), q)
	if err != nil {
		return err
	}
	if o.tar || o.zip {
		_, err = a.Raw.Write(data)
		return err
	}
	dir := t.Name
	if len(args) > 1 {
		dir = args[1]
	}
	if err := confirmDirectory(a, dir, o.yes); err != nil {
		return err
	}
	if err := archive.Unpack(data, dir, archive.Upload()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Downloaded version %s of template %s to %s.\n", v.Name, t.Name, dir)
	return err
}

// confirmDirectory prompts before files are written to a directory that is not
// empty.
func confirmDirectory(a *command.Run, dir string, sure bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "cannot write to %s: %s", dir, command.RootCause(err))
	}
	return a.Confirm(dir+" is not empty; files with the same names are overwritten. Continue?", sure)
}
