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

// organizationSettings are all of them.
func organizationSettings() []setting {
	return []setting{{
		name: "workspace-sharing", aliases: []string{"workspacesharing"}, what: "whether workspaces may be shared",
		show: func(ctx context.Context, c *client.Client, o coder.Organization) (any, error) {
			return c.WorkspaceSharing(ctx, o.ID.String())
		},
		set: func(ctx context.Context, c *client.Client, o coder.Organization, b []byte) (any, error) {
			req, err := readSetting[coder.WorkspaceSharingSettings](b)
			if err != nil {
				return nil, err
			}
			return c.UpdateWorkspaceSharing(ctx, o.ID.String(), req)
		},
	}}
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
