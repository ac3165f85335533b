package user

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func publickeyCommand(a *command.Run) *command.Command {
	var reset, sure bool
	return &command.Command{
		Name: "publickey", Aliases: []string{"pubkey"}, Max: 0,
		Short:   "Print the public key that your workspaces use for git",
		Long:    "Add the key to your account on the git server.",
		Options: []*option.Option{option.Bool(&reset, "reset", "Generate a new key; the old one stops working immediately"), command.Yes(&sure)},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			get := c.GitSSHKey
			if reset {
				if err := a.Confirm("Generate a new key and revoke the old one?", sure); err != nil {
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
