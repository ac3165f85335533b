package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func (a *app) templatesVersionsCommand() *command {
	return &command{
		name: "versions", aliases: []string{"version"},
		short: "Manage the versions of a template.",
		examples: []example{
			{"List them", "coder templates versions list my-template"},
			{"Go back to an older one", "coder templates versions promote --template my-template --template-version good-one"},
		},
		subs: []*command{
			a.versionsListCommand(), a.versionsPromoteCommand(),
			a.versionsArchiveCommand("archive", "Archive versions: hide them, and let nothing use them any more."),
			a.versionsArchiveCommand("unarchive", "Bring archived versions back."),
		},
	}
}

// version finds a version of a template by name.
func (a *app) version(ctx context.Context, c *client.Client, t coder.Template, name string) (coder.TemplateVersion, error) {
	v, err := c.TemplateVersionByName(ctx, t.ID, name)
	if coder.Is(err, coder.CodeNotFound) {
		return v, coder.Errorf(coder.CodeNotFound, "template %s has no version %q", t.Name, name)
	}
	return v, err
}

// versionRow is a version and whether it is the active one.
type versionRow struct {
	coder.TemplateVersion
	Active bool `json:"active"`
}

func (a *app) versionsListCommand() *command {
	l := &listing[versionRow]{
		all: []column[versionRow]{
			{"name", func(v versionRow) string { return v.Name }},
			{"created at", func(v versionRow) string { return date(v.CreatedAt) }},
			{"created by", func(v versionRow) string { return v.CreatedBy.Username }},
			{"status", func(v versionRow) string { return string(v.Job.Status) }},
			{"active", func(v versionRow) string {
				if v.Active {
					return "Active"
				}
				return ""
			}},
			{"archived", func(v versionRow) string { return yesNo(v.Archived) }},
		},
		noMatch: "No versions.",
	}
	var archived bool
	var ref string
	return &command{
		name: "list", args: "<template>", min: 1, max: 1,
		short: "List the versions of a template, the newest first.",
		options: []*option.Option{
			option.Bool(&archived, "include-archived", "Archived ones as well."), org(&ref),
			l.columnOption("name,created at,created by,status,active"), l.formatOption(),
		},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			t, err := a.template(ctx, c, ref, args[0])
			if err != nil {
				return err
			}
			rows, err := versionsOf(ctx, c, t, archived)
			if err != nil {
				return err
			}
			slices.SortStableFunc(rows, func(x, y versionRow) int { return y.CreatedAt.Compare(x.CreatedAt) })
			return l.write(a, rows)
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

func (a *app) versionsPromoteCommand() *command {
	var template, version, ref string
	return &command{
		name: "promote", args: "--template=<template_name> --template-version=<template_version_name>", max: 0,
		short: "Make a version the active one.",
		options: []*option.Option{
			option.String(&template, "template", "Template.").Short("t").Env("CODER_TEMPLATE_NAME"),
			option.String(&version, "template-version", "Version to make active.").Env("CODER_TEMPLATE_VERSION_NAME"),
			org(&ref),
		},
		run: func(ctx context.Context, _ []string) error {
			if template == "" || version == "" {
				return failure("--template and --template-version are both needed")
			}
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			t, err := a.template(ctx, c, ref, template)
			if err != nil {
				return err
			}
			v, err := a.version(ctx, c, t, version)
			if err != nil {
				return err
			}
			if err := c.UpdateActiveTemplateVersion(ctx, t.ID, coder.UpdateActiveTemplateVersion{ID: v.ID}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s is now the active version of %s.\n", v.Name, t.Name)
			return err
		},
	}
}

func (a *app) versionsArchiveCommand(verb, short string) *command {
	var sure bool
	var ref string
	return &command{
		name: verb, args: "<template-name> [template-version-names...]", min: 1, max: -1,
		short:   short,
		options: []*option.Option{yes(&sure), org(&ref)},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			t, err := a.template(ctx, c, ref, args[0])
			if err != nil {
				return err
			}
			names := args[1:]
			if len(names) == 0 {
				name, err := a.ask("Which version?", "", "name the versions after the template", nil)
				if err != nil {
					return err
				}
				names = []string{name}
			}
			for _, n := range names {
				if err := a.archiveVersion(ctx, c, t, n, verb, sure); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) archiveVersion(ctx context.Context, c *client.Client, t coder.Template, name, verb string, sure bool) error {
	v, err := a.version(ctx, c, t, name)
	if err != nil {
		return err
	}
	if v.Archived == (verb == "archive") {
		_, err := fmt.Fprintf(a.stdout, "%s needs nothing done.\n", v.Name)
		return err
	}
	question := fmt.Sprintf("Archive %s of %s?", v.Name, t.Name)
	change, done := c.ArchiveTemplateVersion, "archived"
	if verb != "archive" {
		question = fmt.Sprintf("Bring back %s of %s?", v.Name, t.Name)
		change, done = c.UnarchiveTemplateVersion, "back"
	}
	if err := a.confirm(question, sure); err != nil {
		return err
	}
	if err := change(ctx, v.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s is %s.\n", v.Name, done)
	return err
}
