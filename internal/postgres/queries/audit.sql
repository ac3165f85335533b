-- name: InsertAuditLog :exec
-- Without a time, it is the present.
INSERT INTO audit_logs (id, time, organization_id, user_id, ip, user_agent, resource_type, resource_id,
    resource_target, resource_icon, action, diff, status_code, additional_fields, request_id)
VALUES (@id, coalesce(sqlc.narg(time)::timestamptz, clock_timestamp()), @organization_id, @user_id, @ip, @user_agent, @resource_type, @resource_id,
    @resource_target, @resource_icon, @action, @diff, @status_code, @additional_fields, @request_id);

-- name: AuditLogs :many
-- A page of the log, the newest first. Empty parameters match all.
SELECT sqlc.embed(a),
    u.username, u.name AS user_name, u.avatar_url AS user_avatar_url, u.email AS user_email, u.login_type AS user_login_type,
    u.status AS user_status, u.roles AS user_roles, u.theme AS user_theme,
    u.created_at AS user_created_at, u.updated_at AS user_updated_at, u.last_seen_at AS user_last_seen_at,
    o.name AS organization_name, o.display_name AS organization_display_name, o.icon AS organization_icon,
    coalesce(CASE a.resource_type
        WHEN 'user' THEN (SELECT x.deleted_at IS NOT NULL FROM users x WHERE x.id = a.resource_id)
        WHEN 'organization' THEN (SELECT x.deleted_at IS NOT NULL FROM organizations x WHERE x.id = a.resource_id)
        WHEN 'template' THEN (SELECT x.deleted_at IS NOT NULL FROM templates x WHERE x.id = a.resource_id)
        WHEN 'workspace' THEN (SELECT x.deleted_at IS NOT NULL FROM workspaces x WHERE x.id = a.resource_id)
        WHEN 'group' THEN (SELECT count(*) = 0 FROM groups x WHERE x.id = a.resource_id)
        WHEN 'custom_role' THEN (SELECT count(*) = 0 FROM custom_roles x WHERE x.id = a.resource_id)
        ELSE false
    END, false)::boolean AS is_deleted,
    coalesce((SELECT x.username FROM workspaces w JOIN users x ON x.id = w.owner_id
        WHERE w.id = CASE a.resource_type WHEN 'workspace' THEN a.resource_id WHEN 'workspace_build' THEN (a.additional_fields ->> 'workspace_id')::uuid END), '')::text AS workspace_owner
FROM audit_logs a
LEFT JOIN users u ON u.id = a.user_id
LEFT JOIN organizations o ON o.id = a.organization_id
WHERE (@see_all::boolean OR a.organization_id = ANY (@see_organizations::uuid[]))
    AND (@resource_type::text = '' OR a.resource_type = @resource_type)
    AND (sqlc.narg(resource_id)::uuid IS NULL OR a.resource_id = sqlc.narg(resource_id))
    AND (@resource_target::text = '' OR a.resource_target = @resource_target)
    AND (@action::text = '' OR a.action = @action)
    AND (@username::text = '' OR a.user_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower(@username)))
    AND (@email::text = '' OR a.user_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower(@email)))
    AND (@user_id::uuid = '00000000-0000-0000-0000-000000000000' OR a.user_id = @user_id)
    AND (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR a.organization_id = @organization_id)
    AND (@request_id::text = '' OR a.request_id = @request_id)
    AND (@build_reason::text = '' OR a.additional_fields ->> 'build_reason' = @build_reason)
    AND (sqlc.narg(date_from)::timestamptz IS NULL OR a.time >= sqlc.narg(date_from))
    AND (sqlc.narg(date_to)::timestamptz IS NULL OR a.time < sqlc.narg(date_to))
ORDER BY a.time DESC, a.id
LIMIT @row_limit OFFSET @row_offset;

-- name: CountAuditLogs :one
-- The number of rows of AuditLogs on all pages; the conditions must be identical.
SELECT count(*) FROM audit_logs a
WHERE (@see_all::boolean OR a.organization_id = ANY (@see_organizations::uuid[]))
    AND (@resource_type::text = '' OR a.resource_type = @resource_type)
    AND (sqlc.narg(resource_id)::uuid IS NULL OR a.resource_id = sqlc.narg(resource_id))
    AND (@resource_target::text = '' OR a.resource_target = @resource_target)
    AND (@action::text = '' OR a.action = @action)
    AND (@username::text = '' OR a.user_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower(@username)))
    AND (@email::text = '' OR a.user_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower(@email)))
    AND (@user_id::uuid = '00000000-0000-0000-0000-000000000000' OR a.user_id = @user_id)
    AND (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR a.organization_id = @organization_id)
    AND (@request_id::text = '' OR a.request_id = @request_id)
    AND (@build_reason::text = '' OR a.additional_fields ->> 'build_reason' = @build_reason)
    AND (sqlc.narg(date_from)::timestamptz IS NULL OR a.time >= sqlc.narg(date_from))
    AND (sqlc.narg(date_to)::timestamptz IS NULL OR a.time < sqlc.narg(date_to));

-- name: AuditPurge :execrows
-- Deletes a batch of audit entries from before a time, the oldest first.
DELETE FROM audit_logs WHERE id = ANY (ARRAY(SELECT l.id FROM audit_logs l WHERE l.time < @before ORDER BY l.time LIMIT 1000));
