-- name: QueueDaemons :many
-- A page of an organization's daemons with their current job and the previous one. With an
-- owner, only daemons of that user. Jobs in other organizations that a daemon serves count as
-- busy and are not named.
WITH running AS MATERIALIZED (
    SELECT j.worker_id, count(*) AS jobs, max(j.started_at)::timestamptz AS since,
        (array_agg(j.id ORDER BY j.started_at DESC))[1] AS latest
    FROM provisioner_jobs j
    WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL
        AND j.organization_id = sqlc.arg(organization_id)
    GROUP BY j.worker_id
)
SELECT sqlc.embed(d), coalesce(k.name, '') AS key_name, x.status,
    (coalesce(r.jobs, 0) + coalesce(e.jobs, 0))::integer AS busy_slots,
    coalesce(r.since, e.since, 'epoch')::timestamptz AS busy_since,
    coalesce(r.latest, '00000000-0000-0000-0000-000000000000')::uuid AS current_job,
    coalesce((SELECT j.id FROM provisioner_jobs j WHERE j.worker_id = d.id AND j.completed_at IS NOT NULL
        ORDER BY j.started_at DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')::uuid AS previous_job
FROM provisioner_daemons d
LEFT JOIN provisioner_keys k ON k.id = d.key_id
LEFT JOIN running r ON r.worker_id = d.id
LEFT JOIN LATERAL (
    SELECT count(*) AS jobs, max(j.started_at)::timestamptz AS since
    FROM provisioner_daemons t JOIN provisioner_jobs j ON j.worker_id = t.id AND j.started_at IS NOT NULL AND j.completed_at IS NULL
    WHERE t.shared_id = d.shared_id AND t.id <> d.id
) e ON d.shared_id IS NOT NULL
CROSS JOIN LATERAL (
    SELECT (CASE
        WHEN d.last_seen_at IS NULL OR d.last_seen_at <= now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond' THEN 'offline'
        WHEN coalesce(r.jobs, 0) + coalesce(e.jobs, 0) >= d.slots THEN 'busy'
        ELSE 'idle' END)::text AS status
) x
WHERE d.organization_id = sqlc.arg(organization_id)
    AND (cardinality(sqlc.arg(ids)::uuid[]) = 0 OR d.id = ANY (sqlc.arg(ids)::uuid[]))
    AND (sqlc.narg(owner)::text IS NULL OR d.owner = sqlc.narg(owner))
    AND sqlc.arg(tags)::jsonb <@ d.tags
    AND (cardinality(sqlc.arg(statuses)::text[]) = 0 OR x.status = ANY (sqlc.arg(statuses)::text[]))
ORDER BY d.created_at DESC, d.id
LIMIT NULLIF(sqlc.arg(max_rows)::integer, 0) OFFSET sqlc.arg(skip_rows)::integer;

-- name: QueueMatched :one
-- The number of daemons that can run jobs with these tags and that engine, or any engine, and
-- how many of them are connected.
SELECT count(*) AS total,
    count(*) FILTER (WHERE d.last_seen_at > now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond') AS available,
    coalesce(max(greatest(d.left_at, d.last_seen_at)), 'epoch')::timestamptz AS last_seen_at
FROM provisioner_daemons d
WHERE d.organization_id = sqlc.arg(organization_id)
    AND (sqlc.arg(provisioner)::text = '' OR sqlc.arg(provisioner)::text = ANY (d.provisioners))
    AND CASE WHEN sqlc.arg(tags)::jsonb = '{"scope": "organization", "owner": ""}' THEN d.tags = sqlc.arg(tags)::jsonb ELSE sqlc.arg(tags)::jsonb <@ d.tags END;

-- name: QueueNeed :one
-- The requirements of a job, the origin of its tags, and whether the server has built-in
-- provisioners that could run it if its organization had a weight.
SELECT j.organization_id, j.tag_set_id, j.type, j.provisioner, j.status, j.priority, s.tags, o.name AS organization, o.is_default,
    coalesce(array(SELECT jsonb_object_keys(v.workspace_tags)), '{}')::text[] AS template_tags,
    (o.provisioner_weight = 0 AND EXISTS (
        SELECT FROM provisioner_daemons d
        WHERE d.shared_id IS NOT NULL AND j.provisioner = ANY (d.provisioners) AND d.tags = s.tags
            AND d.last_seen_at > now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond'))::boolean AS unserved
FROM provisioner_jobs j
JOIN job_tag_sets s ON s.id = j.tag_set_id
JOIN organizations o ON o.id = j.organization_id
LEFT JOIN workspace_builds b ON b.id = provisioner_job_input_id(j.input, 'workspace_build_id')
LEFT JOIN template_versions v ON v.id = coalesce(b.template_version_id, provisioner_job_input_id(j.input, 'template_version_id'))
WHERE j.id = sqlc.arg(id);

-- name: QueueReaders :many
-- The data for access checks of jobs: initiators, templates and workspaces.
SELECT j.id, j.organization_id, j.initiator_id, j.type,
    coalesce(w.id, '00000000-0000-0000-0000-000000000000')::uuid AS workspace_id,
    coalesce(w.owner_id, '00000000-0000-0000-0000-000000000000')::uuid AS owner_id,
    w.user_acl AS workspace_user_acl, w.group_acl AS workspace_group_acl,
    coalesce(t.id, '00000000-0000-0000-0000-000000000000')::uuid AS template_id,
    t.user_acl AS template_user_acl, t.group_acl AS template_group_acl, t.deleted_at AS template_deleted_at
FROM provisioner_jobs j
LEFT JOIN workspace_builds b ON b.id = provisioner_job_input_id(j.input, 'workspace_build_id')
LEFT JOIN workspaces w ON w.id = b.workspace_id
LEFT JOIN template_versions v ON v.id = provisioner_job_input_id(j.input, 'template_version_id')
LEFT JOIN templates t ON t.id = v.template_id
WHERE j.id = ANY (sqlc.arg(ids)::uuid[]);

-- name: QueueRunningOn :many
-- The current jobs of daemons, in any organization.
SELECT j.tag_set_id, j.type, extract(epoch FROM now() - j.started_at)::float8 AS elapsed_seconds
FROM provisioner_jobs j
WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL
    AND j.worker_id IN (
        SELECT unnest(sqlc.arg(workers)::uuid[])
        UNION SELECT t.id FROM provisioner_daemons d JOIN provisioner_daemons t ON t.shared_id = d.shared_id
            WHERE d.id = ANY (sqlc.arg(workers)::uuid[]) AND d.shared_id IS NOT NULL);

-- name: QueueMeans :many
-- The mean durations of recent jobs by tag set and type: of the last 200 of a set at most 50
-- of the type. Canceled jobs do not count.
SELECT p.tag_set_id::bigint AS tag_set_id, p.type::text AS type, l.seconds
FROM (SELECT unnest(sqlc.arg(tag_sets)::bigint[]) AS tag_set_id, unnest(sqlc.arg(types)::text[]) AS type) p
CROSS JOIN LATERAL (
    SELECT avg(m.seconds)::float8 AS seconds FROM (
        SELECT r.seconds FROM (
            SELECT j.type, j.status, extract(epoch FROM j.completed_at - j.started_at) AS seconds
            FROM provisioner_jobs j
            WHERE j.tag_set_id = p.tag_set_id AND j.completed_at IS NOT NULL AND j.started_at IS NOT NULL
            ORDER BY j.completed_at DESC LIMIT 200
        ) r
        WHERE r.type = p.type AND r.status IN ('succeeded', 'failed') LIMIT 50
    ) m
) l
WHERE l.seconds IS NOT NULL;

-- name: QueueOverview :many
-- Pending and running jobs by tag set, of one organization or of all. Sets with the given keys
-- are included even without jobs.
WITH pending AS MATERIALIZED (
    SELECT j.tag_set_id, count(*) AS jobs, min(j.created_at) AS oldest
    FROM provisioner_jobs j WHERE j.started_at IS NULL AND j.completed_at IS NULL AND NOT j.held
    GROUP BY j.tag_set_id
), held AS MATERIALIZED (
    SELECT j.tag_set_id, count(*) AS jobs
    FROM provisioner_jobs j WHERE j.template_id IS NOT NULL AND j.completed_at IS NULL AND j.held
    GROUP BY j.tag_set_id
), running AS MATERIALIZED (
    SELECT j.tag_set_id, count(*) AS jobs
    FROM provisioner_jobs j WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL
    GROUP BY j.tag_set_id
)
SELECT s.organization_id, o.name AS organization, s.key, s.tags,
    coalesce(p.jobs, 0)::bigint AS pending, coalesce(h.jobs, 0)::bigint AS held, coalesce(r.jobs, 0)::bigint AS running,
    coalesce(extract(epoch FROM now() - p.oldest), 0)::float8 AS oldest_seconds,
    coalesce(m.seconds, 0)::float8 AS mean_seconds
FROM job_tag_sets s
JOIN organizations o ON o.id = s.organization_id
LEFT JOIN pending p ON p.tag_set_id = s.id
LEFT JOIN held h ON h.tag_set_id = s.id
LEFT JOIN running r ON r.tag_set_id = s.id
CROSS JOIN LATERAL (
    SELECT avg(extract(epoch FROM l.completed_at - l.started_at)) AS seconds FROM (
        SELECT j.completed_at, j.started_at, j.status FROM provisioner_jobs j
        WHERE j.tag_set_id = s.id AND j.completed_at IS NOT NULL AND j.started_at IS NOT NULL
        ORDER BY j.completed_at DESC LIMIT 50
    ) l WHERE l.status IN ('succeeded', 'failed')
) m
WHERE (sqlc.narg(organization_id)::uuid IS NULL OR s.organization_id = sqlc.narg(organization_id))
    AND (p.jobs IS NOT NULL OR h.jobs IS NOT NULL OR r.jobs IS NOT NULL OR s.key = ANY (sqlc.arg(keys)::text[]));

-- name: QueueSlots :many
-- The slots of the connected daemons by tags, of one organization or of all.
WITH running AS MATERIALIZED (
    SELECT j.worker_id, count(*) AS jobs
    FROM provisioner_jobs j WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL
    GROUP BY j.worker_id
), shared AS MATERIALIZED (
    SELECT t.shared_id, sum(r.jobs) AS jobs
    FROM running r JOIN provisioner_daemons t ON t.id = r.worker_id AND t.shared_id IS NOT NULL
    GROUP BY t.shared_id
)
SELECT d.organization_id, o.name AS organization, d.tags,
    sum(d.slots)::bigint AS slots, sum(least(d.slots, coalesce(e.jobs, r.jobs, 0)))::bigint AS busy
FROM provisioner_daemons d
JOIN organizations o ON o.id = d.organization_id
LEFT JOIN running r ON r.worker_id = d.id
LEFT JOIN shared e ON e.shared_id = d.shared_id
WHERE (sqlc.narg(organization_id)::uuid IS NULL OR d.organization_id = sqlc.narg(organization_id))
    AND d.last_seen_at > now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond'
GROUP BY d.organization_id, o.name, d.tags;
