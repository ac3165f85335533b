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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/examples"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func templatesInitCommand(a *app.Run) *app.Command {
	var id string
	all, broken := examples.List()
	var ids []string
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return &app.Command{
		Name: "init", Args: "[directory]", Max: 1,
		Short:    "Write a starter template to a directory, to begin from.",
		Examples: []app.Example{{Text: "Begin with workspaces as containers", Line: "coder templates init --id docker ./docker"}},
		Options:  []*option.Option{option.Choice(&id, "id", "Which starter to write.", ids...)},
		Run: func(_ context.Context, args []string) error {
			if broken != nil {
				return broken
			}
			i := slices.Index(ids, id)
			if i < 0 {
				items := make([]app.Item, len(all))
				for n, t := range all {
					items[n] = app.Item{Label: t.ID, Note: t.Description}
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
			_, err := fmt.Fprintf(a.Stdout, "The starter template %s is in %s. Change it as you like, then:\n\n    coder templates push -d %s\n", all[i].ID, dir, dir)
			return err
		},
	}
}

// writeStarter copies files into dir, which may exist but must hold none of them.
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
			return app.Failure("%s is there already; choose another directory", filepath.Join(dir, name))
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

// pullOptions are the flags of templates pull.
type pullOptions struct {
	tar, zip, yes bool
	version, org  string
}

func templatesPullCommand(a *app.Run) *app.Command {
	var o pullOptions
	return &app.Command{
		Name: "pull", Args: "<name> [destination]", Min: 1, Max: 2,
		Short: "Download the files of a template.",
		Long:  "Without a destination they go to a directory named after the template, or, as an archive, to standard output.",
		Examples: []app.Example{
			{Text: "Get the active version into ./my-template", Line: "coder templates pull my-template"},
			{Text: "Keep an archive", Line: "coder templates pull my-template --zip > my-template.zip"},
		},
		Options: []*option.Option{
			option.Bool(&o.tar, "tar", "Write a tar archive to standard output."),
			option.Bool(&o.zip, "zip", "Write a zip archive to standard output."),
			option.String(&o.version, "version", "Version by name, or \"active\"; the active one otherwise."),
			app.Yes(&o.yes), app.Org(&o.org),
		},
		Run: func(ctx context.Context, args []string) error { return templatesPull(ctx, a, args, &o) },
	}
}

func templatesPull(ctx context.Context, a *app.Run, args []string, o *pullOptions) error {
	if o.tar && o.zip {
		return app.Failure("--tar and --zip contradict one another")
	}
	if (o.tar || o.zip) && len(args) > 1 {
		return app.Failure("an archive goes to standard output; leave the destination away")
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
		_, err = a.Stdout.Write(data)
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
	_, err = fmt.Fprintf(a.Stdout, "Version %s of template %s is in %s.\n", v.Name, t.Name, dir)
	return err
}

// confirmDirectory asks before files go into a directory that has some.
func confirmDirectory(a *app.Run, dir string, sure bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return coder.Errorf(coder.CodeInvalid, "%s cannot be written to: %s", dir, app.RootCause(err))
	}
	return a.Confirm(dir+" is not empty; files of the same names are replaced. Go on?", sure)
}
