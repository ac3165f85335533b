package people

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func publickeyCommand(a *app.Run) *app.Command {
	var reset, sure bool
	return &app.Command{
		Name: "publickey", Aliases: []string{"pubkey"}, Max: 0,
		Short:   "Print the public key with which your workspaces reach git servers.",
		Long:    "Add it to your account at the git server, once.",
		Options: []*option.Option{option.Bool(&reset, "reset", "Make a new key; the old one stops working at once."), app.Yes(&sure)},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			get := c.GitSSHKey
			if reset {
				if err := a.Confirm("Make a new key, and stop using the old one?", sure); err != nil {
					return err
				}
				get = c.RegenerateGitSSHKey
			}
			key, err := get(ctx, "me")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, strings.TrimSpace(key.PublicKey))
			return err
		},
	}
}
