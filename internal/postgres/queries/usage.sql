-- name: UsageAdd :exec
-- Adds usage reports of agents; those of deleted workspaces are ignored. Round trip times are
-- stored once in five minutes.
WITH reports AS (
    SELECT u.* FROM ROWS FROM (
        unnest(sqlc.arg(agent_id)::uuid[]), unnest(sqlc.arg(workspace_id)::uuid[]), unnest(sqlc.arg(user_id)::uuid[]),
        unnest(sqlc.arg(template_id)::uuid[]), unnest(sqlc.arg(at)::timestamptz[]), unnest(sqlc.arg(seconds)::integer[]),
        unnest(sqlc.arg(ssh_seconds)::integer[]), unnest(sqlc.arg(vscode_seconds)::integer[]), unnest(sqlc.arg(jetbrains_seconds)::integer[]),
        unnest(sqlc.arg(reconnecting_pty_seconds)::integer[]), unnest(sqlc.arg(ssh)::integer[]), unnest(sqlc.arg(vscode)::integer[]),
        unnest(sqlc.arg(jetbrains)::integer[]), unnest(sqlc.arg(reconnecting_pty)::integer[]), unnest(sqlc.arg(rx_bytes)::bigint[]),
        unnest(sqlc.arg(tx_bytes)::bigint[]), unnest(sqlc.arg(latency_ms)::double precision[])
    ) AS u (agent_id, workspace_id, user_id, template_id, at, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds,
        reconnecting_pty_seconds, ssh, vscode, jetbrains, reconnecting_pty, rx_bytes, tx_bytes, latency_ms)
), lately AS (
    INSERT INTO agent_usage (agent_id, quarter, reported_at, ssh, vscode, jetbrains, reconnecting_pty, rx_bytes, tx_bytes, latency_ms)
    SELECT r.agent_id, date_bin('15 minutes', r.at, '2000-01-01Z'), r.at, r.ssh, r.vscode, r.jetbrains, r.reconnecting_pty, r.rx_bytes, r.tx_bytes, r.latency_ms
    FROM reports r
    ON CONFLICT (quarter, agent_id) DO UPDATE SET reported_at = excluded.reported_at, ssh = excluded.ssh, vscode = excluded.vscode,
        jetbrains = excluded.jetbrains, reconnecting_pty = excluded.reconnecting_pty, rx_bytes = agent_usage.rx_bytes + excluded.rx_bytes,
        tx_bytes = agent_usage.tx_bytes + excluded.tx_bytes,
        latency_ms = CASE WHEN excluded.latency_ms > 0 THEN excluded.latency_ms ELSE agent_usage.latency_ms END
)
INSERT INTO workspace_usage (hour, workspace_id, user_id, template_id, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds, reconnecting_pty_seconds, latency_ms)
SELECT date_bin('1 hour', r.at, '2000-01-01Z'), r.workspace_id, r.user_id, r.template_id, sum(r.seconds), sum(r.ssh_seconds), sum(r.vscode_seconds),
    sum(r.jetbrains_seconds), sum(r.reconnecting_pty_seconds), coalesce(array_agg(r.latency_ms::real) FILTER (WHERE r.latency_ms > 0), '{}')
FROM reports r JOIN workspaces w ON w.id = r.workspace_id
WHERE r.seconds > 0
GROUP BY 1, 2, 3, 4
ON CONFLICT (hour, workspace_id, user_id) DO UPDATE SET
    seconds = least(3600, workspace_usage.seconds + excluded.seconds),
    ssh_seconds = least(3600, workspace_usage.ssh_seconds + excluded.ssh_seconds),
    vscode_seconds = least(3600, workspace_usage.vscode_seconds + excluded.vscode_seconds),
    jetbrains_seconds = least(3600, workspace_usage.jetbrains_seconds + excluded.jetbrains_seconds),
    reconnecting_pty_seconds = least(3600, workspace_usage.reconnecting_pty_seconds + excluded.reconnecting_pty_seconds),
    latency_ms = CASE WHEN cardinality(workspace_usage.latency_ms) * interval '5 minutes' <= sqlc.arg(now)::timestamptz - workspace_usage.hour
        THEN workspace_usage.latency_ms || excluded.latency_ms ELSE workspace_usage.latency_ms END;

-- name: UsageDeleteLately :execrows
-- Deletes a batch of reports, the oldest first.
DELETE FROM agent_usage WHERE (quarter, agent_id) IN (
    SELECT u.quarter, u.agent_id FROM agent_usage u WHERE u.quarter < sqlc.arg(before)::timestamptz ORDER BY u.quarter LIMIT 1000);

-- name: UsageAddApp :exec
-- Adds the use of a workspace through one app, as its client reported.
INSERT INTO workspace_usage (hour, workspace_id, user_id, template_id, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds, reconnecting_pty_seconds, latency_ms)
VALUES (date_bin('1 hour', sqlc.arg(at)::timestamptz, '2000-01-01Z'), @workspace_id, @user_id, @template_id,
    sqlc.arg(seconds)::integer, CASE WHEN sqlc.arg(app)::text = 'ssh' THEN sqlc.arg(seconds)::integer ELSE 0 END, CASE WHEN sqlc.arg(app)::text = 'vscode' THEN sqlc.arg(seconds)::integer ELSE 0 END,
    CASE WHEN sqlc.arg(app)::text = 'jetbrains' THEN sqlc.arg(seconds)::integer ELSE 0 END, CASE WHEN sqlc.arg(app)::text = 'reconnecting-pty' THEN sqlc.arg(seconds)::integer ELSE 0 END, '{}')
ON CONFLICT (hour, workspace_id, user_id) DO UPDATE SET
    seconds = least(3600, workspace_usage.seconds + excluded.seconds),
    ssh_seconds = least(3600, workspace_usage.ssh_seconds + excluded.ssh_seconds),
    vscode_seconds = least(3600, workspace_usage.vscode_seconds + excluded.vscode_seconds),
    jetbrains_seconds = least(3600, workspace_usage.jetbrains_seconds + excluded.jetbrains_seconds),
    reconnecting_pty_seconds = least(3600, workspace_usage.reconnecting_pty_seconds + excluded.reconnecting_pty_seconds);
