package prebuild

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// The demand for a preset is estimated from the same time of the week in the last weeks.
const (
	// demandWeeks is the largest number of weeks that count.
	demandWeeks = 4
	// demandSpan is the time before and after that counts, so that workspaces are ready before
	// users need them, and are not deleted between two busy hours.
	demandSpan = time.Hour
	// refillTime is the time in which a new workspace takes the place of a claimed one.
	refillTime = 15 * time.Minute
	// demandStep is the time between two estimates. They are for multiples of it, so that all
	// replicas estimate the same.
	demandStep = 5 * time.Minute
)

const week = 7 * 24 * time.Hour

// demand is an estimate for a template: the number of workspaces by preset name that users create
// within refillTime.
type demand struct {
	at       time.Time
	byPreset map[string]int
}

// estimate returns the demand for a template. It reads the database once per demandStep.
func (s *Service) estimate(ctx context.Context, q *sqlc.Queries, t sqlc.PrebuildTemplateRow, now time.Time) (map[string]int, error) {
	at := now.Truncate(demandStep)
	s.mu.Lock()
	d, known := s.demands[t.ID]
	s.mu.Unlock()
	if known && d.at.Equal(at) {
		return d.byPreset, nil
	}
	var since []time.Time
	for n := range demandWeeks {
		from := at.Add(-week*time.Duration(n+1) - demandSpan)
		if from.Add(2 * demandSpan).After(t.CreatedAt) {
			since = append(since, from)
		}
	}
	if len(since) == 0 {
		return nil, nil
	}
	creations, err := q.PrebuildDemand(ctx, since, (2 * demandSpan).Seconds(), t.ID)
	if err != nil {
		return nil, err
	}
	d = demand{at, averagePeaks(creations, len(since))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demands[t.ID] = d
	return d.byPreset, nil
}

// averagePeaks returns, by preset, the average over the weeks of the largest number of creations
// within refillTime, rounded up. The creations are in the order of time.
func averagePeaks(creations []sqlc.PrebuildDemandRow, weeks int) map[string]int {
	type period struct {
		preset string
		since  time.Time
	}
	recent, peaks := map[period][]time.Time{}, map[period]int{}
	for _, c := range creations {
		p := period{c.Preset, c.Since}
		times := append(recent[p], c.CreatedAt)
		for c.CreatedAt.Sub(times[0]) >= refillTime {
			times = times[1:]
		}
		recent[p], peaks[p] = times, max(peaks[p], len(times))
	}
	out := map[string]int{}
	for p, n := range peaks {
		out[p.preset] += n
	}
	for name, n := range out {
		out[name] = (n + weeks - 1) / weeks
	}
	return out
}

// grow raises the desired numbers of presets towards their demand, while the sum of all is below
// the budget. The preset that lacks most is raised first.
func grow(presets []preset, budget int) {
	for _, p := range presets {
		budget -= p.desired
	}
	for ; budget > 0; budget-- {
		most, lack := -1, 0
		for i, p := range presets {
			if l := p.demand - p.desired; l > lack {
				most, lack = i, l
			}
		}
		if most < 0 {
			return
		}
		presets[most].desired++
	}
}

// forget drops the estimates for templates that are not among those.
func (s *Service) forget(templates []uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := map[uuid.UUID]demand{}
	for _, id := range templates {
		if d, known := s.demands[id]; known {
			left[id] = d
		}
	}
	s.demands = left
}
