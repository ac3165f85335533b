-- name: QueueSay :one
-- A word of a running job's holder in one statement: renews the lease and adds
-- lines to the log, unless that would reach the log's limit. No row means that
-- the job must be looked at. Only the first word and a change of resumable,
-- which decide what becomes of a lost job, are worth waiting for the disk: a
-- database that crashes within the second loses some lines at most, and the
-- next word renews the lease.
WITH held AS MATERIALIZED (
    SELECT p.id, p.canceled_at IS NOT NULL AS canceled,
        p.updated_at = p.started_at OR p.resumable <> sqlc.arg(resumable)::boolean AS weighty
    FROM provisioner_jobs p
    WHERE p.id = sqlc.arg(id) AND p.fence = sqlc.arg(fence) AND p.worker_id = sqlc.arg(worker_id)::uuid
        AND p.started_at IS NOT NULL AND p.completed_at IS NULL
        AND (sqlc.arg(bytes)::integer = 0 OR NOT p.logs_overflowed AND p.logs_length + sqlc.arg(bytes)::integer <= sqlc.arg(max_bytes)::integer)
    FOR UPDATE
), said AS (
    UPDATE provisioner_jobs j SET
        updated_at = now(), logs_length = j.logs_length + sqlc.arg(bytes)::integer, resumable = sqlc.arg(resumable)::boolean,
        lease_expires_at = now() + sqlc.arg(lease_ms)::bigint * interval '1 millisecond'
    FROM held WHERE j.id = held.id
), lines AS (
    INSERT INTO provisioner_job_logs (job_id, created_at, source, level, stage, output)
    SELECT held.id, unnest(sqlc.arg(created_at)::timestamptz[]), unnest(sqlc.arg(source)::text[]), unnest(sqlc.arg(level)::text[]), unnest(sqlc.arg(stage)::text[]), unnest(sqlc.arg(output)::text[])
    FROM held
)
SELECT held.canceled::boolean AS canceled, set_config('synchronous_commit', CASE WHEN held.weighty THEN current_setting('synchronous_commit') ELSE 'off' END, true) AS waits FROM held;
