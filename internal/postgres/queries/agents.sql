-- Agents: connection, lifecycle, logs and metadata. An agent is current while no later
-- build of its workspace has succeeded, so that it can still report during a stop.

-- name: AgentByToken :one
-- The agent with this token in the newest build.
SELECT sqlc.embed(a), r.job_id, b.id AS build_id, b.build_number, j.status AS job_status,
    w.id AS workspace_id, w.name AS workspace_name, w.owner_id, w.organization_id, w.template_id,
    w.user_acl, w.group_acl, w.deleted_at, u.username AS owner_username,
    NOT EXISTS (
        SELECT 1
        FROM workspace_builds later
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE later.workspace_id = w.id AND later.build_number > b.build_number AND (done.status = 'succeeded' OR later.handed_over)
    ) AS current
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
JOIN provisioner_jobs j ON j.id = r.job_id
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
WHERE a.token_hash = sha256(convert_to(sqlc.arg(token)::uuid::text, 'UTF8')) OR a.token = sqlc.arg(token)::uuid
ORDER BY b.created_at DESC, b.build_number DESC
LIMIT 1;

-- name: AgentByID :one
SELECT sqlc.embed(a), r.job_id, b.id AS build_id, b.build_number, j.status AS job_status,
    w.id AS workspace_id, w.name AS workspace_name, w.owner_id, w.organization_id, w.template_id,
    w.user_acl, w.group_acl, w.deleted_at, u.username AS owner_username,
    NOT EXISTS (
        SELECT 1
        FROM workspace_builds later
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE later.workspace_id = w.id AND later.build_number > b.build_number AND (done.status = 'succeeded' OR later.handed_over)
    ) AS current
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
JOIN provisioner_jobs j ON j.id = r.job_id
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
WHERE a.id = $1;

-- name: AgentConnect :exec
-- Makes the given connection the valid one; earlier connections can change nothing.
UPDATE workspace_agents SET
    connection_id = sqlc.arg(connection_id)::uuid,
    replica_id = sqlc.arg(replica_id)::uuid,
    version = sqlc.arg(version),
    api_version = sqlc.arg(api_version),
    expanded_directory = sqlc.arg(expanded_directory),
    subsystems = sqlc.arg(subsystems),
    certificate = sqlc.arg(certificate),
    first_connected_at = coalesce(first_connected_at, sqlc.arg(now)),
    last_connected_at = sqlc.arg(now),
    disconnected_at = NULL,
    updated_at = sqlc.arg(now)
WHERE id = sqlc.arg(id);

-- name: AgentsBeat :many
-- Heartbeats of agents with their connections, all of a server in one statement.
-- Returns the agents whose connection is still valid, and whether the agent is current.
-- It does not wait for the disk: the next heartbeat replaces one that a crash lost.
WITH alive AS (
    UPDATE workspace_agents a SET last_connected_at = beat.now, disconnected_at = NULL
    FROM (
        SELECT unnest(sqlc.arg(ids)::uuid[]) AS id, unnest(sqlc.arg(connection_ids)::uuid[]) AS connection_id, sqlc.arg(now)::timestamptz AS now,
            set_config('synchronous_commit', 'off', true) AS waits
    ) beat
    WHERE a.id = beat.id AND a.connection_id = beat.connection_id
    RETURNING a.id, a.connection_id, a.resource_id
)
SELECT alive.id::uuid AS id, alive.connection_id::uuid AS connection_id,
    NOT EXISTS (
        SELECT 1
        FROM workspace_resources r
        JOIN workspace_builds b ON b.job_id = r.job_id
        JOIN workspace_builds later ON later.workspace_id = b.workspace_id AND later.build_number > b.build_number
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE r.id = alive.resource_id AND (done.status = 'succeeded' OR later.handed_over)
    ) AS current
FROM alive;

-- name: AgentDisconnect :execrows
UPDATE workspace_agents SET disconnected_at = sqlc.arg(now)::timestamptz, replica_id = NULL, updated_at = sqlc.arg(now)::timestamptz
WHERE id = sqlc.arg(id) AND connection_id = sqlc.arg(connection_id)::uuid AND disconnected_at IS NULL;

-- name: AgentLifecycleForUpdate :one
SELECT lifecycle_state, started_at, ready_at FROM workspace_agents WHERE id = $1 FOR UPDATE;

-- name: AgentSetLifecycle :exec
UPDATE workspace_agents SET
    lifecycle_state = sqlc.arg(lifecycle_state), started_at = sqlc.narg(started_at), ready_at = sqlc.narg(ready_at),
    updated_at = sqlc.arg(now)
WHERE id = sqlc.arg(id);

-- name: AgentLogsForUpdate :one
SELECT logs_length, logs_overflowed, logs_sequence, logs_next FROM workspace_agents WHERE id = $1 FOR UPDATE;

-- name: AgentSetLogs :exec
UPDATE workspace_agents SET logs_length = $2, logs_overflowed = $3, logs_sequence = $4, logs_next = $5 WHERE id = $1;

-- name: AgentAppendLogs :exec
INSERT INTO workspace_agent_logs (agent_id, source_id, created_at, level, output)
SELECT sqlc.arg(agent_id)::uuid, sqlc.arg(source_id)::uuid, line.created_at, line.level, line.output
FROM ROWS FROM (
    unnest(sqlc.arg(created_at)::timestamptz[]), unnest(sqlc.arg(level)::text[]), unnest(sqlc.arg(output)::text[])
) WITH ORDINALITY AS line (created_at, level, output, position)
ORDER BY line.position;

-- name: AgentLogs :many
-- Lines between two IDs, both exclusive; 0 means no bound.
SELECT id, source_id, created_at, level, output
FROM workspace_agent_logs
WHERE agent_id = sqlc.arg(agent_id) AND id > sqlc.arg(after)
  AND (sqlc.arg(before)::bigint = 0 OR id < sqlc.arg(before)::bigint)
ORDER BY id
LIMIT sqlc.arg(count);

-- name: AgentPutLogSource :one
INSERT INTO workspace_agent_log_sources (id, agent_id, display_name, icon, created_at)
VALUES (sqlc.arg(id), sqlc.arg(agent_id), sqlc.arg(display_name), sqlc.arg(icon), sqlc.arg(now))
ON CONFLICT (agent_id, id) DO UPDATE SET display_name = excluded.display_name, icon = excluded.icon
RETURNING *;

-- name: AgentLogSources :many
SELECT * FROM workspace_agent_log_sources WHERE agent_id = $1 ORDER BY created_at, display_name, id;

-- name: AgentApps :many
SELECT * FROM workspace_apps WHERE agent_id = $1 ORDER BY position, slug;

-- name: AgentSetAppHealth :execrows
UPDATE workspace_apps SET health = sqlc.arg(health)
WHERE agent_id = sqlc.arg(agent_id) AND id = sqlc.arg(id) AND healthcheck_url <> '' AND health <> sqlc.arg(health);

-- name: AgentMonitorsForUpdate :one
SELECT resource_monitors FROM workspace_agents WHERE id = $1 FOR UPDATE;

-- name: AgentSetMonitors :exec
UPDATE workspace_agents SET resource_monitors = sqlc.arg(resource_monitors) WHERE id = sqlc.arg(id);

-- name: AgentPutMetadata :exec
-- Values of any number of agents; values of missing agents are dropped.
INSERT INTO workspace_agent_metadata (agent_id, key, value, error, collected_at)
SELECT item.agent_id, item.key, item.value, item.error, item.collected_at
FROM (
    SELECT unnest(sqlc.arg(agent_ids)::uuid[]) AS agent_id, unnest(sqlc.arg(keys)::text[]) AS key, unnest(sqlc.arg(values)::text[]) AS value,
        unnest(sqlc.arg(errors)::text[]) AS error, unnest(sqlc.arg(collected_at)::timestamptz[]) AS collected_at
) item
WHERE EXISTS (SELECT 1 FROM workspace_agents a WHERE a.id = item.agent_id)
ORDER BY item.agent_id, item.key
ON CONFLICT (agent_id, key) DO UPDATE
SET value = excluded.value, error = excluded.error, collected_at = excluded.collected_at
WHERE workspace_agent_metadata.collected_at <= excluded.collected_at;

-- name: AgentWatch :exec
-- Records that the metadata of an agent of another server is watched.
INSERT INTO agent_watches (agent_id, until) VALUES (sqlc.arg(agent_id), sqlc.arg(until))
ON CONFLICT (agent_id) DO UPDATE SET until = greatest(agent_watches.until, excluded.until);

-- name: AgentWatches :many
-- Agents that are watched through other servers than their own.
SELECT agent_id, until FROM agent_watches WHERE until > sqlc.arg(now) ORDER BY agent_id;

-- name: AgentForgetWatches :exec
DELETE FROM agent_watches WHERE until <= sqlc.arg(now);

-- name: AgentMetadata :many
SELECT key, value, error, collected_at FROM workspace_agent_metadata WHERE agent_id = $1;

-- name: AgentAddScriptTiming :execrows
-- Does nothing if the run is stored already, because an agent can send a report again.
INSERT INTO workspace_agent_script_timings (agent_id, script_id, started_at, ended_at, exit_code, stage, status)
SELECT $1, $2, $3, $4, $5, $6, $7
WHERE NOT EXISTS (SELECT FROM workspace_agent_script_timings t WHERE t.agent_id = $1 AND t.script_id = $2 AND t.started_at = $3);

-- name: AgentGitSSHKey :one
SELECT id, ssh_public_key, ssh_private_key, ssh_private_key_key_id FROM users WHERE id = $1;

-- name: AgentsGoneQuiet :many
-- Marks connected agents without a heartbeat since the given time as disconnected, and
-- returns them, so that watchers can be notified.
WITH quiet AS (
    UPDATE workspace_agents SET disconnected_at = sqlc.arg(now)::timestamptz
    WHERE disconnected_at IS NULL AND last_connected_at < sqlc.arg(heard_after)::timestamptz
    RETURNING id, resource_id
)
SELECT quiet.id, b.workspace_id
FROM quiet
JOIN workspace_resources r ON r.id = quiet.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id;

-- name: AgentsTimedOut :many
-- Agents whose connection timeout ended in the interval.
SELECT a.id, b.workspace_id
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
WHERE a.first_connected_at IS NULL AND a.connection_timeout_seconds > 0
  AND a.created_at > sqlc.arg(since)::timestamptz - interval '1 day'
  AND a.created_at + make_interval(secs => a.connection_timeout_seconds) > sqlc.arg(since)::timestamptz
  AND a.created_at + make_interval(secs => a.connection_timeout_seconds) <= sqlc.arg(until)::timestamptz;

-- name: AgentsObserved :many
-- The most recently started workspaces' agents and apps for metrics, at most so many.
SELECT a.id, a.name, a.certificate, a.lifecycle_state, a.started_at, a.ready_at, a.created_at, a.first_connected_at, a.last_connected_at,
    a.disconnected_at, a.connection_timeout_seconds, w.name AS workspace_name, u.username AS owner_username, t.name AS template_name,
    ARRAY(SELECT coalesce(nullif(p.display_name, ''), p.slug) FROM workspace_apps p WHERE p.agent_id = a.id ORDER BY p.id)::text[] AS apps,
    ARRAY(SELECT p.health FROM workspace_apps p WHERE p.agent_id = a.id ORDER BY p.id)::text[] AS healths
FROM (
    SELECT b.job_id, b.workspace_id
    FROM workspaces one
    CROSS JOIN LATERAL (
        SELECT last.job_id, last.transition, last.workspace_id, last.created_at
        FROM workspace_builds last WHERE last.workspace_id = one.id ORDER BY last.build_number DESC LIMIT 1
    ) b
    WHERE one.deleted_at IS NULL AND b.transition = 'start'
    ORDER BY b.created_at DESC
    LIMIT sqlc.arg(count)
) b
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
JOIN workspace_resources r ON r.job_id = b.job_id
JOIN workspace_agents a ON a.resource_id = r.id
ORDER BY a.id
LIMIT sqlc.arg(count);

-- name: AgentsOnInstance :many
-- The agents that a template assigns to a cloud instance, those of the newest build
-- first.
SELECT a.id, a.name, w.name AS workspace_name, w.deleted_at,
    NOT EXISTS (
        SELECT 1
        FROM workspace_builds later
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE later.workspace_id = w.id AND later.build_number > b.build_number AND (done.status = 'succeeded' OR later.handed_over)
    ) AS current
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
JOIN workspaces w ON w.id = b.workspace_id
WHERE a.instance_id = sqlc.arg(instance_id)::text AND a.instance_id <> ''
ORDER BY b.created_at DESC, b.build_number DESC
LIMIT 100;

-- name: AgentTokenForUpdate :one
-- The token of an agent, if the server has it, locked until the transaction ends.
SELECT a.token, t.token AS kept, t.key_id
FROM workspace_agents a LEFT JOIN workspace_agent_tokens t ON t.agent_id = a.id
WHERE a.id = $1
FOR UPDATE OF a;

-- name: AgentSetToken :exec
-- Sets the token of an agent. hashed stores only its hash.
UPDATE workspace_agents SET token_hash = sha256(convert_to(sqlc.arg(token)::uuid::text, 'UTF8')),
    token = CASE WHEN NOT sqlc.arg(hashed)::boolean THEN sqlc.arg(token)::uuid END
WHERE id = sqlc.arg(id);

-- name: AgentKeepToken :exec
INSERT INTO workspace_agent_tokens (agent_id, token, key_id) VALUES ($1, $2, $3)
ON CONFLICT (agent_id) DO UPDATE SET token = excluded.token, key_id = excluded.key_id;

-- name: AgentsWithLogs :many
-- A page of the agents with logs, by ID after @after, and whether the logs of each can
-- be deleted: those of a build that is not the latest of its workspace, last connected
-- before a time. The recursion reads one row of each agent.
WITH RECURSIVE ids AS (
    (SELECT l.agent_id AS id FROM workspace_agent_logs l WHERE l.agent_id > @after::uuid ORDER BY l.agent_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.agent_id FROM workspace_agent_logs l WHERE l.agent_id > ids.id ORDER BY l.agent_id LIMIT 1) FROM ids WHERE ids.id IS NOT NULL
), page AS (SELECT ids.id FROM ids WHERE ids.id IS NOT NULL LIMIT 500)
SELECT a.id, (coalesce(a.last_connected_at, a.created_at) < @before::timestamptz
    AND NOT EXISTS (SELECT FROM workspace_resources r JOIN workspace_builds b ON b.job_id = r.job_id JOIN workspaces w ON w.latest_build_id = b.id AND w.deleted_at IS NULL
        WHERE r.id = a.resource_id))::boolean AS deletable
FROM page JOIN workspace_agents a ON a.id = page.id ORDER BY a.id;

-- name: AgentPurgeLogs :execrows
-- Deletes a batch of log lines of an agent.
DELETE FROM workspace_agent_logs WHERE id = ANY (ARRAY(SELECT l.id FROM workspace_agent_logs l WHERE l.agent_id = @agent_id ORDER BY l.id LIMIT 1000));
