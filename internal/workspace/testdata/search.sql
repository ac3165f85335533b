-- The search for workspaces as a plain query of the tables that hold the facts; TestSearchIsThePlainQuery compares
-- it with WorkspaceSearch.
SELECT m.id, m.total
FROM (
SELECT w.id, count(*) OVER () AS total, f.user_id IS NULL AS ordinary, k.word, k.moment, lower(u.username) AS owner, lower(w.name) AS name
FROM workspaces w
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
LEFT JOIN workspace_favorites f ON f.workspace_id = w.id AND f.user_id = @viewer
LEFT JOIN workspace_builds b ON b.id = w.latest_build_id
LEFT JOIN provisioner_jobs j ON j.id = b.job_id
CROSS JOIN LATERAL (
    SELECT CASE @sort::text
            WHEN 'name' THEN lower(w.name)
            WHEN 'owner' THEN lower(u.username)
            WHEN 'template' THEN lower(coalesce(nullif(t.display_name, ''), t.name))
            WHEN 'status' THEN CASE
                WHEN j.status = 'failed' THEN '1'
                WHEN j.status = 'canceled' THEN '2'
                WHEN j.status <> 'succeeded' THEN '3'
                WHEN b.transition = 'start' THEN '4'
                ELSE '5' END
        END AS word,
        CASE @sort::text WHEN 'last_used' THEN w.last_used_at WHEN 'autostop' THEN b.deadline END AS moment) k
WHERE (w.deleted_at IS NOT NULL) = @deleted::boolean
        -- The access filter of the viewer.
    AND (@see_all::boolean
        OR w.organization_id = ANY(@see_organizations::uuid[])
        OR w.organization_id = ANY(@see_member_of::uuid[])
            AND (w.owner_id = @see_owner OR w.user_acl ? @user_key::text OR w.group_acl ?| @group_keys::text[]
                OR @user_key::text <> '' AND w.group_acl ?| (@see_member_of::uuid[])::text[] AND w.group_acl ? w.organization_id::text))
    AND (@see_ids::uuid[] IS NULL OR w.id = ANY(@see_ids::uuid[]))
        -- The search of the viewer.
    AND (@ids::uuid[] IS NULL OR w.id = ANY(@ids::uuid[]))
    AND (@owner_id::uuid IS NULL OR w.owner_id = @owner_id::uuid)
    AND (@not_owner_id::uuid IS NULL OR w.owner_id <> @not_owner_id::uuid)
    AND (@owner_name::text IS NULL OR w.owner_id = (SELECT x.id FROM users x WHERE lower(x.username) = lower(@owner_name) AND x.deleted_at IS NULL))
    AND (@name::text IS NULL OR strpos(lower(w.name), lower(@name)) > 0)
    AND (@name_exact::text IS NULL OR lower(w.name) = lower(@name_exact))
    AND (@template::text IS NULL OR lower(t.name) = lower(@template) OR t.id::text = @template)
    AND (@organization::text IS NULL OR w.organization_id = (
        SELECT o.id FROM organizations o
        WHERE o.deleted_at IS NULL AND (lower(o.name) = lower(@organization) OR o.id::text = @organization)))
    AND (@dormant::boolean IS NULL OR (w.dormant_at IS NOT NULL) = @dormant)
    AND (@shared::boolean IS NULL OR (w.user_acl <> '{}' OR w.group_acl <> '{}') = @shared)
    AND (@shared_with_user::text IS NULL OR w.user_acl ? @shared_with_user::text)
    AND (@shared_with_group::text IS NULL OR w.group_acl ?| (
        SELECT coalesce(array_agg(g.id::text), '{}') FROM groups g JOIN organizations o ON o.id = g.organization_id AND o.deleted_at IS NULL
        WHERE g.id::text = @shared_with_group::text OR lower(g.name) = lower(@shared_with_group::text)
            OR lower(o.name || '/' || g.name) = lower(@shared_with_group::text)))
    AND (@last_used_before::timestamptz IS NULL OR w.last_used_at < @last_used_before)
    AND (@last_used_after::timestamptz IS NULL OR w.last_used_at > @last_used_after)
    AND (@agent_statuses::text[] IS NULL OR w.id IN (
        SELECT a.current_workspace_id FROM workspace_agents a
        WHERE a.current_workspace_id IS NOT NULL AND CASE
            WHEN a.first_connected_at IS NULL AND a.connection_timeout_seconds > 0
                AND a.created_at + a.connection_timeout_seconds * interval '1 second' < @now::timestamptz THEN 'timeout'
            WHEN a.first_connected_at IS NULL THEN 'connecting'
            WHEN a.last_connected_at IS NULL OR a.disconnected_at > a.last_connected_at
                OR a.last_connected_at < @silent_since::timestamptz THEN 'disconnected'
            ELSE 'connected' END = ANY(@agent_statuses::text[])))
    AND (NOT @unhealthy::boolean OR w.id IN (
        SELECT a.current_workspace_id FROM workspace_agents a
        WHERE a.current_workspace_id IS NOT NULL AND a.parent_id IS NULL AND (
            a.lifecycle_state IN ('start_error', 'start_timeout')
            OR a.first_connected_at IS NULL AND a.connection_timeout_seconds > 0
                AND a.created_at + a.connection_timeout_seconds * interval '1 second' < @now::timestamptz
            OR a.first_connected_at IS NOT NULL AND (a.last_connected_at IS NULL OR a.disconnected_at > a.last_connected_at
                OR a.last_connected_at < @silent_since::timestamptz))))
    AND (@transitions::text[] IS NULL OR b.transition = ANY(@transitions::text[]))
    AND (@job_statuses::text[] IS NULL OR j.status = ANY(@job_statuses::text[]))
    AND (@outdated::boolean IS NULL OR (b.template_version_id <> t.active_version_id) = @outdated)
    AND (@has_ai_task::boolean IS NULL
        OR (SELECT v.has_ai_task FROM template_versions v WHERE v.id = b.template_version_id) = @has_ai_task)
    AND (@has_external_agent::boolean IS NULL
        OR (SELECT v.has_external_agent FROM template_versions v WHERE v.id = b.template_version_id) = @has_external_agent)
    AND (@parameters::jsonb IS NULL OR b.parameters @> @parameters)
) m
ORDER BY CASE WHEN @sort::text = '' THEN m.ordinary END,
    CASE WHEN NOT @descending::boolean THEN m.word END, CASE WHEN @descending::boolean THEN m.word END DESC NULLS LAST,
    CASE WHEN NOT @descending::boolean THEN m.moment END, CASE WHEN @descending::boolean THEN m.moment END DESC NULLS LAST,
    m.owner, m.name, m.id
LIMIT NULLIF(@max_rows::integer, 0) OFFSET @skip_rows::integer
