-- Template versions and the results of their imports.

-- name: VersionInsert :exec
INSERT INTO template_versions (id, template_id, organization_id, job_id, name, message, created_by, tags, example_id, created_at, updated_at)
VALUES (@id, sqlc.narg(template_id), @organization_id, @job_id, @name, @message, @created_by, @tags, @example_id, @now, @now);

-- name: VersionByID :one
SELECT sqlc.embed(v), u.username AS creator, u.name AS creator_name, u.avatar_url AS creator_avatar_url,
    t.user_acl, t.group_acl,
    t.deleted_at AS template_deleted_at, j.status AS job_status
FROM template_versions v
JOIN provisioner_jobs j ON j.id = v.job_id
JOIN users u ON u.id = v.created_by
LEFT JOIN templates t ON t.id = v.template_id
WHERE v.id = $1;

-- name: VersionLock :one
SELECT * FROM template_versions WHERE id = $1 FOR UPDATE;

-- name: VersionIDByName :one
SELECT id FROM template_versions WHERE template_id = sqlc.arg(template_id)::uuid AND lower(name) = lower(sqlc.arg(name));

-- name: VersionPrevious :one
-- The previous version of the same template.
SELECT p.id
FROM template_versions v
JOIN template_versions p ON p.template_id = v.template_id AND (p.created_at, p.id) < (v.created_at, v.id)
WHERE v.id = $1
ORDER BY p.created_at DESC, p.id DESC
LIMIT 1;

-- name: VersionList :many
-- A page of a template's versions, the oldest first, or the newest first.
SELECT sqlc.embed(v), u.username AS creator, u.name AS creator_name, u.avatar_url AS creator_avatar_url
FROM template_versions v
JOIN users u ON u.id = v.created_by
WHERE v.template_id = sqlc.arg(template_id)::uuid
  AND (sqlc.arg(include_archived)::boolean OR NOT v.archived)
  AND (sqlc.narg(after_id)::uuid IS NULL
    OR CASE WHEN sqlc.arg(newest_first)::boolean
        THEN (v.created_at, v.id) < (SELECT a.created_at, a.id FROM template_versions a WHERE a.id = sqlc.narg(after_id))
        ELSE (v.created_at, v.id) > (SELECT a.created_at, a.id FROM template_versions a WHERE a.id = sqlc.narg(after_id)) END)
ORDER BY
  CASE WHEN sqlc.arg(newest_first)::boolean THEN v.created_at END DESC, CASE WHEN sqlc.arg(newest_first)::boolean THEN v.id END DESC,
  v.created_at, v.id
LIMIT NULLIF(sqlc.arg(row_limit)::int, 0) OFFSET sqlc.arg(row_offset)::int;

-- name: VersionVariables :one
-- The values of the template's variables that a next version inherits.
SELECT v.id, v.variables, v.variables_key_id FROM templates t JOIN template_versions v ON v.id = t.active_version_id WHERE t.id = $1;

-- name: VersionSetLearned :exec
-- The results of reading the source, before a plan.
UPDATE template_versions SET readme = @readme, variables = @variables, variables_key_id = @variables_key_id,
    workspace_tags = @workspace_tags, updated_at = @now
WHERE id = @id;

-- name: VersionSetResult :exec
-- The results of the plans.
UPDATE template_versions SET
    parameters = @parameters, presets = @presets, external_auth = @external_auth, module_files_id = sqlc.narg(module_files_id),
    has_ai_task = @has_ai_task, has_external_agent = @has_external_agent, updated_at = @now
WHERE id = @id;

-- name: VersionTake :exec
UPDATE template_versions SET template_id = sqlc.arg(template_id)::uuid, updated_at = sqlc.arg(now) WHERE id = sqlc.arg(id);

-- name: VersionPatch :exec
UPDATE template_versions SET name = @name, message = @message, updated_at = @now WHERE id = @id;

-- name: VersionSetArchived :exec
UPDATE template_versions SET archived = $2, updated_at = $3 WHERE id = $1;

-- name: VersionInUse :one
-- Whether a workspace runs, or would start again, with the version.
SELECT EXISTS (
    SELECT 1
    FROM workspace_builds b
    JOIN workspaces w ON w.id = b.workspace_id AND w.deleted_at IS NULL
    WHERE b.template_version_id = $1
      AND NOT EXISTS (SELECT 1 FROM workspace_builds n WHERE n.workspace_id = w.id AND n.build_number > b.build_number)
);

-- name: VersionArchiveUnused :many
-- Archives the finished, inactive and unused versions of a template: those whose import
-- failed, or all of them.
UPDATE template_versions v SET archived = true, updated_at = sqlc.arg(now)
FROM templates t, provisioner_jobs j
WHERE v.template_id = sqlc.arg(template_id)::uuid AND t.id = v.template_id AND j.id = v.job_id
  AND NOT v.archived AND v.id <> t.active_version_id AND j.completed_at IS NOT NULL
  AND (sqlc.arg(every)::boolean OR j.status <> 'succeeded')
  AND NOT EXISTS (
    SELECT 1
    FROM workspace_builds b
    JOIN workspaces w ON w.id = b.workspace_id AND w.deleted_at IS NULL
    WHERE b.template_version_id = v.id
      AND NOT EXISTS (SELECT 1 FROM workspace_builds n WHERE n.workspace_id = w.id AND n.build_number > b.build_number))
RETURNING v.id;

-- name: VersionInitiator :one
-- The owner data of a plan.
SELECT u.id, u.username, u.name, u.email, u.login_type, u.ssh_public_key FROM users u WHERE u.id = $1;

-- name: VersionTemplate :one
-- The names for the metadata of a plan.
SELECT v.id, v.name, v.template_id, coalesce(t.name, '')::text AS template_name, v.variables, v.variables_key_id, v.module_files_id,
    coalesce(t.disable_module_cache, false)::boolean AS disable_module_cache
FROM template_versions v LEFT JOIN templates t ON t.id = v.template_id
WHERE v.id = $1;

-- name: VersionProvisioner :one
SELECT provisioner FROM provisioner_jobs WHERE id = $1;
