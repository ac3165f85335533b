// Package seed fills the database of a deployment with copies of a workspace, because building thousands of
// workspaces would take longer than the measurement.
package seed

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Clone is a copy of a workspace.
type Clone struct {
	Workspace codersdk.Workspace // with ID, Name, OwnerID and OwnerName
	Agent     uuid.UUID
	Token     uuid.UUID // of the agent
}

// clones creates copies of a built workspace ($1), each with a build, a
// resource and an agent, and with an owner of its own if $3.
const clones = `
WITH n AS MATERIALIZED (
    SELECT i, gen_random_uuid() AS new_u, gen_random_uuid() AS new_w, gen_random_uuid() AS new_b, gen_random_uuid() AS new_j,
        gen_random_uuid() AS new_r, gen_random_uuid() AS new_a, gen_random_uuid() AS token
    FROM generate_series(1, $2::integer) i
), original AS MATERIALIZED (
    SELECT w.*, u.username FROM workspaces w JOIN users u ON u.id = w.owner_id WHERE w.id = $1
), owner AS (
    INSERT INTO users (id, email, username, login_type, status, created_at, updated_at)
    SELECT n.new_u, w.name || '-user' || n.i || '@example.com', w.name || '-user' || n.i, 'none', 'active', now(), now() FROM original w, n WHERE $3::boolean
    RETURNING id
), member AS (
    INSERT INTO organization_members SELECT w.organization_id, n.new_u, '{}', now(), now() FROM original w, n WHERE $3::boolean
), workspace AS (
    INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, automatic_updates, created_at, updated_at, last_used_at)
    SELECT n.new_w, w.organization_id, CASE WHEN $3::boolean THEN n.new_u ELSE w.owner_id END, w.template_id, w.name || '-' || n.i,
        w.automatic_updates, w.created_at, w.updated_at, w.last_used_at
    FROM original w, n WHERE NOT $3::boolean OR n.new_u IN (SELECT id FROM owner) -- after the owner, whose name the row has
), job AS (
    INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input,
        created_at, updated_at, started_at, completed_at, worker_id, lease_expires_at)
    SELECT n.new_j, p.organization_id, p.initiator_id, p.type, p.provisioner, p.tag_set_id, p.file_id, jsonb_build_object('workspace_build_id', n.new_b),
        p.created_at, p.updated_at, p.started_at, p.completed_at, p.worker_id, p.lease_expires_at
    FROM provisioner_jobs p JOIN workspace_builds b ON b.job_id = p.id, n WHERE b.workspace_id = $1
), build AS (
    INSERT INTO workspace_builds SELECT (jsonb_populate_record(b, jsonb_build_object('id', n.new_b, 'workspace_id', n.new_w, 'job_id', n.new_j))).*
    FROM workspace_builds b, n WHERE b.workspace_id = $1
), resource AS (
    INSERT INTO workspace_resources SELECT (jsonb_populate_record(r, jsonb_build_object('id', n.new_r, 'job_id', n.new_j))).*
    FROM workspace_resources r JOIN workspace_builds b ON b.job_id = r.job_id, n WHERE b.workspace_id = $1
), agent AS (
    INSERT INTO workspace_agents
    SELECT (jsonb_populate_record(a, jsonb_build_object('id', n.new_a, 'resource_id', n.new_r, 'token', n.token, 'token_hash', NULL))).*
    FROM workspace_agents a JOIN workspace_resources r ON r.id = a.resource_id JOIN workspace_builds b ON b.job_id = r.job_id, n WHERE b.workspace_id = $1
)
SELECT n.new_w, w.name || '-' || n.i, CASE WHEN $3::boolean THEN n.new_u ELSE w.owner_id END,
    CASE WHEN $3::boolean THEN w.name || '-user' || n.i ELSE w.username END, n.new_a, n.token
FROM n, original w ORDER BY n.i`

// Workspaces creates n copies of a workspace that has been built once. With owners each copy belongs to a new user,
// who cannot sign in; otherwise all belong to the owner of the original.
func Workspaces(ctx context.Context, store *postgres.Store, from uuid.UUID, n int, owners bool) ([]Clone, error) {
	rows, err := store.Pool().Query(ctx, clones, from, n, owners)
	if err != nil {
		return nil, fmt.Errorf("copy workspaces: %w", err)
	}
	defer rows.Close()
	all := make([]Clone, 0, n)
	for rows.Next() {
		var c Clone
		if err := rows.Scan(&c.Workspace.ID, &c.Workspace.Name, &c.Workspace.OwnerID, &c.Workspace.OwnerName, &c.Agent, &c.Token); err != nil {
			return nil, fmt.Errorf("copy workspaces: %w", err)
		}
		c.Workspace.LatestBuild.Resources = []codersdk.WorkspaceResource{{Agents: []codersdk.WorkspaceAgent{{ID: c.Agent, Name: "main"}}}}
		all = append(all, c)
	}
	if rows.Err() != nil {
		return nil, fmt.Errorf("copy workspaces: %w", rows.Err())
	}
	_, err = store.Pool().Exec(ctx, "ANALYZE") // as autovacuum would soon
	return all, err
}
