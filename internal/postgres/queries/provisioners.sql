-- name: QueueDaemonHello :one
-- A daemon with a known name gets its row again.
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
-- The last connection with this name ended: the daemon is offline at once instead of after
-- the timeout.
UPDATE provisioner_daemons SET left_at = now(), last_seen_at = now() - sqlc.arg(stale_ms)::bigint * interval '1 millisecond' WHERE id = sqlc.arg(id);

-- name: QueueForgetDaemons :exec
DELETE FROM provisioner_daemons d WHERE d.last_seen_at < now() - interval '7 days';

-- name: QueueAddKey :one
-- A key with a lifetime in seconds; 0 means no expiry.
INSERT INTO provisioner_keys (id, organization_id, name, secret_hash, tags, created_at, expires_at)
VALUES (sqlc.arg(id), sqlc.arg(organization_id), sqlc.arg(name), sqlc.arg(secret_hash), sqlc.arg(tags), now(),
    CASE WHEN sqlc.arg(lifetime_s)::bigint > 0 THEN now() + sqlc.arg(lifetime_s)::bigint * interval '1 second' END)
RETURNING *;

-- name: QueueKeyByHash :one
SELECT sqlc.embed(k), coalesce(k.expires_at <= now(), false)::boolean AS expired FROM provisioner_keys k WHERE k.secret_hash = $1;

-- name: QueueKeys :many
-- A page of the current keys, and of replaced keys that are still valid.
SELECT * FROM provisioner_keys k
WHERE k.organization_id = @organization_id AND (k.replaced_at IS NULL OR k.expires_at > now())
ORDER BY lower(k.name), k.replaced_at DESC NULLS FIRST, k.id
LIMIT @row_limit OFFSET @row_offset;

-- name: QueueLockKey :one
-- The current key with that name or ID, and the number of valid replaced keys.
SELECT sqlc.embed(k),
    (SELECT count(*) FROM provisioner_keys o WHERE o.organization_id = k.organization_id AND lower(o.name) = lower(k.name)
        AND o.replaced_at IS NOT NULL AND o.expires_at > now())::integer AS replaced
FROM provisioner_keys k
WHERE k.organization_id = sqlc.arg(organization_id) AND k.replaced_at IS NULL
    AND (lower(k.name) = lower(sqlc.arg(ref)) OR k.id::text = lower(sqlc.arg(ref)))
FOR UPDATE;

-- name: QueueReplaceKey :one
-- Limits the key to the grace period, without extending its lifetime.
UPDATE provisioner_keys SET replaced_at = now(), expires_at = least(expires_at, now() + sqlc.arg(grace_s)::bigint * interval '1 second')
WHERE id = sqlc.arg(id) RETURNING *;

-- name: QueueDeleteKeys :many
-- All keys of a name, or the key with an ID.
DELETE FROM provisioner_keys
WHERE organization_id = sqlc.arg(organization_id) AND (lower(name) = lower(sqlc.arg(ref)) OR id::text = lower(sqlc.arg(ref)))
RETURNING *;

-- name: QueueKeysUsed :exec
-- Rows that were updated recently are skipped.
UPDATE provisioner_keys SET last_used_at = now()
WHERE id = ANY (sqlc.arg(ids)::uuid[]) AND (last_used_at IS NULL OR last_used_at < now() - interval '20 seconds');

-- name: QueueKeysLeft :many
-- The remaining lifetimes of keys: 0 for expired keys, a year for keys without expiry.
-- Deleted keys are missing.
SELECT k.id, k.name, greatest(0, least(extract(epoch FROM coalesce(k.expires_at, now() + interval '1 year') - now()) * 1000, 31536000000))::bigint AS left_ms
FROM provisioner_keys k WHERE k.id = ANY (sqlc.arg(ids)::uuid[]);

-- name: QueueForgetKeys :exec
DELETE FROM provisioner_keys WHERE replaced_at IS NOT NULL AND expires_at < now() - interval '7 days';

-- name: QueueModuleFiles :one
-- The module files of a template version, for daemons of its organization.
SELECT f.data FROM files f
WHERE f.id = sqlc.arg(file_id) AND EXISTS (
    SELECT FROM template_versions v WHERE v.module_files_id = f.id AND v.organization_id = sqlc.arg(organization_id));
