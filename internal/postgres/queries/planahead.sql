-- Plans ahead. Their jobs are dry runs of a class after those of other jobs.

-- name: PlanAheadNext :many
-- The workspace that was stopped last and needs a plan. Of the candidates that were stopped last,
-- the first max_plans that can have a plan are considered: it is one without a plan after its last
-- build, or with one from before a time.
SELECT r.id, r.build_number FROM (
    SELECT w.id, b.build_number, b.created_at, p.workspace_id IS NOT NULL AS known
    FROM (SELECT workspace_id, build_number, job_id, created_at FROM workspace_builds WHERE current AND transition = 'stop'
        ORDER BY created_at DESC LIMIT sqlc.arg(candidates)) b
    JOIN workspaces w ON w.id = b.workspace_id AND w.deleted_at IS NULL AND w.dormant_at IS NULL
    JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'succeeded' AND j.provisioner = 'terraform'
    JOIN users u ON u.id = w.owner_id AND NOT u.is_system AND u.status = 'active' AND u.deleted_at IS NULL
    LEFT JOIN workspace_plans p ON p.workspace_id = w.id AND p.build_number = b.build_number AND p.made_at >= sqlc.arg(since)::timestamptz
    WHERE coalesce(p.reason, '') = ''
    ORDER BY b.created_at DESC, w.id
    LIMIT sqlc.arg(max_plans)
) r
WHERE NOT r.known
ORDER BY r.created_at DESC, r.id
LIMIT 1;

-- name: PlanAheadOfWorkspace :one
-- What is known about the next start of a workspace: its plan, why there is none, and whether a
-- job is making one.
SELECT (NOT u.is_system AND u.status = 'active' AND u.deleted_at IS NULL)::boolean AS owner_active,
    coalesce(octet_length(p.plan) > 0, false)::boolean AS planned, (coalesce(p.reason, '') <> '')::boolean AS refused, coalesce(p.public_reason, '')::text AS public_reason,
    coalesce(j.completed_at IS NULL AND j.id IS NOT NULL, false)::boolean AS planning, p.made_at
FROM workspaces w
JOIN users u ON u.id = w.owner_id
JOIN workspace_builds b ON b.workspace_id = w.id AND b.current
LEFT JOIN workspace_plans p ON p.workspace_id = w.id AND p.build_number = b.build_number AND p.made_at >= sqlc.arg(since)::timestamptz
LEFT JOIN provisioner_jobs j ON j.id = p.job_id
WHERE w.id = @workspace_id;

-- name: PlanAheadUnfinished :many
-- The jobs that plan ahead, pending and running.
SELECT id, organization_id FROM provisioner_jobs
WHERE completed_at IS NULL AND canceled_at IS NULL AND priority = sqlc.arg(class);

-- name: PlanAheadWaiting :one
-- Reports whether a job before a class waits for a provisioner.
SELECT EXISTS (SELECT FROM provisioner_jobs WHERE started_at IS NULL AND completed_at IS NULL AND NOT held AND priority < sqlc.arg(class));

-- name: PlanAheadIdle :one
-- The number of idle slots of connected provisioners that can run a job.
SELECT coalesce(sum(greatest(d.slots - r.jobs, 0)), 0)::bigint AS slots
FROM provisioner_daemons d
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs FROM provisioner_jobs j
    WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL AND (j.worker_id = d.id
        OR d.shared_id IS NOT NULL AND j.worker_id IN (SELECT t.id FROM provisioner_daemons t WHERE t.shared_id = d.shared_id))
) r
WHERE d.organization_id = sqlc.arg(organization_id) AND sqlc.arg(provisioner)::text = ANY (d.provisioners)
    AND d.last_seen_at > now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond'
    AND CASE WHEN sqlc.arg(tags)::jsonb = '{"scope": "organization", "owner": ""}' THEN d.tags = sqlc.arg(tags)::jsonb ELSE sqlc.arg(tags)::jsonb <@ d.tags END;

-- name: PlanAheadPut :exec
-- Records the job that plans, or why there is no plan, which users may read.
INSERT INTO workspace_plans (workspace_id, job_id, build_number, reason, public_reason, made_at)
VALUES (@workspace_id, sqlc.narg(job_id), @build_number, @reason, @reason, @now)
ON CONFLICT (workspace_id) DO UPDATE SET job_id = excluded.job_id, build_number = excluded.build_number, key = '', plan = '', plan_key_id = '',
    reason = excluded.reason, public_reason = excluded.public_reason, made_at = excluded.made_at;

-- name: PlanAheadSetKey :execrows
-- Records the key of the plan that a job is about to make.
UPDATE workspace_plans SET key = @key, build_number = @build_number WHERE workspace_id = @workspace_id AND job_id = @job_id::uuid;

-- name: PlanAheadOf :one
SELECT * FROM workspace_plans WHERE job_id = @job_id::uuid;

-- name: PlanAheadMade :execrows
-- Stores the plan of a job, unless a build of the workspace began meanwhile.
UPDATE workspace_plans p SET plan = @plan, plan_key_id = @plan_key_id, made_at = @now
WHERE p.job_id = @job_id::uuid AND NOT EXISTS (
    SELECT FROM workspace_builds b WHERE b.workspace_id = p.workspace_id AND b.build_number > p.build_number);

-- name: PlanAheadFailed :exec
UPDATE workspace_plans SET reason = @reason, public_reason = @public_reason, made_at = @now WHERE job_id = @job_id::uuid;

-- name: PlanAheadCanceled :exec
-- Forgets a job that was canceled, so that the workspace is planned again.
DELETE FROM workspace_plans WHERE job_id = @job_id::uuid;

-- name: PlanAheadTake :one
-- Removes and returns the plan of a workspace whose build begins.
DELETE FROM workspace_plans WHERE workspace_id = @workspace_id RETURNING *;

-- name: PlanAheadDropJob :exec
DELETE FROM provisioner_jobs WHERE id = @id AND completed_at IS NOT NULL;

-- name: PlanAheadTrim :one
-- Removes what is older than a time, what is left of deleted workspaces, and the oldest plans
-- beyond a number, with their jobs. Returns how many plans were removed and are kept.
WITH gone AS (
    DELETE FROM workspace_plans p
    WHERE p.made_at < sqlc.arg(since)::timestamptz
        OR EXISTS (SELECT FROM workspaces w WHERE w.id = p.workspace_id AND w.deleted_at IS NOT NULL)
        OR p.workspace_id IN (SELECT o.workspace_id FROM workspace_plans o JOIN workspaces w ON w.id = o.workspace_id AND w.deleted_at IS NULL
            WHERE octet_length(o.plan) > 0 AND o.made_at >= sqlc.arg(since)::timestamptz ORDER BY o.made_at DESC, o.workspace_id OFFSET sqlc.arg(max_plans)::integer)
    RETURNING p.job_id, p.made_at, octet_length(p.plan) > 0 AS planned
), jobs AS (
    DELETE FROM provisioner_jobs j USING gone WHERE j.id = gone.job_id AND j.completed_at IS NOT NULL
)
SELECT count(*) FILTER (WHERE planned AND made_at < sqlc.arg(since)::timestamptz) AS old,
    count(*) FILTER (WHERE planned AND made_at >= sqlc.arg(since)::timestamptz) AS surplus,
    ((SELECT count(*) FROM workspace_plans WHERE octet_length(plan) > 0) - count(*) FILTER (WHERE planned))::bigint AS kept
FROM gone;
