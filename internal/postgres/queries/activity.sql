-- name: ActivityConnections :many
-- The connections to a workspace since a time, by type, of the newest 10,000: how many are
-- open, and when the last one was open.
SELECT c.type, count(*) FILTER (WHERE c.disconnect_time IS NULL) AS open,
    max(coalesce(c.disconnect_time, sqlc.arg(now)::timestamptz))::timestamptz AS last_at
FROM (
    SELECT l.type, l.disconnect_time FROM connection_logs l
    WHERE l.workspace_id = sqlc.arg(workspace_id) AND l.connect_time >= sqlc.arg(since)::timestamptz
    ORDER BY l.connect_time DESC
    LIMIT 10000
) c
GROUP BY c.type;
