-- Workspaces: rows, searches and settings.

-- name: WorkspaceInsert :exec
INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, automatic_updates, autostart_schedule, ttl_ms, next_start_at, created_at, updated_at, last_used_at)
VALUES (@id, @organization_id, @owner_id, @template_id, @name, @automatic_updates, sqlc.narg(autostart_schedule), sqlc.narg(ttl_ms), sqlc.narg(next_start_at), @now, @now, @now);

-- name: WorkspaceByID :one
SELECT * FROM workspaces WHERE id = $1;

-- name: WorkspaceForUpdate :one
SELECT * FROM workspaces WHERE id = $1 FOR UPDATE;

-- name: WorkspaceByName :one
-- The live workspace of that name, else the one deleted last.
SELECT * FROM workspaces
WHERE owner_id = @owner_id AND lower(name) = lower(@name)
ORDER BY deleted_at DESC NULLS FIRST
LIMIT 1;

-- name: WorkspaceTemplate :one
SELECT * FROM templates WHERE id = $1;

-- name: WorkspaceVersion :one
-- A version for a build, with its template and the status of its import.
SELECT sqlc.embed(v), sqlc.embed(t), j.status AS job_status, j.error AS job_error, j.file_id, j.provisioner
FROM template_versions v
JOIN templates t ON t.id = v.template_id
JOIN provisioner_jobs j ON j.id = v.job_id
WHERE v.id = $1;

-- name: WorkspaceOwner :one
SELECT u.id, u.username, u.status, u.deleted_at,
    EXISTS (SELECT FROM organization_members m WHERE m.user_id = u.id AND m.organization_id = @organization_id) AS is_member
FROM users u WHERE u.id = @id;

-- name: WorkspaceRows :many
-- The columns of workspaces for the API, without their latest build.
SELECT sqlc.embed(w), o.name AS organization_name, u.username AS owner_name, u.avatar_url AS owner_avatar_url,
    u.is_system AS owner_is_system, t.name AS template_name, t.display_name AS template_display_name,
    t.icon AS template_icon, t.active_version_id, t.allow_user_cancel_workspace_jobs, t.require_active_version,
    t.use_classic_parameter_flow,
    EXISTS (SELECT FROM workspace_favorites f WHERE f.workspace_id = w.id AND f.user_id = @viewer) AS favorite
FROM workspaces w
JOIN organizations o ON o.id = w.organization_id
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
WHERE w.id = ANY(@ids::uuid[]);

-- name: ListPlan :exec
-- Makes PostgreSQL plan the searches of a transaction for their actual conditions and table
-- sizes, which makes them four times as fast as a generic plan.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true);

-- name: WorkspaceSearch :one
-- The IDs of a page of workspaces and the count of all matches. Conditions with a null parameter match all; those
-- on builds and agents apply to the latest build. Up to 1,000 matches are read once. For more, PostgreSQL plans the
-- count and the page each on their own: the count needs no order, and a page without a sort is read in the order of
-- the index workspaces_listed up to its end.
WITH statuses AS MATERIALIZED (
    -- The workspaces with an agent of one of the statuses.
    SELECT a.current_workspace_id AS id FROM workspace_agents a
    WHERE a.current_workspace_id IS NOT NULL AND CASE
        WHEN a.first_connected_at IS NULL AND a.connection_timeout_seconds > 0
            AND a.created_at + a.connection_timeout_seconds * interval '1 second' < @now::timestamptz THEN 'timeout'
        WHEN a.first_connected_at IS NULL THEN 'connecting'
        WHEN a.last_connected_at IS NULL OR a.disconnected_at > a.last_connected_at
            OR a.last_connected_at < @silent_since::timestamptz THEN 'disconnected'
        ELSE 'connected' END = ANY(sqlc.narg(agent_statuses)::text[])
), unhealthy AS MATERIALIZED (
    -- The workspaces with an unhealthy agent.
    SELECT a.current_workspace_id AS id FROM workspace_agents a
    WHERE a.current_workspace_id IS NOT NULL AND a.parent_id IS NULL AND (
        a.lifecycle_state IN ('start_error', 'start_timeout')
        OR a.first_connected_at IS NULL AND a.connection_timeout_seconds > 0
            AND a.created_at + a.connection_timeout_seconds * interval '1 second' < @now::timestamptz
        OR a.first_connected_at IS NOT NULL AND (a.last_connected_at IS NULL OR a.disconnected_at > a.last_connected_at
            OR a.last_connected_at < @silent_since::timestamptz))
), m AS NOT MATERIALIZED (
    SELECT w.id, lower(w.owner_name) AS owner, lower(w.name) AS name,
        CASE @sort::text
            WHEN 'name' THEN lower(w.name)
            WHEN 'owner' THEN lower(w.owner_name)
            WHEN 'template' THEN lower(coalesce(nullif(t.display_name, ''), t.name))
            WHEN 'status' THEN CASE
                WHEN w.latest_outcome = 'failed' THEN '1'
                WHEN w.latest_outcome = 'canceled' THEN '2'
                WHEN w.latest_outcome IS NULL AND w.latest_build_id IS NOT NULL THEN '3'
                WHEN w.latest_transition = 'start' THEN '4'
                ELSE '5' END
        END AS word,
        CASE @sort::text WHEN 'last_used' THEN w.last_used_at WHEN 'autostop' THEN b.deadline END AS moment
    FROM workspaces w
    LEFT JOIN templates t ON t.id = w.template_id
    LEFT JOIN workspace_builds b ON b.id = w.latest_build_id
    WHERE (w.deleted_at IS NOT NULL) = @deleted::boolean
        -- The access filter of the viewer.
        AND (@see_all::boolean
            OR w.organization_id = ANY(@see_organizations::uuid[])
            OR w.organization_id = ANY(@see_member_of::uuid[])
                AND (w.owner_id = @see_owner OR w.user_acl ? @user_key::text OR w.group_acl ?| @group_keys::text[]
                    OR @user_key::text <> '' AND w.group_acl ?| (@see_member_of::uuid[])::text[] AND w.group_acl ? w.organization_id::text))
        AND (sqlc.narg(see_ids)::uuid[] IS NULL OR w.id = ANY(sqlc.narg(see_ids)::uuid[]))
        -- The part of the list: only the favorites of the viewer, or all others.
        AND (sqlc.narg(among)::uuid[] IS NULL OR w.id = ANY(sqlc.narg(among)::uuid[]))
        AND (sqlc.narg(besides)::uuid[] IS NULL OR w.id NOT IN (SELECT unnest(sqlc.narg(besides)::uuid[])))
        -- The search of the viewer.
        AND (sqlc.narg(ids)::uuid[] IS NULL OR w.id = ANY(sqlc.narg(ids)::uuid[]))
        AND (sqlc.narg(owner_id)::uuid IS NULL OR w.owner_id = sqlc.narg(owner_id))
        AND (sqlc.narg(not_owner_id)::uuid IS NULL OR w.owner_id <> sqlc.narg(not_owner_id))
        AND (sqlc.narg(owner_name)::text IS NULL OR w.owner_id = (SELECT x.id FROM users x WHERE lower(x.username) = lower(sqlc.narg(owner_name)) AND x.deleted_at IS NULL))
        AND (sqlc.narg(name)::text IS NULL OR strpos(lower(w.name), lower(sqlc.narg(name))) > 0)
        AND (sqlc.narg(name_exact)::text IS NULL OR lower(w.name) = lower(sqlc.narg(name_exact)))
        AND (sqlc.narg(template)::text IS NULL OR w.template_id = ANY(ARRAY(
            SELECT x.id FROM templates x WHERE lower(x.name) = lower(sqlc.narg(template)) OR x.id::text = sqlc.narg(template))))
        AND (sqlc.narg(organization)::text IS NULL OR w.organization_id = (
            SELECT o.id FROM organizations o
            WHERE o.deleted_at IS NULL AND (lower(o.name) = lower(sqlc.narg(organization)) OR o.id::text = sqlc.narg(organization))))
        AND (sqlc.narg(dormant)::boolean IS NULL OR (w.dormant_at IS NOT NULL) = sqlc.narg(dormant))
        AND (sqlc.narg(shared)::boolean IS NULL OR (w.user_acl <> '{}' OR w.group_acl <> '{}') = sqlc.narg(shared))
        AND (sqlc.narg(shared_with_user)::text IS NULL OR w.user_acl ? sqlc.narg(shared_with_user)::text)
        AND (sqlc.narg(shared_with_group)::text IS NULL OR w.group_acl ?| (
            SELECT coalesce(array_agg(g.id::text), '{}') FROM groups g JOIN organizations o ON o.id = g.organization_id AND o.deleted_at IS NULL
            WHERE g.id::text = sqlc.narg(shared_with_group)::text OR lower(g.name) = lower(sqlc.narg(shared_with_group)::text)
                OR lower(o.name || '/' || g.name) = lower(sqlc.narg(shared_with_group)::text)))
        AND (sqlc.narg(last_used_before)::timestamptz IS NULL OR w.last_used_at < sqlc.narg(last_used_before))
        AND (sqlc.narg(last_used_after)::timestamptz IS NULL OR w.last_used_at > sqlc.narg(last_used_after))
        AND (sqlc.narg(agent_statuses)::text[] IS NULL OR w.id IN (SELECT statuses.id FROM statuses))
        AND (NOT @unhealthy::boolean OR w.id IN (SELECT unhealthy.id FROM unhealthy))
        AND (sqlc.narg(transitions)::text[] IS NULL OR w.latest_transition = ANY(sqlc.narg(transitions)::text[]))
        AND (sqlc.narg(job_statuses)::text[] IS NULL OR w.latest_outcome = ANY(sqlc.narg(job_statuses)::text[])
            OR w.latest_outcome IS NULL AND w.latest_build_id IN (
                SELECT p.id FROM provisioner_jobs j JOIN workspace_builds p ON p.job_id = j.id
                WHERE j.completed_at IS NULL AND j.status = ANY(sqlc.narg(job_statuses)::text[])))
        AND (sqlc.narg(outdated)::boolean IS NULL OR (w.latest_version_id <> t.active_version_id) = sqlc.narg(outdated))
        AND (sqlc.narg(has_ai_task)::boolean IS NULL
            OR w.latest_version_id IN (SELECT v.id FROM template_versions v WHERE v.has_ai_task = sqlc.narg(has_ai_task)))
        AND (sqlc.narg(has_external_agent)::boolean IS NULL
            OR w.latest_version_id IN (SELECT v.id FROM template_versions v WHERE v.has_external_agent = sqlc.narg(has_external_agent)))
        AND (sqlc.narg(parameters)::jsonb IS NULL OR b.parameters @> sqlc.narg(parameters))
), read AS MATERIALIZED (
    SELECT m.id, m.owner, m.name, m.word, m.moment FROM m LIMIT 1001
), few AS MATERIALIZED (
    SELECT count(*) AS total FROM read
)
SELECT CASE WHEN few.total <= 1000 THEN few.total ELSE (SELECT count(*) FROM m) END::bigint AS total,
    (CASE WHEN few.total <= 1000 THEN ARRAY(
        SELECT s.id FROM read s
        ORDER BY CASE WHEN NOT @descending::boolean THEN s.word END, CASE WHEN @descending::boolean THEN s.word END DESC NULLS LAST,
            CASE WHEN NOT @descending::boolean THEN s.moment END, CASE WHEN @descending::boolean THEN s.moment END DESC NULLS LAST,
            s.owner, s.name, s.id
        LIMIT NULLIF(@max_rows::integer, 0) OFFSET @skip_rows::integer
    ) ELSE ARRAY(
        SELECT m.id FROM m
        ORDER BY CASE WHEN NOT @descending::boolean THEN m.word END, CASE WHEN @descending::boolean THEN m.word END DESC NULLS LAST,
            CASE WHEN NOT @descending::boolean THEN m.moment END, CASE WHEN @descending::boolean THEN m.moment END DESC NULLS LAST,
            m.owner, m.name, m.id
        LIMIT NULLIF(@max_rows::integer, 0) OFFSET @skip_rows::integer
    ) END)::uuid[] AS ids
FROM few;

-- name: WorkspaceFavorites :many
SELECT workspace_id FROM workspace_favorites WHERE user_id = @user_id;

-- name: WorkspaceCounts :many
-- Counts workspaces by the filters of lists. Of the unhealthy ones, the caller passes the IDs.
SELECT coalesce(b.transition, 'start')::text AS transition, coalesce(j.status, 'pending')::text AS job_status, t.name AS template_name,
    (b.template_version_id IS DISTINCT FROM t.active_version_id)::boolean AS outdated, (w.dormant_at IS NOT NULL)::boolean AS dormant,
    coalesce(w.id = ANY(@unhealthy::uuid[]), false)::boolean AS unhealthy, count(*) AS matches
FROM workspaces w
JOIN templates t ON t.id = w.template_id
LEFT JOIN workspace_builds b ON b.id = w.latest_build_id
LEFT JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.id = ANY(@ids::uuid[])
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY 3, 1, 2, 4, 5, 6;

-- name: WorkspaceRename :exec
UPDATE workspaces SET name = @name, updated_at = @now WHERE id = @id;

-- name: WorkspaceSetAutostart :exec
UPDATE workspaces SET autostart_schedule = sqlc.narg(schedule), next_start_at = sqlc.narg(next_start_at), updated_at = @now WHERE id = @id;

-- name: WorkspaceSetNextStart :exec
UPDATE workspaces SET next_start_at = sqlc.narg(next_start_at) WHERE id = @id;

-- name: WorkspaceSetTTL :exec
UPDATE workspaces SET ttl_ms = sqlc.narg(ttl_ms), updated_at = @now WHERE id = @id;

-- name: WorkspaceSetAutomaticUpdates :exec
UPDATE workspaces SET automatic_updates = @automatic_updates, updated_at = @now WHERE id = @id;

-- name: WorkspaceSetDormant :exec
UPDATE workspaces SET dormant_at = sqlc.narg(dormant_at), deleting_at = sqlc.narg(deleting_at), next_start_at = sqlc.narg(next_start_at), last_used_at = @last_used_at, updated_at = @now WHERE id = @id;

-- name: WorkspaceTouch :exec
-- Records the use of the workspace; the time never goes back.
UPDATE workspaces SET last_used_at = @now WHERE id = @id AND last_used_at < @now;

-- name: WorkspaceDelete :exec
UPDATE workspaces SET deleted_at = @now::timestamptz, updated_at = @now, next_start_at = NULL WHERE id = @id;

-- name: WorkspaceFavorite :exec
INSERT INTO workspace_favorites (user_id, workspace_id) VALUES (@user_id, @workspace_id) ON CONFLICT DO NOTHING;

-- name: WorkspaceUnfavorite :exec
DELETE FROM workspace_favorites WHERE user_id = @user_id AND workspace_id = @workspace_id;

-- name: WorkspaceHasAgent :one
-- Whether the latest build of a workspace has the agent.
SELECT EXISTS (
    SELECT FROM workspaces w
    JOIN workspace_builds b ON b.id = w.latest_build_id
    JOIN workspace_resources r ON r.job_id = b.job_id
    JOIN workspace_agents a ON a.resource_id = r.id
    WHERE w.id = @workspace_id AND a.id = @agent_id);

-- name: WorkspaceSetACL :exec
UPDATE workspaces SET user_acl = @user_acl, group_acl = @group_acl, updated_at = @now WHERE id = @id;
