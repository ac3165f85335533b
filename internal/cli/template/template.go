// Package template is the command group for templates: starter templates, push
// and pull, settings, versions and their archive, presets.
//
// A push is an import job. The command uploads the directory as an archive, a
// provisioner imports it, and the command follows the log and prints the
// resources of a workspace. When variables have no value, the command prompts
// for them and imports again.
package template

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/template/version"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Commands returns the commands of this package.
func Commands(a *command.Run) []*command.Command {
	return []*command.Command{templatesCommand(a), prebuildsCommand(a)}
}

func templatesCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "templates", Aliases: []string{"template"},
		Short: "Manage templates",
		Long:  "A template is a directory of Terraform files. Each upload creates a version. New and updated workspaces use the active version.",
		Examples: []command.Example{
			{Text: "Create a directory from a starter template", Line: "coder templates init --id docker ./my-template"},
			{Text: "Push the directory as a new template or version", Line: "coder templates push my-template -d ./my-template"},
			{Text: "Edit settings", Line: "coder templates edit my-template --default-ttl 8h"},
		},
		Subs: []*command.Command{
			templatesInitCommand(a), templatesPushCommand(a), templatesCreateCommand(a), templatesPullCommand(a),
			templatesListCommand(a), templatesEditCommand(a), templatesDeleteCommand(a), templatesArchiveCommand(a),
			version.Command(a), templatesPresetsCommand(a),
		},
	}
}

// templateRow is a template in the JSON form of a list: below the key
// "Template".
type templateRow struct {
	codersdk.Template `json:"Template"`
}

func templatesListCommand(a *command.Run) *command.Command {
	type row = templateRow
	l := &command.Listing[row]{
		All: []command.Column[row]{
			{Name: "name", Show: func(t row) string { return t.Name }},
			{Name: "created at", Show: func(t row) string { return command.Date(t.CreatedAt) }},
			{Name: "last updated", Show: func(t row) string { return command.Date(t.UpdatedAt) }},
			{Name: "organization id", Show: func(t row) string { return t.OrganizationID.String() }},
			{Name: "organization name", Show: func(t row) string { return t.OrganizationName }},
			{Name: "provisioner", Show: func(t row) string { return t.Provisioner }},
			{Name: "active version id", Show: func(t row) string { return t.ActiveVersionID.String() }},
			{Name: "used by", Show: func(t row) string {
				return fmt.Sprintf("%d developer%s", t.ActiveUserCount, command.Plural(t.ActiveUserCount))
			}},
			{Name: "default ttl", Show: func(t row) string { return terminal.Span(time.Duration(t.DefaultTTLMS) * time.Millisecond) }},
		},
		NoMatch: "No templates found. Create one with 'coder templates init', then 'coder templates push'.",
	}
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List templates",
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
			rows := make([]row, len(all))
			for i, t := range all {
				rows[i] = row{t}
			}
			return l.Write(a, rows)
		},
	}
}

func templatesDeleteCommand(a *command.Run) *command.Command {
	var sure bool
	var ref string
	return &command.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "[name...]", Max: -1,
		Short:   "Delete templates (fails while workspaces use them)",
		Options: []*option.Option{command.Yes(&sure), command.Org(&ref)},
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
				if err := a.Confirm("Delete template "+t.Name+"?", sure); err != nil {
					return err
				}
				if err := c.DeleteTemplate(ctx, t.ID); err != nil {
					if strings.Contains(err.Error(), t.Name) { // the error names the template
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

// templatesNamed returns the templates with these names, or prompts for one.
func templatesNamed(ctx context.Context, a *command.Run, c *codersdk.Client, ref string, names []string) ([]codersdk.Template, error) {
	if len(names) == 0 {
		t, err := build.PickTemplate(ctx, a, c, ref, "use 'coder templates <command> <name>'")
		return []codersdk.Template{t}, err
	}
	var out []codersdk.Template
	for _, n := range names {
		t, err := build.Template(ctx, a, c, ref, n)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func templatesArchiveCommand(a *command.Run) *command.Command {
	var sure, all bool
	var ref string
	return &command.Command{
		Name: "archive", Args: "[template-name...]", Max: -1,
		Short: "Archive unused failed versions, or all unused versions, of templates",
		Options: []*option.Option{
			command.Yes(&sure), option.Bool(&all, "all", "Archive every unused version, not only failed ones"), command.Org(&ref),
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
				if err := a.Confirm("Archive the unused versions of "+t.Name+"?", sure); err != nil {
					return err
				}
				if err := c.ArchiveTemplateVersions(ctx, t.ID, codersdk.ArchiveTemplateVersionsRequest{All: all}); err != nil {
					return err
				}
				fmt.Fprintf(a.Stdout, "Archived the unused versions of %s.\n", t.Name)
			}
			return nil
		},
	}
}

func templatesPresetsCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "presets", Aliases: []string{"preset"},
		Short: "Manage presets of a template",
		Subs:  []*command.Command{templatesPresetsListCommand(a)},
	}
}

// presetRow is a preset in the JSON form of a list: below the key
// "TemplatePreset", with capitalized field names.
type presetRow struct {
	Preset presetJSON `json:"TemplatePreset"`
}

type presetJSON struct {
	ID                       uuid.UUID
	Name                     string
	Description              string
	Icon                     string
	Default                  bool
	DesiredPrebuildInstances int64
	Parameters               []presetParameter
}

type presetParameter struct{ Name, Value string }

func newPresetRow(p codersdk.Preset) presetRow {
	out := presetJSON{
		ID: p.ID, Name: p.Name, Description: p.Description, Icon: p.Icon, Default: p.Default,
		DesiredPrebuildInstances: int64(p.DesiredPrebuildInstances), Parameters: []presetParameter{},
	}
	for _, v := range p.Parameters {
		out.Parameters = append(out.Parameters, presetParameter{v.Name, v.Value})
	}
	return presetRow{out}
}

func templatesPresetsListCommand(a *command.Run) *command.Command {
	type row = presetRow
	l := &command.Listing[row]{
		All: []command.Column[row]{
			{Name: "name", Show: func(p row) string { return p.Preset.Name }},
			{Name: "description", Show: func(p row) string { return p.Preset.Description }},
			{Name: "parameters", Show: func(p row) string {
				s := ""
				for i, v := range p.Preset.Parameters {
					if i > 0 {
						s += ","
					}
					s += v.Name + "=" + v.Value
				}
				return s
			}},
			{Name: "default", Show: func(p row) string { return command.YesNo(p.Preset.Default) }},
			{Name: "desired prebuild instances", Show: func(p row) string { return fmt.Sprint(p.Preset.DesiredPrebuildInstances) }},
		},
		NoMatch: "This version has no presets.",
	}
	var version, ref string
	return &command.Command{
		Name: "list", Args: "<template>", Min: 1, Max: 1,
		Short: "List the presets of a template version",
		Options: []*option.Option{
			option.String(&version, "template-version", "Name of the template version (default: the active version)"), command.Org(&ref),
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
			rows := make([]row, len(all))
			for i, p := range all {
				rows[i] = newPresetRow(p)
			}
			return l.Write(a, rows)
		},
	}
}
