package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// withWorkspaces inserts n workspaces, named w1 to wn and each with an owner and a running start, into a database
// of schema version 30.
func withWorkspaces(t *testing.T, url string, n int) {
	t.Helper()
	run(t, url, fmt.Sprintf(`SET session_replication_role = replica;
		INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
		SELECT gen_random_uuid(), n, n, 'none', 'active', now(), now() FROM (SELECT 'u' || generate_series(1, %d) n) u;
		INSERT INTO organizations (id, name, created_at, updated_at) SELECT id, username, now(), now() FROM users;
		INSERT INTO job_tag_sets (organization_id, key, tags) SELECT id, '', '{}' FROM users LIMIT 1;
		INSERT INTO files (id, hash, created_by, mimetype, data, created_at) SELECT id, username, id, '', '', now() FROM users;
		INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
		SELECT id, id, username, 'echo', id, id, now(), now() FROM users;
		INSERT INTO template_versions (id, organization_id, job_id, name, created_by, created_at, updated_at) SELECT id, id, id, username, id, now(), now() FROM users;
		INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at, latest_build_id)
		SELECT id, id, id, id, 'w' || substr(username, 2), now(), now(), now(), id FROM users;
		INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
		SELECT id, id, id, 'workspace_build', 'echo', 1, id, '{}', now(), now() FROM users;
		INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		SELECT id, id, id, 1, 'start', id, 'initiator', id, now(), now() FROM users`, n))
}

// TestMigrationGivesWay checks that a server that ends a job, and so holds a lock that the migration waits for, gets
// the workspace that the migration has locked.
func TestMigrationGivesWay(t *testing.T) {
	url, db := migratedTo(t, 30)
	withWorkspaces(t, url, 1)
	server, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(sql string) {
		t.Helper()
		if _, err := server.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE provisioner_jobs SET completed_at = now()")
	migrated := make(chan error, 1)
	go func() { migrated <- postgres.Migrate(t.Context(), url) }()
	for waits := false; !waits; {
		select {
		case err := <-migrated:
			t.Fatalf("the migration did not wait: %v", err)
		default:
		}
		if err := db.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks
			WHERE NOT granted AND relation = 'provisioner_jobs'::regclass)`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE workspaces SET last_used_at = now()")
	if err := server.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	var outcome string
	if err := db.QueryRowContext(t.Context(), "SELECT latest_outcome FROM workspaces").Scan(&outcome); err != nil || outcome != "succeeded" {
		t.Errorf("the outcome of the latest build is %q, %v", outcome, err)
	}
}

// TestMigrationThatNeverGetsTheLock checks that the error names the migration, what PostgreSQL says, and what to do.
func TestMigrationThatNeverGetsTheLock(t *testing.T) {
	url, db := migratedTo(t, 30)
	backup, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Rollback() //nolint:errcheck // it only reads
	if _, err := backup.ExecContext(t.Context(), "LOCK TABLE workspaces IN ACCESS SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	defer postgres.SetLockWaits(time.Millisecond, time.Millisecond)()
	err = postgres.Migrate(t.Context(), url)
	for _, want := range []string{"to version 31", "lock timeout", "a backup", "start the server again"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q: %v", want, err)
		}
	}
}

// TestMigrationBesideServers migrates while transactions lock the same tables in the orders of servers. None may
// fail, and what the migration copies into workspaces must be right afterwards.
func TestMigrationBesideServers(t *testing.T) {
	const workspaces = 200
	url, db := migratedTo(t, 30)
	withWorkspaces(t, url, workspaces)
	kinds := [][]string{
		{ // ends a job
			"UPDATE provisioner_jobs SET completed_at = now(), error = CASE WHEN $1 % 2 = 0 THEN 'broke' ELSE '' END WHERE id = (SELECT id FROM users WHERE email = 'u' || $1::int)",
			"UPDATE workspaces SET last_used_at = now() WHERE name = 'w' || $1::int",
		},
		{ // builds
			"SELECT FROM workspaces WHERE name = 'w' || $1::int FOR UPDATE",
			`WITH j AS (
				INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
				SELECT gen_random_uuid(), id, id, 'workspace_build', 'echo', 1, id, '{}', now(), now() FROM users WHERE email = 'u' || $1::int RETURNING id
			)
			INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
			SELECT j.id, w.id, w.id, 1 + (SELECT max(build_number) FROM workspace_builds WHERE workspace_id = w.id), 'stop', w.id, 'initiator', j.id, now(), now()
			FROM workspaces w, j WHERE w.name = 'w' || $1::int`,
		},
		{ // renames a user
			"UPDATE users SET username = 'v' || $1::int WHERE email = 'u' || $1::int",
			"UPDATE workspaces SET updated_at = now() WHERE name = 'w' || $1::int",
		},
		{"SELECT FROM workspaces w JOIN users u ON u.id = w.owner_id WHERE $1::int > 0"},
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var migrated atomic.Bool
	var servers sync.WaitGroup
	for server := range uint64(2) {
		servers.Go(func() {
			random := rand.New(rand.NewPCG(seed, server))
			for !migrated.Load() {
				if err := transact(t.Context(), db, kinds[random.IntN(len(kinds))], 1+random.IntN(workspaces)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	err := postgres.Migrate(t.Context(), url)
	migrated.Store(true)
	servers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	var wrong int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM workspaces w JOIN users u ON u.id = w.owner_id
		JOIN workspace_builds b ON b.id = w.latest_build_id JOIN provisioner_jobs j ON j.id = b.job_id
		WHERE (w.owner_name, w.latest_version_id, w.latest_transition, coalesce(w.latest_outcome, ''))
			<> (u.username, b.template_version_id, b.transition, CASE WHEN j.completed_at IS NULL THEN '' ELSE j.status END)
		OR b.build_number <> (SELECT max(build_number) FROM workspace_builds n WHERE n.workspace_id = w.id)`).Scan(&wrong); err != nil || wrong > 0 {
		t.Errorf("%d workspaces are wrong, %v", wrong, err)
	}
}

// transact runs statements about a workspace in a transaction.
func transact(ctx context.Context, db *sql.DB, statements []string, workspace int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it may be committed
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s, workspace); err != nil {
			return err
		}
	}
	return tx.Commit()
}
