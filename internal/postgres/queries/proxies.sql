-- Workspace proxies, their processes and their health.

-- name: Proxies :many
-- All proxies, the oldest first.
SELECT * FROM workspace_proxies ORDER BY created_at, id;

-- name: ProxyByID :one
SELECT * FROM workspace_proxies WHERE id = $1;

-- name: ProxyByName :one
SELECT * FROM workspace_proxies WHERE lower(name) = lower(@name);

-- name: ProxyForUpdate :one
SELECT * FROM workspace_proxies WHERE id = $1 FOR UPDATE;

-- name: ProxyInsert :execrows
-- Creates a proxy, unless the maximum is reached.
INSERT INTO workspace_proxies (id, name, display_name, icon, token_hash, created_at, updated_at)
SELECT @id, @name, @display_name, @icon, @token_hash, @now, @now
WHERE (SELECT count(*) FROM workspace_proxies) < @most::bigint;

-- name: ProxyUpdate :exec
UPDATE workspace_proxies SET name = @name, display_name = @display_name, icon = @icon, token_hash = @token_hash, updated_at = @now WHERE id = @id;

-- name: ProxyDelete :exec
DELETE FROM workspace_proxies WHERE id = $1;

-- name: ProxyRegister :exec
-- Stores the registration of a proxy. A proxy with a new address, or that was not registered,
-- is unreachable until its check, which is due at once.
UPDATE workspace_proxies SET access_url = @access_url, wildcard_hostname = @wildcard_hostname, derp_enabled = @derp_enabled, derp_only = @derp_only,
    version = @version,
    status = CASE WHEN access_url = @access_url AND status <> 'unregistered' THEN status ELSE 'unreachable' END,
    errors = CASE WHEN access_url = @access_url AND status <> 'unregistered' THEN errors ELSE '{}' END,
    warnings = CASE WHEN access_url = @access_url AND status <> 'unregistered' THEN warnings ELSE '{}' END,
    check_at = CASE WHEN access_url = @access_url AND status = 'ok' THEN check_at ELSE @now END
WHERE id = @id;

-- name: ProxyUnregister :execrows
-- Marks a proxy without processes as unregistered.
UPDATE workspace_proxies p SET access_url = '', wildcard_hostname = '', status = 'unregistered', errors = '{}', warnings = '{}'
WHERE p.id = @id AND NOT EXISTS (SELECT FROM workspace_proxy_replicas r WHERE r.proxy_id = p.id);

-- name: ProxyClaimChecks :many
-- Claims the due proxies: no other server gets them before next.
UPDATE workspace_proxies SET check_at = @next
WHERE id IN (SELECT d.id FROM workspace_proxies d WHERE d.access_url <> '' AND d.check_at <= @now ORDER BY d.check_at LIMIT @most FOR UPDATE SKIP LOCKED)
RETURNING *;

-- name: ProxyChecked :execrows
-- Stores the result of a check if the proxy's address has not changed.
UPDATE workspace_proxies SET status = @status, errors = @errors, warnings = @warnings, checked_at = @now
WHERE id = @id AND access_url = @access_url AND access_url <> '';

-- name: ProxyReplicaPut :execrows
-- Records that a process of a proxy runs; IDs of processes of other proxies are rejected.
INSERT INTO workspace_proxy_replicas (id, proxy_id, hostname, relay_address, error, version, started_at, updated_at)
VALUES (@id, @proxy_id, @hostname, @relay_address, @error, @version, @now, @now)
ON CONFLICT (id) DO UPDATE SET hostname = excluded.hostname, relay_address = excluded.relay_address, error = excluded.error,
    version = excluded.version, updated_at = excluded.updated_at
WHERE workspace_proxy_replicas.proxy_id = excluded.proxy_id;

-- name: ProxyReplicaDelete :exec
DELETE FROM workspace_proxy_replicas WHERE id = @id AND proxy_id = @proxy_id;

-- name: ProxyReplicasForget :exec
-- Deletes the processes of a proxy without a registration since a time.
DELETE FROM workspace_proxy_replicas WHERE proxy_id = @proxy_id AND updated_at < sqlc.arg(since)::timestamptz;

-- name: ProxyReplicas :many
-- The other processes of a proxy, at most a hundred.
SELECT * FROM workspace_proxy_replicas WHERE proxy_id = @proxy_id AND id <> @self ORDER BY started_at, id LIMIT 100;
