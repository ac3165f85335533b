-- Automatic actions on workspaces. Lists are pages: each continues after the time and the ID
-- of the last row of the previous page.

-- name: ScheduleLock :one
-- A live workspace that no other transaction has locked.
SELECT * FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR UPDATE SKIP LOCKED;

-- name: ScheduleOwner :one
SELECT status, is_system, quiet_hours, deleted_at FROM users WHERE id = $1;

-- name: ScheduleStarts :many
-- Workspaces whose autostart is due.
SELECT w.id, w.next_start_at::timestamptz AS at FROM workspaces w
WHERE w.next_start_at <= sqlc.arg(now)::timestamptz AND w.next_start_at IS NOT NULL AND w.deleted_at IS NULL AND (w.next_start_at, w.id) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_id)::uuid)
ORDER BY w.next_start_at, w.id
LIMIT sqlc.arg(max_rows);

-- name: ScheduleStops :many
-- Running workspaces after their deadline.
SELECT w.id, b.deadline::timestamptz AS at FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
WHERE b.current AND b.transition = 'start' AND b.deadline IS NOT NULL AND b.deadline <= sqlc.arg(now)::timestamptz
    AND (b.deadline, b.workspace_id) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_id)::uuid)
    AND w.deleted_at IS NULL AND (w.retry_at IS NULL OR w.retry_at <= sqlc.arg(now)::timestamptz)
ORDER BY b.deadline, b.workspace_id
LIMIT sqlc.arg(max_rows);

-- name: ScheduleFailureTTL :one
-- The shortest period after which a template stops a failed start, in milliseconds; 0 if no
-- template does.
SELECT coalesce(min(failure_ttl_ms), 0)::bigint AS ms FROM templates WHERE failure_ttl_ms > 0;

-- name: ScheduleFailed :many
-- Workspaces whose start failed as long ago as their template allows. since is the latest
-- possible failure for any template.
SELECT w.id, b.failed_at::timestamptz AS at FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
JOIN templates t ON t.id = w.template_id
JOIN provisioner_jobs j ON j.id = b.job_id
JOIN users u ON u.id = w.owner_id AND NOT u.is_system
WHERE b.current AND b.transition = 'start' AND b.failed_at IS NOT NULL AND b.failed_at <= sqlc.arg(since)::timestamptz
    AND (b.failed_at, b.workspace_id) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_id)::uuid)
    AND t.failure_ttl_ms > 0 AND b.failed_at <= (sqlc.arg(now)::timestamptz) - t.failure_ttl_ms * interval '1 millisecond'
    AND j.status = 'failed' AND w.deleted_at IS NULL AND (w.retry_at IS NULL OR w.retry_at <= sqlc.arg(now)::timestamptz)
ORDER BY b.failed_at, b.workspace_id
LIMIT sqlc.arg(max_rows);

-- name: ScheduleDormancies :many
-- Templates whose unused workspaces become dormant.
SELECT id, time_til_dormant_ms FROM templates WHERE time_til_dormant_ms > 0 ORDER BY id;

-- name: ScheduleUnused :many
-- Workspaces of a template that were not used since a time.
SELECT w.id, w.last_used_day FROM workspaces w
JOIN users u ON u.id = w.owner_id AND NOT u.is_system
WHERE w.template_id = sqlc.arg(template_id) AND w.deleted_at IS NULL AND w.dormant_at IS NULL
    AND w.last_used_day <= ((sqlc.arg(since)::timestamptz) AT TIME ZONE 'UTC')::date - DATE '2000-01-01'
    AND (w.last_used_day, w.id) > (sqlc.arg(after_day)::integer, sqlc.arg(after_id)::uuid)
    AND w.last_used_at <= sqlc.arg(since)::timestamptz AND (w.retry_at IS NULL OR w.retry_at <= sqlc.arg(now)::timestamptz)
ORDER BY w.last_used_day, w.id
LIMIT sqlc.arg(max_rows);

-- name: ScheduleDeletes :many
-- Dormant workspaces whose deletion is due.
SELECT w.id, w.deleting_at::timestamptz AS at FROM workspaces w
WHERE w.deleting_at <= sqlc.arg(now)::timestamptz AND w.deleting_at IS NOT NULL AND w.deleted_at IS NULL AND (w.deleting_at, w.id) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_id)::uuid)
    AND (w.retry_at IS NULL OR w.retry_at <= sqlc.arg(now)::timestamptz)
ORDER BY w.deleting_at, w.id
LIMIT sqlc.arg(max_rows);

-- name: ScheduleRetries :many
-- Workspaces whose failed automatic stop is due again.
SELECT w.id, w.retry_at::timestamptz AS at FROM workspaces w
JOIN workspace_builds b ON b.id = w.latest_build_id
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.retry_at <= sqlc.arg(now)::timestamptz AND w.retry_at IS NOT NULL AND w.deleted_at IS NULL AND (w.retry_at, w.id) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_id)::uuid)
    AND b.transition = 'stop' AND b.reason IN ('autostop', 'dormancy') AND j.status = 'failed'
ORDER BY w.retry_at, w.id
LIMIT sqlc.arg(max_rows);

-- name: SchedulePostpone :exec
-- A failed action is retried after five minutes, then after twice as long, up to a day.
UPDATE workspaces SET retries = retries + 1,
    retry_at = sqlc.arg(now)::timestamptz + least(interval '1 day', interval '5 minutes' * power(2, least(retries, 20)))
WHERE id = sqlc.arg(id) AND deleted_at IS NULL;

-- name: ScheduleSettle :exec
-- A build succeeded, so there is nothing to retry.
UPDATE workspaces SET retries = 0, retry_at = NULL WHERE id = $1 AND (retries > 0 OR retry_at IS NOT NULL);

-- name: ScheduleBuildFailed :exec
UPDATE workspace_builds SET failed_at = sqlc.arg(now)::timestamptz WHERE id = sqlc.arg(id);

-- name: ScheduleUse :exec
-- Records the use of workspaces, at most once in 30 seconds for each, and extends the
-- deadlines of running ones as their templates say, but not beyond the latest deadline. A
-- deadline is written at most once a minute.
WITH used AS (
    SELECT unnest(sqlc.arg(ids)::uuid[]) AS id, unnest(sqlc.arg(used_at)::timestamptz[]) AS at
), later AS (
    UPDATE workspace_builds b SET deadline = least(used.at + t.activity_bump_ms * interval '1 millisecond', b.max_deadline)
    FROM used
    JOIN workspaces w ON w.id = used.id AND w.deleted_at IS NULL
    JOIN templates t ON t.id = w.template_id AND t.activity_bump_ms > 0
    WHERE b.id = w.latest_build_id AND b.transition = 'start'
        AND b.deadline < least(used.at + t.activity_bump_ms * interval '1 millisecond', b.max_deadline) - interval '1 minute'
)
UPDATE workspaces w SET last_used_at = used.at
FROM used
WHERE w.id = used.id AND w.last_used_at < used.at - interval '30 seconds';

-- name: ScheduleOfTemplate :many
-- Workspaces of a template with an autostart schedule.
SELECT id, autostart_schedule::text AS schedule FROM workspaces
WHERE template_id = $1 AND deleted_at IS NULL AND dormant_at IS NULL AND autostart_schedule IS NOT NULL
ORDER BY id
FOR UPDATE;

-- name: ScheduleSetStarts :exec
-- Sets the next autostarts of workspaces; a time before the year 2 means never.
UPDATE workspaces w SET next_start_at = CASE WHEN s.at < '0002-01-01Z' THEN NULL ELSE s.at END
FROM (SELECT unnest(sqlc.arg(ids)::uuid[]) AS id, unnest(sqlc.arg(at)::timestamptz[]) AS at) s
WHERE w.id = s.id;

-- name: ScheduleSetDeletes :exec
-- Sets the deletion time of a template's dormant workspaces; 0 ms means never.
UPDATE workspaces SET updated_at = sqlc.arg(now)::timestamptz,
    deleting_at = CASE WHEN sqlc.arg(autodelete_ms)::bigint > 0 THEN dormant_at + sqlc.arg(autodelete_ms)::bigint * interval '1 millisecond' END
WHERE template_id = sqlc.arg(template_id) AND deleted_at IS NULL AND dormant_at IS NOT NULL;
