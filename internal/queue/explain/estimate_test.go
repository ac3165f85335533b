package explain_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/queue/explain"
)

func TestQueueWait(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name     string
		free     []time.Duration
		mean     time.Duration
		position int
		want     time.Duration
		ok       bool
	}{
		{"a slot is free", []time.Duration{0}, 0, 1, 0, true},
		{"a slot is free, another busy", []time.Duration{-1, 0}, 0, 1, 0, true},
		{"one busy slot", []time.Duration{30 * s}, 60 * s, 1, 30 * s, true},
		{"one busy slot, second in line", []time.Duration{30 * s}, 60 * s, 2, 90 * s, true},
		{"two slots", []time.Duration{30 * s, 10 * s}, 60 * s, 1, 10 * s, true},
		{"two slots, third in line", []time.Duration{30 * s, 10 * s}, 60 * s, 3, 70 * s, true},
		{"free slots for some before", []time.Duration{0, 0}, 20 * s, 3, 20 * s, true},
		{"no history", []time.Duration{30 * s}, 0, 1, 0, false},
		{"no history, too few free", []time.Duration{0}, 0, 2, 0, false},
		{"no slot", nil, 60 * s, 1, 0, false},
		{"only slots of which nothing is known", []time.Duration{-1}, 60 * s, 1, 0, false},
		{"a long line", []time.Duration{0, 0, 0, 0}, 30 * s, 100_001, 25_000 * 30 * s, true},
	} {
		got, ok := explain.QueueWait(c.free, c.mean, c.position)
		if ok != c.ok || (got-c.want).Abs() > 2*time.Millisecond {
			t.Errorf("%s: %s, %v; want %s, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// FuzzQueueWait compares the bisection with a simulation of the queue job by job.
func FuzzQueueWait(f *testing.F) {
	f.Add(uint8(3), uint16(20), uint16(7), uint64(12345))
	f.Fuzz(func(t *testing.T, slots uint8, mean, position uint16, seed uint64) {
		n, m, p := int(slots%16)+1, time.Duration(mean%600+1)*time.Second, int(position%500)+1
		free := make([]time.Duration, n)
		for i := range free {
			seed = seed*6364136223846793005 + 1442695040888963407
			free[i] = time.Duration(seed>>33%600) * time.Second
		}
		got, ok := explain.QueueWait(free, m, p)
		var want time.Duration
		for range p {
			i := slices.Index(free, slices.Min(free))
			want = free[i]
			free[i] += m
		}
		if !ok || (got-want).Abs() > 2*time.Millisecond {
			t.Fatalf("%s, %v; want %s", got, ok, want)
		}
	})
}

func TestSummary(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *time.Time { t := now.Add(d); return &t }
	refusals := func(r ...codersdk.ProvisionerReason) (out []codersdk.ProvisionerRefusal) {
		for _, reason := range r {
			out = append(out, codersdk.ProvisionerRefusal{DaemonID: uuid.New(), Reason: reason})
		}
		return out
	}
	for _, c := range []struct {
		x    codersdk.ProvisionerJobExplanation
		job  codersdk.ProvisionerJob
		want string
	}{
		{codersdk.ProvisionerJobExplanation{Status: "pending", QueuePosition: 2, QueueSize: 9, Daemons: refusals("takes_it", "busy")}, codersdk.ProvisionerJob{}, "It is number 2 of 9 in the queue of its tags, and a provisioner is free."},
		{codersdk.ProvisionerJobExplanation{Status: "pending", QueuePosition: 2, QueueSize: 9, Daemons: refusals("busy"), Matched: codersdk.MatchedProvisioners{Available: 1}}, codersdk.ProvisionerJob{}, "It is number 2 of 9 in the queue of its tags; the provisioner that takes such jobs is busy."},
		{codersdk.ProvisionerJobExplanation{Status: "pending", QueuePosition: 2, QueueSize: 9, Daemons: refusals("busy", "busy"), Matched: codersdk.MatchedProvisioners{Available: 2}, EstimatedStart: at(90 * time.Second)}, codersdk.ProvisionerJob{}, "It is number 2 of 9 in the queue of its tags; the 2 provisioners that take such jobs are busy, and it should start in about 1m30s."},
		{codersdk.ProvisionerJobExplanation{Status: "pending", QueuePosition: 1, QueueSize: 1, Daemons: refusals("busy"), Matched: codersdk.MatchedProvisioners{Available: 1}, EstimatedStart: at(-time.Second)}, codersdk.ProvisionerJob{}, "It is number 1 of 1 in the queue of its tags; the provisioner that takes such jobs is busy, and it should start any moment."},
		{codersdk.ProvisionerJobExplanation{Status: "pending", QueuePosition: 2, QueueSize: 9, Daemons: refusals("busy"), Matched: codersdk.MatchedProvisioners{Available: 1}, BehindPeople: true}, codersdk.ProvisionerJob{}, "It is number 2 of 9 in the queue of its tags, where builds that people asked for go first; the provisioner that takes such jobs is busy."},
		{codersdk.ProvisionerJobExplanation{Status: "pending", Held: "3 builds of the template run.", Warning: "x"}, codersdk.ProvisionerJob{}, "It is held back: 3 builds of the template run."},
		{codersdk.ProvisionerJobExplanation{Status: "pending", Warning: "Start one."}, codersdk.ProvisionerJob{}, "Start one."},
		{codersdk.ProvisionerJobExplanation{Status: "running"}, codersdk.ProvisionerJob{WorkerName: "d", StartedAt: &now}, `It does not wait: the provisioner "d" runs it since 2026-03-01T12:00:00Z.`},
		{codersdk.ProvisionerJobExplanation{Status: "canceling"}, codersdk.ProvisionerJob{WorkerName: "d", StartedAt: &now}, `It does not wait: the provisioner "d" runs it since 2026-03-01T12:00:00Z, and is to stop.`},
		{codersdk.ProvisionerJobExplanation{Status: "succeeded"}, codersdk.ProvisionerJob{CompletedAt: &now}, "It does not wait: it succeeded at 2026-03-01T12:00:00Z."},
		{codersdk.ProvisionerJobExplanation{Status: "failed"}, codersdk.ProvisionerJob{CompletedAt: &now}, "It does not wait: it failed at 2026-03-01T12:00:00Z."},
		{codersdk.ProvisionerJobExplanation{Status: "canceled"}, codersdk.ProvisionerJob{}, "It does not wait: it was canceled."},
	} {
		if got := explain.Summarize(c.x, c.job, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.x.Status, got, c.want)
		}
	}
}

func TestRecommendedSlots(t *testing.T) {
	for _, c := range []struct {
		pending, running int
		mean, target     time.Duration
		want             int
	}{
		{0, 0, time.Minute, time.Minute, 0},
		{0, 3, time.Minute, time.Minute, 3},
		{5, 0, 0, time.Minute, 5},                       // nothing is known
		{5, 2, 5 * time.Minute, time.Minute, 7},         // each needs its own
		{60, 0, time.Second, time.Minute, 1},            // one does all within the target
		{61, 1, time.Second, time.Minute, 3},            // a little more than one does
		{1, 0, time.Millisecond, time.Minute, 1},        // never none
		{90, 0, 20 * time.Second, 0, 30},                // the default target
		{100_000, 10, 30 * time.Second, time.Hour, 844}, // 833.3 rounded up, and what runs
		{3, 0, 59 * time.Second, time.Minute, 3},
	} {
		if got := explain.RecommendedSlots(c.pending, c.running, c.mean, c.target); got != c.want {
			t.Errorf("%d pending, %d running, mean %s, target %s: %d, want %d", c.pending, c.running, c.mean, c.target, got, c.want)
		}
	}
}
