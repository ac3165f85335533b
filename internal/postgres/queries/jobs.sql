-- name: QueueTurns :one
-- A tag set, the clock of its jobs of an engine and class, and the latest turn of an
-- initiator, 0 for none.
SELECT s.id, provisioner_job_clock(s.id, @provisioner::text, @priority::smallint)::bigint AS clock,
    coalesce((SELECT p.turn FROM provisioner_jobs p
        WHERE p.tag_set_id = s.id AND p.provisioner = @provisioner AND p.priority = @priority AND p.initiator_id = @initiator_id
            AND (p.started_at IS NOT NULL OR p.completed_at IS NULL)
        ORDER BY p.turn DESC LIMIT 1), 0)::bigint AS latest
FROM job_tag_sets s WHERE s.organization_id = @organization_id AND s.key = @key;

-- name: QueueAddTagSet :one
-- Concurrent inserts of the same set return the same row.
INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, $2, $3)
ON CONFLICT (organization_id, key) DO UPDATE SET key = excluded.key
RETURNING id;

-- name: QueueAdd :exec
INSERT INTO provisioner_jobs (
    id, organization_id, initiator_id, type, provisioner, priority, tag_set_id, file_id, input, template_id, created_at, updated_at, turn, trace, held
) VALUES (
    @id, @organization_id, @initiator_id, @type, @provisioner, @priority, @tag_set_id, @file_id, @input, sqlc.narg(template_id)::uuid, now(), now(),
    @turn, @trace,
    coalesce(provisioner_job_held(sqlc.narg(template_id)::uuid), false)
);

-- name: QueueLetGo :one
-- Releases held builds of a template up to its limit, and returns their number.
SELECT provisioner_jobs_let_go(@template_id::uuid)::integer AS freed;

-- name: QueueHolds :one
-- Whether a template has builds that wait for its other builds.
SELECT EXISTS (SELECT FROM provisioner_jobs j WHERE j.template_id = @template_id::uuid AND j.held AND j.completed_at IS NULL) AS holds;

-- name: QueueHeldTemplates :many
-- Templates that hold builds back although their limit is not reached.
SELECT t.id, t.organization_id FROM templates t
WHERE t.id IN (SELECT j.template_id FROM provisioner_jobs j WHERE j.template_id IS NOT NULL AND j.held AND j.completed_at IS NULL)
    AND (t.max_concurrent_builds = 0 OR t.max_concurrent_builds > (SELECT count(*) FROM provisioner_jobs p
        WHERE p.template_id = t.id AND p.completed_at IS NULL AND NOT p.held))
LIMIT 50;

-- name: QueueHeld :one
-- The reason why a held build waits.
SELECT t.name, t.max_concurrent_builds,
    (SELECT count(*) FROM provisioner_jobs p WHERE p.template_id = t.id AND p.completed_at IS NULL AND NOT p.held) AS active,
    (SELECT count(*) FROM provisioner_jobs p WHERE p.template_id = t.id AND p.completed_at IS NULL AND p.held
        AND (p.priority, p.turn, p.created_at, p.id) <= (j.priority, j.turn, j.created_at, j.id)) AS place
FROM provisioner_jobs j JOIN templates t ON t.id = j.template_id
WHERE j.id = $1 AND j.held AND j.completed_at IS NULL;

-- name: QueueClaim :many
-- Assigns pending jobs to the waiting workers of one organization, tag set and engine, at most
-- one each, the most urgent class first. Within a tag set the order is that of the turns. The
-- tag sets that the workers match take turns, and the next job of an initiator who was served
-- least recently comes first. A tag set matches as codersdk.Tags.Match does: the untagged set
-- only itself, any other if it is contained. Jobs that another server is claiming are skipped.
WITH sets AS MATERIALIZED (
    SELECT s.id FROM job_tag_sets s
    WHERE s.organization_id = sqlc.arg(organization_id) AND CASE
        WHEN s.tags = '{"scope": "organization", "owner": ""}' THEN s.tags = sqlc.arg(tags)::jsonb
        ELSE s.tags <@ sqlc.arg(tags)::jsonb END
), picked AS MATERIALIZED (
        -- One row with an array, because the planner does not know the number of jobs and
        -- would read the whole table to join them.
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

-- name: QueuePending :many
-- Returns the tag sets and engines of an organization's jobs that wait for a provisioner. It reads
-- one entry of the index provisioner_jobs_pending for each pair.
WITH RECURSIVE pending AS (
    (SELECT p.tag_set_id, p.provisioner FROM provisioner_jobs p
    WHERE p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
    ORDER BY p.tag_set_id, p.provisioner LIMIT 1)
    UNION ALL
    SELECT n.tag_set_id, n.provisioner FROM pending l CROSS JOIN LATERAL (
        SELECT p.tag_set_id, p.provisioner FROM provisioner_jobs p
        WHERE p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
            AND (p.tag_set_id, p.provisioner) > (l.tag_set_id, l.provisioner)
        ORDER BY p.tag_set_id, p.provisioner LIMIT 1
    ) n
)
SELECT s.tags, pending.provisioner FROM pending JOIN job_tag_sets s ON s.id = pending.tag_set_id
WHERE s.organization_id = $1;

-- name: QueueLock :one
-- Locks the job for a change that depends on its fence, lease or status. now is the time to compare its times with.
SELECT sqlc.embed(j), s.tags, coalesce(j.lease_expires_at < now(), false)::boolean AS expired, now()::timestamptz AS now
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
-- Renews a lease without an update of the worker, while the job is on its way to it.
UPDATE provisioner_jobs SET lease_expires_at = now() + sqlc.arg(lease_ms)::bigint * interval '1 millisecond'
WHERE id = sqlc.arg(id) AND fence = sqlc.arg(fence) AND started_at IS NOT NULL AND completed_at IS NULL;

-- name: QueueRelease :execrows
-- Returns a claimed job to the queue: its worker did not receive it, or was lost while the
-- job had no effects beyond its reported state.
UPDATE provisioner_jobs SET
    started_at = NULL, updated_at = now(), worker_id = NULL, worker_name = '', lease_expires_at = NULL, resumable = false
WHERE id = sqlc.arg(id) AND fence = sqlc.arg(fence) AND started_at IS NOT NULL AND completed_at IS NULL AND canceled_at IS NULL;

-- name: QueueEnd :exec
-- Ends the job. A job that succeeded although it was being canceled is succeeded.
UPDATE provisioner_jobs SET
    completed_at = now(), updated_at = now(), error = sqlc.arg(error), error_code = sqlc.arg(error_code),
    canceled_at = CASE WHEN sqlc.arg(succeeded)::boolean THEN NULL WHEN sqlc.arg(canceled)::boolean THEN coalesce(canceled_at, now()) ELSE canceled_at END
WHERE id = sqlc.arg(id);

-- name: QueueAskCancel :exec
UPDATE provisioner_jobs SET canceled_at = now(), updated_at = now() WHERE id = $1;

-- name: QueueExpired :many
-- Running jobs whose lease has expired, or that did not end in time after they were
-- canceled.
SELECT id FROM provisioner_jobs
WHERE started_at IS NOT NULL AND completed_at IS NULL
    AND (lease_expires_at < now() OR canceled_at < now() - sqlc.arg(force_cancel_ms)::bigint * interval '1 millisecond')
ORDER BY lease_expires_at LIMIT 50;

-- name: QueueUnserved :many
-- Jobs that have waited longer than the given time without a connected provisioner that can
-- run them.
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
-- The columns of jobs for the API, with the names of their templates and workspaces.
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
-- The pending jobs of a tag set and engine in the order in which they are claimed.
SELECT p.id FROM provisioner_jobs p
WHERE p.tag_set_id = @tag_set_id AND p.provisioner = @provisioner AND p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
ORDER BY p.priority, p.turn, p.created_at, p.id
LIMIT @max_rows;

-- name: QueueWorkers :many
-- The recently connected provisioners that can run each of the pending jobs.
SELECT j.id AS job_id, d.id AS daemon_id
FROM provisioner_jobs j
JOIN job_tag_sets s ON s.id = j.tag_set_id
JOIN provisioner_daemons d ON d.organization_id = j.organization_id AND j.provisioner = ANY (d.provisioners)
    AND CASE WHEN s.tags = '{"scope": "organization", "owner": ""}' THEN s.tags = d.tags ELSE s.tags <@ d.tags END
WHERE j.id = ANY (sqlc.arg(ids)::uuid[]) AND j.started_at IS NULL AND j.completed_at IS NULL
    AND d.last_seen_at > now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond';

-- name: QueueList :many
-- The IDs of a page of an organization's jobs, the newest first.
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

-- name: JobsWithLogs :many
-- A page of the jobs with logs, by ID after a given one, and whether the logs of each can be
-- deleted: the job ended long enough ago, and it is neither the latest build of a
-- workspace nor the import of an active version. The recursion reads one row of each job.
WITH RECURSIVE ids AS (
    (SELECT l.job_id AS id FROM provisioner_job_logs l WHERE l.job_id > sqlc.arg(after)::uuid ORDER BY l.job_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.job_id FROM provisioner_job_logs l WHERE l.job_id > ids.id ORDER BY l.job_id LIMIT 1) FROM ids WHERE ids.id IS NOT NULL
), page AS (SELECT ids.id FROM ids WHERE ids.id IS NOT NULL LIMIT 500)
SELECT j.id, (j.completed_at IS NOT NULL AND j.completed_at < now() - sqlc.arg(keep_seconds)::bigint * interval '1 second'
    AND NOT EXISTS (SELECT FROM workspace_builds b JOIN workspaces w ON w.latest_build_id = b.id AND w.deleted_at IS NULL WHERE b.job_id = j.id)
    AND NOT EXISTS (SELECT FROM template_versions v JOIN templates t ON t.active_version_id = v.id AND t.deleted_at IS NULL WHERE v.job_id = j.id)
    )::boolean AS deletable
FROM page JOIN provisioner_jobs j ON j.id = page.id ORDER BY j.id;

-- name: JobPurgeLogs :execrows
-- Deletes a batch of the log of a job.
DELETE FROM provisioner_job_logs WHERE id = ANY (ARRAY(
    SELECT l.id FROM provisioner_job_logs l WHERE l.job_id = $1 ORDER BY l.id LIMIT 1000));

-- name: JobsWithTimings :many
-- A page of the jobs with timings, as JobsWithLogs.
WITH RECURSIVE ids AS (
    (SELECT l.job_id AS id FROM provisioner_job_timings l WHERE l.job_id > sqlc.arg(after)::uuid ORDER BY l.job_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.job_id FROM provisioner_job_timings l WHERE l.job_id > ids.id ORDER BY l.job_id LIMIT 1) FROM ids WHERE ids.id IS NOT NULL
), page AS (SELECT ids.id FROM ids WHERE ids.id IS NOT NULL LIMIT 500)
SELECT j.id, (j.completed_at IS NOT NULL AND j.completed_at < now() - sqlc.arg(keep_seconds)::bigint * interval '1 second'
    AND NOT EXISTS (SELECT FROM workspace_builds b JOIN workspaces w ON w.latest_build_id = b.id AND w.deleted_at IS NULL WHERE b.job_id = j.id)
    )::boolean AS deletable
FROM page JOIN provisioner_jobs j ON j.id = page.id ORDER BY j.id;

-- name: JobPurgeTimings :execrows
-- Deletes a batch of the timings of a job and of the scripts of its agents.
WITH scripts AS (
    DELETE FROM workspace_agent_script_timings s USING workspace_agents a, workspace_resources r
    WHERE r.job_id = $1 AND a.resource_id = r.id AND s.agent_id = a.id)
DELETE FROM provisioner_job_timings WHERE ctid = ANY (ARRAY(
    SELECT t.ctid FROM provisioner_job_timings t WHERE t.job_id = $1 LIMIT 1000));
