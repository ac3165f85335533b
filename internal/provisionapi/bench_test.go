package provisionapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// BenchmarkPickup measures from adding a job to its first line of log, and to
// its end, over the wire of a built-in daemon. It prints a line per figure:
// name, value, goal, ok or short.
func BenchmarkPickup(b *testing.B) {
	h := newHouse(b, queue.Config{})
	h.daemon(b, nil)
	var first, whole []time.Duration
	seen := errors.New("seen")
	for b.Loop() {
		start := time.Now()
		id := h.add(b, build, nil)
		ctx, cancel := context.WithTimeout(b.Context(), testwait.Limit)
		if err := h.queue.FollowLogs(ctx, id, 0, func([]codersdk.ProvisionerJobLog) error { return seen }); err != seen {
			b.Fatal(err)
		}
		cancel()
		first = append(first, time.Since(start))
		h.ends(b, id)
		whole = append(whole, time.Since(start))
	}
	for _, row := range []struct {
		name  string
		of    []time.Duration
		share float64
		goal  time.Duration
	}{
		{"queue_pickup_p50", first, 0.5, 10 * time.Millisecond}, {"queue_pickup_p99", first, 0.99, 20 * time.Millisecond}, {"queue_job_p50", whole, 0.5, 50 * time.Millisecond},
	} {
		slices.Sort(row.of)
		v := row.of[int(float64(len(row.of)-1)*row.share)]
		verdict := "ok"
		if v > row.goal {
			verdict = "short"
		}
		fmt.Printf("%s %s %s %s\n", row.name, v.Round(10*time.Microsecond), row.goal, verdict)
	}
}
