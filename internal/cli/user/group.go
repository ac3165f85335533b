package user

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func groupsCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "groups", Aliases: []string{"group"},
		Short: "Manage groups",
		Long:  "Access lists of templates and workspaces can name groups. A user's quota is the sum of the allowances of their groups.",
		Subs:  []*command.Command{groupsCreateCommand(a), groupsListCommand(a), groupsEditCommand(a), groupsDeleteCommand(a)},
	}
}

func groupsCreateCommand(a *command.Run) *command.Command {
	var req codersdk.CreateGroupRequest
	var ref string
	return &command.Command{
		Name: "create", Args: "<name>", Min: 1, Max: 1,
		Short: "Create a group",
		Options: []*option.Option{
			option.String(&req.AvatarURL, "avatar-url", "URL of the avatar").Short("u").Env("CODER_AVATAR_URL"),
			option.String(&req.DisplayName, "display-name", "Display name").Env("CODER_DISPLAY_NAME"),
			command.Org(&ref),
		},
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			req.Name = args[0]
			g, err := c.CreateGroup(ctx, o.ID.String(), req)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Created group %s in %s. Add members with: coder groups edit %s --add-users <user>\n", g.Name, o.Name, g.Name)
			return err
		},
	}
}

func groupsListCommand(a *command.Run) *command.Command {
	var ref string
	l := &command.Listing[codersdk.Group]{
		All: []command.Column[codersdk.Group]{
			{Name: "name", Show: func(g codersdk.Group) string { return g.Name }},
			{Name: "display name", Show: func(g codersdk.Group) string { return g.DisplayName }},
			{Name: "organization id", Show: func(g codersdk.Group) string { return g.OrganizationID.String() }},
			{Name: "members", Show: groupMembers},
			{Name: "avatar url", Show: func(g codersdk.Group) string { return g.AvatarURL }},
		},
		NoMatch: "No groups found.",
	}
	return &command.Command{
		Name: "list", Max: 0,
		Short:   "List the groups of an organization",
		Options: []*option.Option{l.ColumnOption("name,display name,organization id,members,avatar url"), l.FormatOption(), command.Org(&ref)},
		Run: func(ctx context.Context, _ []string) error {
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			all, err := c.Groups(ctx, o.ID.String())
			if err != nil {
				return err
			}
			return l.Write(a, all)
		},
	}
}

// shownMembers bounds the member names in a table cell.
const shownMembers = 10

// groupMembers lists the first members and counts the others.
func groupMembers(g codersdk.Group) string {
	var names []string
	for _, m := range g.Members[:min(len(g.Members), shownMembers)] {
		names = append(names, m.Username)
	}
	text := strings.Join(names, ", ")
	switch more := int(g.TotalMemberCount) - len(names); {
	case more > 0 && len(names) > 0:
		return fmt.Sprintf("%s and %d more", text, more)
	case more > 0:
		return fmt.Sprintf("%d", more)
	}
	return text
}

// groupEdit holds the flags of groups edit.
type groupEdit struct {
	name, avatar, display, ref string
	add, remove                []string
}

func groupsEditCommand(a *command.Run) *command.Command {
	var e groupEdit
	avatar := option.String(&e.avatar, "avatar-url", "New URL of the avatar").Short("u")
	display := option.String(&e.display, "display-name", "New display name").Env("CODER_DISPLAY_NAME")
	return &command.Command{
		Name: "edit", Args: "<name>", Min: 1, Max: 1,
		Short: "Edit a group and its members",
		Options: []*option.Option{
			option.String(&e.name, "name", "New name").Short("n"), avatar, display,
			option.List(&e.add, "add-users", "Users to add to the group, by name or email").Short("a"),
			option.List(&e.remove, "rm-users", "Users to remove from the group, by name or email").Short("r"),
			command.Org(&e.ref),
		},
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, e.ref)
			if err != nil {
				return err
			}
			g, err := findGroup(ctx, c, o, args[0])
			if err != nil {
				return err
			}
			req := codersdk.PatchGroupRequest{Name: e.name}
			if avatar.Given() {
				req.AvatarURL = &e.avatar
			}
			if display.Given() {
				req.DisplayName = &e.display
			}
			if req.AddUsers, err = memberIDs(ctx, c, o, e.add); err != nil {
				return err
			}
			if req.RemoveUsers, err = memberIDs(ctx, c, o, e.remove); err != nil {
				return err
			}
			if req.Name == "" && req.AvatarURL == nil && req.DisplayName == nil && len(req.AddUsers)+len(req.RemoveUsers) == 0 {
				return command.Failure("nothing to change: use --name, --display-name, --avatar-url, --add-users or --rm-users")
			}
			if g, err = c.UpdateGroup(ctx, g.ID, req); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Group %s has %d member%s.\n", g.Name, g.TotalMemberCount, command.Plural(int(g.TotalMemberCount)))
			return err
		},
	}
}

// findGroup returns the group of an organization with that name.
func findGroup(ctx context.Context, c *codersdk.Client, o codersdk.Organization, name string) (codersdk.Group, error) {
	g, err := c.GroupByName(ctx, o.ID.String(), name)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return g, command.Failure("group %q not found in organization %s; 'coder groups list' shows the existing ones", name, o.Name)
	}
	return g, err
}

// memberIDs returns the IDs of organization members, given by name, email or
// ID.
func memberIDs(ctx context.Context, c *codersdk.Client, o codersdk.Organization, refs []string) ([]string, error) {
	var out []string
	for _, ref := range refs {
		id, err := memberID(ctx, c, o, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, nil
}

func memberID(ctx context.Context, c *codersdk.Client, o codersdk.Organization, ref string) (string, error) {
	if !strings.Contains(ref, "@") {
		m, err := c.OrganizationMember(ctx, o.ID.String(), ref)
		if codersdk.Is(err, codersdk.CodeNotFound) {
			err = noMember(ref, o)
		}
		return m.UserID.String(), err
	}
	found, err := c.OrganizationMembersPage(ctx, o.ID.String(), url.Values{"q": {strconv.Quote(ref)}})
	if err != nil {
		return "", err
	}
	for _, m := range found.Members {
		if strings.EqualFold(m.Email, ref) {
			return m.UserID.String(), nil
		}
	}
	return "", noMember(ref, o)
}

func noMember(ref string, o codersdk.Organization) error {
	return command.Failure("%q is not a member of organization %s; 'coder organizations members list' shows the members", ref, o.Name)
}

func groupsDeleteCommand(a *command.Run) *command.Command {
	var ref string
	return &command.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<name>", Min: 1, Max: 1,
		Short:   "Delete a group",
		Options: []*option.Option{command.Org(&ref)},
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, ref)
			if err != nil {
				return err
			}
			g, err := findGroup(ctx, c, o, args[0])
			if err != nil {
				return err
			}
			if err := c.DeleteGroup(ctx, g.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Deleted group %s of organization %s.\n", g.Name, o.Name)
			return err
		},
	}
}
