-- name: SiteSetting :one
SELECT value FROM site_settings WHERE name = $1;

-- name: SiteSettingForUpdate :one
-- Reads a setting and locks it.
SELECT value FROM site_settings WHERE name = $1 FOR UPDATE;

-- name: SitePutSetting :exec
INSERT INTO site_settings (name, value, updated_at) VALUES (@name, @value, @now)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: SiteWorkspaceCounts :one
-- The number of workspaces of each status.
SELECT
    count(*) FILTER (WHERE j.status = 'pending') AS pending,
    count(*) FILTER (WHERE j.status IN ('running', 'canceling')) AS building,
    count(*) FILTER (WHERE j.status = 'succeeded' AND b.transition = 'start') AS running,
    count(*) FILTER (WHERE j.status = 'failed') AS failed,
    count(*) FILTER (WHERE j.status = 'succeeded' AND b.transition = 'stop') AS stopped
FROM workspaces w
CROSS JOIN LATERAL (SELECT l.job_id, l.transition FROM workspace_builds l WHERE l.workspace_id = w.id ORDER BY l.build_number DESC LIMIT 1) b
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.deleted_at IS NULL;

-- name: SiteUsage :one
-- Traffic and round trip times since a time, and the open sessions from reports since another
-- time.
SELECT
    coalesce(sum(rx_bytes), 0)::bigint AS rx_bytes, coalesce(sum(tx_bytes), 0)::bigint AS tx_bytes,
    coalesce(sum(ssh) FILTER (WHERE reported_at >= sqlc.arg(open_since)::timestamptz), 0)::bigint AS ssh,
    coalesce(sum(vscode) FILTER (WHERE reported_at >= sqlc.arg(open_since)::timestamptz), 0)::bigint AS vscode,
    coalesce(sum(jetbrains) FILTER (WHERE reported_at >= sqlc.arg(open_since)::timestamptz), 0)::bigint AS jetbrains,
    coalesce(sum(reconnecting_pty) FILTER (WHERE reported_at >= sqlc.arg(open_since)::timestamptz), 0)::bigint AS reconnecting_pty,
    coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms) FILTER (WHERE latency_ms > 0), -1)::double precision AS p50,
    coalesce(percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_ms) FILTER (WHERE latency_ms > 0), -1)::double precision AS p95
FROM agent_usage WHERE quarter >= sqlc.arg(since)::timestamptz;

-- name: HealthOrganizations :many
SELECT id, name FROM organizations WHERE deleted_at IS NULL ORDER BY created_at, id LIMIT 1000;

-- name: SiteLicenses :many
SELECT id, uuid, uploaded_at, claims FROM licenses ORDER BY id;

-- name: SiteLicensesLock :exec
-- Serializes the insertion of licenses, so that their number stays limited.
LOCK TABLE licenses IN SHARE ROW EXCLUSIVE MODE;

-- name: SiteInsertLicense :one
INSERT INTO licenses (uuid, uploaded_at, digest, claims) VALUES (@uuid, @uploaded_at, @digest, @claims)
ON CONFLICT (digest) DO NOTHING
RETURNING id;

-- name: SiteDeleteLicense :one
DELETE FROM licenses WHERE id = $1 RETURNING uuid;

-- name: TryLock :one
-- Takes the advisory lock of a name for the session, unless another session has it.
SELECT pg_try_advisory_lock(hashtextextended(@name, 0));

-- name: Unlock :one
SELECT pg_advisory_unlock(hashtextextended(@name, 0));
