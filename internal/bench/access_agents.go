package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/types/known/timestamppb"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// How simulated agents behave: as real ones of a template with two items of
// metadata every ten seconds do, without the processes.
const (
	metadataEvery = 10 * time.Second
	pingEvery     = 15 * time.Second
	statsEvery    = 30 * time.Second
	dialLimit     = 3 * time.Second
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
    INSERT INTO workspaces SELECT (jsonb_populate_record(w, jsonb_build_object('id', n.new_w, 'name', w.name || '-' || n.i))).*
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

// crowd is many simulated agents.
type crowd struct {
	at        *url.URL
	connected atomic.Int64
	dials     atomic.Int64 // so far
	reports   atomic.Int64
	failed    atomic.Pointer[error]
	work      sync.WaitGroup
}

// join adds an agent that lives until ctx ends.
func (c *crowd) join(ctx context.Context, token uuid.UUID) error {
	id, err := tunnel.NewIdentity()
	if err != nil {
		return err
	}
	api := client.New(c.at)
	api.SessionToken = token.String()
	c.work.Go(func() {
		m := &member{crowd: c, api: api, identity: id}
		defer m.leave()
		wait := client.Redial{Limit: dialLimit}
		for ctx.Err() == nil {
			if err := m.live(ctx, &wait); err != nil && ctx.Err() == nil {
				c.failed.Store(&err)
			}
			select {
			case <-time.After(wait.Next()):
			case <-ctx.Done():
			}
		}
	})
	return nil
}

// member is one simulated agent.
type member struct {
	*crowd
	api      *client.Client
	identity *tunnel.Identity
	listener *tunnel.Listener
}

// live connects once and says what agents say until the connection ends.
func (m *member) live(ctx context.Context, wait *client.Redial) error {
	dial, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	m.dials.Add(1)
	ws, err := m.api.Dial(dial, "/workspaceagents/me/rpc", url.Values{"version": {"1.0"}})
	if err != nil {
		return err
	}
	defer ws.CloseNow()
	conf := yamux.DefaultConfig()
	conf.KeepAliveInterval, conf.LogOutput = pingEvery, io.Discard
	session, err := yamux.Client(websocket.NetConn(ctx, ws, websocket.MessageBinary), conf)
	if err != nil {
		return err
	}
	defer session.Close()
	rpc := agentrpc.NewDRPCAgentClient(&agentCalls{session})
	manifest, err := rpc.Hello(dial, &agentrpc.HelloRequest{Version: "v0.0.0-bench", Certificate: m.identity.Certificate()})
	if err != nil {
		return err
	}
	wait.Reset()
	m.connected.Add(1)
	defer m.connected.Add(-1)
	if m.listener == nil {
		if err := m.listen(ctx, manifest); err != nil {
			return err
		}
	}
	return m.report(ctx, rpc, session.CloseChan())
}

// listen keeps the agent's link to the relay, as every agent does for clients.
func (m *member) listen(ctx context.Context, manifest *agentrpc.Manifest) error {
	var err error
	m.listener, err = tunnel.Listen(tunnel.ListenConfig{
		Identity: m.identity, AgentID: uuid.UUID(manifest.AgentId), ClientCA: manifest.ClientCa,
		Relay: tunnel.AgentRelay(m.api), Direct: tunnel.Direct{Disabled: "nobody dials"}, Handle: func(context.Context, *tunnel.Request) {},
	})
	if err != nil {
		return err
	}
	return m.listener.Start(ctx)
}

func (m *member) leave() {
	if m.listener != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		m.listener.Stop(ctx) //nolint:errcheck // nobody uses it
	}
}

// report says what agents say, each from a moment of its own on.
func (m *member) report(ctx context.Context, rpc agentrpc.DRPCAgentClient, ended <-chan struct{}) error {
	next := func(every time.Duration) time.Time { return time.Now().Add(rand.N(every)) }
	metadata, ping, stats := next(metadataEvery), next(pingEvery), next(statsEvery)
	for {
		soonest := metadata
		for _, t := range []time.Time{ping, stats} {
			if t.Before(soonest) {
				soonest = t
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("the connection ended")
		case <-time.After(time.Until(soonest)):
		}
		var err error
		switch soonest {
		case metadata:
			metadata = metadata.Add(metadataEvery)
			now := timestamppb.Now()
			_, err = rpc.UpdateMetadata(ctx, &agentrpc.MetadataRequest{Values: []*agentrpc.MetadataValue{
				{Key: "cpu", Value: fmt.Sprintf("%.2f/4 cores", 4*rand.Float64()), CollectedAt: now},
				{Key: "ram", Value: fmt.Sprintf("%.1f/16 GiB", 16*rand.Float64()), CollectedAt: now},
			}})
		case ping:
			ping = ping.Add(pingEvery)
			_, err = rpc.Ping(ctx, &agentrpc.Empty{})
		default:
			stats = stats.Add(statsEvery)
			_, err = rpc.UpdateStats(ctx, &agentrpc.StatsRequest{})
		}
		if err != nil {
			return err
		}
		m.reports.Add(1)
	}
}

// agentCalls makes each call on a stream of its own, as agents do.
type agentCalls struct{ session *yamux.Session }

func (c *agentCalls) Close() error            { return c.session.Close() }
func (c *agentCalls) Closed() <-chan struct{} { return c.session.CloseChan() }

func (c *agentCalls) Invoke(ctx context.Context, rpc string, enc drpc.Encoding, in, out drpc.Message) error {
	stream, err := c.session.OpenStream()
	if err != nil {
		return err
	}
	conn := drpcconn.New(stream)
	return errors.Join(conn.Invoke(ctx, rpc, enc, in, out), conn.Close())
}

func (c *agentCalls) NewStream(context.Context, string, drpc.Encoding) (drpc.Stream, error) {
	return nil, errors.New("the agent service has no streaming calls")
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
	defer c.work.Wait()
	defer cancel()
	if err != nil {
		return nil, err
	}
	time.Sleep(settle)
	said := c.reports.Load()
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
	if n := c.connected.Load(); n != agents {
		return nil, fmt.Errorf("only %d of %d agents stayed connected", n, agents)
	}
	if rate := float64(c.reports.Load()-said) / watch.Seconds(); rate < 0.9*agents/metadataEvery.Seconds() {
		return nil, fmt.Errorf("the agents made %.0f reports a second, fewer than they should", rate)
	}
	return []row{
		atMost("agents_2000_cpu", (end-start).Seconds()/watch.Seconds(), 0.5, "cores"),
		atMost("agent_server_memory", float64(after-before)/1000/agents, 100, "KB"),
	}, nil
}

// gather connects agents, evenly over a while, and waits until all are there.
func (y *yard) gather(ctx context.Context, tokens []uuid.UUID) (*crowd, error) {
	at, err := url.Parse("http://" + y.address)
	c := &crowd{at: at}
	if err != nil {
		return c, err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for _, t := range tokens {
		<-tick.C
		if err := c.join(ctx, t); err != nil {
			return c, err
		}
	}
	return c, c.all(ctx, len(tokens))
}

// all waits until n agents are connected.
func (c *crowd) all(ctx context.Context, n int) error {
	err := until(ctx, 5*time.Millisecond, "all agents are connected", func() (bool, error) { return c.connected.Load() == int64(n), nil })
	if why := c.failed.Load(); err != nil && why != nil {
		err = fmt.Errorf("%w: %d of %d are; one said: %w", err, c.connected.Load(), n, *why)
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
	defer c.work.Wait()
	defer cancel()
	if err != nil {
		return nil, err
	}
	most := make(chan float64, 1)
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go func() { most <- c.burst(watch) }()
	y.stop()
	if err := until(ctx, 5*time.Millisecond, "the agents have noticed", func() (bool, error) { return c.connected.Load() == 0, nil }); err != nil {
		return nil, err
	}
	if err := y.start(ctx, "--provisioner-daemons", "0"); err != nil {
		return nil, err
	}
	back := time.Now()
	if err := c.all(ctx, agents); err != nil {
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
func (c *crowd) burst(ctx context.Context) (most float64) {
	const window = 100 * time.Millisecond
	tick := time.NewTicker(window)
	defer tick.Stop()
	last, at := c.dials.Load(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
		n, took := c.dials.Load(), time.Since(at)
		most = max(most, float64(n-last)/max(1, float64(took)/float64(window)))
		last, at = n, time.Now()
	}
}
