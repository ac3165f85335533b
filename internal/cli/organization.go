package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func organizationColumns() []column[coder.Organization] {
	return []column[coder.Organization]{
		{"id", func(o coder.Organization) string { return o.ID.String() }},
		{"name", func(o coder.Organization) string { return o.Name }},
		{"display name", func(o coder.Organization) string { return o.DisplayName }},
		{"icon", func(o coder.Organization) string { return o.Icon }},
		{"description", func(o coder.Organization) string { return o.Description }},
		{"created at", func(o coder.Organization) string { return date(o.CreatedAt) }},
		{"updated at", func(o coder.Organization) string { return date(o.UpdatedAt) }},
		{"default", func(o coder.Organization) string { return yesNo(o.IsDefault) }},
	}
}

func (a *app) organizationsCommand() *command {
	var ref string
	return &command{
		name: "organizations", aliases: []string{"organization", "org", "orgs"}, args: "[subcommand]",
		short:   "Manage organizations and who belongs to them.",
		options: []*option.Option{org(&ref)},
		subs: []*command{
			a.organizationsCreateCommand(), a.organizationsListCommand(), a.organizationsShowCommand(&ref),
			a.organizationsDeleteCommand(), a.membersCommand(&ref),
		},
	}
}

func (a *app) organizationsCreateCommand() *command {
	var sure bool
	return &command{
		name: "create", args: "<organization name>", min: 1, max: 1,
		short:   "Make an organization.",
		options: []*option.Option{yes(&sure)},
		run: func(ctx context.Context, args []string) error {
			if err := coder.CheckName("name", args[0]); err != nil {
				return err
			}
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			if err := a.confirm("Make the organization "+args[0]+"?", sure); err != nil {
				return err
			}
			o, err := c.CreateOrganization(ctx, coder.CreateOrganizationRequest{Name: args[0]})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "Made organization %s (%s).\n", o.Name, o.ID)
			return err
		},
	}
}

func (a *app) organizationsDeleteCommand() *command {
	var sure bool
	return &command{
		name: "delete", aliases: []string{"rm"}, args: "<organization_name_or_id>", min: 1, max: 1,
		short:   "Delete an organization, which must hold nothing any more.",
		options: []*option.Option{yes(&sure)},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			o, err := a.organization(ctx, c, args[0])
			if err != nil {
				return err
			}
			if err := a.confirm("Delete the organization "+o.Name+"?", sure); err != nil {
				return err
			}
			if err := c.DeleteOrganization(ctx, o.ID.String()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "Deleted organization %s.\n", o.Name)
			return err
		},
	}
}

func (a *app) organizationsListCommand() *command {
	l := &listing[coder.Organization]{all: organizationColumns(), noMatch: "No organizations."}
	return &command{
		name: "list", aliases: []string{"ls"}, max: 0,
		short:   "List the organizations that you may see.",
		options: []*option.Option{l.columnOption("name,display name,id,default"), l.formatOption()},
		run: func(ctx context.Context, _ []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			all, err := c.Organizations(ctx)
			if err != nil {
				return err
			}
			return l.write(a, all)
		},
	}
}

func (a *app) organizationsShowCommand(ref *string) *command {
	var onlyID bool
	l := &listing[coder.Organization]{all: organizationColumns(), text: func(w io.Writer, rows []coder.Organization) error {
		for _, o := range rows {
			if _, err := fmt.Fprintf(w, "%s (%s)\n", o.Name, o.ID); err != nil {
				return err
			}
		}
		return nil
	}}
	return &command{
		name: "show", args: `["selected"|"me"|uuid|org_name]`, max: 1,
		short: "Show the organization in use, all of yours, or a given one.",
		examples: []example{
			{"The one that commands use when --org is not given", "coder organizations show selected"},
			{"All that you are in", "coder organizations show me"},
		},
		options: []*option.Option{
			option.Bool(&onlyID, "only-id", "Print only the id, for scripts."),
			l.columnOption("id,name,default"), l.formatOption("text", "table", "json"),
		},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			which := "selected"
			if len(args) > 0 {
				which = args[0]
			}
			var rows []coder.Organization
			if which == "me" {
				rows, err = c.UserOrganizations(ctx, "me")
			} else {
				if which == "selected" {
					which = *ref
				}
				var o coder.Organization
				o, err = a.organization(ctx, c, which)
				rows = []coder.Organization{o}
			}
			if err != nil {
				return err
			}
			if !onlyID {
				return l.write(a, rows)
			}
			for _, o := range rows {
				fmt.Fprintln(a.stdout, o.ID)
			}
			return nil
		},
	}
}
