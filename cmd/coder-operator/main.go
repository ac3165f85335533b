// Command coder-operator keeps control planes, pools of provisioners and
// workspace proxies in a Kubernetes cluster. It is a program apart because it
// alone links Kubernetes' libraries.
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

	"github.com/seed-2a7f8fe7/coder"
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

// app is one of the things that the program is. (OP-25)
type app struct {
	name string
	run  func(context.Context, operator.Config) error
}

// apps are those that --app names, and all of which "all" runs.
func apps(a *aggregation) []app {
	return []app{
		{"controller", operator.Run},
		{"aggregated-apiserver", a.run},
	}
}

// choose gives the apps that --app asks for.
func choose(name string, a *aggregation) ([]app, error) {
	all := apps(a)
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
	return nil, fmt.Errorf("--app %q is none of %s", name, strings.Join(names, ", "))
}

// together runs apps until ctx ends or one fails, which ends the others.
func together(ctx context.Context, all []app, c operator.Config) error {
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

func run(ctx context.Context, args []string, out, log io.Writer) error {
	var c operator.Config
	var namespaces, level, what string
	var version, text bool
	f := flag.NewFlagSet("coder-operator", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&what, "app", "controller", "what to run: controller, aggregated-apiserver, or all")
	f.BoolVar(&c.LeaderElection, "leader-elect", true, "let one of several operators lead, by a Lease")
	f.StringVar(&c.LeaderNamespace, "leader-election-namespace", "", "namespace of that Lease; the operator's own otherwise")
	f.StringVar(&c.ProbeAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are; 0 for nowhere")
	f.StringVar(&c.MetricsAddress, "metrics-bind-address", ":8080", "where /metrics is; 0 for nowhere")
	f.StringVar(&namespaces, "namespaces", os.Getenv("CODER_OPERATOR_NAMESPACES"), "namespaces to look after, separated by commas; all otherwise ($CODER_OPERATOR_NAMESPACES)")
	a := aggregationFlags(f)
	f.StringVar(&level, "log-level", "info", "what to log: debug, info, warn or error")
	f.BoolVar(&text, "log-human", false, "log text instead of JSON")
	f.BoolVar(&version, "version", false, "print the version and end")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("it takes flags only, not %q; see --help", f.Arg(0))
	}
	chosen, err := choose(what, a)
	if err != nil {
		return err
	}
	if version {
		fmt.Fprintln(out, coder.Version())
		return nil
	}
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log-level %q is none of debug, info, warn and error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	c.Log = slog.New(slog.NewJSONHandler(log, o))
	if text {
		c.Log = slog.New(slog.NewTextHandler(log, o))
	}
	for n := range strings.SplitSeq(namespaces, ",") {
		if n = strings.TrimSpace(n); n != "" {
			c.Namespaces = append(c.Namespaces, n)
		}
	}
	rest, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster to work in: run it in a pod, or set $KUBECONFIG: %w", err)
	}
	// The API server itself says when it is too much, and the controllers bound
	// how much they ask at once.
	rest.QPS = -1
	c.Rest = rest
	klog.SetSlogLogger(c.Log) // one for the whole program: before anything runs
	return together(ctx, chosen, c)
}
