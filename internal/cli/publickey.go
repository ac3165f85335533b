package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func (a *app) publickeyCommand() *command {
	var reset, sure bool
	return &command{
		name: "publickey", aliases: []string{"pubkey"}, max: 0,
		short:   "Print the public key with which your workspaces reach git servers.",
		long:    "Add it to your account at the git server, once.",
		options: []*option.Option{option.Bool(&reset, "reset", "Make a new key; the old one stops working at once."), yes(&sure)},
		run: func(ctx context.Context, _ []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			get := c.GitSSHKey
			if reset {
				if err := a.confirm("Make a new key, and stop using the old one?", sure); err != nil {
					return err
				}
				get = c.RegenerateGitSSHKey
			}
			key, err := get(ctx, "me")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, strings.TrimSpace(key.PublicKey))
			return err
		},
	}
}
