package serve

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// databaseFlags are the options of the commands that work on the database
// itself.
type databaseFlags struct{ url, auth string }

func (f *databaseFlags) options() []*option.Option {
	return []*option.Option{
		option.String(&f.url, "postgres-url", "PostgreSQL of the server; the one below the configuration directory otherwise.").Env("CODER_PG_CONNECTION_URL").OnlyHere(),
		option.Choice(&f.auth, "postgres-connection-auth", "How to sign in to the database; awsiamrds is not supported yet.", "password", "awsiamrds").Env("CODER_PG_CONNECTION_AUTH").Def("password"),
	}
}

// serverConfig is what the server package needs for work on the database.
func serverConfig(a *app.Run, f *databaseFlags) (server.Config, func() error, error) {
	if f.auth == "awsiamrds" {
		return server.Config{}, nil, app.Failure("--postgres-connection-auth awsiamrds is not supported yet; use a URL with a password")
	}
	c := telemetry.LogConfig{}
	if a.Verbose {
		c.Human = "/dev/stderr"
	}
	log, done, err := logger(a, c)
	cache := a.Env["CODER_CACHE_DIRECTORY"]
	if cache == "" {
		cache = a.Home() + "/.cache/coder"
	}
	return server.Config{
		Version: coder.Version(), Log: log, ConfigDir: a.ConfigDir, CacheDir: cache,
		PostgresURL: f.url, PostgresMaxOpen: 4, PostgresBinDir: a.Env["CODER_POSTGRES_BIN_DIR"],
	}, done, err
}

func serverAdminCommand(a *app.Run) *app.Command {
	var f databaseFlags
	var req coder.CreateFirstUserRequest
	var algorithm string
	var raw bool
	return &app.Command{
		Name: "create-admin-user", Max: 0,
		Short: "Make an owner straight in the database, when nobody can sign in.",
		Options: append(f.options(),
			option.String(&algorithm, "ssh-keygen-algorithm", "Kind of the user's git key: ed25519, ecdsa or rsa4096.").Env("CODER_SSH_KEYGEN_ALGORITHM").Def("ed25519"),
			option.String(&req.Username, "username", "Name of the user.").Env("CODER_USERNAME"),
			option.String(&req.Email, "email", "E-mail address of the user.").Env("CODER_EMAIL"),
			option.String(&req.Password, "password", "Password of the user.").Env("CODER_PASSWORD"),
			option.Bool(&raw, "raw-url", "Accepted for the sake of scripts."),
		),
		Run: func(ctx context.Context, _ []string) (err error) {
			if req.Username == "" {
				if req.Username, err = a.Ask("Name:", "", "use --username", func(s string) error { return coder.CheckName("username", s) }); err != nil {
					return err
				}
			}
			if req.Email == "" {
				if req.Email, err = a.Ask("E-mail address:", "", "use --email", func(s string) error { return coder.CheckEmail("email", s) }); err != nil {
					return err
				}
			}
			if req.Password == "" {
				if req.Password, err = a.NewPassword("use --password"); err != nil {
					return err
				}
			}
			c, done, err := serverConfig(a, &f)
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			c.SSHKeyAlgorithm = algorithm
			u, err := server.CreateAdminUser(ctx, c, req)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Made the owner %s (%s).\n", u.Username, u.ID)
			return err
		},
	}
}

func resetPasswordCommand(a *app.Run) *app.Command {
	var f databaseFlags
	return &app.Command{
		Name: "reset-password", Args: "<username>", Min: 1, Max: 1,
		Short:   "Set a user's password straight in the database, and end their sessions.",
		Options: f.options(),
		Run: func(ctx context.Context, args []string) error {
			password, err := secretFromInput(a, "New password:", "write it to standard input")
			if err != nil {
				return err
			}
			c, done, err := serverConfig(a, &f)
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			if err := server.ResetPassword(ctx, c, args[0], password); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "The password of %s is set.\n", args[0])
			return err
		},
	}
}

// secretFromInput asks twice at a terminal, and reads a line elsewhere.
func secretFromInput(a *app.Run, question, instead string) (string, error) {
	if a.Interactive() {
		return a.NewPassword(instead)
	}
	line, err := a.ReadLine()
	if err != nil || line == "" {
		return "", app.NoTerminal(question, instead)
	}
	return line, nil
}

func serverPostgresServeCommand(a *app.Run) *app.Command {
	var raw bool
	return &app.Command{
		Name: "postgres-builtin-serve", Max: 0,
		Short:   "Run the server's own PostgreSQL alone, until Ctrl-C.",
		Options: []*option.Option{option.Bool(&raw, "raw-url", "Print the URL alone, for scripts.")},
		Run: func(ctx context.Context, _ []string) error {
			c, done, err := serverConfig(a, &databaseFlags{})
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			cluster, err := server.StartEmbedded(ctx, c)
			if err != nil {
				return err
			}
			printDatabase(a, cluster.URL(), raw)
			select {
			case <-ctx.Done():
			case <-cluster.Exited():
				return fmt.Errorf("PostgreSQL ended by itself:\n%s", cluster.Output())
			}
			return cluster.Stop(context.WithoutCancel(ctx))
		},
	}
}

func serverPostgresURLCommand(a *app.Run) *app.Command {
	var raw bool
	return &app.Command{
		Name: "postgres-builtin-url", Max: 0,
		Short:   "Print the URL of the server's own PostgreSQL.",
		Options: []*option.Option{option.Bool(&raw, "raw-url", "Print the URL alone, for scripts.")},
		Run: func(context.Context, []string) error {
			u, err := server.EmbeddedURL(a.ConfigDir)
			if err != nil {
				return err
			}
			printDatabase(a, u, raw)
			return nil
		},
	}
}

func printDatabase(a *app.Run, url string, raw bool) {
	if raw {
		fmt.Fprintln(a.Stdout, url)
		return
	}
	fmt.Fprintf(a.Stdout, "psql %q\n", url)
}
