package queue_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

var update = flag.Bool("update", false, "write docs/state-machines.md anew")

const drawn = "../../docs/state-machines.md"

// draw shows the machine as a diagram and a table.
func draw() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> pending\n")
	for _, t := range coder.JobTransitions() {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", t.From, t.To, t.Event)
	}
	for _, end := range []coder.ProvisionerJobStatus{coder.ProvisionerJobStatusSucceeded, coder.ProvisionerJobStatusFailed, coder.ProvisionerJobStatusCanceled} {
		fmt.Fprintf(&b, "    %s --> [*]\n", end)
	}
	b.WriteString("```\n\n| from | to | when |\n|---|---|---|\n")
	for _, t := range coder.JobTransitions() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", t.From, t.To, t.Event)
	}
	return b.String()
}

// TestDrawing holds docs/state-machines.md to the table. Other machines may
// have sections of their own there; that of jobs is between its marks.
func TestDrawing(t *testing.T) {
	const begin, end = "<!-- job: printed by internal/queue, go test -run TestDrawing ./internal/queue -update -->\n", "<!-- end of job -->\n"
	b, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(b), begin)
	body, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no marks around the machine of jobs", drawn)
	}
	if body == draw() {
		return
	}
	if !*update {
		t.Fatalf("%s does not show the table in job.go; run this test with -update", drawn)
	}
	if err := os.WriteFile(drawn, []byte(head+begin+draw()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTransitions makes each transition of the table happen.
func TestTransitions(t *testing.T) {
	h := newHouse(t, queue.Config{Lease: time.Millisecond, Reap: 20 * time.Millisecond, Unserved: 100 * time.Millisecond})
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
		"somebody cancels it":     cancel,
		"no provisioner that could take it was seen for 30 minutes":            func(uuid.UUID) error { return nil },
		"its provisioner completes it":                                         func(uuid.UUID) error { return h.Complete(t.Context(), w, a.Fence, buildDone(a)) },
		"its provisioner completes it all the same":                            func(uuid.UUID) error { return h.Complete(t.Context(), w, a.Fence, buildDone(a)) },
		"its provisioner fails it, or its result is refused":                   func(uuid.UUID) error { return h.Fail(t.Context(), w, a.Fence, buildFailed(a, "no")) },
		"its provisioner stops and fails it":                                   func(uuid.UUID) error { return h.Fail(t.Context(), w, a.Fence, buildFailed(a, "no")) },
		"its lease runs out, and it is a build that had begun":                 expire,
		"its lease runs out, and it is an import, a dry run, or had not begun": expire,
		"its lease runs out, or it does not stop in time":                      expire,
		"its provisioner went away before it got the job":                      func(id uuid.UUID) error { h.Release(t.Context(), w, id, a.Fence); return nil },
	}
	for _, tr := range coder.JobTransitions() {
		kind, tags := coder.ProvisionerJobTypeWorkspaceBuild, coder.Tags(nil)
		if strings.Contains(tr.Event, "import") {
			kind = coder.ProvisionerJobTypeTemplateVersionImport
		}
		if strings.Contains(tr.Event, "30 minutes") {
			tags = coder.Tags{"nobody": "has this"}
		}
		id := h.add(t, kind, tags)
		if tr.From != coder.ProvisionerJobStatusPending {
			a = h.acquire(t, w)
			for a.JobId != id.String() { // one that an earlier row put back
				a = h.acquire(t, w)
			}
		}
		if strings.Contains(tr.Event, "had begun") {
			if _, err := h.Update(t.Context(), w, a.Fence, &provisionerd.UpdateJobRequest{JobId: a.JobId}); err != nil {
				t.Fatal(err)
			}
		}
		if tr.From == coder.ProvisionerJobStatusCanceling {
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
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		tick := time.NewTicker(5 * time.Millisecond)
		for h.status(t, id) != tr.To {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("%q: the job is %s, want %s", tr.Event, h.status(t, id), tr.To)
			}
		}
		tick.Stop()
		stop()
	}
}

// TestImpossibleRows are refused by the database itself.
func TestImpossibleRows(t *testing.T) {
	h := newHouse(t, queue.Config{})
	id := h.add(t, coder.ProvisionerJobTypeWorkspaceBuild, nil)
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
	ends := []coder.ProvisionerJobStatus{coder.ProvisionerJobStatusSucceeded, coder.ProvisionerJobStatusFailed, coder.ProvisionerJobStatusCanceled}
	for _, tr := range coder.JobTransitions() {
		if slices.Contains(ends, tr.From) {
			t.Errorf("%s is an end, but %q leads to %s", tr.From, tr.Event, tr.To)
		}
	}
}
