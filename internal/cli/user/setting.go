package user

import (
	"context"
	"encoding/json"
	"io"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// setting is an organization setting that is shown and set as JSON.
type setting struct {
	name    string
	aliases []string
	what    string
	show    func(context.Context, *codersdk.Client, codersdk.Organization) (any, error)
	set     func(context.Context, *codersdk.Client, codersdk.Organization, []byte) (any, error)
}

// settingOf returns a setting with the API calls that read and change it.
func settingOf[T any](name string, aliases []string, what string,
	get func(context.Context, *codersdk.Client, string) (T, error), put func(context.Context, *codersdk.Client, string, T) (T, error),
) setting {
	return setting{
		name: name, aliases: aliases, what: what,
		show: func(ctx context.Context, c *codersdk.Client, o codersdk.Organization) (any, error) {
			return get(ctx, c, o.ID.String())
		},
		set: func(ctx context.Context, c *codersdk.Client, o codersdk.Organization, b []byte) (any, error) {
			v, err := readSetting[T](b)
			if err != nil {
				return nil, err
			}
			return put(ctx, c, o.ID.String(), v)
		},
	}
}

// organizationSettings returns all settings.
func organizationSettings() []setting {
	type ctx = context.Context
	return []setting{
		settingOf("group-sync", []string{"groupsync"}, "the mapping of identity provider claims to groups",
			func(x ctx, c *codersdk.Client, o string) (codersdk.GroupSyncSettings, error) {
				return c.GroupSync(x, o)
			},
			func(x ctx, c *codersdk.Client, o string, v codersdk.GroupSyncSettings) (codersdk.GroupSyncSettings, error) {
				return c.UpdateGroupSync(x, o, v)
			}),
		settingOf("role-sync", []string{"rolesync"}, "the mapping of identity provider claims to roles",
			func(x ctx, c *codersdk.Client, o string) (codersdk.RoleSyncSettings, error) { return c.RoleSync(x, o) },
			func(x ctx, c *codersdk.Client, o string, v codersdk.RoleSyncSettings) (codersdk.RoleSyncSettings, error) {
				return c.UpdateRoleSync(x, o, v)
			}),
		settingOf(
			"organization-sync",
			[]string{"organizationsync", "org-sync", "orgsync"},
			"the mapping of identity provider claims to organizations, for the whole deployment",
			func(x ctx, c *codersdk.Client, _ string) (codersdk.OrganizationSyncSettings, error) {
				return c.OrganizationSync(x)
			},
			func(x ctx, c *codersdk.Client, _ string, v codersdk.OrganizationSyncSettings) (codersdk.OrganizationSyncSettings, error) {
				return c.UpdateOrganizationSync(x, v)
			},
		),
		settingOf("workspace-sharing", []string{"workspacesharing"}, "the workspace sharing setting",
			func(x ctx, c *codersdk.Client, o string) (codersdk.WorkspaceSharingSettings, error) {
				return c.WorkspaceSharing(x, o)
			},
			func(x ctx, c *codersdk.Client, o string, v codersdk.WorkspaceSharingSettings) (codersdk.WorkspaceSharingSettings, error) {
				return c.UpdateWorkspaceSharing(x, o, v)
			}),
		settingOf("rules", nil, "the rules for tokens and external accounts of members",
			func(x ctx, c *codersdk.Client, o string) (codersdk.OrganizationRules, error) {
				return c.OrganizationRules(x, o)
			},
			func(x ctx, c *codersdk.Client, o string, v codersdk.OrganizationRules) (codersdk.OrganizationRules, error) {
				return c.UpdateOrganizationRules(x, o, v)
			}),
	}
}

// readSetting decodes the JSON of a setting.
func readSetting[T any](b []byte) (v T, err error) {
	if err := json.Unmarshal(b, &v); err != nil {
		return v, command.Failure("standard input is not the JSON of this setting: %v", err)
	}
	return v, nil
}

// settingsCommand returns organizations settings. ref is the organization of
// --org.
func settingsCommand(a *command.Run, ref *string) *command.Command {
	show := &command.Command{Name: "show", Short: "Show an organization setting as JSON"}
	set := &command.Command{Name: "set", Short: "Update an organization setting from JSON on standard input"}
	for _, s := range organizationSettings() {
		show.Subs = append(show.Subs, &command.Command{
			Name: s.name, Aliases: s.aliases, Max: 0, Short: "Show " + s.what,
			Run: func(ctx context.Context, _ []string) error {
				c, o, err := a.ClientAndOrganization(ctx, *ref)
				if err != nil {
					return err
				}
				v, err := s.show(ctx, c, o)
				if err != nil {
					return err
				}
				return command.WriteJSON(a.Stdout, v)
			},
		})
		set.Subs = append(set.Subs, &command.Command{
			Name: s.name, Aliases: s.aliases, Max: 0, Short: "Update " + s.what + " from JSON on standard input",
			Run: func(ctx context.Context, _ []string) error {
				c, o, err := a.ClientAndOrganization(ctx, *ref)
				if err != nil {
					return err
				}
				b, err := io.ReadAll(io.LimitReader(a.Stdin, maxRole))
				if err != nil {
					return err
				}
				v, err := s.set(ctx, c, o, b)
				if err != nil {
					return err
				}
				return command.WriteJSON(a.Stdout, v)
			},
		})
	}
	return &command.Command{
		Name: "settings", Aliases: []string{"setting"}, Short: "Manage the settings of an organization",
		Subs: []*command.Command{show, set},
	}
}
