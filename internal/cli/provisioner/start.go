package provisioner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	wire "github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd/engines"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// daemonOptions holds the flags of provisioner start.
type daemonOptions struct {
	cacheDir, psk, key, name, org string
	binary                        string
	concurrency                   int
	tags                          []string
	types                         []string
	log                           telemetry.LogConfig
	prometheus                    bool
	prometheusAddress             string
	bounds                        boundOptions
	traces                        traceOptions
}

func provisionerStartCommand(a *command.Run) *command.Command {
	var o daemonOptions
	return &command.Command{
		Name: "start", Max: 0, Signals: true,
		Short: "Run provisioners on this machine",
		Long: "Authenticates with --key, with --psk for the organization of --org, or with your session. On " +
			"SIGTERM and SIGHUP it finishes its builds, accepts no others and exits; on SIGINT (Ctrl-C) it " +
			"cancels its builds first. --concurrency sets the number of concurrent builds, and " +
			"--terraform-binary selects the Terraform or OpenTofu binary.",
		Examples: []command.Example{
			{
				Text: "Use a key, which determines the organization and the tags",
				Line: "CODER_PROVISIONER_DAEMON_KEY=... coder provisioner start --url https://coder.example.com",
			},
			{Text: "Use your session, for builds in one data center", Line: "coder provisioner start --tag datacenter=lisbon"},
		},
		Options: append([]*option.Option{
			option.Path(&o.cacheDir, a.Home(), "cache-dir", "Directory for cached data").Short("c").Env("CODER_CACHE_DIRECTORY").Def("~/.cache/coder"),
			option.List(&o.tags, "tag", "Tag of this provisioner, as key=value (repeatable)").Short("t").Env("CODER_PROVISIONERD_TAGS"),
			option.Duration(new(time.Duration), "poll-interval", "Ignored, for compatibility (the server pushes jobs)").
				Env("CODER_PROVISIONERD_POLL_INTERVAL").
				Def("1s"),
			option.Duration(new(time.Duration), "poll-jitter", "Ignored, for compatibility (the server pushes jobs)").Env("CODER_PROVISIONERD_POLL_JITTER").Def("100ms"),
			option.String(&o.psk, "psk", "Pre-shared key, as in the server's --provisioner-daemon-psk").Env("CODER_PROVISIONER_DAEMON_PSK"),
			option.String(&o.key, "key", "Provisioner key").Env("CODER_PROVISIONER_DAEMON_KEY"),
			option.String(&o.name, "name", "Name of this provisioner (default: the hostname)").Env("CODER_PROVISIONER_DAEMON_NAME"),
			option.Int(&o.concurrency, "concurrency", "Number of concurrent builds").Env("CODER_PROVISIONER_DAEMON_CONCURRENCY").Def("1"),
			option.String(&o.binary, "terraform-binary", "Terraform or OpenTofu binary, as a name on the PATH or a path; tofu is downloaded if absent "+
				"(default: a compatible one is found, or Terraform downloaded)").Env("CODER_PROVISIONER_DAEMON_TERRAFORM_BINARY"),
			option.Bool(&o.log.Verbose, "verbose", "Enable debug logging").Env("CODER_PROVISIONER_DAEMON_VERBOSE").Def("false"),
			option.String(&o.log.Human, "log-human", "File for logs as text; \"\" disables").Env("CODER_PROVISIONER_DAEMON_LOGGING_HUMAN").Def("/dev/stderr"),
			option.String(&o.log.JSON, "log-json", "File for logs as JSON").Env("CODER_PROVISIONER_DAEMON_LOGGING_JSON"),
			option.String(&o.log.Stackdriver, "log-stackdriver", "File for logs in Google Cloud's Stackdriver format").
				Env("CODER_PROVISIONER_DAEMON_LOGGING_STACKDRIVER"),
			option.List(&o.log.Filter, "log-filter", "Regular expression for the names of components with debug logs; .* means all").
				Env("CODER_PROVISIONER_DAEMON_LOG_FILTER"),
			option.Bool(&o.prometheus, "prometheus-enable", "Serve Prometheus metrics").Env("CODER_PROMETHEUS_ENABLE").Def("false"),
			option.String(&o.prometheusAddress, "prometheus-address", "Address of the Prometheus metrics").Env("CODER_PROMETHEUS_ADDRESS").Def("127.0.0.1:2112"),
			option.List(new([]string), "experiments", "Ignored, for compatibility (no experiment affects provisioners)").Env("CODER_EXPERIMENTS").YAML("experiments"),
			command.Org(&o.org),
			option.List(&o.types, "provisioner-types", "Provisioner types: terraform, echo").Env("CODER_PROVISIONER_TYPES").Def("terraform").Hide(),
		}, slices.Concat(o.traces.options(), o.bounds.options())...),
		Run: func(ctx context.Context, _ []string) error { return provisionerStart(ctx, a, &o) },
	}
}

// check returns an error for contradicting authentication flags, or the
// effective tags.
func (o *daemonOptions) check() (codersdk.Tags, error) {
	switch {
	case o.key != "" && o.psk != "":
		return nil, command.Failure("--key and --psk are mutually exclusive; use one of them")
	case o.key != "" && len(o.tags) > 0:
		return nil, command.Failure("--tag cannot be used with --key: the key has its own tags")
	case o.key != "" && o.org != "":
		return nil, command.Failure("--org cannot be used with --key: the key belongs to an organization")
	case o.concurrency < 1 || o.concurrency > wire.MaxSlots:
		return nil, command.Failure("--concurrency %d must be from 1 to %d", o.concurrency, wire.MaxSlots)
	}
	tags, err := option.Pairs("--tag", o.tags)
	if err != nil {
		return nil, command.Failure("%s", err)
	}
	switch scope, given := tags[codersdk.TagScope]; {
	case given && scope != codersdk.ScopeOrganization && scope != codersdk.ScopeUser:
		return nil, command.Failure("--tag scope=%s must be scope=organization or scope=user", scope)
	case scope == codersdk.ScopeUser && o.psk != "":
		return nil, command.Failure("--tag scope=user cannot be used with --psk: a user provisioner needs your session")
	}
	return tags, codersdk.CheckTags("tag", tags)
}

// provisionerClient returns a client with the authentication of the flags.
func provisionerClient(ctx context.Context, a *command.Run, o *daemonOptions) (*codersdk.Client, error) {
	if o.key == "" && o.psk == "" {
		c, err := a.Client(ctx)
		if codersdk.Is(err, codersdk.CodeUnauthenticated) {
			return nil, codersdk.Errorf(codersdk.CodeUnauthenticated, "no credentials: use --key or --psk, or run 'coder login'")
		}
		return c, err
	}
	u, err := a.Server()
	if err != nil {
		return nil, command.Failure("no server given; use --url or $CODER_URL")
	}
	return a.Anonymous(ctx, u)
}

func provisionerStart(ctx context.Context, a *command.Run, o *daemonOptions) (err error) {
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
	ws := provisionerd.WebSocket{
		Client: c, Organization: o.org, Name: o.name, Tags: tags, Provisioners: o.types,
		Key: o.key, PSK: o.psk, Version: codersdk.Version(), Slots: o.concurrency,
	}
	config := terraform.Config{CacheDir: filepath.Join(o.cacheDir, "provisioner"), Binary: o.binary, Log: log, Mirror: ws.Mirror()}
	if err := o.bounds.apply(&config); err != nil {
		return err
	}
	available, err := engines.New(o.types, config)
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
	if ws.Tools, err = tools(ctx, available); err != nil {
		return err
	}
	dc := provisionerd.Config{
		Dial: ws.Dial, Name: o.name, Tags: tags, Engines: available, Log: log, Registerer: registry,
	}
	traces, err := o.traces.start(ctx, log, o.name, o.key, o.psk)
	if err != nil {
		return err
	}
	if traces != nil {
		dc.Tracer, dc.Log = traces.Tracer, traces.Log
		defer stopTraces(ctx, traces)
	}
	d, err := provisionerd.NewSlots(o.concurrency, dc)
	if err != nil {
		return err
	}
	return runDaemon(ctx, d, log)
}

// tools returns the versions of the Terraform or OpenTofu binaries that the
// engines run.
func tools(ctx context.Context, available map[string]provisioner.Engine) ([]string, error) {
	e, ok := available["terraform"].(*terraform.Engine)
	if !ok {
		return nil, nil
	}
	tool, err := e.Tool(ctx)
	return []string{tool}, err
}

// runDaemon runs a provisioner until a signal arrives or the server refuses it.
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
			log.Info("canceling current jobs", "signal", s.String())
			cancelJob()
			break
		}
		log.Info("finishing current jobs; an interrupt cancels them", "signal", s.String())
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
