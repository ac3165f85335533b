package queue

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// scrape is the timeout of the queries of one scrape.
	scrape = 5 * time.Second
	// fresh is how long a result is reused, so that the number of scrapers does not change
	// the load on the database.
	fresh = 10 * time.Second
	// maxSeries is the maximum number of tag sets with series of their own; the jobs of the
	// others are added up.
	maxSeries  = 500
	otherTags  = "(other)"
	metricName = "coderd_provisionerd_queue_"
)

// collector collects the number of pending and running jobs, the age of the oldest
// pending job, and the number of slots, which autoscalers of provisioners use.
type collector struct {
	s                             *Service
	jobs, wait, slots, busy, want *prometheus.Desc

	mu   sync.Mutex
	at   time.Time
	sets []namedSet
}

func newCollector(s *Service) *collector {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(metricName+name, help, append([]string{"organization", "tags"}, more...), nil)
	}
	return &collector{
		s:     s,
		jobs:  desc("jobs", "Unfinished provisioner jobs, by organization, tags and state: pending, held or running.", "state"),
		wait:  desc("oldest_wait_seconds", "Age of the oldest pending job in seconds."),
		slots: desc("slots", "Slots of connected provisioners that match the tags; a provisioner can count for several tag sets."),
		busy:  desc("slots_busy", "Slots of these that run a job, of any tags."),
		want:  desc("recommended_slots", "Slots with which all pending jobs start within a minute."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(d chan<- *prometheus.Desc) {
	for _, x := range []*prometheus.Desc{c.jobs, c.wait, c.slots, c.busy, c.want} {
		d <- x
	}
}

// Collect implements prometheus.Collector. If the database does not respond, the metrics
// are absent.
func (c *collector) Collect(m chan<- prometheus.Metric) {
	sets, ok := c.read()
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		m <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	type place struct{ organization, state string }
	rest := map[place]float64{}
	for i, t := range sets {
		for _, x := range []struct {
			state string
			n     int
		}{{"pending", t.Pending}, {"held", t.Held}, {"running", t.Running}} {
			if i < maxSeries {
				gauge(c.jobs, float64(x.n), t.organization, t.key, x.state)
			} else {
				rest[place{t.organization, x.state}] += float64(x.n)
			}
		}
		if i < maxSeries {
			gauge(c.wait, t.OldestWaitSeconds, t.organization, t.key)
			gauge(c.slots, float64(t.Slots), t.organization, t.key)
			gauge(c.busy, float64(t.SlotsBusy), t.organization, t.key)
			gauge(c.want, float64(t.RecommendedSlots), t.organization, t.key)
		}
	}
	for p, n := range rest {
		gauge(c.jobs, n, p.organization, otherTags, p.state)
	}
}

// read returns the tag sets, at most fresh old.
func (c *collector) read() ([]namedSet, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < fresh {
		return c.sets, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrape)
	defer cancel()
	sets, _, err := c.s.overview(ctx, nil, 0)
	if err != nil {
		c.s.Log.Warn("cannot count jobs for the metrics", "error", err)
		return nil, false
	}
	c.sets, c.at = sets, time.Now()
	return sets, true
}
