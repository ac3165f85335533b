package presence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// observeEvery is the default interval of reads of the agents for metrics.
	observeEvery = time.Minute
	// maxObserved is the maximum number of workspaces, and of agents, with metrics. The most
	// recently started are used.
	maxObserved = 10_000
	// RelayRegion is the name of the servers' relay in lists of regions.
	RelayRegion = "Coder Embedded Relay"
)

// Observation selects metrics of agents, in addition to those of metadata. (MET-01, AG-16)
type Observation struct {
	// Stats adds coderd_agentstats_*.
	Stats bool
	// By are the labels by which statistics and script runs are grouped; AgentLabels if
	// empty. Values that differ only in other labels are added up.
	By []string
	// Every is the interval of reads of the agents; 0 means a minute.
	Every time.Duration
}

// AgentLabels returns the labels by which the statistics of agents can be grouped.
func AgentLabels() []string {
	return []string{"agent_name", "template_name", "username", "workspace_name"}
}

// SetLatency stores the round trip time to a connected agent.
func (s *Service) SetLatency(c Connection, d time.Duration) {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	if a := s.live.agents[c.Agent.ID]; a != nil {
		a.roundTrip = d
	}
}

// latency returns the round trip times to the agents that are connected to this server.
func (l *live) latency(agent uuid.UUID) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.agents[agent]
	if a == nil || a.roundTrip == 0 {
		return 0, false
	}
	return a.roundTrip, true
}

// Observe reads the agents for the metrics with one bounded query. A running Service calls it every
// minute if metrics are enabled. Agents that connect later appear with the next call.
func (s *Service) Observe(ctx context.Context) error {
	begin := time.Now()
	rows, err := s.store.AgentsObserved(ctx, maxObserved)
	if err != nil {
		return err
	}
	if len(rows) == maxObserved {
		s.log.WarnContext(ctx, "too many agents for the metrics; agents of workspaces that were started earlier are left out", "agents", maxObserved)
	}
	s.observed.mu.Lock()
	defer s.observed.mu.Unlock()
	s.observed.rows, s.observed.at = rows, s.now()
	s.observed.took.Observe(time.Since(begin).Seconds())
	return nil
}

// family is one metric of agents with its labels.
type family struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	mean       bool // aggregate by mean; else by sum
	stats      bool // a statistic that By applies to
	desc       *prometheus.Desc
}

// The metrics of agents. Each server exports coderd_agents_* for all agents, and the others for the
// agents that are connected to it.
func families() []family {
	who := []string{"agent_name", "username", "workspace_name"}
	with := func(more ...string) []string { return slices.Concat(who, more) }
	g := prometheus.GaugeValue
	const agents, stats = "coderd_agents_", "coderd_agentstats_"
	return []family{
		{agents + "up", "Agents of a workspace that are connected.", g, []string{"template_name", "username", "workspace_name"}, false, false, nil},
		{agents + "connections", "Agents, by connection status and lifecycle state.", g, with("lifecycle_state", "status", "tailnet_node"), false, false, nil},
		{agents + "apps", "Apps of agents, by health.", g, with("app_name", "health"), false, false, nil},
		{
			agents + "connection_latencies_seconds",
			"Round trip time between an agent and its server in seconds.",
			g,
			with("derp_region", "preferred"),
			true,
			false,
			nil,
		},
		{stats + "connection_count", "Open connections to an agent.", g, who, false, true, nil},
		{stats + "connection_median_latency_seconds", "Median round trip time between an agent and its clients in seconds.", g, who, true, true, nil},
		{
			stats + "currently_reachable_peers",
			"Clients with a tunnel to an agent: p2p directly, derp through the relay.",
			g,
			with("connection_type", "template_name"),
			false,
			true,
			nil,
		},
		{stats + "rx_bytes", "Bytes received by the tunnels of an agent since it started.", g, who, false, true, nil},
		{stats + "tx_bytes", "Bytes sent by the tunnels of an agent since it started.", g, who, false, true, nil},
		{stats + "session_count_jetbrains", "Open JetBrains sessions.", g, who, false, true, nil},
		{stats + "session_count_reconnecting_pty", "Open web terminals.", g, who, false, true, nil},
		{stats + "session_count_ssh", "Open SSH sessions, without editors.", g, who, false, true, nil},
		{stats + "session_count_vscode", "Open VS Code sessions.", g, who, false, true, nil},
		{stats + "startup_script_seconds", "Duration of the start scripts of an agent in seconds.", g, with("success", "template_name"), true, true, nil},
		{
			"agent_scripts_executed_total",
			"Scripts that an agent ran since it connected.",
			prometheus.CounterValue,
			with("success", "template_name"),
			false,
			true,
			nil,
		},
	}
}

// observed is a prometheus.Collector of agents.
type observed struct {
	s     *Service
	took  prometheus.Histogram
	told  map[string]family
	every time.Duration // between reads

	mu   sync.Mutex
	rows []sqlc.AgentsObservedRow
	at   time.Time // time of the read
}

func newObserved(s *Service, r prometheus.Registerer, o *Observation) *observed {
	c := &observed{s: s, told: map[string]family{}, every: observeEvery, took: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "coderd_metrics_collector_agents_execution_seconds", Help: "Duration of reading the agents for the metrics in seconds.",
		Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 10, 30},
	})}
	if r == nil || o == nil {
		return c
	}
	c.every = cmp.Or(o.Every, observeEvery)
	for _, f := range families() {
		if strings.HasPrefix(f.name, "coderd_agentstats_") && !o.Stats {
			continue
		}
		f.labels = slices.Clone(f.labels)
		if f.stats && len(o.By) > 0 {
			f.labels = slices.DeleteFunc(f.labels, func(l string) bool {
				return slices.Contains(AgentLabels(), l) && !slices.Contains(o.By, l)
			})
		}
		f.desc = prometheus.NewDesc(f.name, f.help, f.labels, nil)
		c.told[f.name] = f
	}
	r.MustRegister(c, c.took)
	return c
}

// Describe implements prometheus.Collector.
func (c *observed) Describe(d chan<- *prometheus.Desc) {
	for _, f := range c.told {
		d <- f.desc
	}
}

// Collect implements prometheus.Collector. It reads only memory.
func (c *observed) Collect(m chan<- prometheus.Metric) {
	c.mu.Lock()
	rows, at := c.rows, c.at
	c.mu.Unlock()
	t := tally{told: c.told, sums: map[string]map[string]*sum{}}
	for _, row := range rows {
		c.tell(&t, row, at)
	}
	for name, sums := range t.sums {
		f := c.told[name]
		for _, x := range sums {
			if f.mean {
				x.v /= x.n
			}
			m <- prometheus.MustNewConstMetric(f.desc, f.kind, x.v, x.labels...)
		}
	}
}

// tally aggregates values with equal labels.
type tally struct {
	told  map[string]family
	agent []string // labels of the current agent
	sums  map[string]map[string]*sum
}

type sum struct {
	labels []string
	v, n   float64
}

// add adds v to a metric for the current agent and further labels with their values.
func (t *tally) add(name string, v float64, more ...string) {
	f, ok := t.told[name]
	if !ok {
		return
	}
	labels, all := make([]string, len(f.labels)), slices.Concat(t.agent, more)
	for i, l := range f.labels {
		labels[i] = strings.ToValidUTF8(all[slices.Index(all, l)+1], "?")
	}
	if t.sums[name] == nil {
		t.sums[name] = map[string]*sum{}
	}
	key := strings.Join(labels, "\x00")
	x := t.sums[name][key]
	if x == nil {
		x = &sum{labels: labels}
		t.sums[name][key] = x
	}
	x.v, x.n = x.v+v, x.n+1
}

// tell adds the values of one agent.
func (c *observed) tell(t *tally, row sqlc.AgentsObservedRow, at time.Time) {
	status := codersdk.AgentStatus(at, codersdk.AgentTimes{
		Created: row.CreatedAt, FirstConnected: row.FirstConnectedAt, LastConnected: row.LastConnectedAt,
		Disconnected: row.DisconnectedAt, ConnectionTimeout: time.Duration(row.ConnectionTimeoutSeconds) * time.Second,
	})
	now, here := c.s.live.snapshot(row.ID)
	if here {
		status = codersdk.WorkspaceAgentStatusConnected
	}
	t.agent = []string{"agent_name", row.Name, "template_name", row.TemplateName, "username", row.OwnerUsername, "workspace_name", row.WorkspaceName}
	const agents, stats = "coderd_agents_", "coderd_agentstats_"
	up := 0.0
	if status == codersdk.WorkspaceAgentStatusConnected {
		up = 1
	}
	t.add(agents+"up", up)
	t.add(agents+"connections", 1, "lifecycle_state", row.LifecycleState, "status", string(status), "tailnet_node", node(row.Certificate))
	for i, name := range row.Apps {
		t.add(agents+"apps", 1, "app_name", name, "health", row.Healths[i])
	}
	if !here {
		return
	}
	if now.roundTrip > 0 {
		t.add(agents+"connection_latencies_seconds", now.roundTrip.Seconds(), "derp_region", RelayRegion, "preferred", "true")
	}
	for success, n := range map[bool]int64{true: now.scriptsOK, false: now.scriptsFailed} {
		if n > 0 {
			t.add("agent_scripts_executed_total", float64(n), "success", strconv.FormatBool(success))
		}
	}
	if row.StartedAt != nil && row.ReadyAt != nil {
		ready := row.LifecycleState != string(codersdk.WorkspaceAgentLifecycleStartError) &&
			row.LifecycleState != string(codersdk.WorkspaceAgentLifecycleStartTimeout)
		t.add(stats+"startup_script_seconds", max(0, row.ReadyAt.Sub(*row.StartedAt).Seconds()), "success", strconv.FormatBool(ready))
	}
	if now.reported.at.IsZero() {
		return
	}
	s := now.reported.stats
	for name, n := range map[string]int64{
		"connection_count": s.Connections, "rx_bytes": s.RxBytes, "tx_bytes": s.TxBytes, "session_count_ssh": s.SSH, "session_count_vscode": s.VSCode,
		"session_count_jetbrains": s.JetBrains, "session_count_reconnecting_pty": s.ReconnectingPTY,
	} {
		t.add(stats+name, float64(n))
	}
	if s.LatencyMS > 0 {
		t.add(stats+"connection_median_latency_seconds", s.LatencyMS/1000)
	}
	t.add(stats+"currently_reachable_peers", float64(s.Direct), "connection_type", "p2p")
	t.add(stats+"currently_reachable_peers", float64(s.Relayed), "connection_type", "derp")
}

// snapshot returns the state of an agent that is connected to this server.
func (l *live) snapshot(agent uuid.UUID) (liveAgent, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.agents[agent]; a != nil {
		return liveAgent{reported: a.reported, roundTrip: a.roundTrip, scriptsOK: a.scriptsOK, scriptsFailed: a.scriptsFailed}, true
	}
	return liveAgent{}, false
}

// node returns the name of a tunnel's end, which is derived from its key.
func node(certificate []byte) string {
	if certificate == nil {
		return "unknown"
	}
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:8])
}
