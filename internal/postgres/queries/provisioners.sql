-- name: QueueDaemonHello :one
-- A daemon that comes back under its name takes its row again.
INSERT INTO provisioner_daemons (id, organization_id, key_id, name, owner, provisioners, tags, version, api_version, slots, tools, shared_id, created_at, last_seen_at)
VALUES (sqlc.arg(id), sqlc.arg(organization_id), sqlc.arg(key_id), sqlc.arg(name), sqlc.arg(owner), sqlc.arg(provisioners), sqlc.arg(tags), sqlc.arg(version), sqlc.arg(api_version), sqlc.arg(slots), sqlc.arg(tools), sqlc.narg(shared_id), now(), now())
ON CONFLICT (organization_id, name, owner) DO UPDATE SET
    key_id = excluded.key_id, provisioners = excluded.provisioners, tags = excluded.tags,
    version = excluded.version, api_version = excluded.api_version,
    slots = excluded.slots, tools = excluded.tools, shared_id = excluded.shared_id, last_seen_at = now()
RETURNING id;

-- name: QueueDaemonsSeen :exec
UPDATE provisioner_daemons SET last_seen_at = now() WHERE id = ANY (sqlc.arg(ids)::uuid[]);

-- name: QueueDaemonGone :exec
-- The last connection under this name ended: offline at once, not after the
-- time that silence takes.
UPDATE provisioner_daemons SET last_seen_at = now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond' WHERE id = sqlc.arg(id);

-- name: QueueForgetDaemons :exec
DELETE FROM provisioner_daemons d WHERE d.last_seen_at < now() - interval '7 days';

-- name: QueueAddKey :one
-- A key that lives for that many seconds; 0 for ever.
INSERT INTO provisioner_keys (id, organization_id, name, secret_hash, tags, created_at, expires_at)
VALUES (sqlc.arg(id), sqlc.arg(organization_id), sqlc.arg(name), sqlc.arg(secret_hash), sqlc.arg(tags), now(),
    CASE WHEN sqlc.arg(lifetime_s)::bigint > 0 THEN now() + sqlc.arg(lifetime_s)::bigint * interval '1 second' END)
RETURNING *;

-- name: QueueKeyByHash :one
SELECT sqlc.embed(k), coalesce(k.expires_at <= now(), false)::boolean AS expired FROM provisioner_keys k WHERE k.secret_hash = $1;

-- name: QueueKeys :many
-- A page of the current keys, and replaced ones that are still good.
SELECT * FROM provisioner_keys k
WHERE k.organization_id = @organization_id AND (k.replaced_at IS NULL OR k.expires_at > now())
ORDER BY lower(k.name), k.replaced_at DESC NULLS FIRST, k.id
LIMIT @row_limit OFFSET @row_offset;

-- name: QueueLockKey :one
-- The current key of that name or id, and how many replaced ones are still good.
SELECT sqlc.embed(k),
    (SELECT count(*) FROM provisioner_keys o WHERE o.organization_id = k.organization_id AND lower(o.name) = lower(k.name)
        AND o.replaced_at IS NOT NULL AND o.expires_at > now())::integer AS replaced
FROM provisioner_keys k
WHERE k.organization_id = sqlc.arg(organization_id) AND k.replaced_at IS NULL
    AND (lower(k.name) = lower(sqlc.arg(ref)) OR k.id::text = lower(sqlc.arg(ref)))
FOR UPDATE;

-- name: QueueReplaceKey :one
-- It is good for the grace and no longer than it was.
UPDATE provisioner_keys SET replaced_at = now(), expires_at = least(expires_at, now() + sqlc.arg(grace_s)::bigint * interval '1 second')
WHERE id = sqlc.arg(id) RETURNING *;

-- name: QueueDeleteKeys :many
-- All of a name, or the one of an id.
DELETE FROM provisioner_keys
WHERE organization_id = sqlc.arg(organization_id) AND (lower(name) = lower(sqlc.arg(ref)) OR id::text = lower(sqlc.arg(ref)))
RETURNING *;

-- name: QueueKeysUsed :exec
-- Rows that were marked a moment ago are left alone.
UPDATE provisioner_keys SET last_used_at = now()
WHERE id = ANY (sqlc.arg(ids)::uuid[]) AND (last_used_at IS NULL OR last_used_at < now() - interval '20 seconds');

-- name: QueueKeysLeft :many
-- How long keys have to live, 0 for expired ones; a year for those that never
-- expire. Those that were deleted are missing.
SELECT k.id, k.name, greatest(0, least(extract(epoch FROM coalesce(k.expires_at, now() + interval '1 year') - now()) * 1000, 31536000000))::bigint AS left_ms
FROM provisioner_keys k WHERE k.id = ANY (sqlc.arg(ids)::uuid[]);

-- name: QueueForgetKeys :exec
DELETE FROM provisioner_keys WHERE replaced_at IS NOT NULL AND expires_at < now() - interval '7 days';

-- name: QueueModuleFiles :one
-- The prepared modules of a template version, for daemons of its organization.
SELECT f.data FROM files f
WHERE f.id = sqlc.arg(file_id) AND EXISTS (
    SELECT FROM template_versions v WHERE v.module_files_id = f.id AND v.organization_id = sqlc.arg(organization_id));
