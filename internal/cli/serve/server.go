// Package serve is the family of commands that are the control plane or work on
// its database: server, with every option it has, and what an administrator
// needs when nobody can sign in.
//
// Options that belong to the contract and that the server does not act on yet
// are rows of package later: they are read and kept, and a warning says so when
// one is given.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/later"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// gcPercent is how much garbage there may be beside what is in use, unless
// GOGC says otherwise: most of what a server holds are connections that say
// little, so that collecting twice as often as usual costs next to nothing.
const gcPercent = 50

// Commands are the commands of this family.
func Commands(a *app.Run) []*app.Command {
	return []*app.Command{serverCommand(a), resetPasswordCommand(a)}
}

func serverCommand(a *app.Run) *app.Command {
	f := &serverFlags{}
	options := serverOptions(a, f)
	return &app.Command{
		Name: "server", Max: 0, Signals: true,
		Short: "Run the control plane.",
		Long: "It serves the API and the dashboard, keeps everything in PostgreSQL, and runs provisioners of its " +
			"own. Without --postgres-url it starts a PostgreSQL for itself below the configuration directory. " +
			"Stop it with Ctrl-C; a second one stops it at once.",
		Examples: []app.Example{
			{Text: "Try it on this machine", Line: "coder server"},
			{Text: "Serve others, with a database of your own", Line: "coder server --http-address 0.0.0.0:3000 --access-url https://coder.example.com --postgres-url postgres://coder@db/coder"},
			{Text: "Write a file with all options, and use it", Line: "coder server --write-config > coder.yaml && coder server --config coder.yaml"},
		},
		Options: options,
		Subs:    []*app.Command{serverAdminCommand(a), serverPostgresServeCommand(a), serverPostgresURLCommand(a), dbcryptCommand(a)},
		Run: func(ctx context.Context, _ []string) error {
			if f.config != "" {
				if err := option.ReadFile(f.config, options); err != nil {
					return err
				}
			}
			if f.writeConfig {
				text, err := option.WriteFile(options)
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(a.Stdout, text)
				return err
			}
			return serve(ctx, a, f, options)
		},
	}
}

// serve runs the server until a signal, or until it cannot go on.
func serve(ctx context.Context, a *app.Run, f *serverFlags, options []*option.Option) (err error) {
	log, closeLog, err := logger(a, f.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	c := f.cfg
	c.Version, c.Log, c.ConfigDir, c.ProvisionerEngines = coder.Version(), log, a.ConfigDir, f.types
	c.Apps.NoUsage = !f.usage
	c.Quiet.Fixed = !f.quietHours
	if c.SSHConfigOptions, err = option.SSHPairs(f.sshOptions); err != nil {
		return err
	}
	if err := f.login.into(&c); err != nil {
		return err
	}
	f.mail.into(&c.Mail)
	if f.supportLinks != "" {
		if err := json.Unmarshal([]byte(f.supportLinks), &c.SupportLinks); err != nil {
			return coder.Errorf(coder.CodeInvalid, "--support-links: %s", err)
		}
	}
	c.Settings = settings(options)
	for _, o := range f.later {
		if o.Given() && o.Value.Get() != initialText(o) {
			log.Warn("this server does not act on an option yet", "option", "--"+o.Flag)
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s, err := server.New(c)
	if err != nil {
		return err
	}
	return run(ctx, a, s, log, func() string {
		return fmt.Sprintf("The server is ready at %s. Sign in with: coder login %s\n", s.AccessURL(), s.AccessURL())
	})
}

// process is what a command runs until it is stopped.
type process interface {
	lifecycle.Service
	Failed() <-chan error
}

// run starts a process and waits for a signal, or until the process cannot go on;
// ready is what to tell people once it runs.
func run(ctx context.Context, a *app.Run, s process, log *slog.Logger, ready func() string) error {
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	starting, abandon := context.WithCancel(ctx)
	defer abandon()
	started := make(chan error, 1)
	go func() { started <- s.Start(starting) }()
	select {
	case err := <-started:
		if err != nil {
			return err
		}
	case <-stop:
		abandon()
		if err := <-started; err != nil {
			return coder.Errorf(coder.CodeUnavailable, "stopped while starting")
		}
		return s.Stop(ctx)
	}
	fmt.Fprint(a.Stderr, ready())
	return untilStopped(ctx, s, stop, log)
}

// untilStopped waits for a signal and stops the process, at once at the second.
func untilStopped(ctx context.Context, s process, stop <-chan os.Signal, log *slog.Logger) error {
	var failed error
	select {
	case sig := <-stop:
		log.Info("stopping, a second signal stops at once", "signal", sig.String())
	case failed = <-s.Failed():
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-done:
		}
	}()
	return errors.Join(failed, s.Stop(stopping))
}

// logger makes the log of a process that this command runs.
func logger(a *app.Run, c telemetry.LogConfig) (*slog.Logger, func() error, error) {
	c.Verbose = c.Verbose || a.Verbose
	c.Stderr, c.Stdout = a.Stderr, a.Stdout
	return telemetry.NewLogger(c)
}

// initialText is what an option holds without anybody's value.
func initialText(o *option.Option) string {
	fresh := later.Row{Flag: o.Flag, Kind: o.Value.Kind, Initial: o.Initial}.Option()
	if err := fresh.PreParse(); err != nil {
		return o.Initial
	}
	return fresh.Value.Get()
}
