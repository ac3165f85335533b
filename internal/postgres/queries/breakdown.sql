-- Usage and costs by day, organization, template and user. A nil UUID means all.

-- name: BreakdownSettings :exec
-- Prepares a transaction for the queries below, which sort and group many rows.
SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true);

-- name: BreakdownUse :many
-- The active users and the active time of each day, organization, template and user, and
-- of all. Days start at the given times and end at the next one. An hour of a user counts
-- once for each workspace: time in apps counts in hours without sessions. Of organizations,
-- templates and users, those with the most time are returned.
WITH app AS MATERIALIZED (
    SELECT s.workspace_id, s.user_id, e.hour, sum(extract(epoch FROM least(s.ended_at, e.hour + interval '1 hour') - greatest(s.started_at, e.hour)))::double precision AS seconds
    FROM workspace_app_stats s
    -- The planner expects 1000 rows of generate_series, and 10 elements of an array.
    CROSS JOIN LATERAL unnest(ARRAY(SELECT generate_series(date_bin('1 hour', greatest(s.started_at, sqlc.arg(starts)::timestamptz), '2000-01-01Z'),
        least(s.ended_at, sqlc.arg(ends)::timestamptz - interval '1 microsecond'), interval '1 hour'))) AS e (hour)
    WHERE s.ended_at >= sqlc.arg(starts)::timestamptz AND s.started_at < sqlc.arg(ends)::timestamptz AND s.user_id IS NOT NULL
        AND (sqlc.arg(user_id)::uuid = '00000000-0000-0000-0000-000000000000' OR s.user_id = sqlc.arg(user_id)::uuid)
    GROUP BY 1, 2, 3
), used AS MATERIALIZED (
    SELECT x.n, t.organization_id, x.template_id, x.user_id, sum(x.seconds) AS seconds
    FROM (
        SELECT width_bucket(g.hour, sqlc.arg(days)::timestamptz[]) AS n, g.template_id, g.user_id, sum(least(3600, g.seconds))::double precision AS seconds
        FROM workspace_usage g
        WHERE g.hour >= sqlc.arg(starts)::timestamptz AND g.hour < sqlc.arg(ends)::timestamptz
            AND (sqlc.arg(template_id)::uuid = '00000000-0000-0000-0000-000000000000' OR g.template_id = sqlc.arg(template_id)::uuid)
            AND (sqlc.arg(user_id)::uuid = '00000000-0000-0000-0000-000000000000' OR g.user_id = sqlc.arg(user_id)::uuid)
        GROUP BY 1, 2, 3
        UNION ALL
        SELECT width_bucket(greatest(a.hour, sqlc.arg(starts)::timestamptz), sqlc.arg(days)::timestamptz[]), w.template_id, a.user_id, sum(least(3600, a.seconds))
        FROM app a JOIN workspaces w ON w.id = a.workspace_id
        WHERE (sqlc.arg(template_id)::uuid = '00000000-0000-0000-0000-000000000000' OR w.template_id = sqlc.arg(template_id)::uuid)
            AND NOT EXISTS (
                SELECT 1 FROM workspace_usage g
                WHERE g.hour = a.hour AND g.workspace_id = a.workspace_id AND g.user_id = a.user_id
                    AND g.hour >= sqlc.arg(starts)::timestamptz AND g.hour < sqlc.arg(ends)::timestamptz)
        GROUP BY 1, 2, 3
    ) x JOIN templates t ON t.id = x.template_id
    WHERE (sqlc.arg(organization_id)::uuid = '00000000-0000-0000-0000-000000000000' OR t.organization_id = sqlc.arg(organization_id)::uuid)
    GROUP BY 1, 2, 3, 4
)
SELECT r.kind::text AS kind, r.n::integer AS n, r.id::uuid AS id, r.users::bigint AS users, r.seconds::double precision AS seconds
FROM (
    SELECT 'all' AS kind, 0 AS n, '00000000-0000-0000-0000-000000000000'::uuid AS id, count(DISTINCT user_id) AS users, coalesce(sum(seconds), 0) AS seconds FROM used
    UNION ALL
    SELECT 'day', n, '00000000-0000-0000-0000-000000000000', count(DISTINCT user_id), sum(seconds) FROM used GROUP BY n
    UNION ALL
    (SELECT 'organization', 0, organization_id, count(DISTINCT user_id), sum(seconds) FROM used GROUP BY organization_id ORDER BY 5 DESC, 3 LIMIT sqlc.arg(most)::integer)
    UNION ALL
    (SELECT 'template', 0, template_id, count(DISTINCT user_id), sum(seconds) FROM used GROUP BY template_id ORDER BY 5 DESC, 3 LIMIT sqlc.arg(most)::integer)
    UNION ALL
    (SELECT 'user', 0, user_id, 1, sum(seconds) FROM used GROUP BY user_id ORDER BY 5 DESC, 3 LIMIT sqlc.arg(most)::integer)
) r;

-- name: BreakdownCost :many
-- The costs of workspaces in a period. The cost of a workspace is that of its latest build,
-- in credits per 24 hours, so the sum over time follows from the costs now and the changes
-- since the start. The row "all" has the costs at the start in credits; a row "day" has the
-- sum of its changes in credits, and in weighted that of the changes times the seconds since
-- the start of the period; the other rows have the sum of the period in credits times
-- seconds in weighted. Organizations, templates and users with the highest sums are returned.
WITH scope AS MATERIALIZED (
    SELECT w.id, w.organization_id, w.template_id, w.owner_id, w.latest_build_id FROM workspaces w
    WHERE w.created_at < sqlc.arg(ends)::timestamptz AND (w.deleted_at IS NULL OR w.deleted_at >= sqlc.arg(starts)::timestamptz)
        AND (sqlc.arg(organization_id)::uuid = '00000000-0000-0000-0000-000000000000' OR w.organization_id = sqlc.arg(organization_id)::uuid)
        AND (sqlc.arg(template_id)::uuid = '00000000-0000-0000-0000-000000000000' OR w.template_id = sqlc.arg(template_id)::uuid)
        AND (sqlc.arg(user_id)::uuid = '00000000-0000-0000-0000-000000000000' OR w.owner_id = sqlc.arg(user_id)::uuid)
), change AS MATERIALIZED (
    SELECT c.workspace_id, c.created_at, c.daily_cost - coalesce(c.before, (
        SELECT p.daily_cost FROM workspace_builds p WHERE p.workspace_id = c.workspace_id AND p.build_number < c.build_number ORDER BY p.build_number DESC LIMIT 1), 0) AS delta
    FROM (
        SELECT b.workspace_id, b.build_number, b.created_at, b.daily_cost,
            lag(b.daily_cost) OVER (PARTITION BY b.workspace_id ORDER BY b.build_number) AS before
        FROM workspace_builds b JOIN scope w ON w.id = b.workspace_id
        WHERE b.created_at >= sqlc.arg(starts)::timestamptz
    ) c
), owned AS MATERIALIZED (
    SELECT w.organization_id, w.template_id, w.owner_id, sum(b.daily_cost - coalesce(d.delta, 0)) AS first,
        sum((b.daily_cost - coalesce(d.delta, 0)) * extract(epoch FROM sqlc.arg(ends)::timestamptz - sqlc.arg(starts)::timestamptz) + coalesce(d.weighted, 0)) AS weighted
    FROM scope w
    CROSS JOIN LATERAL (SELECT l.daily_cost FROM workspace_builds l WHERE l.id = w.latest_build_id LIMIT 1) b -- the limit keeps it a lookup by the key
    LEFT JOIN (
        SELECT workspace_id, sum(delta) AS delta,
            sum(delta * extract(epoch FROM sqlc.arg(ends)::timestamptz - least(created_at, sqlc.arg(ends)::timestamptz))) AS weighted
        FROM change WHERE delta <> 0 GROUP BY workspace_id
    ) d ON d.workspace_id = w.id
    GROUP BY 1, 2, 3
)
SELECT r.kind::text AS kind, r.n::integer AS n, r.id::uuid AS id, r.credits::bigint AS credits, r.weighted::double precision AS weighted
FROM (
    SELECT 'all' AS kind, 0 AS n, '00000000-0000-0000-0000-000000000000'::uuid AS id, coalesce(sum(first), 0) AS credits, coalesce(sum(weighted), 0) AS weighted FROM owned
    UNION ALL
    SELECT 'day', width_bucket(created_at, sqlc.arg(days)::timestamptz[]), '00000000-0000-0000-0000-000000000000', sum(delta),
        sum(delta * extract(epoch FROM created_at - sqlc.arg(starts)::timestamptz))
    FROM change WHERE delta <> 0 AND created_at < sqlc.arg(ends)::timestamptz GROUP BY 2
    UNION ALL
    (SELECT 'organization', 0, organization_id, 0, sum(weighted) FROM owned GROUP BY organization_id ORDER BY 5 DESC, 3 LIMIT sqlc.arg(most)::integer)
    UNION ALL
    (SELECT 'template', 0, template_id, 0, sum(weighted) FROM owned GROUP BY template_id ORDER BY 5 DESC, 3 LIMIT sqlc.arg(most)::integer)
    UNION ALL
    (SELECT 'user', 0, owner_id, 0, sum(weighted) FROM owned GROUP BY owner_id ORDER BY 5 DESC, 3 LIMIT sqlc.arg(most)::integer)
) r;

-- name: BreakdownNames :many
-- The names of organizations, templates and users, deleted ones included.
SELECT 'organization'::text AS kind, o.id, o.name, o.display_name FROM organizations o WHERE o.id = ANY(sqlc.arg(ids)::uuid[])
UNION ALL
SELECT 'template', t.id, t.name, t.display_name FROM templates t WHERE t.id = ANY(sqlc.arg(ids)::uuid[])
UNION ALL
SELECT 'user', u.id, u.username, u.name FROM users u WHERE u.id = ANY(sqlc.arg(ids)::uuid[]);

-- name: BreakdownVersions :many
-- The template versions of running workspaces, the most used first.
SELECT o.name AS organization_name, t.id AS template_id, t.name AS template_name, v.id AS version_id, v.name AS version_name,
    (t.active_version_id = v.id)::boolean AS active, v.created_at, x.workspaces::bigint AS workspaces
FROM (
    SELECT w.template_id, b.template_version_id, count(*) AS workspaces
    FROM workspaces w JOIN workspace_builds b ON b.id = w.latest_build_id JOIN provisioner_jobs j ON j.id = b.job_id
    WHERE w.deleted_at IS NULL AND b.transition = 'start' AND j.status = 'succeeded'
        AND (sqlc.arg(organization_id)::uuid = '00000000-0000-0000-0000-000000000000' OR w.organization_id = sqlc.arg(organization_id)::uuid)
        AND (sqlc.arg(template_id)::uuid = '00000000-0000-0000-0000-000000000000' OR w.template_id = sqlc.arg(template_id)::uuid)
    GROUP BY 1, 2
) x
JOIN templates t ON t.id = x.template_id JOIN organizations o ON o.id = t.organization_id JOIN template_versions v ON v.id = x.template_version_id
ORDER BY x.workspaces DESC, o.name, t.name, v.created_at DESC LIMIT sqlc.arg(most)::integer;

-- name: BreakdownAgents :many
-- The versions of connected agents, the most used first.
SELECT a.version, count(*)::bigint AS agents
FROM workspace_agents a JOIN workspaces w ON w.id = a.current_workspace_id
WHERE w.deleted_at IS NULL AND a.version <> '' AND a.disconnected_at IS NULL AND a.last_connected_at >= sqlc.arg(heard)::timestamptz
    AND (sqlc.arg(organization_id)::uuid = '00000000-0000-0000-0000-000000000000' OR w.organization_id = sqlc.arg(organization_id)::uuid)
    AND (sqlc.arg(template_id)::uuid = '00000000-0000-0000-0000-000000000000' OR w.template_id = sqlc.arg(template_id)::uuid)
GROUP BY a.version ORDER BY 2 DESC, 1 LIMIT sqlc.arg(most)::integer;

-- name: BreakdownClients :many
-- The versions of the CLI that users used last, of those whose CLI changed something or
-- connected to a workspace since a time.
SELECT l.version::text AS version, count(*)::bigint AS users
FROM (
    SELECT DISTINCT ON (x.user_id) substring(x.user_agent FROM '^coder-cli/([^ ]+)') AS version
    FROM (
        SELECT g.user_id, g.user_agent, g.time FROM audit_logs g
        WHERE g.time >= sqlc.arg(since)::timestamptz AND g.user_agent LIKE 'coder-cli/_%'
            AND (sqlc.arg(organization_id)::uuid = '00000000-0000-0000-0000-000000000000' OR g.organization_id = sqlc.arg(organization_id)::uuid)
        UNION ALL
        SELECT c.user_id, c.user_agent, c.connect_time FROM connection_logs c
        WHERE c.connect_time >= sqlc.arg(since)::timestamptz AND c.user_agent LIKE 'coder-cli/_%'
            AND (sqlc.arg(organization_id)::uuid = '00000000-0000-0000-0000-000000000000' OR c.organization_id = sqlc.arg(organization_id)::uuid)
    ) x
    WHERE x.user_id IS NOT NULL
    ORDER BY x.user_id, x.time DESC
) l
WHERE l.version IS NOT NULL
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT sqlc.arg(most)::integer;
