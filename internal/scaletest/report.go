package scaletest

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is the result of a test.
type Report struct {
	Test          string    `json:"test"`
	ServerVersion string    `json:"server_version"`
	Started       time.Time `json:"started_at"`
	Seconds       float64   `json:"seconds"`
	Tasks         int       `json:"tasks"`
	Failed        int       `json:"failed"`
	Series        []Series  `json:"series"`
	Totals        []Total   `json:"totals"`
	Failures      []Failure `json:"failures"`
}

// Series are durations of one kind. All times are in milliseconds.
type Series struct {
	Name    string   `json:"name"`
	Count   int64    `json:"count"`
	Min     float64  `json:"min_ms"`
	Mean    float64  `json:"mean_ms"`
	P50     float64  `json:"p50_ms"`
	P95     float64  `json:"p95_ms"`
	P99     float64  `json:"p99_ms"`
	Max     float64  `json:"max_ms"`
	Buckets []Bucket `json:"buckets"`
}

// Bucket is the number of durations up to a bound, above that of the previous
// bucket.
type Bucket struct {
	UpTo  float64 `json:"up_to_ms"`
	Count int64   `json:"count"`
}

// Total is a sum, such as of bytes.
type Total struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Failure is one kind of failure, with the first task that had it.
type Failure struct {
	Error string `json:"error"`
	Task  string `json:"task"`
	Count int64  `json:"count"`
}

func newSeries(name string, h *hdrhistogram.Histogram) Series {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Series{
		Name: name, Count: h.TotalCount(), Min: ms(h.Min()), Mean: h.Mean() / 1000, Max: ms(h.Max()),
		P50: ms(h.ValueAtQuantile(50)), P95: ms(h.ValueAtQuantile(95)), P99: ms(h.ValueAtQuantile(99)),
		Buckets: buckets(h),
	}
}

// buckets returns the durations in buckets whose bounds are 1, 2 and 5 times
// the powers of ten, from the first to the last that is not empty.
func buckets(h *hdrhistogram.Histogram) []Bucket {
	var out []Bucket
	bars := h.Distribution()
	for i, bound := 0, int64(1); i < len(bars); bound = nextBound(bound) {
		b := Bucket{UpTo: float64(bound) / 1000}
		for ; i < len(bars) && bars[i].To <= bound; i++ {
			b.Count += bars[i].Count
		}
		if b.Count > 0 || len(out) > 0 {
			out = append(out, b)
		}
		if bound > highest {
			break
		}
	}
	for len(out) > 0 && out[len(out)-1].Count == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// nextBound returns the bound after b in 1, 2, 5, 10, 20, 50, ...
func nextBound(b int64) int64 {
	for first := b; ; first /= 10 {
		if first < 10 {
			if first == 2 {
				return b / 2 * 5
			}
			return b * 2
		}
	}
}

// Text writes the report for terminals.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d tasks succeeded, %d failed, in %s\n", r.Test, r.Tasks-r.Failed, r.Tasks, r.Failed, span(r.Seconds*1000))
	if len(r.Series) > 0 {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(t, "\ncount\tp50\tp95\tp99\tmax\t\n")
		for _, s := range r.Series {
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t  %s\n", s.Count, span(s.P50), span(s.P95), span(s.P99), span(s.Max), s.Name)
		}
		_ = t.Flush() // a Builder does not fail
	}
	for i, t := range r.Totals {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %d (%.1f per second)\n", t.Name, t.Value, float64(t.Value)/max(r.Seconds, 1e-3))
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "%d failed, first %s: %s\n", f.Count, f.Task, f.Error)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// plotWidth is the number of characters of the longest bar.
const plotWidth = 40

// Markdown writes the report as Markdown.
func (r Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Scale test: %s\n\n", r.Test)
	fmt.Fprintf(&b, "Started %s, took %s. Server %s.\n", r.Started.Format(time.RFC3339), span(r.Seconds*1000), r.ServerVersion)
	fmt.Fprintf(&b, "%d of %d tasks succeeded, %d failed.\n", r.Tasks-r.Failed, r.Tasks, r.Failed)
	if len(r.Series) > 0 {
		b.WriteString("\n## Durations\n\n| series | count | p50 | p95 | p99 | max |\n|---|--:|--:|--:|--:|--:|\n")
		for _, s := range r.Series {
			fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s |\n", s.Name, s.Count, span(s.P50), span(s.P95), span(s.P99), span(s.Max))
		}
	}
	if len(r.Totals) > 0 {
		b.WriteString("\n## Totals\n\n| total | value | per second |\n|---|--:|--:|\n")
		for _, t := range r.Totals {
			fmt.Fprintf(&b, "| %s | %d | %.1f |\n", t.Name, t.Value, float64(t.Value)/max(r.Seconds, 1e-3))
		}
	}
	for _, s := range r.Series {
		fmt.Fprintf(&b, "\n## Distribution of %s\n\n```\n%s```\n", s.Name, plot(s.Buckets))
	}
	if len(r.Failures) > 0 {
		b.WriteString("\n## Failures\n\n| count | first task | error |\n|--:|---|---|\n")
		for _, f := range r.Failures {
			fmt.Fprintf(&b, "| %d | %s | %s |\n", f.Count, f.Task, strings.NewReplacer("|", `\|`, "\n", " ").Replace(f.Error))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// plot draws buckets as bars.
func plot(all []Bucket) string {
	var most int64
	for _, b := range all {
		most = max(most, b.Count)
	}
	var out strings.Builder
	for _, b := range all {
		bar := int((b.Count*plotWidth + most - 1) / max(most, 1))
		fmt.Fprintf(&out, "<= %10s  %-*s  %d\n", span(b.UpTo), plotWidth, strings.Repeat("#", bar), b.Count)
	}
	return out.String()
}

// span writes milliseconds in the unit that reads best.
func span(ms float64) string {
	switch {
	case ms < 1:
		return fmt.Sprintf("%.3g ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 120_000:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
	return fmt.Sprintf("%.1f min", ms/60_000)
}
