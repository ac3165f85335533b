package planahead

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// deployment is a database with stopped workspaces.
type deployment struct {
	t                            testing.TB
	store                        *postgres.Store
	org, user, template, version uuid.UUID
}

func newDeployment(t testing.TB) *deployment {
	d := &deployment{t: t, store: postgrestest.New(t), org: uuid.New(), user: uuid.New(), template: uuid.New(), version: uuid.New()}
	file, job := uuid.New(), uuid.New()
	d.exec(`INSERT INTO organizations (id, name, created_at, updated_at) VALUES ($1, 'org', now(), now())`, d.org)
	d.exec(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, 'a@x', 'a', 'none', 'active', now(), now())`, d.user)
	d.exec(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'h', $2, 'application/x-tar', '', now())`, file, d.user)
	d.exec(`INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, 'k', '{}')`, d.org)
	d.job(job, file, 0, true)
	d.exec(`INSERT INTO template_versions (id, organization_id, job_id, name, created_by, created_at, updated_at) VALUES ($1, $2, $3, 'v', $4, now(), now())`, d.version, d.org, job, d.user)
	d.exec(`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
		VALUES ($1, $2, 't', 'terraform', $3, $4, now(), now())`, d.template, d.org, d.version, d.user)
	return d
}

func (d *deployment) exec(sql string, args ...any) {
	d.t.Helper()
	if _, err := d.store.Pool().Exec(d.t.Context(), sql, args...); err != nil {
		d.t.Fatal(err)
	}
}

// job inserts a job of a class.
func (d *deployment) job(id, file uuid.UUID, class int, ended bool) {
	d.t.Helper()
	d.exec(`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, priority, completed_at, created_at, updated_at)
		SELECT $1, $2, $3, 'template_version_dry_run', 'terraform', s.id, f.id, '{}', $4, CASE WHEN $5 THEN now() END, now(), now()
		FROM job_tag_sets s, files f WHERE $6 = '00000000-0000-0000-0000-000000000000'::uuid OR f.id = $6`, id, d.org, d.user, class, ended, file)
}

// stopped inserts a workspace that was stopped days ago, by its first build.
func (d *deployment) stopped(name string, days int) uuid.UUID {
	d.t.Helper()
	id, job := uuid.New(), uuid.New()
	d.job(job, uuid.Nil, 0, true)
	d.exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		VALUES ($1, $2, $3, $4, $5, now(), now(), now())`, id, d.org, d.user, d.template, name)
	d.exec(`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		VALUES (gen_random_uuid(), $1, $2, 1, 'stop', $3, 'initiator', $4, now() - make_interval(days => $5), now())`, id, d.version, d.user, job, days)
	return id
}

// planned inserts a plan, or the reason why there is none, from hours ago.
func (d *deployment) planned(workspace uuid.UUID, plan, reason string, hours int) {
	d.t.Helper()
	d.exec(`INSERT INTO workspace_plans (workspace_id, build_number, plan, reason, made_at) VALUES ($1, 1, convert_to($2, 'UTF8'), $3, now() - make_interval(hours => $4))`,
		workspace, plan, reason, hours)
}

// next returns the workspace to plan among the first n, Nil for none.
func (d *deployment) next(n int32) uuid.UUID {
	d.t.Helper()
	rows, err := d.store.PlanAheadNext(d.t.Context(), 3, time.Now().Add(-24*time.Hour), n)
	if err != nil {
		d.t.Fatal(err)
	}
	if len(rows) == 0 {
		return uuid.Nil
	}
	return rows[0].ID
}

func (d *deployment) count(sql string) (n int) {
	d.t.Helper()
	if err := d.store.Pool().QueryRow(d.t.Context(), sql).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// TestTheWorkspaceStoppedLastIsPlanned: only as many as plans are kept are planned, and those that
// cannot be planned do not count.
func TestTheWorkspaceStoppedLastIsPlanned(t *testing.T) {
	d := newDeployment(t)
	third, first, second := d.stopped("third", 3), d.stopped("first", 1), d.stopped("second", 2)
	want := func(n int32, want uuid.UUID) {
		t.Helper()
		if got := d.next(n); got != want {
			t.Errorf("of %d the next is %s, want %s", n, got, want)
		}
	}
	want(2, first)
	d.planned(first, "plan", "", 1)
	want(1, uuid.Nil)
	want(2, second)
	d.planned(second, "", "its template reads a token", 1)
	want(1, uuid.Nil)
	want(2, third)
	fourth := d.stopped("fourth", 4)
	d.planned(third, "", "its template reads a token", 1)
	want(2, uuid.Nil) // the fourth is no candidate
	d.exec(`DELETE FROM workspaces WHERE id = $1`, fourth)
	d.exec(`DELETE FROM workspace_plans WHERE workspace_id = $1`, third)
	want(2, third)
	d.exec(`UPDATE workspaces SET dormant_at = now() WHERE id = $1`, third)
	want(2, uuid.Nil)
	d.exec(`UPDATE workspace_plans SET made_at = now() - interval '25 hours' WHERE workspace_id = $1`, second)
	want(2, second)
	d.exec(`UPDATE workspace_plans SET build_number = 0 WHERE workspace_id = $1`, first)
	want(2, first)
	d.exec(`UPDATE users SET status = 'suspended'`)
	want(2, uuid.Nil)
}

// TestPlansAreBounded: old plans, those of deleted workspaces, and the oldest beyond the number
// are removed with their jobs.
func TestPlansAreBounded(t *testing.T) {
	d := newDeployment(t)
	kept, oldest, old, deleted, none := d.stopped("kept", 1), d.stopped("oldest", 1), d.stopped("old", 1), d.stopped("deleted", 1), d.stopped("none", 1)
	d.planned(kept, "plan", "", 1)
	d.planned(oldest, "plan", "", 2)
	d.planned(old, "plan", "", 25)
	d.planned(deleted, "plan", "", 0)
	d.planned(none, "", "it cannot be planned", 3)
	job := uuid.New()
	d.job(job, uuid.Nil, queue.ClassAhead, true)
	d.exec(`UPDATE workspace_plans SET job_id = $1 WHERE workspace_id = $2`, job, old)
	d.exec(`UPDATE workspaces SET deleted_at = now() WHERE id = $1`, deleted)
	jobs := d.count(`SELECT count(*) FROM provisioner_jobs`)
	n, err := d.store.PlanAheadTrim(t.Context(), time.Now().Add(-24*time.Hour), 1)
	if err != nil || n.Old != 1 || n.Surplus != 2 || n.Kept != 1 {
		t.Errorf("%+v, want 1 old plan, 2 surplus ones and 1 that is kept: %v", n, err)
	}
	if n := d.count(fmt.Sprintf(`SELECT count(*) FILTER (WHERE workspace_id IN ('%s', '%s')) * 10 + count(*) FROM workspace_plans`, kept, none)); n != 22 {
		t.Errorf("kept and all plans: %d, want 22", n)
	}
	if n := d.count(`SELECT count(*) FROM provisioner_jobs`); n != jobs-1 {
		t.Errorf("%d jobs are left of %d", n, jobs)
	}
}

// TestTurningPlansOffDeletesThem: plans contain secrets, and are not kept for nothing.
func TestTurningPlansOffDeletesThem(t *testing.T) {
	d := newDeployment(t)
	d.planned(d.stopped("dev", 1), "plan", "", 1)
	log := slog.New(slog.DiscardHandler)
	hub := notify.New(d.store.Pool(), log)
	s := New(Config{Store: d.store, Queue: queue.New(queue.Config{Store: d.store, Hub: hub, Log: log}), Hub: hub, Log: log, Now: time.Now, Workspaces: &workspace.Service{}})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the plan is deleted", func() bool { return d.count(`SELECT count(*) FROM workspace_plans`) == 0 })
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}
