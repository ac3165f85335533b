package provisioner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	wire "github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// daemonOptions are the flags of provisioner start.
type daemonOptions struct {
	cacheDir, psk, key, name, org string
	binary                        string
	concurrency                   int
	tags, experiments             []string
	types                         []string
	ignored                       time.Duration
	log                           telemetry.LogConfig
	prometheus                    bool
	prometheusAddress             string
	bounds                        boundOptions
}

func provisionerStartCommand(a *app.Run) *app.Command {
	var o daemonOptions
	return &app.Command{
		Name: "start", Max: 0, Signals: true,
		Short: "Run a provisioner on this machine, for one build at a time or several.",
		Long: "It signs in with --key, with --psk, or as you. SIGTERM and SIGHUP let it finish its build and " +
			"take no other; SIGINT (Ctrl-C) cancels the build first. --concurrency lets it run several builds at once, " +
			"and --terraform-binary says which terraform or tofu it runs them with.",
		Examples: []app.Example{
			{Text: "With a key, which also says the organization and the tags", Line: "CODER_PROVISIONER_DAEMON_KEY=... coder provisioner start --url https://coder.example.com"},
			{Text: "As yourself, for the builds of a data centre", Line: "coder provisioner start --tag datacenter=lisbon"},
		},
		Options: append([]*option.Option{
			option.Path(&o.cacheDir, a.Home(), "cache-dir", "Directory of what can be fetched or made again.").Short("c").Env("CODER_CACHE_DIRECTORY").Def("~/.cache/coder"),
			option.List(&o.tags, "tag", "Tag of this provisioner, as key=value. May be repeated.").Short("t").Env("CODER_PROVISIONERD_TAGS"),
			option.Duration(&o.ignored, "poll-interval", "Accepted and without effect: jobs are handed out at once.").Env("CODER_PROVISIONERD_POLL_INTERVAL").Def("1s"),
			option.Duration(&o.ignored, "poll-jitter", "Accepted and without effect: jobs are handed out at once.").Env("CODER_PROVISIONERD_POLL_JITTER").Def("100ms"),
			option.String(&o.psk, "psk", "Secret of the server's --provisioner-daemon-psk to sign in with.").Env("CODER_PROVISIONER_DAEMON_PSK"),
			option.String(&o.key, "key", "Key to sign in with.").Env("CODER_PROVISIONER_DAEMON_KEY"),
			option.String(&o.name, "name", "Name of this provisioner; the machine's otherwise.").Env("CODER_PROVISIONER_DAEMON_NAME"),
			option.Int(&o.concurrency, "concurrency", "How many builds to run at once.").Env("CODER_PROVISIONER_DAEMON_CONCURRENCY").Def("1"),
			option.String(&o.binary, "terraform-binary", "The terraform or tofu to run, as a name on the PATH or a path; a fitting one is found otherwise.").Env("CODER_PROVISIONER_DAEMON_TERRAFORM_BINARY"),
			option.Bool(&o.log.Verbose, "verbose", "Log more.").Env("CODER_PROVISIONER_DAEMON_VERBOSE").Def("false"),
			option.String(&o.log.Human, "log-human", "File for the log as text; \"\" for none.").Env("CODER_PROVISIONER_DAEMON_LOGGING_HUMAN").Def("/dev/stderr"),
			option.String(&o.log.JSON, "log-json", "File for the log as JSON.").Env("CODER_PROVISIONER_DAEMON_LOGGING_JSON"),
			option.String(&o.log.Stackdriver, "log-stackdriver", "File for the log as Google Cloud reads it.").Env("CODER_PROVISIONER_DAEMON_LOGGING_STACKDRIVER"),
			option.List(&o.log.Filter, "log-filter", "Let debug lines through of parts whose names match; .* for all.").Env("CODER_PROVISIONER_DAEMON_LOG_FILTER"),
			option.Bool(&o.prometheus, "prometheus-enable", "Show metrics.").Env("CODER_PROMETHEUS_ENABLE").Def("false"),
			option.String(&o.prometheusAddress, "prometheus-address", "Address to show them at.").Env("CODER_PROMETHEUS_ADDRESS").Def("127.0.0.1:2112"),
			option.List(&o.experiments, "experiments", "Accepted; there are none yet.").Env("CODER_EXPERIMENTS").YAML("experiments"),
			app.Org(&o.org),
			option.List(&o.types, "provisioner-types", "Tools to run: terraform, echo.").Env("CODER_PROVISIONER_TYPES").Def("terraform").Hide(),
		}, o.bounds.options()...),
		Run: func(ctx context.Context, _ []string) error { return provisionerStart(ctx, a, &o) },
	}
}

// check refuses ways of signing in that contradict one another.
func (o *daemonOptions) check() (coder.Tags, error) {
	switch {
	case o.key != "" && o.psk != "":
		return nil, app.Failure("--key and --psk are two ways to sign in; give one of them")
	case o.key != "" && len(o.tags) > 0:
		return nil, app.Failure("--tag cannot go with --key: a key has its own tags")
	case o.key != "" && o.org != "":
		return nil, app.Failure("--org cannot go with --key: a key belongs to an organization")
	case o.concurrency < 1 || o.concurrency > wire.MaxSlots:
		return nil, app.Failure("--concurrency %d is not a number from 1 to %d", o.concurrency, wire.MaxSlots)
	case o.psk != "" && o.org != "":
		return nil, app.Failure("--org cannot go with --psk: it serves the default organization")
	}
	tags, err := option.Pairs("--tag", o.tags)
	if err != nil {
		return nil, app.Failure("%s", err)
	}
	switch scope, given := tags[coder.TagScope]; {
	case given && scope != coder.ScopeOrganization && scope != coder.ScopeUser:
		return nil, app.Failure("--tag scope=%s is neither scope=organization nor scope=user", scope)
	case scope == coder.ScopeUser && o.psk != "":
		return nil, app.Failure("--tag scope=user cannot go with --psk: a provisioner of your own signs in as you")
	}
	return tags, coder.CheckTags("tag", tags)
}

// provisionerClient is a client that signs in as the options say.
func provisionerClient(ctx context.Context, a *app.Run, o *daemonOptions) (*client.Client, error) {
	if o.key == "" && o.psk == "" {
		c, err := a.Client(ctx)
		if coder.Is(err, coder.CodeUnauthenticated) {
			return nil, coder.Errorf(coder.CodeUnauthenticated, "no way to sign in: give --key or --psk, or run 'coder login'")
		}
		return c, err
	}
	u, err := a.Server()
	if err != nil {
		return nil, app.Failure("say which server with --url or $CODER_URL")
	}
	return a.Anonymous(ctx, u)
}

func provisionerStart(ctx context.Context, a *app.Run, o *daemonOptions) (err error) {
	tags, err := o.check()
	if err != nil {
		return err
	}
	c, err := provisionerClient(ctx, a, o)
	if err != nil {
		return err
	}
	o.log.Verbose = o.log.Verbose || a.Verbose
	o.log.Stderr, o.log.Stdout = a.Stderr, a.Stdout
	log, closeLog, err := telemetry.NewLogger(o.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	if o.name == "" {
		if o.name, err = os.Hostname(); err != nil {
			return err
		}
	}
	config := terraform.Config{CacheDir: filepath.Join(o.cacheDir, "provisioner"), Binary: o.binary, Log: log}
	if err := o.bounds.apply(&config); err != nil {
		return err
	}
	engines, err := server.Engines(o.types, config)
	if err != nil {
		return err
	}
	registry := telemetry.NewRegistry()
	if o.prometheus {
		l := &telemetry.Listener{Address: o.prometheusAddress, Handler: telemetry.Metrics(registry)}
		if err := l.Start(ctx); err != nil {
			return err
		}
		defer l.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // nothing of it is kept
	}
	ws := provisionerd.WebSocket{
		Client: c, Organization: o.org, Name: o.name, Tags: tags, Provisioners: o.types,
		Key: o.key, PSK: o.psk, Version: coder.Version(), Slots: o.concurrency,
	}
	if ws.Tools, err = tools(ctx, engines); err != nil {
		return err
	}
	d, err := provisionerd.NewSlots(o.concurrency, provisionerd.Config{
		Dial: ws.Dial, Name: o.name, Tags: tags, Engines: engines, Log: log, Registerer: registry,
	})
	if err != nil {
		return err
	}
	return runDaemon(ctx, d, log)
}

// tools names the Terraform or OpenTofu that the engines run.
func tools(ctx context.Context, engines map[string]provisioner.Engine) ([]string, error) {
	e, ok := engines["terraform"].(*terraform.Engine)
	if !ok {
		return nil, nil
	}
	tool, err := e.Tool(ctx)
	return []string{tool}, err
}

// runDaemon runs a provisioner until a signal, or until the server refuses it.
func runDaemon(ctx context.Context, d *provisionerd.Slots, log *slog.Logger) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := d.Start(ctx); err != nil {
		return err
	}
	stopping, cancelJob := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelJob()
	var failed error
	select {
	case failed = <-d.Refused():
		cancelJob()
	case <-ctx.Done():
		cancelJob()
	case s := <-signals:
		if s == os.Interrupt {
			log.Info("canceling the current job, if there is one", "signal", s.String())
			cancelJob()
			break
		}
		log.Info("finishing the current job, if there is one; an interrupt cancels it", "signal", s.String())
		go func() {
			for {
				select {
				case s := <-signals:
					if s == os.Interrupt {
						cancelJob()
					}
				case <-stopping.Done():
					return
				}
			}
		}()
	}
	return errors.Join(failed, d.Stop(stopping))
}
