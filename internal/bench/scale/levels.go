package scale

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
	"github.com/seed-2a7f8fe7/coder/internal/bench/seed"
	"github.com/seed-2a7f8fe7/coder/internal/scaletest"
)

// The published load for two cores and 4 GB: https://coder.com/docs/admin/infrastructure/scale-testing, 2024-04-26.
const (
	publishedUsers  = 1000 // each with a workspace, a running agent and a connection
	publishedBuilds = 50   // at a time
)

// leastFactor is the smallest load that is tried.
const leastFactor = 1.0 / 32

// levels measures the published load. When it meets all goals the load is doubled until one is missed, and else
// halved until all are met.
func levels(ctx context.Context, c Config) error {
	factor := c.Factor
	ok, err := level(ctx, c, factor)
	if err != nil {
		return err
	}
	held, step := ok, 2.0
	if !ok {
		step = 0.5
	}
	best := 0.0
	for {
		if ok {
			best = max(best, factor)
		}
		factor *= step
		if ok != held || factor > c.Most || factor < leastFactor {
			break
		}
		if ok, err = level(ctx, c, factor); err != nil {
			return err
		}
	}
	c.print(figure.AtLeast("scale_of_published_load", best, 1, "x"))
	return nil
}

// level measures a multiple of the published load in a new deployment and reports whether all goals are met.
func level(ctx context.Context, c Config, factor float64) (ok bool, err error) {
	err = with(ctx, c, func(d *deployment) error {
		l := &loaded{Config: c, deployment: d, prefix: "scale_" + strconv.FormatFloat(factor, 'g', 3, 64) + "x_"}
		defer l.close()
		if err := l.prepare(ctx, max(1, int(factor*publishedUsers)), max(1, int(factor*publishedBuilds))); err != nil {
			return err
		}
		rows, err := l.measure(ctx)
		ok = true
		for _, r := range rows {
			ok = ok && !r.Short()
		}
		c.print(rows...)
		return err
	})
	return ok, err
}

// loaded is a deployment under load.
type loaded struct {
	Config
	*deployment
	prefix     string
	users      []seed.Clone // workspaces with a connected agent
	builders   []seed.Clone // workspaces that are built
	components *components
	scrapes    *scrapes
	closers    []func()
}

func (l *loaded) close() {
	for i := range l.closers {
		l.closers[len(l.closers)-1-i]()
	}
}

// slotsPerProvisioner is the number of builds that one provisioner process runs at a time.
const slotsPerProvisioner = 25

// startProvisioners starts processes with at least the given number of slots.
func (l *loaded) startProvisioners(slots int) error {
	l.components = &components{d: l.deployment}
	for i := 0; i*slotsPerProvisioner < slots; i++ {
		p, err := l.StartProvisioner(fmt.Sprint("provisioner", i), slotsPerProvisioner)
		if err != nil {
			return err
		}
		l.components.provisioners = append(l.components.provisioners, p)
	}
	l.closers = append(l.closers, l.stopProvisioners)
	return nil
}

func (l *loaded) stopProvisioners() {
	var all sync.WaitGroup
	for _, p := range l.components.provisioners {
		all.Go(func() { rig.Terminate(p) })
	}
	all.Wait()
	l.components.provisioners = []*exec.Cmd{}
}

// prepare creates users with running agents, and workspaces to build.
func (l *loaded) prepare(ctx context.Context, users, builds int) error {
	if err := l.startProvisioners(builds); err != nil {
		return err
	}
	t, err := l.Template(ctx, "scale", rig.AgentFiles("", buildTime))
	if err != nil {
		return err
	}
	w, err := l.Workspace(ctx, "scale", t)
	if err != nil {
		return err
	}
	if l.users, err = seed.Workspaces(ctx, l.store, w.ID, users, true); err != nil {
		return err
	}
	if w, err = l.Workspace(ctx, "build", t); err != nil {
		return err
	}
	if l.builders, err = seed.Workspaces(ctx, l.store, w.ID, builds, false); err != nil {
		return err
	}
	l.scrapes = record(ctx, l.Rig)
	pid, stop, err := startAgents(ctx, l.deployment, l.users)
	if err != nil {
		return err
	}
	l.components.agents = pid
	l.closers = append(l.closers, stop)
	return nil
}

// connectEvery is the pause between the starts of two connections.
const connectEvery = 20 * time.Millisecond

// measure runs the load and returns its rows.
func (l *loaded) measure(ctx context.Context) ([]figure.Row, error) {
	began := time.Now()
	ramp := connectEvery * time.Duration(len(l.users))
	run := func(name string, tasks []scaletest.Task) scaletest.Report {
		return scaletest.Run{Test: name, Timeout: ramp + l.Duration + patience}.Execute(ctx, tasks)
	}
	var traffic, page, build scaletest.Report
	var all sync.WaitGroup
	all.Go(func() { traffic = run("traffic", staggered(sshTraffic(l.Client, l.users, l.Duration), ramp)) })
	all.Go(func() { page = run("pages", staggered(pages(l.Client, l.users, pageInterval, l.Duration), ramp)) })
	all.Go(func() {
		build = run("builds", staggered(builds(l.deployment, l.builders, l.Duration+ramp), 10*time.Second))
	})
	used, err := l.components.during(ctx, l.prefix, ramp, l.Duration)
	all.Wait()
	fmt.Fprintf(l.Out, "# %d users with as many connections of %d KB/s, %d builds at a time, for %s (with the start and the last builds: %s)\n",
		len(l.users), bytesPerTick*int(time.Second/tickInterval)/1000, len(l.builders), l.Duration, time.Since(began).Round(time.Second))
	if err != nil {
		return nil, err
	}
	rows := append(l.loadRows(traffic, page, build), used...)
	alerts, err := l.scrapes.rows(ctx, l.Config, l.prefix)
	return append(rows, alerts...), err
}

// loadRows returns the rows of what users notice.
func (l *loaded) loadRows(traffic, page, build scaletest.Report) []figure.Row {
	l.reasons("connections", traffic)
	l.reasons("pages", page)
	l.reasons("builds", build)
	p := l.prefix
	wanted := float64(len(l.users)) * bytesPerTick * l.Duration.Seconds() / tickInterval.Seconds()
	rows := quantiles(p+"pickup", series(build, "pick-up"))
	rows = append(rows, quantiles(p+"list", series(page, "request /workspaces"))...)
	rows = append(rows, quantiles(p+"api", series(page, "request"))...)
	rows = append(rows, quantiles(p+"ssh_echo", series(traffic, "echo"))...)
	return append(rows,
		figure.AtLeast(p+"throughput", 100*total(traffic, "bytes received")/wanted, 90, "%"),
		figure.AtMost(p+"disconnects", 100*float64(traffic.Failed)/float64(traffic.Tasks), 0.1, "%"),
		figure.AtMost(p+"builds_failed", float64(build.Failed), 0, ""),
		figure.AtMost(p+"pages_failed", float64(page.Failed), 0, ""),
		figure.Plain(p+"builds", float64(series(build, "build").Count), ""),
		figure.Plain(p+"requests", total(page, "requests")/page.Seconds, "/s"),
	)
}
