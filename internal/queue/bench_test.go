package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// BenchmarkJobs measures whole jobs: added, claimed, one line of log, completed.
func BenchmarkJobs(b *testing.B) {
	h := newHouse(b, queue.Config{})
	const daemons = 8
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	done := make(chan struct{}, 1<<20)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for i := range daemons {
		w := h.worker(b, fmt.Sprint("d", i), nil)
		wg.Go(func() {
			for {
				a, err := h.Acquire(ctx, w)
				if err != nil {
					return
				}
				up := &provisionerd.UpdateJobRequest{JobId: a.JobId, Logs: []*provisionerd.Log{{Output: "hello", CreatedAt: time.Now().UnixMilli()}}}
				if _, err := h.Update(ctx, w, a.Fence, up); err != nil {
					b.Error(err)
				}
				if err := h.Complete(ctx, w, a.Fence, buildDone(a)); err != nil {
					b.Error(err)
				}
				done <- struct{}{}
			}
		})
	}
	start := time.Now()
	for b.Loop() {
		h.add(b, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	}
	for range b.N {
		<-done
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "jobs/s")
}

// fill adds pending jobs of some other tag sets.
func (h *house) fill(t testing.TB, jobs, sets int) {
	t.Helper()
	for i := range sets {
		h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.Tags{"other": fmt.Sprint(i)})
	}
	sql := `INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, priority, tag_set_id, file_id, input, created_at, updated_at)
		SELECT gen_random_uuid(), j.organization_id, j.initiator_id, j.type, j.provisioner, j.priority, j.tag_set_id, j.file_id, j.input, now(), now()
		FROM provisioner_jobs j, generate_series(1, %d); ANALYZE`
	for _, q := range strings.Split(fmt.Sprintf(sql, jobs/sets-1), ";") {
		if _, err := h.store.Pool().Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkClaim measures one claim while jobs of other tag sets wait.
func BenchmarkClaim(b *testing.B) {
	for _, others := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(others, " others"), func(b *testing.B) {
			h := newHouse(b, queue.Config{})
			h.fill(b, others, 20)
			p := sqlc.QueueClaimParams{
				OrganizationID: h.org, Provisioners: []string{"echo"}, Tags: mustJSON(b, codersdk.NormalizeTags(h.user, nil)),
				WorkerIds: []uuid.UUID{uuid.New()}, WorkerNames: []string{"d"}, LeaseMs: time.Hour.Milliseconds(),
			}
			for b.Loop() {
				b.StopTimer()
				h.add(b, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
				b.StartTimer()
				if rows, err := h.store.QueueClaim(b.Context(), p); err != nil || len(rows) != 1 {
					b.Fatal(rows, err)
				}
			}
		})
	}
}
