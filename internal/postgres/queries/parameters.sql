-- name: ParametersLastUsed :many
-- The values that somebody's builds of a template's workspaces were given
-- last: of each parameter that the active version still has, and that is not
-- for one build only.
SELECT DISTINCT ON (p ->> 'name') (p ->> 'name')::text AS name, (p ->> 'value')::text AS value
FROM workspaces w
CROSS JOIN LATERAL (
    SELECT b.parameters, b.created_at FROM workspace_builds b
    WHERE b.workspace_id = w.id AND b.transition = 'start' AND b.initiator_id = sqlc.arg(user_id)
    ORDER BY b.build_number DESC LIMIT 1) b
CROSS JOIN LATERAL jsonb_array_elements(b.parameters) p
WHERE w.owner_id = sqlc.arg(user_id) AND w.template_id = sqlc.arg(template_id) AND w.deleted_at IS NULL AND EXISTS (
    SELECT FROM templates t JOIN template_versions v ON v.id = t.active_version_id
    CROSS JOIN LATERAL jsonb_array_elements(v.parameters) d
    WHERE t.id = w.template_id AND d ->> 'name' = p ->> 'name' AND NOT coalesce((d ->> 'ephemeral')::boolean, false))
ORDER BY p ->> 'name', b.created_at DESC;
