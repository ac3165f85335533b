package people

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func groupsCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "groups", Aliases: []string{"group"},
		Short: "Manage the groups of an organization.",
		Long:  "Access lists of templates and workspaces name groups, and what the members of groups may spend adds up.",
		Subs:  []*app.Command{groupsCreateCommand(a), groupsListCommand(a), groupsEditCommand(a), groupsDeleteCommand(a)},
	}
}

func groupsCreateCommand(a *app.Run) *app.Command {
	var req coder.CreateGroupRequest
	var ref string
	return &app.Command{
		Name: "create", Args: "<name>", Min: 1, Max: 1,
		Short: "Make a group without members.",
		Options: []*option.Option{
			option.String(&req.AvatarURL, "avatar-url", "URL of the group's picture.").Short("u").Env("CODER_AVATAR_URL"),
			option.String(&req.DisplayName, "display-name", "Name to show.").Env("CODER_DISPLAY_NAME"),
			app.Org(&ref),
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
			_, err = fmt.Fprintf(a.Stdout, "Made group %s in %s. Add members with: coder groups edit %s --add-users <user>\n", g.Name, o.Name, g.Name)
			return err
		},
	}
}

func groupsListCommand(a *app.Run) *app.Command {
	var ref string
	l := &app.Listing[coder.Group]{
		All: []app.Column[coder.Group]{
			{Name: "name", Show: func(g coder.Group) string { return g.Name }},
			{Name: "display name", Show: func(g coder.Group) string { return g.DisplayName }},
			{Name: "organization id", Show: func(g coder.Group) string { return g.OrganizationID.String() }},
			{Name: "members", Show: groupMembers},
			{Name: "avatar url", Show: func(g coder.Group) string { return g.AvatarURL }},
		},
		NoMatch: "No groups.",
	}
	return &app.Command{
		Name: "list", Max: 0,
		Short:   "List the groups of an organization.",
		Options: []*option.Option{l.ColumnOption("name,display name,organization id,members,avatar url"), l.FormatOption(), app.Org(&ref)},
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

// shownMembers bounds the names in a cell of a table.
const shownMembers = 10

// groupMembers names some members and says how many more there are.
func groupMembers(g coder.Group) string {
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

// groupEdit is the flags of groups edit.
type groupEdit struct {
	name, avatar, display, ref string
	add, remove                []string
}

func groupsEditCommand(a *app.Run) *app.Command {
	var e groupEdit
	avatar := option.String(&e.avatar, "avatar-url", "New URL of the group's picture.").Short("u")
	display := option.String(&e.display, "display-name", "New name to show.").Env("CODER_DISPLAY_NAME")
	return &app.Command{
		Name: "edit", Args: "<name>", Min: 1, Max: 1,
		Short: "Change a group and its members; what is not given stays as it is.",
		Options: []*option.Option{
			option.String(&e.name, "name", "New name.").Short("n"), avatar, display,
			option.List(&e.add, "add-users", "Users to put into the group, by name or e-mail.").Short("a"),
			option.List(&e.remove, "rm-users", "Users to take out of the group, by name or e-mail.").Short("r"),
			app.Org(&e.ref),
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
			req := coder.PatchGroupRequest{Name: e.name}
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
				return app.Failure("nothing to change: give --name, --display-name, --avatar-url, --add-users or --rm-users")
			}
			if g, err = c.UpdateGroup(ctx, g.ID, req); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Group %s has %d members.\n", g.Name, g.TotalMemberCount)
			return err
		},
	}
}

// findGroup gives a group of an organization by its name.
func findGroup(ctx context.Context, c *client.Client, o coder.Organization, name string) (coder.Group, error) {
	g, err := c.GroupByName(ctx, o.ID.String(), name)
	if coder.Is(err, coder.CodeNotFound) {
		return g, app.Failure("there is no group %q in %s; coder groups list shows them", name, o.Name)
	}
	return g, err
}

// memberIDs gives the ids of members of an organization by name, e-mail or id.
func memberIDs(ctx context.Context, c *client.Client, o coder.Organization, refs []string) ([]string, error) {
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

func memberID(ctx context.Context, c *client.Client, o coder.Organization, ref string) (string, error) {
	if !strings.Contains(ref, "@") {
		m, err := c.OrganizationMember(ctx, o.ID.String(), ref)
		if coder.Is(err, coder.CodeNotFound) {
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

func noMember(ref string, o coder.Organization) error {
	return app.Failure("%q is not a member of %s; coder organizations members list shows who is", ref, o.Name)
}

func groupsDeleteCommand(a *app.Run) *app.Command {
	var ref string
	return &app.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<name>", Min: 1, Max: 1,
		Short:   "Delete a group. Its members lose what they had by it.",
		Options: []*option.Option{app.Org(&ref)},
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
			_, err = fmt.Fprintf(a.Stdout, "Deleted group %s of %s.\n", g.Name, o.Name)
			return err
		},
	}
}
