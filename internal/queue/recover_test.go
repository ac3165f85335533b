package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

func (h *house) expire(t testing.TB, job string) {
	t.Helper()
	if _, err := h.store.Pool().Exec(t.Context(), fmt.Sprintf(`UPDATE provisioner_jobs SET lease_expires_at = now() - interval '1 second' WHERE id = '%s'`, job)); err != nil {
		t.Fatal(err)
	}
}

func (h *house) says(t testing.TB, w queue.Worker, a *provisionerd.AcquiredJob, state string) {
	t.Helper()
	req := &provisionerd.UpdateJobRequest{JobId: a.JobId, Resumable: true}
	if state != "" {
		req.State = []byte(state)
	}
	if _, err := h.Update(t.Context(), w, a.Fence, req); err != nil {
		t.Fatal(err)
	}
}

// TestZombie lets a build go to a second provisioner; nothing that the first
// says after that changes anything.
func TestZombie(t *testing.T) {
	skewed(t, func(t *testing.T, store *postgres.Store) {
		newHouseOn(t, store, queue.Config{Lease: time.Millisecond, Reap: 10 * time.Millisecond}).refusesZombies(t)
	})
}

func (h *house) refusesZombies(t *testing.T) {
	dead, next := h.worker(t, "dead", nil), h.worker(t, "next", nil)
	dead.Lease, next.Lease = time.Hour, time.Hour
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	old := h.acquire(t, dead)
	h.says(t, dead, old, "half")
	told := make(chan error, 1)
	go func() {
		_, err := h.AwaitInterruption(t.Context(), dead, old.JobId, old.Fence)
		told <- err
	}()
	h.expire(t, old.JobId)
	a := h.acquire(t, next)
	if a.JobId != old.JobId || a.Fence <= old.Fence {
		t.Fatalf("the next provisioner got %s under %d after %d", a.JobId, a.Fence, old.Fence)
	}
	if err := <-told; !queue.Lost(err) {
		t.Errorf("the zombie was told %v", err)
	}
	ctx := t.Context()
	_, update := h.Update(ctx, dead, old.Fence, &provisionerd.UpdateJobRequest{JobId: old.JobId, State: []byte("late")})
	for what, err := range map[string]error{
		"update": update, "complete": h.Complete(ctx, dead, old.Fence, buildDone(old)), "fail": h.Fail(ctx, dead, old.Fence, buildFailed(old, "no")),
		"complete with the other's fence": h.Complete(ctx, dead, a.Fence, buildDone(old)),
	} {
		if !queue.Lost(err) {
			t.Errorf("%s of a zombie: %v", what, err)
		}
	}
	if stale, err := h.Recover(ctx, dead, &provisionerd.Leftover{JobId: old.JobId, Fence: old.Fence, State: []byte("late")}); err != nil || !stale {
		t.Errorf("what it left behind: stale %v, %v", stale, err)
	}
	// Nor does it under the other's fence, while that one is alive.
	if _, err := h.Recover(ctx, dead, &provisionerd.Leftover{JobId: old.JobId, Fence: a.Fence, State: []byte("late")}); !queue.Lost(err) {
		t.Errorf("the job of another was spoken for: %v", err)
	}
	if got := h.handler.states(); len(got) != 1 || got[0] != "half" {
		t.Errorf("states that were kept: %q", got)
	}
	if err := h.Complete(ctx, next, a.Fence, buildDone(a)); err != nil {
		t.Fatal(err)
	}
	if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Errorf("the job is %s", j.Status)
	}
}

// TestLostBuilds are those that nobody goes on with.
func TestLostBuilds(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: time.Millisecond, Reap: 10 * time.Millisecond})
	w := h.worker(t, "d", nil)
	w.Lease = time.Hour
	t.Run("tried too often", func(t *testing.T) {
		id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
		for range 3 {
			a := h.acquire(t, w)
			h.says(t, w, a, "half")
			h.expire(t, a.JobId)
		}
		if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "last reported state is kept") || !strings.Contains(j.Error, "3 times") {
			t.Errorf("the job is %s: %s", j.Status, j.Error)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
		a := h.acquire(t, w)
		h.says(t, w, a, "half")
		if err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return h.Cancel(t.Context(), q, id) }); err != nil {
			t.Fatal(err)
		}
		h.Canceled(id)
		if canceled, err := h.AwaitInterruption(t.Context(), w, a.JobId, a.Fence); !canceled || err != nil {
			t.Errorf("interrupted: %v, %v", canceled, err)
		}
		h.expire(t, a.JobId)
		if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed {
			t.Errorf("the job is %s: %s", j.Status, j.Error)
		}
	})
	t.Run("of the original protocol", func(t *testing.T) {
		upstream := w
		upstream.Lease = queue.UpstreamLease
		id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
		a := h.acquire(t, upstream)
		if _, err := h.Update(t.Context(), upstream, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId}); err != nil {
			t.Fatal(err)
		}
		h.expire(t, a.JobId)
		if j := h.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "may exist without being in the state") {
			t.Errorf("the job is %s: %s", j.Status, j.Error)
		}
		if stale, err := h.Recover(t.Context(), w, &provisionerd.Leftover{JobId: a.JobId, Fence: a.Fence, State: []byte("found")}); stale || err != nil {
			t.Errorf("its state was not taken afterwards: %v, %v", stale, err)
		}
	})
	t.Run("of another's tags", func(t *testing.T) {
		h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
		a := h.acquire(t, w)
		other := h.worker(t, "other", codersdk.Tags{"a": "b"})
		for _, l := range []*provisionerd.Leftover{{JobId: a.JobId, Fence: a.Fence}, {JobId: uuid.NewString(), Fence: 1}} {
			if _, err := h.Recover(t.Context(), other, l); !queue.Lost(err) {
				t.Errorf("a provisioner that could not have had the job may speak for it: %v", err)
			}
		}
		if _, err := h.Recover(t.Context(), w, &provisionerd.Leftover{JobId: "nonsense"}); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Error(err)
		}
	})
}
