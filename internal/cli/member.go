package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// membersCommand is organizations members; ref is the organization of --org.
func (a *app) membersCommand(ref *string) *command {
	return &command{
		name: "members", aliases: []string{"member"},
		short: "Manage who belongs to an organization.",
		subs: []*command{
			a.membersListCommand(ref),
			a.memberCommand(ref, "add", nil, "Add a user to an organization.", a.memberAdd),
			a.memberCommand(ref, "remove", []string{"rm"}, "Take a user out of an organization.", a.memberRemove),
			a.memberRolesCommand(ref),
		},
	}
}

func (a *app) membersListCommand(ref *string) *command {
	type row = coder.OrganizationMemberWithUserData
	l := &listing[row]{
		all: []column[row]{
			{"username", func(m row) string { return m.Username }},
			{"name", func(m row) string { return m.Name }},
			{"user id", func(m row) string { return m.UserID.String() }},
			{"organization id", func(m row) string { return m.OrganizationID.String() }},
			{"created at", func(m row) string { return date(m.CreatedAt) }},
			{"updated at", func(m row) string { return date(m.UpdatedAt) }},
			{"organization roles", func(m row) string { return roleNames(m.Roles) }},
		},
		noMatch: "No members.",
	}
	return &command{
		name: "list", max: 0,
		short:   "List the members of an organization.",
		options: []*option.Option{l.columnOption("username,organization roles"), l.formatOption()},
		run: func(ctx context.Context, _ []string) error {
			c, o, err := a.clientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			all, err := c.OrganizationMembers(ctx, o.ID.String())
			if err != nil {
				return err
			}
			return l.write(a, all)
		},
	}
}

// clientAndOrganization is what most commands of an organization begin with.
func (a *app) clientAndOrganization(ctx context.Context, ref string) (*client.Client, coder.Organization, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, coder.Organization{}, err
	}
	o, err := a.organization(ctx, c, ref)
	return c, o, err
}

type memberAction func(ctx context.Context, c *client.Client, o coder.Organization, user string) error

func (a *app) memberCommand(ref *string, name string, aliases []string, short string, do memberAction) *command {
	return &command{
		name: name, aliases: aliases, args: "<username | user_id>", min: 1, max: 1, short: short,
		run: func(ctx context.Context, args []string) error {
			c, o, err := a.clientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			return do(ctx, c, o, args[0])
		},
	}
}

func (a *app) memberAdd(ctx context.Context, c *client.Client, o coder.Organization, user string) error {
	if _, err := c.AddOrganizationMember(ctx, o.ID.String(), user); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s is now a member of %s.\n", user, o.Name)
	return err
}

func (a *app) memberRemove(ctx context.Context, c *client.Client, o coder.Organization, user string) error {
	if err := c.RemoveOrganizationMember(ctx, o.ID.String(), user); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s is no longer a member of %s.\n", user, o.Name)
	return err
}

func (a *app) memberRolesCommand(ref *string) *command {
	return &command{
		name: "edit-roles", aliases: []string{"edit-role"}, args: "<username | user_id> [roles...]", min: 1, max: -1,
		short: "Replace the roles that a member has in an organization.",
		run: func(ctx context.Context, args []string) error {
			c, o, err := a.clientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			roles := args[1:]
			if len(roles) == 0 && a.interactive() {
				known, err := c.OrganizationRoles(ctx, o.ID.String())
				if err != nil {
					return err
				}
				if roles, err = a.askRoles(known, nil, "name the roles after the user"); err != nil {
					return err
				}
			}
			m, err := c.UpdateOrganizationMemberRoles(ctx, o.ID.String(), args[0], coder.UpdateRoles{Roles: roles})
			if err != nil {
				return err
			}
			names := strings.ReplaceAll(roleNames(m.Roles), ",", ", ")
			_, err = fmt.Fprintf(a.stdout, "%s has the roles [%s] in %s.\n", args[0], names, o.Name)
			return err
		},
	}
}
