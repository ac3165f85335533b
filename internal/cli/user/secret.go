package user

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func secretCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "secret", Aliases: []string{"secrets"}, Args: "",
		Short: "Manage your user secrets",
		Long: "Each of your workspaces gets an enabled secret as an environment variable, a file, or both. A change " +
			"reaches running workspaces within a second: new shells and scripts have it. Values are never shown.",
		Examples: []command.Example{
			{Text: "Create a secret from a file", Line: "coder secret create npm --env NPM_TOKEN <token.txt"},
			{Text: "Write a secret to a file in your workspaces", Line: "coder secret create kube --file '~/.kube/config' <kubeconfig"},
			{Text: "Create the secrets of a file", Line: "coder secret import .env"},
			{Text: "Delete a secret", Line: "coder secret delete npm"},
		},
		Subs: []*command.Command{
			secretCreateCommand(a), secretUpdateCommand(a), secretImportCommand(a), secretSwitchCommand(a, "enable", true), secretSwitchCommand(a, "disable", false),
			secretListCommand(a), secretDeleteCommand(a),
		},
	}
}

// secretFlags are the flags of create and update.
type secretFlags struct {
	value, description, env, file                    string
	enabled                                          bool
	optValue, optDescription, optEnv, optFile, optOn *option.Option
}

func (f *secretFlags) options() []*option.Option {
	f.optValue = option.String(&f.value, "value", "Value; other users of this computer may see it, so prefer standard input")
	f.optDescription = option.String(&f.description, "description", "Description")
	f.optEnv = option.String(&f.env, "env", "Environment variable that gets the value")
	f.optFile = option.String(&f.file, "file", "File that gets the value, below the home directory, such as ~/.npmrc")
	f.optOn = option.Bool(&f.enabled, "enabled", "Workspaces get the secret").Def("true")
	return []*option.Option{f.optValue, f.optDescription, f.optEnv, f.optFile, f.optOn}
}

// readSecret returns the value from standard input as it is, or from a prompt.
func readSecret(a *command.Run) (string, error) {
	if a.Interactive() {
		return a.AskSecret("Value:", "use --value")
	}
	b, err := io.ReadAll(io.LimitReader(a.Stdin, 1<<20)) // the server has a lower limit
	if err == nil && len(b) == 0 {
		err = command.Failure("the value is missing; pass it on standard input or with --value")
	}
	return string(b), err
}

func secretCreateCommand(a *command.Run) *command.Command {
	var f secretFlags
	return &command.Command{
		Name: "create", Args: "<name>", Min: 1, Max: 1,
		Short:   "Create a user secret",
		Long:    "The value is read from standard input as it is, or from a prompt that does not show it.",
		Options: f.options(),
		Run: func(ctx context.Context, args []string) (err error) {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if !f.optValue.Given() {
				if f.value, err = readSecret(a); err != nil {
					return err
				}
			}
			s, err := c.CreateUserSecret(ctx, "me", codersdk.CreateUserSecretRequest{
				Name: args[0], Value: f.value, Description: f.description, EnvName: f.env, FilePath: f.file, Enabled: &f.enabled,
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Created secret %s.\n", s.Name)
			return err
		},
	}
}

func secretUpdateCommand(a *command.Run) *command.Command {
	var f secretFlags
	return &command.Command{
		Name: "update", Args: "<name>", Min: 1, Max: 1,
		Short: "Update a user secret",
		Long: "Changes what the flags name. An empty --env or --file removes the variable or the file. Without flags, " +
			"the new value is read from standard input as it is, or from a prompt that does not show it.",
		Options: f.options(),
		Run: func(ctx context.Context, args []string) (err error) {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			var req codersdk.UpdateUserSecretRequest
			given := false
			for _, field := range []struct {
				flag *option.Option
				to   **string
				from *string
			}{
				{f.optValue, &req.Value, &f.value}, {f.optDescription, &req.Description, &f.description},
				{f.optEnv, &req.EnvName, &f.env}, {f.optFile, &req.FilePath, &f.file},
			} {
				if field.flag.Given() {
					*field.to, given = field.from, true
				}
			}
			if f.optOn.Given() {
				req.Enabled, given = &f.enabled, true
			}
			if !given {
				if f.value, err = readSecret(a); err != nil {
					return err
				}
				req.Value = &f.value
			}
			s, err := c.UpdateUserSecret(ctx, "me", args[0], req)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Updated secret %s.\n", s.Name)
			return err
		},
	}
}

// secretSwitchCommand returns enable or disable.
func secretSwitchCommand(a *command.Run, name string, on bool) *command.Command {
	short := "Enable a user secret"
	if !on {
		short = "Disable a user secret, so that workspaces do not get it"
	}
	return &command.Command{
		Name: name, Args: "<name>", Min: 1, Max: 1,
		Short: short,
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			s, err := c.UpdateUserSecret(ctx, "me", args[0], codersdk.UpdateUserSecretRequest{Enabled: &on})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Secret %s is %sd.\n", s.Name, name)
			return err
		},
	}
}

func secretListCommand(a *command.Run) *command.Command {
	l := &command.Listing[codersdk.UserSecret]{
		NoMatch: "No secrets found. Create one with 'coder secret create'.",
		All: []command.Column[codersdk.UserSecret]{
			{Name: "name", Show: func(s codersdk.UserSecret) string { return s.Name }},
			{Name: "env", Show: func(s codersdk.UserSecret) string { return s.EnvName }},
			{Name: "file", Show: func(s codersdk.UserSecret) string { return s.FilePath }},
			{Name: "enabled", Show: func(s codersdk.UserSecret) string { return fmt.Sprint(s.Enabled) }},
			{Name: "description", Show: func(s codersdk.UserSecret) string { return s.Description }},
			{Name: "created at", Show: func(s codersdk.UserSecret) string { return command.Date(s.CreatedAt) }},
			{Name: "updated at", Show: func(s codersdk.UserSecret) string { return command.Date(s.UpdatedAt) }},
		},
	}
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Args: "[<name>]", Max: 1,
		Short:   "List your user secrets, without their values",
		Options: []*option.Option{l.ColumnOption("name,env,file,enabled,description,updated at"), l.FormatOption()},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				s, err := c.UserSecret(ctx, "me", args[0])
				if err != nil {
					return err
				}
				return l.Write(a, []codersdk.UserSecret{s})
			}
			all, err := c.UserSecrets(ctx, "me")
			if err != nil {
				return err
			}
			return l.Write(a, all)
		},
	}
}

func secretDeleteCommand(a *command.Run) *command.Command {
	var yes bool
	return &command.Command{
		Name: "delete", Aliases: []string{"rm"}, Args: "<name>", Min: 1, Max: 1,
		Short:   "Delete a user secret",
		Long:    "Your workspaces lose its variable in new shells, and its file.",
		Options: []*option.Option{command.Yes(&yes)},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := a.Confirm("Delete the secret "+args[0]+"?", yes); err != nil {
				return err
			}
			if err := c.DeleteUserSecret(ctx, "me", args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Deleted secret %s.\n", args[0])
			return err
		},
	}
}
