package scale

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
	"github.com/seed-2a7f8fe7/coder/internal/bench/seed"
	"github.com/seed-2a7f8fe7/coder/internal/bench/simulate"
	"github.com/seed-2a7f8fe7/coder/internal/scaletest"
)

const (
	costBuilds  = 20 // half of them stops
	costUsers   = 50
	costTraffic = 20 * time.Second
	costIdle    = time.Minute
	settle      = 10 * time.Second
)

// costs measures what single events cost: a Terraform build, a page, an idle agent, and a megabyte of SSH traffic.
func costs(ctx context.Context, c Config) error {
	return with(ctx, c, func(d *deployment) error {
		l := &loaded{Config: c, deployment: d}
		defer l.close()
		if err := l.startProvisioners(1); err != nil {
			return err
		}
		var k simulate.Costs
		var p payer
		for _, measure := range []func() error{
			func() error { return l.buildCosts(ctx, &p, &k) },
			func() error { return l.agentCosts(ctx, &p, &k) },
			func() error { return l.pageCosts(ctx, &p, &k) },
			func() error { return l.trafficCosts(ctx, &p, &k) },
		} {
			if err := measure(); err != nil {
				return err
			}
		}
		c.print(costRows(k)...)
		if c.Costs == "" {
			return nil
		}
		return k.Write(c.Costs)
	})
}

// payer is what the deployment used during a function.
type payer struct {
	used  map[string]time.Duration
	took  time.Duration
	rows  float64
	bytes float64
}

// pay measures what a function costs.
func (l *loaded) pay(ctx context.Context, p *payer, do func() error) error {
	rows, bytes, err := l.size(ctx)
	if err != nil {
		return err
	}
	before, err := l.components.snapshot()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := do(); err != nil {
		return err
	}
	p.took = time.Since(began)
	after, err := l.components.snapshot()
	if err != nil {
		return err
	}
	p.used = after.used(before)
	moreRows, moreBytes, err := l.size(ctx)
	p.rows, p.bytes = moreRows-rows, moreBytes-bytes
	return err
}

// size returns the rows of all tables, and the bytes of the database.
func (l *loaded) size(ctx context.Context) (rows, bytes float64, err error) {
	const count = `SELECT sum((xpath('/row/c/text()', query_to_xml(format('SELECT count(*) AS c FROM %I', tablename), false, true, '')))[1]::text::bigint)::float8,
		pg_database_size(current_database())::float8 FROM pg_tables WHERE schemaname = 'public'`
	err = l.store.Pool().QueryRow(ctx, count).Scan(&rows, &bytes)
	return rows, bytes, err
}

// per returns the processor time of a component in seconds, divided by n.
func (p *payer) per(component string, n float64) float64 { return p.used[component].Seconds() / n }

// buildCosts stops and starts a workspace with Terraform.
func (l *loaded) buildCosts(ctx context.Context, p *payer, k *simulate.Costs) error {
	source := filepath.Join(l.Dir, "template")
	if err := errors.Join(os.MkdirAll(source, 0o755), os.WriteFile(filepath.Join(source, "main.tf"), []byte(bench.Template), 0o644)); err != nil {
		return err
	}
	if err := l.Run(ctx, "templates", "push", "terraform", "--directory", source, "--yes"); err != nil {
		return err
	}
	t, err := l.Client.TemplateByName(ctx, "default", "terraform")
	if err != nil {
		return err
	}
	w, err := l.Workspace(ctx, "terraform", t)
	if err != nil {
		return err
	}
	both := func(n int) error {
		for i := range n {
			transition := []codersdk.WorkspaceTransition{codersdk.WorkspaceTransitionStop, codersdk.WorkspaceTransitionStart}[i%2]
			if _, err := l.Build(ctx, w.ID, transition); err != nil {
				return err
			}
		}
		return nil
	}
	if err := both(2); err != nil { // the first ones fill caches
		return err
	}
	if err := l.pay(ctx, p, func() error { return both(costBuilds) }); err != nil {
		return err
	}
	k.BuildServer, k.BuildDatabase, k.BuildProvisioner = p.per(server, costBuilds), p.per(database, costBuilds), p.per(provisioners, costBuilds)
	k.BuildTime, k.BuildRows, k.BuildBytes = p.took.Seconds()/costBuilds, p.rows/costBuilds, p.bytes/costBuilds
	return nil
}

// agentCosts connects agents, which then do nothing but report.
func (l *loaded) agentCosts(ctx context.Context, p *payer, k *simulate.Costs) error {
	t, err := l.Template(ctx, "agents", rig.AgentFiles("", time.Millisecond))
	if err != nil {
		return err
	}
	w, err := l.Workspace(ctx, "agents", t)
	if err != nil {
		return err
	}
	if l.users, err = seed.Workspaces(ctx, l.store, w.ID, l.Agents, true); err != nil {
		return err
	}
	// A new process has none of the memory with which builds were prepared.
	l.stopProvisioners()
	rig.Terminate(l.Server)
	if err := l.StartServer(ctx); err != nil {
		return err
	}
	time.Sleep(settle)
	empty, databaseEmpty, err := l.ServerUsage()
	if err != nil {
		return err
	}
	pid, stop, err := startAgents(ctx, l.deployment, l.users)
	if err != nil {
		return err
	}
	l.closers = append(l.closers, stop)
	l.components.agents = pid
	time.Sleep(settle)
	var full process.Usage
	if err := l.pay(ctx, p, func() error { time.Sleep(costIdle); full, _, err = l.ServerUsage(); return err }); err != nil {
		return err
	}
	n := float64(l.Agents)
	k.AgentServer, k.AgentDatabase = p.per(server, n*p.took.Seconds()), p.per(database, n*p.took.Seconds())
	k.AgentMemory = float64(full.Memory-empty.Memory) / n
	k.AgentRowsPerDay = p.rows / n / p.took.Hours() * 24
	k.ServerMemory, k.DatabaseMemory = float64(empty.Memory), float64(databaseEmpty.Memory)
	return nil
}

// withoutAgents subtracts what connected agents cost in the time.
func (l *loaded) withoutAgents(p *payer, k *simulate.Costs) (onServer, onDatabase float64) {
	seconds := p.took.Seconds() * float64(l.Agents)
	return max(0, p.used[server].Seconds()-seconds*k.AgentServer), max(0, p.used[database].Seconds()-seconds*k.AgentDatabase)
}

// pageCosts opens pages one after the other, as several users.
func (l *loaded) pageCosts(ctx context.Context, p *payer, k *simulate.Costs) error {
	var r scaletest.Report
	err := l.pay(ctx, p, func() error {
		tasks := pages(l.Client, l.users[:min(costUsers, len(l.users))], time.Second, costTraffic)
		r = scaletest.Run{Test: "pages"}.Execute(ctx, tasks)
		return nil
	})
	if err != nil || r.Failed > 0 {
		l.reasons("pages", r)
		return errors.Join(err, ctx.Err())
	}
	opened := 0.0
	for _, s := range r.Series {
		if len(s.Name) > 5 && s.Name[:5] == "page " {
			opened += float64(s.Count)
		}
	}
	onServer, onDatabase := l.withoutAgents(p, k)
	k.PageServer, k.PageDatabase, k.PageRequests = onServer/opened, onDatabase/opened, total(r, "requests")/opened
	return nil
}

// trafficCosts sends bytes through SSH sessions of the relay.
func (l *loaded) trafficCosts(ctx context.Context, p *payer, k *simulate.Costs) error {
	var r scaletest.Report
	err := l.pay(ctx, p, func() error {
		tasks := sshTraffic(l.Client, l.users[:min(costUsers, len(l.users))], costTraffic)
		r = scaletest.Run{Test: "traffic"}.Execute(ctx, tasks)
		return nil
	})
	if err != nil || r.Failed > 0 {
		l.reasons("connections", r)
		return errors.Join(err, ctx.Err())
	}
	onServer, _ := l.withoutAgents(p, k)
	k.MegabyteServer = onServer / (total(r, "bytes received") / 1e6)
	return nil
}

func costRows(k simulate.Costs) []figure.Row {
	all := k.BuildServer + k.BuildDatabase + k.BuildProvisioner
	const milli = 1000
	return []figure.Row{
		figure.Plain("cost_build_server_cpu", milli*k.BuildServer, "ms"),
		figure.Plain("cost_build_postgresql_cpu", milli*k.BuildDatabase, "ms"),
		figure.Plain("cost_build_provisioner_cpu", milli*k.BuildProvisioner, "ms"),
		figure.Plain("cost_build_time", milli*k.BuildTime, "ms"),
		figure.Plain("cost_builds_per_core_second", 1/all, "/s"),
		figure.Plain("cost_build_rows", k.BuildRows, ""),
		figure.Plain("cost_build_database_growth", k.BuildBytes/1000, "KB"),
		figure.Plain("cost_page_server_cpu", milli*k.PageServer, "ms"),
		figure.Plain("cost_page_postgresql_cpu", milli*k.PageDatabase, "ms"),
		figure.Plain("cost_page_requests", k.PageRequests, ""),
		figure.Plain("cost_1000_agents_server_cpu", 1000*k.AgentServer, "cores"),
		figure.Plain("cost_1000_agents_postgresql_cpu", 1000*k.AgentDatabase, "cores"),
		figure.Plain("cost_agent_server_memory", k.AgentMemory/1000, "KB"),
		figure.Plain("cost_agent_rows_per_day", k.AgentRowsPerDay, ""),
		figure.Plain("cost_ssh_megabyte_server_cpu", milli*k.MegabyteServer, "ms"),
		figure.Plain("cost_server_memory", k.ServerMemory/1e6, "MB"),
		figure.Plain("cost_postgresql_memory", k.DatabaseMemory/1e6, "MB"),
	}
}
