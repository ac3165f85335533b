package scaletest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms range from a microsecond to a day with two significant digits,
// which takes about 30 KiB.
const (
	lowest  = 1
	highest = int64(24 * time.Hour / time.Microsecond)
	digits  = 2
)

// maxFailures bounds the kinds of failures that a report lists.
const maxFailures = 50

// Recorder collects measurements. It is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	series   map[string]*hdrhistogram.Histogram
	totals   map[string]int64
	failures map[string]*Failure
	dropped  int64 // failures of a kind beyond maxFailures
}

// NewRecorder returns a recorder without measurements.
func NewRecorder() *Recorder {
	return &Recorder{series: map[string]*hdrhistogram.Histogram{}, totals: map[string]int64{}, failures: map[string]*Failure{}}
}

// Observe adds a duration to a series. Durations outside of 1 µs to 24 h count
// as the nearest of the two.
func (r *Recorder) Observe(series string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.series[series]
	if h == nil {
		h = hdrhistogram.New(lowest, highest, digits)
		r.series[series] = h
	}
	_ = h.RecordValue(min(max(d.Microseconds(), lowest), highest)) // always in range
}

// Add adds n to a total.
func (r *Recorder) Add(total string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.totals[total] += n
}

// fail counts a failure of a task. Failures with the same text are one kind.
func (r *Recorder) fail(task string, err error) {
	text := err.Error()
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.failures[text]
	if f == nil {
		if len(r.failures) == maxFailures {
			r.dropped++
			return
		}
		f = &Failure{Error: text, Task: task}
		r.failures[text] = f
	}
	f.Count++
}

// fill writes what was measured into a report.
func (r *Recorder) fill(out *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, h := range r.series {
		out.Series = append(out.Series, newSeries(name, h))
	}
	for name, n := range r.totals {
		out.Totals = append(out.Totals, Total{name, n})
	}
	for _, f := range r.failures {
		out.Failures = append(out.Failures, *f)
	}
	if r.dropped > 0 {
		out.Failures = append(out.Failures, Failure{Error: "failures of further kinds", Count: r.dropped})
	}
	slices.SortFunc(out.Series, func(a, b Series) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Totals, func(a, b Total) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Failures, func(a, b Failure) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return strings.Compare(a.Error, b.Error)
	})
}
