package switchboard

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// register makes the metrics of the board.
func (s *stats) register(r prometheus.Registerer) {
	gauge := func(name, help string, v *atomic.Int64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "coderd", Subsystem: "relay", Name: name, Help: help,
		}, func() float64 { return float64(v.Load()) }))
	}
	counter := func(name, help, label, value string, v *atomic.Int64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "coderd", Subsystem: "relay", Name: name, Help: help, ConstLabels: prometheus.Labels{label: value},
		}, func() float64 { return float64(v.Load()) }))
	}
	gauge("agents", "Agents whose tunnels this replica relays.", &s.agents)
	gauge("clients", "Links of clients, one per tunnel, that this replica relays.", &s.clients)
	gauge("hops", "Links of clients here whose agents are with other replicas.", &s.hops)
	const bytes, bytesHelp = "bytes_total", "Bytes of packets forwarded."
	counter(bytes, bytesHelp, "to", "agent", &s.toAgents)
	counter(bytes, bytesHelp, "to", "client", &s.toClients)
	const dropped, droppedHelp = "dropped_bytes_total", "Bytes of packets not forwarded."
	counter(dropped, droppedHelp, "reason", "unknown_session", &s.unknown)
	counter(dropped, droppedHelp, "reason", "slow_client", &s.overflow)
	counter(dropped, droppedHelp, "reason", "agent_offline", &s.offline)
}
