package postgres_test

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
)

var retentionRows = flag.Int("retention-rows", 100_000, "rows of each table of BenchmarkRetention")

// blockGoal is the longest time for which a deletion may block a query.
const blockGoal = 50 * time.Millisecond

// expired is when a row was made: one in 50 is old enough to be deleted. A server that deletes rows after some months
// finds fewer of them each day.
const expired = `now() - (n % 50 / 49) * interval '60 days'`

// retained are the tables whose old rows are deleted by age, each with a statement that
// inserts ROWS rows, one that inserts a row as the server does, and one that reads a page.
// SOME is an id. The logs of jobs are in BenchmarkPurgeLogs of package queue.
var retained = []struct {
	name               string
	fill, insert, read string
	purge              func(context.Context, *postgres.Store, time.Time) (int64, error)
}{
	{
		name: "audit_logs",
		fill: `INSERT INTO audit_logs (id, time, resource_type, action, diff)
			SELECT gen_random_uuid(), ` + expired + `, 'workspace', 'write', '{"name": {"old": "dev", "new": "prod", "secret": false}}' FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO audit_logs (id, time, resource_type, action) VALUES (gen_random_uuid(), now(), 'workspace', 'write')`,
		read:   `SELECT * FROM audit_logs ORDER BY time DESC, id LIMIT 25`,
		purge: func(ctx context.Context, s *postgres.Store, before time.Time) (int64, error) {
			return s.AuditPurge(ctx, before)
		},
	},
	{
		name: "connection_logs",
		fill: `INSERT INTO connection_logs (id, connect_time, disconnect_time, type, organization_id, workspace_id, workspace_owner_id, workspace_name, agent_id, agent_name, replica_id)
			SELECT gen_random_uuid(), ` + expired + `, now(), 'ssh', SOME, gen_random_uuid(), SOME, 'dev', SOME, 'main', SOME FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO connection_logs (id, connect_time, disconnect_time, type, organization_id, workspace_id, workspace_owner_id, workspace_name, agent_id, agent_name, replica_id)
			VALUES (gen_random_uuid(), now(), now(), 'ssh', SOME, SOME, SOME, 'dev', SOME, 'main', SOME)`,
		read: `SELECT * FROM connection_logs WHERE organization_id = SOME ORDER BY connect_time DESC, id LIMIT 25`,
		purge: func(ctx context.Context, s *postgres.Store, before time.Time) (int64, error) {
			return s.ConnectionsPurge(ctx, before)
		},
	},
	{
		name: "tokens",
		fill: `INSERT INTO api_keys (id, secret_hash, user_id, login_type, lifetime_seconds, created_at, updated_at, last_used_at, expires_at)
			SELECT left(md5(n::text), 10), decode(repeat('00', 32), 'hex'), SOME, 'password', 1, now(), now(), now(), ` + expired + ` FROM generate_series(1, ROWS) n ON CONFLICT DO NOTHING`,
		insert: `INSERT INTO api_keys (id, secret_hash, user_id, login_type, lifetime_seconds, created_at, updated_at, last_used_at, expires_at)
			VALUES (left(md5(random()::text), 10), decode(repeat('00', 32), 'hex'), SOME, 'password', 1, now(), now(), now(), now()) ON CONFLICT DO NOTHING`,
		read: `SELECT * FROM api_keys WHERE id = left(md5('2'), 10) AND user_id = SOME`,
		purge: func(ctx context.Context, s *postgres.Store, before time.Time) (int64, error) {
			return s.DeleteExpiredAPIKeys(ctx, before)
		},
	},
	{
		name: "inbox",
		fill: `INSERT INTO inbox_notifications (id, user_id, kind, targets, title, content, icon, actions, created_at)
			SELECT gen_random_uuid(), gen_random_uuid(), SOME, '{}', 'Workspace stopped', 'Your workspace dev was stopped.', '', '[]', ` + expired + ` FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO inbox_notifications (id, user_id, kind, targets, title, content, icon, actions, created_at)
			VALUES (gen_random_uuid(), SOME, SOME, '{}', 'Workspace stopped', 'Your workspace dev was stopped.', '', '[]', now())`,
		read: `SELECT * FROM inbox_notifications WHERE user_id = SOME ORDER BY created_at DESC, id DESC LIMIT 25`,
		purge: func(ctx context.Context, s *postgres.Store, before time.Time) (int64, error) {
			return s.NotificationPurgeInbox(ctx, before)
		},
	},
	{
		name: "notification_messages",
		fill: `INSERT INTO notification_messages (id, user_id, kind, method, title, content, actions, labels, data, targets, created_at, next_attempt_at, sent_at)
			SELECT gen_random_uuid(), gen_random_uuid(), SOME, 'smtp', 'Workspace stopped', 'Your workspace dev was stopped.', '[]', '{}', '{}', '{}', ` + expired + `, now(), now() FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO notification_messages (id, user_id, kind, method, title, content, actions, labels, data, targets, created_at, next_attempt_at)
			VALUES (gen_random_uuid(), SOME, SOME, 'smtp', 'Workspace stopped', 'Your workspace dev was stopped.', '[]', '{}', '{}', '{}', now(), now() + interval '1 day')`,
		read: `SELECT * FROM notification_messages WHERE sent_at IS NULL AND failed_at IS NULL AND user_id <> SOME ORDER BY next_attempt_at LIMIT 25`,
		purge: func(ctx context.Context, s *postgres.Store, before time.Time) (int64, error) {
			return s.NotificationPurgeMessages(ctx, before)
		},
	},
	{
		name: "app_usage",
		fill: `INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
			SELECT gen_random_uuid(), SOME, SOME, SOME, 'path', 'ide', now(), ` + expired + `, 1 FROM generate_series(1, ROWS) n`,
		insert: `INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
			VALUES (gen_random_uuid(), SOME, SOME, SOME, 'path', 'ide', now(), now(), 1)`,
		read: `SELECT * FROM workspace_app_stats WHERE user_id = SOME ORDER BY ended_at DESC LIMIT 25`,
		purge: func(ctx context.Context, s *postgres.Store, before time.Time) (int64, error) {
			return s.AppDeleteStats(ctx, before)
		},
	},
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
					before, err := time.Now().Add(-30*24*time.Hour), error(nil)
					if deleted, err = postgres.InBatches(ctx, func() (int64, error) { return table.purge(ctx, store, before) }); err != nil {
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
				time.AfterFunc(took, func() { close(idle) })
				quiet := use(idle)
				b.ReportMetric(float64(deleted), "rows")
				b.ReportMetric(took.Seconds(), "s")
				figure.Plain("retention_"+table.name+"_idle", figure.Milliseconds(quiet), "ms").Print(os.Stdout)
				figure.AtMost("retention_"+table.name, figure.Milliseconds(busy), figure.Milliseconds(blockGoal), "ms").Print(os.Stdout)
			}
		})
	}
}
