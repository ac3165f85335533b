package bench

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/bench/crowd"
)

// crowdGraph is what the template of simulated agents makes.
const crowdGraph = `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{
	"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "${token}",
	"metadata": [{"key": "cpu", "displayName": "CPU", "script": "coder stat cpu", "interval": "10", "timeout": "1"},
		{"key": "ram", "displayName": "Memory", "script": "coder stat mem", "interval": "10", "timeout": "1"}]}]}]}}`

// clones makes workspaces like one that was built, each with an agent, and
// gives the agents' tokens: building them would take longer than the rest.
const clones = `
WITH n AS MATERIALIZED (
    SELECT i, gen_random_uuid() AS new_w, gen_random_uuid() AS new_b, gen_random_uuid() AS new_j, gen_random_uuid() AS new_r, gen_random_uuid() AS new_a, gen_random_uuid() AS token
    FROM generate_series(1, $2::integer) i
), workspace AS (
    INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, automatic_updates, created_at, updated_at, last_used_at)
    SELECT n.new_w, w.organization_id, w.owner_id, w.template_id, w.name || '-' || n.i, w.automatic_updates, w.created_at, w.updated_at, w.last_used_at
    FROM workspaces w, n WHERE w.id = $1
), job AS (
    INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, completed_at, worker_id, lease_expires_at)
    SELECT n.new_j, p.organization_id, p.initiator_id, p.type, p.provisioner, p.tag_set_id, p.file_id, jsonb_build_object('workspace_build_id', n.new_b),
        p.created_at, p.updated_at, p.started_at, p.completed_at, p.worker_id, p.lease_expires_at
    FROM provisioner_jobs p JOIN workspace_builds b ON b.job_id = p.id, n WHERE b.workspace_id = $1
), build AS (
    INSERT INTO workspace_builds SELECT (jsonb_populate_record(b, jsonb_build_object('id', n.new_b, 'workspace_id', n.new_w, 'job_id', n.new_j))).*
    FROM workspace_builds b, n WHERE b.workspace_id = $1
), resource AS (
    INSERT INTO workspace_resources SELECT (jsonb_populate_record(r, jsonb_build_object('id', n.new_r, 'job_id', n.new_j))).*
    FROM workspace_resources r JOIN workspace_builds b ON b.job_id = r.job_id, n WHERE b.workspace_id = $1
), agent AS (
    INSERT INTO workspace_agents SELECT (jsonb_populate_record(a, jsonb_build_object('id', n.new_a, 'resource_id', n.new_r, 'token', n.token))).*
    FROM workspace_agents a JOIN workspace_resources r ON r.id = a.resource_id JOIN workspace_builds b ON b.job_id = r.job_id, n WHERE b.workspace_id = $1
)
SELECT token FROM n`

// tokens makes n workspaces and gives the tokens of their agents.
func (y *yard) tokens(ctx context.Context, n int) ([]uuid.UUID, error) {
	t, err := echoTemplate(ctx, y.server, "crowd", map[string]string{"graph.jsonl": strings.ReplaceAll(crowdGraph, "\n", " ")})
	if err != nil {
		return nil, err
	}
	w, err := y.create(ctx, "crowd", t)
	if err != nil {
		return nil, err
	}
	rows, err := y.store.Pool().Query(ctx, clones, w.ID, n)
	if err != nil {
		return nil, fmt.Errorf("make workspaces: %w", err)
	}
	defer rows.Close()
	var all []uuid.UUID
	for rows.Next() {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	if rows.Err() != nil {
		return nil, fmt.Errorf("make workspaces: %w", rows.Err())
	}
	_, err = y.store.Pool().Exec(ctx, "ANALYZE") // as autovacuum would soon
	return all, err
}

// agentRows measures what 2,000 agents that nobody works with cost: each with
// a control connection and a link to the relay, two items of metadata every ten
// seconds, pings and statistics. Memory is that of the server against that of a
// new one without agents; the processor time is that of the server and its
// PostgreSQL together.
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
	before, err := resident(pid)
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
	start, err := usedByAll(pid)
	if err != nil {
		return nil, err
	}
	time.Sleep(watch)
	end, err := usedByAll(pid)
	if err != nil {
		return nil, err
	}
	after, err := resident(pid)
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

// gather connects agents, evenly over a while, and waits until all are there.
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

// reconnectRows measures how long after a restart of the server a thousand
// agents are connected again, counted from when the server answers, and the
// most dials within a tenth of a second since they lost it: a stampede would be
// all. Who dials while the server starts waits in the kernel's queue.
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

// burst gives the most dials in a tenth of a second until ctx ends. A tick that
// comes late, for the machine is busy, counts as what it took.
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
