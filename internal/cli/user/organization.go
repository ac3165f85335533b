package user

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func organizationColumns() []command.Column[codersdk.Organization] {
	return []command.Column[codersdk.Organization]{
		{Name: "id", Show: func(o codersdk.Organization) string { return o.ID.String() }},
		{Name: "name", Show: func(o codersdk.Organization) string { return o.Name }},
		{Name: "display name", Show: func(o codersdk.Organization) string { return o.DisplayName }},
		{Name: "icon", Show: func(o codersdk.Organization) string { return o.Icon }},
		{Name: "description", Show: func(o codersdk.Organization) string { return o.Description }},
		{Name: "created at", Show: func(o codersdk.Organization) string { return command.Date(o.CreatedAt) }},
		{Name: "updated at", Show: func(o codersdk.Organization) string { return command.Date(o.UpdatedAt) }},
		{Name: "default", Show: func(o codersdk.Organization) string { return command.YesNo(o.IsDefault) }},
		{Name: "provisioner weight", Show: func(o codersdk.Organization) string { return strconv.Itoa(o.ProvisionerWeight) }},
	}
}

func organizationsCommand(a *command.Run) *command.Command {
	var ref string
	return &command.Command{
		Name: "organizations", Aliases: []string{"organization", "org", "orgs"}, Args: "[subcommand]",
		Short:   "Manage organizations and their members",
		Options: []*option.Option{command.Org(&ref)},
		Subs: []*command.Command{
			organizationsCreateCommand(a), organizationsListCommand(a), organizationsShowCommand(a, &ref),
			organizationsEditCommand(a), organizationsDeleteCommand(a), membersCommand(a, &ref), rolesCommand(a, &ref), settingsCommand(a, &ref),
		},
	}
}

func organizationsCreateCommand(a *command.Run) *command.Command {
	var sure bool
	return &command.Command{
		Name: "create", Args: "<organization name>", Min: 1, Max: 1,
		Short:   "Create an organization",
		Options: []*option.Option{command.Yes(&sure)},
		Run: func(ctx context.Context, args []string) error {
			if err := codersdk.CheckName("name", args[0]); err != nil {
				return err
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := a.Confirm("Create organization "+args[0]+"?", sure); err != nil {
				return err
			}
			o, err := c.CreateOrganization(ctx, codersdk.CreateOrganizationRequest{Name: args[0]})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Created organization %s (%s).\n", o.Name, o.ID)
			return err
		},
	}
}

func organizationsEditCommand(a *command.Run) *command.Command {
	var req codersdk.UpdateOrganizationRequest
	var weight int
	var sure bool
	weigh := option.Int(&weight, "provisioner-weight",
		"Share of the built-in provisioners, from 0 to 100. Organizations with pending jobs share the "+
			"built-in provisioners in proportion to their weights; 0 means none. Owners only")
	options := []*option.Option{
		option.String(&req.Name, "name", "New name"),
		option.String(&req.DisplayName, "display-name", "New display name"),
		option.String(&req.Description, "description", "New description"),
		option.String(&req.Icon, "icon", "New icon, as a path or URL"),
		weigh,
	}
	return &command.Command{
		Name: "edit", Args: "<organization_name_or_id>", Min: 1, Max: 1,
		Short:    "Edit an organization",
		Examples: []command.Example{{Text: "Let the built-in provisioners serve the organization", Line: "coder organizations edit acme --provisioner-weight 1"}},
		Options:  append(slices.Clone(options), command.Yes(&sure)),
		Run: func(ctx context.Context, args []string) error {
			if !slices.ContainsFunc(options, (*option.Option).Given) {
				return command.Failure("nothing to change: use --name, --display-name, --description, --icon or --provisioner-weight")
			}
			if weigh.Given() {
				if err := codersdk.CheckProvisionerWeight(weight); err != nil {
					return err
				}
				req.ProvisionerWeight = &weight
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			o, err := a.Organization(ctx, c, args[0])
			if err != nil {
				return err
			}
			if err := a.Confirm("Change organization "+o.Name+"?", sure); err != nil {
				return err
			}
			if o, err = c.UpdateOrganization(ctx, o.ID.String(), req); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Changed organization %s.\n", o.Name)
			return err
		},
	}
}

func organizationsDeleteCommand(a *command.Run) *command.Command {
	var sure bool
	return &command.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<organization_name_or_id>", Min: 1, Max: 1,
		Short:   "Delete an organization",
		Options: []*option.Option{command.Yes(&sure)},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			o, err := a.Organization(ctx, c, args[0])
			if err != nil {
				return err
			}
			if err := a.Confirm("Delete organization "+o.Name+"?", sure); err != nil {
				return err
			}
			if err := c.DeleteOrganization(ctx, o.ID.String()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Deleted organization %s.\n", o.Name)
			return err
		},
	}
}

func organizationsListCommand(a *command.Run) *command.Command {
	l := &command.Listing[codersdk.Organization]{All: organizationColumns(), NoMatch: "No organizations found."}
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the organizations that you can access",
		Options: []*option.Option{l.ColumnOption("name,display name,id,default"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			all, err := c.Organizations(ctx)
			if err != nil {
				return err
			}
			return l.Write(a, all)
		},
	}
}

func organizationsShowCommand(a *command.Run, ref *string) *command.Command {
	var onlyID bool
	l := &command.Listing[codersdk.Organization]{All: organizationColumns(), Text: func(w io.Writer, rows []codersdk.Organization) error {
		for _, o := range rows {
			if _, err := fmt.Fprintf(w, "%s (%s)\n", o.Name, o.ID); err != nil {
				return err
			}
		}
		return nil
	}}
	return &command.Command{
		Name: "show", Args: `["selected"|"me"|uuid|org_name]`, Max: 1,
		Short: "Show the current organization, all of yours, or a given one",
		Examples: []command.Example{
			{Text: "Show the default organization of commands without --org", Line: "coder organizations show selected"},
			{Text: "Show all organizations that you are a member of", Line: "coder organizations show me"},
		},
		Options: []*option.Option{
			option.Bool(&onlyID, "only-id", "Print the ID only"),
			l.ColumnOption("id,name,default"), l.FormatOption("text", "table", "json"),
		},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			which := "selected"
			if len(args) > 0 {
				which = args[0]
			}
			var rows []codersdk.Organization
			if which == "me" {
				rows, err = c.UserOrganizations(ctx, "me")
			} else {
				if which == "selected" {
					which = *ref
				}
				var o codersdk.Organization
				o, err = a.Organization(ctx, c, which)
				rows = []codersdk.Organization{o}
			}
			if err != nil {
				return err
			}
			if !onlyID {
				return l.Write(a, rows)
			}
			for _, o := range rows {
				fmt.Fprintln(a.Stdout, o.ID)
			}
			return nil
		},
	}
}
