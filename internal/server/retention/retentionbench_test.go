package retention_test

import (
	"context"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/server/retention"
)

var retentionRows = flag.Int("retention-rows", 100_000, "rows of each table of BenchmarkRetention")

// blockGoal is the longest time for which a deletion may block a query.
const blockGoal = 50 * time.Millisecond

// expired is when row n was made: one in 50 is old enough to be deleted. A deletion that runs daily finds a smaller part.
const expired = `now() - (n % 50 / 49) * interval '60 days'`

// retained are the tables whose old rows are deleted, each with a statement that inserts ROWS rows, one that inserts a
// row as the server does, and one that reads a page. SOME is an id.
var retained = []struct {
	name               string
	fill, insert, read string
	purge              func(*postgres.Store) retention.DeleteOlder
}{
	{
		name: "audit_logs",
		fill: `INSERT INTO audit_logs (id, time, resource_type, action, diff)
			SELECT gen_random_uuid(), ` + expired + `, 'workspace', 'write', '{"name": {"old": "dev", "new": "prod", "secret": false}}' FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO audit_logs (id, time, resource_type, action) VALUES (gen_random_uuid(), now(), 'workspace', 'write')`,
		read:   `SELECT * FROM audit_logs ORDER BY time DESC, id LIMIT 25`,
		purge:  byAge((*postgres.Store).AuditPurge),
	},
	{
		name: "connection_logs",
		fill: `INSERT INTO connection_logs (id, connect_time, disconnect_time, type, organization_id, workspace_id, workspace_owner_id, workspace_name, agent_id, agent_name, replica_id)
			SELECT gen_random_uuid(), ` + expired + `, now(), 'ssh', SOME, gen_random_uuid(), SOME, 'dev', SOME, 'main', SOME FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO connection_logs (id, connect_time, disconnect_time, type, organization_id, workspace_id, workspace_owner_id, workspace_name, agent_id, agent_name, replica_id)
			VALUES (gen_random_uuid(), now(), now(), 'ssh', SOME, SOME, SOME, 'dev', SOME, 'main', SOME)`,
		read:  `SELECT * FROM connection_logs WHERE organization_id = SOME ORDER BY connect_time DESC, id LIMIT 25`,
		purge: byAge((*postgres.Store).ConnectionsPurge),
	},
	{
		name: "tokens",
		fill: `INSERT INTO api_keys (id, secret_hash, user_id, login_type, lifetime_seconds, created_at, updated_at, last_used_at, expires_at)
			SELECT left(md5(n::text), 10), decode(repeat('00', 32), 'hex'), SOME, 'password', 1, now(), now(), now(), ` + expired + ` FROM generate_series(1, ROWS) n ON CONFLICT DO NOTHING`,
		insert: `INSERT INTO api_keys (id, secret_hash, user_id, login_type, lifetime_seconds, created_at, updated_at, last_used_at, expires_at)
			VALUES (left(md5(random()::text), 10), decode(repeat('00', 32), 'hex'), SOME, 'password', 1, now(), now(), now(), now()) ON CONFLICT DO NOTHING`,
		read:  `SELECT * FROM api_keys WHERE id = left(md5('2'), 10) AND user_id = SOME`,
		purge: byAge((*postgres.Store).DeleteExpiredAPIKeys),
	},
	{
		name: "inbox",
		fill: `INSERT INTO inbox_notifications (id, user_id, kind, targets, title, content, icon, actions, created_at)
			SELECT gen_random_uuid(), gen_random_uuid(), SOME, '{}', 'Workspace stopped', 'Your workspace dev was stopped.', '', '[]', ` + expired + ` FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO inbox_notifications (id, user_id, kind, targets, title, content, icon, actions, created_at)
			VALUES (gen_random_uuid(), SOME, SOME, '{}', 'Workspace stopped', 'Your workspace dev was stopped.', '', '[]', now())`,
		read:  `SELECT * FROM inbox_notifications WHERE user_id = SOME ORDER BY created_at DESC, id DESC LIMIT 25`,
		purge: byAge((*postgres.Store).NotificationPurgeInbox),
	},
	{
		name: "notification_messages",
		fill: `INSERT INTO notification_messages (id, user_id, kind, method, title, content, actions, labels, data, targets, created_at, next_attempt_at, sent_at)
			SELECT gen_random_uuid(), gen_random_uuid(), SOME, 'smtp', 'Workspace stopped', 'Your workspace dev was stopped.', '[]', '{}', '{}', '{}', ` + expired + `, now(), now() FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO notification_messages (id, user_id, kind, method, title, content, actions, labels, data, targets, created_at, next_attempt_at)
			VALUES (gen_random_uuid(), SOME, SOME, 'smtp', 'Workspace stopped', 'Your workspace dev was stopped.', '[]', '{}', '{}', '{}', now(), now() + interval '1 day')`,
		read:  `SELECT * FROM notification_messages WHERE sent_at IS NULL AND failed_at IS NULL AND user_id <> SOME ORDER BY next_attempt_at LIMIT 25`,
		purge: byAge((*postgres.Store).NotificationPurgeMessages),
	},
	{
		name: "app_usage",
		fill: `INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
			SELECT gen_random_uuid(), SOME, SOME, SOME, 'path', 'ide', now(), ` + expired + `, 1 FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
			VALUES (gen_random_uuid(), SOME, SOME, SOME, 'path', 'ide', now(), now(), 1)`,
		read:  `SELECT * FROM workspace_app_stats WHERE user_id = SOME ORDER BY ended_at DESC LIMIT 25`,
		purge: byAge((*postgres.Store).AppDeleteStats),
	},
	{
		name: "agent_logs", // agents with 200 lines each
		fill: `WITH agents AS (
				INSERT INTO workspace_agents (id, resource_id, name, operating_system, architecture, created_at, updated_at, last_connected_at)
				SELECT gen_random_uuid(), gen_random_uuid(), 'main', 'linux', 'amd64', now(), now(), ` + expired + ` FROM generate_series(1, ROWS / 200) n
				RETURNING id, resource_id
			), resources AS (
				INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at)
				SELECT resource_id, gen_random_uuid(), 'start', 'docker_container', 'dev', now() FROM agents RETURNING job_id
			), builds AS (
				INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
				SELECT gen_random_uuid(), gen_random_uuid(), SOME, 1, 'start', SOME, 'initiator', job_id, now(), now() FROM resources)
			INSERT INTO workspace_agent_logs (agent_id, source_id, created_at, level, output)
			SELECT id, SOME, now(), 'info', 'Reading package lists... Done' FROM agents, generate_series(1, 200)`,
		insert: `INSERT INTO workspace_agent_logs (agent_id, source_id, created_at, level, output) VALUES (SOME, SOME, now(), 'info', 'line')`,
		read:   `SELECT * FROM workspace_agent_logs WHERE agent_id = SOME ORDER BY id LIMIT 100`,
		purge: func(s *postgres.Store) retention.DeleteOlder {
			return presence.New(presence.Config{Store: s}).PurgeLogs
		},
	},
	{
		name: "job_logs", // builds with 200 lines each
		fill: `WITH ` + jobs(200) + `
			INSERT INTO provisioner_job_logs (job_id, created_at, source, level, stage, output)
			SELECT id, now(), 'provisioner', 'info', 'Apply', 'aws_instance.dev: Still creating... [10s elapsed]' FROM jobs, generate_series(1, 200)`,
		insert: `INSERT INTO provisioner_job_logs (job_id, created_at, source, level, output) VALUES (SOME, now(), 'provisioner', 'info', 'line')`,
		read:   `SELECT * FROM provisioner_job_logs WHERE job_id = SOME ORDER BY id LIMIT 100`,
		purge: func(s *postgres.Store) retention.DeleteOlder {
			return queue.New(queue.Config{Store: s}).PurgeLogs
		},
	},
	{
		name: "build_timings", // builds with 20 timings each, and an agent with two scripts
		fill: `WITH ` + jobs(20) + `, resources AS (
				INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at)
				SELECT gen_random_uuid(), id, 'start', 'docker_container', 'dev', now() FROM jobs RETURNING id
			), agents AS (
				INSERT INTO workspace_agents (id, resource_id, name, operating_system, architecture, created_at, updated_at)
				SELECT gen_random_uuid(), id, 'main', 'linux', 'amd64', now(), now() FROM resources RETURNING id
			), scripts AS (
				INSERT INTO workspace_agent_script_timings (agent_id, script_id, started_at, ended_at, exit_code, stage, status)
				SELECT id, gen_random_uuid(), now(), now(), 0, 'start', 'ok' FROM agents, generate_series(1, 2))
			INSERT INTO provisioner_job_timings (job_id, started_at, ended_at, stage, source, action, resource)
			SELECT id, now(), now(), 'apply', 'terraform', 'create', 'docker_container.dev' FROM jobs, generate_series(1, 20)`,
		insert: `INSERT INTO provisioner_job_timings (job_id, started_at, ended_at, stage, source, action, resource)
			VALUES (SOME, now(), now(), 'apply', 'terraform', 'create', 'docker_container.dev')`,
		read: `SELECT * FROM provisioner_job_timings WHERE job_id = SOME ORDER BY started_at LIMIT 100`,
		purge: func(s *postgres.Store) retention.DeleteOlder {
			return queue.New(queue.Config{Store: s}).PurgeTimings
		},
	},
}

// jobs is a part of a statement: it inserts builds that ended, enough for ROWS rows.
func jobs(rowsPerJob int) string {
	return `jobs AS (
		INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at)
		SELECT gen_random_uuid(), SOME, SOME, 'workspace_build', 'terraform', 1, SOME, '{}', now(), now(), ` + expired + `
		FROM generate_series(1, ROWS / ` + strconv.Itoa(rowsPerJob) + `) n RETURNING id
	), builds AS (
		INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		SELECT gen_random_uuid(), gen_random_uuid(), SOME, 1, 'start', SOME, 'initiator', id, now(), now() FROM jobs)`
}

// byAge deletes the rows of a table that are older than an age, in batches.
func byAge(purge func(*postgres.Store, context.Context, time.Time) (int64, error)) func(*postgres.Store) retention.DeleteOlder {
	return func(s *postgres.Store) retention.DeleteOlder {
		return func(ctx context.Context, keep time.Duration) (int64, error) {
			return postgres.InBatches(ctx, func() (int64, error) { return purge(s, ctx, time.Now().Add(-keep)) })
		}
	}
}

// BenchmarkRetention deletes the old rows of each table while rows are inserted and read,
// and prints how long those queries took at most during the deletion and, to compare, without
// one. Set -retention-rows.
func BenchmarkRetention(b *testing.B) {
	for _, table := range retained {
		b.Run(table.name, func(b *testing.B) {
			ctx, store := b.Context(), postgrestest.New(b)
			words := strings.NewReplacer("ROWS", strconv.Itoa(*retentionRows), "SOME", "'"+uuid.NewString()+"'")
			exec := func(sql string) {
				b.Helper()
				if _, err := store.Pool().Exec(ctx, words.Replace(sql)); err != nil {
					b.Fatal(err)
				}
			}
			// Rows without the users, workspaces and agents that they refer to.
			exec(`ALTER DATABASE ` + store.Pool().Config().ConnConfig.Database + ` SET session_replication_role = replica`)
			store.Pool().Reset()
			exec(table.fill)
			exec(`VACUUM ANALYZE`)
			for b.Loop() {
				purged := make(chan struct{})
				began := time.Now()
				var deleted int64
				go func() {
					defer close(purged)
					var err error
					if deleted, err = table.purge(store)(ctx, 30*24*time.Hour); err != nil {
						b.Error(err)
					}
				}()
				use := func(done <-chan struct{}) (slowest time.Duration) {
					for {
						select {
						case <-done:
							return slowest
						default:
						}
						for _, sql := range []string{table.insert, table.read} {
							began := time.Now()
							exec(sql)
							slowest = max(slowest, time.Since(began))
						}
					}
				}
				busy := use(purged)
				took := time.Since(began)
				idle := make(chan struct{})
				time.AfterFunc(min(took, time.Minute), func() { close(idle) })
				quiet := use(idle)
				b.ReportMetric(float64(deleted), "rows")
				b.ReportMetric(took.Seconds(), "s")
				figure.Plain("retention_"+table.name+"_idle", figure.Milliseconds(quiet), "ms").Print(os.Stdout)
				figure.AtMost("retention_"+table.name, figure.Milliseconds(busy), figure.Milliseconds(blockGoal), "ms").Print(os.Stdout)
			}
		})
	}
}
