package cli

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
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func (a *app) templatesInitCommand() *command {
	var id string
	all, broken := examples.List()
	var ids []string
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return &command{
		name: "init", args: "[directory]", max: 1,
		short:    "Write a starter template to a directory, to begin from.",
		examples: []example{{"Begin with workspaces as containers", "coder templates init --id docker ./docker"}},
		options:  []*option.Option{option.Choice(&id, "id", "Which starter to write.", ids...)},
		run: func(_ context.Context, args []string) error {
			if broken != nil {
				return broken
			}
			i := slices.Index(ids, id)
			if i < 0 {
				items := make([]item, len(all))
				for n, t := range all {
					items[n] = item{t.ID, t.Description}
				}
				var err error
				if i, err = a.pick("Which starter template?", items, 0, "use --id with one of "+strings.Join(ids, ", ")); err != nil {
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
			_, err := fmt.Fprintf(a.stdout, "The starter template %s is in %s. Change it as you like, then:\n\n    coder templates push -d %s\n", all[i].ID, dir, dir)
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
			return failure("%s is there already; choose another directory", filepath.Join(dir, name))
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

func (a *app) templatesPullCommand() *command {
	var o pullOptions
	return &command{
		name: "pull", args: "<name> [destination]", min: 1, max: 2,
		short: "Download the files of a template.",
		long:  "Without a destination they go to a directory named after the template, or, as an archive, to standard output.",
		examples: []example{
			{"Get the active version into ./my-template", "coder templates pull my-template"},
			{"Keep an archive", "coder templates pull my-template --zip > my-template.zip"},
		},
		options: []*option.Option{
			option.Bool(&o.tar, "tar", "Write a tar archive to standard output."),
			option.Bool(&o.zip, "zip", "Write a zip archive to standard output."),
			option.String(&o.version, "version", "Version by name, or \"active\"; the active one otherwise."),
			yes(&o.yes), org(&o.org),
		},
		run: func(ctx context.Context, args []string) error { return a.templatesPull(ctx, args, &o) },
	}
}

func (a *app) templatesPull(ctx context.Context, args []string, o *pullOptions) error {
	if o.tar && o.zip {
		return failure("--tar and --zip contradict one another")
	}
	if (o.tar || o.zip) && len(args) > 1 {
		return failure("an archive goes to standard output; leave the destination away")
	}
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	t, err := a.template(ctx, c, o.org, args[0])
	if err != nil {
		return err
	}
	v, err := c.TemplateVersion(ctx, t.ActiveVersionID)
	if o.version != "" && o.version != "active" {
		v, err = a.version(ctx, c, t, o.version)
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
		_, err = a.stdout.Write(data)
		return err
	}
	dir := t.Name
	if len(args) > 1 {
		dir = args[1]
	}
	if err := a.confirmDirectory(dir, o.yes); err != nil {
		return err
	}
	if err := archive.Unpack(data, dir, archive.Upload()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Version %s of template %s is in %s.\n", v.Name, t.Name, dir)
	return err
}

// confirmDirectory asks before files go into a directory that has some.
func (a *app) confirmDirectory(dir string, sure bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return coder.Errorf(coder.CodeInvalid, "%s cannot be written to: %s", dir, rootCause(err))
	}
	return a.confirm(dir+" is not empty; files of the same names are replaced. Go on?", sure)
}
