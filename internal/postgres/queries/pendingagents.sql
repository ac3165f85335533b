-- Agents of running builds; see the tables' comment.

-- name: PendingAgentsPut :exec
-- Stores the tokens of a build, except those of existing agents. hashed stores only their
-- hashes.
INSERT INTO pending_agents (token, token_hash, build_id, created_at)
SELECT CASE WHEN sqlc.arg(hashed)::boolean THEN gen_random_uuid() ELSE t END, sha256(convert_to(t::text, 'UTF8')),
    sqlc.arg(build_id)::uuid, sqlc.arg(now)::timestamptz
FROM unnest(sqlc.arg(tokens)::uuid[]) AS t
WHERE NOT EXISTS (SELECT FROM workspace_agents a WHERE a.token_hash = sha256(convert_to(t::text, 'UTF8')) OR a.token = t)
ON CONFLICT (token_hash) DO UPDATE SET build_id = excluded.build_id;

-- name: PendingAgent :one
-- The build and workspace of a token, while the build runs.
SELECT p.token, b.id AS build_id, b.job_id, w.id AS workspace_id, w.name AS workspace_name, w.owner_id, w.organization_id
FROM pending_agents p
JOIN workspace_builds b ON b.id = p.build_id
JOIN provisioner_jobs j ON j.id = b.job_id
JOIN workspaces w ON w.id = b.workspace_id
WHERE p.token_hash = sha256(convert_to(sqlc.arg(token)::uuid::text, 'UTF8')) AND j.completed_at IS NULL AND w.deleted_at IS NULL;

-- name: PendingAgentLogsForUpdate :one
SELECT logs_length, logs_overflowed FROM pending_agents WHERE token = $1 FOR UPDATE;

-- name: PendingAgentSetLogs :exec
UPDATE pending_agents SET logs_length = $2, logs_overflowed = $3 WHERE token = $1;

-- name: PendingAgentAppendLogs :exec
INSERT INTO pending_agent_logs (token, source_id, created_at, level, output)
SELECT sqlc.arg(token)::uuid, sqlc.arg(source_id)::uuid, line.created_at, line.level, line.output
FROM ROWS FROM (
    unnest(sqlc.arg(created_at)::timestamptz[]), unnest(sqlc.arg(level)::text[]), unnest(sqlc.arg(output)::text[])
) WITH ORDINALITY AS line (created_at, level, output, position)
ORDER BY line.position;

-- name: PendingAgentPutLogSource :exec
INSERT INTO pending_agent_log_sources (token, id, display_name, icon, created_at)
VALUES (sqlc.arg(token), sqlc.arg(id), sqlc.arg(display_name), sqlc.arg(icon), sqlc.arg(now))
ON CONFLICT (token, id) DO UPDATE SET display_name = excluded.display_name, icon = excluded.icon;

-- name: PendingAgentsLock :many
-- Waits for calls that add lines; later calls find the agent.
SELECT token FROM pending_agents WHERE build_id = $1 ORDER BY token FOR UPDATE;

-- name: PendingAgentsAdoptLogs :exec
INSERT INTO workspace_agent_logs (agent_id, source_id, created_at, level, output)
SELECT a.id, l.source_id, l.created_at, l.level, l.output
FROM pending_agents p
JOIN workspace_builds b ON b.id = p.build_id
JOIN workspace_resources r ON r.job_id = b.job_id
JOIN workspace_agents a ON a.resource_id = r.id AND a.token_hash = p.token_hash
JOIN pending_agent_logs l ON l.token = p.token
WHERE p.build_id = $1
ORDER BY l.id;

-- name: PendingAgentsAdoptLogSources :exec
INSERT INTO workspace_agent_log_sources (id, agent_id, display_name, icon, created_at)
SELECT s.id, a.id, s.display_name, s.icon, s.created_at
FROM pending_agents p
JOIN workspace_builds b ON b.id = p.build_id
JOIN workspace_resources r ON r.job_id = b.job_id
JOIN workspace_agents a ON a.resource_id = r.id AND a.token_hash = p.token_hash
JOIN pending_agent_log_sources s ON s.token = p.token
WHERE p.build_id = $1
ON CONFLICT (agent_id, id) DO NOTHING;

-- name: PendingAgentsAdoptLengths :exec
UPDATE workspace_agents a SET logs_length = p.logs_length, logs_overflowed = p.logs_overflowed
FROM pending_agents p
JOIN workspace_builds b ON b.id = p.build_id
JOIN workspace_resources r ON r.job_id = b.job_id
WHERE p.build_id = $1 AND a.resource_id = r.id AND a.token_hash = p.token_hash;

-- name: PendingAgentsDelete :exec
DELETE FROM pending_agents WHERE build_id = $1;
