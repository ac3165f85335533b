package bench

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/bench/crowd"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
	"github.com/seed-2a7f8fe7/coder/internal/bench/seed"
)

// crowdGraph is the graph of the simulated agents' template.
const crowdGraph = `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{
	"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "${token}",
	"metadata": [{"key": "cpu", "displayName": "CPU", "script": "coder stat cpu", "interval": "10", "timeout": "1"},
		{"key": "ram", "displayName": "Memory", "script": "coder stat mem", "interval": "10", "timeout": "1"}]}]}]}}`

// tokens creates n workspaces and returns the tokens of their agents.
func (y *yard) tokens(ctx context.Context, n int) ([]uuid.UUID, error) {
	t, err := echoTemplate(ctx, y.server, "crowd", map[string]string{"graph.jsonl": strings.ReplaceAll(crowdGraph, "\n", " ")})
	if err != nil {
		return nil, err
	}
	w, err := y.create(ctx, "crowd", t)
	if err != nil {
		return nil, err
	}
	copies, err := seed.Workspaces(ctx, y.store, w.ID, n, false)
	all := make([]uuid.UUID, len(copies))
	for i, c := range copies {
		all[i] = c.Token
	}
	return all, err
}

// agentRows measures the cost of 2,000 idle agents, each with a control
// connection, a relay connection, two metadata items every ten seconds, pings
// and statistics. Memory is compared with a new server without agents;
// processor time is that of the server and its PostgreSQL.
func agentRows(ctx context.Context, y *yard) ([]row, error) {
	const agents, watch, settle = 2000, 60 * time.Second, 10 * time.Second
	tokens, err := y.tokens(ctx, agents)
	if err != nil {
		return nil, err
	}
	// A new process has none of the memory with which passwords were hashed.
	y.stop()
	if err := y.start(ctx, "--provisioner-daemons", "0"); err != nil {
		return nil, err
	}
	pid := y.cmd.Process.Pid
	time.Sleep(settle)
	before, err := process.Resident(pid)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c, err := y.gather(ctx, tokens)
	defer c.Wait()
	defer cancel()
	if err != nil {
		return nil, err
	}
	time.Sleep(settle)
	said := c.Reports.Load()
	start, err := process.UsedByAll(pid)
	if err != nil {
		return nil, err
	}
	time.Sleep(watch)
	end, err := process.UsedByAll(pid)
	if err != nil {
		return nil, err
	}
	after, err := process.Resident(pid)
	if err != nil {
		return nil, err
	}
	if n := c.Connected.Load(); n != agents {
		return nil, fmt.Errorf("only %d of %d agents stayed connected", n, agents)
	}
	if rate := float64(c.Reports.Load()-said) / watch.Seconds(); rate < 0.9*agents/crowd.MetadataEvery.Seconds() {
		return nil, fmt.Errorf("the agents made %.0f reports a second, fewer than they should", rate)
	}
	return []row{
		atMost("agents_2000_cpu", (end-start).Seconds()/watch.Seconds(), 0.5, "cores"),
		atMost("agent_server_memory", float64(after-before)/1000/agents, 100, "KB"),
	}, nil
}

// gather connects agents, spread evenly over a period, and waits until all are
// connected.
func (y *yard) gather(ctx context.Context, tokens []uuid.UUID) (*crowd.Crowd, error) {
	at, err := url.Parse("http://" + y.address)
	c := &crowd.Crowd{At: at}
	if err != nil {
		return c, err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for _, t := range tokens {
		<-tick.C
		if err := c.Join(ctx, t); err != nil {
			return c, err
		}
	}
	return c, all(ctx, c, len(tokens))
}

// all waits until n agents are connected.
func all(ctx context.Context, c *crowd.Crowd, n int) error {
	err := until(ctx, 5*time.Millisecond, "all agents are connected", func() (bool, error) { return c.Connected.Load() == int64(n), nil })
	if why := c.Failed.Load(); err != nil && why != nil {
		err = fmt.Errorf("%w: %d of %d are; one said: %w", err, c.Connected.Load(), n, *why)
	}
	return err
}

// reconnectRows measures how long after a restart a thousand agents are
// connected again, counted from the server's first response, and the most dials
// within a tenth of a second since they lost the connection; a stampede would
// be all of them. Dials during the start wait in the kernel's queue.
func reconnectRows(ctx context.Context, y *yard) ([]row, error) {
	const agents = 1000
	tokens, err := y.tokens(ctx, agents)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c, err := y.gather(ctx, tokens)
	defer c.Wait()
	defer cancel()
	if err != nil {
		return nil, err
	}
	most := make(chan float64, 1)
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go func() { most <- burst(watch, c) }()
	y.stop()
	if err := until(ctx, 5*time.Millisecond, "the agents have noticed", func() (bool, error) { return c.Connected.Load() == 0, nil }); err != nil {
		return nil, err
	}
	if err := y.start(ctx, "--provisioner-daemons", "0"); err != nil {
		return nil, err
	}
	back := time.Now()
	if err := all(ctx, c, agents); err != nil {
		return nil, err
	}
	took := time.Since(back)
	stop()
	return []row{
		atMost("agents_1000_reconnect", took.Seconds(), 5, "s"),
		atMost("agents_1000_redial_burst", <-most, agents/4, "/100ms"),
	}, nil
}

// burst returns the most dials within a tenth of a second until ctx ends. A
// late tick counts for the time that it took.
func burst(ctx context.Context, c *crowd.Crowd) (most float64) {
	const window = 100 * time.Millisecond
	tick := time.NewTicker(window)
	defer tick.Stop()
	last, at := c.Dials.Load(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
		n, took := c.Dials.Load(), time.Since(at)
		most = max(most, float64(n-last)/max(1, float64(took)/float64(window)))
		last, at = n, time.Now()
	}
}
