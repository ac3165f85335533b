-- name: QueueSay :many
-- Log lines and lease renewals from the holders of running jobs, at most one for each job,
-- in one statement. A job that is not returned was not updated: the worker does not hold it,
-- its log reaches its limit, or another transaction has locked it. Only first updates and
-- changes of resumable, which decide the outcome of a lost job, wait for the disk. A database
-- that crashes within the second loses some lines at most, and the next update renews the
-- lease.
WITH words AS (
    SELECT unnest(sqlc.arg(ids)::uuid[]) AS id, unnest(sqlc.arg(fences)::bigint[]) AS fence, unnest(sqlc.arg(workers)::uuid[]) AS worker,
        unnest(sqlc.arg(resumables)::boolean[]) AS resumable, unnest(sqlc.arg(bytes)::integer[]) AS bytes, unnest(sqlc.arg(leases)::bigint[]) AS lease
), held AS MATERIALIZED (
    SELECT p.id, w.resumable, w.bytes, w.lease, p.canceled_at IS NOT NULL AS canceled,
        p.updated_at = p.started_at OR p.resumable <> w.resumable AS weighty
    FROM words w JOIN provisioner_jobs p ON p.id = w.id
    WHERE p.fence = w.fence AND p.worker_id = w.worker AND p.started_at IS NOT NULL AND p.completed_at IS NULL
        AND (w.bytes = 0 OR NOT p.logs_overflowed AND p.logs_length + w.bytes <= sqlc.arg(max_bytes)::integer)
    FOR UPDATE OF p SKIP LOCKED
), said AS (
    UPDATE provisioner_jobs j SET
        updated_at = now(), logs_length = j.logs_length + held.bytes, resumable = held.resumable,
        lease_expires_at = now() + held.lease * interval '1 millisecond'
    FROM held WHERE j.id = held.id
), lines AS (
    INSERT INTO provisioner_job_logs (job_id, created_at, source, level, stage, output)
    SELECT l.job_id, l.created_at, l.source, l.level, l.stage, l.output FROM (
        SELECT unnest(sqlc.arg(job_ids)::uuid[]) AS job_id, generate_subscripts(sqlc.arg(job_ids)::uuid[], 1) AS n, unnest(sqlc.arg(created_at)::timestamptz[]) AS created_at,
            unnest(sqlc.arg(source)::text[]) AS source, unnest(sqlc.arg(level)::text[]) AS level, unnest(sqlc.arg(stage)::text[]) AS stage, unnest(sqlc.arg(output)::text[]) AS output
    ) l WHERE l.job_id IN (SELECT held.id FROM held) ORDER BY l.n
)
SELECT held.id::uuid AS id, held.canceled::boolean AS canceled,
    set_config('synchronous_commit', CASE WHEN (SELECT bool_or(h.weighty) FROM held h) THEN current_setting('synchronous_commit') ELSE 'off' END, true) AS waits
FROM held;
