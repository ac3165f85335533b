package postgres_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestPurgeOfAuditLogsIsBounded deletes the older half of a table of audit logs
// while rows are written and read. It checks the rows that are left and that each
// batch finds its rows by the index. PURGE_ROWS sets the size of the table (20,000
// otherwise). The latencies of the other queries are logged, and with PURGE_ROWS
// those of the same queries without a deletion.
func TestPurgeOfAuditLogsIsBounded(t *testing.T) {
	rows := 20_000
	if n, err := strconv.Atoi(os.Getenv("PURGE_ROWS")); err == nil {
		rows = n
	}
	ctx, store := t.Context(), postgrestest.New(t)
	now := time.Now().UTC().Truncate(time.Second)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := store.Pool().Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO audit_logs (id, time, resource_type, action, diff)
		SELECT gen_random_uuid(), $1::timestamptz - n * interval '1 second', 'workspace', 'write', '{"name": {"old": "dev", "new": "prod", "secret": false}}'
		FROM generate_series(1, $2::int) n`, now, rows)
	exec(`ANALYZE audit_logs`)
	before := now.Add(-time.Duration(rows/2) * time.Second)
	if plan := explain(t, store, `DELETE FROM audit_logs WHERE id = ANY (ARRAY(SELECT l.id FROM audit_logs l WHERE l.time < now() ORDER BY l.time LIMIT 1000))`); strings.Contains(plan, "Seq Scan") {
		t.Errorf("a batch reads the whole table:\n%s", plan)
	}
	done := make(chan struct{})
	latencies := make(chan []time.Duration, 1)
	go func() { latencies <- useAuditLogs(ctx, t, store, now, done) }()
	began := time.Now()
	n, err := postgres.InBatches(ctx, func() (int64, error) { return store.AuditPurge(ctx, before) })
	took := time.Since(began)
	close(done)
	all := <-latencies
	if want := int64(rows - rows/2); err != nil || n != want {
		t.Errorf("deleted %d, want %d: %v", n, want, err)
	}
	var left int
	if err := store.Pool().QueryRow(ctx, `SELECT count(*) FROM audit_logs WHERE time < $1`, before).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d old rows are left, %v", left, err)
	}
	t.Logf("%d of %d rows deleted in %s", n, rows, took.Round(time.Millisecond))
	logLatencies(t, "during the deletion", all)
	if os.Getenv("PURGE_ROWS") != "" { // the same without a deletion, to compare
		done := make(chan struct{})
		time.AfterFunc(took, func() { close(done) })
		logLatencies(t, "without a deletion", useAuditLogs(ctx, t, store, now, done))
	}
}

func logLatencies(t *testing.T, when string, all []time.Duration) {
	t.Helper()
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	slow := slices.IndexFunc(all, func(d time.Duration) bool { return d > 50*time.Millisecond })
	if slow < 0 {
		slow = len(all)
	}
	t.Logf("%d queries %s: median %s, 99%% %s, slowest %s, %d over 50ms", len(all), when, all[len(all)/2], all[len(all)*99/100], all[len(all)-1], len(all)-slow)
}

// useAuditLogs writes and reads audit logs until done is closed, and returns how
// long each query took.
func useAuditLogs(ctx context.Context, t *testing.T, store *postgres.Store, now time.Time, done <-chan struct{}) (all []time.Duration) {
	for {
		select {
		case <-done:
			return all
		default:
		}
		began := time.Now()
		err := store.InsertAuditLog(ctx, sqlc.InsertAuditLogParams{ID: uuid.New(), Time: &now, ResourceType: "workspace", Action: "write", Diff: codersdk.AuditDiff{}, AdditionalFields: []byte(`{}`)})
		wrote := time.Now()
		if err == nil {
			_, err = store.Pool().Exec(ctx, `SELECT * FROM audit_logs ORDER BY time DESC, id LIMIT 25`)
		}
		if err != nil {
			t.Error(err)
			return all
		}
		all = append(all, wrote.Sub(began), time.Since(wrote))
	}
}

func explain(t *testing.T, store *postgres.Store, sql string) string {
	t.Helper()
	rows, err := store.Pool().Query(t.Context(), "EXPLAIN "+sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, line)
	}
	return strings.Join(plan, "\n")
}

// TestExclusively checks that a lock keeps a second session out until the first
// ended, also when that failed.
func TestExclusively(t *testing.T) {
	ctx, store := t.Context(), postgrestest.New(t)
	ran, err := store.Exclusively(ctx, "purge", func() error {
		again, err := store.Exclusively(ctx, "purge", func() error { t.Error("the lock is held twice"); return nil })
		if again || err != nil {
			t.Errorf("a second session got the lock: %t, %v", again, err)
		}
		other, err := store.Exclusively(ctx, "another", func() error { return nil })
		if !other || err != nil {
			t.Errorf("another lock: %t, %v", other, err)
		}
		return context.Canceled
	})
	if !ran || err == nil {
		t.Errorf("got %t, %v", ran, err)
	}
	if ran, err := store.Exclusively(ctx, "purge", func() error { return nil }); !ran || err != nil {
		t.Errorf("the lock outlives its holder: %t, %v", ran, err)
	}
}

// TestExclusivelyLeavesConnections has more sessions ask for locks than there are
// connections. Each can query the database while it holds its lock.
func TestExclusivelyLeavesConnections(t *testing.T) {
	store, err := postgres.Open(t.Context(), postgres.Config{URL: postgrestest.URL(t), MaxOpen: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	done := make(chan error)
	for i := range 12 {
		go func() {
			_, err := store.Exclusively(ctx, "lock "+strconv.Itoa(i), func() error {
				_, err := store.Pool().Exec(ctx, "SELECT 1")
				return err
			})
			done <- err
		}()
	}
	for range 12 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
