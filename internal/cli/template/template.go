// Package template is the family of commands about templates: making a
// directory from a starter, uploading it as a version, editing, versions and
// their archive, presets.
//
// A push is an import job: the directory becomes an archive, a provisioner
// reads it, and its log is followed; what a workspace would be made of is shown
// at the end. Variables without a value are asked for and the import runs
// again.
package template

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

// Commands are the commands of this family.
func Commands(a *app.Run) []*app.Command {
	return []*app.Command{templatesCommand(a), prebuildsCommand(a)}
}

func templatesCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "templates", Aliases: []string{"template"},
		Short: "Manage templates, from which workspaces are made.",
		Long: "A template is a directory of Terraform files. Each upload makes a version; new workspaces, and " +
			"those that are updated, use the active one.",
		Examples: []app.Example{
			{Text: "Begin with a starter", Line: "coder templates init --id docker ./my-template"},
			{Text: "Upload the directory, as a new template or a new version", Line: "coder templates push my-template -d ./my-template"},
			{Text: "Change settings", Line: "coder templates edit my-template --default-ttl 8h"},
		},
		Subs: []*app.Command{
			templatesInitCommand(a), templatesPushCommand(a), templatesCreateCommand(a), templatesPullCommand(a),
			templatesListCommand(a), templatesEditCommand(a), templatesDeleteCommand(a), templatesArchiveCommand(a),
			templatesVersionsCommand(a), templatesPresetsCommand(a),
		},
	}
}

func templatesListCommand(a *app.Run) *app.Command {
	type row = coder.Template
	l := &app.Listing[row]{
		All: []app.Column[row]{
			{Name: "name", Show: func(t row) string { return t.Name }},
			{Name: "created at", Show: func(t row) string { return app.Date(t.CreatedAt) }},
			{Name: "last updated", Show: func(t row) string { return app.Date(t.UpdatedAt) }},
			{Name: "organization id", Show: func(t row) string { return t.OrganizationID.String() }},
			{Name: "organization name", Show: func(t row) string { return t.OrganizationName }},
			{Name: "provisioner", Show: func(t row) string { return t.Provisioner }},
			{Name: "active version id", Show: func(t row) string { return t.ActiveVersionID.String() }},
			{Name: "used by", Show: func(t row) string {
				return fmt.Sprintf("%d developer%s", t.ActiveUserCount, app.Plural(t.ActiveUserCount))
			}},
			{Name: "default ttl", Show: func(t row) string { return terminal.Span(time.Duration(t.DefaultTTLMS) * time.Millisecond) }},
		},
		NoMatch: "No templates. Begin with 'coder templates init', then 'coder templates push'.",
	}
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the templates that you may use.",
		Options: []*option.Option{l.ColumnOption("name,organization name,last updated,used by"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			all, err := c.Templates(ctx, nil)
			if err != nil {
				return err
			}
			return l.Write(a, all)
		},
	}
}

func templatesDeleteCommand(a *app.Run) *app.Command {
	var sure bool
	var ref string
	return &app.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "[name...]", Max: -1,
		Short:   "Delete templates, which no workspace may use any more.",
		Options: []*option.Option{app.Yes(&sure), app.Org(&ref)},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			templates, err := templatesNamed(ctx, a, c, ref, args)
			if err != nil {
				return err
			}
			for _, t := range templates {
				if err := a.Confirm("Delete the template "+t.Name+"?", sure); err != nil {
					return err
				}
				if err := c.DeleteTemplate(ctx, t.ID); err != nil {
					if strings.Contains(err.Error(), t.Name) { // it says which
						return err
					}
					return fmt.Errorf("template %s: %w", t.Name, err)
				}
				fmt.Fprintf(a.Stdout, "Deleted template %s.\n", t.Name)
			}
			return nil
		},
	}
}

// templatesNamed finds templates by name, or asks for one when there are no names.
func templatesNamed(ctx context.Context, a *app.Run, c *client.Client, ref string, names []string) ([]coder.Template, error) {
	if len(names) == 0 {
		t, err := build.PickTemplate(ctx, a, c, ref, "name the template")
		return []coder.Template{t}, err
	}
	var out []coder.Template
	for _, n := range names {
		t, err := build.Template(ctx, a, c, ref, n)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func templatesArchiveCommand(a *app.Run) *app.Command {
	var sure, all bool
	var ref string
	return &app.Command{
		Name: "archive", Args: "[template-name...]", Max: -1,
		Short: "Archive the failed versions of templates, or all that nothing uses.",
		Options: []*option.Option{
			app.Yes(&sure), option.Bool(&all, "all", "Archive every version that no workspace uses, not only those that failed."), app.Org(&ref),
		},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			templates, err := templatesNamed(ctx, a, c, ref, args)
			if err != nil {
				return err
			}
			for _, t := range templates {
				if err := a.Confirm("Archive unused versions of "+t.Name+"?", sure); err != nil {
					return err
				}
				if err := c.ArchiveTemplateVersions(ctx, t.ID, coder.ArchiveTemplateVersionsRequest{All: all}); err != nil {
					return err
				}
				fmt.Fprintf(a.Stdout, "Archived versions of %s that nothing uses.\n", t.Name)
			}
			return nil
		},
	}
}

func templatesPresetsCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "presets", Aliases: []string{"preset"},
		Short: "Show presets, the named sets of parameter values of a template.",
		Subs:  []*app.Command{templatesPresetsListCommand(a)},
	}
}

func templatesPresetsListCommand(a *app.Run) *app.Command {
	type row = coder.Preset
	l := &app.Listing[row]{
		All: []app.Column[row]{
			{Name: "name", Show: func(p row) string { return p.Name }},
			{Name: "description", Show: func(p row) string { return p.Description }},
			{Name: "parameters", Show: func(p row) string {
				s := ""
				for i, v := range p.Parameters {
					if i > 0 {
						s += ","
					}
					s += v.Name + "=" + v.Value
				}
				return s
			}},
			{Name: "default", Show: func(p row) string { return app.YesNo(p.Default) }},
			{Name: "desired prebuild instances", Show: func(p row) string { return fmt.Sprint(p.DesiredPrebuildInstances) }},
		},
		NoMatch: "This version has no presets.",
	}
	var version, ref string
	return &app.Command{
		Name: "list", Args: "<template>", Min: 1, Max: 1,
		Short: "List the presets of a template's version.",
		Options: []*option.Option{
			option.String(&version, "template-version", "Version; the active one otherwise."), app.Org(&ref),
			l.ColumnOption("name,description,parameters,default,desired prebuild instances"), l.FormatOption(),
		},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			t, err := build.Template(ctx, a, c, ref, args[0])
			if err != nil {
				return err
			}
			id := t.ActiveVersionID
			if version != "" {
				v, err := build.Version(ctx, a, c, t, version)
				if err != nil {
					return err
				}
				id = v.ID
			}
			all, err := c.TemplateVersionPresets(ctx, id)
			if err != nil {
				return err
			}
			return l.Write(a, all)
		},
	}
}
