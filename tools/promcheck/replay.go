package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
)

// period is a time in which an alert was pending or firing.
type period struct {
	Alert  string            `json:"alert"`
	Labels map[string]string `json:"labels"` // those of the alert's result
	State  string            `json:"state"`  // firing, or pending if it ended before
	From   time.Time         `json:"from"`
	To     time.Time         `json:"to"`
}

// scraped are the labels that Prometheus adds to each series of a scrape.
var scraped = targets[2]

// recording is the scrapes of one server over time.
type recording struct {
	all  map[uint64]*one
	last map[uint64]bool // the series of the scrape before
	at   []time.Time     // of all scrapes
}

// readScrapes reads the scrapes in a directory, in the order of their times. The
// name of a file is a Unix time in milliseconds; an empty file is a scrape that
// failed.
func readScrapes(dir string) (*recording, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	texts := map[int64][]byte{}
	for _, f := range files {
		at, err := strconv.ParseInt(f.Name(), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: the name is not a time in milliseconds", f.Name())
		}
		if texts[at], err = os.ReadFile(filepath.Join(dir, f.Name())); err != nil {
			return nil, err
		}
	}
	r := &recording{all: map[uint64]*one{}}
	for _, at := range slices.Sorted(maps.Keys(texts)) {
		if err := r.add(at, texts[at]); err != nil {
			return nil, fmt.Errorf("%s/%d: %w", dir, at, err)
		}
	}
	if len(r.at) == 0 {
		return nil, fmt.Errorf("%s has no scrapes", dir)
	}
	return r, nil
}

// add adds a scrape, later than the others. Series that it lacks end, as in
// Prometheus.
func (r *recording) add(at int64, text []byte) error {
	now := map[uint64]bool{}
	keep := func(l labels.Labels, v float64) {
		key := l.Hash()
		s := r.all[key]
		if s == nil {
			s = &one{labels: l}
			r.all[key] = s
		}
		s.samples = append(s.samples, sample{at, v})
		now[key] = true
	}
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		p.Labels(&l)
		b := labels.NewBuilder(l)
		scraped.Range(func(x labels.Label) { b.Set(x.Name, x.Value) })
		_, _, v := p.Series()
		keep(b.Labels(), v)
	}
	up := 1.0
	if len(now) == 0 {
		up = 0
	}
	keep(labels.NewBuilder(scraped).Set(labels.MetricName, "up").Labels(), up)
	for key := range r.last {
		if s := r.all[key]; !now[key] {
			s.samples = append(s.samples, sample{at, math.Float64frombits(value.StaleNaN)})
		}
	}
	r.last = now
	r.at = append(r.at, time.UnixMilli(at))
	return nil
}

// series returns the recording as a storage.
func (r *recording) series() (out series) {
	for _, s := range r.all {
		out = append(out, *s)
	}
	return out
}

// replay evaluates alerts at the time of each scrape and returns when they were
// pending or firing. The time for which an alert is pending before it fires is
// divided by divide.
func (r *recording) replay(rules []rule, divide int) (out []period, err error) {
	s := r.series()
	for _, rule := range rules {
		wait := time.Duration(rule.For) / time.Duration(divide)
		active := map[string]*period{}
		for _, at := range r.at {
			result, _, err := evaluate(s, rule.Expr, at)
			if err != nil {
				return nil, fmt.Errorf("alert %s: %w", rule.Alert, err)
			}
			now := map[string]*period{}
			for _, x := range result {
				key := x.Metric.String()
				p := active[key]
				if p == nil {
					p = &period{Alert: rule.Alert, Labels: x.Metric.Map(), State: "pending", From: at}
				}
				if p.To = at; at.Sub(p.From) >= wait {
					p.State = "firing"
				}
				now[key] = p
			}
			for key, p := range active {
				if now[key] == nil {
					out = append(out, *p)
				}
			}
			active = now
		}
		for _, key := range slices.Sorted(maps.Keys(active)) {
			out = append(out, *active[key])
		}
	}
	slices.SortStableFunc(out, func(a, b period) int { return a.From.Compare(b.From) })
	return out, nil
}
