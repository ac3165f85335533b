-- name: ReportClaim :one
-- Records that the report of a period is written now. There is no row if the last report is
-- younger than the period. first reports that there was none before.
INSERT INTO site_settings (name, value, updated_at) VALUES (@name, 'null', now())
ON CONFLICT (name) DO UPDATE SET updated_at = excluded.updated_at
WHERE site_settings.updated_at <= now() - (sqlc.arg(period_seconds)::float8) * interval '1 second'
RETURNING (xmax = 0)::boolean AS first;

-- name: ReportBuilds :many
-- The builds by version that ended within the period, of templates that had a failure in it.
SELECT v.template_id::uuid AS template_id, v.name, count(*)::bigint AS builds,
    count(*) FILTER (WHERE j.status = 'failed')::bigint AS failed,
    (array_agg(owner.username || '/' || w.name || ' #' || b.build_number ORDER BY j.completed_at DESC)
        FILTER (WHERE j.status = 'failed'))[1:sqlc.arg(row_limit)::integer]::text[] AS latest
FROM provisioner_jobs j
JOIN workspace_builds b ON b.job_id = j.id
JOIN workspaces w ON w.id = b.workspace_id
JOIN users owner ON owner.id = w.owner_id
JOIN template_versions v ON v.id = b.template_version_id
JOIN templates t ON t.id = v.template_id AND t.deleted_at IS NULL
WHERE j.type = 'workspace_build' AND j.completed_at > now() - (sqlc.arg(period_seconds)::float8) * interval '1 second'
GROUP BY v.template_id, v.id, v.name
HAVING count(*) FILTER (WHERE j.status = 'failed') > 0
ORDER BY v.template_id, failed DESC, v.name;
