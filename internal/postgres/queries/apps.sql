-- Apps and ports of workspaces: targets of addresses, sharing, usage, and signing keys.

-- name: AppWorkspace :one
-- A workspace by the names in an address: the status of its latest build, and the job of
-- the latest start, whose agents the address refers to.
SELECT w.id, w.name, w.organization_id, w.owner_id, w.template_id, w.user_acl, w.group_acl, w.dormant_at, u.username AS owner_name,
    t.max_port_share_level, t.cors_behavior, latest.transition, latest.status,
    coalesce(started.job_id, '00000000-0000-0000-0000-000000000000')::uuid AS start_job_id,
    coalesce(started.ends, false)::boolean AS started
FROM workspaces w
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
JOIN LATERAL (
    SELECT b.transition, j.status
    FROM workspace_builds b
    JOIN provisioner_jobs j ON j.id = b.job_id
    WHERE b.workspace_id = w.id
    ORDER BY b.build_number DESC
    LIMIT 1
) latest ON true
LEFT JOIN LATERAL (
    SELECT b.job_id, NOT EXISTS (
        SELECT 1
        FROM workspace_builds later
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE later.workspace_id = w.id AND later.build_number > b.build_number AND done.status = 'succeeded'
    ) AS ends
    FROM workspace_builds b
    JOIN provisioner_jobs j ON j.id = b.job_id
    WHERE b.workspace_id = w.id AND b.transition = 'start' AND (j.status = 'succeeded' OR b.handed_over)
    ORDER BY b.build_number DESC
    LIMIT 1
) started ON true
WHERE lower(u.username) = lower(sqlc.arg(owner)) AND u.deleted_at IS NULL
    AND lower(w.name) = lower(sqlc.arg(name)) AND w.deleted_at IS NULL;

-- name: AppAgents :many
SELECT a.id, a.parent_id, a.name, a.created_at, a.first_connected_at, a.last_connected_at, a.disconnected_at, a.connection_timeout_seconds, a.lifecycle_state
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1
ORDER BY a.position, a.name, a.id;

-- name: AppBySlug :many
SELECT * FROM workspace_apps
WHERE agent_id = ANY(sqlc.arg(agent_ids)::uuid[]) AND lower(slug) = lower(sqlc.arg(slug))
ORDER BY agent_id;

-- name: AppPortShare :one
SELECT * FROM workspace_port_shares WHERE workspace_id = $1 AND agent_name = $2 AND port = $3;

-- name: AppPortShares :many
SELECT * FROM workspace_port_shares WHERE workspace_id = $1 ORDER BY agent_name, port;

-- name: AppPutPortShare :one
INSERT INTO workspace_port_shares (workspace_id, agent_name, port, share_level, protocol)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (workspace_id, agent_name, port) DO UPDATE SET share_level = excluded.share_level, protocol = excluded.protocol
RETURNING *;

-- name: AppDeletePortShare :execrows
DELETE FROM workspace_port_shares WHERE workspace_id = $1 AND agent_name = $2 AND port = $3;

-- name: AppAgentNames :many
-- The names of the agents of a workspace's latest start.
SELECT a.name
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = (
    SELECT b.job_id
    FROM workspace_builds b
    JOIN provisioner_jobs j ON j.id = b.job_id
    WHERE b.workspace_id = $1 AND b.transition = 'start' AND (j.status = 'succeeded' OR b.handed_over)
    ORDER BY b.build_number DESC
    LIMIT 1);

-- name: AppMaxPortShareLevel :one
SELECT t.max_port_share_level FROM templates t JOIN workspaces w ON w.template_id = t.id WHERE w.id = $1;

-- name: AppInsertStatus :exec
INSERT INTO workspace_app_statuses (id, app_id, agent_id, workspace_id, state, message, uri, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: AppTrimStatuses :exec
-- Deletes all but the newest statuses of an app.
DELETE FROM workspace_app_statuses s
WHERE s.app_id = sqlc.arg(app_id) AND s.id NOT IN (
    SELECT n.id FROM workspace_app_statuses n WHERE n.app_id = sqlc.arg(app_id) ORDER BY n.created_at DESC, n.id LIMIT sqlc.arg(keep));

-- name: AppStatuses :many
-- The statuses that apps reported, the newest first.
SELECT * FROM workspace_app_statuses WHERE app_id = ANY(sqlc.arg(app_ids)::uuid[]) ORDER BY created_at DESC, id;

-- name: AppLatestStatuses :many
-- The last statuses of the apps of workspaces.
SELECT DISTINCT ON (workspace_id) * FROM workspace_app_statuses
WHERE workspace_id = ANY(sqlc.arg(workspace_ids)::uuid[])
ORDER BY workspace_id, created_at DESC, id;

-- name: AppPutStats :exec
-- Adds or extends periods of use; those of deleted workspaces are ignored.
INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
SELECT s.session_id, nullif(s.user_id, '00000000-0000-0000-0000-000000000000'), s.workspace_id, s.agent_id, s.access_method, s.slug_or_port,
    s.started_at, s.ended_at, s.requests
FROM ROWS FROM (
    unnest(sqlc.arg(session_id)::uuid[]), unnest(sqlc.arg(user_id)::uuid[]), unnest(sqlc.arg(workspace_id)::uuid[]),
    unnest(sqlc.arg(agent_id)::uuid[]), unnest(sqlc.arg(access_method)::text[]), unnest(sqlc.arg(slug_or_port)::text[]),
    unnest(sqlc.arg(started_at)::timestamptz[]), unnest(sqlc.arg(ended_at)::timestamptz[]), unnest(sqlc.arg(requests)::bigint[])
) AS s (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
JOIN workspaces w ON w.id = s.workspace_id
ON CONFLICT (session_id) DO UPDATE SET ended_at = excluded.ended_at, requests = excluded.requests;

-- name: AppTouchWorkspaces :exec
UPDATE workspaces SET last_used_at = sqlc.arg(now)
WHERE id = ANY(sqlc.arg(ids)::uuid[]) AND last_used_at < sqlc.arg(now)::timestamptz;

-- name: AppDeleteStats :execrows
-- Deletes a batch of usage records, the oldest first.
DELETE FROM workspace_app_stats WHERE session_id = ANY (ARRAY(
    SELECT s.session_id FROM workspace_app_stats s WHERE s.ended_at < sqlc.arg(before)::timestamptz ORDER BY s.ended_at LIMIT 1000));

-- name: AppKeys :many
-- The valid keys of a feature, the newest first.
SELECT * FROM crypto_keys
WHERE feature = sqlc.arg(feature) AND (deletes_at IS NULL OR deletes_at > sqlc.arg(now)::timestamptz)
ORDER BY sequence DESC;

-- name: AppInsertKey :execrows
-- Adds a key, unless another server has added it.
INSERT INTO crypto_keys (feature, sequence, secret, secret_key_id, starts_at)
VALUES (sqlc.arg(feature), sqlc.arg(sequence), sqlc.arg(secret), sqlc.arg(secret_key_id), sqlc.arg(starts_at))
ON CONFLICT (feature, sequence) DO NOTHING;

-- name: AppRetireKeys :exec
-- Sets the deletion time of the keys before one.
UPDATE crypto_keys SET deletes_at = sqlc.arg(deletes_at)::timestamptz
WHERE feature = sqlc.arg(feature) AND sequence < sqlc.arg(sequence) AND deletes_at IS NULL;

-- name: AppDeleteKeys :execrows
DELETE FROM crypto_keys WHERE deletes_at < sqlc.arg(before)::timestamptz;
