package queue_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// claims reports whether the SQL that claims gives a job with tags job to a
// daemon with tags daemon.
func (h *house) claims(t testing.TB, daemon, job codersdk.Tags) bool {
	t.Helper()
	id := uuid.New()
	err := h.store.Tx(t.Context(), func(q *sqlc.Queries) error {
		return h.Add(t.Context(), q, queue.NewJob{ID: id, OrganizationID: h.org, InitiatorID: h.user, FileID: h.file, Type: codersdk.ProvisionerJobTypeWorkspaceBuild, Provisioner: "echo", Tags: job})
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := h.store.QueueClaim(t.Context(), sqlc.QueueClaimParams{
		OrganizationID: h.org, Provisioners: []string{"echo"}, Tags: mustJSON(t, daemon),
		WorkerIds: []uuid.UUID{uuid.New()}, WorkerNames: []string{"d"}, LeaseMs: time.Hour.Milliseconds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Pool().Exec(t.Context(), `DELETE FROM provisioner_jobs`); err != nil {
		t.Fatal(err)
	}
	return len(rows) == 1 && rows[0].ProvisionerJob.ID == id
}

// TestDocumentedRowsInSQL runs the documented table on the SQL; the root
// package runs it on the Go rule.
func TestDocumentedRowsInSQL(t *testing.T) {
	h := newHouse(t, queue.Config{Unserved: time.Hour})
	a, b := uuid.New(), uuid.New()
	e, dc, dn := []string{"environment", "on-prem"}, []string{"datacenter", "chicago"}, []string{"datacenter", "new_york"}
	set := func(user uuid.UUID, pairs ...[]string) codersdk.Tags {
		t := codersdk.Tags{}
		if user != uuid.Nil {
			t[codersdk.TagScope] = codersdk.ScopeUser
		}
		for _, p := range pairs {
			t[p[0]] = p[1]
		}
		return codersdk.NormalizeTags(user, t)
	}
	o := uuid.Nil
	for i, row := range []struct {
		daemon, job codersdk.Tags
		runs        bool
	}{
		{set(o), set(o), true},
		{set(o, e), set(o, e), true},
		{set(o, e, dc), set(o, e), true},
		{set(o, e, dc), set(o, e, dc), true},
		{set(a), set(a), true},
		{set(a, e), set(a), true},
		{set(a, e), set(a, e), true},
		{set(a, e, dc), set(a, e), true},
		{set(a, e, dc), set(a, e, dc), true},
		{set(o), set(o, e), false},
		{set(o, e), set(o), false},
		{set(o, e), set(o, e, dc), false},
		{set(o, e, dn), set(o, e, dc), false},
		{set(a), set(o), false},
		{set(a), set(b), false},
		{set(o), set(a), false},
		{set(o), set(a, e), false},
		{set(a), set(a, e), false},
		{set(a, e), set(a, e, dc), false},
		{set(a, e, dc), set(a, e, dn), false},
	} {
		if got := h.claims(t, row.daemon, row.job); got != row.runs {
			t.Errorf("row %d: daemon %v claims job %v: %v, want %v", i+1, row.daemon, row.job, got, row.runs)
		}
		if got := row.daemon.Match(row.job); got != row.runs {
			t.Errorf("row %d: the Go rule says %v, want %v", i+1, got, row.runs)
		}
	}
	// Row 21: the same tags in another organization.
	w := queue.Worker{OrganizationID: uuid.New(), Tags: set(o, e), Provisioners: []string{"echo"}}
	h.add(t, codersdk.ProvisionerJobTypeWorkspaceBuild, set(o, e))
	rows, err := h.store.QueueClaim(t.Context(), sqlc.QueueClaimParams{OrganizationID: w.OrganizationID, Provisioners: w.Provisioners, Tags: mustJSON(t, w.Tags), WorkerIds: []uuid.UUID{uuid.New()}, WorkerNames: []string{"d"}})
	if err != nil || len(rows) != 0 {
		t.Errorf("row 21: another organization's daemon got %v, %v", rows, err)
	}
}

// FuzzTagsInSQL holds the Go rule and the SQL to each other.
func FuzzTagsInSQL(f *testing.F) {
	f.Add("", "", "", "", "", "", false, false)
	f.Add("a", "1", "b", "2", "a", "1", true, true)
	f.Add("owner", "x", "scope", "user", "a", "1", false, true)
	f.Add(`k"=,`, `\`, "ä", "\u2028", `k"=,`, `\`, false, false)
	h := newHouse(f, queue.Config{Unserved: time.Hour})
	user := uuid.New()
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, k3, v3 string, dUser, jUser bool) {
		daemon, job := codersdk.Tags{k1: v1, k2: v2}, codersdk.Tags{k3: v3}
		if k3 == "" {
			job = codersdk.Tags{}
		}
		if k1 == "" || k2 == "" {
			daemon = codersdk.Tags{}
		}
		if dUser {
			daemon[codersdk.TagScope] = codersdk.ScopeUser
		}
		if jUser {
			job[codersdk.TagScope] = codersdk.ScopeUser
		}
		if codersdk.CheckTags("t", daemon) != nil || codersdk.CheckTags("t", job) != nil {
			t.Skip()
		}
		daemon, job = codersdk.NormalizeTags(user, daemon), codersdk.NormalizeTags(user, job)
		if got, want := h.claims(t, daemon, job), daemon.Match(job); got != want {
			t.Errorf("daemon %q, job %q: SQL says %v, Go says %v", daemon, job, got, want)
		}
	})
}
