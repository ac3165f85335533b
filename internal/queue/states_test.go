package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestTransitions makes each transition of the table happen.
func TestTransitions(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: time.Millisecond, Reap: 20 * time.Millisecond, Unserved: time.Hour})
	w := h.worker(t, "d", nil)
	w.Lease = time.Hour
	var a *provisionerd.AcquiredJob
	cancel := func(id uuid.UUID) error {
		return h.store.Tx(t.Context(), func(q *sqlc.Queries) error { return h.Cancel(t.Context(), q, id) })
	}
	expire := func(id uuid.UUID) error {
		_, err := h.store.Pool().Exec(t.Context(), fmt.Sprintf(`UPDATE provisioner_jobs SET lease_expires_at = now() - interval '1 second' WHERE id = '%s'`, id))
		return err
	}
	events := map[string]func(uuid.UUID) error{
		"a provisioner claims it": func(uuid.UUID) error { a = h.acquire(t, w); return nil },
		"a user cancels it":       cancel,
		"no provisioner that could take it was seen for 30 minutes": func(id uuid.UUID) error {
			_, err := h.store.Pool().Exec(t.Context(), fmt.Sprintf(`UPDATE provisioner_jobs SET updated_at = now() - interval '2 hours' WHERE id = '%s'`, id))
			return err
		},
		"its provisioner completes it":                                                   func(uuid.UUID) error { return h.Complete(t.Context(), w, a.Fence, buildDone(a)) },
		"its provisioner completes it anyway":                                            func(uuid.UUID) error { return h.Complete(t.Context(), w, a.Fence, buildDone(a)) },
		"its provisioner fails it, or its result is refused":                             func(uuid.UUID) error { return h.Fail(t.Context(), w, a.Fence, buildFailed(a, "no")) },
		"its provisioner stops and fails it":                                             func(uuid.UUID) error { return h.Fail(t.Context(), w, a.Fence, buildFailed(a, "no")) },
		"its lease expires during a build that sent no state or was claimed three times": expire,
		"its lease expires during a build that sent its state":                           expire,
		"its provisioner releases it and returns its state": func(uuid.UUID) error {
			stale, err := h.Recover(t.Context(), w, &provisionerd.Leftover{JobId: a.JobId, Fence: a.Fence})
			if err == nil && stale {
				err = errors.New("taken as stale")
			}
			return err
		},
		"its lease expires during an import, a dry run, or before a build started": expire,
		"its lease expires, or it does not stop in time":                           expire,
		"its provisioner disconnects before it receives the job":                   func(id uuid.UUID) error { h.Release(t.Context(), w, id, a.Fence); return nil },
	}
	for _, tr := range codersdk.JobTransitions() {
		kind, tags := codersdk.ProvisionerJobTypeWorkspaceBuild, codersdk.Tags(nil)
		if strings.Contains(tr.Event, "import") {
			kind = codersdk.ProvisionerJobTypeTemplateVersionImport
		}
		if strings.Contains(tr.Event, "30 minutes") {
			tags = codersdk.Tags{"nobody": "has this"}
		}
		id := h.add(t, kind, tags)
		if tr.From != codersdk.ProvisionerJobStatusPending {
			a = h.acquire(t, w)
			for a.JobId != id.String() { // one that an earlier row put back
				a = h.acquire(t, w)
			}
		}
		if strings.Contains(tr.Event, "sent no state") || strings.Contains(tr.Event, "sent its state") {
			told := strings.Contains(tr.Event, "sent its state")
			if _, err := h.Update(t.Context(), w, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId, Resumable: told}); err != nil {
				t.Fatal(err)
			}
		}
		if tr.From == codersdk.ProvisionerJobStatusCanceling {
			if err := cancel(id); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.status(t, id); got != tr.From {
			t.Fatalf("%q: the job is %s before, want %s", tr.Event, got, tr.From)
		}
		if err := events[tr.Event](id); err != nil {
			t.Fatalf("%q: %v", tr.Event, err)
		}
		testwait.Value(t, fmt.Sprintf("%q: the job is %s", tr.Event, tr.To),
			func() codersdk.ProvisionerJobStatus { return h.status(t, id) }, func(s codersdk.ProvisionerJobStatus) bool { return s == tr.To })
	}
}

// TestImpossibleRows are refused by the database itself.
func TestImpossibleRows(t *testing.T) {
	h := newHouse(t, queue.Config{})
	id := h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, nil)
	for _, set := range []string{
		"canceled_at = now()", // a pending job is canceled at once
		"error = 'x'",         // only what is over has an error
		"started_at = now()",  // without a worker and a lease
		"started_at = now(), worker_id = gen_random_uuid()",    // without a lease
		"lease_expires_at = now()",                             // nobody holds it
		"type = 'x'", "provisioner = 'x'", "status = 'failed'", // status is what follows
	} {
		if _, err := h.store.Pool().Exec(t.Context(), fmt.Sprintf(`UPDATE provisioner_jobs SET %s WHERE id = '%s'`, set, id)); err == nil {
			t.Errorf("the database takes %q", set)
		}
	}
	ends := []codersdk.ProvisionerJobStatus{codersdk.ProvisionerJobStatusSucceeded, codersdk.ProvisionerJobStatusFailed, codersdk.ProvisionerJobStatusCanceled}
	for _, tr := range codersdk.JobTransitions() {
		if slices.Contains(ends, tr.From) {
			t.Errorf("%s is an end, but %q leads to %s", tr.From, tr.Event, tr.To)
		}
	}
}
