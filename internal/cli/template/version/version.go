// Package version is the command templates versions.
package version

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Command returns the command templates versions.
func Command(a *command.Run) *command.Command {
	return &command.Command{
		Name: "versions", Aliases: []string{"version"},
		Short: "Manage template versions",
		Examples: []command.Example{
			{Text: "List the versions", Line: "coder templates versions list my-template"},
			{Text: "Go back to an older version", Line: "coder templates versions promote --template my-template --template-version good-one"},
		},
		Subs: []*command.Command{
			versionsListCommand(a), versionsPromoteCommand(a),
			versionsArchiveCommand(a, "archive", "Archive template versions"),
			versionsArchiveCommand(a, "unarchive", "Unarchive template versions"),
		},
	}
}

// versionRow is a version, and whether it is the active one.
type versionRow struct {
	codersdk.TemplateVersion
	Active bool `json:"active"`
}

func versionsListCommand(a *command.Run) *command.Command {
	l := &command.Listing[versionRow]{
		All: []command.Column[versionRow]{
			{Name: "name", Show: func(v versionRow) string { return v.Name }},
			{Name: "created at", Show: func(v versionRow) string { return command.Date(v.CreatedAt) }},
			{Name: "created by", Show: func(v versionRow) string { return v.CreatedBy.Username }},
			{Name: "status", Show: func(v versionRow) string { return string(v.Job.Status) }},
			{Name: "active", Show: func(v versionRow) string {
				if v.Active {
					return "Active"
				}
				return ""
			}},
			{Name: "archived", Show: func(v versionRow) string { return command.YesNo(v.Archived) }},
		},
		NoMatch: "No versions found.",
	}
	var archived bool
	var ref string
	return &command.Command{
		Name: "list", Args: "<template>", Min: 1, Max: 1,
		Short: "List the versions of a template",
		Options: []*option.Option{
			option.Bool(&archived, "include-archived", "Include archived versions"), command.Org(&ref),
			l.ColumnOption("name,created at,created by,status,active"), l.FormatOption(),
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
			rows, err := versionsOf(ctx, c, t, archived)
			if err != nil {
				return err
			}
			slices.SortStableFunc(rows, func(x, y versionRow) int { return y.CreatedAt.Compare(x.CreatedAt) })
			return l.Write(a, rows)
		},
	}
}

func versionsOf(ctx context.Context, c *codersdk.Client, t codersdk.Template, archived bool) ([]versionRow, error) {
	var rows []versionRow
	for {
		q := url.Values{"limit": {"100"}, "offset": {strconv.Itoa(len(rows))}, "include_archived": {strconv.FormatBool(archived)}}
		page, err := c.TemplateVersions(ctx, t.ID, q)
		if err != nil {
			return nil, err
		}
		for _, v := range page {
			rows = append(rows, versionRow{v, v.ID == t.ActiveVersionID})
		}
		if len(page) < 100 {
			return rows, nil
		}
	}
}

func versionsPromoteCommand(a *command.Run) *command.Command {
	var template, version, ref string
	return &command.Command{
		Name: "promote", Args: "--template=<template_name> --template-version=<template_version_name>", Max: 0,
		Short: "Make a version the active version",
		Options: []*option.Option{
			option.String(&template, "template", "Template").Short("t").Env("CODER_TEMPLATE_NAME"),
			option.String(&version, "template-version", "Name of the version to promote").Env("CODER_TEMPLATE_VERSION_NAME"),
			command.Org(&ref),
		},
		Run: func(ctx context.Context, _ []string) error {
			if template == "" || version == "" {
				return command.Failure("--template and --template-version are required")
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			t, err := build.Template(ctx, a, c, ref, template)
			if err != nil {
				return err
			}
			v, err := build.Version(ctx, a, c, t, version)
			if err != nil {
				return err
			}
			if err := c.UpdateActiveTemplateVersion(ctx, t.ID, codersdk.UpdateActiveTemplateVersion{ID: v.ID}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s is now the active version of %s.\n", v.Name, t.Name)
			return err
		},
	}
}

func versionsArchiveCommand(a *command.Run, verb, short string) *command.Command {
	var sure bool
	var ref string
	return &command.Command{
		Name: verb, Args: "<template-name> [template-version-names...]", Min: 1, Max: -1,
		Short:   short,
		Options: []*option.Option{command.Yes(&sure), command.Org(&ref)},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			t, err := build.Template(ctx, a, c, ref, args[0])
			if err != nil {
				return err
			}
			names := args[1:]
			if len(names) == 0 {
				name, err := a.Ask("Name of the version:", "", "name the versions after the template", nil)
				if err != nil {
					return err
				}
				names = []string{name}
			}
			change := newArchiving(c, verb == "archive", sure)
			for _, n := range names {
				if err := change.run(ctx, a, t, n); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// archiving archives versions, or makes them available again.
type archiving struct {
	client    *codersdk.Client
	archived  bool // afterwards
	sure      bool
	verb      string
	change    func(ctx context.Context, version uuid.UUID) error
	completed string
}

func newArchiving(c *codersdk.Client, archived, sure bool) archiving {
	if archived {
		return archiving{c, true, sure, "Archive", c.ArchiveTemplateVersion, "archived"}
	}
	return archiving{c, false, sure, "Unarchive", c.UnarchiveTemplateVersion, "unarchived"}
}

func (r archiving) run(ctx context.Context, a *command.Run, t codersdk.Template, name string) error {
	v, err := build.Version(ctx, a, r.client, t, name)
	if err != nil {
		return err
	}
	if v.Archived == r.archived {
		_, err := fmt.Fprintf(a.Stdout, "%s: nothing to do.\n", v.Name)
		return err
	}
	if err := a.Confirm(fmt.Sprintf("%s %s of %s?", r.verb, v.Name, t.Name), r.sure); err != nil {
		return err
	}
	if err := r.change(ctx, v.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s is %s.\n", v.Name, r.completed)
	return err
}
