-- Packages of the provider mirror.

-- name: MirrorLock :exec
-- Serializes changes of the stored packages, so that their total size stays limited.
SELECT pg_advisory_xact_lock(hashtextextended('provider mirror', 0));

-- name: MirrorPackage :one
SELECT * FROM mirror_packages
WHERE hostname = @hostname AND namespace = @namespace AND type = @type AND version = @version AND os = @os AND arch = @arch;

-- name: MirrorOfProvider :many
SELECT * FROM mirror_packages WHERE hostname = @hostname AND namespace = @namespace AND type = @type
ORDER BY version, os, arch LIMIT 10000;

-- name: MirrorOfVersion :one
-- One of the packages of a version: all have the same checksums.
SELECT * FROM mirror_packages WHERE hostname = @hostname AND namespace = @namespace AND type = @type AND version = @version
ORDER BY os, arch LIMIT 1;

-- name: MirrorPage :many
SELECT * FROM mirror_packages ORDER BY hostname, namespace, type, version, os, arch LIMIT @lim OFFSET @off;

-- name: MirrorHostnames :many
-- published is true for hostnames that have published modules only.
SELECT hostname, bool_and(published)::boolean AS published FROM mirror_packages GROUP BY hostname ORDER BY hostname LIMIT 100;

-- name: MirrorTotal :one
SELECT count(*) AS packages, coalesce(sum(size), 0)::bigint AS bytes FROM mirror_packages;

-- name: MirrorOldest :one
-- The package that was used least recently, except one and published modules.
SELECT id, size FROM mirror_packages WHERE id <> @kept AND NOT published ORDER BY used_at, id LIMIT 1;

-- name: MirrorInsert :exec
INSERT INTO mirror_packages (id, hostname, namespace, type, version, os, arch, size, sha256, h1, signed_by, checksums, signature, published, created_at, used_at)
VALUES (@id, @hostname, @namespace, @type, @version, @os, @arch, @size, @sha256, @h1, @signed_by, @checksums, @signature, @published, now(), clock_timestamp());

-- name: MirrorInsertChunk :exec
INSERT INTO mirror_chunks (package_id, number, data) VALUES (@package_id, @number, @data);

-- name: MirrorChunk :one
SELECT data FROM mirror_chunks WHERE package_id = @package_id AND number = @number;

-- name: MirrorDelete :exec
DELETE FROM mirror_packages WHERE id = $1;

-- name: MirrorSetPublished :exec
UPDATE mirror_packages SET published = true WHERE id = $1;

-- name: MirrorUse :exec
-- Marks a package as used, at most once a minute.
UPDATE mirror_packages SET used_at = clock_timestamp() WHERE id = $1 AND used_at < clock_timestamp() - interval '1 minute';

-- name: MirrorTemplates :many
-- The sources of the active versions of templates that run Terraform, with the files of their
-- modules.
SELECT t.name AS template, o.name AS organization, v.name AS version, j.file_id, v.module_files_id
FROM templates t
JOIN organizations o ON o.id = t.organization_id
JOIN template_versions v ON v.id = t.active_version_id
JOIN provisioner_jobs j ON j.id = v.job_id
WHERE t.deleted_at IS NULL AND t.provisioner = 'terraform'
ORDER BY o.name, t.name LIMIT 2000;
