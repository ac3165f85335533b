package planahead

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/savedplan"
)

const (
	manyWorkspaces = 100_000
	manyPlans      = 200
)

// fillBuild adds build $2 of each workspace, and of one in twenty if it is build 3, with its job.
const fillBuild = `WITH built AS MATERIALIZED (
    SELECT w.*, gen_random_uuid() AS job_id, w.last_used_at + $2::integer * interval '1 second' AS at FROM workspaces w
    WHERE $2::integer < 3 OR right(w.name, 2) IN ('11', '31', '51', '71', '91')
), jobs AS (
    INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, completed_at, created_at, updated_at)
    SELECT b.job_id, b.organization_id, b.owner_id, 'workspace_build', 'terraform', s.id, f.id, '{}', b.at, b.at, b.at
    FROM built b, (SELECT id FROM job_tag_sets LIMIT 1) s, (SELECT id FROM files LIMIT 1) f
    RETURNING id
)
INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
SELECT gen_random_uuid(), b.id, $1, $2, CASE $2::integer WHEN 2 THEN 'stop' ELSE 'start' END, b.owner_id, 'initiator', b.job_id, b.at, b.at
FROM built b JOIN jobs ON jobs.id = b.job_id`

// fill adds workspaces of 5,000 users, each started and stopped. One in twenty was started
// again and runs.
func (d *deployment) fill(n int) {
	d.t.Helper()
	d.exec(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
		SELECT md5('u' || n)::uuid, 'u' || n || '@x', 'u' || n, 'none', 'active', now(), now() FROM generate_series(0, 4999) n`)
	d.exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		SELECT gen_random_uuid(), $1, md5('u' || n % 5000)::uuid, $2, 'w' || n, now(), now(), now() - n * interval '30 seconds' FROM generate_series(1, $3::integer) n`,
		d.org, d.template, n)
	for number := range 3 {
		d.exec(fillBuild, d.version, number+1)
	}
	d.exec(`VACUUM ANALYZE`)
}

// measure prints the median and the slowest of 50 calls.
func measure(b *testing.B, name string, call func() error) {
	b.Helper()
	var all []time.Duration
	for range 50 {
		began := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	figure.AtMost("plan_ahead_"+name+"_p50", figure.Milliseconds(all[25]), 10, "ms").Print(os.Stdout)
	figure.Plain("plan_ahead_"+name+"_max", figure.Milliseconds(all[49]), "ms").Print(os.Stdout)
}

// BenchmarkCheck measures the queries of a check among 100,000 workspaces: without plans, with
// all plans made, and if no workspace can be planned.
func BenchmarkCheck(b *testing.B) {
	d := newDeployment(b)
	d.fill(manyWorkspaces)
	since := time.Now().Add(-savedplan.MaxAge)
	next := func() error {
		_, err := d.store.PlanAheadNext(b.Context(), manyPlans*candidates, since, manyPlans)
		return err
	}
	for b.Loop() {
		measure(b, "next_of_all", next)
		d.exec(`INSERT INTO workspace_plans (workspace_id, build_number, plan, made_at)
			SELECT w.id, 2, decode(repeat('ab', 20000), 'hex'), now() FROM workspaces w JOIN workspace_builds b ON b.workspace_id = w.id AND b.current AND b.transition = 'stop'
			ORDER BY w.last_used_at DESC LIMIT $1`, manyPlans)
		d.exec(`ANALYZE workspace_plans`)
		measure(b, "next_of_none", next)
		measure(b, "trim", func() error {
			_, err := d.store.PlanAheadTrim(b.Context(), since, manyPlans)
			return err
		})
		measure(b, "give_way", func() error {
			_, err := d.store.PlanAheadUnfinished(b.Context(), queue.ClassAhead)
			if err == nil {
				_, err = d.store.PlanAheadWaiting(b.Context(), queue.ClassAhead)
			}
			return err
		})
		d.exec(`UPDATE workspace_plans SET plan = '', reason = 'not eligible'`)
		d.exec(`INSERT INTO workspace_plans (workspace_id, build_number, reason, made_at)
			SELECT w.id, 2, 'not eligible', now() FROM workspaces w ORDER BY w.last_used_at DESC LIMIT 90000 ON CONFLICT DO NOTHING`)
		d.exec(`ANALYZE workspace_plans`)
		measure(b, "next_after_ineligible", next)
		d.exec(`DELETE FROM workspace_plans`)
	}
}
