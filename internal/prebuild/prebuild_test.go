package prebuild_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/prebuild"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// house is a database with a template whose preset "Big" keeps some workspaces,
// and the rooms over it.
type house struct {
	t                              testing.TB
	store                          *postgres.Store
	hub                            *notify.Hub
	workspaces                     *workspace.Service
	org, template, version, preset uuid.UUID
	admin                          access.Subject
}

func open(t testing.TB, keeps codersdk.PresetPrebuilds) *house {
	t.Helper()
	h := &house{t: t, store: postgrestest.New(t), org: uuid.New(), template: uuid.New(), version: uuid.New(), preset: uuid.New()}
	log := slog.New(slog.DiscardHandler)
	h.hub = notify.New(h.store.Pool(), log)
	h.must(h.hub.Start(t.Context()))
	q := queue.New(queue.Config{Store: h.store, Hub: h.hub, Log: log})
	t.Cleanup(func() {
		h.must(q.Stop(context.Background()))
		h.must(h.hub.Stop(context.Background()))
	})
	h.workspaces = workspace.New(workspace.Config{Store: h.store, Queue: q, Hub: h.hub, Log: log, AccessURL: &url.URL{Scheme: "https", Host: "coder.example"}})
	h.admin = access.Subject{UserID: uuid.New(), Username: "admin", SiteRoles: []string{access.RoleOwner}}
	presets, err := json.Marshal([]codersdk.StoredPreset{{ID: h.preset, Name: "Big", Prebuilds: &keeps}})
	h.must(err)
	file, job := uuid.New(), uuid.New()
	h.exec(`INSERT INTO organizations (id, name, is_default, created_at, updated_at) VALUES ($1, 'main', true, now(), now())`, h.org)
	h.exec(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, 'a@example.com', 'admin', 'password', 'active', now(), now())`, h.admin.UserID)
	h.exec(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'h', $2, 'application/x-tar', '', now())`, file, h.admin.UserID)
	h.exec(`WITH s AS (INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, 'k', '{}') RETURNING id)
		INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at)
		SELECT $2, $1, $3, 'template_version_import', 'echo', s.id, $4, '{}', now(), now(), now() FROM s`, h.org, job, h.admin.UserID, file)
	h.exec(`INSERT INTO template_versions (id, organization_id, job_id, name, created_by, presets, created_at, updated_at) VALUES ($1, $2, $3, 'v1', $4, $5, now(), now())`,
		h.version, h.org, job, h.admin.UserID, string(presets))
	h.exec(`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at) VALUES ($1, $2, 'stock', 'echo', $3, $4, now(), now())`,
		h.template, h.org, h.version, h.admin.UserID)
	h.exec(`UPDATE template_versions SET template_id = $1 WHERE id = $2`, h.template, h.version)
	return h
}

// keeper is what looks after them in one replica.
func (h *house) keeper(change func(*prebuild.Config)) *prebuild.Service {
	c := prebuild.Config{Store: h.store, Workspaces: h.workspaces, Hub: h.hub, Rules: prebuild.Rules{Backoff: time.Minute, Limit: 3}}
	if change != nil {
		change(&c)
	}
	return prebuild.New(c)
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.store.Pool().Exec(context.Background(), sql, args...)
	h.must(err)
}

func (h *house) count(sql string, args ...any) (n int) {
	h.t.Helper()
	h.must(h.store.Pool().QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

// alive is how many prebuilt workspaces there are.
func (h *house) alive() int {
	h.t.Helper()
	return h.count(`SELECT count(*) FROM workspaces WHERE owner_id = $1 AND deleted_at IS NULL`, codersdk.PrebuildsUserID())
}

// end ends all builds that wait.
func (h *house) end(trouble string) {
	h.exec(`UPDATE provisioner_jobs SET completed_at = now(), error = $1 WHERE completed_at IS NULL`, trouble)
}

// TestReplicasMakeNoMore: of replicas that look at the same time one acts.
func TestReplicasMakeNoMore(t *testing.T) {
	h := open(t, codersdk.PresetPrebuilds{Instances: 5})
	var wait sync.WaitGroup
	for range 4 {
		k := h.keeper(nil)
		wait.Go(func() {
			for range 5 {
				if err := k.Reconcile(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if n := h.alive(); n != 5 {
		t.Errorf("there are %d, want 5", n)
	}
	if n := h.count(`SELECT count(*) FROM groups g JOIN group_members m ON m.group_id = g.id WHERE g.name = 'prebuilds' AND g.quota_allowance = 0 AND m.user_id = $1`, codersdk.PrebuildsUserID()); n != 1 {
		t.Errorf("%d groups of it", n)
	}

	// Too many are deleted once each.
	h.end("")
	h.exec(`UPDATE template_versions SET presets = jsonb_set(presets, '{0,prebuilds,instances}', '2')`)
	for range 4 {
		k := h.keeper(nil)
		wait.Go(func() {
			if err := k.Reconcile(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := h.count(`SELECT count(*) FROM workspace_builds WHERE transition = 'delete'`); n != 3 {
		t.Errorf("%d are deleted, want 3", n)
	}
}

// TestAReplicaThatDies holds the lock as one that is in the middle of it, and is
// gone without a word: the next goes on.
func TestAReplicaThatDies(t *testing.T) {
	h := open(t, codersdk.PresetPrebuilds{Instances: 1})
	ctx := t.Context()
	other, err := pgx.ConnectConfig(ctx, h.store.Pool().Config().ConnConfig.Copy())
	h.must(err)
	defer other.Close(context.Background()) //nolint:errcheck // it is dead by then
	tx, err := other.Begin(ctx)
	h.must(err)
	var pid int
	h.must(tx.QueryRow(ctx, `SELECT pg_backend_pid() FROM (SELECT pg_advisory_xact_lock(hashtextextended('prebuilds ' || $1::text, 0))) x`, h.template.String()).Scan(&pid))
	k := h.keeper(nil)
	h.must(k.Reconcile(ctx))
	if n := h.alive(); n != 0 {
		t.Errorf("there are %d while another replica is at it", n)
	}
	h.exec(`SELECT pg_terminate_backend($1, 10000)`, pid)
	h.must(k.Reconcile(ctx))
	if n := h.alive(); n != 1 {
		t.Errorf("there are %d, want 1", n)
	}
}

// TestFailuresBackOff: after failures less and less is tried, and at the limit
// nothing, until the template's prebuilt workspaces are invalidated.
func TestFailuresBackOff(t *testing.T) {
	h := open(t, codersdk.PresetPrebuilds{Instances: 1})
	ctx, now := t.Context(), time.Now()
	var log bytes.Buffer
	k := h.keeper(func(c *prebuild.Config) {
		c.Now = func() time.Time { return now }
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	made := func(want int, when string) {
		t.Helper()
		h.must(k.Reconcile(ctx))
		h.end("no room")
		if n := h.count(`SELECT count(*) FROM workspace_builds WHERE build_number = 1`); n != want {
			t.Fatalf("%s %d were made, want %d", when, n, want)
		}
	}
	made(1, "at first")
	made(1, "just after")
	now = now.Add(2 * time.Minute)
	made(2, "later")
	made(2, "just after that")
	now = now.Add(3 * time.Minute)
	made(3, "later yet")
	now = now.Add(24 * time.Hour)
	made(3, "at the limit")
	made(3, "at the limit")
	if n := strings.Count(log.String(), "after 3 failures in a row"); n != 1 {
		t.Errorf("that is told %d times: %s", n, log.String())
	}
	got, err := k.Status(ctx, h.admin, h.template)
	h.must(err)
	want := prebuild.PresetPrebuildStatus{PresetID: h.preset, PresetName: "Big", Defined: 1, Desired: 1, FailuresInARow: 3, Suspended: true}
	if len(got.Presets) != 1 || got.Presets[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := k.Status(ctx, access.Subject{UserID: uuid.New()}, h.template); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	now = time.Now()
	if _, err := k.Invalidate(ctx, h.admin, h.template); err != nil {
		t.Fatal(err)
	}
	made(4, "after invalidation")
}

// TestSomebodyHasTheName: a person of the account's name is named as the reason.
func TestSomebodyHasTheName(t *testing.T) {
	h := open(t, codersdk.PresetPrebuilds{Instances: 1})
	h.exec(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, 'p@example.com', 'Prebuilds', 'password', 'active', now(), now())`, uuid.New())
	var log bytes.Buffer
	k := h.keeper(func(c *prebuild.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	h.must(k.Reconcile(t.Context()))
	h.must(k.Reconcile(t.Context()))
	if h.alive() != 0 || strings.Count(log.String(), "rename that user") != 1 {
		t.Errorf("%d are there; told: %s", h.alive(), log.String())
	}
	h.exec(`UPDATE users SET username = 'somebody' WHERE username = 'Prebuilds'`)
	h.must(k.Reconcile(t.Context()))
	if h.alive() != 1 {
		t.Error("the account was not made")
	}
}

func TestExpiredAndScheduled(t *testing.T) {
	h := open(t, codersdk.PresetPrebuilds{Instances: 1, TTLSeconds: 3600, Timezone: "UTC", Schedules: []codersdk.PrebuildSchedule{{Cron: "* 8-9 * * *", Instances: 3}}})
	seven := time.Now().UTC().Truncate(24 * time.Hour).Add(31 * time.Hour) // tomorrow
	now := seven
	k := h.keeper(func(c *prebuild.Config) { c.Now = func() time.Time { return now } })
	for _, step := range []struct {
		at   time.Duration // beyond seven
		want int
	}{{0, 1}, {time.Hour, 3}, {150 * time.Minute, 3}, {3 * time.Hour, 1}} {
		now = seven.Add(step.at)
		h.must(k.Reconcile(t.Context()))
		h.exec(`UPDATE workspaces w SET deleted_at = now() FROM workspace_builds b WHERE b.id = w.latest_build_id AND b.transition = 'delete'`)
		h.end("")
		h.must(k.Reconcile(t.Context()))
		h.exec(`UPDATE workspaces w SET deleted_at = now() FROM workspace_builds b WHERE b.id = w.latest_build_id AND b.transition = 'delete'`)
		h.end("")
		h.exec(`UPDATE workspaces SET created_at = $1`, now)
		if n := h.alive(); n != step.want {
			t.Errorf("%s after seven there are %d, want %d", step.at, n, step.want)
		}
	}
	now = now.Add(61 * time.Minute)
	h.must(k.Reconcile(t.Context()))
	if n := h.count(`SELECT count(*) FROM workspaces w JOIN workspace_builds b ON b.id = w.latest_build_id WHERE w.deleted_at IS NULL AND b.transition = 'delete'`); n != 1 {
		t.Errorf("%d are deleted as too old, want 1", n)
	}
}

// create creates a workspace of the preset as a user did at a time: a new one, or the claim of a
// prebuilt one that is hours older.
func (h *house) create(at time.Time, claim bool) {
	h.t.Helper()
	w, err := h.workspaces.CreateWorkspace(h.t.Context(), h.admin, h.org, h.admin.UserID, codersdk.CreateWorkspaceRequest{
		TemplateVersionID: h.version, TemplateVersionPresetID: &h.preset, Name: "w" + uuid.NewString()[:8],
	})
	h.must(err)
	h.end("")
	h.exec(`UPDATE workspace_builds SET created_at = $1 WHERE workspace_id = $2`, at, w.ID)
	if claim {
		h.exec(`UPDATE workspace_builds SET build_number = 2 WHERE workspace_id = $1`, w.ID)
		h.exec(`WITH j AS (
				INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at)
				SELECT gen_random_uuid(), j.organization_id, $2, j.type, j.provisioner, j.tag_set_id, j.file_id, j.input, j.created_at, j.updated_at, j.completed_at
				FROM provisioner_jobs j JOIN workspace_builds b ON b.job_id = j.id WHERE b.workspace_id = $1 RETURNING id)
			INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, job_id, reason, preset_id, created_at, updated_at)
			SELECT gen_random_uuid(), b.workspace_id, b.template_version_id, 1, 'start', $2, j.id, b.reason, b.preset_id, $3, $3
			FROM workspace_builds b, j WHERE b.workspace_id = $1`, w.ID, codersdk.PrebuildsUserID(), at.Add(-5*time.Hour))
	}
}

// TestDemand: on Mondays at nine, users create workspaces of a preset that asks for one prebuilt
// workspace. From eight on, the budget has more of them ready.
func TestDemand(t *testing.T) {
	h := open(t, codersdk.PresetPrebuilds{Instances: 1})
	nine := time.Date(2026, 3, 30, 9, 0, 0, 0, time.UTC) // a Monday
	h.exec(`INSERT INTO organization_members VALUES ($1, $2, '{}', now(), now())`, h.org, h.admin.UserID)
	h.must(h.store.PrebuildsAccountInsert(t.Context(), codersdk.PrebuildsUsername, time.Now()))
	for n := range 4 {
		monday := nine.AddDate(0, 0, -7*(n+1))
		for i := range 4 {
			h.create(monday.Add(time.Duration(i)*time.Minute), i == 0)
		}
		h.create(monday.Add(20*time.Minute), false) // a prebuilt workspace has been replaced until then
	}
	h.create(nine.AddDate(0, 0, -35), false) // too long ago
	h.create(nine.AddDate(0, 0, -8), false)  // on a Sunday
	for _, step := range []struct {
		budget, age int // of the template, in weeks
		at          time.Duration
		demand      int
		want        int
	}{
		{0, 8, 0, 0, 1},
		{10, 8, -61 * time.Minute, 0, 1},
		{10, 8, -55 * time.Minute, 4, 4},
		{10, 8, time.Hour, 4, 4},
		{10, 8, 85 * time.Minute, 0, 1},
		{3, 8, 0, 4, 3},
		{1, 8, 0, 4, 1},
		{10, 2, 0, 4, 4}, // the weeks before it was there do not count
		{10, 0, 0, 0, 1},
	} {
		now := nine.Add(step.at)
		h.exec(`UPDATE templates SET prebuild_budget = $1, created_at = $2`, step.budget, nine.AddDate(0, 0, -7*step.age))
		k := h.keeper(func(c *prebuild.Config) { c.Now = func() time.Time { return now } })
		for range 2 { // surplus ones are removed when they are built
			h.must(k.Reconcile(t.Context()))
			h.end("")
			h.exec(`UPDATE workspaces w SET deleted_at = now() FROM workspace_builds b WHERE b.id = w.latest_build_id AND b.transition = 'delete'`)
		}
		if n := h.alive(); n != step.want {
			t.Errorf("with a budget of %d, a template of %d weeks and %v after nine, there are %d, want %d", step.budget, step.age, step.at, n, step.want)
		}
		got, err := k.Status(t.Context(), h.admin, h.template)
		h.must(err)
		want := prebuild.PresetPrebuildStatus{
			PresetID: h.preset, PresetName: "Big", Defined: 1, Demand: step.demand, Desired: step.want, Running: step.want, Eligible: step.want,
		}
		if len(got.Presets) != 1 || got.Presets[0] != want || got.ReconciliationPaused {
			t.Errorf("with a budget of %d, %v after nine: %+v, want %+v", step.budget, step.at, got, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	h := open(t, codersdk.PresetPrebuilds{Instances: 2})
	r := prometheus.NewRegistry()
	k := h.keeper(func(c *prebuild.Config) { c.Registerer = r })
	h.must(k.Reconcile(t.Context()))
	h.exec(`UPDATE provisioner_jobs SET completed_at = now() WHERE id = (SELECT job_id FROM workspace_builds LIMIT 1)`)
	h.must(k.Reconcile(t.Context()))
	const labels = `{organization_name="main",preset_name="Big",template_name="stock"}`
	want := ""
	for _, m := range []struct{ name, kind, help, value string }{
		{"claimed_total", "counter", "Prebuilt workspaces claimed by users.", "0"},
		{"created_total", "counter", "Prebuilt workspaces requested.", "2"},
		{"desired", "gauge", "Desired number of prebuilt workspaces.", "2"},
		{"eligible", "gauge", "Prebuilt workspaces that can be claimed.", "1"},
		{"failed_total", "counter", "Prebuilt workspaces that failed to build.", "0"},
		{"running", "gauge", "Existing prebuilt workspaces, ready or not.", "1"},
	} {
		name := "coderd_prebuilt_workspaces_" + m.name
		want += "# HELP " + name + " " + m.help + "\n# TYPE " + name + " " + m.kind + "\n" + name + labels + " " + m.value + "\n"
	}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
