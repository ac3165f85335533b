package people

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func sharingCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "sharing", Hidden: true,
		Short: "Share workspaces with users and groups.",
		Subs:  []*app.Command{shareCommand(a), unshareCommand(a), shareStatusCommand(a)},
	}
}

// sharer is one user or group in a table.
type sharer struct {
	User  string              `json:"user"`
	Group string              `json:"group"`
	Role  coder.WorkspaceRole `json:"role"`
}

func sharers() *app.Listing[sharer] {
	return &app.Listing[sharer]{
		All: []app.Column[sharer]{
			{Name: "user", Show: func(s sharer) string { return s.User }},
			{Name: "group", Show: func(s sharer) string { return s.Group }},
			{Name: "role", Show: func(s sharer) string { return string(s.Role) }},
		},
		NoMatch: "The workspace is shared with nobody.",
	}
}

// writeSharing shows with whom a workspace is shared.
func writeSharing(ctx context.Context, a *app.Run, c *client.Client, w coder.Workspace, l *app.Listing[sharer]) error {
	acl, err := c.WorkspaceACL(ctx, w.ID)
	if err != nil {
		return err
	}
	rows := []sharer{}
	for _, u := range acl.Users {
		rows = append(rows, sharer{User: u.Username, Role: u.Role})
	}
	for _, g := range acl.Group {
		rows = append(rows, sharer{Group: g.Name, Role: g.Role})
	}
	return l.Write(a, rows)
}

func shareStatusCommand(a *app.Run) *app.Command {
	l := sharers()
	return build.OnWorkspace(a, app.Command{
		Name: "status", Args: "<workspace>", Min: 1, Max: 1, Aliases: []string{"list"},
		Short:   "Show with whom a workspace is shared.",
		Options: []*option.Option{l.ColumnOption("user,group,role"), l.FormatOption()},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		return writeSharing(ctx, a, c, w, l)
	})
}

func shareCommand(a *app.Run) *app.Command {
	var users, groups []string
	l := sharers()
	return build.OnWorkspace(a, app.Command{
		Name: "share", Aliases: []string{"add"}, Args: "<workspace>", Min: 1, Max: 1,
		Short:    "Share a workspace.",
		Long:     "The role is use (connect, start, stop) or admin (all but deleting it); without one it is use.",
		Examples: []app.Example{{Text: "Share with a user and a group", Line: "coder sharing share dev --user ann --group team:admin"}},
		Options: []*option.Option{
			option.List(&users, "user", "User to share with, as name or name:role."),
			option.List(&groups, "group", "Group to share with, as name or name:role."),
			l.ColumnOption("user,group,role"), l.FormatOption(),
		},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		req, err := sharingRequest(ctx, c, w, users, groups, func(role string) (coder.WorkspaceRole, error) {
			switch role {
			case "", "use":
				return coder.WorkspaceRoleUse, nil
			case "admin":
				return coder.WorkspaceRoleAdmin, nil
			}
			return "", app.Failure("%q is not a role: use or admin", role)
		})
		if err != nil {
			return err
		}
		if err := c.UpdateWorkspaceACL(ctx, w.ID, req); err != nil {
			return err
		}
		return writeSharing(ctx, a, c, w, l)
	})
}

func unshareCommand(a *app.Run) *app.Command {
	var users, groups []string
	l := sharers()
	return build.OnWorkspace(a, app.Command{
		Name: "remove", Aliases: []string{"rm"}, Args: "<workspace>", Min: 1, Max: 1,
		Short: "Share a workspace no longer.",
		Long:  "Terminals and relayed connections of who loses the workspace end at once; a direct connection may last until the workspace is restarted.",
		Options: []*option.Option{
			option.List(&users, "user", "User to share with no longer."),
			option.List(&groups, "group", "Group to share with no longer."),
			l.ColumnOption("user,group,role"), l.FormatOption(),
		},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		req, err := sharingRequest(ctx, c, w, users, groups, func(string) (coder.WorkspaceRole, error) { return "", nil })
		if err != nil {
			return err
		}
		if err := c.UpdateWorkspaceACL(ctx, w.ID, req); err != nil {
			return err
		}
		return writeSharing(ctx, a, c, w, l)
	})
}

// sharingRequest makes a request of name:role texts.
func sharingRequest(ctx context.Context, c *client.Client, w coder.Workspace, users, groups []string, read func(string) (coder.WorkspaceRole, error)) (coder.UpdateWorkspaceACL, error) {
	req := coder.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]coder.WorkspaceRole{}, GroupRoles: map[uuid.UUID]coder.WorkspaceRole{}}
	if len(users)+len(groups) == 0 {
		return req, app.Failure("name somebody with --user or --group")
	}
	o := coder.Organization{ID: w.OrganizationID, Name: w.OrganizationName}
	for _, text := range users {
		name, said, _ := strings.Cut(text, ":")
		role, err := read(said)
		if err != nil {
			return req, err
		}
		ids, err := memberIDs(ctx, c, o, []string{name})
		if err != nil {
			return req, err
		}
		req.UserRoles[uuid.MustParse(ids[0])] = role
	}
	for _, text := range groups {
		name, said, _ := strings.Cut(text, ":")
		role, err := read(said)
		if err != nil {
			return req, err
		}
		g, err := findGroup(ctx, c, o, name)
		if err != nil {
			return req, fmt.Errorf("--group %s: %w", name, err)
		}
		req.GroupRoles[g.ID] = role
	}
	return req, nil
}
