package people

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func organizationColumns() []app.Column[coder.Organization] {
	return []app.Column[coder.Organization]{
		{Name: "id", Show: func(o coder.Organization) string { return o.ID.String() }},
		{Name: "name", Show: func(o coder.Organization) string { return o.Name }},
		{Name: "display name", Show: func(o coder.Organization) string { return o.DisplayName }},
		{Name: "icon", Show: func(o coder.Organization) string { return o.Icon }},
		{Name: "description", Show: func(o coder.Organization) string { return o.Description }},
		{Name: "created at", Show: func(o coder.Organization) string { return app.Date(o.CreatedAt) }},
		{Name: "updated at", Show: func(o coder.Organization) string { return app.Date(o.UpdatedAt) }},
		{Name: "default", Show: func(o coder.Organization) string { return app.YesNo(o.IsDefault) }},
		{Name: "provisioner weight", Show: func(o coder.Organization) string { return strconv.Itoa(o.ProvisionerWeight) }},
	}
}

func organizationsCommand(a *app.Run) *app.Command {
	var ref string
	return &app.Command{
		Name: "organizations", Aliases: []string{"organization", "org", "orgs"}, Args: "[subcommand]",
		Short:   "Manage organizations and who belongs to them.",
		Options: []*option.Option{app.Org(&ref)},
		Subs: []*app.Command{
			organizationsCreateCommand(a), organizationsListCommand(a), organizationsShowCommand(a, &ref),
			organizationsEditCommand(a), organizationsDeleteCommand(a), membersCommand(a, &ref), rolesCommand(a, &ref), settingsCommand(a, &ref),
		},
	}
}

func organizationsCreateCommand(a *app.Run) *app.Command {
	var sure bool
	return &app.Command{
		Name: "create", Args: "<organization name>", Min: 1, Max: 1,
		Short:   "Make an organization.",
		Options: []*option.Option{app.Yes(&sure)},
		Run: func(ctx context.Context, args []string) error {
			if err := coder.CheckName("name", args[0]); err != nil {
				return err
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := a.Confirm("Make the organization "+args[0]+"?", sure); err != nil {
				return err
			}
			o, err := c.CreateOrganization(ctx, coder.CreateOrganizationRequest{Name: args[0]})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Made organization %s (%s).\n", o.Name, o.ID)
			return err
		},
	}
}

func organizationsEditCommand(a *app.Run) *app.Command {
	var req coder.UpdateOrganizationRequest
	var weight int
	var sure bool
	weigh := option.Int(&weight, "provisioner-weight",
		"Share of the server's own provisioners, from 0 to 100: organizations whose jobs wait get them in proportion to their weights; 0 is not served. For owners only.")
	options := []*option.Option{
		option.String(&req.Name, "name", "New name."),
		option.String(&req.DisplayName, "display-name", "Name to show."),
		option.String(&req.Description, "description", "What the organization is for."),
		option.String(&req.Icon, "icon", "Path or URL of the icon."),
		weigh,
	}
	return &app.Command{
		Name: "edit", Args: "<organization_name_or_id>", Min: 1, Max: 1,
		Short:    "Change an organization; what is not given stays as it is.",
		Examples: []app.Example{{Text: "Let the server's own provisioners serve it too", Line: "coder organizations edit acme --provisioner-weight 1"}},
		Options:  append(slices.Clone(options), app.Yes(&sure)),
		Run: func(ctx context.Context, args []string) error {
			if !slices.ContainsFunc(options, (*option.Option).Given) {
				return app.Failure("nothing to change: give --name, --display-name, --description, --icon or --provisioner-weight")
			}
			if weigh.Given() {
				if err := coder.CheckProvisionerWeight(weight); err != nil {
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
			if err := a.Confirm("Change the organization "+o.Name+"?", sure); err != nil {
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

func organizationsDeleteCommand(a *app.Run) *app.Command {
	var sure bool
	return &app.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<organization_name_or_id>", Min: 1, Max: 1,
		Short:   "Delete an organization, which must hold nothing any more.",
		Options: []*option.Option{app.Yes(&sure)},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			o, err := a.Organization(ctx, c, args[0])
			if err != nil {
				return err
			}
			if err := a.Confirm("Delete the organization "+o.Name+"?", sure); err != nil {
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

func organizationsListCommand(a *app.Run) *app.Command {
	l := &app.Listing[coder.Organization]{All: organizationColumns(), NoMatch: "No organizations."}
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the organizations that you may see.",
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

func organizationsShowCommand(a *app.Run, ref *string) *app.Command {
	var onlyID bool
	l := &app.Listing[coder.Organization]{All: organizationColumns(), Text: func(w io.Writer, rows []coder.Organization) error {
		for _, o := range rows {
			if _, err := fmt.Fprintf(w, "%s (%s)\n", o.Name, o.ID); err != nil {
				return err
			}
		}
		return nil
	}}
	return &app.Command{
		Name: "show", Args: `["selected"|"me"|uuid|org_name]`, Max: 1,
		Short: "Show the organization in use, all of yours, or a given one.",
		Examples: []app.Example{
			{Text: "The one that commands use when --org is not given", Line: "coder organizations show selected"},
			{Text: "All that you are in", Line: "coder organizations show me"},
		},
		Options: []*option.Option{
			option.Bool(&onlyID, "only-id", "Print only the id, for scripts."),
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
			var rows []coder.Organization
			if which == "me" {
				rows, err = c.UserOrganizations(ctx, "me")
			} else {
				if which == "selected" {
					which = *ref
				}
				var o coder.Organization
				o, err = a.Organization(ctx, c, which)
				rows = []coder.Organization{o}
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
