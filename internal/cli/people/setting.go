package people

import (
	"context"
	"encoding/json"
	"io"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// setting is one of the settings of an organization that are shown and set as
// JSON.
type setting struct {
	name    string
	aliases []string
	what    string
	show    func(context.Context, *client.Client, coder.Organization) (any, error)
	set     func(context.Context, *client.Client, coder.Organization, []byte) (any, error)
}

// settingOf makes a setting of the calls that read and change it.
func settingOf[T any](name string, aliases []string, what string,
	get func(context.Context, *client.Client, string) (T, error), put func(context.Context, *client.Client, string, T) (T, error),
) setting {
	return setting{
		name: name, aliases: aliases, what: what,
		show: func(ctx context.Context, c *client.Client, o coder.Organization) (any, error) {
			return get(ctx, c, o.ID.String())
		},
		set: func(ctx context.Context, c *client.Client, o coder.Organization, b []byte) (any, error) {
			v, err := readSetting[T](b)
			if err != nil {
				return nil, err
			}
			return put(ctx, c, o.ID.String(), v)
		},
	}
}

// organizationSettings are all of them.
func organizationSettings() []setting {
	type ctx = context.Context
	return []setting{
		settingOf("group-sync", []string{"groupsync"}, "how claims of the identity provider become groups",
			func(x ctx, c *client.Client, o string) (coder.GroupSyncSettings, error) { return c.GroupSync(x, o) },
			func(x ctx, c *client.Client, o string, v coder.GroupSyncSettings) (coder.GroupSyncSettings, error) {
				return c.UpdateGroupSync(x, o, v)
			}),
		settingOf("role-sync", []string{"rolesync"}, "how claims of the identity provider become roles",
			func(x ctx, c *client.Client, o string) (coder.RoleSyncSettings, error) { return c.RoleSync(x, o) },
			func(x ctx, c *client.Client, o string, v coder.RoleSyncSettings) (coder.RoleSyncSettings, error) {
				return c.UpdateRoleSync(x, o, v)
			}),
		settingOf("organization-sync", []string{"organizationsync", "org-sync", "orgsync"}, "how claims of the identity provider become organizations, on the whole server",
			func(x ctx, c *client.Client, _ string) (coder.OrganizationSyncSettings, error) {
				return c.OrganizationSync(x)
			},
			func(x ctx, c *client.Client, _ string, v coder.OrganizationSyncSettings) (coder.OrganizationSyncSettings, error) {
				return c.UpdateOrganizationSync(x, v)
			}),
		settingOf("workspace-sharing", []string{"workspacesharing"}, "whether workspaces may be shared",
			func(x ctx, c *client.Client, o string) (coder.WorkspaceSharingSettings, error) {
				return c.WorkspaceSharing(x, o)
			},
			func(x ctx, c *client.Client, o string, v coder.WorkspaceSharingSettings) (coder.WorkspaceSharingSettings, error) {
				return c.UpdateWorkspaceSharing(x, o, v)
			}),
	}
}

// readSetting reads the JSON of a setting.
func readSetting[T any](b []byte) (v T, err error) {
	if err := json.Unmarshal(b, &v); err != nil {
		return v, app.Failure("what came on standard input is not the JSON of this setting: %v", err)
	}
	return v, nil
}

// settingsCommand is organizations settings; ref is the organization of --org.
func settingsCommand(a *app.Run, ref *string) *app.Command {
	show := &app.Command{Name: "show", Short: "Show a setting of an organization as JSON."}
	set := &app.Command{Name: "set", Short: "Change a setting of an organization, whose JSON comes on standard input."}
	for _, s := range organizationSettings() {
		show.Subs = append(show.Subs, &app.Command{
			Name: s.name, Aliases: s.aliases, Max: 0, Short: "Show " + s.what + ".",
			Run: func(ctx context.Context, _ []string) error {
				c, o, err := a.ClientAndOrganization(ctx, *ref)
				if err != nil {
					return err
				}
				v, err := s.show(ctx, c, o)
				if err != nil {
					return err
				}
				return app.WriteJSON(a.Stdout, v)
			},
		})
		set.Subs = append(set.Subs, &app.Command{
			Name: s.name, Aliases: s.aliases, Max: 0, Short: "Say " + s.what + "; reads JSON, prints what is so then.",
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
				return app.WriteJSON(a.Stdout, v)
			},
		})
	}
	return &app.Command{
		Name: "settings", Aliases: []string{"setting"}, Short: "Show and change the settings of an organization.",
		Subs: []*app.Command{show, set},
	}
}
