package schedule_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// crowd makes n workspaces like one, each with a timer of every kind and a
// failed start, of which due are due on Monday; and, for each tenth, a build
// from before.
func (h *house) crowd(n, due int) {
	h.t.Helper()
	of := h.running(codersdk.CreateWorkspaceRequest{})
	tx, err := h.store.Pool().Begin(h.t.Context())
	h.must(err)
	for _, sql := range []string{
		`SET LOCAL session_replication_role = replica`, // what triggers keep is given below
		`CREATE TABLE crowd AS SELECT i, md5('w' || i)::uuid AS id, md5('b' || i)::uuid AS build, md5('old' || i)::uuid AS old,
			'2030-07-01 08:00Z'::timestamptz + (i - $$due) * interval '1 second' AS at FROM generate_series(1, $$n) i`,
		`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at, next_start_at, deleting_at, latest_build_id)
			SELECT c.id, organization_id, owner_id, template_id, 'copy' || i, created_at, updated_at, '2030-06-01 08:00Z'::timestamptz + (i - $$due) * interval '1 minute', at, at, c.build FROM workspaces w, crowd c WHERE w.id = '$$of'`,
		`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, completed_at, lease_expires_at, worker_id, error)
			SELECT x.id, j.organization_id, j.initiator_id, j.type, j.provisioner, j.tag_set_id, j.file_id, '{}', now(), now(), now(), now(), now(), j.id, 'it broke'
			FROM (SELECT build AS id FROM crowd UNION ALL SELECT old FROM crowd WHERE i % 10 = 0) x, provisioner_jobs j WHERE j.id = (SELECT job_id FROM workspace_builds WHERE workspace_id = '$$of')`,
		`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at, deadline, failed_at)
			SELECT c.build, c.id, template_version_id, 2, 'start', initiator_id, 'initiator', c.build, created_at, updated_at, at, at - interval '1 hour' FROM crowd c, workspace_builds b WHERE b.workspace_id = '$$of'`,
		`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at, deadline, failed_at, current)
			SELECT c.old, c.id, template_version_id, 1, 'start', initiator_id, 'initiator', c.old, created_at, updated_at, '2030-06-30Z', '2030-06-30Z', false FROM crowd c, workspace_builds b WHERE b.workspace_id = '$$of' AND i % 10 = 0`,
	} {
		_, err := tx.Exec(h.t.Context(), strings.NewReplacer("$$due", strconv.Itoa(due), "$$n", strconv.Itoa(n), "$$of", of.String()).Replace(sql))
		h.must(err)
	}
	h.must(tx.Commit(h.t.Context()))
	h.exec(`VACUUM ANALYZE`)
}

// TestPlans: among 100,000 workspaces what is due is found by reading little
// more than that.
func TestPlans(t *testing.T) {
	h := open(t).fill()
	const n, due = 100_000, 50
	h.exec(`UPDATE templates SET time_til_dormant_ms = 30 * 86400000::bigint, failure_ttl_ms = 3600000`)
	h.crowd(n, due)
	page := sqlc.ScheduleStartsParams{Now: monday, MaxRows: 200}
	look := func(query string, params any) {
		t.Helper()
		plan := postgrestest.Explain(t, h.store, "schedule", query, params)
		if most := 0.03 * n; plan.Touched > most {
			t.Errorf("%s: %.0f rows are read, more than %.0f\n%s", query, plan.Touched, most, plan.Text)
		}
	}
	look("ScheduleStarts", page)
	look("ScheduleStops", sqlc.ScheduleStopsParams(page))
	look("ScheduleFailed", sqlc.ScheduleFailedParams{Since: monday.Add(-time.Hour), Now: monday, MaxRows: 200})
	look("ScheduleDeletes", sqlc.ScheduleDeletesParams(page))
	look("ScheduleUnused", sqlc.ScheduleUnusedParams{TemplateID: h.template, Since: monday.Add(-30 * 24 * time.Hour), AfterDay: -1 << 31, Now: monday, MaxRows: 200})
	h.exec(`UPDATE workspaces w SET retry_at = at FROM crowd c WHERE c.id = w.id AND i <= 10000`)
	h.exec(`VACUUM ANALYZE workspaces`)
	look("ScheduleRetries", sqlc.ScheduleRetriesParams(page))
}
