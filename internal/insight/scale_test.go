package insight_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// year fills a database with a year of users who work eight hours a day.
func year(t testing.TB, people int) *postgres.Store {
	t.Helper()
	store := postgrestest.New(t)
	for _, sql := range []string{
		`SET session_replication_role = replica`,
		fmt.Sprintf(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
			SELECT md5(u::text)::uuid, 'u' || u || '@example.com', 'u' || u, 'none', 'active', now(), now() FROM generate_series(1, %d) u`, people),
		fmt.Sprintf(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
			SELECT md5(u::text)::uuid, gen_random_uuid(), md5(u::text)::uuid, md5((u %% 20)::text)::uuid, 'w' || u, now() - interval '1 year', now(), now() FROM generate_series(1, %d) u`, people),
		fmt.Sprintf(`INSERT INTO workspace_usage (hour, workspace_id, user_id, template_id, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds, reconnecting_pty_seconds, latency_ms)
			SELECT date_bin('1 hour', now(), '2000-01-01Z') - h * interval '3 hours', md5(u::text)::uuid, md5(u::text)::uuid, md5((u %% 20)::text)::uuid, 600, 600, 0, 0, 0, '{10,20,30}'
			FROM generate_series(0, 2900) h, generate_series(1, %d) u`, people),
		fmt.Sprintf(`INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
			SELECT gen_random_uuid(), md5(u::text)::uuid, md5(u::text)::uuid, gen_random_uuid(), 'path', 'ide', now() - d * interval '1 day' - interval '1 hour', now() - d * interval '1 day', 1
			FROM generate_series(0, 180) d, generate_series(1, %d) u`, people),
		`INSERT INTO user_status_changes (user_id, changed_at, new_status) SELECT id, created_at, status FROM users`,
		`SET session_replication_role = DEFAULT`,
	} {
		if _, err := store.Pool().Exec(t.Context(), "BEGIN; "+sql+"; COMMIT"); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if _, err := store.Pool().Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	return store
}

var argument = regexp.MustCompile(`sqlc\.arg\((\w+)\)`)

// TestPlans: what is asked about a week is read by the index, whatever a year
// before it has left.
func TestPlans(t *testing.T) {
	store := year(t, 100)
	b, err := os.ReadFile("../postgres/queries/insights.sql")
	must(t, err)
	args := map[string]string{
		"starts": "now() - interval '7 days'", "ends": "now()", "templates": "'{}'", "max_rows": "10", "skip_rows": "0",
	}
	for _, name := range []string{"InsightActiveUsers", "InsightSessions", "InsightApps", "InsightUserActivity", "InsightUserLatency"} {
		_, query, ok := strings.Cut(string(b), "-- name: "+name+" ")
		if !ok {
			t.Fatalf("there is no query %s", name)
		}
		query, _, _ = strings.Cut(query, "-- name: ")
		_, query, _ = strings.Cut(query, "\n")
		if name == "InsightActiveUsers" {
			query = strings.NewReplacer("sqlc.arg(starts)", "ARRAY[now() - interval '7 days']", "sqlc.arg(ends)", "ARRAY[now()]").Replace(query)
		}
		query = argument.ReplaceAllStringFunc(query, func(s string) string { return "(" + args[argument.FindStringSubmatch(s)[1]] + ")" })
		rows, err := store.Pool().Query(t.Context(), "EXPLAIN "+query)
		must(t, err)
		var plan []string
		for rows.Next() {
			var line string
			must(t, rows.Scan(&line))
			plan = append(plan, line)
		}
		must(t, rows.Err())
		if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan on workspace_usage") || strings.Contains(text, "Seq Scan on workspace_app_stats") {
			t.Errorf("%s reads everything:\n%s", name, text)
		}
	}
}

// BenchmarkScale asks about a month among a year of 1,000 users, and, of all
// workspaces, what they have for parameters.
func BenchmarkScale(b *testing.B) {
	s := insight.New(insight.Config{Store: year(b, 1000)})
	ctx, who := b.Context(), access.System()
	end := time.Now().UTC().Truncate(24 * time.Hour)
	q := insight.Query{Start: end.AddDate(0, 0, -30), End: end, Limit: 1000}
	for name, fn := range map[string]func() error{
		"people by the day":  func() error { _, err := s.DAUs(ctx, who, uuid.Nil, 0); return err },
		"templates by week":  func() error { _, err := s.Templates(ctx, who, q, codersdk.InsightsReportIntervalWeek); return err },
		"activity of people": func() error { _, err := s.UserActivity(ctx, who, q); return err },
		"latency of people":  func() error { _, err := s.UserLatency(ctx, who, q); return err },
		"users by status":    func() error { _, err := s.UserStatusCounts(ctx, who, 0); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must(b, fn())
			}
		})
	}
}
