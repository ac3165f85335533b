-- Templates: names, settings, access lists. Deleted templates are kept only for the rows that
-- reference them.

-- name: TemplateInsert :exec
INSERT INTO templates (
    id, organization_id, name, display_name, description, icon, provisioner, active_version_id, created_by,
    default_ttl_ms, activity_bump_ms, failure_ttl_ms, time_til_dormant_ms, time_til_dormant_autodelete_ms,
    autostart_days, autostop_days, autostop_weeks, allow_user_autostart, allow_user_autostop,
    allow_user_cancel_workspace_jobs, require_active_version, max_port_share_level, cors_behavior,
    use_classic_parameter_flow, max_concurrent_builds, prebuild_budget, group_acl, created_at, updated_at
) VALUES (
    @id, @organization_id, @name, @display_name, @description, @icon, @provisioner, @active_version_id, @created_by,
    @default_ttl_ms, @activity_bump_ms, @failure_ttl_ms, @time_til_dormant_ms, @time_til_dormant_autodelete_ms,
    @autostart_days, @autostop_days, @autostop_weeks, @allow_user_autostart, @allow_user_autostop,
    @allow_user_cancel_workspace_jobs, @require_active_version, @max_port_share_level, @cors_behavior,
    @use_classic_parameter_flow, @max_concurrent_builds, @prebuild_budget, @group_acl, @now, @now
);

-- name: TemplateByID :one
SELECT sqlc.embed(t), u.username AS creator, o.name AS organization_name, o.display_name AS organization_display_name,
    o.icon AS organization_icon,
    (SELECT count(DISTINCT w.owner_id) FROM workspaces w WHERE w.template_id = t.id AND w.deleted_at IS NULL AND w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64') AS users
FROM templates t
JOIN users u ON u.id = t.created_by
JOIN organizations o ON o.id = t.organization_id
WHERE t.id = $1 AND t.deleted_at IS NULL;

-- name: TemplateIDByName :one
SELECT id FROM templates WHERE organization_id = $1 AND lower(name) = lower($2) AND deleted_at IS NULL;

-- name: TemplateLock :one
-- Locks the template against changes of its settings, its active version, and its deletion.
SELECT * FROM templates WHERE id = $1 AND deleted_at IS NULL FOR UPDATE;

-- name: TemplateList :many
-- A page of the templates that an access filter selects and that match a search.
SELECT sqlc.embed(t), u.username AS creator, o.name AS organization_name, o.display_name AS organization_display_name,
    o.icon AS organization_icon,
    (SELECT count(DISTINCT w.owner_id) FROM workspaces w WHERE w.template_id = t.id AND w.deleted_at IS NULL AND w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64') AS users
FROM templates t
JOIN users u ON u.id = t.created_by
JOIN organizations o ON o.id = t.organization_id
WHERE t.deleted_at IS NULL
  AND (sqlc.arg(see_all)::boolean
    OR t.organization_id = ANY (sqlc.arg(see_organizations)::uuid[])
    OR (t.organization_id = ANY (sqlc.arg(member_of)::uuid[])
      AND (t.user_acl ? sqlc.arg(user_key)::text OR t.group_acl ? t.organization_id::text AND sqlc.arg(user_key)::text <> '' OR t.group_acl ?| sqlc.arg(group_keys)::text[])))
  AND (NOT sqlc.arg(narrowed)::boolean OR t.id = ANY (sqlc.arg(only_ids)::uuid[]))
  AND (sqlc.narg(organization_id)::uuid IS NULL OR t.organization_id = sqlc.narg(organization_id))
  AND (sqlc.arg(organization_name)::text = '' OR lower(o.name) = lower(sqlc.arg(organization_name)) OR o.id::text = sqlc.arg(organization_name))
  AND (sqlc.arg(exact_name)::text = '' OR lower(t.name) = lower(sqlc.arg(exact_name)))
  AND (sqlc.arg(name)::text = '' OR strpos(lower(t.name), lower(sqlc.arg(name))) > 0)
  AND (sqlc.arg(words)::text = '' OR strpos(lower(t.name), lower(sqlc.arg(words))) > 0
    OR strpos(lower(t.display_name), lower(sqlc.arg(words))) > 0)
  AND (sqlc.arg(author)::text = '' OR lower(u.username) = lower(sqlc.arg(author)))
  AND (sqlc.narg(deprecated)::boolean IS NULL OR (t.deprecation_message <> '') = sqlc.narg(deprecated))
  AND (sqlc.narg(has_ai_task)::boolean IS NULL
    OR (SELECT v.has_ai_task FROM template_versions v WHERE v.id = t.active_version_id) = sqlc.narg(has_ai_task))
  AND (sqlc.narg(has_external_agent)::boolean IS NULL
    OR (SELECT v.has_external_agent FROM template_versions v WHERE v.id = t.active_version_id) = sqlc.narg(has_external_agent))
ORDER BY lower(t.name), t.id
LIMIT sqlc.arg(row_limit) OFFSET sqlc.arg(row_offset);

-- name: TemplateUpdate :exec
UPDATE templates SET
    name = @name, display_name = @display_name, description = @description, icon = @icon,
    default_ttl_ms = @default_ttl_ms, activity_bump_ms = @activity_bump_ms, failure_ttl_ms = @failure_ttl_ms,
    time_til_dormant_ms = @time_til_dormant_ms, time_til_dormant_autodelete_ms = @time_til_dormant_autodelete_ms,
    autostart_days = @autostart_days, autostop_days = @autostop_days, autostop_weeks = @autostop_weeks,
    allow_user_autostart = @allow_user_autostart, allow_user_autostop = @allow_user_autostop,
    allow_user_cancel_workspace_jobs = @allow_user_cancel_workspace_jobs, require_active_version = @require_active_version,
    deprecation_message = @deprecation_message, max_port_share_level = @max_port_share_level, cors_behavior = @cors_behavior,
    use_classic_parameter_flow = @use_classic_parameter_flow, disable_module_cache = @disable_module_cache,
    max_concurrent_builds = @max_concurrent_builds, prebuild_budget = @prebuild_budget, disable_user_secrets = @disable_user_secrets, group_acl = @group_acl, updated_at = @now
WHERE id = @id;

-- name: TemplateTouchWorkspaces :exec
-- Restarts the timers of all workspaces: of use, of dormancy, or both.
UPDATE workspaces SET
    last_used_at = CASE WHEN sqlc.arg(last_used)::boolean THEN sqlc.arg(now)::timestamptz ELSE last_used_at END,
    dormant_at = CASE WHEN sqlc.arg(dormant)::boolean AND dormant_at IS NOT NULL THEN sqlc.arg(now)::timestamptz ELSE dormant_at END,
    deleting_at = CASE
        WHEN sqlc.arg(dormant)::boolean AND dormant_at IS NOT NULL AND sqlc.arg(autodelete_ms)::bigint > 0
            THEN sqlc.arg(now)::timestamptz + sqlc.arg(autodelete_ms)::bigint * interval '1 millisecond'
        ELSE deleting_at END,
    updated_at = sqlc.arg(now)::timestamptz
WHERE template_id = sqlc.arg(template_id) AND deleted_at IS NULL;

-- name: TemplateSetActiveVersion :exec
UPDATE templates SET active_version_id = $2, updated_at = $3 WHERE id = $1;

-- name: TemplateSetACL :exec
UPDATE templates SET user_acl = @user_acl, group_acl = @group_acl, updated_at = @now WHERE id = @id;

-- name: TemplateWorkspaceCount :one
-- The number of workspaces of a template; prebuilt ones are deleted with it.
SELECT count(*) FROM workspaces WHERE template_id = $1 AND deleted_at IS NULL AND owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64';

-- name: TemplateDelete :exec
UPDATE templates SET deleted_at = sqlc.arg(now)::timestamptz, updated_at = sqlc.arg(now)::timestamptz WHERE id = sqlc.arg(id);

-- name: TemplateBuildTimes :many
-- The durations of recent successful builds in milliseconds.
SELECT w.template_id, b.transition,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM j.completed_at - j.started_at) * 1000)::bigint AS p50,
    percentile_disc(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM j.completed_at - j.started_at) * 1000)::bigint AS p95
FROM workspaces w
JOIN workspace_builds b ON b.workspace_id = w.id
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.template_id = ANY (sqlc.arg(template_ids)::uuid[]) AND j.status = 'succeeded' AND j.started_at IS NOT NULL
  AND b.created_at > sqlc.arg(since)::timestamptz
GROUP BY w.template_id, b.transition;

-- name: ACLMembers :many
-- A page of the members of an organization, as candidates for an access list.
SELECT u.* FROM users u
JOIN organization_members m ON m.user_id = u.id
WHERE m.organization_id = sqlc.arg(organization_id) AND u.deleted_at IS NULL AND NOT u.is_system
  AND (sqlc.arg(words)::text = '' OR strpos(lower(u.username), lower(sqlc.arg(words))) > 0 OR strpos(lower(u.email), lower(sqlc.arg(words))) > 0)
ORDER BY lower(u.username)
LIMIT sqlc.arg(row_limit) OFFSET sqlc.arg(row_offset);

-- name: TemplateSummaries :many
-- What lists of templates show: the workspaces, and the import of the newest version that
-- is not archived.
SELECT sqlc.embed(t),
    (SELECT count(*) FROM workspaces w WHERE w.template_id = t.id AND w.deleted_at IS NULL AND w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64') AS workspaces,
    v.id AS version_id, v.name AS version_name, v.created_at AS version_created_at, j.status AS job_status, j.error AS job_error
FROM templates t
JOIN LATERAL (
    SELECT x.id, x.name, x.created_at, x.job_id FROM template_versions x
    WHERE x.template_id = t.id AND NOT x.archived ORDER BY x.created_at DESC, x.id DESC LIMIT 1
) v ON true
JOIN provisioner_jobs j ON j.id = v.job_id
WHERE t.id = ANY (sqlc.arg(ids)::uuid[]) AND t.deleted_at IS NULL
ORDER BY t.id;
