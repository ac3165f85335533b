package server

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/server/sessions"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// databaseFlags holds the flags of the commands that access the database
// directly.
type databaseFlags struct{ url, auth string }

func (f *databaseFlags) options() []*option.Option {
	return []*option.Option{
		option.String(&f.url, "postgres-url", "PostgreSQL URL of the server (default: the built-in PostgreSQL)").Env("CODER_PG_CONNECTION_URL").OnlyHere(),
		option.Choice(&f.auth, "postgres-connection-auth", "Authentication to PostgreSQL: the password of the URL, or AWS IAM tokens", "password", "awsiamrds").
			Env("CODER_PG_CONNECTION_AUTH").
			Def("password"),
	}
}

// databaseConfig returns the configuration for work on the database itself.
func databaseConfig(a *command.Run, f *databaseFlags) (database.Config, func() error, error) {
	c := telemetry.LogConfig{}
	if a.Verbose {
		c.Human = "/dev/stderr"
	}
	log, done, err := logger(a, c)
	cache := a.Env["CODER_CACHE_DIRECTORY"]
	if cache == "" {
		cache = a.Home() + "/.cache/coder"
	}
	return database.Config{
		Log: log, ConfigDir: a.ConfigDir, CacheDir: cache, URL: f.url, Auth: f.auth, MaxOpen: 4, BinDir: a.Env["CODER_POSTGRES_BIN_DIR"],
	}, done, err
}

func serverAdminCommand(a *command.Run) *command.Command {
	var f databaseFlags
	var req codersdk.CreateFirstUserRequest
	var algorithm string
	var raw bool
	return &command.Command{
		Name: "create-admin-user", Max: 0,
		Short: "Create an owner directly in the database",
		Options: append(
			f.options(),
			option.String(&algorithm, "ssh-keygen-algorithm", "Algorithm of the user's git SSH key: ed25519, ecdsa or rsa4096").
				Env("CODER_SSH_KEYGEN_ALGORITHM").
				Def("ed25519"),
			option.String(&req.Username, "username", "Username").Env("CODER_USERNAME"),
			option.String(&req.Email, "email", "Email address").Env("CODER_EMAIL"),
			option.String(&req.Password, "password", "Password").Env("CODER_PASSWORD"),
			option.Bool(&raw, "raw-url", "Ignored, for compatibility"),
		),
		Run: func(ctx context.Context, _ []string) (err error) {
			if req.Username == "" {
				if req.Username, err = a.Ask("Name:", "", "use --username", func(s string) error { return codersdk.CheckName("username", s) }); err != nil {
					return err
				}
			}
			if req.Email == "" {
				if req.Email, err = a.Ask("Email address:", "", "use --email", func(s string) error { return codersdk.CheckEmail("email", s) }); err != nil {
					return err
				}
			}
			if req.Password == "" {
				if req.Password, err = a.NewPassword("use --password"); err != nil {
					return err
				}
			}
			c, done, err := databaseConfig(a, &f)
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			u, err := sessions.CreateAdminUser(ctx, c, req, algorithm)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Created owner %s (%s).\n", u.Username, u.ID)
			return err
		},
	}
}

func resetPasswordCommand(a *command.Run) *command.Command {
	var f databaseFlags
	return &command.Command{
		Name: "reset-password", Args: "<username>", Min: 1, Max: 1,
		Short:   "Reset a user's password directly in the database and end their sessions",
		Options: f.options(),
		Run: func(ctx context.Context, args []string) error {
			password, err := secretFromInput(a, "New password:", "write it to standard input")
			if err != nil {
				return err
			}
			c, done, err := databaseConfig(a, &f)
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			if err := sessions.ResetPassword(ctx, c, args[0], password); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Reset the password of %s.\n", args[0])
			return err
		},
	}
}

// secretFromInput prompts twice on a terminal, and otherwise reads a line of
// standard input.
func secretFromInput(a *command.Run, question, instead string) (string, error) {
	if a.Interactive() {
		return a.NewPassword(instead)
	}
	line, err := a.ReadLine()
	if err != nil || line == "" {
		return "", command.NoTerminal(question, instead)
	}
	return line, nil
}

func serverPostgresServeCommand(a *command.Run) *command.Command {
	var raw bool
	return &command.Command{
		Name: "postgres-builtin-serve", Max: 0,
		Short:   "Run the built-in PostgreSQL without the server",
		Options: []*option.Option{option.Bool(&raw, "raw-url", "Print the URL only")},
		Run: func(ctx context.Context, _ []string) error {
			c, done, err := databaseConfig(a, &databaseFlags{})
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			cluster, err := database.StartEmbedded(ctx, c)
			if err != nil {
				return err
			}
			printDatabase(a, cluster.URL(), raw)
			select {
			case <-ctx.Done():
			case <-cluster.Exited():
				return fmt.Errorf("PostgreSQL exited unexpectedly:\n%s", cluster.Output())
			}
			return cluster.Stop(context.WithoutCancel(ctx))
		},
	}
}

func serverPostgresURLCommand(a *command.Run) *command.Command {
	var raw bool
	return &command.Command{
		Name: "postgres-builtin-url", Max: 0,
		Short:   "Print the URL of the built-in PostgreSQL",
		Options: []*option.Option{option.Bool(&raw, "raw-url", "Print the URL only")},
		Run: func(context.Context, []string) error {
			u, err := database.EmbeddedURL(a.ConfigDir)
			if err != nil {
				return err
			}
			printDatabase(a, u, raw)
			return nil
		},
	}
}

func printDatabase(a *command.Run, url string, raw bool) {
	if raw {
		fmt.Fprintln(a.Stdout, url)
		return
	}
	fmt.Fprintf(a.Stdout, "psql %q\n", url)
}
