package prebuild

import (
	"maps"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func TestAveragePeaks(t *testing.T) {
	first := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	second := first.AddDate(0, 0, 7)
	row := func(preset string, since time.Time, minutes int) sqlc.PrebuildDemandRow {
		return sqlc.PrebuildDemandRow{Preset: preset, Since: since, CreatedAt: since.Add(time.Duration(minutes) * time.Minute)}
	}
	for name, c := range map[string]struct {
		creations []sqlc.PrebuildDemandRow
		weeks     int
		want      map[string]int
	}{
		"nothing":               {nil, 4, map[string]int{}},
		"one":                   {[]sqlc.PrebuildDemandRow{row("a", first, 0)}, 1, map[string]int{"a": 1}},
		"within a quarter hour": {[]sqlc.PrebuildDemandRow{row("a", first, 0), row("a", first, 14)}, 1, map[string]int{"a": 2}},
		"a quarter hour apart":  {[]sqlc.PrebuildDemandRow{row("a", first, 0), row("a", first, 15)}, 1, map[string]int{"a": 1}},
		"the highest peak counts": {
			[]sqlc.PrebuildDemandRow{row("a", first, 0), row("a", first, 20), row("a", first, 30), row("a", first, 34), row("a", first, 60)}, 1, map[string]int{"a": 3},
		},
		"presets count on their own": {[]sqlc.PrebuildDemandRow{row("a", first, 0), row("b", first, 1)}, 1, map[string]int{"a": 1, "b": 1}},
		"weeks do not add up":        {[]sqlc.PrebuildDemandRow{row("a", first, 0), row("a", second, 0)}, 2, map[string]int{"a": 1}},
		"an average is rounded up":   {[]sqlc.PrebuildDemandRow{row("a", first, 0), row("a", first, 1), row("a", second, 0)}, 4, map[string]int{"a": 1}},
	} {
		if got := averagePeaks(c.creations, c.weeks); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestGrow(t *testing.T) {
	for name, c := range map[string]struct {
		desired, demand [2]int
		budget          int
		want            [2]int
	}{
		"enough budget":                 {[2]int{1, 0}, [2]int{3, 2}, 10, [2]int{3, 2}},
		"no demand":                     {[2]int{1, 2}, [2]int{}, 10, [2]int{1, 2}},
		"less than the presets ask for": {[2]int{2, 2}, [2]int{5, 5}, 3, [2]int{2, 2}},
		"the one that lacks most first": {[2]int{1, 0}, [2]int{3, 9}, 5, [2]int{1, 4}},
		"by turns then":                 {[2]int{0, 0}, [2]int{4, 4}, 5, [2]int{3, 2}},
	} {
		presets := []preset{{desired: c.desired[0], demand: c.demand[0]}, {desired: c.desired[1], demand: c.demand[1]}}
		grow(presets, c.budget)
		if got := [2]int{presets[0].desired, presets[1].desired}; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
