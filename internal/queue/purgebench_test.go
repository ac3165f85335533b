package queue_test

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

var purgeRows = flag.Int("purge-rows", 200_000, "log lines of BenchmarkPurgeLogs")

// fillLogs inserts jobs of 200 log lines. One in 50 jobs ended 60 days ago.
const fillLogs = `WITH jobs AS (
    INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at)
    SELECT gen_random_uuid(), j.organization_id, j.initiator_id, j.type, j.provisioner, j.tag_set_id, j.file_id, j.input, ended, ended, ended
    FROM (SELECT * FROM provisioner_jobs LIMIT 1) j, generate_series(1, 500) n, LATERAL (SELECT now() - (n % 50 / 49) * interval '60 days' AS ended) e
    RETURNING id, completed_at)
INSERT INTO provisioner_job_logs (job_id, created_at, source, level, stage, output)
SELECT id, completed_at, 'provisioner', 'info', 'Apply', 'aws_instance.dev: Still creating... [10s elapsed]' FROM jobs, generate_series(1, 200)`

// BenchmarkPurgeLogs deletes the old log lines while lines are written and
// read, and prints how long those queries took at most during the deletion and, to compare,
// without one.
func BenchmarkPurgeLogs(b *testing.B) {
	ctx, h := b.Context(), newHouse(b, queue.Config{})
	job := h.add(b, kinds()[0], nil)
	for range *purgeRows / (500 * 200) {
		h.exec(b, fillLogs)
	}
	h.exec(b, `VACUUM ANALYZE provisioner_job_logs, provisioner_jobs`)
	use := func(until <-chan struct{}) (all []time.Duration) {
		for {
			select {
			case <-until:
				slices.Sort(all)
				return all
			default:
			}
			for _, sql := range []string{
				`INSERT INTO provisioner_job_logs (job_id, created_at, source, level, output) VALUES ($1, now(), 'provisioner', 'info', 'line')`,
				`SELECT * FROM provisioner_job_logs WHERE job_id = $1 ORDER BY id LIMIT 100`,
			} {
				began := time.Now()
				h.exec(b, sql, job)
				all = append(all, time.Since(began))
			}
		}
	}
	for b.Loop() {
		done := make(chan struct{})
		var deleted int64
		began := time.Now()
		go func() {
			defer close(done)
			var err error
			if deleted, err = h.PurgeLogs(ctx, 30*24*time.Hour); err != nil {
				b.Error(err)
			}
		}()
		busy := use(done)
		took := time.Since(began)
		idle := make(chan struct{})
		time.AfterFunc(min(took, time.Minute), func() { close(idle) })
		quiet := use(idle)
		b.ReportMetric(float64(deleted), "rows")
		b.ReportMetric(took.Seconds(), "s")
		b.ReportMetric(figure.Milliseconds(busy[len(busy)*99/100]), "p99-ms")
		figure.Plain("retention_job_logs_idle", figure.Milliseconds(quiet[len(quiet)-1]), "ms").Print(os.Stdout)
		figure.AtMost("retention_job_logs", figure.Milliseconds(busy[len(busy)-1]), 50, "ms").Print(os.Stdout)
	}
}
