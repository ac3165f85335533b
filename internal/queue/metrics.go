package queue

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collector tells, when it is asked, how many jobs wait and run, and how long
// the oldest has been waiting: what scales provisioners.
type collector struct {
	s    *Service
	jobs *prometheus.Desc
	wait *prometheus.Desc
}

// scrape bounds the query of one scrape.
const scrape = 5 * time.Second

func newCollector(s *Service) *collector {
	return &collector{
		s: s,
		jobs: prometheus.NewDesc("coderd_provisionerd_queue_jobs", "Provisioner jobs that are not over, by organization, tags and state.",
			[]string{"organization", "tags", "state"}, nil),
		wait: prometheus.NewDesc("coderd_provisionerd_queue_oldest_wait_seconds", "How long the oldest pending job has been waiting.",
			[]string{"organization", "tags"}, nil),
	}
}

// Describe is of prometheus.Collector.
func (c *collector) Describe(d chan<- *prometheus.Desc) { d <- c.jobs; d <- c.wait }

// Collect is of prometheus.Collector. When the database does not answer, the
// metrics are absent.
func (c *collector) Collect(m chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrape)
	defer cancel()
	rows, err := c.s.Store.QueueCounts(ctx)
	if err != nil {
		c.s.Log.Warn("cannot count jobs for the metrics", "error", err)
		return
	}
	for _, r := range rows {
		m <- prometheus.MustNewConstMetric(c.jobs, prometheus.GaugeValue, float64(r.Jobs), r.Organization, r.Tags, r.Status)
		if r.Status == "pending" {
			m <- prometheus.MustNewConstMetric(c.wait, prometheus.GaugeValue, r.OldestSeconds, r.Organization, r.Tags)
		}
	}
}
