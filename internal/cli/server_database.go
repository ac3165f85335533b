package cli

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder"
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
func (a *app) serverConfig(f *databaseFlags) (server.Config, func() error, error) {
	if f.auth == "awsiamrds" {
		return server.Config{}, nil, failure("--postgres-connection-auth awsiamrds is not supported yet; use a URL with a password")
	}
	c := telemetry.LogConfig{}
	if a.verbose {
		c.Human = "/dev/stderr"
	}
	log, done, err := a.logger(c)
	cache := a.env["CODER_CACHE_DIRECTORY"]
	if cache == "" {
		cache = a.home() + "/.cache/coder"
	}
	return server.Config{
		Version: coder.Version(), Log: log, ConfigDir: a.configDir, CacheDir: cache,
		PostgresURL: f.url, PostgresMaxOpen: 4, PostgresBinDir: a.env["CODER_POSTGRES_BIN_DIR"],
	}, done, err
}

func (a *app) serverAdminCommand() *command {
	var f databaseFlags
	var req coder.CreateFirstUserRequest
	var algorithm string
	var raw bool
	return &command{
		name: "create-admin-user", max: 0,
		short: "Make an owner straight in the database, when nobody can sign in.",
		options: append(f.options(),
			option.String(&algorithm, "ssh-keygen-algorithm", "Kind of the user's git key: ed25519, ecdsa or rsa4096.").Env("CODER_SSH_KEYGEN_ALGORITHM").Def("ed25519"),
			option.String(&req.Username, "username", "Name of the user.").Env("CODER_USERNAME"),
			option.String(&req.Email, "email", "E-mail address of the user.").Env("CODER_EMAIL"),
			option.String(&req.Password, "password", "Password of the user.").Env("CODER_PASSWORD"),
			option.Bool(&raw, "raw-url", "Accepted for the sake of scripts."),
		),
		run: func(ctx context.Context, _ []string) (err error) {
			if req.Username == "" {
				if req.Username, err = a.ask("Name:", "", "use --username", func(s string) error { return coder.CheckName("username", s) }); err != nil {
					return err
				}
			}
			if req.Email == "" {
				if req.Email, err = a.ask("E-mail address:", "", "use --email", func(s string) error { return coder.CheckEmail("email", s) }); err != nil {
					return err
				}
			}
			if req.Password == "" {
				if req.Password, err = a.newPassword("use --password"); err != nil {
					return err
				}
			}
			c, done, err := a.serverConfig(&f)
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			c.SSHKeyAlgorithm = algorithm
			u, err := server.CreateAdminUser(ctx, c, req)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "Made the owner %s (%s).\n", u.Username, u.ID)
			return err
		},
	}
}

func (a *app) resetPasswordCommand() *command {
	var f databaseFlags
	return &command{
		name: "reset-password", args: "<username>", min: 1, max: 1,
		short:   "Set a user's password straight in the database, and end their sessions.",
		options: f.options(),
		run: func(ctx context.Context, args []string) error {
			password, err := a.secretFromInput("New password:", "write it to standard input")
			if err != nil {
				return err
			}
			c, done, err := a.serverConfig(&f)
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			if err := server.ResetPassword(ctx, c, args[0], password); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "The password of %s is set.\n", args[0])
			return err
		},
	}
}

// secretFromInput asks twice at a terminal, and reads a line elsewhere.
func (a *app) secretFromInput(question, instead string) (string, error) {
	if a.interactive() {
		return a.newPassword(instead)
	}
	line, err := a.readLine()
	if err != nil || line == "" {
		return "", errNoTerminal(question, instead)
	}
	return line, nil
}

func (a *app) serverPostgresServeCommand() *command {
	var raw bool
	return &command{
		name: "postgres-builtin-serve", max: 0,
		short:   "Run the server's own PostgreSQL alone, until Ctrl-C.",
		options: []*option.Option{option.Bool(&raw, "raw-url", "Print the URL alone, for scripts.")},
		run: func(ctx context.Context, _ []string) error {
			c, done, err := a.serverConfig(&databaseFlags{})
			if err != nil {
				return err
			}
			defer done() //nolint:errcheck // a log of standard error
			cluster, err := server.StartEmbedded(ctx, c)
			if err != nil {
				return err
			}
			a.printDatabase(cluster.URL(), raw)
			select {
			case <-ctx.Done():
			case <-cluster.Exited():
				return fmt.Errorf("PostgreSQL ended by itself:\n%s", cluster.Output())
			}
			return cluster.Stop(context.WithoutCancel(ctx))
		},
	}
}

func (a *app) serverPostgresURLCommand() *command {
	var raw bool
	return &command{
		name: "postgres-builtin-url", max: 0,
		short:   "Print the URL of the server's own PostgreSQL.",
		options: []*option.Option{option.Bool(&raw, "raw-url", "Print the URL alone, for scripts.")},
		run: func(context.Context, []string) error {
			u, err := server.EmbeddedURL(a.configDir)
			if err != nil {
				return err
			}
			a.printDatabase(u, raw)
			return nil
		},
	}
}

func (a *app) printDatabase(url string, raw bool) {
	if raw {
		fmt.Fprintln(a.stdout, url)
		return
	}
	fmt.Fprintf(a.stdout, "psql %q\n", url)
}
