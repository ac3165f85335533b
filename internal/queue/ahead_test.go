package queue_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// addClass adds a dry run of a class.
func (h *house) addClass(t testing.TB, class int16) uuid.UUID {
	t.Helper()
	id := uuid.New()
	err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error {
		return h.Add(t.Context(), q, queue.NewJob{
			ID: id, OrganizationID: h.org, InitiatorID: h.user, FileID: h.file, Type: codersdk.ProvisionerJobTypeTemplateVersionDryRun, Provisioner: "echo",
			Tags: codersdk.NormalizeTags(h.user, nil), Input: codersdk.ProvisionerJobInput{}, Priority: class,
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestJobsThatPlanAheadAreLast: a job of ClassAhead runs after all that wait, however long it
// has waited, and its own handler receives the result.
func TestJobsThatPlanAheadAreLast(t *testing.T) {
	h := newHouse(t, queue.Config{})
	ahead := &handler{}
	h.RegisterAhead(ahead)
	w := h.worker(t, "d", nil)
	row := sqlc.QueueJobRow{ProvisionerJob: sqlc.ProvisionerJob{OrganizationID: h.org, Provisioner: "echo"}, Tags: w.Tags}
	idle := func(want int64) {
		t.Helper()
		if n, err := h.Idle(t.Context(), row); err != nil || n != want {
			t.Errorf("%d slots are idle, want %d: %v", n, want, err)
		}
	}
	idle(1)
	plan, automatic, user := h.addClass(t, queue.ClassAhead), h.addClass(t, 1), h.addClass(t, 0)
	for _, want := range []uuid.UUID{user, automatic, plan} {
		a := h.acquire(t, w)
		if a.JobId != want.String() {
			t.Fatalf("claimed %s, want %s", a.JobId, want)
		}
		idle(0)
		done := &provisionerd.CompletedJob{JobId: a.JobId, Type: &provisionerd.CompletedJob_WorkspacePlan{WorkspacePlan: []byte("plan")}}
		if want != plan {
			done.Type = &provisionerd.CompletedJob_TemplateDryRun_{TemplateDryRun: &provisionerd.CompletedJob_TemplateDryRun{}}
		}
		if err := h.Complete(t.Context(), w, a.Fence, done); err != nil {
			t.Fatal(err)
		}
	}
	if len(ahead.completed) != 1 || len(h.handler.completed) != 2 {
		t.Errorf("the handlers received %d and %d results", len(ahead.completed), len(h.handler.completed))
	}
	row.Tags = codersdk.NormalizeTags(h.user, codersdk.Tags{"zone": "eu"})
	idle(0)
}
