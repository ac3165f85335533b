package user

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// maxRole bounds the JSON of a role, in bytes.
const maxRole = 1 << 20

// rolesCommand returns organizations roles. ref is the organization of --org.
func rolesCommand(a *command.Run, ref *string) *command.Command {
	return &command.Command{
		Name: "roles", Aliases: []string{"role"},
		Short: "Manage the roles of an organization",
		Subs:  []*command.Command{rolesShowCommand(a, ref), rolesCreateCommand(a, ref), rolesUpdateCommand(a, ref)},
	}
}

func roleColumns() []command.Column[codersdk.AssignableRoles] {
	type row = codersdk.AssignableRoles
	return []command.Column[row]{
		{Name: "name", Show: func(r row) string { return r.Name }},
		{Name: "display name", Show: func(r row) string { return r.DisplayName }},
		{Name: "organization id", Show: func(r row) string { return r.OrganizationID }},
		{Name: "site permissions", Show: func(r row) string { return permissionText(r.SitePermissions) }},
		{Name: "organization permissions", Show: func(r row) string { return permissionText(r.OrganizationPermissions) }},
		{Name: "user permissions", Show: func(r row) string {
			return permissionText(append(slices.Clone(r.UserPermissions), r.OrganizationMemberPermissions...))
		}},
	}
}

// permissionText formats permissions as resource:action. A minus sign marks
// negative permissions.
func permissionText(ps []codersdk.Permission) string {
	var out []string
	for _, p := range ps {
		text := string(p.ResourceType) + ":" + string(p.Action)
		if p.Negate {
			text = "-" + text
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// readPermissions parses the output of permissionText.
func readPermissions(text string) ([]codersdk.Permission, error) {
	out := []codersdk.Permission{}
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		resource, action, ok := strings.Cut(f, ":")
		if !ok || resource == "" || action == "" {
			return nil, command.Failure("%q is not of the form resource:action, such as template:read", f)
		}
		out = append(out, codersdk.Permission{ResourceType: codersdk.RBACResource(resource), Action: codersdk.RBACAction(action)})
	}
	return out, nil
}

func rolesShowCommand(a *command.Run, ref *string) *command.Command {
	l := &command.Listing[codersdk.AssignableRoles]{All: roleColumns(), NoMatch: "No roles found."}
	return &command.Command{
		Name: "show", Args: "[role_names ...]", Max: -1,
		Short:   "Show the roles of an organization and their permissions",
		Options: []*option.Option{l.ColumnOption("name,display name,site permissions,organization permissions,user permissions"), l.FormatOption()},
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			all, err := c.OrganizationRoles(ctx, o.ID.String())
			if err != nil {
				return err
			}
			for _, name := range args {
				if !slices.ContainsFunc(all, func(r codersdk.AssignableRoles) bool { return r.Name == name }) {
					return command.Failure("role %q not found in organization %s", name, o.Name)
				}
			}
			return l.Write(a, slices.DeleteFunc(all, func(r codersdk.AssignableRoles) bool { return len(args) > 0 && !slices.Contains(args, r.Name) }))
		},
	}
}

// roleEdit holds the flags and helpers shared by roles create and roles update.
type roleEdit struct {
	sure, dry, stdin bool
}

func (e *roleEdit) options() []*option.Option {
	return []*option.Option{
		command.Yes(&e.sure),
		option.Bool(&e.dry, "dry-run", "Print the role as JSON without changing anything"),
		option.Bool(&e.stdin, "stdin", "Read the role as JSON from standard input"),
	}
}

// name returns the name from the command line, or "" for the one on standard
// input.
func (e *roleEdit) name(args []string) (string, error) {
	switch {
	case len(args) == 1:
		return args[0], nil
	case !e.stdin:
		return "", command.Failure("name the role, or pass it as JSON with --stdin")
	}
	return "", nil
}

// wanted returns the desired role, from standard input or from prompts.
func (e *roleEdit) wanted(a *command.Run, was codersdk.CustomRoleRequest) (codersdk.CustomRoleRequest, error) {
	role := was
	if e.stdin {
		b, err := io.ReadAll(io.LimitReader(a.Stdin, maxRole))
		if err != nil {
			return role, err
		}
		var read codersdk.CustomRoleRequest
		if err := json.Unmarshal(b, &read); err != nil {
			return role, command.Failure("standard input is not the JSON of a role: %v", err)
		}
		if was.Name == "" {
			was.Name = read.Name
		}
		if was.Name == "" {
			return role, command.Failure("the role on standard input has no name; add a name, or name it on the command line")
		}
		if read.Name != "" && read.Name != was.Name {
			return role, command.Failure("the role on standard input is named %q, but the argument is %q; use the same name", read.Name, was.Name)
		}
		read.Name = was.Name
		return read, nil
	}
	const instead = "pass the role as JSON with --stdin"
	check := func(text string) error { _, err := readPermissions(text); return err }
	var err error
	if role.DisplayName, err = a.Ask("Display name", was.DisplayName, instead,
		func(s string) error { return codersdk.CheckDisplayName("display_name", s) }); err != nil {
		return role, err
	}
	text, err := a.Ask("Permissions on everything in the organization, as resource:action", permissionText(was.OrganizationPermissions), instead, check)
	if err != nil {
		return role, err
	}
	if role.OrganizationPermissions, err = readPermissions(text); err != nil {
		return role, err
	}
	if text, err = a.Ask("Permissions on what members own in the organization, as resource:action", permissionText(was.OrganizationMemberPermissions),
		instead, check); err != nil {
		return role, err
	}
	role.OrganizationMemberPermissions, err = readPermissions(text)
	return role, err
}

// shown returns a role with empty lists in place of null.
func shown(r codersdk.CustomRoleRequest) codersdk.CustomRoleRequest {
	for _, ps := range []*[]codersdk.Permission{&r.SitePermissions, &r.OrganizationPermissions, &r.OrganizationMemberPermissions, &r.UserPermissions} {
		if *ps == nil {
			*ps = []codersdk.Permission{}
		}
	}
	return r
}

func rolesCreateCommand(a *command.Run, ref *string) *command.Command {
	var e roleEdit
	return &command.Command{
		Name: "create", Args: "<role_name>", Max: 1,
		Short: "Create a custom role in an organization",
		Long:  "A custom role can contain only permissions that you have yourself.",
		Examples: []command.Example{
			{
				Text: "Create a role from JSON",
				Line: `echo '{"organization_permissions": [{"resource_type": "template", "action": "read"}]}' | coder organizations roles create reader --stdin`,
			},
		},
		Options: e.options(),
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			name, err := e.name(args)
			if err != nil {
				return err
			}
			role, err := e.wanted(a, codersdk.CustomRoleRequest{Name: name})
			if err != nil {
				return err
			}
			if e.dry {
				return command.WriteJSON(a.Stdout, shown(role))
			}
			if !e.stdin {
				if err := a.Confirm(fmt.Sprintf("Create role %s in organization %s?", role.Name, o.Name), e.sure); err != nil {
					return err
				}
			}
			if _, err := c.CreateOrganizationRole(ctx, o.ID.String(), role); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Created role %s in organization %s.\n", role.Name, o.Name)
			return err
		},
	}
}

func rolesUpdateCommand(a *command.Run, ref *string) *command.Command {
	var e roleEdit
	l := &command.Listing[codersdk.AssignableRoles]{All: roleColumns()}
	return &command.Command{
		Name: "update", Args: "<role_name>", Max: 1,
		Short:   "Update a custom role of an organization",
		Options: append(e.options(), l.ColumnOption("name,display name,site permissions,organization permissions,user permissions"), l.FormatOption()),
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			name, err := e.name(args)
			if err != nil {
				return err
			}
			var was codersdk.CustomRoleRequest
			if name != "" {
				if was, err = ownRole(ctx, c, o, name); err != nil {
					return err
				}
			}
			role, err := e.wanted(a, was)
			if err != nil {
				return err
			}
			if name == "" {
				if _, err := ownRole(ctx, c, o, role.Name); err != nil {
					return err
				}
			}
			if e.dry {
				return command.WriteJSON(a.Stdout, shown(role))
			}
			if !e.stdin {
				if err := a.Confirm(fmt.Sprintf("Update role %s in organization %s? This affects every member with the role.", role.Name, o.Name), e.sure); err != nil {
					return err
				}
			}
			now, err := c.UpdateOrganizationRole(ctx, o.ID.String(), role)
			if err != nil {
				return err
			}
			return l.Write(a, []codersdk.AssignableRoles{{
				Name: now.Name, DisplayName: now.DisplayName, OrganizationID: now.OrganizationID, Assignable: true, SitePermissions: now.SitePermissions,
				OrganizationPermissions: now.OrganizationPermissions, OrganizationMemberPermissions: now.OrganizationMemberPermissions,
				UserPermissions: now.UserPermissions,
			}})
		},
	}
}

// ownRole returns a custom role of an organization.
func ownRole(ctx context.Context, c *codersdk.Client, o codersdk.Organization, name string) (codersdk.CustomRoleRequest, error) {
	all, err := c.OrganizationRoles(ctx, o.ID.String())
	if err != nil {
		return codersdk.CustomRoleRequest{}, err
	}
	for _, r := range all {
		if r.Name == name && r.BuiltIn {
			return codersdk.CustomRoleRequest{}, command.Failure("role %s is built in and cannot be changed", name)
		}
		if r.Name == name {
			return codersdk.CustomRoleRequest{
				Name: r.Name, DisplayName: r.DisplayName,
				OrganizationPermissions: r.OrganizationPermissions, OrganizationMemberPermissions: r.OrganizationMemberPermissions,
			}, nil
		}
	}
	return codersdk.CustomRoleRequest{}, command.Failure("role %q not found in organization %s", name, o.Name)
}
