// Command coder-operator manages control planes, provisioner pools and
// workspace proxies in a Kubernetes cluster. It is a separate program because
// it alone links the Kubernetes libraries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "coder-operator:", err)
		os.Exit(1)
	}
}

// app is one component of the program, selected by --app. (OP-25)
type app struct {
	name string
	run  func(context.Context, operator.Config) error
}

// apps returns the components that --app can name. "all" runs every one of
// them.
func apps(a *aggregation, m *mcpServer) []app {
	return []app{
		{"controller", operator.Run},
		{"aggregated-apiserver", a.run},
		{"mcp-http", m.run},
	}
}

// selectApps returns the components that --app selects.
func selectApps(name string, all []app) ([]app, error) {
	if name == "all" {
		return all, nil
	}
	names := []string{"all"}
	for _, a := range all {
		if a.name == name {
			return []app{a}, nil
		}
		names = append(names, a.name)
	}
	return nil, fmt.Errorf("--app %q is not one of %s", name, strings.Join(names, ", "))
}

// runAll runs apps until ctx ends or one of them fails, which stops the
// others.
func runAll(ctx context.Context, all []app, c operator.Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(all))
	for _, a := range all {
		go func() {
			err := a.run(ctx, c)
			if err != nil {
				err = fmt.Errorf("%s: %w", a.name, err)
			}
			cancel()
			ended <- err
		}()
	}
	var failed error
	for range all {
		failed = errors.Join(failed, <-ended)
	}
	return failed
}

// split returns the items of a comma-separated list.
func split(list string) []string {
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	var c operator.Config
	var namespaces, cross, level, what string
	var version, text bool
	f := flag.NewFlagSet("coder-operator", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&what, "app", "controller", "component to run: controller, aggregated-apiserver, mcp-http or all")
	f.BoolVar(&c.LeaderElection, "leader-elect", true, "enable leader election with a Lease")
	f.StringVar(&c.LeaderNamespace, "leader-election-namespace", "", "namespace of the leader election Lease (default: the operator's namespace)")
	f.StringVar(&c.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 disables them")
	f.StringVar(&c.MetricsAddress, "metrics-bind-address", ":8080", "address of /metrics; 0 disables it")
	f.StringVar(
		&namespaces,
		"namespaces",
		os.Getenv("CODER_OPERATOR_NAMESPACES"),
		"comma-separated namespaces to watch; empty means all ($CODER_OPERATOR_NAMESPACES)",
	)
	f.BoolVar(&c.SecureMetrics, "metrics-secure", true, "serve /metrics over HTTPS, to clients that may get the path in the cluster")
	f.StringVar(&c.Aggregated, "aggregated-account", "",
		"ServiceAccount of the aggregated API server, as namespace/name, which gets read access to the Secrets of control planes that it needs")
	f.StringVar(&cross, "cross-namespace-rules", "",
		"comma-separated namespaces whose resources may grant their extraRules in other namespaces that allow them")
	a, m := aggregationFlags(f), mcpFlags(f)
	f.StringVar(&level, "log-level", "info", "minimum log level: debug, info, warn or error")
	f.BoolVar(&text, "log-human", false, "log as text instead of JSON")
	f.BoolVar(&version, "version", false, "print the version and exit")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: coder-operator takes flags only; see --help", f.Arg(0))
	}
	m.certificate = *a
	chosen, err := selectApps(what, apps(a, m))
	if err != nil {
		return err
	}
	if version {
		fmt.Fprintln(out, codersdk.Version())
		return nil
	}
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log-level %q is not one of debug, info, warn and error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	c.Log = slog.New(slog.NewJSONHandler(log, o))
	if text {
		c.Log = slog.New(slog.NewTextHandler(log, o))
	}
	c.Namespaces, c.CrossRules = split(namespaces), split(cross)
	rest, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no Kubernetes configuration found; run in a pod or set $KUBECONFIG: %w", err)
	}
	// No client-side rate limit: the API server applies flow control, and the
	// controllers bound their concurrency.
	rest.QPS = -1
	c.Rest = rest
	klog.SetSlogLogger(c.Log) // global, so set before anything runs
	return runAll(ctx, chosen, c)
}
