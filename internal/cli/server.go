package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/later"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

func (a *app) serverCommand() *command {
	f := &serverFlags{}
	options := a.serverOptions(f)
	return &command{
		name: "server", max: 0, signals: true,
		short: "Run the control plane.",
		long: "It serves the API and the dashboard, keeps everything in PostgreSQL, and runs provisioners of its " +
			"own. Without --postgres-url it starts a PostgreSQL for itself below the configuration directory. " +
			"Stop it with Ctrl-C; a second one stops it at once.",
		examples: []example{
			{"Try it on this machine", "coder server"},
			{"Serve others, with a database of your own", "coder server --http-address 0.0.0.0:3000 --access-url https://coder.example.com --postgres-url postgres://coder@db/coder"},
			{"Write a file with all options, and use it", "coder server --write-config > coder.yaml && coder server --config coder.yaml"},
		},
		options: options,
		subs:    []*command{a.serverAdminCommand(), a.serverPostgresServeCommand(), a.serverPostgresURLCommand()},
		run: func(ctx context.Context, _ []string) error {
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
				_, err = fmt.Fprint(a.stdout, text)
				return err
			}
			return a.serve(ctx, f)
		},
	}
}

// serve runs the server until a signal, or until it cannot go on.
func (a *app) serve(ctx context.Context, f *serverFlags) (err error) {
	log, closeLog, err := a.logger(f.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	c := f.cfg
	c.Version, c.Log, c.ConfigDir, c.ProvisionerEngines = coder.Version(), log, a.configDir, f.types
	if c.SSHConfigOptions, err = sshOptions(f.sshOptions); err != nil {
		return err
	}
	for _, o := range f.later {
		if o.Given() && o.Value.Get() != initialText(o) {
			log.Warn("this server does not act on an option yet", "option", "--"+o.Flag)
		}
	}
	s, err := server.New(c)
	if err != nil {
		return err
	}
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
	fmt.Fprintf(a.stderr, "The server is ready at %s. Sign in with: coder login %s\n", s.AccessURL(), s.AccessURL())
	return a.untilStopped(ctx, s, stop, log)
}

// untilStopped waits for a signal and stops the server, at once at the second.
func (a *app) untilStopped(ctx context.Context, s *server.Server, stop <-chan os.Signal, log *slog.Logger) error {
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
func (a *app) logger(c telemetry.LogConfig) (*slog.Logger, func() error, error) {
	c.Verbose = c.Verbose || a.verbose
	c.Stderr, c.Stdout = a.stderr, a.stdout
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

// sshOptions reads Key=value or "Key value".
func sshOptions(in []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range in {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			k, v, ok = strings.Cut(s, " ")
		}
		if !ok || strings.TrimSpace(k) == "" {
			return nil, failure("the SSH option %q must be Key=value", s)
		}
		out[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return out, nil
}
