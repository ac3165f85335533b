package user

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// membersCommand returns organizations members. ref is the organization of
// --org.
func membersCommand(a *command.Run, ref *string) *command.Command {
	return &command.Command{
		Name: "members", Aliases: []string{"member"},
		Short: "Manage the members of an organization",
		Subs: []*command.Command{
			membersListCommand(a, ref),
			memberCommand(a, ref, "add", nil, "Add a user to an organization", memberAdd),
			memberCommand(a, ref, "remove", []string{"rm"}, "Remove a user from an organization", memberRemove),
			memberRolesCommand(a, ref),
		},
	}
}

func membersListCommand(a *command.Run, ref *string) *command.Command {
	type row = codersdk.OrganizationMemberWithUserData
	l := &command.Listing[row]{
		All: []command.Column[row]{
			{Name: "username", Show: func(m row) string { return m.Username }},
			{Name: "name", Show: func(m row) string { return m.Name }},
			{Name: "user id", Show: func(m row) string { return m.UserID.String() }},
			{Name: "organization id", Show: func(m row) string { return m.OrganizationID.String() }},
			{Name: "created at", Show: func(m row) string { return command.Date(m.CreatedAt) }},
			{Name: "updated at", Show: func(m row) string { return command.Date(m.UpdatedAt) }},
			{Name: "organization roles", Show: func(m row) string { return roleNames(m.Roles) }},
		},
		NoMatch: "No members found.",
	}
	return &command.Command{
		Name: "list", Max: 0,
		Short:   "List the members of an organization",
		Options: []*option.Option{l.ColumnOption("username,organization roles"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			c, o, err := a.ClientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			all, err := c.OrganizationMembers(ctx, o.ID.String())
			if err != nil {
				return err
			}
			return l.Write(a, all)
		},
	}
}

type memberAction func(ctx context.Context, a *command.Run, c *codersdk.Client, o codersdk.Organization, user string) error

func memberCommand(a *command.Run, ref *string, name string, aliases []string, short string, do memberAction) *command.Command {
	return &command.Command{
		Name: name, Aliases: aliases, Args: "<username | user_id>", Min: 1, Max: 1, Short: short,
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			return do(ctx, a, c, o, args[0])
		},
	}
}

func memberAdd(ctx context.Context, a *command.Run, c *codersdk.Client, o codersdk.Organization, user string) error {
	if _, err := c.AddOrganizationMember(ctx, o.ID.String(), user); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "Added %s to organization %s.\n", user, o.Name)
	return err
}

func memberRemove(ctx context.Context, a *command.Run, c *codersdk.Client, o codersdk.Organization, user string) error {
	if err := c.RemoveOrganizationMember(ctx, o.ID.String(), user); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "Removed %s from organization %s.\n", user, o.Name)
	return err
}

func memberRolesCommand(a *command.Run, ref *string) *command.Command {
	return &command.Command{
		Name: "edit-roles", Aliases: []string{"edit-role"}, Args: "<username | user_id> [roles...]", Min: 1, Max: -1,
		Short: "Replace the roles of a member in an organization",
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			roles := args[1:]
			if len(roles) == 0 && a.Interactive() {
				known, err := c.OrganizationRoles(ctx, o.ID.String())
				if err != nil {
					return err
				}
				if roles, err = askRoles(a, known, nil, "name the roles after the user"); err != nil {
					return err
				}
			}
			m, err := c.UpdateOrganizationMemberRoles(ctx, o.ID.String(), args[0], codersdk.UpdateRoles{Roles: roles})
			if err != nil {
				return err
			}
			names := strings.ReplaceAll(roleNames(m.Roles), ",", ", ")
			_, err = fmt.Fprintf(a.Stdout, "%s has the roles [%s] in organization %s.\n", args[0], names, o.Name)
			return err
		},
	}
}
