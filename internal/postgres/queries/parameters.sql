-- name: ParametersLastUsed :many
-- The last values that a user entered for a template's parameters: for each parameter of the
-- active version that is not ephemeral.
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

-- name: ParameterSource :one
-- The source file of a version, and the kind of its parameters.
SELECT j.file_id, j.provisioner, coalesce(t.use_classic_parameter_flow, false)::boolean AS classic
FROM template_versions v JOIN provisioner_jobs j ON j.id = v.job_id LEFT JOIN templates t ON t.id = v.template_id
WHERE v.id = $1;

-- name: ParameterOwner :one
-- The owner data and membership that templates can read.
SELECT u.id, u.username, u.name, u.email, u.login_type, u.ssh_public_key, u.roles,
    (u.deleted_at IS NULL AND EXISTS (SELECT FROM organization_members m WHERE m.user_id = u.id AND m.organization_id = @organization_id))::boolean AS is_member
FROM users u WHERE u.id = @id;
