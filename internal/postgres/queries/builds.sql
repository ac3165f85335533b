-- Builds of workspaces and their Terraform state.

-- name: BuildInsert :exec
-- Until its plan is known, the cost of a build is that of the previous build.
INSERT INTO workspace_builds (id, workspace_id, template_version_id, preset_id, build_number, transition, initiator_id, reason, job_id, parameters, daily_cost, created_at, updated_at)
VALUES (@id, @workspace_id, @template_version_id, sqlc.narg(preset_id), @build_number, @transition, @initiator_id, @reason, @job_id, @parameters,
    coalesce((SELECT l.daily_cost FROM workspace_builds l WHERE l.workspace_id = @workspace_id ORDER BY l.build_number DESC LIMIT 1), 0), @now, @now);

-- name: BuildOwnerGroups :many
-- The groups of an owner in an organization, the group of all members first.
SELECT g.name FROM group_memberships m JOIN groups g ON g.id = m.group_id
WHERE m.user_id = @owner_id AND m.organization_id = @organization_id
ORDER BY g.id <> g.organization_id, lower(g.name);

-- name: BuildLatest :one
SELECT sqlc.embed(b), j.status AS job_status
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE b.workspace_id = $1
ORDER BY b.build_number DESC
LIMIT 1;

-- name: BuildByID :one
SELECT * FROM workspace_builds WHERE id = $1;

-- name: BuildByNumber :one
SELECT * FROM workspace_builds WHERE workspace_id = @workspace_id AND build_number = @build_number;

-- name: BuildRows :many
-- The columns of builds for the API, without jobs and resources.
SELECT sqlc.embed(b), w.name AS workspace_name, w.owner_id, w.organization_id, u.username AS owner_name, u.avatar_url AS owner_avatar_url,
    i.username AS initiator_name, v.name AS version_name, v.has_ai_task, v.has_external_agent
FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN users i ON i.id = b.initiator_id
JOIN template_versions v ON v.id = b.template_version_id
WHERE b.id = ANY(@ids::uuid[]);

-- name: BuildIDs :many
-- A page of the builds of a workspace, the newest first. after_number is the build to
-- continue after, 0 for none.
SELECT id FROM workspace_builds
WHERE workspace_id = @workspace_id
    AND (sqlc.narg(since)::timestamptz IS NULL OR created_at > sqlc.narg(since))
    AND (@after_number::integer = 0 OR build_number < @after_number::integer)
ORDER BY build_number DESC
LIMIT NULLIF(@max_rows::integer, 0) OFFSET @skip_rows::integer;

-- name: BuildPutState :exec
INSERT INTO workspace_build_states (build_id, state, key_id, updated_at) VALUES (@build_id, @state, @key_id, @now)
ON CONFLICT (build_id) DO UPDATE SET state = excluded.state, key_id = excluded.key_id, updated_at = excluded.updated_at;

-- name: BuildPutSnapshot :execrows
-- Stores the state of a running build, unless a later build started with the previous
-- state.
INSERT INTO workspace_build_states (build_id, state, key_id, updated_at)
SELECT b.id, @state, @key_id, @now FROM workspace_builds b
WHERE b.id = @build_id AND NOT EXISTS (
    SELECT FROM workspace_builds l WHERE l.workspace_id = b.workspace_id AND l.build_number > b.build_number)
ON CONFLICT (build_id) DO UPDATE SET state = excluded.state, key_id = excluded.key_id, updated_at = excluded.updated_at;

-- name: BuildStateUpTo :one
-- The initial state of a build: the state given with it, else that of the last earlier
-- build that left one.
SELECT s.build_id, s.state, s.key_id
FROM workspace_builds b
JOIN workspace_build_states s ON s.build_id = b.id
WHERE b.workspace_id = @workspace_id AND b.build_number <= @build_number
ORDER BY b.build_number DESC
LIMIT 1;

-- name: BuildFinish :exec
UPDATE workspace_builds SET deadline = sqlc.narg(deadline), max_deadline = sqlc.narg(max_deadline), daily_cost = @daily_cost, updated_at = @now WHERE id = @id;

-- name: BuildSetDeadline :exec
UPDATE workspace_builds SET deadline = sqlc.narg(deadline), updated_at = @now WHERE id = @id;

-- name: BuildEndJob :exec
-- Ends the job of a build without a provisioner.
UPDATE provisioner_jobs SET completed_at = @now::timestamptz, updated_at = @now WHERE id = @id AND started_at IS NULL AND completed_at IS NULL;

-- name: BuildJobStatus :one
-- The status of a job, locked until the transaction ends.
SELECT status FROM provisioner_jobs WHERE id = $1 FOR UPDATE;

-- name: BuildForProvisioner :one
-- The inputs of a build for its provisioner, without state and source.
SELECT sqlc.embed(b), sqlc.embed(w), v.name AS version_name, v.variables, v.variables_key_id, t.name AS template_name,
    v.module_files_id, t.disable_module_cache,
    u.username, u.name AS owner_full_name, u.email, u.login_type, u.roles, u.ssh_public_key, u.ssh_private_key, u.ssh_private_key_key_id
FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN template_versions v ON v.id = b.template_version_id
JOIN templates t ON t.id = w.template_id
WHERE b.id = $1;

-- name: BuildSource :one
SELECT data FROM files WHERE id = $1;

-- name: BuildOwnerMemberships :many
SELECT m.organization_id, m.roles FROM organization_members m JOIN organizations o ON o.id = m.organization_id AND o.deleted_at IS NULL
WHERE m.user_id = $1 ORDER BY m.created_at, m.organization_id;

-- name: BuildAgentTimings :many
-- The creation and first connection of the agents of a job.
SELECT a.id, a.name, a.created_at, a.first_connected_at
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1
ORDER BY a.position, a.name;

-- name: BuildScriptTimings :many
-- The durations of the scripts of a job's agents.
SELECT s.*, a.name AS agent_name, a.scripts
FROM workspace_agent_script_timings s
JOIN workspace_agents a ON a.id = s.agent_id
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1
ORDER BY s.started_at, s.script_id;

-- name: BuildAgentToken :one
-- The token of an agent that runs on a machine that no build created.
SELECT a.id, a.token, t.token AS kept, t.key_id, a.operating_system, a.architecture
FROM workspace_agents a
LEFT JOIN workspace_agent_tokens t ON t.agent_id = a.id
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = @job_id AND r.type = 'coder_external_agent' AND lower(a.name) = lower(@name);

-- name: BuildLastStart :one
-- The last successful start of a workspace, except the given build.
SELECT b.id FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'succeeded'
WHERE b.workspace_id = @workspace_id AND b.transition = 'start' AND b.id <> @build_id
ORDER BY b.build_number DESC
LIMIT 1;

-- name: BuildPutFollowUp :exec
INSERT INTO workspace_build_follow_ups (build_id, request, created_at) VALUES (@build_id, @request, @now);

-- name: BuildTakeFollowUp :one
-- Deletes and returns the follow-up of a build.
DELETE FROM workspace_build_follow_ups WHERE build_id = $1 RETURNING request;

-- name: BuildFollowUps :many
-- Finished builds with a follow-up, the oldest first.
SELECT f.build_id, f.created_at FROM workspace_build_follow_ups f
JOIN workspace_builds b ON b.id = f.build_id
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE j.completed_at IS NOT NULL AND (f.created_at, f.build_id) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_id)::uuid)
ORDER BY f.created_at, f.build_id
LIMIT sqlc.arg(max_rows);
