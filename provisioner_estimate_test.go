package coder_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
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
		got, ok := coder.QueueWait(c.free, c.mean, c.position)
		if ok != c.ok || (got-c.want).Abs() > 2*time.Millisecond {
			t.Errorf("%s: %s, %v; want %s, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// FuzzQueueWait holds the halving to playing the queue job by job.
func FuzzQueueWait(f *testing.F) {
	f.Add(uint8(3), uint16(20), uint16(7), uint64(12345))
	f.Fuzz(func(t *testing.T, slots uint8, mean, position uint16, seed uint64) {
		n, m, p := int(slots%16)+1, time.Duration(mean%600+1)*time.Second, int(position%500)+1
		free := make([]time.Duration, n)
		for i := range free {
			seed = seed*6364136223846793005 + 1442695040888963407
			free[i] = time.Duration(seed>>33%600) * time.Second
		}
		got, ok := coder.QueueWait(free, m, p)
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
	refusals := func(r ...coder.ProvisionerReason) (out []coder.ProvisionerRefusal) {
		for _, reason := range r {
			out = append(out, coder.ProvisionerRefusal{DaemonID: uuid.New(), Reason: reason})
		}
		return out
	}
	for _, c := range []struct {
		x    coder.ProvisionerJobExplanation
		job  coder.ProvisionerJob
		want string
	}{
		{coder.ProvisionerJobExplanation{Status: "pending", QueuePosition: 2, QueueSize: 9, Daemons: refusals("takes_it", "busy")}, coder.ProvisionerJob{}, "It is number 2 of 9 in the queue of its tags, and a provisioner is free."},
		{coder.ProvisionerJobExplanation{Status: "pending", QueuePosition: 2, QueueSize: 9, Daemons: refusals("busy"), Matched: coder.MatchedProvisioners{Available: 1}}, coder.ProvisionerJob{}, "It is number 2 of 9 in the queue of its tags; the provisioner that takes such jobs is busy."},
		{coder.ProvisionerJobExplanation{Status: "pending", QueuePosition: 2, QueueSize: 9, Daemons: refusals("busy", "busy"), Matched: coder.MatchedProvisioners{Available: 2}, EstimatedStart: at(90 * time.Second)}, coder.ProvisionerJob{}, "It is number 2 of 9 in the queue of its tags; the 2 provisioners that take such jobs are busy, and it should start in about 1m30s."},
		{coder.ProvisionerJobExplanation{Status: "pending", QueuePosition: 1, QueueSize: 1, Daemons: refusals("busy"), Matched: coder.MatchedProvisioners{Available: 1}, EstimatedStart: at(-time.Second)}, coder.ProvisionerJob{}, "It is number 1 of 1 in the queue of its tags; the provisioner that takes such jobs is busy, and it should start any moment."},
		{coder.ProvisionerJobExplanation{Status: "pending", QueuePosition: 2, QueueSize: 9, Daemons: refusals("busy"), Matched: coder.MatchedProvisioners{Available: 1}, BehindPeople: true}, coder.ProvisionerJob{}, "It is number 2 of 9 in the queue of its tags, where builds that people asked for go first; the provisioner that takes such jobs is busy."},
		{coder.ProvisionerJobExplanation{Status: "pending", Held: "3 builds of the template run.", Warning: "x"}, coder.ProvisionerJob{}, "It is held back: 3 builds of the template run."},
		{coder.ProvisionerJobExplanation{Status: "pending", Warning: "Start one."}, coder.ProvisionerJob{}, "Start one."},
		{coder.ProvisionerJobExplanation{Status: "running"}, coder.ProvisionerJob{WorkerName: "d", StartedAt: &now}, `It does not wait: the provisioner "d" runs it since 2026-03-01T12:00:00Z.`},
		{coder.ProvisionerJobExplanation{Status: "canceling"}, coder.ProvisionerJob{WorkerName: "d", StartedAt: &now}, `It does not wait: the provisioner "d" runs it since 2026-03-01T12:00:00Z, and is to stop.`},
		{coder.ProvisionerJobExplanation{Status: "succeeded"}, coder.ProvisionerJob{CompletedAt: &now}, "It does not wait: it succeeded at 2026-03-01T12:00:00Z."},
		{coder.ProvisionerJobExplanation{Status: "failed"}, coder.ProvisionerJob{CompletedAt: &now}, "It does not wait: it failed at 2026-03-01T12:00:00Z."},
		{coder.ProvisionerJobExplanation{Status: "canceled"}, coder.ProvisionerJob{}, "It does not wait: it was canceled."},
	} {
		if got := c.x.Summarize(c.job, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.x.Status, got, c.want)
		}
	}
}
