package postgres_test

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// TestListColumnsOfExistingWorkspaces migrates workspaces from before the columns of lists.
func TestListColumnsOfExistingWorkspaces(t *testing.T) {
	url, db := migratedTo(t, 29)
	// Foreign keys are not checked, so that only the rows that the migration reads have to exist.
	run(t, url, `SET session_replication_role = replica;
		INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
		SELECT gen_random_uuid(), n, n, 'none', 'active', now(), now() FROM unnest('{ann,bob}'::text[]) n;
		INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at, latest_build_id)
		SELECT gen_random_uuid(), gen_random_uuid(), u.id, gen_random_uuid(), u.username || n, now(), now(), now(), CASE WHEN n <> 'new' THEN gen_random_uuid() END
		FROM users u, unnest('{new,waits,broke,runs}'::text[]) n;
		INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at, completed_at, error)
		SELECT latest_build_id, id, id, 'workspace_build', 'echo', 1, id, '{}', now(), now(), CASE WHEN name !~ 'waits' THEN now() END, CASE WHEN name ~ 'broke' THEN 'broke' ELSE '' END
		FROM workspaces WHERE latest_build_id IS NOT NULL;
		INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		SELECT latest_build_id, id, template_id, 1, 'start', id, 'initiator', latest_build_id, now(), now() FROM workspaces WHERE latest_build_id IS NOT NULL`)
	if err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	const want = "annbroke ann true start failed, annnew ann false none none, annruns ann true start succeeded, annwaits ann true start none, " +
		"bobbroke bob true start failed, bobnew bob false none none, bobruns bob true start succeeded, bobwaits bob true start none"
	var got string
	if err := db.QueryRowContext(t.Context(), `SELECT string_agg(concat_ws(' ', name, owner_name, coalesce(latest_version_id = template_id, false)::text,
		coalesce(latest_transition, 'none'), coalesce(latest_outcome, 'none')), ', ' ORDER BY name) FROM workspaces`).Scan(&got); err != nil || got != want {
		t.Errorf("after the migration: %v\ngot  %s\nwant %s", err, got, want)
	}
}
