-- name: QueueTurns :one
-- A tag set, the clock of its jobs of a kind and class, and the latest turn
-- that an initiator has there, 0 for none.
SELECT s.id, provisioner_job_clock(s.id, @provisioner::text, @priority::smallint)::bigint AS clock,
    coalesce((SELECT p.turn FROM provisioner_jobs p
        WHERE p.tag_set_id = s.id AND p.provisioner = @provisioner AND p.priority = @priority AND p.initiator_id = @initiator_id
            AND (p.started_at IS NOT NULL OR p.completed_at IS NULL)
        ORDER BY p.turn DESC LIMIT 1), 0)::bigint AS latest
FROM job_tag_sets s WHERE s.organization_id = @organization_id AND s.key = @key;

-- name: QueueAddTagSet :one
-- Two who add the same set at once get the same row.
INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, $2, $3)
ON CONFLICT (organization_id, key) DO UPDATE SET key = excluded.key
RETURNING id;

-- name: QueueAdd :exec
INSERT INTO provisioner_jobs (
    id, organization_id, initiator_id, type, provisioner, priority, tag_set_id, file_id, input, template_id, created_at, updated_at, turn, held
) VALUES (
    @id, @organization_id, @initiator_id, @type, @provisioner, @priority, @tag_set_id, @file_id, @input, sqlc.narg(template_id)::uuid, now(), now(),
    @turn,
    coalesce(provisioner_job_held(sqlc.narg(template_id)::uuid), false)
);

-- name: QueueLetGo :one
-- Lets go held builds of a template as its cap allows, and tells how many.
SELECT provisioner_jobs_let_go(@template_id::uuid)::integer AS freed;

-- name: QueueHolds :one
-- Whether a template has builds that wait for others of it to end.
SELECT EXISTS (SELECT FROM provisioner_jobs j WHERE j.template_id = @template_id::uuid AND j.held AND j.completed_at IS NULL) AS holds;

-- name: QueueHeldTemplates :many
-- Templates that hold builds back although there is room under their cap.
SELECT t.id, t.organization_id FROM templates t
WHERE t.id IN (SELECT j.template_id FROM provisioner_jobs j WHERE j.template_id IS NOT NULL AND j.held AND j.completed_at IS NULL)
    AND (t.max_concurrent_builds = 0 OR t.max_concurrent_builds > (SELECT count(*) FROM provisioner_jobs p
        WHERE p.template_id = t.id AND p.completed_at IS NULL AND NOT p.held))
LIMIT 50;

-- name: QueueHeld :one
-- Why a held build waits.
SELECT t.name, t.max_concurrent_builds,
    (SELECT count(*) FROM provisioner_jobs p WHERE p.template_id = t.id AND p.completed_at IS NULL AND NOT p.held) AS active,
    (SELECT count(*) FROM provisioner_jobs p WHERE p.template_id = t.id AND p.completed_at IS NULL AND p.held
        AND (p.priority, p.turn, p.created_at, p.id) <= (j.priority, j.turn, j.created_at, j.id)) AS place
FROM provisioner_jobs j JOIN templates t ON t.id = j.template_id
WHERE j.id = $1 AND j.held AND j.completed_at IS NULL;

-- name: QueueClaim :many
-- Gives pending jobs to the waiting workers of one organization, tag set and
-- kind, at most one each, the most urgent class first. Within a tag set the
-- turns decide. Between tag sets that the workers serve, each is asked in turn:
-- first what is next in each, those whose initiator was served least recently
-- before the others. A tag set matches as coder.Tags.Match says: the untagged
-- one only its equal, any other when it is contained. What another server is
-- claiming is skipped.
WITH sets AS MATERIALIZED (
    SELECT s.id FROM job_tag_sets s
    WHERE s.organization_id = sqlc.arg(organization_id) AND CASE
        WHEN s.tags = '{"scope": "organization", "owner": ""}' THEN s.tags = sqlc.arg(tags)::jsonb
        ELSE s.tags <@ sqlc.arg(tags)::jsonb END
), picked AS MATERIALIZED (
    -- One row with an array: the planner knows nothing of how many jobs there
    -- are to hand out, and would read the whole table to join them.
    SELECT array_agg(c.id ORDER BY c.priority, c.place, c.again, c.served NULLS FIRST, c.created_at, c.id) AS ids FROM (
        SELECT l.id, l.priority, l.created_at, l.place,
            row_number() OVER (PARTITION BY l.priority, l.place, l.initiator_id ORDER BY l.created_at, l.id) AS again,
            array_position(sqlc.arg(served)::uuid[], l.initiator_id) AS served
        FROM sets CROSS JOIN unnest(sqlc.arg(provisioners)::text[]) AS kind
        CROSS JOIN LATERAL (
            SELECT n.id, n.priority, n.initiator_id, n.created_at, row_number() OVER (PARTITION BY n.priority ORDER BY n.turn, n.created_at, n.id) AS place
            FROM (
                SELECT p.id, p.priority, p.initiator_id, p.created_at, p.turn FROM provisioner_jobs p
                WHERE p.tag_set_id = sets.id AND p.provisioner = kind
                    AND p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
                ORDER BY p.priority, p.turn, p.created_at, p.id
                LIMIT cardinality(sqlc.arg(worker_ids)::uuid[])
                FOR UPDATE SKIP LOCKED
            ) n
        ) l
        ORDER BY l.priority, l.place, again, served NULLS FIRST, l.created_at, l.id
        LIMIT cardinality(sqlc.arg(worker_ids)::uuid[])
    ) c
)
UPDATE provisioner_jobs j SET
    started_at = now(), updated_at = now(), fence = j.fence + 1,
    worker_id = (sqlc.arg(worker_ids)::uuid[])[array_position(picked.ids, j.id)],
    worker_name = (sqlc.arg(worker_names)::text[])[array_position(picked.ids, j.id)],
    lease_ms = sqlc.arg(lease_ms)::bigint, lease_expires_at = now() + sqlc.arg(lease_ms)::bigint * interval '1 millisecond'
FROM picked
WHERE j.id = ANY (picked.ids)
RETURNING sqlc.embed(j), (SELECT s.tags FROM job_tag_sets s WHERE s.id = j.tag_set_id) AS tags;

-- name: QueueLock :one
-- Locks the job for a change that its fence, lease or status decides about.
SELECT sqlc.embed(j), s.tags, coalesce(j.lease_expires_at < now(), false)::boolean AS expired
FROM provisioner_jobs j JOIN job_tag_sets s ON s.id = j.tag_set_id
WHERE j.id = $1 FOR UPDATE OF j;

-- name: QueueJob :one
SELECT sqlc.embed(j), s.tags FROM provisioner_jobs j JOIN job_tag_sets s ON s.id = j.tag_set_id
WHERE j.id = $1;

-- name: QueueRenew :exec
UPDATE provisioner_jobs SET
    updated_at = now(), logs_length = sqlc.arg(logs_length), logs_overflowed = sqlc.arg(logs_overflowed),
    resumable = sqlc.arg(resumable), lease_expires_at = now() + sqlc.arg(lease_ms)::bigint * interval '1 millisecond'
WHERE id = sqlc.arg(id);

-- name: QueueKeep :exec
-- Renews a lease without a word of the worker: its job is still on the way to it.
UPDATE provisioner_jobs SET lease_expires_at = now() + sqlc.arg(lease_ms)::bigint * interval '1 millisecond'
WHERE id = sqlc.arg(id) AND fence = sqlc.arg(fence) AND started_at IS NOT NULL AND completed_at IS NULL;

-- name: QueueRelease :execrows
-- Puts a claimed job back among the pending: its worker never got it, or was
-- lost while the job had no effect outside but what its state tells.
UPDATE provisioner_jobs SET
    started_at = NULL, updated_at = now(), worker_id = NULL, worker_name = '', lease_expires_at = NULL, resumable = false
WHERE id = sqlc.arg(id) AND fence = sqlc.arg(fence) AND started_at IS NOT NULL AND completed_at IS NULL AND canceled_at IS NULL;

-- name: QueueEnd :exec
-- Ends the job. A job that succeeded although it was to be canceled succeeded.
UPDATE provisioner_jobs SET
    completed_at = now(), updated_at = now(), error = sqlc.arg(error), error_code = sqlc.arg(error_code),
    canceled_at = CASE WHEN sqlc.arg(succeeded)::boolean THEN NULL WHEN sqlc.arg(canceled)::boolean THEN coalesce(canceled_at, now()) ELSE canceled_at END
WHERE id = sqlc.arg(id);

-- name: QueueAskCancel :exec
UPDATE provisioner_jobs SET canceled_at = now(), updated_at = now() WHERE id = $1;

-- name: QueueExpired :many
-- Running jobs whose worker went silent, or did not end in time after it was
-- asked to cancel.
SELECT id FROM provisioner_jobs
WHERE started_at IS NOT NULL AND completed_at IS NULL
    AND (lease_expires_at < now() OR canceled_at < now() - sqlc.arg(force_cancel_ms)::bigint * interval '1 millisecond')
ORDER BY lease_expires_at LIMIT 50;

-- name: QueueUnserved :many
-- Jobs that wait longer than the given time while no provisioner that could
-- take them was seen in that time.
SELECT j.id, s.tags FROM provisioner_jobs j JOIN job_tag_sets s ON s.id = j.tag_set_id
WHERE j.started_at IS NULL AND j.completed_at IS NULL AND NOT j.held
    AND j.updated_at < now() - sqlc.arg(age_ms)::bigint * interval '1 millisecond'
    AND NOT EXISTS (
        SELECT FROM provisioner_daemons d
        WHERE d.organization_id = j.organization_id AND j.provisioner = ANY (d.provisioners)
            AND d.last_seen_at > now() - sqlc.arg(age_ms)::bigint * interval '1 millisecond'
            AND CASE WHEN s.tags = '{"scope": "organization", "owner": ""}' THEN s.tags = d.tags ELSE s.tags <@ d.tags END)
ORDER BY j.created_at LIMIT 10;

-- name: QueueJobs :many
-- What people read of jobs, with the names of what they are about.
SELECT sqlc.embed(j), s.tags,
    coalesce(t.id, '00000000-0000-0000-0000-000000000000')::uuid AS template_id,
    coalesce(t.name, '') AS template_name, coalesce(t.display_name, '') AS template_display_name,
    coalesce(t.icon, '') AS template_icon, coalesce(v.name, '') AS template_version_name,
    coalesce(w.id, '00000000-0000-0000-0000-000000000000')::uuid AS workspace_id, coalesce(w.name, '') AS workspace_name
FROM provisioner_jobs j
JOIN job_tag_sets s ON s.id = j.tag_set_id
LEFT JOIN workspace_builds b ON b.id = provisioner_job_input_id(j.input, 'workspace_build_id')
LEFT JOIN workspaces w ON w.id = b.workspace_id
LEFT JOIN template_versions v ON v.id = coalesce(b.template_version_id, provisioner_job_input_id(j.input, 'template_version_id'))
LEFT JOIN templates t ON t.id = v.template_id
WHERE j.id = ANY (sqlc.arg(ids)::uuid[]);

-- name: QueueOrder :many
-- The pending jobs of a tag set and kind in the order in which they are taken.
SELECT p.id FROM provisioner_jobs p
WHERE p.tag_set_id = @tag_set_id AND p.provisioner = @provisioner AND p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
ORDER BY p.priority, p.turn, p.created_at, p.id
LIMIT @max_rows;

-- name: QueueWorkers :many
-- Provisioners seen lately that could take each of the pending jobs.
SELECT j.id AS job_id, d.id AS daemon_id
FROM provisioner_jobs j
JOIN job_tag_sets s ON s.id = j.tag_set_id
JOIN provisioner_daemons d ON d.organization_id = j.organization_id AND j.provisioner = ANY (d.provisioners)
    AND CASE WHEN s.tags = '{"scope": "organization", "owner": ""}' THEN s.tags = d.tags ELSE s.tags <@ d.tags END
WHERE j.id = ANY (sqlc.arg(ids)::uuid[]) AND j.started_at IS NULL AND j.completed_at IS NULL
    AND d.last_seen_at > now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond';

-- name: QueueList :many
-- Ids of a page of an organizations jobs, the newest first.
SELECT j.id FROM provisioner_jobs j JOIN job_tag_sets s ON s.id = j.tag_set_id
WHERE j.organization_id = sqlc.arg(organization_id)
    AND (cardinality(sqlc.arg(ids)::uuid[]) = 0 OR j.id = ANY (sqlc.arg(ids)::uuid[]))
    AND (cardinality(sqlc.arg(statuses)::text[]) = 0 OR j.status = ANY (sqlc.arg(statuses)::text[]))
    AND (sqlc.narg(initiator_id)::uuid IS NULL OR j.initiator_id = sqlc.narg(initiator_id))
    AND sqlc.arg(tags)::jsonb <@ s.tags
ORDER BY j.created_at DESC, j.id
LIMIT sqlc.arg(max_rows) OFFSET sqlc.arg(skip_rows);

-- name: QueueOrganization :one
SELECT organization_id FROM provisioner_jobs WHERE id = $1;

-- name: QueueStatus :one
SELECT status, completed_at FROM provisioner_jobs WHERE id = $1;

-- name: QueueAddLogs :exec
INSERT INTO provisioner_job_logs (job_id, created_at, source, level, stage, output)
SELECT sqlc.arg(job_id), unnest(sqlc.arg(created_at)::timestamptz[]), unnest(sqlc.arg(source)::text[]), unnest(sqlc.arg(level)::text[]), unnest(sqlc.arg(stage)::text[]), unnest(sqlc.arg(output)::text[]);

-- name: QueueSetLogs :exec
UPDATE provisioner_jobs SET logs_length = sqlc.arg(logs_length), logs_overflowed = sqlc.arg(logs_overflowed) WHERE id = sqlc.arg(id);

-- name: QueueLogs :many
-- Lines with after < id, and id < before unless before is 0.
SELECT id, created_at, source, level, stage, output FROM provisioner_job_logs
WHERE job_id = sqlc.arg(job_id) AND id > sqlc.arg(after_id) AND (sqlc.arg(before_id)::bigint = 0 OR id < sqlc.arg(before_id))
ORDER BY id LIMIT sqlc.arg(max_rows);

-- name: QueueAddTimings :exec
INSERT INTO provisioner_job_timings (job_id, started_at, ended_at, stage, source, action, resource)
SELECT sqlc.arg(job_id), unnest(sqlc.arg(started_at)::timestamptz[]), unnest(sqlc.arg(ended_at)::timestamptz[]), unnest(sqlc.arg(stage)::text[]), unnest(sqlc.arg(source)::text[]), unnest(sqlc.arg(action)::text[]), unnest(sqlc.arg(resource)::text[]);

-- name: QueueTimings :many
SELECT * FROM provisioner_job_timings WHERE job_id = $1 ORDER BY started_at, resource;
