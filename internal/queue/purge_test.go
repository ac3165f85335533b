package queue_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// TestPurge checks that logs and timings of jobs are deleted once the jobs ended long
// enough ago, except those of latest builds, active versions and running jobs.
func TestPurge(t *testing.T) {
	ctx, h := t.Context(), newHouse(t, queue.Config{})
	names := map[uuid.UUID]string{}
	job := func(name string, kind codersdk.ProvisionerJobType, age string) uuid.UUID {
		t.Helper()
		id := h.add(t, kind, nil)
		names[id] = name
		if age != "" {
			h.exec(t, `UPDATE provisioner_jobs SET completed_at = now() - $2::text::interval WHERE id = $1`, id, age)
		}
		h.exec(t, `INSERT INTO provisioner_job_logs (job_id, created_at, source, level, output) SELECT $1, now(), 'provisioner', 'info', 'line' FROM generate_series(1, 1200)`, id)
		h.exec(t, `INSERT INTO provisioner_job_timings (job_id, started_at, ended_at, stage, source, action, resource)
			SELECT $1, now(), now(), 'apply', 'terraform', 'create', 'r' FROM generate_series(1, 1200)`, id)
		return id
	}
	old := job("old", codersdk.ProvisionerJobTypeWorkspaceBuild, "31 days")
	latest := job("latest build", codersdk.ProvisionerJobTypeWorkspaceBuild, "31 days")
	active := job("active version", codersdk.ProvisionerJobTypeTemplateVersionImport, "31 days")
	job("recent", codersdk.ProvisionerJobTypeTemplateVersionDryRun, "29 days")
	job("pending", codersdk.ProvisionerJobTypeTemplateVersionDryRun, "")
	version, template, workspace := uuid.New(), uuid.New(), uuid.New()
	h.exec(t, `INSERT INTO template_versions (id, organization_id, job_id, name, created_by, created_at, updated_at) VALUES ($1, $2, $3, 'v', $4, now(), now())`, version, h.org, active, h.user)
	h.exec(t, `INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
		VALUES ($1, $2, 't', 'echo', $3, $4, now(), now())`, template, h.org, version, h.user)
	h.exec(t, `INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		VALUES ($1, $2, $3, $4, 'w', now(), now(), now())`, workspace, h.org, h.user, template)
	for i, id := range []uuid.UUID{old, latest} {
		h.exec(t, `INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
			VALUES (gen_random_uuid(), $1, $2, $3, 'start', $4, 'initiator', $5, now(), now())`, workspace, version, i+1, h.user, id)
	}
	left := func(table string) map[string]int {
		t.Helper()
		out := map[string]int{}
		for id, name := range names {
			var n int
			if err := h.store.Pool().QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE job_id = $1`, id).Scan(&n); err != nil {
				t.Fatal(err)
			}
			out[name] = n
		}
		return out
	}
	const keep = 30 * 24 * time.Hour
	if n, err := h.PurgeLogs(ctx, keep); err != nil || n != 1200 {
		t.Errorf("deleted %d lines, %v", n, err)
	}
	if got := left("provisioner_job_logs"); got["old"] != 0 || got["latest build"] != 1200 || got["active version"] != 1200 || got["recent"] != 1200 || got["pending"] != 1200 {
		t.Errorf("lines left: %v", got)
	}
	if n, err := h.PurgeTimings(ctx, keep); err != nil || n != 2400 {
		t.Errorf("deleted %d timings, %v", n, err)
	}
	if got := left("provisioner_job_timings"); got["old"] != 0 || got["active version"] != 0 || got["latest build"] != 1200 || got["recent"] != 1200 || got["pending"] != 1200 {
		t.Errorf("timings left: %v", got)
	}
}
