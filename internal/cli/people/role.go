package people

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// maxRole bounds the JSON of a role.
const maxRole = 1 << 20

// rolesCommand is organizations roles; ref is the organization of --org.
func rolesCommand(a *app.Run, ref *string) *app.Command {
	return &app.Command{
		Name: "roles", Aliases: []string{"role"},
		Short: "Manage the roles that members of an organization may have.",
		Subs:  []*app.Command{rolesShowCommand(a, ref), rolesCreateCommand(a, ref), rolesUpdateCommand(a, ref)},
	}
}

func roleColumns() []app.Column[coder.AssignableRoles] {
	type row = coder.AssignableRoles
	return []app.Column[row]{
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

// permissionText writes permissions as resource:action; what takes away has a
// minus before it.
func permissionText(ps []coder.Permission) string {
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

// readPermissions is the opposite of permissionText.
func readPermissions(text string) ([]coder.Permission, error) {
	out := []coder.Permission{}
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		resource, action, ok := strings.Cut(f, ":")
		if !ok || resource == "" || action == "" {
			return nil, app.Failure("%q is not of the form resource:action, such as template:read", f)
		}
		out = append(out, coder.Permission{ResourceType: coder.RBACResource(resource), Action: coder.RBACAction(action)})
	}
	return out, nil
}

func rolesShowCommand(a *app.Run, ref *string) *app.Command {
	l := &app.Listing[coder.AssignableRoles]{All: roleColumns(), NoMatch: "No such roles."}
	return &app.Command{
		Name: "show", Args: "[role_names ...]", Max: -1,
		Short:   "Show the roles of an organization and what they permit.",
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
				if !slices.ContainsFunc(all, func(r coder.AssignableRoles) bool { return r.Name == name }) {
					return app.Failure("there is no role %q in %s", name, o.Name)
				}
			}
			return l.Write(a, slices.DeleteFunc(all, func(r coder.AssignableRoles) bool { return len(args) > 0 && !slices.Contains(args, r.Name) }))
		},
	}
}

// roleEdit is what the commands that make and change roles share.
type roleEdit struct {
	sure, dry, stdin bool
}

func (e *roleEdit) options() []*option.Option {
	return []*option.Option{
		app.Yes(&e.sure),
		option.Bool(&e.dry, "dry-run", "Print the role as JSON, and change nothing."),
		option.Bool(&e.stdin, "stdin", "Read the role as JSON from standard input."),
	}
}

// wanted gives the role as it shall be: read from standard input, or asked for.
func (e *roleEdit) wanted(a *app.Run, was coder.CustomRoleRequest) (coder.CustomRoleRequest, error) {
	role := was
	if e.stdin {
		b, err := io.ReadAll(io.LimitReader(a.Stdin, maxRole))
		if err != nil {
			return role, err
		}
		var read coder.CustomRoleRequest
		if err := json.Unmarshal(b, &read); err != nil {
			return role, app.Failure("what came on standard input is not the JSON of a role: %v", err)
		}
		if read.Name != "" && read.Name != was.Name {
			return role, app.Failure("the role on standard input is called %q, the one of the command line %q", read.Name, was.Name)
		}
		read.Name = was.Name
		return read, nil
	}
	const instead = "give the role as JSON with --stdin"
	check := func(text string) error { _, err := readPermissions(text); return err }
	var err error
	if role.DisplayName, err = a.Ask("Name to show", was.DisplayName, instead, func(s string) error { return coder.CheckDisplayName("display_name", s) }); err != nil {
		return role, err
	}
	text, err := a.Ask("Permissions on everything in the organization, as resource:action", permissionText(was.OrganizationPermissions), instead, check)
	if err != nil {
		return role, err
	}
	if role.OrganizationPermissions, err = readPermissions(text); err != nil {
		return role, err
	}
	if text, err = a.Ask("Permissions on what members own in it", permissionText(was.OrganizationMemberPermissions), instead, check); err != nil {
		return role, err
	}
	role.OrganizationMemberPermissions, err = readPermissions(text)
	return role, err
}

// shown is a role with lists where JSON would have null.
func shown(r coder.CustomRoleRequest) coder.CustomRoleRequest {
	for _, ps := range []*[]coder.Permission{&r.SitePermissions, &r.OrganizationPermissions, &r.OrganizationMemberPermissions, &r.UserPermissions} {
		if *ps == nil {
			*ps = []coder.Permission{}
		}
	}
	return r
}

func rolesCreateCommand(a *app.Run, ref *string) *app.Command {
	var e roleEdit
	return &app.Command{
		Name: "create", Args: "<role_name>", Min: 1, Max: 1,
		Short:    "Make a role of an organization's own.",
		Long:     "A role can hold only permissions that you have yourself.",
		Examples: []app.Example{{Text: "Make a role from JSON", Line: `echo '{"organization_permissions": [{"resource_type": "template", "action": "read"}]}' | coder organizations roles create reader --stdin`}},
		Options:  e.options(),
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			role, err := e.wanted(a, coder.CustomRoleRequest{Name: args[0]})
			if err != nil {
				return err
			}
			if e.dry {
				return app.WriteJSON(a.Stdout, shown(role))
			}
			if !e.stdin {
				if err := a.Confirm(fmt.Sprintf("Make the role %s in %s?", role.Name, o.Name), e.sure); err != nil {
					return err
				}
			}
			if _, err := c.CreateOrganizationRole(ctx, o.ID.String(), role); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Made role %s in %s.\n", role.Name, o.Name)
			return err
		},
	}
}

func rolesUpdateCommand(a *app.Run, ref *string) *app.Command {
	var e roleEdit
	l := &app.Listing[coder.AssignableRoles]{All: roleColumns()}
	return &app.Command{
		Name: "update", Args: "<role_name>", Min: 1, Max: 1,
		Short:   "Change a role of an organization's own, for all who have it.",
		Options: append(e.options(), l.ColumnOption("name,display name,site permissions,organization permissions,user permissions"), l.FormatOption()),
		Run: func(ctx context.Context, args []string) error {
			c, o, err := a.ClientAndOrganization(ctx, *ref)
			if err != nil {
				return err
			}
			was, err := ownRole(ctx, c, o, args[0])
			if err != nil {
				return err
			}
			role, err := e.wanted(a, was)
			if err != nil {
				return err
			}
			if e.dry {
				return app.WriteJSON(a.Stdout, shown(role))
			}
			if !e.stdin {
				if err := a.Confirm(fmt.Sprintf("Change the role %s of %s, for all who have it?", role.Name, o.Name), e.sure); err != nil {
					return err
				}
			}
			now, err := c.UpdateOrganizationRole(ctx, o.ID.String(), role)
			if err != nil {
				return err
			}
			return l.Write(a, []coder.AssignableRoles{{
				Name: now.Name, DisplayName: now.DisplayName, OrganizationID: now.OrganizationID, Assignable: true, SitePermissions: now.SitePermissions,
				OrganizationPermissions: now.OrganizationPermissions, OrganizationMemberPermissions: now.OrganizationMemberPermissions, UserPermissions: now.UserPermissions,
			}})
		},
	}
}

// ownRole gives a role of an organization's own as it is.
func ownRole(ctx context.Context, c *client.Client, o coder.Organization, name string) (coder.CustomRoleRequest, error) {
	all, err := c.OrganizationRoles(ctx, o.ID.String())
	if err != nil {
		return coder.CustomRoleRequest{}, err
	}
	for _, r := range all {
		if r.Name == name && r.BuiltIn {
			return coder.CustomRoleRequest{}, app.Failure("the role %s is built in and stays as it is", name)
		}
		if r.Name == name {
			return coder.CustomRoleRequest{
				Name: r.Name, DisplayName: r.DisplayName,
				OrganizationPermissions: r.OrganizationPermissions, OrganizationMemberPermissions: r.OrganizationMemberPermissions,
			}, nil
		}
	}
	return coder.CustomRoleRequest{}, app.Failure("there is no role %q in %s", name, o.Name)
}
