// Command cmd measures the coder binary and prints one line per row. It also simulates a deployment of many machines.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench"
	"github.com/seed-2a7f8fe7/coder/internal/bench/plain"
	"github.com/seed-2a7f8fe7/coder/internal/bench/scale"
	"github.com/seed-2a7f8fe7/coder/internal/bench/simulate"
	"github.com/seed-2a7f8fe7/coder/internal/bench/soak"
	"github.com/seed-2a7f8fe7/coder/internal/bench/speed"
)

// options are all flags.
type options struct {
	what     string
	bench    bench.Config
	scale    scale.Config
	soak     soak.Config
	simulate simulate.Config
	duration time.Duration
	plot     string // file
	claims   int
}

func parse() (o options) {
	flag.StringVar(&o.what, "measure", "all", "what to measure: all, access, queue, dashboard, speed, scale, soak, or simulate")
	flag.StringVar(&o.bench.Coder, "coder", "bin/coder", "the binary to measure")
	flag.StringVar(&o.bench.Root, "root", ".", "the repository")
	flag.IntVar(&o.bench.Runs, "runs", 9, "runs of each pair")
	flag.StringVar(&o.bench.Only, "only", "", "name of one measurement, as shown while it runs")
	flag.DurationVar(&o.duration, "duration", 0, "of the load of each level (scale; default 1m, published 30m), or of the load (soak; default 5m)")
	flag.Float64Var(&o.scale.Factor, "factor", 1, "of the published load, at the first level (scale)")
	flag.Float64Var(&o.scale.Most, "most", 8, "largest factor (scale)")
	flag.IntVar(&o.scale.Agents, "agents", 1000, "idle agents of which one's cost is measured (scale)")
	flag.IntVar(&o.scale.Workspaces, "workspaces", 100_000, "workspaces in lists (scale)")
	flag.StringVar(&o.scale.Checker, "promcheck", "", "the program that evaluates the alert rules; \"\" for none (scale)")
	flag.StringVar(&o.scale.Rules, "rules", "deploy/charts/coder/monitoring/rules.yaml", "the alert rules (scale)")
	flag.StringVar(&o.scale.Costs, "costs", "", "file of the costs: written (scale), or read in place of the published ones (simulate)")
	flag.DurationVar(&o.soak.Every, "every", time.Minute, "interval between two kills (soak)")
	flag.DurationVar(&o.soak.Pause, "pause", time.Second, "between two builds of a workspace (soak)")
	flag.IntVar(&o.simulate.Users, "users", 10_000, "users (simulate)")
	flag.IntVar(&o.simulate.Slots, "slots", 600, "provisioner slots (simulate)")
	flag.IntVar(&o.simulate.Replicas, "replicas", 10, "servers (simulate)")
	flag.Uint64Var(&o.simulate.Seed, "seed", 1, "of all random values (simulate)")
	flag.DurationVar(&o.simulate.Build, "build-time", time.Minute, "median time of a build (simulate)")
	flag.Float64Var(&o.simulate.Traffic, "traffic", 2000, "SSH bytes per second of a user at work, in each direction (simulate)")
	flag.DurationVar(&o.bench.Commit, "commit", 0, "time that each durable commit takes longer, as on a slower disk (queue: jobs, picking up)")
	flag.IntVar(&o.claims, "claims", 200, "claims of prebuilt workspaces (speed)")
	flag.StringVar(&o.plot, "plot", "", "SVG file (simulate)")
	flag.Parse()
	o.bench.Out, o.bench.Progress = os.Stdout, os.Stderr
	o.scale.Out, o.scale.Progress, o.scale.Coder, o.scale.Only = os.Stdout, os.Stderr, o.bench.Coder, o.bench.Only
	o.scale.Duration = cmp.Or(o.duration, time.Minute)
	o.soak.Out, o.soak.Progress, o.soak.Coder = os.Stdout, os.Stderr, o.bench.Coder
	o.soak.Duration = cmp.Or(o.duration, 5*time.Minute)
	return o
}

func (o options) speed() speed.Config {
	return speed.Config{Coder: o.bench.Coder, Root: o.bench.Root, Out: o.bench.Out, Progress: o.bench.Progress, Only: o.bench.Only, Claims: o.claims}
}

func main() {
	o := parse()
	// Run as a floor process or as agents, if requested.
	if serve := map[string]func(io.Reader, io.Writer) error{
		"floor":          plain.Echo,
		"floor-hop":      plain.Hop,
		"floor-pty":      plain.PTY,
		"floor-proxy":    plain.Proxy,
		"floor-tls":      bench.TLSServer,
		scale.AgentsRole: scale.Agents,
	}[o.what]; serve != nil {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	measure, ok := map[string]func(context.Context) error{
		"all":       func(ctx context.Context) error { return bench.Run(ctx, o.bench) },
		"access":    func(ctx context.Context) error { return bench.Access(ctx, o.bench) },
		"queue":     func(ctx context.Context) error { return bench.Queue(ctx, o.bench) },
		"dashboard": func(ctx context.Context) error { return bench.Dashboard(ctx, o.bench) },
		"speed":     func(ctx context.Context) error { return speed.Run(ctx, o.speed()) },
		"scale":     func(ctx context.Context) error { return scale.Run(ctx, o.scale) },
		"soak":      func(ctx context.Context) error { _, err := soak.Run(ctx, o.soak); return err },
		"simulate":  func(context.Context) error { return o.simulateDays() },
	}[o.what]
	if !ok {
		fmt.Fprintf(os.Stderr, "bench: %q cannot be measured: use all, access, queue, dashboard, speed, scale, soak or simulate\n", o.what)
		os.Exit(2)
	}
	if err := measure(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// simulateDays prints the day with all slots, half and a quarter of them, and plots the first.
func (o options) simulateDays() (err error) {
	c := o.simulate
	if c.Users < 1 || c.Slots < 1 || c.Replicas < 1 || c.Build <= 0 {
		return errors.New("-users, -slots, -replicas and -build-time must be positive")
	}
	if c.Costs, err = simulate.ReadCosts(o.scale.Costs); err != nil {
		return err
	}
	var days []*simulate.Day
	for _, share := range []int{1, 2, 4} {
		part := c
		part.Slots = max(1, c.Slots/share)
		days = append(days, simulate.Run(part))
	}
	if err := simulate.Table(os.Stdout, days); err != nil || o.plot == "" {
		return err
	}
	f, err := os.Create(o.plot)
	if err != nil {
		return err
	}
	return errors.Join(days[0].Plot(f), f.Close())
}
