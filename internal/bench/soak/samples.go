package soak

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// sampleEvery is the interval of samples.
const sampleEvery = 5 * time.Second

// warmUp is the time after the start of a server that no slope counts: caches fill.
const warmUp = 30 * time.Second

// Kinds of what is sampled.
const (
	memory     = "memory"
	goroutines = "goroutines"
	files      = "files"
)

// size is a set of sampled values of a server.
type size map[string]float64

// tolerance is by how much a value may grow: a share of its mean, and at least an amount.
type tolerance struct {
	share, least float64
	unit         string
	scale        float64 // of the row
}

var tolerances = map[string]tolerance{
	memory:     {0.15, 20e6, "MB", 1e6},
	goroutines: {0.1, 60, "", 1},
	files:      {0.1, 40, "", 1}, // more than the connections to PostgreSQL, which stay open for minutes
}

// allowed returns the growth that is no leak.
func (t tolerance) allowed(mean float64) float64 { return max(t.least, t.share*mean) }

// measure returns the current size of the server.
func (s *soak) measure(ctx context.Context) (size, error) {
	pid := int(s.pid.Load())
	usage, err := process.Alone(pid)
	if err != nil {
		return nil, err
	}
	open, err := process.Files(pid)
	if err != nil {
		return nil, err
	}
	b, err := s.Scrape(ctx)
	if err != nil {
		return nil, err
	}
	running, err := metric(b, "go_goroutines")
	return size{memory: float64(usage.Memory), goroutines: running, files: float64(open)}, err
}

// metric returns the value of a metric without labels.
func metric(text []byte, name string) (float64, error) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(rest, 64)
		}
	}
	return 0, fmt.Errorf("the server has no metric %s", name)
}

// above lists the counts that have grown by more than the tolerance. Memory is not among them: it returns to the
// system late, and its slope is checked.
func (z size) above(before size) (all []string) {
	for _, kind := range []string{goroutines, files} {
		if allowed := tolerances[kind].allowed(before[kind]); z[kind] > before[kind]+allowed {
			all = append(all, fmt.Sprintf("%s: %.0f after the load, %.0f before it, allowed are %.0f more", kind, z[kind], before[kind], allowed))
		}
	}
	return all
}

// settled returns the size of the server without load. It waits until nothing is above before, as long as patience
// lasts; without before it returns the first size.
func (s *soak) settled(ctx context.Context, before size) (now size, err error) {
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	poll := lifecycle.Poll(wait, time.Second, nil, func(ctx context.Context) (bool, error) {
		got, failed := s.measure(ctx)
		if failed != nil {
			err = failed
			return false, nil
		}
		now, err = got, nil
		return before == nil || len(now.above(before)) == 0, nil
	})
	if now == nil {
		return nil, fmt.Errorf("measure the server: %w, %w", poll, err)
	}
	return now, ctx.Err()
}

// samples are sizes of the present server process over time, and the rows of tables. It is safe for concurrent use.
type samples struct {
	mu     sync.Mutex
	began  time.Time // of the process; zero before the first sample
	at     []float64 // seconds since then
	all    []size
	tables []tableRows
}

// tableRows is the number of rows of each table, and the number of builds then.
type tableRows struct {
	rows   map[string]float64
	builds float64
}

// restart forgets the samples of a process that was killed.
func (s *samples) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.at, s.all, s.tables = time.Time{}, nil, nil, nil
}

func (s *samples) add(z size, t tableRows) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		s.began = time.Now()
	}
	if time.Since(s.began) < warmUp {
		return
	}
	s.at, s.all, s.tables = append(s.at, time.Since(s.began).Seconds()), append(s.all, z), append(s.tables, t)
}

// keepSampling takes samples until ctx ends.
func (s *soak) keepSampling(ctx context.Context) {
	lifecycle.Every(ctx, sampleEvery, func(ctx context.Context) {
		z, err := s.measure(ctx)
		if err != nil {
			return // a process is away
		}
		t, err := s.countRows(ctx)
		if err == nil && ctx.Err() == nil {
			s.samples.add(z, t)
		}
	})
}

// countRows counts the rows of all tables.
func (s *soak) countRows(ctx context.Context) (tableRows, error) {
	t := tableRows{rows: map[string]float64{}}
	const count = `SELECT tablename, (xpath('/row/c/text()', query_to_xml(format('SELECT count(*) AS c FROM %I', tablename), false, true, '')))[1]::text::float8
		FROM pg_tables WHERE schemaname = 'public'`
	rows, err := s.store.Pool().Query(ctx, count)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n float64
		if err := rows.Scan(&name, &n); err != nil {
			return t, err
		}
		t.rows[name] = n
	}
	t.builds = t.rows["workspace_builds"]
	return t, rows.Err()
}

// slope returns by how much values grow per second, by least squares, and their mean.
func slope(at, values []float64) (perSecond, mean float64) {
	n := float64(len(at))
	var sumAt float64
	for i := range at {
		sumAt += at[i] / n
		mean += values[i] / n
	}
	var above, below float64
	for i := range at {
		above += (at[i] - sumAt) * (values[i] - mean)
		below += (at[i] - sumAt) * (at[i] - sumAt)
	}
	if below == 0 {
		return 0, mean
	}
	return above / below, mean
}

// rows returns the growth of each value over the samples, by its slope, with the tolerance as the goal. With less than
// ten samples there are none. Tables that grow are listed with their rows per build: history grows, and must not grow
// by more rows in the second half than in the first.
func (s *samples) rows(out io.Writer) (rows []figure.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.at) < 10 {
		return nil
	}
	lasted := s.at[len(s.at)-1] - s.at[0]
	rows = append(rows, figure.Plain("soak_one_server", lasted, "s"))
	for _, kind := range slices.Sorted(maps.Keys(tolerances)) {
		values := make([]float64, len(s.all))
		for i, z := range s.all {
			values[i] = z[kind]
		}
		perSecond, mean := slope(s.at, values)
		t := tolerances[kind]
		rows = append(rows, figure.Plain("soak_"+kind+"_mean", mean/t.scale, t.unit),
			figure.AtMost("soak_"+kind+"_growth", perSecond*lasted/t.scale, t.allowed(mean)/t.scale, t.unit))
	}
	faster := 0
	first, middle, last := s.tables[0], s.tables[len(s.tables)/2], s.tables[len(s.tables)-1]
	for _, name := range slices.Sorted(maps.Keys(last.rows)) {
		early := (middle.rows[name] - first.rows[name]) / max(1, middle.builds-first.builds)
		late := (last.rows[name] - middle.rows[name]) / max(1, last.builds-middle.builds)
		if late <= 0.1 {
			continue
		}
		fmt.Fprintf(out, "# table %s: %.1f rows for each build in the first half, %.1f in the second\n", name, early, late)
		if late > 1.5*early+1 {
			faster++
		}
	}
	return append(rows, figure.AtMost("soak_tables_growing_faster", float64(faster), 0, ""))
}
