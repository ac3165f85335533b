package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// gauges reads the queue's metrics as "name{label values}" -> value.
func gauges(t testing.TB, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[strings.TrimPrefix(f.GetName(), "coderd_provisionerd_queue_")+"{"+strings.Join(labels, " ")+"}"] = m.GetGauge().GetValue()
		}
	}
	return out
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	h := newHouse(t, queue.Config{Registerer: reg})
	for range 3 {
		h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.Tags{"a": "b"})
	}
	h.acquire(t, h.worker(t, "d", codersdk.Tags{"a": "b", "c": "d"}))
	got := gauges(t, reg)
	const set, own = "tags=a=b,owner=,scope=organization", "tags=a=b,c=d,owner=,scope=organization"
	for name, want := range map[string]float64{
		"jobs{organization=o state=pending " + set + "}": 2, "jobs{organization=o state=running " + set + "}": 1,
		"jobs{organization=o state=held " + set + "}": 0, "slots{organization=o " + set + "}": 1, "slots_busy{organization=o " + set + "}": 1,
		"recommended_slots{organization=o " + set + "}": 3, "slots{organization=o " + own + "}": 1, "recommended_slots{organization=o " + own + "}": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if got["oldest_wait_seconds{organization=o "+set+"}"] <= 0 {
		t.Error("nobody waits")
	}
	h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.Tags{"a": "b"})
	if again := gauges(t, reg); again["jobs{organization=o state=pending "+set+"}"] != 2 {
		t.Error("the next scrape counts again")
	}
}

// TestMetricsAreBounded limits how many tag sets have metrics of their own: the
// others' jobs are not lost.
func TestMetricsAreBounded(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	h := newHouse(t, queue.Config{Registerer: reg})
	h.fill(t, 1200, 600)
	sum, sets := 0.0, 0
	for name, v := range gauges(t, reg) {
		if strings.HasPrefix(name, "jobs{") && strings.Contains(name, "state=pending") {
			sum, sets = sum+v, sets+1
		}
	}
	if sum != 1200 || sets != 501 {
		t.Errorf("%d series tell %v jobs", sets, sum)
	}
}

func TestOverview(t *testing.T) {
	h := newHouse(t, queue.Config{})
	q, err := h.Overview(t.Context(), access.System(), h.org, queue.OverviewFilter{})
	if err != nil || q.Count != 0 || q.TagSets == nil || len(q.Warnings) != 1 || q.Warnings[0].Code != codersdk.HealthCodeNoProvisioners {
		t.Fatalf("an empty queue is %+v, %v", q, err)
	}
	for i, n := range []int{4, 3, 2, 1} {
		for range n {
			h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.Tags{"n": fmt.Sprint(i)})
		}
	}
	h.add(t, codersdk.ProvisionerJobTypeTemplateVersionImport, nil)
	h.acquire(t, h.worker(t, "zero", codersdk.Tags{"n": "0", "x": "y"}))
	h.worker(t, "plain", nil)
	q, err = h.Overview(t.Context(), access.System(), h.org, queue.OverviewFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if q.Count != 6 || q.RecommendedSlots != 11 || len(q.Warnings) != 0 {
		t.Fatalf("%+v", q)
	}
	find := func(q codersdk.ProvisionerQueue, tags codersdk.Tags) codersdk.ProvisionerQueueTagSet {
		i := slices.IndexFunc(q.TagSets, func(s codersdk.ProvisionerQueueTagSet) bool {
			return s.Tags.Key() == codersdk.NormalizeTags(h.user, tags).Key()
		})
		if i < 0 {
			t.Fatalf("no tag set %v in %+v", tags, q)
		}
		return q.TagSets[i]
	}
	if s := find(q, codersdk.Tags{"n": "0"}); s.Pending != 3 || s.Running != 1 || s.Slots != 1 || s.SlotsBusy != 1 || s.RecommendedSlots != 4 || s.OldestWaitSeconds <= 0 {
		t.Errorf("%+v", s)
	}
	if s := find(q, codersdk.Tags{"n": "0", "x": "y"}); s.Pending != 0 || s.Slots != 1 || s.SlotsBusy != 1 {
		t.Errorf("a provisioner's own tags: %+v", s)
	}
	if s := find(q, nil); s.Pending != 1 || s.Slots != 1 || s.SlotsBusy != 0 {
		t.Errorf("no tags: %+v", s)
	}

	// What a provisioner with given tags would take, with or without the scope.
	for _, tags := range []codersdk.Tags{{"n": "0", "x": "y"}, codersdk.NormalizeTags(h.user, codersdk.Tags{"n": "0", "x": "y"})} {
		q, err = h.Overview(t.Context(), access.System(), h.org, queue.OverviewFilter{Provisioner: tags})
		if err != nil || q.Count != 2 || q.RecommendedSlots != 4 {
			t.Errorf("for a provisioner: %+v, %v", q, err)
		}
	}
	if q, err = h.Overview(t.Context(), access.System(), h.org, queue.OverviewFilter{Provisioner: codersdk.Tags{}}); err != nil || q.Count != 1 || q.TagSets[0].Pending != 1 {
		t.Errorf("for a provisioner without tags: %+v, %v", q, err)
	}
	if q, err = h.Overview(t.Context(), access.System(), h.org, queue.OverviewFilter{Tags: codersdk.Tags{"n": "2"}}); err != nil || q.Count != 1 || q.TagSets[0].Pending != 2 {
		t.Errorf("by tags: %+v, %v", q, err)
	}
	var seen []string
	for offset := 0; offset < 6; offset += 2 {
		q, err := h.Overview(t.Context(), access.System(), h.org, queue.OverviewFilter{Limit: 2, Offset: offset})
		if err != nil || q.Count != 6 || q.RecommendedSlots != 11 || len(q.TagSets) != 2 {
			t.Fatalf("page at %d: %+v, %v", offset, q, err)
		}
		for _, s := range q.TagSets {
			seen = append(seen, s.Tags.Key())
		}
	}
	if slices.Sort(seen); len(slices.Compact(seen)) != 6 {
		t.Errorf("the pages are %v", seen)
	}
	if _, err := h.Overview(t.Context(), access.Subject{UserID: h.user, OrganizationRoles: map[uuid.UUID][]string{h.org: nil}}, h.org, queue.OverviewFilter{}); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a member reads the queue: %v", err)
	}
}

// TestOverviewMean holds what history does to a recommendation.
func TestOverviewMean(t *testing.T) {
	h := newHouse(t, queue.Config{})
	h.fill(t, 70, 1)
	// 10 ended after 20 s each, one was canceled after an hour.
	for _, sql := range []string{
		`UPDATE provisioner_jobs SET started_at = now() - interval '30 s', completed_at = now() - interval '10 s', worker_id = gen_random_uuid(), lease_expires_at = now() WHERE id IN (SELECT id FROM provisioner_jobs LIMIT 10)`,
		`UPDATE provisioner_jobs SET started_at = now() - interval '1 h', completed_at = now(), canceled_at = now(), worker_id = gen_random_uuid(), lease_expires_at = now() WHERE id IN (SELECT id FROM provisioner_jobs WHERE started_at IS NULL LIMIT 1)`,
	} {
		if _, err := h.store.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[time.Duration]int{0: 20, time.Minute: 20, 10 * time.Minute: 2, 10 * time.Second: 59} {
		q, err := h.Overview(t.Context(), access.System(), h.org, queue.OverviewFilter{Target: target})
		if err != nil || len(q.TagSets) != 1 || q.TagSets[0].MeanSeconds != 20 || q.TagSets[0].RecommendedSlots != want {
			t.Errorf("target %s: %+v, %v", target, q, err)
		}
	}
}

// BenchmarkOverview measures what a scrape costs that finds nothing fresh.
func BenchmarkOverview(b *testing.B) {
	for _, jobs := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(jobs, " jobs"), func(b *testing.B) {
			h := newHouse(b, queue.Config{})
			h.fill(b, jobs, 20)
			if _, err := h.store.Pool().Exec(b.Context(), `VACUUM ANALYZE provisioner_jobs`); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := h.Overview(b.Context(), access.System(), h.org, queue.OverviewFilter{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
