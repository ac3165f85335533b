-- Builds of workspaces and the Terraform state that they leave behind.

-- name: BuildInsert :exec
-- Until its plan is known a build costs what the one before it did.
INSERT INTO workspace_builds (id, workspace_id, template_version_id, preset_id, build_number, transition, initiator_id, reason, job_id, parameters, daily_cost, created_at, updated_at)
VALUES (@id, @workspace_id, @template_version_id, sqlc.narg(preset_id), @build_number, @transition, @initiator_id, @reason, @job_id, @parameters,
    coalesce((SELECT l.daily_cost FROM workspace_builds l WHERE l.workspace_id = @workspace_id ORDER BY l.build_number DESC LIMIT 1), 0), @now, @now);

-- name: BuildOwnerGroups :many
-- The groups of an owner in an organization, that of everyone first.
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
-- Everything that is shown of builds beside their jobs and resources.
SELECT sqlc.embed(b), w.name AS workspace_name, w.owner_id, w.organization_id, u.username AS owner_name, u.avatar_url AS owner_avatar_url,
    i.username AS initiator_name, v.name AS version_name, v.has_ai_task, v.has_external_agent
FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN users i ON i.id = b.initiator_id
JOIN template_versions v ON v.id = b.template_version_id
WHERE b.id = ANY(@ids::uuid[]);

-- name: BuildIDs :many
-- A page of the builds of a workspace, the newest first. after_number is the
-- build to continue behind, 0 for none.
SELECT id FROM workspace_builds
WHERE workspace_id = @workspace_id
    AND (sqlc.narg(since)::timestamptz IS NULL OR created_at > sqlc.narg(since))
    AND (@after_number::integer = 0 OR build_number < @after_number::integer)
ORDER BY build_number DESC
LIMIT NULLIF(@max_rows::integer, 0) OFFSET @skip_rows::integer;

-- name: BuildPutState :exec
INSERT INTO workspace_build_states (build_id, state, updated_at) VALUES (@build_id, @state, @now)
ON CONFLICT (build_id) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at;

-- name: BuildPutSnapshot :execrows
-- Keeps what a build made so far, unless a later build began with what was
-- known before.
INSERT INTO workspace_build_states (build_id, state, updated_at)
SELECT b.id, @state, @now FROM workspace_builds b
WHERE b.id = @build_id AND NOT EXISTS (
    SELECT FROM workspace_builds l WHERE l.workspace_id = b.workspace_id AND l.build_number > b.build_number)
ON CONFLICT (build_id) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at;

-- name: BuildState :one
SELECT state FROM workspace_build_states WHERE build_id = $1;

-- name: BuildStateUpTo :one
-- The state that a build starts from: its own when one was given with it, else
-- that of the last build before it that left one.
SELECT s.state
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
-- Ends the job of a build that needs no provisioner.
UPDATE provisioner_jobs SET completed_at = @now::timestamptz, updated_at = @now WHERE id = @id AND started_at IS NULL AND completed_at IS NULL;

-- name: BuildJobStatus :one
-- How far a job has come, held still until the transaction ends.
SELECT status FROM provisioner_jobs WHERE id = $1 FOR UPDATE;

-- name: BuildForProvisioner :one
-- What the provisioner of a build is told, beside state and source.
SELECT sqlc.embed(b), sqlc.embed(w), v.name AS version_name, v.variables, t.name AS template_name,
    v.module_files_id, t.disable_module_cache,
    u.username, u.name AS owner_full_name, u.email, u.login_type, u.roles, u.ssh_public_key, u.ssh_private_key
FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN template_versions v ON v.id = b.template_version_id
JOIN templates t ON t.id = w.template_id
WHERE b.id = $1;

-- name: BuildSource :one
SELECT data FROM files WHERE id = $1;

-- name: BuildOwnerMemberships :many
SELECT organization_id, roles FROM organization_members WHERE user_id = $1 ORDER BY created_at, organization_id;

-- name: BuildAgentTimings :many
-- When the agents of a job came and connected.
SELECT a.id, a.name, a.created_at, a.first_connected_at
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1
ORDER BY a.position, a.name;

-- name: BuildScriptTimings :many
-- How long the scripts of a job's agents took.
SELECT s.*, a.name AS agent_name, a.scripts
FROM workspace_agent_script_timings s
JOIN workspace_agents a ON a.id = s.agent_id
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1
ORDER BY s.started_at, s.script_id;

-- name: BuildAgentToken :one
-- The token of an agent that runs outside of what the build made.
SELECT a.token, a.operating_system, a.architecture
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = @job_id AND r.type = 'coder_external_agent' AND lower(a.name) = lower(@name);

-- name: BuildLastStart :one
-- The last start of a workspace that succeeded, beside the given build.
SELECT b.id FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'succeeded'
WHERE b.workspace_id = @workspace_id AND b.transition = 'start' AND b.id <> @build_id
ORDER BY b.build_number DESC
LIMIT 1;
