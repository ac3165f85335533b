package agent

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// counters are the agent's own counters for its metrics.
type counters struct {
	mu                sync.Mutex
	succeeded, failed int64   // scripts
	starting          float64 // duration of the start scripts, in seconds
	started           codersdk.WorkspaceAgentLifecycle
}

func (c *counters) ran(status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if status == statusExitFailure || status == statusTimedOut {
		c.failed++
	} else {
		c.succeeded++
	}
}

func (c *counters) began(seconds float64, state codersdk.WorkspaceAgentLifecycle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting, c.started = seconds, state
}

// exposition builds a page in the Prometheus text format. The few metrics of an
// agent do not justify a library.
type exposition struct{ strings.Builder }

// put adds a metric. values are pairs of labels, in their text form, and a
// value.
func (e *exposition) put(name, kind, help string, values ...any) {
	fmt.Fprintf(e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	for i := 0; i+1 < len(values); i += 2 {
		fmt.Fprintf(e, "%s%s %v\n", name, values[i], values[i+1])
	}
}

// metrics serves GET /metrics. (AG-23)
func (a *Agent) metrics(w http.ResponseWriter, _ *http.Request) {
	const gauge, counter = "gauge", "counter"
	var e exposition
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	e.put("go_goroutines", gauge, "Number of goroutines.", "", runtime.NumGoroutine())
	e.put("go_memstats_heap_alloc_bytes", gauge, "Bytes of heap in use.", "", m.HeapAlloc)
	e.put("go_memstats_sys_bytes", gauge, "Bytes obtained from the system.", "", m.Sys)
	a.mu.Lock()
	l := a.life
	a.mu.Unlock()
	connected := 0
	if l != nil && a.online.Load() {
		connected = 1
	}
	e.put("agent_connected", gauge, "Whether the agent is connected to the server.", "", connected)
	a.counters.mu.Lock()
	succeeded, failed, starting, started := a.counters.succeeded, a.counters.failed, a.counters.starting, a.counters.started
	a.counters.mu.Unlock()
	e.put("agent_scripts_executed_total", counter, "Number of executed scripts.", `{success="true"}`, succeeded, `{success="false"}`, failed)
	if started != "" {
		e.put("coderd_agentstats_startup_script_seconds", gauge, "Duration of the start scripts in seconds.",
			fmt.Sprintf(`{success="%t"}`, started == codersdk.WorkspaceAgentLifecycleReady), starting)
	}
	if l != nil {
		l.tunnelMetrics(&e)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(e.String())) // the client has disconnected
}

func (l *life) tunnelMetrics(e *exposition) {
	ln := l.listener.Load()
	t, n := ln.Stats(), l.ssh.Counts()
	direct, relayed := ln.Peers()
	e.put("coderd_agentstats_currently_reachable_peers", "gauge", "Clients with a tunnel: p2p directly, derp through the relay.",
		`{connection_type="p2p"}`, direct, `{connection_type="derp"}`, relayed)
	e.put("agent_sessions", "gauge", "Number of open sessions.",
		`{kind="ssh"}`, n.SSH, `{kind="vscode"}`, n.VSCode, `{kind="jetbrains"}`, n.JetBrains, `{kind="reconnecting_pty"}`, l.ptys.Watched()+n.ReconnectingPTY)
	e.put("agent_tunnel_bytes_total", "counter", "Bytes carried by tunnels.", `{direction="rx"}`, t.RxBytes, `{direction="tx"}`, t.TxBytes)
	e.put("agent_tunnel_packets_total", "counter", "Packets carried by tunnels.", `{direction="rx"}`, t.RxPackets, `{direction="tx"}`, t.TxPackets)
	e.put("agent_tunnel_lost_packets_total", "counter", "Packets sent and lost.", "", t.LostPackets)
	e.put("agent_tunnel_round_trip_seconds", "gauge", "Median round-trip time to clients in seconds; 0 without clients.", "", t.MedianRTT.Seconds())
}
