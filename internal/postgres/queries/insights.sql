-- name: InsightTemplates :many
-- The data that access checks of template insights need.
SELECT id, organization_id, user_acl, group_acl FROM templates WHERE id = ANY(sqlc.arg(ids)::uuid[]);

-- name: InsightActiveUsers :many
-- The number of active users in each of some periods, and the templates of their
-- workspaces. Periods start at whole hours. No templates means all.
SELECT i.n::bigint AS n, count(DISTINCT x.user_id) FILTER (WHERE x.user_id NOT IN (SELECT p.id FROM users p WHERE p.is_service_account))::bigint AS users,
    coalesce(array_agg(DISTINCT x.template_id) FILTER (WHERE x.template_id IS NOT NULL), '{}')::uuid[] AS templates
FROM ROWS FROM (unnest(sqlc.arg(starts)::timestamptz[]), unnest(sqlc.arg(ends)::timestamptz[])) WITH ORDINALITY AS i (starts, ends, n)
LEFT JOIN LATERAL (
    SELECT u.user_id, u.template_id FROM workspace_usage u
    WHERE u.hour >= i.starts AND u.hour < i.ends
        AND (cardinality(sqlc.arg(templates)::uuid[]) = 0 OR u.template_id = ANY(sqlc.arg(templates)::uuid[]))
    UNION
    SELECT s.user_id, w.template_id FROM workspace_app_stats s JOIN workspaces w ON w.id = s.workspace_id
    WHERE s.ended_at >= i.starts AND s.started_at < i.ends AND s.user_id IS NOT NULL
        AND (cardinality(sqlc.arg(templates)::uuid[]) = 0 OR w.template_id = ANY(sqlc.arg(templates)::uuid[]))
) x ON true
GROUP BY i.n ORDER BY i.n;

-- name: InsightSessions :many
-- The duration of sessions of each kind, by template. Concurrent sessions of one user count
-- once.
SELECT h.template_id,
    sum(least(3600, h.ssh))::bigint AS ssh, sum(least(3600, h.vscode))::bigint AS vscode,
    sum(least(3600, h.jetbrains))::bigint AS jetbrains, sum(least(3600, h.reconnecting_pty))::bigint AS reconnecting_pty,
    count(DISTINCT h.user_id) FILTER (WHERE h.ssh > 0 AND NOT h.is_program)::bigint AS ssh_users, count(DISTINCT h.user_id) FILTER (WHERE h.vscode > 0 AND NOT h.is_program)::bigint AS vscode_users,
    count(DISTINCT h.user_id) FILTER (WHERE h.jetbrains > 0 AND NOT h.is_program)::bigint AS jetbrains_users,
    count(DISTINCT h.user_id) FILTER (WHERE h.reconnecting_pty > 0 AND NOT h.is_program)::bigint AS reconnecting_pty_users
FROM (
    SELECT u.template_id, u.user_id, u.hour, u.user_id IN (SELECT p.id FROM users p WHERE p.is_service_account) AS is_program, sum(u.ssh_seconds) AS ssh, sum(u.vscode_seconds) AS vscode, sum(u.jetbrains_seconds) AS jetbrains,
        sum(u.reconnecting_pty_seconds) AS reconnecting_pty
    FROM workspace_usage u
    WHERE u.hour >= sqlc.arg(starts)::timestamptz AND u.hour < sqlc.arg(ends)::timestamptz
        AND (cardinality(sqlc.arg(templates)::uuid[]) = 0 OR u.template_id = ANY(sqlc.arg(templates)::uuid[]))
    GROUP BY 1, 2, 3
) h GROUP BY h.template_id ORDER BY h.template_id;

-- name: InsightApps :many
-- The duration and number of uses of apps and ports, by template.
SELECT s.slug_or_port, coalesce(max(a.display_name), '')::text AS display_name, coalesce(max(a.icon), '')::text AS icon, w.template_id,
    sum(-extract(epoch FROM greatest(s.started_at, sqlc.arg(starts)::timestamptz) - least(s.ended_at, sqlc.arg(ends)::timestamptz)))::bigint AS seconds,
    count(*)::bigint AS times
FROM workspace_app_stats s
JOIN workspaces w ON w.id = s.workspace_id
LEFT JOIN workspace_apps a ON a.agent_id = s.agent_id AND a.slug = s.slug_or_port
WHERE s.ended_at >= sqlc.arg(starts)::timestamptz AND s.started_at < sqlc.arg(ends)::timestamptz AND s.access_method <> 'terminal'
    AND (cardinality(sqlc.arg(templates)::uuid[]) = 0 OR w.template_id = ANY(sqlc.arg(templates)::uuid[]))
GROUP BY s.slug_or_port, w.template_id
ORDER BY seconds DESC, s.slug_or_port, w.template_id LIMIT 1000;

-- name: InsightParameters :many
-- The parameter values of workspaces that were built: for each workspace those of the last
-- start in the period.
SELECT w.template_id, (p ->> 'name')::text AS name, (p ->> 'value')::text AS value, count(*)::bigint AS workspaces
FROM workspaces w
CROSS JOIN LATERAL (
    SELECT b.parameters FROM workspace_builds b
    WHERE b.workspace_id = w.id AND b.transition = 'start' AND b.created_at >= sqlc.arg(starts)::timestamptz AND b.created_at < sqlc.arg(ends)::timestamptz
    ORDER BY b.build_number DESC LIMIT 1) b
CROSS JOIN LATERAL jsonb_array_elements(b.parameters) p
WHERE w.created_at < sqlc.arg(ends)::timestamptz AND (w.deleted_at IS NULL OR w.deleted_at >= sqlc.arg(starts)::timestamptz)
    AND (cardinality(sqlc.arg(templates)::uuid[]) = 0 OR w.template_id = ANY(sqlc.arg(templates)::uuid[]))
GROUP BY 1, 2, 3
ORDER BY workspaces DESC, 1, 2, 3 LIMIT 2000;

-- name: InsightParameterRows :many
-- The parameters of the active versions of templates.
SELECT t.id AS template_id, v.parameters FROM templates t JOIN template_versions v ON v.id = t.active_version_id
WHERE t.id = ANY(sqlc.arg(templates)::uuid[]);

-- name: InsightUserActivity :many
-- The active time of users, at most one hour each hour, the most active first.
SELECT u.id, u.username, u.avatar_url, x.seconds, x.templates
FROM (
    SELECT h.user_id, sum(least(3600, h.seconds))::bigint AS seconds,
        (SELECT array_agg(DISTINCT t) FROM unnest(string_to_array(string_agg(h.templates, ','), ',')::uuid[]) t)::uuid[] AS templates
    FROM (
        SELECT b.user_id, b.hour, sum(b.seconds) AS seconds, string_agg(DISTINCT b.template_id::text, ',') AS templates
        FROM (
            SELECT g.user_id, g.hour, g.seconds::double precision AS seconds, g.template_id FROM workspace_usage g
            WHERE g.hour >= sqlc.arg(starts)::timestamptz AND g.hour < sqlc.arg(ends)::timestamptz
            UNION ALL
            SELECT s.user_id, e.hour, extract(epoch FROM least(s.ended_at, e.hour + interval '1 hour') - greatest(s.started_at, e.hour)), w.template_id
            FROM workspace_app_stats s JOIN workspaces w ON w.id = s.workspace_id
            CROSS JOIN LATERAL generate_series(date_bin('1 hour', greatest(s.started_at, sqlc.arg(starts)::timestamptz), '2000-01-01Z'),
                least(s.ended_at, sqlc.arg(ends)::timestamptz - interval '1 microsecond'), interval '1 hour') AS e (hour)
            WHERE s.ended_at >= sqlc.arg(starts)::timestamptz AND s.started_at < sqlc.arg(ends)::timestamptz AND s.user_id IS NOT NULL
        ) b
        WHERE cardinality(sqlc.arg(templates)::uuid[]) = 0 OR b.template_id = ANY(sqlc.arg(templates)::uuid[])
        GROUP BY b.user_id, b.hour
    ) h GROUP BY h.user_id
) x JOIN users u ON u.id = x.user_id AND NOT u.is_service_account
ORDER BY x.seconds DESC, u.username, u.id
LIMIT sqlc.arg(max_rows)::integer OFFSET sqlc.arg(skip_rows)::integer;

-- name: InsightUserLatency :many
-- The round trip times of users to their workspaces.
SELECT u.id, u.username, u.avatar_url, x.p50, x.p95, x.templates
FROM (
    SELECT g.user_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms) AS p50, percentile_cont(0.95) WITHIN GROUP (ORDER BY l.ms) AS p95,
        array_agg(DISTINCT g.template_id)::uuid[] AS templates
    FROM workspace_usage g CROSS JOIN LATERAL unnest(g.latency_ms) AS l (ms)
    WHERE g.hour >= sqlc.arg(starts)::timestamptz AND g.hour < sqlc.arg(ends)::timestamptz
        AND (cardinality(sqlc.arg(templates)::uuid[]) = 0 OR g.template_id = ANY(sqlc.arg(templates)::uuid[]))
    GROUP BY g.user_id
) x JOIN users u ON u.id = x.user_id AND NOT u.is_service_account
ORDER BY u.username, u.id
LIMIT sqlc.arg(max_rows)::integer OFFSET sqlc.arg(skip_rows)::integer;

-- name: InsightStatusChanges :many
-- The changes of the number of users of each status before, between and after some times:
-- n is 0 before the first.
SELECT c.status::text AS status, width_bucket(c.changed_at, sqlc.arg(times)::timestamptz[])::integer AS n, sum(c.delta)::bigint AS delta
FROM (
    SELECT new_status AS status, changed_at, 1 AS delta FROM user_status_changes WHERE new_status IS NOT NULL
    UNION ALL
    SELECT old_status, changed_at, -1 FROM user_status_changes WHERE old_status IS NOT NULL
) c
GROUP BY 1, 2;
