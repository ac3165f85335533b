package schedule_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// nine starts workspaces at nine on working days in Lisbon.
const nine = "CRON_TZ=Europe/Lisbon 0 9 * * 1-5"

func TestAutostart(t *testing.T) {
	h := open(t).fill()
	id := h.stopped(codersdk.CreateWorkspaceRequest{AutostartSchedule: ptr(nine)})
	tuesday := monday.AddDate(0, 0, 1)
	h.next(id, tuesday)
	h.set(tuesday.Add(-time.Second))
	h.tick()
	h.latest(id, "2 stop initiator succeeded")
	h.set(tuesday.Add(30 * time.Second))
	h.tick()
	h.latest(id, "3 start autostart pending")
	h.next(id, tuesday.AddDate(0, 0, 1))
	if n := h.count(`SELECT count(*) FROM audit_logs WHERE action = 'start' AND user_id IS NULL AND additional_fields->>'build_reason' = 'autostart'`); n != 1 {
		t.Errorf("%d rows in the audit log", n)
	}
	h.tick()
	h.fail()
	h.tick() // one try for each moment
	h.latest(id, "3 start autostart failed")
	h.pass(24 * time.Hour)
	h.tick()
	h.latest(id, "4 start autostart pending")
	h.finish()
	h.pass(24 * time.Hour) // it runs already
	h.tick()
	h.latest(id, "4 start autostart succeeded")
	h.next(id, tuesday.AddDate(0, 0, 3))
}

// TestNoAutostart: why a workspace is not started, and that the next moment is
// known all the same.
func TestNoAutostart(t *testing.T) {
	tuesday := monday.AddDate(0, 0, 1)
	for what, c := range map[string]struct {
		before func(h *house, id uuid.UUID)
		at     time.Time
		why    string
		next   time.Time
	}{
		"its owner is away":      {func(h *house, _ uuid.UUID) { h.exec(`UPDATE users SET status = 'dormant'`) }, tuesday, "its owner is not active", tuesday.AddDate(0, 0, 1)},
		"its owner is suspended": {func(h *house, _ uuid.UUID) { h.exec(`UPDATE users SET status = 'suspended'`) }, tuesday, "its owner is not active", tuesday.AddDate(0, 0, 1)},
		"nobody made it up":      {func(*house, uuid.UUID) {}, tuesday.Add(61 * time.Minute), "more than an hour ago", tuesday.AddDate(0, 0, 1)},
		"over a week end":        {func(*house, uuid.UUID) {}, tuesday.AddDate(0, 0, 4), "more than an hour ago", tuesday.AddDate(0, 0, 6)},
		"its day was taken away": {func(h *house, _ uuid.UUID) { h.exec(`UPDATE templates SET autostart_days = '{friday}'`) }, tuesday, "has changed", tuesday.AddDate(0, 0, 3)},
		"somebody stopped it since": {func(h *house, id uuid.UUID) {
			h.build(id, codersdk.WorkspaceTransitionStart)
			h.finish()
			h.set(tuesday.Add(10 * time.Second))
			h.build(id, codersdk.WorkspaceTransitionStop)
		}, tuesday.Add(time.Minute), "it was built in the meantime", tuesday.AddDate(0, 0, 1)},
		"its delete failed": {func(h *house, id uuid.UUID) {
			h.build(id, codersdk.WorkspaceTransitionDelete)
			h.fail()
		}, tuesday, "it will be deleted", tuesday.AddDate(0, 0, 1)},
		"values are missing": {func(h *house, _ uuid.UUID) {
			h.exec(`UPDATE workspaces SET automatic_updates = 'always'`)
			v2 := h.newVersion("v2")
			h.exec(`UPDATE template_versions SET parameters = '[{"name": "region", "type": "string", "required": true, "mutable": true}]' WHERE id = $1`, v2)
			h.exec(`UPDATE templates SET active_version_id = $1`, v2)
		}, tuesday, "region", tuesday.AddDate(0, 0, 1)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := open(t).fill()
			id := h.stopped(codersdk.CreateWorkspaceRequest{AutostartSchedule: ptr(nine)})
			c.before(h, id)
			builds := h.count(`SELECT count(*) FROM workspace_builds`)
			h.set(c.at)
			h.tick()
			h.tick()
			if n := h.count(`SELECT count(*) FROM workspace_builds`); n != builds {
				t.Errorf("%d builds were made", n-builds)
			}
			if !h.log.has(c.why) {
				t.Errorf("the log does not say %q:\n%s", c.why, h.log)
			}
			h.next(id, c.next)
		})
	}
}

// TestAutostartWaits: a build from before the moment is let end, and the moment
// is not lost.
func TestAutostartWaits(t *testing.T) {
	h := open(t).fill()
	id := h.running(codersdk.CreateWorkspaceRequest{AutostartSchedule: ptr(nine)})
	tuesday := monday.AddDate(0, 0, 1)
	h.set(tuesday.Add(-time.Minute))
	h.build(id, codersdk.WorkspaceTransitionStop)
	h.set(tuesday)
	h.tick()
	h.latest(id, "2 stop initiator pending")
	h.pass(time.Minute)
	h.finish()
	h.tick()
	h.latest(id, "3 start autostart pending")
}

func TestAutostop(t *testing.T) {
	h := open(t).fill()
	id := h.running(codersdk.CreateWorkspaceRequest{TTLMS: ptr(int64(3600_000))})
	forever := h.running(codersdk.CreateWorkspaceRequest{})
	h.pass(time.Hour - time.Second)
	h.tick()
	h.latest(id, "1 start initiator succeeded")
	h.pass(time.Second)
	h.tick()
	h.tick()
	h.latest(id, "2 stop autostop pending")
	h.latest(forever, "1 start initiator succeeded")
	h.finish()
	h.tick()
	h.latest(id, "2 stop autostop succeeded")
}

// TestAutostopFails: it is tried again, later each time, until it succeeds or
// somebody else takes over.
func TestAutostopFails(t *testing.T) {
	h := open(t).fill()
	id := h.running(codersdk.CreateWorkspaceRequest{TTLMS: ptr(int64(3600_000))})
	h.pass(time.Hour)
	h.tick()
	for n, wait := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute} {
		h.fail()
		h.tick()
		h.pass(wait - time.Second)
		h.tick()
		h.latest(id, fmt.Sprintf("%d stop autostop failed", n+2))
		h.pass(time.Second)
		h.tick()
		h.latest(id, fmt.Sprintf("%d stop autostop pending", n+3))
	}
	h.fail()
	h.build(id, codersdk.WorkspaceTransitionStart)
	h.finish()
	h.pass(59 * time.Minute)
	h.tick()
	h.latest(id, "6 start initiator succeeded")
	h.pass(time.Minute)
	h.tick()
	h.latest(id, "7 stop autostop pending") // at its new deadline, as if nothing had failed
	h.fail()
	h.pass(5 * time.Minute)
	h.tick()
	h.latest(id, "8 stop autostop pending")
	h.must(h.CancelWorkspaceBuild(t.Context(), h.ann, h.get(id).LatestBuild.ID, ""))
	h.pass(48 * time.Hour)
	h.tick()
	h.latest(id, "8 stop autostop canceled") // a user canceled it
}

func TestRequiredStop(t *testing.T) {
	h := open(t).fill()
	h.exec(`UPDATE templates SET autostop_days = '{wednesday}', autostop_weeks = 1, default_ttl_ms = 3600000`)
	deadline := func(id uuid.UUID) (string, string) {
		b, text := h.get(id).LatestBuild, func(at *time.Time) string {
			if at == nil {
				return "never"
			}
			return at.UTC().Format("Mon 15:04")
		}
		return text(b.Deadline), text(b.MaxDeadline)
	}
	check := func(what string, id uuid.UUID, wantStop, wantLatest string) {
		t.Helper()
		if stop, latest := deadline(id); stop != wantStop || latest != wantLatest {
			t.Errorf("%s: stops %s, at the latest %s; want %s and %s", what, stop, latest, wantStop, wantLatest)
		}
	}
	check("for an hour", h.running(codersdk.CreateWorkspaceRequest{}), "Mon 09:00", "Wed 02:00")
	open := h.running(codersdk.CreateWorkspaceRequest{TTLMS: ptr(int64(0))})
	check("without an end", open, "Wed 02:00", "Wed 02:00")
	h.exec(`UPDATE users SET quiet_hours = 'CRON_TZ=Asia/Tokyo 0 1 * * *'`)
	check("in quiet hours of one's own", h.running(codersdk.CreateWorkspaceRequest{TTLMS: ptr(int64(48 * 3600_000))}), "Tue 16:00", "Tue 16:00")
	h.exec(`UPDATE templates SET allow_user_autostop = false, default_ttl_ms = 7200000`)
	check("as the template insists", h.running(codersdk.CreateWorkspaceRequest{}), "Mon 10:00", "Tue 16:00")
	h.exec(`UPDATE templates SET autostop_days = '{}'`)
	check("no more required", h.running(codersdk.CreateWorkspaceRequest{}), "Mon 10:00", "never")

	h.set(time.Date(2030, 7, 3, 2, 0, 0, 0, time.UTC))
	_, err := h.store.Pool().Exec(t.Context(), `UPDATE workspaces SET last_used_at = $1`, h.now()) // its user works then
	h.must(err)
	h.tick()
	h.latest(open, "2 stop autostop pending")
}

func TestActivity(t *testing.T) {
	h := open(t).fill()
	h.exec(`UPDATE templates SET autostop_days = '{tuesday}'`) // at 02:00, in 18 hours
	id := h.running(codersdk.CreateWorkspaceRequest{TTLMS: ptr(int64(1800_000))})
	use := func() {
		t.Helper()
		h.must(h.PostWorkspaceUsage(t.Context(), h.ann, id, codersdk.PostWorkspaceUsageRequest{}))
	}
	deadline := func(want time.Time) {
		t.Helper()
		if got := h.get(id).LatestBuild.Deadline; got == nil || !got.Equal(want) {
			t.Errorf("it stops at %v, want %v", got, want)
		}
	}
	deadline(monday.Add(30 * time.Minute))
	h.pass(20 * time.Minute)
	use()
	deadline(monday.Add(80 * time.Minute))
	h.pass(30 * time.Second)
	use() // too little to write down
	deadline(monday.Add(80 * time.Minute))
	h.pass(-10 * time.Minute)
	use() // never earlier
	deadline(monday.Add(80 * time.Minute))
	h.set(monday.Add(17*time.Hour + 30*time.Minute))
	use()
	deadline(monday.Add(18 * time.Hour)) // and never beyond what the template insists on
	h.exec(`UPDATE templates SET activity_bump_ms = 0, autostop_days = '{}'`)
	h.exec(`UPDATE workspace_builds SET deadline = $1, max_deadline = NULL`, h.now())
	use()
	deadline(h.now())
	h.tick()
	h.exec(`UPDATE templates SET activity_bump_ms = 3600000`)
	use() // it stops already
	h.latest(id, "2 stop autostop pending")
	if n := h.count(`SELECT count(*) FROM workspace_builds WHERE transition = 'stop' AND deadline IS NOT NULL`); n != 0 {
		t.Error("a stop has a deadline")
	}
}

func TestFailedStart(t *testing.T) {
	h := open(t).fill()
	id := h.create(codersdk.CreateWorkspaceRequest{})
	h.fail()
	canceled := h.create(codersdk.CreateWorkspaceRequest{})
	h.must(h.CancelWorkspaceBuild(t.Context(), h.ann, h.get(canceled).LatestBuild.ID, ""))
	h.pass(24 * time.Hour)
	h.tick()
	h.latest(id, "1 start initiator failed") // the template lets it be
	h.exec(`UPDATE templates SET failure_ttl_ms = 25 * 3600000`)
	h.tick()
	h.latest(id, "1 start initiator failed")
	h.pass(time.Hour)
	h.tick()
	h.latest(id, "2 stop autostop pending")
	h.latest(canceled, "1 start initiator canceled")
	h.finish()
	h.tick()
	h.latest(id, "2 stop autostop succeeded")
}

func TestDormancy(t *testing.T) {
	h := open(t).fill()
	h.exec(`UPDATE templates SET time_til_dormant_ms = 7 * 86400000, time_til_dormant_autodelete_ms = 86400000`)
	runs := h.running(codersdk.CreateWorkspaceRequest{AutostartSchedule: ptr("0 23 * * 1")})
	rests := h.stopped(codersdk.CreateWorkspaceRequest{})
	used := h.running(codersdk.CreateWorkspaceRequest{})
	h.pass(7*24*time.Hour - time.Second)
	h.tick()
	h.pass(time.Second)
	h.must(h.PostWorkspaceUsage(t.Context(), h.ann, used, codersdk.PostWorkspaceUsageRequest{}))
	h.tick()
	h.latest(runs, "2 stop dormancy pending")
	h.latest(rests, "2 stop initiator succeeded")
	h.latest(used, "1 start initiator succeeded")
	for _, id := range []uuid.UUID{runs, rests} {
		w := h.get(id)
		if w.DormantAt == nil || !w.DormantAt.Equal(h.now()) || w.DeletingAt == nil || !w.DeletingAt.Equal(h.now().Add(24*time.Hour)) || w.NextStartAt != nil {
			t.Errorf("dormant %v, deleting %v, starting %v", w.DormantAt, w.DeletingAt, w.NextStartAt)
		}
		if n := h.count(`SELECT count(*) FROM audit_logs WHERE resource_id = $1 AND action = 'write' AND user_id IS NULL AND diff ? 'dormant_at'`, id); n != 1 {
			t.Errorf("%d rows in the audit log", n)
		}
	}
	if h.get(used).DormantAt != nil {
		t.Error("a workspace became dormant that somebody works in")
	}
	h.finish()
	if h.get(runs).NextStartAt != nil {
		t.Error("a dormant workspace starts by itself")
	}
	// Who wakes it has it for as long again, and it starts on its schedule.
	_, err := h.UpdateWorkspaceDormancy(t.Context(), h.ann, runs, codersdk.UpdateWorkspaceDormancy{})
	h.must(err)
	if w := h.get(runs); w.NextStartAt == nil || w.DeletingAt != nil {
		t.Errorf("starting %v, deleting %v", w.NextStartAt, w.DeletingAt)
	}
	h.pass(24*time.Hour - time.Second)
	h.tick()
	h.latest(rests, "2 stop initiator succeeded")
	h.pass(time.Second)
	h.tick()
	h.latest(rests, "3 delete dormancy pending")
	h.finish()
	if n := h.count(`SELECT count(*) FROM workspaces WHERE id = $1 AND deleted_at IS NOT NULL`, rests); n != 1 {
		t.Error("it is there still")
	}
	h.tick()
	h.latest(rests, "3 delete dormancy succeeded")
}

// TestUnusedAutostart: to be started by its schedule day by day is no use.
func TestUnusedAutostart(t *testing.T) {
	h := open(t).fill()
	h.exec(`UPDATE templates SET time_til_dormant_ms = 2 * 86400000`)
	id := h.stopped(codersdk.CreateWorkspaceRequest{AutostartSchedule: ptr(nine)})
	h.pass(24 * time.Hour)
	h.tick()
	h.finish()
	h.latest(id, "3 start autostart succeeded")
	h.pass(24 * time.Hour)
	h.tick()
	h.latest(id, "4 stop dormancy pending")
	if h.get(id).NextStartAt != nil {
		t.Error("a dormant workspace starts by itself")
	}
}

// TestDeleteFails: it is tried again, later each time, but not within a day
// more than a few times.
func TestDeleteFails(t *testing.T) {
	h := open(t).fill()
	h.exec(`UPDATE templates SET time_til_dormant_autodelete_ms = 1000`)
	id := h.stopped(codersdk.CreateWorkspaceRequest{})
	_, err := h.UpdateWorkspaceDormancy(t.Context(), h.ann, id, codersdk.UpdateWorkspaceDormancy{Dormant: true})
	h.must(err)
	h.pass(time.Second)
	for range 24 * 12 {
		h.tick()
		if h.count(`SELECT count(*) FROM provisioner_jobs WHERE status = 'pending'`) > 0 {
			h.fail()
		}
		h.pass(5 * time.Minute)
	}
	if n := h.count(`SELECT count(*) FROM workspace_builds WHERE transition = 'delete'`); n != 9 { // after 0, 5, 15, 35, ... minutes
		t.Errorf("%d tries in a day", n)
	}
	h.pass(24 * time.Hour)
	h.tick()
	h.finish()
	if h.count(`SELECT count(*) FROM workspaces WHERE deleted_at IS NULL`) != 0 {
		t.Error("it is there still")
	}
}

// TestOneIsBroken: a workspace that cannot do what is due, and one that another transaction
// holds, are not in the way of others.
func TestOneIsBroken(t *testing.T) {
	h := open(t).fill()
	ttl := ptr(int64(60_000))
	broken, held := h.running(codersdk.CreateWorkspaceRequest{TTLMS: ttl}), h.running(codersdk.CreateWorkspaceRequest{TTLMS: ttl})
	var others []uuid.UUID
	for range 5 {
		others = append(others, h.running(codersdk.CreateWorkspaceRequest{TTLMS: ttl}))
	}
	v2 := h.newVersion("v2")
	h.exec(`UPDATE template_versions SET workspace_tags = '{"x": "nonsense ("}' WHERE id = $1`, v2)
	h.exec(`UPDATE workspace_builds SET template_version_id = $1 WHERE workspace_id = $2`, v2, broken)
	tx, err := h.store.Pool().Begin(t.Context())
	h.must(err)
	_, err = tx.Exec(t.Context(), `SELECT FROM workspaces WHERE id = $1 FOR UPDATE`, held)
	h.must(err)
	h.pass(time.Minute)
	h.tick()
	h.must(tx.Rollback(t.Context()))
	for _, id := range others {
		h.latest(id, "2 stop autostop pending")
	}
	h.latest(held, "1 start initiator succeeded")
	h.latest(broken, "1 start initiator succeeded")
	if n := h.count(`SELECT count(*) FROM workspaces WHERE id = $1 AND retries = 1 AND retry_at = $2`, broken, h.now().Add(5*time.Minute)); n != 1 {
		t.Error("the broken one is not put off")
	}
	h.tick()
	h.latest(held, "2 stop autostop pending")
}

// TestNobodys: package prebuild looks after workspaces that are kept ready.
func TestNobodys(t *testing.T) {
	h := open(t).fill()
	h.exec(`UPDATE templates SET time_til_dormant_ms = 1000, failure_ttl_ms = 1000, autostop_days = '{tuesday}'`)
	h.exec(`UPDATE users SET is_system = true`)
	h.running(codersdk.CreateWorkspaceRequest{TTLMS: ptr(int64(60_000)), AutostartSchedule: ptr(nine)})
	h.create(codersdk.CreateWorkspaceRequest{})
	h.fail()
	h.pass(48 * time.Hour)
	h.tick()
	if n := h.count(`SELECT count(*) FROM workspace_builds`) + h.count(`SELECT count(*) FROM workspaces WHERE dormant_at IS NOT NULL`); n != 2 {
		t.Errorf("%d things happened", n-2)
	}
}

// TestReplicas: of servers that tick at once one builds, for each workspace.
func TestReplicas(t *testing.T) {
	store := postgrestest.New(t)
	a := openOn(t, store, &text{}).fill()
	b := openOn(t, store, &text{})
	for range 30 {
		a.running(codersdk.CreateWorkspaceRequest{TTLMS: ptr(int64(60_000))})
	}
	b.set(monday.Add(time.Minute))
	a.pass(time.Minute)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(a.tick)
		wait.Go(b.tick)
	}
	wait.Wait()
	a.tick() // what two held at once
	if n := a.count(`SELECT count(*) FROM workspace_builds WHERE reason = 'autostop'`); n != 30 {
		t.Errorf("%d builds, want one for each of 30 workspaces", n)
	}
	if n := a.count(`SELECT count(*) FROM audit_logs WHERE action = 'stop'`); n != 30 {
		t.Errorf("%d rows in the audit log", n)
	}
	for _, h := range []*house{a, b} {
		if h.log.has("is not possible") || h.log.has("automatic action failed") {
			t.Error(h.log)
		}
	}
}

func TestMetrics(t *testing.T) {
	h := open(t).fill()
	h.tick()
	h.tick()
	families, err := h.metrics.Gather()
	h.must(err)
	if len(families) != 1 || families[0].GetName() != "coderd_lifecycle_autobuild_execution_duration_seconds" || families[0].GetMetric()[0].GetHistogram().GetSampleCount() != 2 {
		t.Errorf("%v", families)
	}
}

// TestMany: more than one page is done in one tick, and all at once.
func TestMany(t *testing.T) {
	h := open(t).fill()
	id := h.stopped(codersdk.CreateWorkspaceRequest{})
	h.copies(id, 450)
	h.exec(`UPDATE workspaces SET dormant_at = $1, deleting_at = $1 WHERE name LIKE 'copy%'`, monday)
	h.exec(`UPDATE templates SET time_til_dormant_ms = 3600000`)
	h.tick()
	if n := h.count(`SELECT count(*) FROM workspace_builds WHERE transition = 'delete'`); n != 450 {
		t.Errorf("%d are deleted, want 450", n)
	}
	h.exec(`UPDATE workspaces SET deleting_at = NULL, dormant_at = NULL, last_used_at = $1`, monday.Add(-time.Hour))
	h.exec(`UPDATE provisioner_jobs SET completed_at = now()`)
	h.tick()
	if n := h.count(`SELECT count(*) FROM workspaces WHERE dormant_at IS NOT NULL`); n != 451 {
		t.Errorf("%d are dormant, want 451", n)
	}
}

// copies makes stopped workspaces like one.
func (h *house) copies(of uuid.UUID, n int) {
	h.t.Helper()
	h.exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		SELECT gen_random_uuid(), organization_id, owner_id, template_id, 'copy' || i, created_at, updated_at, last_used_at FROM workspaces, generate_series(1, $2::integer) i WHERE id = $1`, of, n)
	h.exec(`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, started_at, completed_at, lease_expires_at, worker_id)
		SELECT w.id, j.organization_id, j.initiator_id, j.type, j.provisioner, j.tag_set_id, j.file_id, '{}', now(), now(), now(), now(), now(), j.id
		FROM workspaces w, provisioner_jobs j JOIN workspace_builds b ON b.job_id = j.id AND b.build_number = 1 WHERE w.name LIKE 'copy%' AND b.workspace_id = $1`, of)
	h.exec(`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		SELECT gen_random_uuid(), w.id, b.template_version_id, 1, 'stop', b.initiator_id, 'initiator', w.id, b.created_at, b.updated_at FROM workspaces w, workspace_builds b
		WHERE w.name LIKE 'copy%' AND b.workspace_id = $1 AND b.build_number = 1`, of)
}
