package main

import (
	"context"
	"log/slog"
	"sort"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// sample is a value at a time in milliseconds.
type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.f }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// one is a series.
type one struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// series is a storage of Prometheus in memory.
type series []one

// Querier implements storage.Queryable.
func (s series) Querier(from, to int64) (storage.Querier, error) {
	return querier{storage.NoopQuerier(), s, from, to}, nil
}

type querier struct {
	storage.Querier
	all      series
	from, to int64
}

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &set{}
next:
	for _, x := range q.all {
		for _, m := range matchers {
			if !m.Matches(x.labels.Get(m.Name)) {
				continue next
			}
		}
		begin := sort.Search(len(x.samples), func(i int) bool { return x.samples[i].T() >= q.from })
		end := sort.Search(len(x.samples), func(i int) bool { return x.samples[i].T() > q.to })
		set.list = append(set.list, storage.NewListSeries(x.labels, x.samples[begin:end]))
	}
	sort.Slice(set.list, func(i, j int) bool { return labels.Compare(set.list[i].Labels(), set.list[j].Labels()) < 0 })
	return set
}

type set struct {
	list []storage.Series
	next int
}

func (s *set) Next() bool                        { s.next++; return s.next <= len(s.list) }
func (s *set) At() storage.Series                { return s.list[s.next-1] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

var (
	language = parser.NewParser(parser.Options{})
	engine   = promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: language,
		EnableAtModifier: true, EnableNegativeOffset: true,
	})
)

// evaluate returns the result of an expression at a time.
func evaluate(s series, expr string, at time.Time) (promql.Vector, annotations.Annotations, error) {
	q, err := engine.NewInstantQuery(context.Background(), s, nil, expr, at)
	if err != nil {
		return nil, nil, err
	}
	defer q.Close()
	r := q.Exec(context.Background())
	if r.Err != nil {
		return nil, r.Warnings, r.Err
	}
	if scalar, err := r.Scalar(); err == nil {
		return promql.Vector{{F: scalar.V}}, r.Warnings, nil
	}
	v, err := r.Vector()
	out := make(promql.Vector, 0, len(v))
	for _, x := range v { // the engine uses its memory again after Close
		out = append(out, promql.Sample{T: x.T, F: x.F, Metric: x.Metric.Copy()})
	}
	return out, r.Warnings, err
}
