// Package server is the command group of the control plane and its database:
// the server command with all its options, and the commands that an
// administrator needs when nobody can sign in.
//
// The options of missing features are listed in unsupported.go. They are
// refused unless their value asks for nothing.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// gcPercent is the default of GOGC. Most of a server's heap belongs to mostly
// idle connections, so collecting twice as often costs little.
const gcPercent = 50

// Commands returns the commands of this package.
func Commands(a *command.Run) []*command.Command {
	return []*command.Command{serverCommand(a), resetPasswordCommand(a)}
}

func serverCommand(a *command.Run) *command.Command {
	f := &serverFlags{}
	options := serverOptions(a, f)
	return &command.Command{
		Name: "server", Max: 0, Signals: true,
		Short: "Run the control plane",
		Long: "Serves the API and the dashboard, stores all data in PostgreSQL, and runs built-in provisioners. " +
			"Without --postgres-url it starts a built-in PostgreSQL below the configuration directory. Stop it " +
			"with Ctrl-C; press Ctrl-C again to stop immediately.",
		Examples: []command.Example{
			{Text: "Try it on this machine", Line: "coder server"},
			{
				Text: "Serve other machines, with an external database",
				Line: "coder server --http-address 0.0.0.0:3000 --access-url https://coder.example.com --postgres-url postgres://coder@db/coder",
			},
			{Text: "Write a configuration file and use it", Line: "coder server --write-config > coder.yaml && coder server --config coder.yaml"},
		},
		Options: options,
		Subs:    []*command.Command{serverAdminCommand(a), serverPostgresServeCommand(a), serverPostgresURLCommand(a), dbcryptCommand(a)},
		Run: func(ctx context.Context, _ []string) error {
			if f.config != "" {
				if err := option.ReadFile(f.config, options); err != nil {
					return err
				}
			}
			if f.writeConfig {
				text, err := option.WriteFile(options, func(text string) string { return terminal.Wrap(text, 76, "") })
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(a.Stdout, text)
				return err
			}
			if err := option.CheckRefused(options); err != nil {
				return err
			}
			return serve(ctx, a, f, options)
		},
	}
}

// serve runs the server until a signal arrives or the server fails.
func serve(ctx context.Context, a *command.Run, f *serverFlags, options []*option.Option) (err error) {
	f.log.Recent = &telemetry.Recent{}
	log, closeLog, err := logger(a, f.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	c := f.cfg
	c.Version, c.Log, c.Observability.RecentLogs, c.ConfigDir = codersdk.Version(), log, f.log.Recent, a.ConfigDir
	c.Observability.Settings = settings(options)
	providers, err := c.External.Read(a.Env)
	if err != nil {
		return err
	}
	c.Observability.Settings.Config["external_auth"] = providers
	warnUnknownVariables(a, log)
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

// process is a server or workspace proxy.
type process interface {
	lifecycle.Service
	Failed() <-chan error
}

// run starts a process and waits until a signal arrives or the process fails.
// ready returns the message to print after the start.
func run(ctx context.Context, a *command.Run, s process, log *slog.Logger, ready func() string) error {
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
			return codersdk.Errorf(codersdk.CodeUnavailable, "stopped during startup")
		}
		return s.Stop(ctx)
	}
	fmt.Fprint(a.Stderr, ready())
	return untilStopped(ctx, s, stop, log)
}

// untilStopped waits for a signal and stops the process gracefully. A second
// signal stops it immediately.
func untilStopped(ctx context.Context, s process, stop <-chan os.Signal, log *slog.Logger) error {
	var failed error
	select {
	case sig := <-stop:
		log.Info("stopping; a second signal stops immediately", "signal", sig.String())
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

// logger opens the logs of a process.
func logger(a *command.Run, c telemetry.LogConfig) (*slog.Logger, func() error, error) {
	c.Verbose = c.Verbose || a.Verbose
	c.Stderr, c.Stdout = a.Stderr, a.Stdout
	return telemetry.NewLogger(c)
}
