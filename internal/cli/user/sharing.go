package user

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func sharingCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name:  "sharing",
		Short: "Share workspaces with users and groups",
		Subs:  []*command.Command{shareCommand(a), unshareCommand(a), shareStatusCommand(a)},
	}
}

// sharer is a user or group that a workspace is shared with.
type sharer struct {
	User  string                 `json:"user"`
	Group string                 `json:"group"`
	Role  codersdk.WorkspaceRole `json:"role"`
}

func sharers() *command.Listing[sharer] {
	return &command.Listing[sharer]{
		All: []command.Column[sharer]{
			{Name: "user", Show: func(s sharer) string { return s.User }},
			{Name: "group", Show: func(s sharer) string { return s.Group }},
			{Name: "role", Show: func(s sharer) string { return string(s.Role) }},
		},
		NoMatch: "The workspace is not shared.",
	}
}

// writeSharing prints the users and groups that a workspace is shared with.
func writeSharing(ctx context.Context, a *command.Run, c *codersdk.Client, w codersdk.Workspace, l *command.Listing[sharer]) error {
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

func shareStatusCommand(a *command.Run) *command.Command {
	l := sharers()
	return build.OnWorkspace(a, command.Command{
		Name: "status", Args: "<workspace>", Min: 1, Max: 1, Aliases: []string{"list"},
		Short:   "Show the users and groups that a workspace is shared with",
		Options: []*option.Option{l.ColumnOption("user,group,role"), l.FormatOption()},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		return writeSharing(ctx, a, c, w, l)
	})
}

func shareCommand(a *command.Run) *command.Command {
	var users, groups []string
	l := sharers()
	return build.OnWorkspace(a, command.Command{
		Name: "share", Aliases: []string{"add"}, Args: "<workspace>", Min: 1, Max: 1,
		Short:    "Share a workspace with users or groups",
		Long:     "The role is use (connect, start and stop; the default) or admin (everything except delete).",
		Examples: []command.Example{{Text: "Share with a user and a group", Line: "coder sharing share dev --user alice --group team:admin"}},
		Options: []*option.Option{
			option.List(&users, "user", "User to share with, as name or name:role (repeatable)"),
			option.List(&groups, "group", "Group to share with, as name or name:role (repeatable)"),
			l.ColumnOption("user,group,role"), l.FormatOption(),
		},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		req, err := sharingRequest(ctx, c, w, users, groups, func(role string) (codersdk.WorkspaceRole, error) {
			switch role {
			case "", "use":
				return codersdk.WorkspaceRoleUse, nil
			case "admin":
				return codersdk.WorkspaceRoleAdmin, nil
			}
			return "", command.Failure("%q is not a role; use \"use\" or \"admin\"", role)
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

func unshareCommand(a *command.Run) *command.Command {
	var users, groups []string
	l := sharers()
	return build.OnWorkspace(a, command.Command{
		Name: "remove", Aliases: []string{"rm"}, Args: "<workspace>", Min: 1, Max: 1,
		Short: "Stop sharing a workspace with users or groups",
		Long:  "Terminals and relayed connections of users who lose access end immediately. A direct connection may last until the workspace is restarted.",
		Options: []*option.Option{
			option.List(&users, "user", "User to stop sharing with (repeatable)"),
			option.List(&groups, "group", "Group to stop sharing with (repeatable)"),
			l.ColumnOption("user,group,role"), l.FormatOption(),
		},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		req, err := sharingRequest(ctx, c, w, users, groups, func(string) (codersdk.WorkspaceRole, error) { return "", nil })
		if err != nil {
			return err
		}
		if err := c.UpdateWorkspaceACL(ctx, w.ID, req); err != nil {
			return err
		}
		return writeSharing(ctx, a, c, w, l)
	})
}

// sharingRequest returns the request for a list of name:role texts.
func sharingRequest(
	ctx context.Context,
	c *codersdk.Client,
	w codersdk.Workspace,
	users, groups []string,
	read func(string) (codersdk.WorkspaceRole, error),
) (codersdk.UpdateWorkspaceACL, error) {
	req := codersdk.UpdateWorkspaceACL{UserRoles: map[uuid.UUID]codersdk.WorkspaceRole{}, GroupRoles: map[uuid.UUID]codersdk.WorkspaceRole{}}
	if len(users)+len(groups) == 0 {
		return req, command.Failure("no user or group given; use --user or --group")
	}
	o := codersdk.Organization{ID: w.OrganizationID, Name: w.OrganizationName}
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
