-- Archives of template sources. Data is always a tar.

-- name: FileInsert :one
-- Of two concurrent identical uploads the second returns the row of the first.
INSERT INTO files (id, hash, created_by, mimetype, data, created_at)
VALUES (sqlc.arg(id), sqlc.arg(hash), sqlc.arg(created_by), 'application/x-tar', sqlc.arg(data), sqlc.arg(now))
ON CONFLICT (hash, created_by) DO UPDATE SET hash = excluded.hash
RETURNING id;

-- name: FileByHash :one
SELECT id FROM files WHERE hash = $1 AND created_by = $2;

-- name: FileOwner :one
SELECT created_by FROM files WHERE id = $1;

-- name: FileData :one
SELECT data FROM files WHERE id = $1;

-- name: FileTemplates :many
-- The templates with a version made from the file, and the organizations of such versions
-- without a template.
SELECT v.organization_id, v.created_by, v.template_id, t.user_acl, t.group_acl
FROM provisioner_jobs j
JOIN template_versions v ON v.job_id = j.id
LEFT JOIN templates t ON t.id = v.template_id
WHERE j.file_id = sqlc.arg(file_id) AND j.type = 'template_version_import';
