-- The connection log.

-- name: ConnectionsOpened :exec
-- Inserts connections with the current names. The nil ID means no user, and an empty
-- address is unknown. Connections without a duration, such as app requests, are closed.
INSERT INTO connection_logs (id, connect_time, disconnect_time, type, organization_id, workspace_id, workspace_owner_id, workspace_name, agent_id, agent_name,
    ip, user_id, user_agent, slug_or_port, status_code, replica_id)
SELECT x.id, x.connect_time, CASE WHEN x.lasts THEN NULL ELSE x.connect_time END, x.type, w.organization_id, w.id, w.owner_id, w.name, a.id, a.name,
    nullif(x.ip, '')::inet, nullif(x.user_id, '00000000-0000-0000-0000-000000000000'), x.user_agent, x.slug_or_port, x.status_code, sqlc.arg(replica_id)::uuid
FROM ROWS FROM (
    unnest(sqlc.arg(id)::uuid[]), unnest(sqlc.arg(connect_time)::timestamptz[]), unnest(sqlc.arg(lasts)::boolean[]), unnest(sqlc.arg(type)::text[]),
    unnest(sqlc.arg(agent_id)::uuid[]), unnest(sqlc.arg(ip)::text[]), unnest(sqlc.arg(user_id)::uuid[]), unnest(sqlc.arg(user_agent)::text[]),
    unnest(sqlc.arg(slug_or_port)::text[]), unnest(sqlc.arg(status_code)::integer[])
) AS x (id, connect_time, lasts, type, agent_id, ip, user_id, user_agent, slug_or_port, status_code)
JOIN workspace_agents a ON a.id = x.agent_id
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
JOIN workspaces w ON w.id = b.workspace_id
ON CONFLICT (id) DO NOTHING;

-- name: ConnectionsClosed :exec
UPDATE connection_logs l SET disconnect_time = x.at, disconnect_reason = x.reason
FROM ROWS FROM (unnest(sqlc.arg(id)::uuid[]), unnest(sqlc.arg(at)::timestamptz[]), unnest(sqlc.arg(reason)::text[])) AS x (id, at, reason)
WHERE l.id = x.id AND l.disconnect_time IS NULL;

-- name: ConnectionsLost :execrows
-- Closes the connections of servers without a heartbeat since a time.
UPDATE connection_logs l SET disconnect_time = @now::timestamptz, disconnect_reason = 'The server ended'
WHERE l.disconnect_time IS NULL AND l.replica_id <> @own_id
    AND NOT EXISTS (SELECT 1 FROM replicas r WHERE r.id = l.replica_id AND r.stopped_at IS NULL AND r.updated_at >= sqlc.arg(since)::timestamptz);

-- name: ConnectionsPurge :execrows
-- Deletes a batch of closed connections, the oldest first.
DELETE FROM connection_logs WHERE id = ANY (ARRAY(
    SELECT l.id FROM connection_logs l WHERE l.connect_time < $1 AND l.disconnect_time IS NOT NULL ORDER BY l.connect_time LIMIT 1000));

-- name: ConnectionLogs :many
-- A page of the log, the newest first. Empty parameters match all.
SELECT sqlc.embed(l), coalesce(w.username, '')::text AS owner_username,
    o.name AS organization_name, o.display_name AS organization_display_name, o.icon AS organization_icon
FROM connection_logs l
JOIN organizations o ON o.id = l.organization_id
LEFT JOIN users w ON w.id = l.workspace_owner_id
WHERE (@see_all::boolean OR l.organization_id = ANY (@see_organizations::uuid[]))
    AND (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR l.organization_id = @organization_id)
    AND (@workspace_id::uuid = '00000000-0000-0000-0000-000000000000' OR l.workspace_id = @workspace_id)
    AND (@connection_id::uuid = '00000000-0000-0000-0000-000000000000' OR l.id = @connection_id)
    AND (@owner::text = '' OR l.workspace_owner_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower(@owner)))
    AND (@owner_email::text = '' OR l.workspace_owner_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower(@owner_email)))
    AND (@username::text = '' OR l.user_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower(@username)))
    AND (@email::text = '' OR l.user_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower(@email)))
    AND (@type::text = '' OR l.type = @type)
    AND (@status::text = '' OR (l.disconnect_time IS NULL) = (@status = 'ongoing'))
    AND (sqlc.narg(connected_after)::timestamptz IS NULL OR l.connect_time >= sqlc.narg(connected_after))
    AND (sqlc.narg(connected_before)::timestamptz IS NULL OR l.connect_time < sqlc.narg(connected_before))
ORDER BY l.connect_time DESC, l.id
LIMIT @row_limit OFFSET @row_offset;

-- name: CountConnectionLogs :one
-- The number of rows of ConnectionLogs on all pages; the conditions must be identical.
SELECT count(*) FROM connection_logs l
WHERE (@see_all::boolean OR l.organization_id = ANY (@see_organizations::uuid[]))
    AND (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR l.organization_id = @organization_id)
    AND (@workspace_id::uuid = '00000000-0000-0000-0000-000000000000' OR l.workspace_id = @workspace_id)
    AND (@connection_id::uuid = '00000000-0000-0000-0000-000000000000' OR l.id = @connection_id)
    AND (@owner::text = '' OR l.workspace_owner_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower(@owner)))
    AND (@owner_email::text = '' OR l.workspace_owner_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower(@owner_email)))
    AND (@username::text = '' OR l.user_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower(@username)))
    AND (@email::text = '' OR l.user_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower(@email)))
    AND (@type::text = '' OR l.type = @type)
    AND (@status::text = '' OR (l.disconnect_time IS NULL) = (@status = 'ongoing'))
    AND (sqlc.narg(connected_after)::timestamptz IS NULL OR l.connect_time >= sqlc.narg(connected_after))
    AND (sqlc.narg(connected_before)::timestamptz IS NULL OR l.connect_time < sqlc.narg(connected_before));

-- name: ConnectionUsers :many
-- The users in the log, including deleted ones.
SELECT * FROM users WHERE id = ANY (@ids::uuid[]);
