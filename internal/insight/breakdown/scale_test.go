package breakdown_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/insight/breakdown"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// used fills a database with workspaces, one for each user, of 20 templates in 10
// organizations. On each of the given number of days, every tenth was started, used for
// eight hours and stopped.
func used(t testing.TB, workspaces, days int) *postgres.Store {
	t.Helper()
	store := postgrestest.New(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		tx, err := store.Pool().Begin(t.Context())
		if err == nil {
			_, err = tx.Exec(t.Context(), "SET LOCAL session_replication_role = replica")
		}
		if err == nil {
			_, err = tx.Exec(t.Context(), sql, args...)
		}
		if err == nil {
			err = tx.Commit(t.Context())
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec(`INSERT INTO organizations (id, name, created_at, updated_at) SELECT md5('o' || n)::uuid, 'team-' || n, now(), now() FROM generate_series(0, 9) n`)
	exec(`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
		SELECT md5('t' || n)::uuid, md5('o' || n % 10)::uuid, 'template-' || n, 'echo', md5('v' || n)::uuid, md5('u1')::uuid, now(), now() FROM generate_series(0, 19) n`)
	exec(`INSERT INTO template_versions (id, template_id, organization_id, job_id, name, created_by, created_at, updated_at)
		SELECT md5('v' || n)::uuid, md5('t' || n)::uuid, md5('o' || n % 10)::uuid, md5('jv' || n)::uuid, 'version-1', md5('u1')::uuid, now(), now() FROM generate_series(0, 19) n`)
	exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, latest_build_id, created_at, updated_at, last_used_at)
		SELECT md5('w' || n)::uuid, md5('o' || n % 10)::uuid, md5('u' || n)::uuid, md5('t' || n % 20)::uuid, 'w' || n, md5('b' || n || ' 0')::uuid,
			now() - interval '1 year', now(), now() FROM generate_series(1, $1::integer) n`, workspaces)
	build := `INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, daily_cost, current, created_at, updated_at)
		SELECT md5('b' || n || ' ' || d)::uuid, md5('w' || n)::uuid, md5('v' || n % 20)::uuid, 1000 - d, 'start', md5('u' || n)::uuid, 'initiator', md5('j' || n || ' ' || d)::uuid,
			n % 7 + d % 2 * 3, d = 0, now() - ago - n * interval '1 second' / 10, now() `
	exec(build+`FROM generate_series(1, 2 * $2::integer - 1) r, generate_series(10, $1::integer, 10) n, LATERAL (SELECT 2 * $2::integer - r AS d, (2 * $2::integer - r) * interval '12 hours' AS ago) x`, workspaces, days)
	exec(build+`FROM generate_series(1, $1::integer) n, LATERAL (SELECT 0 AS d, CASE WHEN n % 10 = 0 THEN interval '0' ELSE interval '300 days' END AS ago) x`, workspaces)
	exec(`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at)
		SELECT md5('j' || n || ' 0')::uuid, md5('o' || n % 10)::uuid, md5('u' || n)::uuid, 'workspace_build', 'echo', 1, md5('f')::uuid, '{}', now(), now(), now() FROM generate_series(1, $1::integer) n`, workspaces)
	exec(`INSERT INTO workspace_agents (id, resource_id, name, operating_system, architecture, version, current_workspace_id, last_connected_at, created_at, updated_at)
		SELECT md5('a' || n)::uuid, md5('r' || n)::uuid, 'main', 'linux', 'amd64', 'v2.37.' || n % 3, md5('w' || n)::uuid, now(), now(), now() FROM generate_series(1, $1::integer) n`, workspaces)
	exec(`INSERT INTO workspace_usage (hour, workspace_id, user_id, template_id, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds, reconnecting_pty_seconds)
		SELECT date_bin('1 hour', now(), '2000-01-01Z') - d * interval '1 day' - h * interval '1 hour', md5('w' || n)::uuid, md5('u' || n)::uuid, md5('t' || n % 20)::uuid, 3000, 3000, 0, 0, 0
		FROM generate_series($2::integer - 1, 0, -1) d, generate_series(0, 7) h, generate_series(10, $1::integer, 10) n`, workspaces, days)
	exec(`INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
		SELECT md5('s' || n || ' ' || d)::uuid, md5('u' || n)::uuid, md5('w' || n)::uuid, md5('a' || n)::uuid, 'path', 'ide',
			now() - d * interval '1 day' - interval '100 minutes', now() - d * interval '1 day', 1 FROM generate_series($2::integer - 1, 0, -1) d, generate_series(10, $1::integer, 10) n`, workspaces, days)
	exec(`ANALYZE`)
	return store
}

var whole = regexp.MustCompile(`Seq Scan workspace_(usage|builds|app_stats) `)

// TestPlans checks that the queries about a week find by an index what that week left,
// whatever there was before.
func TestPlans(t *testing.T) {
	store := used(t, 500, 120)
	now := time.Now()
	days := []time.Time{now.AddDate(0, 0, -6), now.AddDate(0, 0, -3)}
	for query, params := range map[string]any{
		"BreakdownUse":  sqlc.BreakdownUseParams{Days: days, Starts: days[0], Ends: now, Most: 1000},
		"BreakdownCost": sqlc.BreakdownCostParams{Days: days, Starts: days[0], Ends: now, Most: 1000},
	} {
		plan := postgrestest.Explain(t, store, "breakdown", query, params, "plan_cache_mode = force_custom_plan", "jit = off")
		for line := range strings.Lines(plan.Text) {
			if whole.MatchString(line) && !strings.HasSuffix(line, " touched=0\n") {
				t.Errorf("%s reads the whole history in %s of\n%s", query, line, plan.Text)
			}
		}
	}
}

// BenchmarkScale creates reports of 100,000 workspaces, of which 10,000 are started, used
// for eight hours and stopped on each of 30 days: 2.4 million hours and 690,000 builds.
func BenchmarkScale(b *testing.B) {
	s := breakdown.New(breakdown.Config{Store: used(b, 100_000, 30), Now: time.Now})
	ctx, who := b.Context(), access.System()
	usage := func(days int) func() error {
		return func() error {
			_, err := s.Usage(ctx, who, breakdown.Query{StartDate: time.Now().AddDate(0, 0, 1-days).Format(time.DateOnly), EndDate: time.Now().Format(time.DateOnly)})
			return err
		}
	}
	for name, fn := range map[string]func() error{
		"7 days": usage(7), "30 days": usage(30),
		"versions": func() error { _, err := s.Versions(ctx, who, breakdown.Scope{}); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := fn(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
