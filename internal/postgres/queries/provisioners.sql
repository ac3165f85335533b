-- name: QueueDaemonHello :one
-- A daemon that comes back under its name takes its row again.
INSERT INTO provisioner_daemons (id, organization_id, key_id, name, owner, provisioners, tags, version, api_version, slots, tools, created_at, last_seen_at)
VALUES (sqlc.arg(id), sqlc.arg(organization_id), sqlc.arg(key_id), sqlc.arg(name), sqlc.arg(owner), sqlc.arg(provisioners), sqlc.arg(tags), sqlc.arg(version), sqlc.arg(api_version), sqlc.arg(slots), sqlc.arg(tools), now(), now())
ON CONFLICT (organization_id, name, owner) DO UPDATE SET
    key_id = excluded.key_id, provisioners = excluded.provisioners, tags = excluded.tags,
    version = excluded.version, api_version = excluded.api_version,
    slots = excluded.slots, tools = excluded.tools, last_seen_at = now()
RETURNING id;

-- name: QueueDaemonsSeen :exec
UPDATE provisioner_daemons SET last_seen_at = now() WHERE id = ANY (sqlc.arg(ids)::uuid[]);

-- name: QueueDaemonGone :exec
-- The last connection under this name ended: offline at once, not after the
-- time that silence takes.
UPDATE provisioner_daemons SET last_seen_at = now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond' WHERE id = sqlc.arg(id);

-- name: QueueForgetDaemons :exec
DELETE FROM provisioner_daemons d WHERE d.last_seen_at < now() - interval '7 days';

-- name: QueueDaemons :many
-- An organizations daemons with their running job and the one before.
SELECT sqlc.embed(d), coalesce(k.name, '') AS key_name,
    (d.last_seen_at IS NULL OR d.last_seen_at <= now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond')::boolean AS offline,
    (SELECT count(*) FROM provisioner_jobs j WHERE j.worker_id = d.id AND j.completed_at IS NULL)::integer AS busy_slots,
    coalesce((SELECT j.id FROM provisioner_jobs j WHERE j.worker_id = d.id AND j.completed_at IS NULL
        ORDER BY j.started_at DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')::uuid AS current_job,
    coalesce((SELECT j.id FROM provisioner_jobs j WHERE j.worker_id = d.id AND j.completed_at IS NOT NULL
        ORDER BY j.started_at DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')::uuid AS previous_job
FROM provisioner_daemons d
LEFT JOIN provisioner_keys k ON k.id = d.key_id
WHERE d.organization_id = sqlc.arg(organization_id)
    AND (cardinality(sqlc.arg(ids)::uuid[]) = 0 OR d.id = ANY (sqlc.arg(ids)::uuid[]))
    AND sqlc.arg(tags)::jsonb <@ d.tags
ORDER BY d.created_at DESC, d.id;

-- name: QueueMatched :one
-- How many daemons could take jobs of these tags, and how many of them are there now.
SELECT count(*) AS total,
    count(*) FILTER (WHERE d.last_seen_at > now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond') AS available,
    coalesce(max(d.last_seen_at), 'epoch')::timestamptz AS last_seen_at
FROM provisioner_daemons d
WHERE d.organization_id = sqlc.arg(organization_id)
    AND CASE WHEN sqlc.arg(tags)::jsonb = '{"scope": "organization", "owner": ""}' THEN d.tags = sqlc.arg(tags)::jsonb ELSE sqlc.arg(tags)::jsonb <@ d.tags END;

-- name: QueueAddKey :one
INSERT INTO provisioner_keys (id, organization_id, name, secret_hash, tags, created_at)
VALUES ($1, $2, $3, $4, $5, now()) RETURNING *;

-- name: QueueKeyByHash :one
SELECT * FROM provisioner_keys WHERE secret_hash = $1;

-- name: QueueKeys :many
SELECT * FROM provisioner_keys WHERE organization_id = $1 ORDER BY lower(name);

-- name: QueueDeleteKey :one
DELETE FROM provisioner_keys WHERE organization_id = $1 AND lower(name) = lower(sqlc.arg(name)) RETURNING *;

-- name: QueueModuleFiles :one
-- The prepared modules of a template version, for daemons of its organization.
SELECT f.data FROM files f
WHERE f.id = sqlc.arg(file_id) AND EXISTS (
    SELECT FROM template_versions v WHERE v.module_files_id = f.id AND v.organization_id = sqlc.arg(organization_id));
