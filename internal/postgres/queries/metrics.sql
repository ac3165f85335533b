-- Metrics. Template names can repeat across organizations, so rows with the same names are
-- added up.

-- name: BuildMeasured :one
-- The data of a finished build for metrics.
SELECT o.name AS organization, t.name AS template, v.name AS version, w.name AS workspace, u.username AS owner, u.email AS owner_email,
    coalesce((SELECT e.preset->>'name' FROM jsonb_array_elements(v.presets) AS e(preset) WHERE e.preset->>'id' = b.preset_id::text LIMIT 1), '')::text AS preset,
    b.transition, b.build_number, j.status, u.is_system AS prebuilt, extract(epoch FROM j.completed_at - b.created_at)::double precision AS seconds
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.completed_at IS NOT NULL
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
JOIN organizations o ON o.id = t.organization_id
JOIN template_versions v ON v.id = b.template_version_id
WHERE b.id = $1;

-- name: MetricUsers :one
-- The number of active users, and of users seen since a time.
SELECT count(*) FILTER (WHERE status = 'active')::bigint AS active, count(*) FILTER (WHERE last_seen_at >= sqlc.arg(since)::timestamptz)::bigint AS seen
FROM users WHERE deleted_at IS NULL AND NOT is_system AND NOT is_service_account;

-- name: MetricUserCounts :many
-- The number of users by status.
SELECT status, count(*)::bigint AS users FROM users WHERE deleted_at IS NULL AND NOT is_system GROUP BY status ORDER BY status;

-- name: MetricReplicas :one
-- The number of replicas with a heartbeat since a time, and of those that ended without a
-- stop and have no successor on their host.
SELECT count(*) FILTER (WHERE updated_at >= sqlc.arg(since)::timestamptz)::bigint AS alive,
    count(*) FILTER (WHERE updated_at < sqlc.arg(since)::timestamptz
        AND NOT EXISTS (SELECT FROM replicas n WHERE n.hostname = r.hostname AND n.started_at > r.started_at))::bigint AS lost
FROM replicas r WHERE stopped_at IS NULL;

-- name: MetricLatestStatus :many
-- The number of workspaces by the status of their latest build.
SELECT j.status, count(*)::bigint AS workspaces
FROM workspaces w
CROSS JOIN LATERAL (SELECT last.job_id FROM workspace_builds last WHERE last.workspace_id = w.id ORDER BY last.build_number DESC LIMIT 1) b
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.deleted_at IS NULL
GROUP BY j.status ORDER BY j.status;

-- name: MetricLatestBuilds :many
-- The same by template, version, owner and transition: the largest groups.
SELECT t.name AS template, v.name AS version, u.username AS owner, b.transition, j.status, count(*)::bigint AS workspaces
FROM workspaces w
CROSS JOIN LATERAL (
    SELECT last.job_id, last.transition, last.template_version_id FROM workspace_builds last
    WHERE last.workspace_id = w.id ORDER BY last.build_number DESC LIMIT 1
) b
JOIN provisioner_jobs j ON j.id = b.job_id
JOIN templates t ON t.id = w.template_id
JOIN template_versions v ON v.id = b.template_version_id
JOIN users u ON u.id = w.owner_id
WHERE w.deleted_at IS NULL
GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC, 1, 2, 3, 4, 5
LIMIT sqlc.arg(max_rows)::integer;

-- name: MetricActiveUsers :many
-- The number of active users in workspaces of each template since a time, which is a whole
-- hour.
SELECT t.name AS template, count(DISTINCT x.user_id) FILTER (WHERE x.user_id NOT IN (SELECT p.id FROM users p WHERE p.is_service_account))::bigint AS users
FROM (
    SELECT g.user_id, g.template_id FROM workspace_usage g WHERE g.hour >= sqlc.arg(since)::timestamptz
    UNION
    SELECT s.user_id, w.template_id FROM workspace_app_stats s JOIN workspaces w ON w.id = s.workspace_id
    WHERE s.ended_at >= sqlc.arg(since)::timestamptz AND s.user_id IS NOT NULL
) x JOIN templates t ON t.id = x.template_id
GROUP BY 1 ORDER BY 1
LIMIT sqlc.arg(max_rows)::integer;

-- name: MetricTemplateNames :many
SELECT id, name FROM templates WHERE id = ANY(sqlc.arg(ids)::uuid[]);
