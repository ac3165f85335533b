-- Agents that run in the dev containers of another agent, their parent. (AG-21)

-- name: SubAgentLockParent :exec
-- Serializes changes of the agents of a build, because their names must differ.
SELECT a.id FROM workspace_agents a
WHERE a.resource_id IN (
    SELECT r.id FROM workspace_resources r
    WHERE r.job_id = (SELECT p.job_id FROM workspace_resources p WHERE p.id = sqlc.arg(resource_id)))
    AND a.parent_id IS NULL
ORDER BY a.id
FOR UPDATE;

-- name: SubAgentNames :many
-- The names that the agents of a build have.
SELECT a.id, a.name, a.parent_id, a.devcontainer_id FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = sqlc.arg(job_id);

-- name: SubAgentInsert :exec
INSERT INTO workspace_agents (
    id, resource_id, parent_id, devcontainer_id, name, token_hash, token, operating_system, architecture, directory, environment,
    display_apps, scripts, api_key_scope, troubleshooting_url, connection_timeout_seconds, position, created_at, updated_at)
VALUES (@id, @resource_id, @parent_id::uuid, @devcontainer_id::uuid, @name, sha256(convert_to(sqlc.arg(token)::uuid::text, 'UTF8')), CASE WHEN NOT sqlc.arg(hashed)::boolean THEN sqlc.arg(token)::uuid END, @operating_system, @architecture, @directory, @environment,
    @display_apps, @scripts, @api_key_scope, @troubleshooting_url, @connection_timeout_seconds, @position, @now, @now);

-- name: SubAgentUpdate :exec
UPDATE workspace_agents SET
    token_hash = sha256(convert_to(sqlc.arg(token)::uuid::text, 'UTF8')), token = CASE WHEN NOT sqlc.arg(hashed)::boolean THEN sqlc.arg(token)::uuid END,
    operating_system = @operating_system, architecture = @architecture, directory = @directory,
    environment = @environment, display_apps = @display_apps, updated_at = @now
WHERE id = @id;

-- name: SubAgentDeleteApps :exec
DELETE FROM workspace_apps WHERE agent_id = $1;

-- name: SubAgentDelete :one
DELETE FROM workspace_agents WHERE id = sqlc.arg(id) AND parent_id = sqlc.arg(parent_id)::uuid
RETURNING id;

-- name: SubAgents :many
SELECT id, name, devcontainer_id FROM workspace_agents WHERE parent_id = sqlc.arg(parent_id)::uuid ORDER BY created_at, id;
