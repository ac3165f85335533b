// Package metrics exports figures of the whole deployment from the database to Prometheus: users, latest
// builds of workspaces, insights, the license, replicas, and the latency of hints between them. Every
// replica exports the same values. Certificates and disks are those of one server.
//
// A scrape reads nothing. A Service refreshes all values at an interval, each refresh with a timeout and
// a limited number of rows. Values that could not be refreshed for some time are absent. Metrics of
// events, such as builds, belong to the packages of these events.
package metrics

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

const (
	// DefaultInterval is the default time between two refreshes.
	DefaultInterval = 30 * time.Second
	// rarely is the number of refreshes for each one of the insights, whose queries
	// read the most rows, and of the certificates.
	rarely = 10
	// timeout applies to one refresh of one group.
	timeout = 20 * time.Second
	// expires is the number of a group's intervals for which values are exported without a
	// refresh.
	expires = 5
	// maxSeries is the maximum number of series of one metric.
	maxSeries = 5_000
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Log   *slog.Logger
	// Registerer registers the metrics.
	Registerer prometheus.Registerer
	// Latency sends a hint and returns how long sending and receiving took.
	Latency func(context.Context) (send, receive time.Duration, err error)
	// Version is the version of this server.
	Version string
	// Certificates returns the certificates whose end is exported; nil: none.
	Certificates func(context.Context) ([]Certificate, error)
	// Disks returns the file systems whose space is exported; nil: none.
	Disks func() ([]Disk, error)
	// Interval is the time between two refreshes; 0 means DefaultInterval.
	Interval time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service refreshes the metrics between Start and Stop. It is a
// prometheus.Collector, safe for concurrent use.
type Service struct {
	lifecycle.Loop
	Config
	groups []*group
	failed prometheus.Counter // failed measurements of the latency

	mu sync.Mutex // guards the values of the groups
}

// group is a set of metrics that are read together.
type group struct {
	name    string
	every   int // refreshes
	read    func(context.Context) ([]prometheus.Metric, error)
	values  []prometheus.Metric
	at      time.Time
	failing bool // to log only the first of several failures
}

// New registers the metrics. Values appear some time after Start.
func New(c Config) *Service {
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{Config: c, failed: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "coder_pubsub_latency_measure_errs_total", Help: "Hints sent to measure latency that did not come back.",
	})}
	s.groups = []*group{
		{name: "users", every: 1, read: s.users},
		{name: "latest builds", every: 1, read: s.latestBuilds},
		{name: "latency of hints", every: 1, read: s.latency},
		{name: "state", every: 1, read: s.state},
		{name: "disks", every: 1, read: s.disks},
		{name: "certificates", every: rarely, read: s.certificates},
		{name: "insights", every: rarely, read: s.insights},
	}
	s.Run = s.refreshForever
	c.Registerer.MustRegister(s, s.failed)
	return s
}

func (s *Service) refreshForever(ctx context.Context) {
	round := 0
	refresh := func(ctx context.Context) {
		for _, g := range s.groups {
			if round%g.every == 0 && ctx.Err() == nil {
				s.refresh(ctx, g)
			}
		}
		round++
	}
	refresh(ctx)
	lifecycle.Every(ctx, s.Interval, refresh)
}

func (s *Service) refresh(ctx context.Context, g *group) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	values, err := g.read(bounded)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if !g.failing {
			s.Log.Warn("cannot refresh metrics; retrying", "group", g.name, "error", err)
		}
		g.failing = true
		return
	}
	g.failing = false
	s.mu.Lock()
	defer s.mu.Unlock()
	g.values, g.at = values, s.Now()
}

// Describe implements prometheus.Collector.
func (s *Service) Describe(d chan<- *prometheus.Desc) {
	for _, desc := range append(stateDescriptions(), descriptions...) {
		d <- desc
	}
}

// Collect implements prometheus.Collector. It reads only memory.
func (s *Service) Collect(m chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		if s.Now().Sub(g.at) > expires*time.Duration(g.every)*s.Interval+timeout {
			continue
		}
		for _, v := range g.values {
			m <- v
		}
	}
}

// series adds up values of one metric with equal labels, and limits their number.
type series struct {
	desc   *prometheus.Desc
	values map[string]*value
}

type value struct {
	labels []string
	v      float64
}

func newSeries(desc *prometheus.Desc) *series {
	return &series{desc: desc, values: map[string]*value{}}
}

// metrics returns the sums.
func (s *series) metrics() []prometheus.Metric {
	out := make([]prometheus.Metric, 0, len(s.values))
	for _, v := range s.values {
		out = append(out, gauge(s.desc, v.v, v.labels...))
	}
	return out
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
