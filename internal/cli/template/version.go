package template

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func templatesVersionsCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "versions", Aliases: []string{"version"},
		Short: "Manage the versions of a template.",
		Examples: []app.Example{
			{Text: "List them", Line: "coder templates versions list my-template"},
			{Text: "Go back to an older one", Line: "coder templates versions promote --template my-template --template-version good-one"},
		},
		Subs: []*app.Command{
			versionsListCommand(a), versionsPromoteCommand(a),
			versionsArchiveCommand(a, "archive", "Archive versions: hide them, and let nothing use them any more."),
			versionsArchiveCommand(a, "unarchive", "Bring archived versions back."),
		},
	}
}

// versionRow is a version and whether it is the active one.
type versionRow struct {
	coder.TemplateVersion
	Active bool `json:"active"`
}

func versionsListCommand(a *app.Run) *app.Command {
	l := &app.Listing[versionRow]{
		All: []app.Column[versionRow]{
			{Name: "name", Show: func(v versionRow) string { return v.Name }},
			{Name: "created at", Show: func(v versionRow) string { return app.Date(v.CreatedAt) }},
			{Name: "created by", Show: func(v versionRow) string { return v.CreatedBy.Username }},
			{Name: "status", Show: func(v versionRow) string { return string(v.Job.Status) }},
			{Name: "active", Show: func(v versionRow) string {
				if v.Active {
					return "Active"
				}
				return ""
			}},
			{Name: "archived", Show: func(v versionRow) string { return app.YesNo(v.Archived) }},
		},
		NoMatch: "No versions.",
	}
	var archived bool
	var ref string
	return &app.Command{
		Name: "list", Args: "<template>", Min: 1, Max: 1,
		Short: "List the versions of a template, the newest first.",
		Options: []*option.Option{
			option.Bool(&archived, "include-archived", "Archived ones as well."), app.Org(&ref),
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

func versionsOf(ctx context.Context, c *client.Client, t coder.Template, archived bool) ([]versionRow, error) {
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

func versionsPromoteCommand(a *app.Run) *app.Command {
	var template, version, ref string
	return &app.Command{
		Name: "promote", Args: "--template=<template_name> --template-version=<template_version_name>", Max: 0,
		Short: "Make a version the active one.",
		Options: []*option.Option{
			option.String(&template, "template", "Template.").Short("t").Env("CODER_TEMPLATE_NAME"),
			option.String(&version, "template-version", "Version to make active.").Env("CODER_TEMPLATE_VERSION_NAME"),
			app.Org(&ref),
		},
		Run: func(ctx context.Context, _ []string) error {
			if template == "" || version == "" {
				return app.Failure("--template and --template-version are both needed")
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
			if err := c.UpdateActiveTemplateVersion(ctx, t.ID, coder.UpdateActiveTemplateVersion{ID: v.ID}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s is now the active version of %s.\n", v.Name, t.Name)
			return err
		},
	}
}

func versionsArchiveCommand(a *app.Run, verb, short string) *app.Command {
	var sure bool
	var ref string
	return &app.Command{
		Name: verb, Args: "<template-name> [template-version-names...]", Min: 1, Max: -1,
		Short:   short,
		Options: []*option.Option{app.Yes(&sure), app.Org(&ref)},
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
				name, err := a.Ask("Which version?", "", "name the versions after the template", nil)
				if err != nil {
					return err
				}
				names = []string{name}
			}
			for _, n := range names {
				if err := archiveVersion(ctx, a, c, t, n, verb, sure); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func archiveVersion(ctx context.Context, a *app.Run, c *client.Client, t coder.Template, name, verb string, sure bool) error {
	v, err := build.Version(ctx, a, c, t, name)
	if err != nil {
		return err
	}
	if v.Archived == (verb == "archive") {
		_, err := fmt.Fprintf(a.Stdout, "%s needs nothing done.\n", v.Name)
		return err
	}
	question := fmt.Sprintf("Archive %s of %s?", v.Name, t.Name)
	change, done := c.ArchiveTemplateVersion, "archived"
	if verb != "archive" {
		question = fmt.Sprintf("Bring back %s of %s?", v.Name, t.Name)
		change, done = c.UnarchiveTemplateVersion, "back"
	}
	if err := a.Confirm(question, sure); err != nil {
		return err
	}
	if err := change(ctx, v.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s is %s.\n", v.Name, done)
	return err
}
