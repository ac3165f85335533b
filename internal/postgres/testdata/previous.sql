-- name: AgentAddScriptTiming :exec
INSERT INTO workspace_agent_script_timings (agent_id, script_id, started_at, ended_at, exit_code, stage, status)
VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: AgentAppendLogs :exec
INSERT INTO workspace_agent_logs (agent_id, source_id, created_at, level, output)
SELECT $1::uuid, $2::uuid, line.created_at, line.level, line.output
FROM ROWS FROM (
    unnest($3::timestamptz[]), unnest($4::text[]), unnest($5::text[])
) WITH ORDINALITY AS line (created_at, level, output, position)
ORDER BY line.position

-- name: AgentApps :many
SELECT id, agent_id, slug, display_name, icon, command, url, external, subdomain, sharing_level, open_in, app_group, tooltip, hidden, position, healthcheck_url, healthcheck_interval, healthcheck_threshold, health, created_at FROM workspace_apps WHERE agent_id = $1 ORDER BY position, slug

-- name: AgentByID :one
SELECT a.id, a.resource_id, a.parent_id, a.name, a.token, a.instance_id, a.operating_system, a.architecture, a.directory, a.expanded_directory, a.environment, a.motd_file, a.troubleshooting_url, a.connection_timeout_seconds, a.display_apps, a.scripts, a.metadata_items, a.api_key_scope, a.position, a.version, a.api_version, a.subsystems, a.certificate, a.lifecycle_state, a.started_at, a.ready_at, a.first_connected_at, a.last_connected_at, a.disconnected_at, a.replica_id, a.connection_id, a.logs_length, a.logs_overflowed, a.created_at, a.updated_at, a.resource_monitors, a.current_workspace_id, a.devcontainers, a.devcontainer_id, r.job_id, b.id AS build_id, b.build_number, j.status AS job_status,
    w.id AS workspace_id, w.name AS workspace_name, w.owner_id, w.organization_id, w.template_id,
    w.user_acl, w.group_acl, w.deleted_at, u.username AS owner_username,
    NOT EXISTS (
        SELECT 1
        FROM workspace_builds later
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE later.workspace_id = w.id AND later.build_number > b.build_number AND done.status = 'succeeded'
    ) AS current
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
JOIN provisioner_jobs j ON j.id = r.job_id
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
WHERE a.id = $1

-- name: AgentByToken :one

SELECT a.id, a.resource_id, a.parent_id, a.name, a.token, a.instance_id, a.operating_system, a.architecture, a.directory, a.expanded_directory, a.environment, a.motd_file, a.troubleshooting_url, a.connection_timeout_seconds, a.display_apps, a.scripts, a.metadata_items, a.api_key_scope, a.position, a.version, a.api_version, a.subsystems, a.certificate, a.lifecycle_state, a.started_at, a.ready_at, a.first_connected_at, a.last_connected_at, a.disconnected_at, a.replica_id, a.connection_id, a.logs_length, a.logs_overflowed, a.created_at, a.updated_at, a.resource_monitors, a.current_workspace_id, a.devcontainers, a.devcontainer_id, r.job_id, b.id AS build_id, b.build_number, j.status AS job_status,
    w.id AS workspace_id, w.name AS workspace_name, w.owner_id, w.organization_id, w.template_id,
    w.user_acl, w.group_acl, w.deleted_at, u.username AS owner_username,
    NOT EXISTS (
        SELECT 1
        FROM workspace_builds later
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE later.workspace_id = w.id AND later.build_number > b.build_number AND done.status = 'succeeded'
    ) AS current
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
JOIN provisioner_jobs j ON j.id = r.job_id
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
WHERE a.token = $1::uuid
ORDER BY b.created_at DESC, b.build_number DESC
LIMIT 1

-- name: AgentConnect :exec
UPDATE workspace_agents SET
    connection_id = $1::uuid,
    replica_id = $2::uuid,
    version = $3,
    api_version = $4,
    expanded_directory = $5,
    subsystems = $6,
    certificate = $7,
    first_connected_at = coalesce(first_connected_at, $8),
    last_connected_at = $8,
    disconnected_at = NULL,
    updated_at = $8
WHERE id = $9

-- name: AgentDisconnect :execrows
UPDATE workspace_agents SET disconnected_at = $1::timestamptz, replica_id = NULL, updated_at = $1::timestamptz
WHERE id = $2 AND connection_id = $3::uuid AND disconnected_at IS NULL

-- name: AgentEnsureToken :one
UPDATE workspace_agents SET token = coalesce(token, $1::uuid) WHERE id = $2
RETURNING token

-- name: AgentForgetWatches :exec
DELETE FROM agent_watches WHERE until <= $1

-- name: AgentGitSSHKey :one
SELECT ssh_public_key, ssh_private_key FROM users WHERE id = $1

-- name: AgentLifecycleForUpdate :one
SELECT lifecycle_state, started_at, ready_at FROM workspace_agents WHERE id = $1 FOR UPDATE

-- name: AgentLogSources :many
SELECT id, agent_id, display_name, icon, created_at FROM workspace_agent_log_sources WHERE agent_id = $1 ORDER BY created_at, display_name, id

-- name: AgentLogs :many
SELECT id, source_id, created_at, level, output
FROM workspace_agent_logs
WHERE agent_id = $1 AND id > $2
  AND ($3::bigint = 0 OR id < $3::bigint)
ORDER BY id
LIMIT $4

-- name: AgentLogsForUpdate :one
SELECT logs_length, logs_overflowed FROM workspace_agents WHERE id = $1 FOR UPDATE

-- name: AgentMetadata :many
SELECT key, value, error, collected_at FROM workspace_agent_metadata WHERE agent_id = $1

-- name: AgentMonitorsForUpdate :one
SELECT resource_monitors FROM workspace_agents WHERE id = $1 FOR UPDATE

-- name: AgentPurgeLogs :execrows
DELETE FROM workspace_agent_logs WHERE id = ANY (ARRAY(SELECT l.id FROM workspace_agent_logs l WHERE l.agent_id = $1 ORDER BY l.id LIMIT 1000))

-- name: AgentPutLogSource :one
INSERT INTO workspace_agent_log_sources (id, agent_id, display_name, icon, created_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (agent_id, id) DO UPDATE SET display_name = excluded.display_name, icon = excluded.icon
RETURNING id, agent_id, display_name, icon, created_at

-- name: AgentPutMetadata :exec
INSERT INTO workspace_agent_metadata (agent_id, key, value, error, collected_at)
SELECT item.agent_id, item.key, item.value, item.error, item.collected_at
FROM (
    SELECT unnest($1::uuid[]) AS agent_id, unnest($2::text[]) AS key, unnest($3::text[]) AS value,
        unnest($4::text[]) AS error, unnest($5::timestamptz[]) AS collected_at
) item
WHERE EXISTS (SELECT 1 FROM workspace_agents a WHERE a.id = item.agent_id)
ORDER BY item.agent_id, item.key
ON CONFLICT (agent_id, key) DO UPDATE
SET value = excluded.value, error = excluded.error, collected_at = excluded.collected_at
WHERE workspace_agent_metadata.collected_at <= excluded.collected_at

-- name: AgentSetAppHealth :execrows
UPDATE workspace_apps SET health = $1
WHERE agent_id = $2 AND id = $3 AND healthcheck_url <> '' AND health <> $1

-- name: AgentSetLifecycle :exec
UPDATE workspace_agents SET
    lifecycle_state = $1, started_at = $2, ready_at = $3,
    updated_at = $4
WHERE id = $5

-- name: AgentSetLogs :exec
UPDATE workspace_agents SET logs_length = $2, logs_overflowed = $3 WHERE id = $1

-- name: AgentSetMonitors :exec
UPDATE workspace_agents SET resource_monitors = $1 WHERE id = $2

-- name: AgentWatch :exec
INSERT INTO agent_watches (agent_id, until) VALUES ($1, $2)
ON CONFLICT (agent_id) DO UPDATE SET until = greatest(agent_watches.until, excluded.until)

-- name: AgentWatches :many
SELECT agent_id, until FROM agent_watches WHERE until > $1 ORDER BY agent_id

-- name: AgentsBeat :many
WITH alive AS (
    UPDATE workspace_agents a SET last_connected_at = beat.now, disconnected_at = NULL
    FROM (
        SELECT unnest($1::uuid[]) AS id, unnest($2::uuid[]) AS connection_id, $3::timestamptz AS now,
            set_config('synchronous_commit', 'off', true) AS waits
    ) beat
    WHERE a.id = beat.id AND a.connection_id = beat.connection_id
    RETURNING a.id, a.connection_id, a.resource_id
)
SELECT alive.id::uuid AS id, alive.connection_id::uuid AS connection_id,
    NOT EXISTS (
        SELECT 1
        FROM workspace_resources r
        JOIN workspace_builds b ON b.job_id = r.job_id
        JOIN workspace_builds later ON later.workspace_id = b.workspace_id AND later.build_number > b.build_number
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE r.id = alive.resource_id AND done.status = 'succeeded'
    ) AS current
FROM alive

-- name: AgentsGoneQuiet :many
WITH quiet AS (
    UPDATE workspace_agents SET disconnected_at = $1::timestamptz
    WHERE disconnected_at IS NULL AND last_connected_at < $2::timestamptz
    RETURNING id, resource_id
)
SELECT quiet.id, b.workspace_id
FROM quiet
JOIN workspace_resources r ON r.id = quiet.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id

-- name: AgentsObserved :many
SELECT a.id, a.name, a.certificate, a.lifecycle_state, a.started_at, a.ready_at, a.created_at, a.first_connected_at, a.last_connected_at,
    a.disconnected_at, a.connection_timeout_seconds, w.name AS workspace_name, u.username AS owner_username, t.name AS template_name,
    ARRAY(SELECT coalesce(nullif(p.display_name, ''), p.slug) FROM workspace_apps p WHERE p.agent_id = a.id ORDER BY p.id)::text[] AS apps,
    ARRAY(SELECT p.health FROM workspace_apps p WHERE p.agent_id = a.id ORDER BY p.id)::text[] AS healths
FROM (
    SELECT b.job_id, b.workspace_id
    FROM workspaces one
    CROSS JOIN LATERAL (
        SELECT last.job_id, last.transition, last.workspace_id, last.created_at
        FROM workspace_builds last WHERE last.workspace_id = one.id ORDER BY last.build_number DESC LIMIT 1
    ) b
    WHERE one.deleted_at IS NULL AND b.transition = 'start'
    ORDER BY b.created_at DESC
    LIMIT $1
) b
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
JOIN workspace_resources r ON r.job_id = b.job_id
JOIN workspace_agents a ON a.resource_id = r.id
ORDER BY a.id
LIMIT $1

-- name: AgentsOnInstance :many
SELECT a.id, a.name, w.name AS workspace_name, w.deleted_at,
    NOT EXISTS (
        SELECT 1
        FROM workspace_builds later
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE later.workspace_id = w.id AND later.build_number > b.build_number AND done.status = 'succeeded'
    ) AS current
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
JOIN workspaces w ON w.id = b.workspace_id
WHERE a.instance_id = $1::text AND a.instance_id <> ''
ORDER BY b.created_at DESC, b.build_number DESC
LIMIT 100

-- name: AgentsTimedOut :many
SELECT a.id, b.workspace_id
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
WHERE a.first_connected_at IS NULL AND a.connection_timeout_seconds > 0
  AND a.created_at > $1::timestamptz - interval '1 day'
  AND a.created_at + make_interval(secs => a.connection_timeout_seconds) > $1::timestamptz
  AND a.created_at + make_interval(secs => a.connection_timeout_seconds) <= $2::timestamptz

-- name: AgentsWithLogs :many
WITH RECURSIVE ids AS (
    (SELECT l.agent_id AS id FROM workspace_agent_logs l WHERE l.agent_id > $2::uuid ORDER BY l.agent_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.agent_id FROM workspace_agent_logs l WHERE l.agent_id > ids.id ORDER BY l.agent_id LIMIT 1) FROM ids WHERE ids.id IS NOT NULL
), page AS (SELECT ids.id FROM ids WHERE ids.id IS NOT NULL LIMIT 500)
SELECT a.id, (coalesce(a.last_connected_at, a.created_at) < $1::timestamptz
    AND NOT EXISTS (SELECT FROM workspace_resources r JOIN workspace_builds b ON b.job_id = r.job_id JOIN workspaces w ON w.latest_build_id = b.id AND w.deleted_at IS NULL
        WHERE r.id = a.resource_id))::boolean AS deletable
FROM page JOIN workspace_agents a ON a.id = page.id ORDER BY a.id

-- name: APIKeyOfUser :one
SELECT id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, created_at, updated_at, last_used_at, expires_at, user_agent, provider_check_at FROM api_keys WHERE id = $1 AND user_id = $2

-- name: APIKeyWithUser :one
SELECT k.id, k.secret_hash, k.user_id, k.login_type, k.token_name, k.scopes, k.allow_list, k.lifetime_seconds, k.ip_address, k.created_at, k.updated_at, k.last_used_at, k.expires_at, k.user_agent, k.provider_check_at, s.id, s.username, s.status, s.site_roles, s.deleted_at, s.last_seen_at, s.organizations, s.groups, s.custom_roles FROM api_keys k JOIN user_subjects s ON s.id = k.user_id WHERE k.id = $1

-- name: DeleteAPIKey :execrows
DELETE FROM api_keys WHERE id = $1 AND user_id = $2

-- name: DeleteAPIKeysOfUser :exec
DELETE FROM api_keys WHERE user_id = $1

-- name: DeleteExpiredAPIKeys :execrows
DELETE FROM api_keys WHERE id = ANY (ARRAY(SELECT k.id FROM api_keys k WHERE k.expires_at < $1 ORDER BY k.expires_at LIMIT 1000))

-- name: DeleteNamedKey :exec
DELETE FROM api_keys WHERE user_id = $1 AND token_name = $2 AND login_type <> 'token'

-- name: DeleteOtherSessions :exec
DELETE FROM api_keys WHERE user_id = $1 AND login_type <> 'token' AND token_name = '' AND id <> $2

-- name: ExpireAPIKey :execrows
UPDATE api_keys SET expires_at = least(expires_at, $1), updated_at = $1 WHERE id = $2 AND user_id = $3

-- name: InsertAPIKey :one
INSERT INTO api_keys (id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, user_agent,
    created_at, updated_at, last_used_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    $11, $11, $11, $12)
RETURNING id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, created_at, updated_at, last_used_at, expires_at, user_agent, provider_check_at

-- name: Sessions :many
SELECT id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, created_at, updated_at, last_used_at, expires_at, user_agent, provider_check_at FROM api_keys
WHERE user_id = $1 AND login_type <> 'token' AND token_name = '' AND expires_at > $2::timestamptz
ORDER BY last_used_at DESC, id
LIMIT $4 OFFSET $3

-- name: TokenByName :one
SELECT id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, created_at, updated_at, last_used_at, expires_at, user_agent, provider_check_at FROM api_keys WHERE user_id = $1 AND token_name = $2 AND login_type = 'token'

-- name: Tokens :many
SELECT k.id, k.secret_hash, k.user_id, k.login_type, k.token_name, k.scopes, k.allow_list, k.lifetime_seconds, k.ip_address, k.created_at, k.updated_at, k.last_used_at, k.expires_at, k.user_agent, k.provider_check_at, u.username FROM api_keys k JOIN users u ON u.id = k.user_id
WHERE k.login_type = 'token' AND ($1::boolean OR k.user_id = $2)
    AND ($3::boolean OR k.expires_at > $4)
    AND ($5::uuid IS NULL OR k.user_id = $5)
ORDER BY k.created_at DESC, k.id
LIMIT $7 OFFSET $6

-- name: TouchAPIKey :exec
UPDATE api_keys SET last_used_at = $1, expires_at = $2, ip_address = $3, updated_at = $1 WHERE id = $4

-- name: AppAgentNames :many
SELECT a.name
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = (
    SELECT b.job_id
    FROM workspace_builds b
    JOIN provisioner_jobs j ON j.id = b.job_id
    WHERE b.workspace_id = $1 AND b.transition = 'start' AND j.status = 'succeeded'
    ORDER BY b.build_number DESC
    LIMIT 1)

-- name: AppAgents :many
SELECT a.id, a.parent_id, a.name, a.created_at, a.first_connected_at, a.last_connected_at, a.disconnected_at, a.connection_timeout_seconds, a.lifecycle_state
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1
ORDER BY a.position, a.name, a.id

-- name: AppBySlug :many
SELECT id, agent_id, slug, display_name, icon, command, url, external, subdomain, sharing_level, open_in, app_group, tooltip, hidden, position, healthcheck_url, healthcheck_interval, healthcheck_threshold, health, created_at FROM workspace_apps
WHERE agent_id = ANY($1::uuid[]) AND lower(slug) = lower($2)
ORDER BY agent_id

-- name: AppDeleteKeys :execrows
DELETE FROM crypto_keys WHERE deletes_at < $1::timestamptz

-- name: AppDeletePortShare :execrows
DELETE FROM workspace_port_shares WHERE workspace_id = $1 AND agent_name = $2 AND port = $3

-- name: AppDeleteStats :execrows
DELETE FROM workspace_app_stats WHERE session_id = ANY (ARRAY(
    SELECT s.session_id FROM workspace_app_stats s WHERE s.ended_at < $1::timestamptz ORDER BY s.ended_at LIMIT 1000))

-- name: AppInsertKey :execrows
INSERT INTO crypto_keys (feature, sequence, secret, secret_key_id, starts_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (feature, sequence) DO NOTHING

-- name: AppInsertStatus :exec
INSERT INTO workspace_app_statuses (id, app_id, agent_id, workspace_id, state, message, uri, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: AppKeys :many
SELECT feature, sequence, secret, starts_at, deletes_at, secret_key_id FROM crypto_keys
WHERE feature = $1 AND (deletes_at IS NULL OR deletes_at > $2::timestamptz)
ORDER BY sequence DESC

-- name: AppLatestStatuses :many
SELECT DISTINCT ON (workspace_id) id, app_id, agent_id, workspace_id, state, message, uri, created_at FROM workspace_app_statuses
WHERE workspace_id = ANY($1::uuid[])
ORDER BY workspace_id, created_at DESC, id

-- name: AppMaxPortShareLevel :one
SELECT t.max_port_share_level FROM templates t JOIN workspaces w ON w.template_id = t.id WHERE w.id = $1

-- name: AppPortShare :one
SELECT workspace_id, agent_name, port, share_level, protocol FROM workspace_port_shares WHERE workspace_id = $1 AND agent_name = $2 AND port = $3

-- name: AppPortShares :many
SELECT workspace_id, agent_name, port, share_level, protocol FROM workspace_port_shares WHERE workspace_id = $1 ORDER BY agent_name, port

-- name: AppPutPortShare :one
INSERT INTO workspace_port_shares (workspace_id, agent_name, port, share_level, protocol)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (workspace_id, agent_name, port) DO UPDATE SET share_level = excluded.share_level, protocol = excluded.protocol
RETURNING workspace_id, agent_name, port, share_level, protocol

-- name: AppPutStats :exec
INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
SELECT s.session_id, nullif(s.user_id, '00000000-0000-0000-0000-000000000000'), s.workspace_id, s.agent_id, s.access_method, s.slug_or_port,
    s.started_at, s.ended_at, s.requests
FROM ROWS FROM (
    unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]),
    unnest($4::uuid[]), unnest($5::text[]), unnest($6::text[]),
    unnest($7::timestamptz[]), unnest($8::timestamptz[]), unnest($9::bigint[])
) AS s (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
JOIN workspaces w ON w.id = s.workspace_id
ON CONFLICT (session_id) DO UPDATE SET ended_at = excluded.ended_at, requests = excluded.requests

-- name: AppRetireKeys :exec
UPDATE crypto_keys SET deletes_at = $1::timestamptz
WHERE feature = $2 AND sequence < $3 AND deletes_at IS NULL

-- name: AppStatuses :many
SELECT id, app_id, agent_id, workspace_id, state, message, uri, created_at FROM workspace_app_statuses WHERE app_id = ANY($1::uuid[]) ORDER BY created_at DESC, id

-- name: AppTouchWorkspaces :exec
UPDATE workspaces SET last_used_at = $1
WHERE id = ANY($2::uuid[]) AND last_used_at < $1::timestamptz

-- name: AppTrimStatuses :exec
DELETE FROM workspace_app_statuses s
WHERE s.app_id = $1 AND s.id NOT IN (
    SELECT n.id FROM workspace_app_statuses n WHERE n.app_id = $1 ORDER BY n.created_at DESC, n.id LIMIT $2)

-- name: AppWorkspace :one

SELECT w.id, w.name, w.organization_id, w.owner_id, w.template_id, w.user_acl, w.group_acl, w.dormant_at, u.username AS owner_name,
    t.max_port_share_level, t.cors_behavior, latest.transition, latest.status,
    coalesce(started.job_id, '00000000-0000-0000-0000-000000000000')::uuid AS start_job_id,
    coalesce(started.ends, false)::boolean AS started
FROM workspaces w
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
JOIN LATERAL (
    SELECT b.transition, j.status
    FROM workspace_builds b
    JOIN provisioner_jobs j ON j.id = b.job_id
    WHERE b.workspace_id = w.id
    ORDER BY b.build_number DESC
    LIMIT 1
) latest ON true
LEFT JOIN LATERAL (
    SELECT b.job_id, NOT EXISTS (
        SELECT 1
        FROM workspace_builds later
        JOIN provisioner_jobs done ON done.id = later.job_id
        WHERE later.workspace_id = w.id AND later.build_number > b.build_number AND done.status = 'succeeded'
    ) AS ends
    FROM workspace_builds b
    JOIN provisioner_jobs j ON j.id = b.job_id
    WHERE b.workspace_id = w.id AND b.transition = 'start' AND j.status = 'succeeded'
    ORDER BY b.build_number DESC
    LIMIT 1
) started ON true
WHERE lower(u.username) = lower($1) AND u.deleted_at IS NULL
    AND lower(w.name) = lower($2) AND w.deleted_at IS NULL

-- name: AuditLogs :many
SELECT a.id, a.time, a.organization_id, a.user_id, a.ip, a.user_agent, a.resource_type, a.resource_id, a.resource_target, a.resource_icon, a.action, a.diff, a.status_code, a.additional_fields, a.request_id,
    u.username, u.name AS user_name, u.avatar_url AS user_avatar_url, u.email AS user_email, u.login_type AS user_login_type,
    u.status AS user_status, u.roles AS user_roles, u.theme AS user_theme,
    u.created_at AS user_created_at, u.updated_at AS user_updated_at, u.last_seen_at AS user_last_seen_at,
    o.name AS organization_name, o.display_name AS organization_display_name, o.icon AS organization_icon,
    coalesce(CASE a.resource_type
        WHEN 'user' THEN (SELECT x.deleted_at IS NOT NULL FROM users x WHERE x.id = a.resource_id)
        WHEN 'organization' THEN (SELECT x.deleted_at IS NOT NULL FROM organizations x WHERE x.id = a.resource_id)
        WHEN 'template' THEN (SELECT x.deleted_at IS NOT NULL FROM templates x WHERE x.id = a.resource_id)
        WHEN 'workspace' THEN (SELECT x.deleted_at IS NOT NULL FROM workspaces x WHERE x.id = a.resource_id)
        WHEN 'group' THEN (SELECT count(*) = 0 FROM groups x WHERE x.id = a.resource_id)
        WHEN 'custom_role' THEN (SELECT count(*) = 0 FROM custom_roles x WHERE x.id = a.resource_id)
        ELSE false
    END, false)::boolean AS is_deleted,
    coalesce((SELECT x.username FROM workspaces w JOIN users x ON x.id = w.owner_id
        WHERE w.id = CASE a.resource_type WHEN 'workspace' THEN a.resource_id WHEN 'workspace_build' THEN (a.additional_fields ->> 'workspace_id')::uuid END), '')::text AS workspace_owner
FROM audit_logs a
LEFT JOIN users u ON u.id = a.user_id
LEFT JOIN organizations o ON o.id = a.organization_id
WHERE ($1::boolean OR a.organization_id = ANY ($2::uuid[]))
    AND ($3::text = '' OR a.resource_type = $3)
    AND ($4::uuid IS NULL OR a.resource_id = $4)
    AND ($5::text = '' OR a.resource_target = $5)
    AND ($6::text = '' OR a.action = $6)
    AND ($7::text = '' OR a.user_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower($7)))
    AND ($8::text = '' OR a.user_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower($8)))
    AND ($9::uuid = '00000000-0000-0000-0000-000000000000' OR a.user_id = $9)
    AND ($10::uuid = '00000000-0000-0000-0000-000000000000' OR a.organization_id = $10)
    AND ($11::text = '' OR a.request_id = $11)
    AND ($12::text = '' OR a.additional_fields ->> 'build_reason' = $12)
    AND ($13::timestamptz IS NULL OR a.time >= $13)
    AND ($14::timestamptz IS NULL OR a.time < $14)
ORDER BY a.time DESC, a.id
LIMIT $16 OFFSET $15

-- name: AuditPurge :execrows
DELETE FROM audit_logs WHERE id = ANY (ARRAY(SELECT l.id FROM audit_logs l WHERE l.time < $1 ORDER BY l.time LIMIT 1000))

-- name: CountAuditLogs :one
SELECT count(*) FROM audit_logs a
WHERE ($1::boolean OR a.organization_id = ANY ($2::uuid[]))
    AND ($3::text = '' OR a.resource_type = $3)
    AND ($4::uuid IS NULL OR a.resource_id = $4)
    AND ($5::text = '' OR a.resource_target = $5)
    AND ($6::text = '' OR a.action = $6)
    AND ($7::text = '' OR a.user_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower($7)))
    AND ($8::text = '' OR a.user_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower($8)))
    AND ($9::uuid = '00000000-0000-0000-0000-000000000000' OR a.user_id = $9)
    AND ($10::uuid = '00000000-0000-0000-0000-000000000000' OR a.organization_id = $10)
    AND ($11::text = '' OR a.request_id = $11)
    AND ($12::text = '' OR a.additional_fields ->> 'build_reason' = $12)
    AND ($13::timestamptz IS NULL OR a.time >= $13)
    AND ($14::timestamptz IS NULL OR a.time < $14)

-- name: InsertAuditLog :exec
INSERT INTO audit_logs (id, time, organization_id, user_id, ip, user_agent, resource_type, resource_id,
    resource_target, resource_icon, action, diff, status_code, additional_fields, request_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)

-- name: BuildAgentTimings :many
SELECT a.id, a.name, a.created_at, a.first_connected_at
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1
ORDER BY a.position, a.name

-- name: BuildAgentToken :one
SELECT a.token, a.operating_system, a.architecture
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1 AND r.type = 'coder_external_agent' AND lower(a.name) = lower($2)

-- name: BuildByID :one
SELECT id, workspace_id, template_version_id, preset_id, build_number, transition, initiator_id, reason, job_id, parameters, deadline, max_deadline, daily_cost, created_at, updated_at, current, failed_at FROM workspace_builds WHERE id = $1

-- name: BuildByNumber :one
SELECT id, workspace_id, template_version_id, preset_id, build_number, transition, initiator_id, reason, job_id, parameters, deadline, max_deadline, daily_cost, created_at, updated_at, current, failed_at FROM workspace_builds WHERE workspace_id = $1 AND build_number = $2

-- name: BuildEndJob :exec
UPDATE provisioner_jobs SET completed_at = $1::timestamptz, updated_at = $1 WHERE id = $2 AND started_at IS NULL AND completed_at IS NULL

-- name: BuildFinish :exec
UPDATE workspace_builds SET deadline = $1, max_deadline = $2, daily_cost = $3, updated_at = $4 WHERE id = $5

-- name: BuildFollowUps :many
SELECT f.build_id, f.created_at FROM workspace_build_follow_ups f
JOIN workspace_builds b ON b.id = f.build_id
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE j.completed_at IS NOT NULL AND (f.created_at, f.build_id) > ($1::timestamptz, $2::uuid)
ORDER BY f.created_at, f.build_id
LIMIT $3

-- name: BuildForProvisioner :one
SELECT b.id, b.workspace_id, b.template_version_id, b.preset_id, b.build_number, b.transition, b.initiator_id, b.reason, b.job_id, b.parameters, b.deadline, b.max_deadline, b.daily_cost, b.created_at, b.updated_at, b.current, b.failed_at, w.id, w.organization_id, w.owner_id, w.template_id, w.name, w.automatic_updates, w.autostart_schedule, w.ttl_ms, w.dormant_at, w.deleting_at, w.next_start_at, w.user_acl, w.group_acl, w.created_at, w.updated_at, w.last_used_at, w.deleted_at, w.latest_build_id, w.retry_at, w.retries, w.last_used_day, v.name AS version_name, v.variables, t.name AS template_name,
    v.module_files_id, t.disable_module_cache,
    u.username, u.name AS owner_full_name, u.email, u.login_type, u.roles, u.ssh_public_key, u.ssh_private_key
FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN template_versions v ON v.id = b.template_version_id
JOIN templates t ON t.id = w.template_id
WHERE b.id = $1

-- name: BuildIDs :many
SELECT id FROM workspace_builds
WHERE workspace_id = $1
    AND ($2::timestamptz IS NULL OR created_at > $2)
    AND ($3::integer = 0 OR build_number < $3::integer)
ORDER BY build_number DESC
LIMIT NULLIF($5::integer, 0) OFFSET $4::integer

-- name: BuildInsert :exec

INSERT INTO workspace_builds (id, workspace_id, template_version_id, preset_id, build_number, transition, initiator_id, reason, job_id, parameters, daily_cost, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    coalesce((SELECT l.daily_cost FROM workspace_builds l WHERE l.workspace_id = $2 ORDER BY l.build_number DESC LIMIT 1), 0), $11, $11)

-- name: BuildJobStatus :one
SELECT status FROM provisioner_jobs WHERE id = $1 FOR UPDATE

-- name: BuildLastStart :one
SELECT b.id FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'succeeded'
WHERE b.workspace_id = $1 AND b.transition = 'start' AND b.id <> $2
ORDER BY b.build_number DESC
LIMIT 1

-- name: BuildLatest :one
SELECT b.id, b.workspace_id, b.template_version_id, b.preset_id, b.build_number, b.transition, b.initiator_id, b.reason, b.job_id, b.parameters, b.deadline, b.max_deadline, b.daily_cost, b.created_at, b.updated_at, b.current, b.failed_at, j.status AS job_status
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE b.workspace_id = $1
ORDER BY b.build_number DESC
LIMIT 1

-- name: BuildOwnerGroups :many
SELECT g.name FROM group_memberships m JOIN groups g ON g.id = m.group_id
WHERE m.user_id = $1 AND m.organization_id = $2
ORDER BY g.id <> g.organization_id, lower(g.name)

-- name: BuildOwnerMemberships :many
SELECT m.organization_id, m.roles FROM organization_members m JOIN organizations o ON o.id = m.organization_id AND o.deleted_at IS NULL
WHERE m.user_id = $1 ORDER BY m.created_at, m.organization_id

-- name: BuildPutFollowUp :exec
INSERT INTO workspace_build_follow_ups (build_id, request, created_at) VALUES ($1, $2, $3)

-- name: BuildPutSnapshot :execrows
INSERT INTO workspace_build_states (build_id, state, updated_at)
SELECT b.id, $1, $2 FROM workspace_builds b
WHERE b.id = $3 AND NOT EXISTS (
    SELECT FROM workspace_builds l WHERE l.workspace_id = b.workspace_id AND l.build_number > b.build_number)
ON CONFLICT (build_id) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at

-- name: BuildPutState :exec
INSERT INTO workspace_build_states (build_id, state, updated_at) VALUES ($1, $2, $3)
ON CONFLICT (build_id) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at

-- name: BuildRows :many
SELECT b.id, b.workspace_id, b.template_version_id, b.preset_id, b.build_number, b.transition, b.initiator_id, b.reason, b.job_id, b.parameters, b.deadline, b.max_deadline, b.daily_cost, b.created_at, b.updated_at, b.current, b.failed_at, w.name AS workspace_name, w.owner_id, w.organization_id, u.username AS owner_name, u.avatar_url AS owner_avatar_url,
    i.username AS initiator_name, v.name AS version_name, v.has_ai_task, v.has_external_agent
FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN users i ON i.id = b.initiator_id
JOIN template_versions v ON v.id = b.template_version_id
WHERE b.id = ANY($1::uuid[])

-- name: BuildScriptTimings :many
SELECT s.agent_id, s.script_id, s.started_at, s.ended_at, s.exit_code, s.stage, s.status, a.name AS agent_name, a.scripts
FROM workspace_agent_script_timings s
JOIN workspace_agents a ON a.id = s.agent_id
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1
ORDER BY s.started_at, s.script_id

-- name: BuildSetDeadline :exec
UPDATE workspace_builds SET deadline = $1, updated_at = $2 WHERE id = $3

-- name: BuildSource :one
SELECT data FROM files WHERE id = $1

-- name: BuildStateUpTo :one
SELECT s.state
FROM workspace_builds b
JOIN workspace_build_states s ON s.build_id = b.id
WHERE b.workspace_id = $1 AND b.build_number <= $2
ORDER BY b.build_number DESC
LIMIT 1

-- name: BuildTakeFollowUp :one
DELETE FROM workspace_build_follow_ups WHERE build_id = $1 RETURNING request

-- name: ConnectionLogs :many
SELECT l.id, l.connect_time, l.disconnect_time, l.type, l.organization_id, l.workspace_id, l.workspace_owner_id, l.workspace_name, l.agent_id, l.agent_name, l.ip, l.user_id, l.user_agent, l.slug_or_port, l.status_code, l.exit_code, l.disconnect_reason, l.replica_id, coalesce(w.username, '')::text AS owner_username,
    o.name AS organization_name, o.display_name AS organization_display_name, o.icon AS organization_icon
FROM connection_logs l
JOIN organizations o ON o.id = l.organization_id
LEFT JOIN users w ON w.id = l.workspace_owner_id
WHERE ($1::boolean OR l.organization_id = ANY ($2::uuid[]))
    AND ($3::uuid = '00000000-0000-0000-0000-000000000000' OR l.organization_id = $3)
    AND ($4::uuid = '00000000-0000-0000-0000-000000000000' OR l.workspace_id = $4)
    AND ($5::uuid = '00000000-0000-0000-0000-000000000000' OR l.id = $5)
    AND ($6::text = '' OR l.workspace_owner_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower($6)))
    AND ($7::text = '' OR l.workspace_owner_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower($7)))
    AND ($8::text = '' OR l.user_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower($8)))
    AND ($9::text = '' OR l.user_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower($9)))
    AND ($10::text = '' OR l.type = $10)
    AND ($11::text = '' OR (l.disconnect_time IS NULL) = ($11 = 'ongoing'))
    AND ($12::timestamptz IS NULL OR l.connect_time >= $12)
    AND ($13::timestamptz IS NULL OR l.connect_time < $13)
ORDER BY l.connect_time DESC, l.id
LIMIT $15 OFFSET $14

-- name: ConnectionUsers :many
SELECT id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours FROM users WHERE id = ANY ($1::uuid[])

-- name: ConnectionsClosed :exec
UPDATE connection_logs l SET disconnect_time = x.at, disconnect_reason = x.reason
FROM ROWS FROM (unnest($1::uuid[]), unnest($2::timestamptz[]), unnest($3::text[])) AS x (id, at, reason)
WHERE l.id = x.id AND l.disconnect_time IS NULL

-- name: ConnectionsLost :execrows
UPDATE connection_logs l SET disconnect_time = $1::timestamptz, disconnect_reason = 'The server ended'
WHERE l.disconnect_time IS NULL AND l.replica_id <> $2
    AND NOT EXISTS (SELECT 1 FROM replicas r WHERE r.id = l.replica_id AND r.stopped_at IS NULL AND r.updated_at >= $3::timestamptz)

-- name: ConnectionsOpened :exec

INSERT INTO connection_logs (id, connect_time, disconnect_time, type, organization_id, workspace_id, workspace_owner_id, workspace_name, agent_id, agent_name,
    ip, user_id, user_agent, slug_or_port, status_code, replica_id)
SELECT x.id, x.connect_time, CASE WHEN x.lasts THEN NULL ELSE x.connect_time END, x.type, w.organization_id, w.id, w.owner_id, w.name, a.id, a.name,
    nullif(x.ip, '')::inet, nullif(x.user_id, '00000000-0000-0000-0000-000000000000'), x.user_agent, x.slug_or_port, x.status_code, $1::uuid
FROM ROWS FROM (
    unnest($2::uuid[]), unnest($3::timestamptz[]), unnest($4::boolean[]), unnest($5::text[]),
    unnest($6::uuid[]), unnest($7::text[]), unnest($8::uuid[]), unnest($9::text[]),
    unnest($10::text[]), unnest($11::integer[])
) AS x (id, connect_time, lasts, type, agent_id, ip, user_id, user_agent, slug_or_port, status_code)
JOIN workspace_agents a ON a.id = x.agent_id
JOIN workspace_resources r ON r.id = a.resource_id
JOIN workspace_builds b ON b.job_id = r.job_id
JOIN workspaces w ON w.id = b.workspace_id
ON CONFLICT (id) DO NOTHING

-- name: ConnectionsPurge :execrows
DELETE FROM connection_logs WHERE id = ANY (ARRAY(
    SELECT l.id FROM connection_logs l WHERE l.connect_time < $1 AND l.disconnect_time IS NOT NULL ORDER BY l.connect_time LIMIT 1000))

-- name: CountConnectionLogs :one
SELECT count(*) FROM connection_logs l
WHERE ($1::boolean OR l.organization_id = ANY ($2::uuid[]))
    AND ($3::uuid = '00000000-0000-0000-0000-000000000000' OR l.organization_id = $3)
    AND ($4::uuid = '00000000-0000-0000-0000-000000000000' OR l.workspace_id = $4)
    AND ($5::uuid = '00000000-0000-0000-0000-000000000000' OR l.id = $5)
    AND ($6::text = '' OR l.workspace_owner_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower($6)))
    AND ($7::text = '' OR l.workspace_owner_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower($7)))
    AND ($8::text = '' OR l.user_id IN (SELECT x.id FROM users x WHERE lower(x.username) = lower($8)))
    AND ($9::text = '' OR l.user_id IN (SELECT x.id FROM users x WHERE lower(x.email) = lower($9)))
    AND ($10::text = '' OR l.type = $10)
    AND ($11::text = '' OR (l.disconnect_time IS NULL) = ($11 = 'ongoing'))
    AND ($12::timestamptz IS NULL OR l.connect_time >= $12)
    AND ($13::timestamptz IS NULL OR l.connect_time < $13)

-- name: EnsureDefaultOrganization :one
INSERT INTO organizations (id, name, display_name, is_default, created_at, updated_at, provisioner_weight)
VALUES ($1, 'coder', 'Coder', true, $2, $2, 1)
ON CONFLICT (is_default) WHERE is_default DO UPDATE SET is_default = true
RETURNING id

-- name: EnsureDeployment :one
INSERT INTO deployment (id) VALUES (true)
ON CONFLICT (id) DO UPDATE SET id = true
RETURNING uuid

-- name: EnsureSecret :one
INSERT INTO secrets (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING value

-- name: FileByHash :one
SELECT id FROM files WHERE hash = $1 AND created_by = $2

-- name: FileData :one
SELECT data FROM files WHERE id = $1

-- name: FileInsert :one

INSERT INTO files (id, hash, created_by, mimetype, data, created_at)
VALUES ($1, $2, $3, 'application/x-tar', $4, $5)
ON CONFLICT (hash, created_by) DO UPDATE SET hash = excluded.hash
RETURNING id

-- name: FileOwner :one
SELECT created_by FROM files WHERE id = $1

-- name: FileTemplates :many
SELECT v.organization_id, v.created_by, v.template_id, t.user_acl, t.group_acl
FROM provisioner_jobs j
JOIN template_versions v ON v.job_id = j.id
LEFT JOIN templates t ON t.id = v.template_id
WHERE j.file_id = $1 AND j.type = 'template_version_import'

-- name: ForgetAllSharing :many
UPDATE workspaces SET user_acl = '{}', group_acl = '{}'
WHERE organization_id = $1 AND (user_acl <> '{}' OR group_acl <> '{}')
RETURNING id

-- name: ForgetInTemplates :exec
UPDATE templates SET user_acl = user_acl - $1::text, group_acl = group_acl - $1::text
WHERE ($2::uuid = '00000000-0000-0000-0000-000000000000' OR organization_id = $2)
    AND (user_acl ? $1::text OR group_acl ? $1::text)

-- name: ForgetInWorkspaces :many
UPDATE workspaces SET user_acl = user_acl - $1::text, group_acl = group_acl - $1::text
WHERE ($2::uuid = '00000000-0000-0000-0000-000000000000' OR organization_id = $2)
    AND (user_acl ? $1::text OR group_acl ? $1::text)
RETURNING id

-- name: GroupAddMembers :many
INSERT INTO group_members (group_id, organization_id, user_id)
SELECT $1, m.organization_id, m.user_id FROM organization_members m
WHERE m.organization_id = $2 AND m.user_id = ANY ($3::uuid[])
ON CONFLICT DO NOTHING
RETURNING user_id

-- name: GroupByID :one
SELECT g.id, g.organization_id, g.name, g.display_name, g.avatar_url, g.quota_allowance, g.source, g.created_at, g.updated_at FROM groups g JOIN organizations o ON o.id = g.organization_id AND o.deleted_at IS NULL WHERE g.id = $1

-- name: GroupByName :one
SELECT id, organization_id, name, display_name, avatar_url, quota_allowance, source, created_at, updated_at FROM groups WHERE organization_id = $1 AND lower(name) = lower($2)

-- name: GroupDelete :exec
DELETE FROM groups WHERE id = $1 AND id <> organization_id

-- name: GroupForUpdate :one
SELECT id, organization_id, name, display_name, avatar_url, quota_allowance, source, created_at, updated_at FROM groups WHERE id = $1 FOR UPDATE

-- name: GroupInsert :exec
INSERT INTO groups (id, organization_id, name, display_name, avatar_url, quota_allowance, source, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)

-- name: GroupMemberIDs :many
SELECT user_id FROM group_members WHERE group_id = $1 ORDER BY user_id

-- name: GroupMembers :many
SELECT x.group_id, u.id, u.email, u.username, u.name, u.avatar_url, u.password_hash, u.login_type, u.status, u.roles, u.theme, u.terminal_font, u.task_alert_dismissed, u.ssh_public_key, u.ssh_private_key, u.ssh_key_updated_at, u.is_system, u.created_at, u.updated_at, u.last_seen_at, u.deleted_at, u.quiet_hours
FROM (
    SELECT m.group_id, m.user_id, row_number() OVER (PARTITION BY m.group_id ORDER BY lower(p.username)) AS place
    FROM group_memberships m JOIN users p ON p.id = m.user_id AND p.deleted_at IS NULL AND NOT p.is_system
    WHERE m.group_id = ANY ($1::uuid[])
        AND ($2::boolean OR m.organization_id = ANY ($3::uuid[]) OR m.user_id = $4::uuid)
) x JOIN users u ON u.id = x.user_id
WHERE x.place <= $5::integer
ORDER BY x.group_id, lower(u.username)

-- name: GroupMembersPage :many
SELECT u.id, u.email, u.username, u.name, u.avatar_url, u.password_hash, u.login_type, u.status, u.roles, u.theme, u.terminal_font, u.task_alert_dismissed, u.ssh_public_key, u.ssh_private_key, u.ssh_key_updated_at, u.is_system, u.created_at, u.updated_at, u.last_seen_at, u.deleted_at, u.quiet_hours, count(*) OVER () AS count
FROM group_memberships m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system
WHERE m.group_id = $1
    AND ($2::boolean OR m.organization_id = ANY ($3::uuid[]) OR m.user_id = $4::uuid)
    AND ($5::text = '' OR strpos(lower(u.username), lower($5)) > 0 OR strpos(lower(u.email), lower($5)) > 0
        OR strpos(lower(u.name), lower($5)) > 0)
ORDER BY lower(u.username)
LIMIT $7 OFFSET $6

-- name: GroupRemoveMembers :many
DELETE FROM group_members WHERE group_id = $1 AND user_id = ANY ($2::uuid[]) RETURNING user_id

-- name: GroupUpdate :exec
UPDATE groups SET name = $1, display_name = $2, avatar_url = $3, quota_allowance = $4, updated_at = $5
WHERE id = $6

-- name: Groups :many

SELECT g.id, g.organization_id, g.name, g.display_name, g.avatar_url, g.quota_allowance, g.source, g.created_at, g.updated_at, o.name AS organization_name, o.display_name AS organization_display_name,
    ((SELECT count(*) FROM group_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system WHERE m.group_id = g.id)
        + CASE WHEN g.id = g.organization_id THEN (SELECT count(*) FROM organization_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system WHERE m.organization_id = g.id) ELSE 0 END)::bigint AS members
FROM groups g JOIN organizations o ON o.id = g.organization_id AND o.deleted_at IS NULL
WHERE ($1::boolean OR g.organization_id = ANY ($2::uuid[]))
    AND ($3::uuid[] IS NULL OR g.id = ANY ($3::uuid[]))
    AND ($4::uuid = '00000000-0000-0000-0000-000000000000' OR g.organization_id = $4)
    AND ($5::uuid[] IS NULL OR g.id = ANY ($5::uuid[]))
    AND ($6::text = '' OR strpos(lower(g.name), lower($6)) > 0 OR strpos(lower(g.display_name), lower($6)) > 0)
    AND ($7::uuid = '00000000-0000-0000-0000-000000000000'
        OR g.id IN (SELECT x.group_id FROM group_memberships x WHERE x.user_id = $7))
ORDER BY lower(o.name), g.id <> g.organization_id, lower(g.name), g.id
LIMIT $9 OFFSET $8

-- name: GroupsAmong :many
SELECT id FROM groups WHERE organization_id = $1 AND id = ANY ($2::uuid[])

-- name: ListedGroups :many
SELECT id, organization_id, name, display_name, avatar_url FROM groups WHERE id = ANY ($1::uuid[])

-- name: ListedUsers :many
SELECT id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours FROM users WHERE id = ANY ($1::uuid[]) AND deleted_at IS NULL ORDER BY lower(username)

-- name: OrganizationMembersAmong :many
SELECT m.user_id FROM organization_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL
WHERE m.organization_id = $1 AND m.user_id = ANY ($2::uuid[])

-- name: OrganizationSetSharing :one
UPDATE organizations SET workspace_sharing_disabled = $1, updated_at = $2 WHERE id = $3 AND deleted_at IS NULL RETURNING id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled

-- name: UsernamesOf :many
SELECT id, username FROM users WHERE id = ANY ($1::uuid[]) ORDER BY lower(username)

-- name: InsightActiveUsers :many
SELECT i.n::bigint AS n, count(DISTINCT x.user_id)::bigint AS users,
    coalesce(array_agg(DISTINCT x.template_id) FILTER (WHERE x.template_id IS NOT NULL), '{}')::uuid[] AS templates
FROM ROWS FROM (unnest($1::timestamptz[]), unnest($2::timestamptz[])) WITH ORDINALITY AS i (starts, ends, n)
LEFT JOIN LATERAL (
    SELECT u.user_id, u.template_id FROM workspace_usage u
    WHERE u.hour >= i.starts AND u.hour < i.ends
        AND (cardinality($3::uuid[]) = 0 OR u.template_id = ANY($3::uuid[]))
    UNION
    SELECT s.user_id, w.template_id FROM workspace_app_stats s JOIN workspaces w ON w.id = s.workspace_id
    WHERE s.ended_at >= i.starts AND s.started_at < i.ends AND s.user_id IS NOT NULL
        AND (cardinality($3::uuid[]) = 0 OR w.template_id = ANY($3::uuid[]))
) x ON true
GROUP BY i.n ORDER BY i.n

-- name: InsightApps :many
SELECT s.slug_or_port, coalesce(max(a.display_name), '')::text AS display_name, coalesce(max(a.icon), '')::text AS icon, w.template_id,
    sum(-extract(epoch FROM greatest(s.started_at, $1::timestamptz) - least(s.ended_at, $2::timestamptz)))::bigint AS seconds,
    count(*)::bigint AS times
FROM workspace_app_stats s
JOIN workspaces w ON w.id = s.workspace_id
LEFT JOIN workspace_apps a ON a.agent_id = s.agent_id AND a.slug = s.slug_or_port
WHERE s.ended_at >= $1::timestamptz AND s.started_at < $2::timestamptz AND s.access_method <> 'terminal'
    AND (cardinality($3::uuid[]) = 0 OR w.template_id = ANY($3::uuid[]))
GROUP BY s.slug_or_port, w.template_id
ORDER BY seconds DESC, s.slug_or_port, w.template_id LIMIT 1000

-- name: InsightParameterRows :many
SELECT t.id AS template_id, v.parameters FROM templates t JOIN template_versions v ON v.id = t.active_version_id
WHERE t.id = ANY($1::uuid[])

-- name: InsightParameters :many
SELECT w.template_id, (p ->> 'name')::text AS name, (p ->> 'value')::text AS value, count(*)::bigint AS workspaces
FROM workspaces w
CROSS JOIN LATERAL (
    SELECT b.parameters FROM workspace_builds b
    WHERE b.workspace_id = w.id AND b.transition = 'start' AND b.created_at >= $1::timestamptz AND b.created_at < $2::timestamptz
    ORDER BY b.build_number DESC LIMIT 1) b
CROSS JOIN LATERAL jsonb_array_elements(b.parameters) p
WHERE w.created_at < $2::timestamptz AND (w.deleted_at IS NULL OR w.deleted_at >= $1::timestamptz)
    AND (cardinality($3::uuid[]) = 0 OR w.template_id = ANY($3::uuid[]))
GROUP BY 1, 2, 3
ORDER BY workspaces DESC, 1, 2, 3 LIMIT 2000

-- name: InsightSessions :many
SELECT h.template_id,
    sum(least(3600, h.ssh))::bigint AS ssh, sum(least(3600, h.vscode))::bigint AS vscode,
    sum(least(3600, h.jetbrains))::bigint AS jetbrains, sum(least(3600, h.reconnecting_pty))::bigint AS reconnecting_pty,
    count(DISTINCT h.user_id) FILTER (WHERE h.ssh > 0)::bigint AS ssh_users, count(DISTINCT h.user_id) FILTER (WHERE h.vscode > 0)::bigint AS vscode_users,
    count(DISTINCT h.user_id) FILTER (WHERE h.jetbrains > 0)::bigint AS jetbrains_users,
    count(DISTINCT h.user_id) FILTER (WHERE h.reconnecting_pty > 0)::bigint AS reconnecting_pty_users
FROM (
    SELECT u.template_id, u.user_id, u.hour, sum(u.ssh_seconds) AS ssh, sum(u.vscode_seconds) AS vscode, sum(u.jetbrains_seconds) AS jetbrains,
        sum(u.reconnecting_pty_seconds) AS reconnecting_pty
    FROM workspace_usage u
    WHERE u.hour >= $1::timestamptz AND u.hour < $2::timestamptz
        AND (cardinality($3::uuid[]) = 0 OR u.template_id = ANY($3::uuid[]))
    GROUP BY 1, 2, 3
) h GROUP BY h.template_id ORDER BY h.template_id

-- name: InsightStatusChanges :many
SELECT c.status::text AS status, width_bucket(c.changed_at, $1::timestamptz[])::integer AS n, sum(c.delta)::bigint AS delta
FROM (
    SELECT new_status AS status, changed_at, 1 AS delta FROM user_status_changes WHERE new_status IS NOT NULL
    UNION ALL
    SELECT old_status, changed_at, -1 FROM user_status_changes WHERE old_status IS NOT NULL
) c
GROUP BY 1, 2

-- name: InsightTemplates :many
SELECT id, organization_id, user_acl, group_acl FROM templates WHERE id = ANY($1::uuid[])

-- name: InsightUserActivity :many
SELECT u.id, u.username, u.avatar_url, x.seconds, x.templates
FROM (
    SELECT h.user_id, sum(least(3600, h.seconds))::bigint AS seconds,
        (SELECT array_agg(DISTINCT t) FROM unnest(string_to_array(string_agg(h.templates, ','), ',')::uuid[]) t)::uuid[] AS templates
    FROM (
        SELECT b.user_id, b.hour, sum(b.seconds) AS seconds, string_agg(DISTINCT b.template_id::text, ',') AS templates
        FROM (
            SELECT g.user_id, g.hour, g.seconds::double precision AS seconds, g.template_id FROM workspace_usage g
            WHERE g.hour >= $1::timestamptz AND g.hour < $2::timestamptz
            UNION ALL
            SELECT s.user_id, e.hour, extract(epoch FROM least(s.ended_at, e.hour + interval '1 hour') - greatest(s.started_at, e.hour)), w.template_id
            FROM workspace_app_stats s JOIN workspaces w ON w.id = s.workspace_id
            CROSS JOIN LATERAL generate_series(date_bin('1 hour', greatest(s.started_at, $1::timestamptz), '2000-01-01Z'),
                least(s.ended_at, $2::timestamptz - interval '1 microsecond'), interval '1 hour') AS e (hour)
            WHERE s.ended_at >= $1::timestamptz AND s.started_at < $2::timestamptz AND s.user_id IS NOT NULL
        ) b
        WHERE cardinality($3::uuid[]) = 0 OR b.template_id = ANY($3::uuid[])
        GROUP BY b.user_id, b.hour
    ) h GROUP BY h.user_id
) x JOIN users u ON u.id = x.user_id
ORDER BY x.seconds DESC, u.username, u.id
LIMIT $5::integer OFFSET $4::integer

-- name: InsightUserLatency :many
SELECT u.id, u.username, u.avatar_url, x.p50, x.p95, x.templates
FROM (
    SELECT g.user_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms) AS p50, percentile_cont(0.95) WITHIN GROUP (ORDER BY l.ms) AS p95,
        array_agg(DISTINCT g.template_id)::uuid[] AS templates
    FROM workspace_usage g CROSS JOIN LATERAL unnest(g.latency_ms) AS l (ms)
    WHERE g.hour >= $1::timestamptz AND g.hour < $2::timestamptz
        AND (cardinality($3::uuid[]) = 0 OR g.template_id = ANY($3::uuid[]))
    GROUP BY g.user_id
) x JOIN users u ON u.id = x.user_id
ORDER BY u.username, u.id
LIMIT $5::integer OFFSET $4::integer

-- name: QueueSay :many
WITH words AS (
    SELECT unnest($1::uuid[]) AS id, unnest($2::bigint[]) AS fence, unnest($3::uuid[]) AS worker,
        unnest($4::boolean[]) AS resumable, unnest($5::integer[]) AS bytes, unnest($6::bigint[]) AS lease
), held AS MATERIALIZED (
    SELECT p.id, w.resumable, w.bytes, w.lease, p.canceled_at IS NOT NULL AS canceled,
        p.updated_at = p.started_at OR p.resumable <> w.resumable AS weighty
    FROM words w JOIN provisioner_jobs p ON p.id = w.id
    WHERE p.fence = w.fence AND p.worker_id = w.worker AND p.started_at IS NOT NULL AND p.completed_at IS NULL
        AND (w.bytes = 0 OR NOT p.logs_overflowed AND p.logs_length + w.bytes <= $7::integer)
    FOR UPDATE OF p SKIP LOCKED
), said AS (
    UPDATE provisioner_jobs j SET
        updated_at = now(), logs_length = j.logs_length + held.bytes, resumable = held.resumable,
        lease_expires_at = now() + held.lease * interval '1 millisecond'
    FROM held WHERE j.id = held.id
), lines AS (
    INSERT INTO provisioner_job_logs (job_id, created_at, source, level, stage, output)
    SELECT l.job_id, l.created_at, l.source, l.level, l.stage, l.output FROM (
        SELECT unnest($8::uuid[]) AS job_id, generate_subscripts($8::uuid[], 1) AS n, unnest($9::timestamptz[]) AS created_at,
            unnest($10::text[]) AS source, unnest($11::text[]) AS level, unnest($12::text[]) AS stage, unnest($13::text[]) AS output
    ) l WHERE l.job_id IN (SELECT held.id FROM held) ORDER BY l.n
)
SELECT held.id::uuid AS id, held.canceled::boolean AS canceled,
    set_config('synchronous_commit', CASE WHEN (SELECT bool_or(h.weighty) FROM held h) THEN current_setting('synchronous_commit') ELSE 'off' END, true) AS waits
FROM held

-- name: QueueAdd :exec
INSERT INTO provisioner_jobs (
    id, organization_id, initiator_id, type, provisioner, priority, tag_set_id, file_id, input, template_id, created_at, updated_at, turn, held
) VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::uuid, now(), now(),
    $11,
    coalesce(provisioner_job_held($10::uuid), false)
)

-- name: QueueAddLogs :exec
INSERT INTO provisioner_job_logs (job_id, created_at, source, level, stage, output)
SELECT $1, unnest($2::timestamptz[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]), unnest($6::text[])

-- name: QueueAddTagSet :one
INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, $2, $3)
ON CONFLICT (organization_id, key) DO UPDATE SET key = excluded.key
RETURNING id

-- name: QueueAddTimings :exec
INSERT INTO provisioner_job_timings (job_id, started_at, ended_at, stage, source, action, resource)
SELECT $1, unnest($2::timestamptz[]), unnest($3::timestamptz[]), unnest($4::text[]), unnest($5::text[]), unnest($6::text[]), unnest($7::text[])

-- name: QueueAskCancel :exec
UPDATE provisioner_jobs SET canceled_at = now(), updated_at = now() WHERE id = $1

-- name: QueueClaim :many
WITH sets AS MATERIALIZED (
    SELECT s.id FROM job_tag_sets s
    WHERE s.organization_id = $4 AND CASE
        WHEN s.tags = '{"scope": "organization", "owner": ""}' THEN s.tags = $5::jsonb
        ELSE s.tags <@ $5::jsonb END
), picked AS MATERIALIZED (
        -- One row with an array, because the planner does not know the number of jobs and
        -- would read the whole table to join them.
    SELECT array_agg(c.id ORDER BY c.priority, c.place, c.again, c.served NULLS FIRST, c.created_at, c.id) AS ids FROM (
        SELECT l.id, l.priority, l.created_at, l.place,
            row_number() OVER (PARTITION BY l.priority, l.place, l.initiator_id ORDER BY l.created_at, l.id) AS again,
            array_position($6::uuid[], l.initiator_id) AS served
        FROM sets CROSS JOIN unnest($7::text[]) AS kind
        CROSS JOIN LATERAL (
            SELECT n.id, n.priority, n.initiator_id, n.created_at, row_number() OVER (PARTITION BY n.priority ORDER BY n.turn, n.created_at, n.id) AS place
            FROM (
                SELECT p.id, p.priority, p.initiator_id, p.created_at, p.turn FROM provisioner_jobs p
                WHERE p.tag_set_id = sets.id AND p.provisioner = kind
                    AND p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
                ORDER BY p.priority, p.turn, p.created_at, p.id
                LIMIT cardinality($1::uuid[])
                FOR UPDATE SKIP LOCKED
            ) n
        ) l
        ORDER BY l.priority, l.place, again, served NULLS FIRST, l.created_at, l.id
        LIMIT cardinality($1::uuid[])
    ) c
)
UPDATE provisioner_jobs j SET
    started_at = now(), updated_at = now(), fence = j.fence + 1,
    worker_id = ($1::uuid[])[array_position(picked.ids, j.id)],
    worker_name = ($2::text[])[array_position(picked.ids, j.id)],
    lease_ms = $3::bigint, lease_expires_at = now() + $3::bigint * interval '1 millisecond'
FROM picked
WHERE j.id = ANY (picked.ids)
RETURNING j.id, j.organization_id, j.initiator_id, j.type, j.provisioner, j.priority, j.tag_set_id, j.file_id, j.input, j.trace, j.created_at, j.updated_at, j.started_at, j.canceled_at, j.completed_at, j.error, j.error_code, j.worker_id, j.worker_name, j.fence, j.lease_ms, j.lease_expires_at, j.resumable, j.logs_length, j.logs_overflowed, j.status, j.turn, j.template_id, j.held, (SELECT s.tags FROM job_tag_sets s WHERE s.id = j.tag_set_id) AS tags

-- name: QueueEnd :exec
UPDATE provisioner_jobs SET
    completed_at = now(), updated_at = now(), error = $1, error_code = $2,
    canceled_at = CASE WHEN $3::boolean THEN NULL WHEN $4::boolean THEN coalesce(canceled_at, now()) ELSE canceled_at END
WHERE id = $5

-- name: QueueExpired :many
SELECT id FROM provisioner_jobs
WHERE started_at IS NOT NULL AND completed_at IS NULL
    AND (lease_expires_at < now() OR canceled_at < now() - $1::bigint * interval '1 millisecond')
ORDER BY lease_expires_at LIMIT 50

-- name: QueueHeld :one
SELECT t.name, t.max_concurrent_builds,
    (SELECT count(*) FROM provisioner_jobs p WHERE p.template_id = t.id AND p.completed_at IS NULL AND NOT p.held) AS active,
    (SELECT count(*) FROM provisioner_jobs p WHERE p.template_id = t.id AND p.completed_at IS NULL AND p.held
        AND (p.priority, p.turn, p.created_at, p.id) <= (j.priority, j.turn, j.created_at, j.id)) AS place
FROM provisioner_jobs j JOIN templates t ON t.id = j.template_id
WHERE j.id = $1 AND j.held AND j.completed_at IS NULL

-- name: QueueHeldTemplates :many
SELECT t.id, t.organization_id FROM templates t
WHERE t.id IN (SELECT j.template_id FROM provisioner_jobs j WHERE j.template_id IS NOT NULL AND j.held AND j.completed_at IS NULL)
    AND (t.max_concurrent_builds = 0 OR t.max_concurrent_builds > (SELECT count(*) FROM provisioner_jobs p
        WHERE p.template_id = t.id AND p.completed_at IS NULL AND NOT p.held))
LIMIT 50

-- name: QueueHolds :one
SELECT EXISTS (SELECT FROM provisioner_jobs j WHERE j.template_id = $1::uuid AND j.held AND j.completed_at IS NULL) AS holds

-- name: QueueJob :one
SELECT j.id, j.organization_id, j.initiator_id, j.type, j.provisioner, j.priority, j.tag_set_id, j.file_id, j.input, j.trace, j.created_at, j.updated_at, j.started_at, j.canceled_at, j.completed_at, j.error, j.error_code, j.worker_id, j.worker_name, j.fence, j.lease_ms, j.lease_expires_at, j.resumable, j.logs_length, j.logs_overflowed, j.status, j.turn, j.template_id, j.held, s.tags FROM provisioner_jobs j JOIN job_tag_sets s ON s.id = j.tag_set_id
WHERE j.id = $1

-- name: QueueJobs :many
SELECT j.id, j.organization_id, j.initiator_id, j.type, j.provisioner, j.priority, j.tag_set_id, j.file_id, j.input, j.trace, j.created_at, j.updated_at, j.started_at, j.canceled_at, j.completed_at, j.error, j.error_code, j.worker_id, j.worker_name, j.fence, j.lease_ms, j.lease_expires_at, j.resumable, j.logs_length, j.logs_overflowed, j.status, j.turn, j.template_id, j.held, s.tags,
    coalesce(t.id, '00000000-0000-0000-0000-000000000000')::uuid AS template_id,
    coalesce(t.name, '') AS template_name, coalesce(t.display_name, '') AS template_display_name,
    coalesce(t.icon, '') AS template_icon, coalesce(v.name, '') AS template_version_name,
    coalesce(w.id, '00000000-0000-0000-0000-000000000000')::uuid AS workspace_id, coalesce(w.name, '') AS workspace_name
FROM provisioner_jobs j
JOIN job_tag_sets s ON s.id = j.tag_set_id
LEFT JOIN workspace_builds b ON b.id = provisioner_job_input_id(j.input, 'workspace_build_id')
LEFT JOIN workspaces w ON w.id = b.workspace_id
LEFT JOIN template_versions v ON v.id = coalesce(b.template_version_id, provisioner_job_input_id(j.input, 'template_version_id'))
LEFT JOIN templates t ON t.id = v.template_id
WHERE j.id = ANY ($1::uuid[])

-- name: QueueKeep :exec
UPDATE provisioner_jobs SET lease_expires_at = now() + $1::bigint * interval '1 millisecond'
WHERE id = $2 AND fence = $3 AND started_at IS NOT NULL AND completed_at IS NULL

-- name: QueueLetGo :one
SELECT provisioner_jobs_let_go($1::uuid)::integer AS freed

-- name: QueueList :many
SELECT j.id FROM provisioner_jobs j JOIN job_tag_sets s ON s.id = j.tag_set_id
WHERE j.organization_id = $1
    AND (cardinality($2::uuid[]) = 0 OR j.id = ANY ($2::uuid[]))
    AND (cardinality($3::text[]) = 0 OR j.status = ANY ($3::text[]))
    AND ($4::uuid IS NULL OR j.initiator_id = $4)
    AND $5::jsonb <@ s.tags
ORDER BY j.created_at DESC, j.id
LIMIT $7 OFFSET $6

-- name: QueueLock :one
SELECT j.id, j.organization_id, j.initiator_id, j.type, j.provisioner, j.priority, j.tag_set_id, j.file_id, j.input, j.trace, j.created_at, j.updated_at, j.started_at, j.canceled_at, j.completed_at, j.error, j.error_code, j.worker_id, j.worker_name, j.fence, j.lease_ms, j.lease_expires_at, j.resumable, j.logs_length, j.logs_overflowed, j.status, j.turn, j.template_id, j.held, s.tags, coalesce(j.lease_expires_at < now(), false)::boolean AS expired
FROM provisioner_jobs j JOIN job_tag_sets s ON s.id = j.tag_set_id
WHERE j.id = $1 FOR UPDATE OF j

-- name: QueueLogs :many
SELECT id, created_at, source, level, stage, output FROM provisioner_job_logs
WHERE job_id = $1 AND id > $2 AND ($3::bigint = 0 OR id < $3)
ORDER BY id LIMIT $4

-- name: QueueOrder :many
SELECT p.id FROM provisioner_jobs p
WHERE p.tag_set_id = $1 AND p.provisioner = $2 AND p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
ORDER BY p.priority, p.turn, p.created_at, p.id
LIMIT $3

-- name: QueueOrganization :one
SELECT organization_id FROM provisioner_jobs WHERE id = $1

-- name: QueueRelease :execrows
UPDATE provisioner_jobs SET
    started_at = NULL, updated_at = now(), worker_id = NULL, worker_name = '', lease_expires_at = NULL, resumable = false
WHERE id = $1 AND fence = $2 AND started_at IS NOT NULL AND completed_at IS NULL AND canceled_at IS NULL

-- name: QueueRenew :exec
UPDATE provisioner_jobs SET
    updated_at = now(), logs_length = $1, logs_overflowed = $2,
    resumable = $3, lease_expires_at = now() + $4::bigint * interval '1 millisecond'
WHERE id = $5

-- name: QueueSetLogs :exec
UPDATE provisioner_jobs SET logs_length = $1, logs_overflowed = $2 WHERE id = $3

-- name: QueueStatus :one
SELECT status, completed_at FROM provisioner_jobs WHERE id = $1

-- name: QueueTimings :many
SELECT job_id, started_at, ended_at, stage, source, action, resource FROM provisioner_job_timings WHERE job_id = $1 ORDER BY started_at, resource

-- name: QueueTurns :one
SELECT s.id, provisioner_job_clock(s.id, $1::text, $2::smallint)::bigint AS clock,
    coalesce((SELECT p.turn FROM provisioner_jobs p
        WHERE p.tag_set_id = s.id AND p.provisioner = $1 AND p.priority = $2 AND p.initiator_id = $3
            AND (p.started_at IS NOT NULL OR p.completed_at IS NULL)
        ORDER BY p.turn DESC LIMIT 1), 0)::bigint AS latest
FROM job_tag_sets s WHERE s.organization_id = $4 AND s.key = $5

-- name: QueueUnserved :many
SELECT j.id, s.tags FROM provisioner_jobs j JOIN job_tag_sets s ON s.id = j.tag_set_id
WHERE j.started_at IS NULL AND j.completed_at IS NULL AND NOT j.held
    AND j.updated_at < now() - $1::bigint * interval '1 millisecond'
    AND NOT EXISTS (
        SELECT FROM provisioner_daemons d
        WHERE d.organization_id = j.organization_id AND j.provisioner = ANY (d.provisioners)
            AND d.last_seen_at > now() - $1::bigint * interval '1 millisecond'
            AND CASE WHEN s.tags = '{"scope": "organization", "owner": ""}' THEN s.tags = d.tags ELSE s.tags <@ d.tags END)
ORDER BY j.created_at LIMIT 10

-- name: QueueWorkers :many
SELECT j.id AS job_id, d.id AS daemon_id
FROM provisioner_jobs j
JOIN job_tag_sets s ON s.id = j.tag_set_id
JOIN provisioner_daemons d ON d.organization_id = j.organization_id AND j.provisioner = ANY (d.provisioners)
    AND CASE WHEN s.tags = '{"scope": "organization", "owner": ""}' THEN s.tags = d.tags ELSE s.tags <@ d.tags END
WHERE j.id = ANY ($1::uuid[]) AND j.started_at IS NULL AND j.completed_at IS NULL
    AND d.last_seen_at > now() - $2::bigint * interval '1 millisecond'

-- name: ClaimFields :many
SELECT DISTINCT f.key::text AS field
FROM user_links l JOIN users u ON u.id = l.user_id AND u.deleted_at IS NULL, LATERAL jsonb_object_keys(l.claims) AS f(key)
WHERE l.login_type = 'oidc' AND ($1::uuid = '00000000-0000-0000-0000-000000000000'
    OR EXISTS (SELECT 1 FROM organization_members m WHERE m.organization_id = $1 AND m.user_id = l.user_id))
ORDER BY 1 LIMIT 1000

-- name: ClaimValues :many
SELECT DISTINCT v.value::text AS value
FROM user_links l JOIN users u ON u.id = l.user_id AND u.deleted_at IS NULL,
    LATERAL jsonb_array_elements_text(CASE jsonb_typeof(l.claims -> $1::text) WHEN 'array' THEN l.claims -> $1::text
        WHEN 'string' THEN jsonb_build_array(l.claims -> $1::text) ELSE '[]' END) AS v(value)
WHERE l.login_type = 'oidc' AND ($2::uuid = '00000000-0000-0000-0000-000000000000'
    OR EXISTS (SELECT 1 FROM organization_members m WHERE m.organization_id = $2 AND m.user_id = l.user_id))
ORDER BY 1 LIMIT 1000

-- name: EmailTaken :one
SELECT EXISTS (SELECT 1 FROM users WHERE lower(email) = lower($1) AND deleted_at IS NULL AND id <> $2)

-- name: LinkBySubject :one

SELECT l.user_id, l.login_type, l.issuer, l.subject, l.access_token, l.refresh_token, l.token_expires_at, l.unreachable_since, l.claims, l.created_at, l.updated_at, l.access_token_key_id, l.refresh_token_key_id FROM user_links l JOIN users u ON u.id = l.user_id AND u.deleted_at IS NULL
WHERE l.login_type = $1 AND l.issuer = $2 AND l.subject = $3

-- name: LinkFree :exec
DELETE FROM user_links l USING users u
WHERE l.login_type = $1 AND l.issuer = $2 AND l.subject = $3 AND u.id = l.user_id AND u.deleted_at IS NOT NULL

-- name: LinkOfUser :one
SELECT user_id, login_type, issuer, subject, access_token, refresh_token, token_expires_at, unreachable_since, claims, created_at, updated_at, access_token_key_id, refresh_token_key_id FROM user_links WHERE user_id = $1 AND login_type = $2

-- name: LinkOfUserForUpdate :one
SELECT user_id, login_type, issuer, subject, access_token, refresh_token, token_expires_at, unreachable_since, claims, created_at, updated_at, access_token_key_id, refresh_token_key_id FROM user_links WHERE user_id = $1 AND login_type = $2 FOR UPDATE

-- name: LinkPut :exec
INSERT INTO user_links (user_id, login_type, issuer, subject, access_token, access_token_key_id, refresh_token, refresh_token_key_id, token_expires_at, claims, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
ON CONFLICT (user_id, login_type) DO UPDATE SET issuer = excluded.issuer, subject = excluded.subject, access_token = excluded.access_token,
    access_token_key_id = excluded.access_token_key_id,
    refresh_token_key_id = CASE WHEN excluded.refresh_token = '' AND user_links.subject = excluded.subject AND user_links.issuer = excluded.issuer
        THEN user_links.refresh_token_key_id ELSE excluded.refresh_token_key_id END,
    refresh_token = CASE WHEN excluded.refresh_token = '' AND user_links.subject = excluded.subject AND user_links.issuer = excluded.issuer
        THEN user_links.refresh_token ELSE excluded.refresh_token END,
    token_expires_at = excluded.token_expires_at, claims = excluded.claims, unreachable_since = NULL, updated_at = excluded.updated_at

-- name: LinkTokens :exec
UPDATE user_links SET access_token = $1, access_token_key_id = $2,
    refresh_token = $3, refresh_token_key_id = $4, token_expires_at = $5,
    unreachable_since = NULL, updated_at = $6
WHERE user_id = $7 AND login_type = $8

-- name: LinkUnreachable :one
UPDATE user_links SET unreachable_since = coalesce(unreachable_since, $1::timestamptz)
WHERE user_id = $2 AND login_type = $3 RETURNING unreachable_since

-- name: LoginAttempt :one
WITH spent AS (
    INSERT INTO login_attempts AS a (key, full_until) VALUES ($4::bytea, $1::timestamptz)
    ON CONFLICT (key) DO UPDATE SET full_until = greatest(a.full_until, $2::timestamptz) + ($1::timestamptz - $2::timestamptz)
    WHERE greatest(a.full_until, $2::timestamptz) + ($1::timestamptz - $2::timestamptz) <= $3::timestamptz
    RETURNING 1
)
SELECT (CASE WHEN EXISTS (SELECT 1 FROM spent) THEN 0 ELSE
    greatest(1, coalesce((SELECT 1000 * extract(epoch FROM l.full_until + ($1::timestamptz - $2::timestamptz) - $3::timestamptz)
        FROM login_attempts l WHERE l.key = $4::bytea), 1))
END)::bigint AS wait_ms

-- name: LoginAttemptWait :one
SELECT greatest(0, coalesce((SELECT ceil(1000 * extract(epoch FROM greatest(l.full_until, $1::timestamptz) + ($2::timestamptz - $1::timestamptz) - $3::timestamptz))
    FROM login_attempts l WHERE l.key = $4::bytea), 0))::bigint AS wait_ms

-- name: LoginAttemptsForget :exec
DELETE FROM login_attempts WHERE key = $1

-- name: LoginAttemptsPurge :execrows
DELETE FROM login_attempts WHERE full_until < $1

-- name: PasscodePut :exec
INSERT INTO one_time_passcodes (user_id, passcode_hash, expires_at) VALUES ($1, $2, $3)
ON CONFLICT (user_id) DO UPDATE SET passcode_hash = excluded.passcode_hash, expires_at = excluded.expires_at

-- name: PasscodeTake :execrows
DELETE FROM one_time_passcodes WHERE user_id = $1 AND passcode_hash = $2 AND expires_at > $3

-- name: PasscodesForget :execrows
DELETE FROM one_time_passcodes WHERE expires_at <= $1

-- name: SessionsCheckAt :exec
UPDATE api_keys SET provider_check_at = $1::timestamptz
WHERE user_id = $2 AND login_type = $3 AND provider_check_at IS DISTINCT FROM $1::timestamptz

-- name: SessionsClaimCheck :execrows
UPDATE api_keys SET provider_check_at = $1
WHERE user_id = $2 AND login_type = $3 AND provider_check_at <= $4::timestamptz

-- name: SessionsEnd :execrows
DELETE FROM api_keys WHERE user_id = $1 AND login_type = $2

-- name: SyncGroups :many
SELECT g.id, g.name, EXISTS (SELECT 1 FROM group_members m WHERE m.group_id = g.id AND m.user_id = $1) AS is_member
FROM groups g WHERE g.organization_id = $2 AND g.id <> g.organization_id
ORDER BY lower(g.name)

-- name: SyncPutSetting :exec
INSERT INTO idp_sync_settings (organization_id, kind, value, updated_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (organization_id, kind) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at

-- name: SyncSetting :one
SELECT value FROM idp_sync_settings WHERE organization_id = $1 AND kind = $2

-- name: SyncSettingForUpdate :one
SELECT value FROM idp_sync_settings WHERE organization_id = $1 AND kind = $2 FOR UPDATE

-- name: SyncSettings :many
SELECT organization_id, kind, value, updated_at FROM idp_sync_settings WHERE organization_id = ANY ($1::uuid[])

-- name: UserFromProvider :one
UPDATE users SET email = $1, name = $2, avatar_url = $3, updated_at = $4
WHERE id = $5 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: BuildMeasured :one

SELECT o.name AS organization, t.name AS template, v.name AS version, w.name AS workspace, u.username AS owner, u.email AS owner_email,
    coalesce((SELECT e.preset->>'name' FROM jsonb_array_elements(v.presets) AS e(preset) WHERE e.preset->>'id' = b.preset_id::text LIMIT 1), '')::text AS preset,
    b.transition, b.build_number, j.status, u.is_system AS prebuilt, extract(epoch FROM j.completed_at - b.created_at)::double precision AS seconds
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.completed_at IS NOT NULL
JOIN workspaces w ON w.id = b.workspace_id
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
JOIN organizations o ON o.id = t.organization_id
JOIN template_versions v ON v.id = b.template_version_id
WHERE b.id = $1

-- name: MetricActiveUsers :many
SELECT t.name AS template, count(DISTINCT x.user_id)::bigint AS users
FROM (
    SELECT g.user_id, g.template_id FROM workspace_usage g WHERE g.hour >= $1::timestamptz
    UNION
    SELECT s.user_id, w.template_id FROM workspace_app_stats s JOIN workspaces w ON w.id = s.workspace_id
    WHERE s.ended_at >= $1::timestamptz AND s.user_id IS NOT NULL
) x JOIN templates t ON t.id = x.template_id
GROUP BY 1 ORDER BY 1
LIMIT $2::integer

-- name: MetricLatestBuilds :many
SELECT t.name AS template, v.name AS version, u.username AS owner, b.transition, j.status, count(*)::bigint AS workspaces
FROM workspaces w
CROSS JOIN LATERAL (
    SELECT last.job_id, last.transition, last.template_version_id FROM workspace_builds last
    WHERE last.workspace_id = w.id ORDER BY last.build_number DESC LIMIT 1
) b
JOIN provisioner_jobs j ON j.id = b.job_id
JOIN templates t ON t.id = w.template_id
JOIN template_versions v ON v.id = b.template_version_id
JOIN users u ON u.id = w.owner_id
WHERE w.deleted_at IS NULL
GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC, 1, 2, 3, 4, 5
LIMIT $1::integer

-- name: MetricLatestStatus :many
SELECT j.status, count(*)::bigint AS workspaces
FROM workspaces w
CROSS JOIN LATERAL (SELECT last.job_id FROM workspace_builds last WHERE last.workspace_id = w.id ORDER BY last.build_number DESC LIMIT 1) b
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.deleted_at IS NULL
GROUP BY j.status ORDER BY j.status

-- name: MetricTemplateNames :many
SELECT id, name FROM templates WHERE id = ANY($1::uuid[])

-- name: MetricUsers :one
SELECT count(*) FILTER (WHERE status = 'active')::bigint AS active, count(*) FILTER (WHERE last_seen_at >= $1::timestamptz)::bigint AS seen
FROM users WHERE deleted_at IS NULL AND NOT is_system

-- name: OperatorDropKeys :exec
DELETE FROM api_keys k USING users u
WHERE k.user_id = u.id AND lower(u.username) = lower($1) AND u.is_system AND k.id <> $2

-- name: OperatorInsert :exec
INSERT INTO users (id, email, username, name, avatar_url, password_hash, login_type, status, roles,
    ssh_public_key, ssh_private_key, ssh_key_updated_at, created_at, updated_at, is_system)
VALUES ($1, $2, $3, $4, '', '', 'none', 'active', ARRAY['owner'], '', '', $5::timestamptz, $5, $5, true)
ON CONFLICT DO NOTHING

-- name: OperatorPutKey :execrows
INSERT INTO api_keys (id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, user_agent,
    created_at, updated_at, last_used_at, expires_at)
SELECT $1, $2, u.id, 'token', 'operator', $3, ARRAY['*:*'], $4, NULL, '',
    $5::timestamptz, $5, $5, $6
FROM users u WHERE lower(u.username) = lower($7) AND u.is_system AND u.deleted_at IS NULL
ON CONFLICT (id) DO UPDATE SET secret_hash = excluded.secret_hash, expires_at = excluded.expires_at, updated_at = excluded.updated_at
WHERE api_keys.user_id = excluded.user_id

-- name: DefaultOrganization :one
SELECT id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled FROM organizations WHERE is_default AND deleted_at IS NULL

-- name: DeleteOrganizationMember :execrows
DELETE FROM organization_members WHERE organization_id = $1 AND user_id = $2

-- name: InsertOrganization :one
INSERT INTO organizations (id, name, display_name, description, icon, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $6)
RETURNING id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled

-- name: InsertOrganizationMember :one
INSERT INTO organization_members (organization_id, user_id, roles, created_at, updated_at)
VALUES ($1, $2, $3, $4, $4)
RETURNING organization_id, user_id, roles, created_at, updated_at

-- name: MemberOwnsWorkspaces :one
SELECT EXISTS (SELECT 1 FROM workspaces WHERE organization_id = $1 AND owner_id = $2 AND deleted_at IS NULL)

-- name: OrganizationByID :one
SELECT id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled FROM organizations WHERE id = $1 AND deleted_at IS NULL

-- name: OrganizationByName :one
SELECT id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled FROM organizations WHERE lower(name) = lower($1) AND deleted_at IS NULL

-- name: OrganizationForUpdate :one
SELECT id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled FROM organizations WHERE id = $1 AND deleted_at IS NULL FOR UPDATE

-- name: OrganizationMember :one
SELECT organization_id, user_id, roles, created_at, updated_at FROM organization_members WHERE organization_id = $1 AND user_id = $2

-- name: OrganizationMemberForUpdate :one
SELECT organization_id, user_id, roles, created_at, updated_at FROM organization_members WHERE organization_id = $1 AND user_id = $2 FOR UPDATE

-- name: OrganizationMembers :many
SELECT m.organization_id, m.user_id, m.roles, m.created_at, m.updated_at, u.username, u.name, u.email, u.avatar_url, u.roles AS site_roles, count(*) OVER () AS count
FROM organization_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system
WHERE m.organization_id = $1
    AND ($2::boolean OR m.user_id = $3::uuid)
    AND ($4::uuid = '00000000-0000-0000-0000-000000000000' OR m.user_id = $4)
    AND ($5::text = '' OR strpos(lower(u.username), lower($5)) > 0 OR strpos(lower(u.email), lower($5)) > 0
        OR strpos(lower(u.name), lower($5)) > 0)
ORDER BY lower(u.username)
LIMIT $7 OFFSET $6

-- name: OrganizationResources :one
SELECT
    (SELECT count(*) FROM workspaces w WHERE w.organization_id = $1 AND w.deleted_at IS NULL) AS workspaces,
    (SELECT count(*) FROM templates t WHERE t.organization_id = $1 AND t.deleted_at IS NULL) AS templates,
    (SELECT count(*) FROM provisioner_keys k WHERE k.organization_id = $1 AND (k.replaced_at IS NULL OR k.expires_at > now())) AS provisioner_keys

-- name: Organizations :many
SELECT id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled FROM organizations
WHERE deleted_at IS NULL AND ($1::boolean OR id = ANY ($2::uuid[]))
ORDER BY is_default DESC, lower(name)
LIMIT $4 OFFSET $3

-- name: OrganizationsOfUser :many
SELECT o.id, o.name, o.display_name, o.description, o.icon, o.is_default, o.created_at, o.updated_at, o.deleted_at, o.provisioner_weight, o.workspace_sharing_disabled FROM organizations o JOIN organization_members m ON m.organization_id = o.id
WHERE o.deleted_at IS NULL AND m.user_id = $1 AND ($2::boolean OR o.id = ANY ($3::uuid[]))
ORDER BY o.is_default DESC, lower(o.name)
LIMIT $5 OFFSET $4

-- name: SoftDeleteOrganization :one
UPDATE organizations SET deleted_at = $1::timestamptz, updated_at = $1
WHERE id = $2 AND deleted_at IS NULL AND NOT is_default RETURNING id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled

-- name: UpdateOrganization :one
UPDATE organizations SET name = $1, display_name = $2, description = $3, icon = $4, provisioner_weight = $5, updated_at = $6
WHERE id = $7 AND deleted_at IS NULL RETURNING id, name, display_name, description, icon, is_default, created_at, updated_at, deleted_at, provisioner_weight, workspace_sharing_disabled

-- name: UpdateOrganizationMemberRoles :one
UPDATE organization_members SET roles = $1, updated_at = $2 WHERE organization_id = $3 AND user_id = $4 RETURNING organization_id, user_id, roles, created_at, updated_at

-- name: ParameterOwner :one
SELECT u.id, u.username, u.name, u.email, u.login_type, u.ssh_public_key, u.roles,
    (u.deleted_at IS NULL AND EXISTS (SELECT FROM organization_members m WHERE m.user_id = u.id AND m.organization_id = $1))::boolean AS is_member
FROM users u WHERE u.id = $2

-- name: ParameterSource :one
SELECT j.file_id, j.provisioner, coalesce(t.use_classic_parameter_flow, false)::boolean AS classic
FROM template_versions v JOIN provisioner_jobs j ON j.id = v.job_id LEFT JOIN templates t ON t.id = v.template_id
WHERE v.id = $1

-- name: ParametersLastUsed :many
SELECT DISTINCT ON (p ->> 'name') (p ->> 'name')::text AS name, (p ->> 'value')::text AS value
FROM workspaces w
CROSS JOIN LATERAL (
    SELECT b.parameters, b.created_at FROM workspace_builds b
    WHERE b.workspace_id = w.id AND b.transition = 'start' AND b.initiator_id = $1
    ORDER BY b.build_number DESC LIMIT 1) b
CROSS JOIN LATERAL jsonb_array_elements(b.parameters) p
WHERE w.owner_id = $1 AND w.template_id = $2 AND w.deleted_at IS NULL AND EXISTS (
    SELECT FROM templates t JOIN template_versions v ON v.id = t.active_version_id
    CROSS JOIN LATERAL jsonb_array_elements(v.parameters) d
    WHERE t.id = w.template_id AND d ->> 'name' = p ->> 'name' AND NOT coalesce((d ->> 'ephemeral')::boolean, false))
ORDER BY p ->> 'name', b.created_at DESC

-- name: PendingAgent :one
SELECT p.token, b.id AS build_id, b.job_id, w.id AS workspace_id, w.name AS workspace_name, w.owner_id, w.organization_id
FROM pending_agents p
JOIN workspace_builds b ON b.id = p.build_id
JOIN provisioner_jobs j ON j.id = b.job_id
JOIN workspaces w ON w.id = b.workspace_id
WHERE p.token = $1::uuid AND j.completed_at IS NULL AND w.deleted_at IS NULL

-- name: PendingAgentAppendLogs :exec
INSERT INTO pending_agent_logs (token, source_id, created_at, level, output)
SELECT $1::uuid, $2::uuid, line.created_at, line.level, line.output
FROM ROWS FROM (
    unnest($3::timestamptz[]), unnest($4::text[]), unnest($5::text[])
) WITH ORDINALITY AS line (created_at, level, output, position)
ORDER BY line.position

-- name: PendingAgentLogsForUpdate :one
SELECT logs_length, logs_overflowed FROM pending_agents WHERE token = $1 FOR UPDATE

-- name: PendingAgentPutLogSource :exec
INSERT INTO pending_agent_log_sources (token, id, display_name, icon, created_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (token, id) DO UPDATE SET display_name = excluded.display_name, icon = excluded.icon

-- name: PendingAgentSetLogs :exec
UPDATE pending_agents SET logs_length = $2, logs_overflowed = $3 WHERE token = $1

-- name: PendingAgentsAdoptLengths :exec
UPDATE workspace_agents a SET logs_length = p.logs_length, logs_overflowed = p.logs_overflowed
FROM pending_agents p
JOIN workspace_builds b ON b.id = p.build_id
JOIN workspace_resources r ON r.job_id = b.job_id
WHERE p.build_id = $1 AND a.resource_id = r.id AND a.token = p.token

-- name: PendingAgentsAdoptLogSources :exec
INSERT INTO workspace_agent_log_sources (id, agent_id, display_name, icon, created_at)
SELECT s.id, a.id, s.display_name, s.icon, s.created_at
FROM pending_agents p
JOIN workspace_builds b ON b.id = p.build_id
JOIN workspace_resources r ON r.job_id = b.job_id
JOIN workspace_agents a ON a.resource_id = r.id AND a.token = p.token
JOIN pending_agent_log_sources s ON s.token = p.token
WHERE p.build_id = $1
ON CONFLICT (agent_id, id) DO NOTHING

-- name: PendingAgentsAdoptLogs :exec
INSERT INTO workspace_agent_logs (agent_id, source_id, created_at, level, output)
SELECT a.id, l.source_id, l.created_at, l.level, l.output
FROM pending_agents p
JOIN workspace_builds b ON b.id = p.build_id
JOIN workspace_resources r ON r.job_id = b.job_id
JOIN workspace_agents a ON a.resource_id = r.id AND a.token = p.token
JOIN pending_agent_logs l ON l.token = p.token
WHERE p.build_id = $1
ORDER BY l.id

-- name: PendingAgentsDelete :exec
DELETE FROM pending_agents WHERE build_id = $1

-- name: PendingAgentsLock :many
SELECT token FROM pending_agents WHERE build_id = $1 ORDER BY token FOR UPDATE

-- name: PendingAgentsPut :exec

INSERT INTO pending_agents (token, build_id, created_at)
SELECT t, $1::uuid, $2::timestamptz
FROM unnest($3::uuid[]) AS t
WHERE NOT EXISTS (SELECT FROM workspace_agents a WHERE a.token = t)
ON CONFLICT (token) DO UPDATE SET build_id = excluded.build_id

-- name: PrebuildAgentTokens :many
SELECT a.id, a.token::uuid AS token
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'succeeded'
JOIN workspace_resources r ON r.job_id = b.job_id
JOIN workspace_agents a ON a.resource_id = r.id AND a.token IS NOT NULL AND a.parent_id IS NULL
WHERE b.workspace_id = $1 AND b.build_number = (
    SELECT max(l.build_number) FROM workspace_builds l JOIN provisioner_jobs k ON k.id = l.job_id AND k.status = 'succeeded'
    WHERE l.workspace_id = $1 AND l.build_number < $2)
ORDER BY a.position, a.name

-- name: PrebuildBefore :one
SELECT (b.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND b.transition = 'start')::boolean AS prebuilt
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'succeeded'
WHERE b.workspace_id = $1 AND b.build_number < $2
ORDER BY b.build_number DESC
LIMIT 1

-- name: PrebuildClaim :one
SELECT w.id
FROM workspaces w
JOIN workspace_builds b ON b.id = w.latest_build_id
JOIN workspace_builds f ON f.workspace_id = w.id AND f.build_number = 1
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.owner_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND w.template_id = $1 AND w.deleted_at IS NULL AND w.dormant_at IS NULL
    AND f.preset_id = $2::uuid AND b.template_version_id = $3
    AND b.transition = 'start' AND j.status = 'succeeded'
    AND w.created_at > coalesce((SELECT p.invalidated_at FROM template_prebuilds p WHERE p.template_id = $1), '0001-01-01 00:00:00+00')
    AND NOT EXISTS (
        SELECT FROM workspace_agents a
        WHERE a.current_workspace_id = w.id AND a.parent_id IS NULL
            AND (a.lifecycle_state <> 'ready' OR a.disconnected_at IS NOT NULL OR coalesce(a.last_connected_at < $4::timestamptz, true)))
ORDER BY w.created_at, w.id
LIMIT 1
FOR UPDATE OF w SKIP LOCKED

-- name: PrebuildCounts :many
SELECT o.name AS organization, t.name AS template, coalesce(x.preset->>'name', '')::text AS preset,
    count(*) AS created, count(*) FILTER (WHERE j.status = 'failed') AS failed,
    count(*) FILTER (WHERE w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64') AS claimed
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id
JOIN workspaces w ON w.id = b.workspace_id
JOIN templates t ON t.id = w.template_id AND t.deleted_at IS NULL
JOIN organizations o ON o.id = t.organization_id
JOIN template_versions v ON v.id = b.template_version_id
LEFT JOIN LATERAL (SELECT e.preset FROM jsonb_array_elements(v.presets) AS e(preset) WHERE e.preset->>'id' = b.preset_id::text LIMIT 1) x ON true
WHERE b.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND b.build_number = 1 AND b.preset_id IS NOT NULL
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
LIMIT 1000

-- name: PrebuildFailures :many
SELECT b.preset_id::uuid AS preset_id, count(*) AS failures, max(j.completed_at)::timestamptz AS latest
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'failed'
WHERE b.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND b.build_number = 1
    AND b.preset_id = ANY ($1::uuid[]) AND b.created_at > $2::timestamptz
    AND NOT EXISTS (
        SELECT FROM workspace_builds s
        JOIN provisioner_jobs k ON k.id = s.job_id AND k.status = 'succeeded'
        WHERE s.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND s.build_number = 1
            AND s.preset_id = b.preset_id AND k.completed_at > j.completed_at)
GROUP BY b.preset_id

-- name: PrebuildInvalidate :exec
INSERT INTO template_prebuilds (template_id, invalidated_at) VALUES ($1, $2)
ON CONFLICT (template_id) DO UPDATE SET invalidated_at = greatest(template_prebuilds.invalidated_at, excluded.invalidated_at)

-- name: PrebuildLock :one
SELECT pg_try_advisory_xact_lock(hashtextextended('prebuilds ' || ($1::uuid)::text, 0))

-- name: PrebuildOfAgent :one
SELECT (w.owner_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' OR b.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64')::boolean AS prebuilt,
    (w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND EXISTS (
        SELECT FROM workspace_builds l JOIN provisioner_jobs k ON k.id = l.job_id AND k.status = 'succeeded'
        WHERE l.workspace_id = w.id AND l.build_number > b.build_number AND l.transition = 'start'))::boolean AS claimed
FROM workspace_builds b JOIN workspaces w ON w.id = b.workspace_id
WHERE b.id = $1

-- name: PrebuildTemplate :one
SELECT t.id, t.name, t.organization_id, o.name AS organization, t.active_version_id, v.name AS version, v.presets,
    (t.deleted_at IS NULL AND o.deleted_at IS NULL AND t.deprecation_message = '')::boolean AS wanted,
    coalesce(p.invalidated_at, '0001-01-01 00:00:00+00')::timestamptz AS invalidated_at
FROM templates t
JOIN organizations o ON o.id = t.organization_id
JOIN template_versions v ON v.id = t.active_version_id
LEFT JOIN template_prebuilds p ON p.template_id = t.id
WHERE t.id = $1

-- name: PrebuildTemplates :many
SELECT t.id FROM templates t JOIN template_versions v ON v.id = t.active_version_id
WHERE t.deleted_at IS NULL AND v.presets @? '$[*] ? (@.desiredPrebuildInstances > 0 || exists(@.prebuilds))'
UNION
SELECT w.template_id FROM workspaces w WHERE w.owner_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND w.deleted_at IS NULL

-- name: PrebuildTransfer :exec
UPDATE workspaces SET owner_id = $1, name = $2, automatic_updates = $3,
    autostart_schedule = $4, ttl_ms = $5, next_start_at = $6,
    user_acl = '{}', group_acl = '{}', last_used_at = $7::timestamptz, updated_at = $7
WHERE id = $8

-- name: PrebuildWorkspaces :many
SELECT w.id, w.created_at, b.id AS build_id, b.build_number, b.template_version_id, b.transition, b.job_id, j.status AS job_status,
    coalesce(f.preset_id, '00000000-0000-0000-0000-000000000000')::uuid AS preset_id, coalesce(j.completed_at, b.created_at)::timestamptz AS since,
    (NOT EXISTS (
        SELECT FROM workspace_agents a
        WHERE a.current_workspace_id = w.id AND a.parent_id IS NULL
            AND (a.lifecycle_state <> 'ready' OR a.disconnected_at IS NOT NULL OR coalesce(a.last_connected_at < $1::timestamptz, true))))::boolean AS ready
FROM workspaces w
JOIN workspace_builds b ON b.id = w.latest_build_id
JOIN workspace_builds f ON f.workspace_id = w.id AND f.build_number = 1
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.owner_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND w.template_id = $2 AND w.deleted_at IS NULL
ORDER BY w.created_at, w.id

-- name: PrebuildsAccountExists :one
SELECT EXISTS (SELECT FROM users WHERE id = '9d3c2a41-5e07-4b68-8f1d-707265626c64')

-- name: PrebuildsAccountInsert :exec

INSERT INTO users (id, email, username, name, avatar_url, password_hash, login_type, status, roles,
    ssh_public_key, ssh_private_key, created_at, updated_at, is_system)
VALUES ('9d3c2a41-5e07-4b68-8f1d-707265626c64', $1::text || '@localhost', $1, 'Prebuilt workspaces', '', '', 'none', 'active', '{}', '', '', $2::timestamptz, $2, true)
ON CONFLICT DO NOTHING

-- name: PrebuildsGroup :exec
WITH made AS (
    INSERT INTO groups (id, organization_id, name, display_name, quota_allowance, created_at, updated_at)
    VALUES ($3, $1, $2, 'Prebuilt workspaces', 0, $4::timestamptz, $4)
    ON CONFLICT DO NOTHING
    RETURNING id
)
INSERT INTO group_members (group_id, organization_id, user_id)
SELECT g.id, $1, '9d3c2a41-5e07-4b68-8f1d-707265626c64'
FROM (SELECT id FROM made UNION SELECT x.id FROM groups x WHERE x.organization_id = $1 AND lower(x.name) = lower($2)) g
ON CONFLICT DO NOTHING

-- name: PrebuildsJoin :execrows
INSERT INTO organization_members (organization_id, user_id, roles, created_at, updated_at)
VALUES ($1, '9d3c2a41-5e07-4b68-8f1d-707265626c64', '{}', $2::timestamptz, $2)
ON CONFLICT DO NOTHING

-- name: QueueAddKey :one
INSERT INTO provisioner_keys (id, organization_id, name, secret_hash, tags, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, now(),
    CASE WHEN $6::bigint > 0 THEN now() + $6::bigint * interval '1 second' END)
RETURNING id, organization_id, name, secret_hash, tags, created_at, expires_at, replaced_at, last_used_at

-- name: QueueDaemonGone :exec
UPDATE provisioner_daemons SET left_at = now(), last_seen_at = now() - $1::bigint * interval '1 millisecond' WHERE id = $2

-- name: QueueDaemonHello :one
INSERT INTO provisioner_daemons (id, organization_id, key_id, name, owner, provisioners, tags, version, api_version, slots, tools, shared_id, created_at, last_seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now(), now())
ON CONFLICT (organization_id, name, owner) DO UPDATE SET
    key_id = excluded.key_id, provisioners = excluded.provisioners, tags = excluded.tags,
    version = excluded.version, api_version = excluded.api_version,
    slots = excluded.slots, tools = excluded.tools, shared_id = excluded.shared_id, last_seen_at = now()
RETURNING id

-- name: QueueDaemonsSeen :exec
UPDATE provisioner_daemons SET last_seen_at = now() WHERE id = ANY ($1::uuid[])

-- name: QueueDeleteKeys :many
DELETE FROM provisioner_keys
WHERE organization_id = $1 AND (lower(name) = lower($2) OR id::text = lower($2))
RETURNING id, organization_id, name, secret_hash, tags, created_at, expires_at, replaced_at, last_used_at

-- name: QueueForgetDaemons :exec
DELETE FROM provisioner_daemons d WHERE d.last_seen_at < now() - interval '7 days'

-- name: QueueForgetKeys :exec
DELETE FROM provisioner_keys WHERE replaced_at IS NOT NULL AND expires_at < now() - interval '7 days'

-- name: QueueKeyByHash :one
SELECT k.id, k.organization_id, k.name, k.secret_hash, k.tags, k.created_at, k.expires_at, k.replaced_at, k.last_used_at, coalesce(k.expires_at <= now(), false)::boolean AS expired FROM provisioner_keys k WHERE k.secret_hash = $1

-- name: QueueKeys :many
SELECT id, organization_id, name, secret_hash, tags, created_at, expires_at, replaced_at, last_used_at FROM provisioner_keys k
WHERE k.organization_id = $1 AND (k.replaced_at IS NULL OR k.expires_at > now())
ORDER BY lower(k.name), k.replaced_at DESC NULLS FIRST, k.id
LIMIT $3 OFFSET $2

-- name: QueueKeysLeft :many
SELECT k.id, k.name, greatest(0, least(extract(epoch FROM coalesce(k.expires_at, now() + interval '1 year') - now()) * 1000, 31536000000))::bigint AS left_ms
FROM provisioner_keys k WHERE k.id = ANY ($1::uuid[])

-- name: QueueKeysUsed :exec
UPDATE provisioner_keys SET last_used_at = now()
WHERE id = ANY ($1::uuid[]) AND (last_used_at IS NULL OR last_used_at < now() - interval '20 seconds')

-- name: QueueLockKey :one
SELECT k.id, k.organization_id, k.name, k.secret_hash, k.tags, k.created_at, k.expires_at, k.replaced_at, k.last_used_at,
    (SELECT count(*) FROM provisioner_keys o WHERE o.organization_id = k.organization_id AND lower(o.name) = lower(k.name)
        AND o.replaced_at IS NOT NULL AND o.expires_at > now())::integer AS replaced
FROM provisioner_keys k
WHERE k.organization_id = $1 AND k.replaced_at IS NULL
    AND (lower(k.name) = lower($2) OR k.id::text = lower($2))
FOR UPDATE

-- name: QueueModuleFiles :one
SELECT f.data FROM files f
WHERE f.id = $1 AND EXISTS (
    SELECT FROM template_versions v WHERE v.module_files_id = f.id AND v.organization_id = $2)

-- name: QueueReplaceKey :one
UPDATE provisioner_keys SET replaced_at = now(), expires_at = least(expires_at, now() + $1::bigint * interval '1 second')
WHERE id = $2 RETURNING id, organization_id, name, secret_hash, tags, created_at, expires_at, replaced_at, last_used_at

-- name: Proxies :many

SELECT id, name, display_name, icon, token_hash, access_url, wildcard_hostname, derp_enabled, derp_only, version, status, errors, warnings, checked_at, check_at, created_at, updated_at FROM workspace_proxies ORDER BY created_at, id

-- name: ProxyByID :one
SELECT id, name, display_name, icon, token_hash, access_url, wildcard_hostname, derp_enabled, derp_only, version, status, errors, warnings, checked_at, check_at, created_at, updated_at FROM workspace_proxies WHERE id = $1

-- name: ProxyByName :one
SELECT id, name, display_name, icon, token_hash, access_url, wildcard_hostname, derp_enabled, derp_only, version, status, errors, warnings, checked_at, check_at, created_at, updated_at FROM workspace_proxies WHERE lower(name) = lower($1)

-- name: ProxyChecked :execrows
UPDATE workspace_proxies SET status = $1, errors = $2, warnings = $3, checked_at = $4
WHERE id = $5 AND access_url = $6 AND access_url <> ''

-- name: ProxyClaimChecks :many
UPDATE workspace_proxies SET check_at = $1
WHERE id IN (SELECT d.id FROM workspace_proxies d WHERE d.access_url <> '' AND d.check_at <= $2 ORDER BY d.check_at LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING id, name, display_name, icon, token_hash, access_url, wildcard_hostname, derp_enabled, derp_only, version, status, errors, warnings, checked_at, check_at, created_at, updated_at

-- name: ProxyDelete :exec
DELETE FROM workspace_proxies WHERE id = $1

-- name: ProxyForUpdate :one
SELECT id, name, display_name, icon, token_hash, access_url, wildcard_hostname, derp_enabled, derp_only, version, status, errors, warnings, checked_at, check_at, created_at, updated_at FROM workspace_proxies WHERE id = $1 FOR UPDATE

-- name: ProxyInsert :execrows
INSERT INTO workspace_proxies (id, name, display_name, icon, token_hash, created_at, updated_at)
SELECT $1, $2, $3, $4, $5, $6, $6
WHERE (SELECT count(*) FROM workspace_proxies) < $7::bigint

-- name: ProxyRegister :exec
UPDATE workspace_proxies SET access_url = $1, wildcard_hostname = $2, derp_enabled = $3, derp_only = $4,
    version = $5,
    status = CASE WHEN access_url = $1 AND status <> 'unregistered' THEN status ELSE 'unreachable' END,
    errors = CASE WHEN access_url = $1 AND status <> 'unregistered' THEN errors ELSE '{}' END,
    warnings = CASE WHEN access_url = $1 AND status <> 'unregistered' THEN warnings ELSE '{}' END,
    check_at = CASE WHEN access_url = $1 AND status = 'ok' THEN check_at ELSE $6 END
WHERE id = $7

-- name: ProxyReplicaDelete :exec
DELETE FROM workspace_proxy_replicas WHERE id = $1 AND proxy_id = $2

-- name: ProxyReplicaPut :execrows
INSERT INTO workspace_proxy_replicas (id, proxy_id, hostname, relay_address, error, version, started_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
ON CONFLICT (id) DO UPDATE SET hostname = excluded.hostname, relay_address = excluded.relay_address, error = excluded.error,
    version = excluded.version, updated_at = excluded.updated_at
WHERE workspace_proxy_replicas.proxy_id = excluded.proxy_id

-- name: ProxyReplicas :many
SELECT id, proxy_id, hostname, relay_address, error, version, started_at, updated_at FROM workspace_proxy_replicas WHERE proxy_id = $1 AND id <> $2 ORDER BY started_at, id LIMIT 100

-- name: ProxyReplicasForget :exec
DELETE FROM workspace_proxy_replicas WHERE proxy_id = $1 AND updated_at < $2::timestamptz

-- name: ProxyUnregister :execrows
UPDATE workspace_proxies p SET access_url = '', wildcard_hostname = '', status = 'unregistered', errors = '{}', warnings = '{}'
WHERE p.id = $1 AND NOT EXISTS (SELECT FROM workspace_proxy_replicas r WHERE r.proxy_id = p.id)

-- name: ProxyUpdate :exec
UPDATE workspace_proxies SET name = $1, display_name = $2, icon = $3, token_hash = $4, updated_at = $5 WHERE id = $6

-- name: QueueDaemons :many
WITH running AS MATERIALIZED (
    SELECT j.worker_id, count(*) AS jobs, max(j.started_at)::timestamptz AS since,
        (array_agg(j.id ORDER BY j.started_at DESC))[1] AS latest
    FROM provisioner_jobs j
    WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL
        AND j.organization_id = $2
    GROUP BY j.worker_id
)
SELECT d.id, d.organization_id, d.key_id, d.name, d.owner, d.provisioners, d.tags, d.version, d.api_version, d.slots, d.tools, d.created_at, d.last_seen_at, d.shared_id, d.left_at, coalesce(k.name, '') AS key_name, x.status,
    (coalesce(r.jobs, 0) + coalesce(e.jobs, 0))::integer AS busy_slots,
    coalesce(r.since, e.since, 'epoch')::timestamptz AS busy_since,
    coalesce(r.latest, '00000000-0000-0000-0000-000000000000')::uuid AS current_job,
    coalesce((SELECT j.id FROM provisioner_jobs j WHERE j.worker_id = d.id AND j.completed_at IS NOT NULL
        ORDER BY j.started_at DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')::uuid AS previous_job
FROM provisioner_daemons d
LEFT JOIN provisioner_keys k ON k.id = d.key_id
LEFT JOIN running r ON r.worker_id = d.id
LEFT JOIN LATERAL (
    SELECT count(*) AS jobs, max(j.started_at)::timestamptz AS since
    FROM provisioner_daemons t JOIN provisioner_jobs j ON j.worker_id = t.id AND j.started_at IS NOT NULL AND j.completed_at IS NULL
    WHERE t.shared_id = d.shared_id AND t.id <> d.id
) e ON d.shared_id IS NOT NULL
CROSS JOIN LATERAL (
    SELECT (CASE
        WHEN d.last_seen_at IS NULL OR d.last_seen_at <= now() - $1::bigint * interval '1 millisecond' THEN 'offline'
        WHEN coalesce(r.jobs, 0) + coalesce(e.jobs, 0) >= d.slots THEN 'busy'
        ELSE 'idle' END)::text AS status
) x
WHERE d.organization_id = $2
    AND (cardinality($3::uuid[]) = 0 OR d.id = ANY ($3::uuid[]))
    AND ($4::text IS NULL OR d.owner = $4)
    AND $5::jsonb <@ d.tags
    AND (cardinality($6::text[]) = 0 OR x.status = ANY ($6::text[]))
ORDER BY d.created_at DESC, d.id
LIMIT NULLIF($8::integer, 0) OFFSET $7::integer

-- name: QueueMatched :one
SELECT count(*) AS total,
    count(*) FILTER (WHERE d.last_seen_at > now() - $1::bigint * interval '1 millisecond') AS available,
    coalesce(max(greatest(d.left_at, d.last_seen_at)), 'epoch')::timestamptz AS last_seen_at
FROM provisioner_daemons d
WHERE d.organization_id = $2
    AND ($3::text = '' OR $3::text = ANY (d.provisioners))
    AND CASE WHEN $4::jsonb = '{"scope": "organization", "owner": ""}' THEN d.tags = $4::jsonb ELSE $4::jsonb <@ d.tags END

-- name: QueueMeans :many
SELECT p.tag_set_id::bigint AS tag_set_id, p.type::text AS type, l.seconds
FROM (SELECT unnest($1::bigint[]) AS tag_set_id, unnest($2::text[]) AS type) p
CROSS JOIN LATERAL (
    SELECT avg(m.seconds)::float8 AS seconds FROM (
        SELECT r.seconds FROM (
            SELECT j.type, j.status, extract(epoch FROM j.completed_at - j.started_at) AS seconds
            FROM provisioner_jobs j
            WHERE j.tag_set_id = p.tag_set_id AND j.completed_at IS NOT NULL AND j.started_at IS NOT NULL
            ORDER BY j.completed_at DESC LIMIT 200
        ) r
        WHERE r.type = p.type AND r.status IN ('succeeded', 'failed') LIMIT 50
    ) m
) l
WHERE l.seconds IS NOT NULL

-- name: QueueNeed :one
SELECT j.organization_id, j.tag_set_id, j.type, j.provisioner, j.status, j.priority, s.tags, o.name AS organization, o.is_default,
    coalesce(array(SELECT jsonb_object_keys(v.workspace_tags)), '{}')::text[] AS template_tags,
    (o.provisioner_weight = 0 AND EXISTS (
        SELECT FROM provisioner_daemons d
        WHERE d.shared_id IS NOT NULL AND j.provisioner = ANY (d.provisioners) AND d.tags = s.tags
            AND d.last_seen_at > now() - $1::bigint * interval '1 millisecond'))::boolean AS unserved
FROM provisioner_jobs j
JOIN job_tag_sets s ON s.id = j.tag_set_id
JOIN organizations o ON o.id = j.organization_id
LEFT JOIN workspace_builds b ON b.id = provisioner_job_input_id(j.input, 'workspace_build_id')
LEFT JOIN template_versions v ON v.id = coalesce(b.template_version_id, provisioner_job_input_id(j.input, 'template_version_id'))
WHERE j.id = $2

-- name: QueueOverview :many
WITH pending AS MATERIALIZED (
    SELECT j.tag_set_id, count(*) AS jobs, min(j.created_at) AS oldest
    FROM provisioner_jobs j WHERE j.started_at IS NULL AND j.completed_at IS NULL AND NOT j.held
    GROUP BY j.tag_set_id
), held AS MATERIALIZED (
    SELECT j.tag_set_id, count(*) AS jobs
    FROM provisioner_jobs j WHERE j.template_id IS NOT NULL AND j.completed_at IS NULL AND j.held
    GROUP BY j.tag_set_id
), running AS MATERIALIZED (
    SELECT j.tag_set_id, count(*) AS jobs
    FROM provisioner_jobs j WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL
    GROUP BY j.tag_set_id
)
SELECT s.organization_id, o.name AS organization, s.key, s.tags,
    coalesce(p.jobs, 0)::bigint AS pending, coalesce(h.jobs, 0)::bigint AS held, coalesce(r.jobs, 0)::bigint AS running,
    coalesce(extract(epoch FROM now() - p.oldest), 0)::float8 AS oldest_seconds,
    coalesce(m.seconds, 0)::float8 AS mean_seconds
FROM job_tag_sets s
JOIN organizations o ON o.id = s.organization_id
LEFT JOIN pending p ON p.tag_set_id = s.id
LEFT JOIN held h ON h.tag_set_id = s.id
LEFT JOIN running r ON r.tag_set_id = s.id
CROSS JOIN LATERAL (
    SELECT avg(extract(epoch FROM l.completed_at - l.started_at)) AS seconds FROM (
        SELECT j.completed_at, j.started_at, j.status FROM provisioner_jobs j
        WHERE j.tag_set_id = s.id AND j.completed_at IS NOT NULL AND j.started_at IS NOT NULL
        ORDER BY j.completed_at DESC LIMIT 50
    ) l WHERE l.status IN ('succeeded', 'failed')
) m
WHERE ($1::uuid IS NULL OR s.organization_id = $1)
    AND (p.jobs IS NOT NULL OR h.jobs IS NOT NULL OR r.jobs IS NOT NULL OR s.key = ANY ($2::text[]))

-- name: QueueReaders :many
SELECT j.id, j.organization_id, j.initiator_id, j.type,
    coalesce(w.id, '00000000-0000-0000-0000-000000000000')::uuid AS workspace_id,
    coalesce(w.owner_id, '00000000-0000-0000-0000-000000000000')::uuid AS owner_id,
    w.user_acl AS workspace_user_acl, w.group_acl AS workspace_group_acl,
    coalesce(t.id, '00000000-0000-0000-0000-000000000000')::uuid AS template_id,
    t.user_acl AS template_user_acl, t.group_acl AS template_group_acl, t.deleted_at AS template_deleted_at
FROM provisioner_jobs j
LEFT JOIN workspace_builds b ON b.id = provisioner_job_input_id(j.input, 'workspace_build_id')
LEFT JOIN workspaces w ON w.id = b.workspace_id
LEFT JOIN template_versions v ON v.id = provisioner_job_input_id(j.input, 'template_version_id')
LEFT JOIN templates t ON t.id = v.template_id
WHERE j.id = ANY ($1::uuid[])

-- name: QueueRunningOn :many
SELECT j.tag_set_id, j.type, extract(epoch FROM now() - j.started_at)::float8 AS elapsed_seconds
FROM provisioner_jobs j
WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL
    AND j.worker_id IN (
        SELECT unnest($1::uuid[])
        UNION SELECT t.id FROM provisioner_daemons d JOIN provisioner_daemons t ON t.shared_id = d.shared_id
            WHERE d.id = ANY ($1::uuid[]) AND d.shared_id IS NOT NULL)

-- name: QueueSlots :many
WITH running AS MATERIALIZED (
    SELECT j.worker_id, count(*) AS jobs
    FROM provisioner_jobs j WHERE j.started_at IS NOT NULL AND j.completed_at IS NULL
    GROUP BY j.worker_id
), shared AS MATERIALIZED (
    SELECT t.shared_id, sum(r.jobs) AS jobs
    FROM running r JOIN provisioner_daemons t ON t.id = r.worker_id AND t.shared_id IS NOT NULL
    GROUP BY t.shared_id
)
SELECT d.organization_id, o.name AS organization, d.tags,
    sum(d.slots)::bigint AS slots, sum(least(d.slots, coalesce(e.jobs, r.jobs, 0)))::bigint AS busy
FROM provisioner_daemons d
JOIN organizations o ON o.id = d.organization_id
LEFT JOIN running r ON r.worker_id = d.id
LEFT JOIN shared e ON e.shared_id = d.shared_id
WHERE ($1::uuid IS NULL OR d.organization_id = $1)
    AND d.last_seen_at > now() - $2::bigint * interval '1 millisecond'
GROUP BY d.organization_id, o.name, d.tags

-- name: BuildSetCost :exec
UPDATE workspace_builds SET daily_cost = $1, updated_at = $2 WHERE id = $3

-- name: QuotaBudget :one
SELECT coalesce(sum(g.quota_allowance), 0)::bigint
FROM group_memberships m JOIN groups g ON g.id = m.group_id
WHERE m.user_id = $1 AND m.organization_id = $2

-- name: QuotaConsumed :one
SELECT coalesce(sum((SELECT b.daily_cost FROM workspace_builds b WHERE b.workspace_id = w.id ORDER BY b.build_number DESC LIMIT 1)), 0)::bigint
FROM workspaces w
WHERE w.owner_id = $1 AND w.organization_id = $2 AND w.deleted_at IS NULL AND w.id <> $3

-- name: QuotaLock :exec

SELECT pg_advisory_xact_lock(hashtextextended('quota ' || ($1::uuid)::text, hashtext(($2::uuid)::text)))

-- name: RelayFind :many
SELECT l.agent_id, r.id AS replica_id, r.hostname, r.relay_address
FROM agent_relays l JOIN replicas r ON r.id = l.replica_id
WHERE l.agent_id = ANY($1::uuid[]) AND r.id <> $2 AND r.stopped_at IS NULL AND r.updated_at >= $3::timestamptz

-- name: RelayForget :exec
DELETE FROM agent_relays l WHERE NOT EXISTS (SELECT FROM replicas r WHERE r.id = l.replica_id)

-- name: RelayHold :exec
INSERT INTO agent_relays (agent_id, replica_id, link_id, since) VALUES ($1, $2, $3, $4)
ON CONFLICT (agent_id) DO UPDATE SET replica_id = excluded.replica_id, link_id = excluded.link_id, since = excluded.since

-- name: RelayRelease :exec
DELETE FROM agent_relays WHERE agent_id = $1 AND link_id = $2

-- name: ReplicaAlive :one
SELECT id, hostname, relay_address, version, started_at, updated_at, stopped_at FROM replicas WHERE id = $1 AND stopped_at IS NULL AND updated_at >= $2::timestamptz

-- name: ReplicaAnnounce :exec
INSERT INTO replicas (id, hostname, relay_address, version, started_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $5)
ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, stopped_at = NULL

-- name: ReplicaForget :exec
DELETE FROM replicas WHERE updated_at < $1::timestamptz

-- name: ReplicaRetire :exec
UPDATE replicas SET stopped_at = $1::timestamptz, updated_at = $1::timestamptz WHERE id = $2

-- name: ReplicasAlive :many
SELECT id, hostname, relay_address, version, started_at, updated_at, stopped_at FROM replicas WHERE stopped_at IS NULL AND updated_at >= $1::timestamptz ORDER BY started_at, id

-- name: ResourceAgentsOfJobs :many
SELECT a.id, a.resource_id, a.parent_id, a.name, a.token, a.instance_id, a.operating_system, a.architecture, a.directory, a.expanded_directory, a.environment, a.motd_file, a.troubleshooting_url, a.connection_timeout_seconds, a.display_apps, a.scripts, a.metadata_items, a.api_key_scope, a.position, a.version, a.api_version, a.subsystems, a.certificate, a.lifecycle_state, a.started_at, a.ready_at, a.first_connected_at, a.last_connected_at, a.disconnected_at, a.replica_id, a.connection_id, a.logs_length, a.logs_overflowed, a.created_at, a.updated_at, a.resource_monitors, a.current_workspace_id, a.devcontainers, a.devcontainer_id
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = ANY($1::uuid[])
ORDER BY a.position, a.parent_id IS NOT NULL, a.name, a.id

-- name: ResourceAppsOfAgents :many
SELECT id, agent_id, slug, display_name, icon, command, url, external, subdomain, sharing_level, open_in, app_group, tooltip, hidden, position, healthcheck_url, healthcheck_interval, healthcheck_threshold, health, created_at FROM workspace_apps WHERE agent_id = ANY($1::uuid[]) ORDER BY agent_id, position, slug

-- name: ResourceLogSourcesOfAgents :many
SELECT id, agent_id, display_name, icon, created_at FROM workspace_agent_log_sources WHERE agent_id = ANY($1::uuid[]) ORDER BY agent_id, created_at, display_name, id

-- name: ResourcesOfJobs :many
SELECT id, job_id, transition, type, name, hide, icon, daily_cost, module_path, metadata, position, created_at FROM workspace_resources WHERE job_id = ANY($1::uuid[]) ORDER BY job_id, position, name, id

-- name: CustomRole :one
SELECT id, organization_id, name, display_name, organization_permissions, member_permissions, created_at, updated_at FROM custom_roles WHERE organization_id = $1 AND name = $2

-- name: CustomRoleCount :one
SELECT count(*) FROM custom_roles WHERE organization_id = $1

-- name: CustomRoleDelete :exec
DELETE FROM custom_roles WHERE organization_id = $1 AND name = $2

-- name: CustomRoleForUpdate :one
SELECT id, organization_id, name, display_name, organization_permissions, member_permissions, created_at, updated_at FROM custom_roles WHERE organization_id = $1 AND name = $2 FOR UPDATE

-- name: CustomRoleForget :many
UPDATE organization_members SET roles = array_remove(roles, $1::text), updated_at = $2
WHERE organization_id = $3 AND $1::text = ANY (roles)
RETURNING user_id

-- name: CustomRoleInsert :one
INSERT INTO custom_roles (id, organization_id, name, display_name, organization_permissions, member_permissions, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
RETURNING id, organization_id, name, display_name, organization_permissions, member_permissions, created_at, updated_at

-- name: CustomRoleUpdate :one
UPDATE custom_roles SET display_name = $1, organization_permissions = $2,
    member_permissions = $3, updated_at = $4
WHERE organization_id = $5 AND name = $6
RETURNING id, organization_id, name, display_name, organization_permissions, member_permissions, created_at, updated_at

-- name: CustomRoles :many

SELECT id, organization_id, name, display_name, organization_permissions, member_permissions, created_at, updated_at FROM custom_roles WHERE organization_id = $1 ORDER BY name

-- name: ScheduleBuildFailed :exec
UPDATE workspace_builds SET failed_at = $1::timestamptz WHERE id = $2

-- name: ScheduleDeletes :many
SELECT w.id, w.deleting_at::timestamptz AS at FROM workspaces w
WHERE w.deleting_at <= $1::timestamptz AND w.deleting_at IS NOT NULL AND w.deleted_at IS NULL AND (w.deleting_at, w.id) > ($2::timestamptz, $3::uuid)
    AND (w.retry_at IS NULL OR w.retry_at <= $1::timestamptz)
ORDER BY w.deleting_at, w.id
LIMIT $4

-- name: ScheduleDormancies :many
SELECT id, time_til_dormant_ms FROM templates WHERE time_til_dormant_ms > 0 ORDER BY id

-- name: ScheduleFailed :many
SELECT w.id, b.failed_at::timestamptz AS at FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
JOIN templates t ON t.id = w.template_id
JOIN provisioner_jobs j ON j.id = b.job_id
JOIN users u ON u.id = w.owner_id AND NOT u.is_system
WHERE b.current AND b.transition = 'start' AND b.failed_at IS NOT NULL AND b.failed_at <= $1::timestamptz
    AND (b.failed_at, b.workspace_id) > ($2::timestamptz, $3::uuid)
    AND t.failure_ttl_ms > 0 AND b.failed_at <= ($4::timestamptz) - t.failure_ttl_ms * interval '1 millisecond'
    AND j.status = 'failed' AND w.deleted_at IS NULL AND (w.retry_at IS NULL OR w.retry_at <= $4::timestamptz)
ORDER BY b.failed_at, b.workspace_id
LIMIT $5

-- name: ScheduleFailureTTL :one
SELECT coalesce(min(failure_ttl_ms), 0)::bigint AS ms FROM templates WHERE failure_ttl_ms > 0

-- name: ScheduleLock :one

SELECT id, organization_id, owner_id, template_id, name, automatic_updates, autostart_schedule, ttl_ms, dormant_at, deleting_at, next_start_at, user_acl, group_acl, created_at, updated_at, last_used_at, deleted_at, latest_build_id, retry_at, retries, last_used_day FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR UPDATE SKIP LOCKED

-- name: ScheduleOfTemplate :many
SELECT id, autostart_schedule::text AS schedule FROM workspaces
WHERE template_id = $1 AND deleted_at IS NULL AND dormant_at IS NULL AND autostart_schedule IS NOT NULL
ORDER BY id
FOR UPDATE

-- name: ScheduleOwner :one
SELECT status, is_system, quiet_hours, deleted_at FROM users WHERE id = $1

-- name: SchedulePostpone :exec
UPDATE workspaces SET retries = retries + 1,
    retry_at = $1::timestamptz + least(interval '1 day', interval '5 minutes' * power(2, least(retries, 20)))
WHERE id = $2 AND deleted_at IS NULL

-- name: ScheduleRetries :many
SELECT w.id, w.retry_at::timestamptz AS at FROM workspaces w
JOIN workspace_builds b ON b.id = w.latest_build_id
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.retry_at <= $1::timestamptz AND w.retry_at IS NOT NULL AND w.deleted_at IS NULL AND (w.retry_at, w.id) > ($2::timestamptz, $3::uuid)
    AND b.transition = 'stop' AND b.reason IN ('autostop', 'dormancy') AND j.status = 'failed'
ORDER BY w.retry_at, w.id
LIMIT $4

-- name: ScheduleSetDeletes :exec
UPDATE workspaces SET updated_at = $1::timestamptz,
    deleting_at = CASE WHEN $2::bigint > 0 THEN dormant_at + $2::bigint * interval '1 millisecond' END
WHERE template_id = $3 AND deleted_at IS NULL AND dormant_at IS NOT NULL

-- name: ScheduleSetStarts :exec
UPDATE workspaces w SET next_start_at = CASE WHEN s.at < '0002-01-01Z' THEN NULL ELSE s.at END
FROM (SELECT unnest($1::uuid[]) AS id, unnest($2::timestamptz[]) AS at) s
WHERE w.id = s.id

-- name: ScheduleSettle :exec
UPDATE workspaces SET retries = 0, retry_at = NULL WHERE id = $1 AND (retries > 0 OR retry_at IS NOT NULL)

-- name: ScheduleStarts :many
SELECT w.id, w.next_start_at::timestamptz AS at FROM workspaces w
WHERE w.next_start_at <= $1::timestamptz AND w.next_start_at IS NOT NULL AND w.deleted_at IS NULL AND (w.next_start_at, w.id) > ($2::timestamptz, $3::uuid)
ORDER BY w.next_start_at, w.id
LIMIT $4

-- name: ScheduleStops :many
SELECT w.id, b.deadline::timestamptz AS at FROM workspace_builds b
JOIN workspaces w ON w.id = b.workspace_id
WHERE b.current AND b.transition = 'start' AND b.deadline IS NOT NULL AND b.deadline <= $1::timestamptz
    AND (b.deadline, b.workspace_id) > ($2::timestamptz, $3::uuid)
    AND w.deleted_at IS NULL AND (w.retry_at IS NULL OR w.retry_at <= $1::timestamptz)
ORDER BY b.deadline, b.workspace_id
LIMIT $4

-- name: ScheduleUnused :many
SELECT w.id, w.last_used_day FROM workspaces w
JOIN users u ON u.id = w.owner_id AND NOT u.is_system
WHERE w.template_id = $1 AND w.deleted_at IS NULL AND w.dormant_at IS NULL
    AND w.last_used_day <= (($2::timestamptz) AT TIME ZONE 'UTC')::date - DATE '2000-01-01'
    AND (w.last_used_day, w.id) > ($3::integer, $4::uuid)
    AND w.last_used_at <= $2::timestamptz AND (w.retry_at IS NULL OR w.retry_at <= $5::timestamptz)
ORDER BY w.last_used_day, w.id
LIMIT $6

-- name: ScheduleUse :exec
WITH used AS (
    SELECT unnest($1::uuid[]) AS id, unnest($2::timestamptz[]) AS at
), later AS (
    UPDATE workspace_builds b SET deadline = least(used.at + t.activity_bump_ms * interval '1 millisecond', b.max_deadline)
    FROM used
    JOIN workspaces w ON w.id = used.id AND w.deleted_at IS NULL
    JOIN templates t ON t.id = w.template_id AND t.activity_bump_ms > 0
    WHERE b.id = w.latest_build_id AND b.transition = 'start'
        AND b.deadline < least(used.at + t.activity_bump_ms * interval '1 millisecond', b.max_deadline) - interval '1 minute'
)
UPDATE workspaces w SET last_used_at = used.at
FROM used
WHERE w.id = used.id AND w.last_used_at < used.at - interval '30 seconds'

-- name: ShareWaiting :many
SELECT s.organization_id, l.priority::smallint AS priority
FROM job_tag_sets s
CROSS JOIN LATERAL (
    SELECT min(f.priority) AS priority FROM unnest($1::text[]) AS kind
    CROSS JOIN LATERAL (
        SELECT p.priority FROM provisioner_jobs p
        WHERE p.tag_set_id = s.id AND p.provisioner = kind AND p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
        ORDER BY p.priority LIMIT 1
    ) f
) l
WHERE s.organization_id = ANY ($2::uuid[]) AND s.key = $3 AND l.priority IS NOT NULL

-- name: ShareWeights :many
SELECT id, name, provisioner_weight FROM organizations
WHERE provisioner_weight > 0 AND deleted_at IS NULL
ORDER BY is_default DESC, id

-- name: HealthOrganizations :many
SELECT id, name FROM organizations WHERE deleted_at IS NULL ORDER BY created_at, id LIMIT 1000

-- name: SiteDeleteLicense :one
DELETE FROM licenses WHERE id = $1 RETURNING uuid

-- name: SiteInsertLicense :one
INSERT INTO licenses (uuid, uploaded_at, digest, claims) VALUES ($1, $2, $3, $4)
ON CONFLICT (digest) DO NOTHING
RETURNING id

-- name: SiteLicenses :many
SELECT id, uuid, uploaded_at, claims FROM licenses ORDER BY id

-- name: SiteLicensesLock :exec
LOCK TABLE licenses IN SHARE ROW EXCLUSIVE MODE

-- name: SitePutSetting :exec
INSERT INTO site_settings (name, value, updated_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at

-- name: SiteSetting :one
SELECT value FROM site_settings WHERE name = $1

-- name: SiteSettingForUpdate :one
SELECT value FROM site_settings WHERE name = $1 FOR UPDATE

-- name: SiteUsage :one
SELECT
    coalesce(sum(rx_bytes), 0)::bigint AS rx_bytes, coalesce(sum(tx_bytes), 0)::bigint AS tx_bytes,
    coalesce(sum(ssh) FILTER (WHERE reported_at >= $1::timestamptz), 0)::bigint AS ssh,
    coalesce(sum(vscode) FILTER (WHERE reported_at >= $1::timestamptz), 0)::bigint AS vscode,
    coalesce(sum(jetbrains) FILTER (WHERE reported_at >= $1::timestamptz), 0)::bigint AS jetbrains,
    coalesce(sum(reconnecting_pty) FILTER (WHERE reported_at >= $1::timestamptz), 0)::bigint AS reconnecting_pty,
    coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms) FILTER (WHERE latency_ms > 0), -1)::double precision AS p50,
    coalesce(percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_ms) FILTER (WHERE latency_ms > 0), -1)::double precision AS p95
FROM agent_usage WHERE quarter >= $2::timestamptz

-- name: SiteWorkspaceCounts :one
SELECT
    count(*) FILTER (WHERE j.status = 'pending') AS pending,
    count(*) FILTER (WHERE j.status IN ('running', 'canceling')) AS building,
    count(*) FILTER (WHERE j.status = 'succeeded' AND b.transition = 'start') AS running,
    count(*) FILTER (WHERE j.status = 'failed') AS failed,
    count(*) FILTER (WHERE j.status = 'succeeded' AND b.transition = 'stop') AS stopped
FROM workspaces w
CROSS JOIN LATERAL (SELECT l.job_id, l.transition FROM workspace_builds l WHERE l.workspace_id = w.id ORDER BY l.build_number DESC LIMIT 1) b
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.deleted_at IS NULL

-- name: TryLock :one
SELECT pg_try_advisory_lock(hashtextextended($1, 0))

-- name: Unlock :one
SELECT pg_advisory_unlock(hashtextextended($1, 0))

-- name: SubAgentDelete :one
DELETE FROM workspace_agents WHERE id = $1 AND parent_id = $2::uuid
RETURNING id

-- name: SubAgentDeleteApps :exec
DELETE FROM workspace_apps WHERE agent_id = $1

-- name: SubAgentInsert :exec
INSERT INTO workspace_agents (
    id, resource_id, parent_id, devcontainer_id, name, token, operating_system, architecture, directory, environment,
    display_apps, scripts, api_key_scope, troubleshooting_url, connection_timeout_seconds, position, created_at, updated_at)
VALUES ($1, $2, $3::uuid, $4::uuid, $5, $6::uuid, $7, $8, $9, $10,
    $11, $12, $13, $14, $15, $16, $17, $17)

-- name: SubAgentLockParent :exec

SELECT a.id FROM workspace_agents a
WHERE a.resource_id IN (
    SELECT r.id FROM workspace_resources r
    WHERE r.job_id = (SELECT p.job_id FROM workspace_resources p WHERE p.id = $1))
    AND a.parent_id IS NULL
ORDER BY a.id
FOR UPDATE

-- name: SubAgentNames :many
SELECT a.id, a.name, a.parent_id, a.devcontainer_id FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = $1

-- name: SubAgentUpdate :exec
UPDATE workspace_agents SET
    token = $1::uuid, operating_system = $2, architecture = $3, directory = $4,
    environment = $5, display_apps = $6, updated_at = $7
WHERE id = $8

-- name: SubAgents :many
SELECT id, name, devcontainer_id FROM workspace_agents WHERE parent_id = $1::uuid ORDER BY created_at, id

-- name: ACLMembers :many
SELECT u.id, u.email, u.username, u.name, u.avatar_url, u.password_hash, u.login_type, u.status, u.roles, u.theme, u.terminal_font, u.task_alert_dismissed, u.ssh_public_key, u.ssh_private_key, u.ssh_key_updated_at, u.is_system, u.created_at, u.updated_at, u.last_seen_at, u.deleted_at, u.quiet_hours FROM users u
JOIN organization_members m ON m.user_id = u.id
WHERE m.organization_id = $1 AND u.deleted_at IS NULL AND NOT u.is_system
  AND ($2::text = '' OR strpos(lower(u.username), lower($2)) > 0 OR strpos(lower(u.email), lower($2)) > 0)
ORDER BY lower(u.username)
LIMIT $4 OFFSET $3

-- name: TemplateBuildTimes :many
SELECT w.template_id, b.transition,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM j.completed_at - j.started_at) * 1000)::bigint AS p50,
    percentile_disc(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM j.completed_at - j.started_at) * 1000)::bigint AS p95
FROM workspaces w
JOIN workspace_builds b ON b.workspace_id = w.id
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.template_id = ANY ($1::uuid[]) AND j.status = 'succeeded' AND j.started_at IS NOT NULL
  AND b.created_at > $2::timestamptz
GROUP BY w.template_id, b.transition

-- name: TemplateByID :one
SELECT t.id, t.organization_id, t.name, t.display_name, t.description, t.icon, t.provisioner, t.active_version_id, t.created_by, t.default_ttl_ms, t.activity_bump_ms, t.failure_ttl_ms, t.time_til_dormant_ms, t.time_til_dormant_autodelete_ms, t.autostart_days, t.autostop_days, t.autostop_weeks, t.allow_user_autostart, t.allow_user_autostop, t.allow_user_cancel_workspace_jobs, t.require_active_version, t.deprecation_message, t.max_port_share_level, t.cors_behavior, t.use_classic_parameter_flow, t.disable_module_cache, t.user_acl, t.group_acl, t.created_at, t.updated_at, t.deleted_at, t.max_concurrent_builds, u.username AS creator, o.name AS organization_name, o.display_name AS organization_display_name,
    o.icon AS organization_icon,
    (SELECT count(DISTINCT w.owner_id) FROM workspaces w WHERE w.template_id = t.id AND w.deleted_at IS NULL AND w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64') AS users
FROM templates t
JOIN users u ON u.id = t.created_by
JOIN organizations o ON o.id = t.organization_id
WHERE t.id = $1 AND t.deleted_at IS NULL

-- name: TemplateDelete :exec
UPDATE templates SET deleted_at = $1::timestamptz, updated_at = $1::timestamptz WHERE id = $2

-- name: TemplateIDByName :one
SELECT id FROM templates WHERE organization_id = $1 AND lower(name) = lower($2) AND deleted_at IS NULL

-- name: TemplateInsert :exec

INSERT INTO templates (
    id, organization_id, name, display_name, description, icon, provisioner, active_version_id, created_by,
    default_ttl_ms, activity_bump_ms, failure_ttl_ms, time_til_dormant_ms, time_til_dormant_autodelete_ms,
    autostart_days, autostop_days, autostop_weeks, allow_user_autostart, allow_user_autostop,
    allow_user_cancel_workspace_jobs, require_active_version, max_port_share_level, cors_behavior,
    use_classic_parameter_flow, max_concurrent_builds, group_acl, created_at, updated_at
) VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9,
    $10, $11, $12, $13, $14,
    $15, $16, $17, $18, $19,
    $20, $21, $22, $23,
    $24, $25, $26, $27, $27
)

-- name: TemplateList :many
SELECT t.id, t.organization_id, t.name, t.display_name, t.description, t.icon, t.provisioner, t.active_version_id, t.created_by, t.default_ttl_ms, t.activity_bump_ms, t.failure_ttl_ms, t.time_til_dormant_ms, t.time_til_dormant_autodelete_ms, t.autostart_days, t.autostop_days, t.autostop_weeks, t.allow_user_autostart, t.allow_user_autostop, t.allow_user_cancel_workspace_jobs, t.require_active_version, t.deprecation_message, t.max_port_share_level, t.cors_behavior, t.use_classic_parameter_flow, t.disable_module_cache, t.user_acl, t.group_acl, t.created_at, t.updated_at, t.deleted_at, t.max_concurrent_builds, u.username AS creator, o.name AS organization_name, o.display_name AS organization_display_name,
    o.icon AS organization_icon,
    (SELECT count(DISTINCT w.owner_id) FROM workspaces w WHERE w.template_id = t.id AND w.deleted_at IS NULL AND w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64') AS users
FROM templates t
JOIN users u ON u.id = t.created_by
JOIN organizations o ON o.id = t.organization_id
WHERE t.deleted_at IS NULL
  AND ($1::boolean
    OR t.organization_id = ANY ($2::uuid[])
    OR (t.organization_id = ANY ($3::uuid[])
      AND (t.user_acl ? $4::text OR t.group_acl ? t.organization_id::text AND $4::text <> '' OR t.group_acl ?| $5::text[])))
  AND (NOT $6::boolean OR t.id = ANY ($7::uuid[]))
  AND ($8::uuid IS NULL OR t.organization_id = $8)
  AND ($9::text = '' OR lower(o.name) = lower($9) OR o.id::text = $9)
  AND ($10::text = '' OR lower(t.name) = lower($10))
  AND ($11::text = '' OR strpos(lower(t.name), lower($11)) > 0)
  AND ($12::text = '' OR strpos(lower(t.name), lower($12)) > 0
    OR strpos(lower(t.display_name), lower($12)) > 0)
  AND ($13::text = '' OR lower(u.username) = lower($13))
  AND ($14::boolean IS NULL OR (t.deprecation_message <> '') = $14)
  AND ($15::boolean IS NULL
    OR (SELECT v.has_ai_task FROM template_versions v WHERE v.id = t.active_version_id) = $15)
  AND ($16::boolean IS NULL
    OR (SELECT v.has_external_agent FROM template_versions v WHERE v.id = t.active_version_id) = $16)
ORDER BY lower(t.name), t.id
LIMIT $18 OFFSET $17

-- name: TemplateLock :one
SELECT id, organization_id, name, display_name, description, icon, provisioner, active_version_id, created_by, default_ttl_ms, activity_bump_ms, failure_ttl_ms, time_til_dormant_ms, time_til_dormant_autodelete_ms, autostart_days, autostop_days, autostop_weeks, allow_user_autostart, allow_user_autostop, allow_user_cancel_workspace_jobs, require_active_version, deprecation_message, max_port_share_level, cors_behavior, use_classic_parameter_flow, disable_module_cache, user_acl, group_acl, created_at, updated_at, deleted_at, max_concurrent_builds FROM templates WHERE id = $1 AND deleted_at IS NULL FOR UPDATE

-- name: TemplateSetACL :exec
UPDATE templates SET user_acl = $1, group_acl = $2, updated_at = $3 WHERE id = $4

-- name: TemplateSetActiveVersion :exec
UPDATE templates SET active_version_id = $2, updated_at = $3 WHERE id = $1

-- name: TemplateTouchWorkspaces :exec
UPDATE workspaces SET
    last_used_at = CASE WHEN $1::boolean THEN $2::timestamptz ELSE last_used_at END,
    dormant_at = CASE WHEN $3::boolean AND dormant_at IS NOT NULL THEN $2::timestamptz ELSE dormant_at END,
    deleting_at = CASE
        WHEN $3::boolean AND dormant_at IS NOT NULL AND $4::bigint > 0
            THEN $2::timestamptz + $4::bigint * interval '1 millisecond'
        ELSE deleting_at END,
    updated_at = $2::timestamptz
WHERE template_id = $5 AND deleted_at IS NULL

-- name: TemplateUpdate :exec
UPDATE templates SET
    name = $1, display_name = $2, description = $3, icon = $4,
    default_ttl_ms = $5, activity_bump_ms = $6, failure_ttl_ms = $7,
    time_til_dormant_ms = $8, time_til_dormant_autodelete_ms = $9,
    autostart_days = $10, autostop_days = $11, autostop_weeks = $12,
    allow_user_autostart = $13, allow_user_autostop = $14,
    allow_user_cancel_workspace_jobs = $15, require_active_version = $16,
    deprecation_message = $17, max_port_share_level = $18, cors_behavior = $19,
    use_classic_parameter_flow = $20, disable_module_cache = $21,
    max_concurrent_builds = $22,    group_acl = $23, updated_at = $24
WHERE id = $25

-- name: TemplateWorkspaceCount :one
SELECT count(*) FROM workspaces WHERE template_id = $1 AND deleted_at IS NULL AND owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64'

-- name: UsageAdd :exec
WITH reports AS (
    SELECT u.agent_id, u.workspace_id, u.user_id, u.template_id, u.at, u.seconds, u.ssh_seconds, u.vscode_seconds, u.jetbrains_seconds, u.reconnecting_pty_seconds, u.ssh, u.vscode, u.jetbrains, u.reconnecting_pty, u.rx_bytes, u.tx_bytes, u.latency_ms FROM ROWS FROM (
        unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::uuid[]),
        unnest($5::uuid[]), unnest($6::timestamptz[]), unnest($7::integer[]),
        unnest($8::integer[]), unnest($9::integer[]), unnest($10::integer[]),
        unnest($11::integer[]), unnest($12::integer[]), unnest($13::integer[]),
        unnest($14::integer[]), unnest($15::integer[]), unnest($16::bigint[]),
        unnest($17::bigint[]), unnest($18::double precision[])
    ) AS u (agent_id, workspace_id, user_id, template_id, at, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds,
        reconnecting_pty_seconds, ssh, vscode, jetbrains, reconnecting_pty, rx_bytes, tx_bytes, latency_ms)
), lately AS (
    INSERT INTO agent_usage (agent_id, quarter, reported_at, ssh, vscode, jetbrains, reconnecting_pty, rx_bytes, tx_bytes, latency_ms)
    SELECT r.agent_id, date_bin('15 minutes', r.at, '2000-01-01Z'), r.at, r.ssh, r.vscode, r.jetbrains, r.reconnecting_pty, r.rx_bytes, r.tx_bytes, r.latency_ms
    FROM reports r
    ON CONFLICT (quarter, agent_id) DO UPDATE SET reported_at = excluded.reported_at, ssh = excluded.ssh, vscode = excluded.vscode,
        jetbrains = excluded.jetbrains, reconnecting_pty = excluded.reconnecting_pty, rx_bytes = agent_usage.rx_bytes + excluded.rx_bytes,
        tx_bytes = agent_usage.tx_bytes + excluded.tx_bytes,
        latency_ms = CASE WHEN excluded.latency_ms > 0 THEN excluded.latency_ms ELSE agent_usage.latency_ms END
)
INSERT INTO workspace_usage (hour, workspace_id, user_id, template_id, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds, reconnecting_pty_seconds, latency_ms)
SELECT date_bin('1 hour', r.at, '2000-01-01Z'), r.workspace_id, r.user_id, r.template_id, sum(r.seconds), sum(r.ssh_seconds), sum(r.vscode_seconds),
    sum(r.jetbrains_seconds), sum(r.reconnecting_pty_seconds), coalesce(array_agg(r.latency_ms::real) FILTER (WHERE r.latency_ms > 0), '{}')
FROM reports r JOIN workspaces w ON w.id = r.workspace_id
WHERE r.seconds > 0
GROUP BY 1, 2, 3, 4
ON CONFLICT (hour, workspace_id, user_id) DO UPDATE SET
    seconds = least(3600, workspace_usage.seconds + excluded.seconds),
    ssh_seconds = least(3600, workspace_usage.ssh_seconds + excluded.ssh_seconds),
    vscode_seconds = least(3600, workspace_usage.vscode_seconds + excluded.vscode_seconds),
    jetbrains_seconds = least(3600, workspace_usage.jetbrains_seconds + excluded.jetbrains_seconds),
    reconnecting_pty_seconds = least(3600, workspace_usage.reconnecting_pty_seconds + excluded.reconnecting_pty_seconds),
    latency_ms = CASE WHEN cardinality(workspace_usage.latency_ms) * interval '5 minutes' <= $1::timestamptz - workspace_usage.hour
        THEN workspace_usage.latency_ms || excluded.latency_ms ELSE workspace_usage.latency_ms END

-- name: UsageAddApp :exec
INSERT INTO workspace_usage (hour, workspace_id, user_id, template_id, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds, reconnecting_pty_seconds, latency_ms)
VALUES (date_bin('1 hour', $1::timestamptz, '2000-01-01Z'), $2, $3, $4,
    $5::integer, CASE WHEN $6::text = 'ssh' THEN $5::integer ELSE 0 END, CASE WHEN $6::text = 'vscode' THEN $5::integer ELSE 0 END,
    CASE WHEN $6::text = 'jetbrains' THEN $5::integer ELSE 0 END, CASE WHEN $6::text = 'reconnecting-pty' THEN $5::integer ELSE 0 END, '{}')
ON CONFLICT (hour, workspace_id, user_id) DO UPDATE SET
    seconds = least(3600, workspace_usage.seconds + excluded.seconds),
    ssh_seconds = least(3600, workspace_usage.ssh_seconds + excluded.ssh_seconds),
    vscode_seconds = least(3600, workspace_usage.vscode_seconds + excluded.vscode_seconds),
    jetbrains_seconds = least(3600, workspace_usage.jetbrains_seconds + excluded.jetbrains_seconds),
    reconnecting_pty_seconds = least(3600, workspace_usage.reconnecting_pty_seconds + excluded.reconnecting_pty_seconds)

-- name: UsageDeleteLately :execrows
DELETE FROM agent_usage WHERE (quarter, agent_id) IN (
    SELECT u.quarter, u.agent_id FROM agent_usage u WHERE u.quarter < $1::timestamptz ORDER BY u.quarter LIMIT 1000)

-- name: AccessToTemplate :one
SELECT organization_id, user_acl, group_acl FROM templates WHERE id = $1 AND deleted_at IS NULL

-- name: AccessToWorkspace :one
SELECT organization_id, owner_id, user_acl, group_acl FROM workspaces WHERE id = $1 AND deleted_at IS NULL

-- name: BeginLoginConversion :exec
INSERT INTO login_conversions (state_hash, user_id, to_type, expires_at) VALUES ($1, $2, $3, $4)

-- name: CountActiveOwners :one
SELECT count(*) FROM users
WHERE 'owner' = ANY (roles) AND status <> 'suspended' AND NOT is_system AND deleted_at IS NULL

-- name: CountUsers :one
SELECT count(*) FROM users WHERE NOT is_system AND deleted_at IS NULL

-- name: DeleteMembershipsOfUser :exec
DELETE FROM organization_members WHERE user_id = $1

-- name: EndLoginConversion :one
DELETE FROM login_conversions WHERE state_hash = $1 RETURNING user_id, to_type, expires_at

-- name: ForgetLoginConversions :execrows
DELETE FROM login_conversions WHERE expires_at < $1

-- name: InsertUser :one
INSERT INTO users (id, email, username, name, avatar_url, password_hash, login_type, status, roles,
    ssh_public_key, ssh_private_key, ssh_key_updated_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
    $10, $11, $12::timestamptz, $12, $12)
RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: LockFirstUser :exec
SELECT pg_advisory_xact_lock(hashtext('first user'))

-- name: LockOwners :exec
SELECT pg_advisory_xact_lock(hashtext('owners'))

-- name: SoftDeleteUser :one
UPDATE users SET deleted_at = $1::timestamptz, updated_at = $1, password_hash = '', ssh_private_key = '', roles = '{}'
WHERE id = $2 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: TouchUser :exec
UPDATE users SET last_seen_at = greatest(last_seen_at, $1), status = CASE status WHEN 'dormant' THEN 'active' ELSE status END
WHERE id = $2

-- name: UpdateUserAppearance :one
UPDATE users SET theme = $1, terminal_font = $2, updated_at = $3 WHERE id = $4 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UpdateUserLoginType :one
UPDATE users SET login_type = $1, password_hash = '', updated_at = $2 WHERE id = $3 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UpdateUserPassword :one
UPDATE users SET password_hash = $1, login_type = 'password', updated_at = $2 WHERE id = $3 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UpdateUserPreferences :one
UPDATE users SET task_alert_dismissed = $1, updated_at = $2 WHERE id = $3 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UpdateUserProfile :one
UPDATE users SET username = $1, name = $2, updated_at = $3 WHERE id = $4 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UpdateUserQuietHours :one
UPDATE users SET quiet_hours = $1, updated_at = $2 WHERE id = $3 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UpdateUserRoles :one
UPDATE users SET roles = $1, updated_at = $2 WHERE id = $3 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UpdateUserSSHKey :one
UPDATE users SET ssh_public_key = $1, ssh_private_key = $2, ssh_key_updated_at = $3::timestamptz, updated_at = $3
WHERE id = $4 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UpdateUserStatus :one
UPDATE users SET status = $1, updated_at = $2 WHERE id = $3 AND deleted_at IS NULL RETURNING id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours

-- name: UserByEmail :one
SELECT id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours FROM users WHERE lower(email) = lower($1) AND deleted_at IS NULL

-- name: UserByID :one
SELECT id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours FROM users WHERE id = $1 AND deleted_at IS NULL

-- name: UserByIDForUpdate :one
SELECT id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours FROM users WHERE id = $1 AND deleted_at IS NULL FOR UPDATE

-- name: UserByUsername :one
SELECT id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours FROM users WHERE lower(username) = lower($1) AND deleted_at IS NULL

-- name: UserOrganizationIDs :many
SELECT m.user_id, m.organization_id, m.roles
FROM organization_members m JOIN organizations o ON o.id = m.organization_id AND o.deleted_at IS NULL
WHERE m.user_id = ANY ($1::uuid[])
ORDER BY o.created_at, o.id

-- name: UserOwnsWorkspaces :one
SELECT EXISTS (SELECT 1 FROM workspaces WHERE owner_id = $1 AND deleted_at IS NULL)

-- name: UserSubject :one
SELECT id, username, status, site_roles, deleted_at, last_seen_at, organizations, groups, custom_roles FROM user_subjects WHERE id = $1 AND deleted_at IS NULL

-- name: Users :many
SELECT u.id, u.email, u.username, u.name, u.avatar_url, u.password_hash, u.login_type, u.status, u.roles, u.theme, u.terminal_font, u.task_alert_dismissed, u.ssh_public_key, u.ssh_private_key, u.ssh_key_updated_at, u.is_system, u.created_at, u.updated_at, u.last_seen_at, u.deleted_at, u.quiet_hours, count(*) OVER () AS count
FROM users u
WHERE u.deleted_at IS NULL AND NOT u.is_system
    AND ($1::boolean OR u.id = $2::uuid)
    AND ($3::uuid[] IS NULL OR u.id = ANY ($3::uuid[]))
    AND ($4::text = '' OR strpos(lower(u.username), lower($4)) > 0 OR strpos(lower(u.email), lower($4)) > 0
        OR strpos(lower(u.name), lower($4)) > 0)
    AND (cardinality($5::text[]) = 0 OR u.status = ANY ($5))
    AND (cardinality($6::text[]) = 0 OR u.roles && $6 OR 'member' = ANY ($6))
    AND (cardinality($7::text[]) = 0 OR u.login_type = ANY ($7))
    AND ($8::text IS NULL OR u.id IN (
        SELECT l.user_id FROM user_links l WHERE l.login_type = 'github' AND l.subject = $8::text))
    AND ($9::timestamptz IS NULL OR u.last_seen_at <= $9)
    AND ($10::timestamptz IS NULL OR u.last_seen_at >= $10)
    AND ($11::timestamptz IS NULL OR u.created_at <= $11)
    AND ($12::timestamptz IS NULL OR u.created_at >= $12)
    AND ($13::uuid IS NULL
        OR lower(u.username) > (SELECT lower(a.username) FROM users a WHERE a.id = $13))
ORDER BY lower(u.username)
LIMIT $15 OFFSET $14

-- name: UsersAway :many
SELECT id, email, username, name, avatar_url, password_hash, login_type, status, roles, theme, terminal_font, task_alert_dismissed, ssh_public_key, ssh_private_key, ssh_key_updated_at, is_system, created_at, updated_at, last_seen_at, deleted_at, quiet_hours FROM users
WHERE status = 'active' AND NOT is_system AND deleted_at IS NULL AND greatest(last_seen_at, created_at, updated_at) < $1::timestamptz
ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: VaultDropKeys :execrows
DELETE FROM crypto_keys WHERE secret_key_id <> ''

-- name: VaultDropTokens :execrows
UPDATE user_links SET access_token = '', access_token_key_id = '', refresh_token = '', refresh_token_key_id = ''
WHERE access_token_key_id <> '' OR refresh_token_key_id <> ''

-- name: VaultKeys :many

SELECT digest, test, created_at, revoked_at FROM dbcrypt_keys WHERE revoked_at IS NULL ORDER BY created_at, digest FOR UPDATE

-- name: VaultLinks :many
SELECT user_id, login_type, issuer, subject, access_token, refresh_token, token_expires_at, unreachable_since, claims, created_at, updated_at, access_token_key_id, refresh_token_key_id FROM user_links WHERE access_token <> '' OR refresh_token <> '' ORDER BY user_id, login_type FOR UPDATE

-- name: VaultRegister :exec
INSERT INTO dbcrypt_keys (digest, test) VALUES ($1, $2)
ON CONFLICT (digest) DO UPDATE SET test = excluded.test, revoked_at = NULL WHERE dbcrypt_keys.revoked_at IS NOT NULL

-- name: VaultRevoke :exec
UPDATE dbcrypt_keys SET revoked_at = now() WHERE revoked_at IS NULL AND digest <> $1::text

-- name: VaultSetKey :exec
UPDATE crypto_keys SET secret = $1, secret_key_id = $2 WHERE feature = $3 AND sequence = $4

-- name: VaultSetTokens :exec
UPDATE user_links SET access_token = $1, access_token_key_id = $2,
    refresh_token = $3, refresh_token_key_id = $4
WHERE user_id = $5 AND login_type = $6

-- name: VaultSigningKeys :many
SELECT feature, sequence, secret, starts_at, deletes_at, secret_key_id FROM crypto_keys ORDER BY feature, sequence FOR UPDATE

-- name: VersionArchiveUnused :many
UPDATE template_versions v SET archived = true, updated_at = $1
FROM templates t, provisioner_jobs j
WHERE v.template_id = $2::uuid AND t.id = v.template_id AND j.id = v.job_id
  AND NOT v.archived AND v.id <> t.active_version_id AND j.completed_at IS NOT NULL
  AND ($3::boolean OR j.status <> 'succeeded')
  AND NOT EXISTS (
    SELECT 1
    FROM workspace_builds b
    JOIN workspaces w ON w.id = b.workspace_id AND w.deleted_at IS NULL
    WHERE b.template_version_id = v.id
      AND NOT EXISTS (SELECT 1 FROM workspace_builds n WHERE n.workspace_id = w.id AND n.build_number > b.build_number))
RETURNING v.id

-- name: VersionByID :one
SELECT v.id, v.template_id, v.organization_id, v.job_id, v.name, v.message, v.readme, v.created_by, v.archived, v.tags, v.workspace_tags, v.variables, v.parameters, v.presets, v.external_auth, v.module_files_id, v.has_ai_task, v.has_external_agent, v.example_id, v.created_at, v.updated_at, u.username AS creator, u.name AS creator_name, u.avatar_url AS creator_avatar_url,
    t.user_acl, t.group_acl,
    t.deleted_at AS template_deleted_at, j.status AS job_status
FROM template_versions v
JOIN provisioner_jobs j ON j.id = v.job_id
JOIN users u ON u.id = v.created_by
LEFT JOIN templates t ON t.id = v.template_id
WHERE v.id = $1

-- name: VersionIDByName :one
SELECT id FROM template_versions WHERE template_id = $1::uuid AND lower(name) = lower($2)

-- name: VersionInUse :one
SELECT EXISTS (
    SELECT 1
    FROM workspace_builds b
    JOIN workspaces w ON w.id = b.workspace_id AND w.deleted_at IS NULL
    WHERE b.template_version_id = $1
      AND NOT EXISTS (SELECT 1 FROM workspace_builds n WHERE n.workspace_id = w.id AND n.build_number > b.build_number)
)

-- name: VersionInitiator :one
SELECT u.id, u.username, u.name, u.email, u.login_type, u.ssh_public_key, u.ssh_private_key FROM users u WHERE u.id = $1

-- name: VersionInsert :exec

INSERT INTO template_versions (id, template_id, organization_id, job_id, name, message, created_by, tags, example_id, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)

-- name: VersionList :many
SELECT v.id, v.template_id, v.organization_id, v.job_id, v.name, v.message, v.readme, v.created_by, v.archived, v.tags, v.workspace_tags, v.variables, v.parameters, v.presets, v.external_auth, v.module_files_id, v.has_ai_task, v.has_external_agent, v.example_id, v.created_at, v.updated_at, u.username AS creator, u.name AS creator_name, u.avatar_url AS creator_avatar_url
FROM template_versions v
JOIN users u ON u.id = v.created_by
WHERE v.template_id = $1::uuid
  AND ($2::boolean OR NOT v.archived)
  AND ($3::uuid IS NULL
    OR (v.created_at, v.id) > (SELECT a.created_at, a.id FROM template_versions a WHERE a.id = $3))
ORDER BY v.created_at, v.id
LIMIT NULLIF($5::int, 0) OFFSET $4::int

-- name: VersionLock :one
SELECT id, template_id, organization_id, job_id, name, message, readme, created_by, archived, tags, workspace_tags, variables, parameters, presets, external_auth, module_files_id, has_ai_task, has_external_agent, example_id, created_at, updated_at FROM template_versions WHERE id = $1 FOR UPDATE

-- name: VersionPatch :exec
UPDATE template_versions SET name = $1, message = $2, updated_at = $3 WHERE id = $4

-- name: VersionPrevious :one
SELECT p.id
FROM template_versions v
JOIN template_versions p ON p.template_id = v.template_id AND (p.created_at, p.id) < (v.created_at, v.id)
WHERE v.id = $1
ORDER BY p.created_at DESC, p.id DESC
LIMIT 1

-- name: VersionProvisioner :one
SELECT provisioner FROM provisioner_jobs WHERE id = $1

-- name: VersionSetArchived :exec
UPDATE template_versions SET archived = $2, updated_at = $3 WHERE id = $1

-- name: VersionSetLearned :exec
UPDATE template_versions SET readme = $1, variables = $2, workspace_tags = $3, updated_at = $4
WHERE id = $5

-- name: VersionSetResult :exec
UPDATE template_versions SET
    parameters = $1, presets = $2, external_auth = $3, module_files_id = $4,
    has_ai_task = $5, has_external_agent = $6, updated_at = $7
WHERE id = $8

-- name: VersionTake :exec
UPDATE template_versions SET template_id = $1::uuid, updated_at = $2 WHERE id = $3

-- name: VersionTemplate :one
SELECT v.id, v.name, v.template_id, coalesce(t.name, '')::text AS template_name, v.variables, v.module_files_id,
    coalesce(t.disable_module_cache, false)::boolean AS disable_module_cache
FROM template_versions v LEFT JOIN templates t ON t.id = v.template_id
WHERE v.id = $1

-- name: VersionVariables :one
SELECT v.variables FROM templates t JOIN template_versions v ON v.id = t.active_version_id WHERE t.id = $1

-- name: ListPlan :exec
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)

-- name: WorkspaceByID :one
SELECT id, organization_id, owner_id, template_id, name, automatic_updates, autostart_schedule, ttl_ms, dormant_at, deleting_at, next_start_at, user_acl, group_acl, created_at, updated_at, last_used_at, deleted_at, latest_build_id, retry_at, retries, last_used_day FROM workspaces WHERE id = $1

-- name: WorkspaceByName :one
SELECT id, organization_id, owner_id, template_id, name, automatic_updates, autostart_schedule, ttl_ms, dormant_at, deleting_at, next_start_at, user_acl, group_acl, created_at, updated_at, last_used_at, deleted_at, latest_build_id, retry_at, retries, last_used_day FROM workspaces
WHERE owner_id = $1 AND lower(name) = lower($2)
ORDER BY deleted_at DESC NULLS FIRST
LIMIT 1

-- name: WorkspaceDelete :exec
UPDATE workspaces SET deleted_at = $1::timestamptz, updated_at = $1, next_start_at = NULL WHERE id = $2

-- name: WorkspaceFavorite :exec
INSERT INTO workspace_favorites (user_id, workspace_id) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: WorkspaceForUpdate :one
SELECT id, organization_id, owner_id, template_id, name, automatic_updates, autostart_schedule, ttl_ms, dormant_at, deleting_at, next_start_at, user_acl, group_acl, created_at, updated_at, last_used_at, deleted_at, latest_build_id, retry_at, retries, last_used_day FROM workspaces WHERE id = $1 FOR UPDATE

-- name: WorkspaceHasAgent :one
SELECT EXISTS (
    SELECT FROM workspaces w
    JOIN workspace_builds b ON b.id = w.latest_build_id
    JOIN workspace_resources r ON r.job_id = b.job_id
    JOIN workspace_agents a ON a.resource_id = r.id
    WHERE w.id = $1 AND a.id = $2)

-- name: WorkspaceInsert :exec

INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, automatic_updates, autostart_schedule, ttl_ms, next_start_at, created_at, updated_at, last_used_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10)

-- name: WorkspaceOwner :one
SELECT u.id, u.username, u.status, u.deleted_at,
    EXISTS (SELECT FROM organization_members m WHERE m.user_id = u.id AND m.organization_id = $1) AS is_member
FROM users u WHERE u.id = $2

-- name: WorkspaceRename :exec
UPDATE workspaces SET name = $1, updated_at = $2 WHERE id = $3

-- name: WorkspaceRows :many
SELECT w.id, w.organization_id, w.owner_id, w.template_id, w.name, w.automatic_updates, w.autostart_schedule, w.ttl_ms, w.dormant_at, w.deleting_at, w.next_start_at, w.user_acl, w.group_acl, w.created_at, w.updated_at, w.last_used_at, w.deleted_at, w.latest_build_id, w.retry_at, w.retries, w.last_used_day, o.name AS organization_name, u.username AS owner_name, u.avatar_url AS owner_avatar_url,
    u.is_system AS owner_is_system, t.name AS template_name, t.display_name AS template_display_name,
    t.icon AS template_icon, t.active_version_id, t.allow_user_cancel_workspace_jobs, t.require_active_version,
    t.use_classic_parameter_flow,
    EXISTS (SELECT FROM workspace_favorites f WHERE f.workspace_id = w.id AND f.user_id = $1) AS favorite
FROM workspaces w
JOIN organizations o ON o.id = w.organization_id
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
WHERE w.id = ANY($2::uuid[])

-- name: WorkspaceSearch :many
SELECT w.id, count(*) OVER () AS total
FROM workspaces w
JOIN users u ON u.id = w.owner_id
JOIN templates t ON t.id = w.template_id
LEFT JOIN workspace_favorites f ON f.workspace_id = w.id AND f.user_id = $1
LEFT JOIN workspace_builds b ON $2::boolean AND b.id = w.latest_build_id
LEFT JOIN provisioner_jobs j ON j.id = b.job_id
WHERE (w.deleted_at IS NOT NULL) = $3::boolean
        -- The access filter of the viewer.
    AND ($4::boolean
        OR w.organization_id = ANY($5::uuid[])
        OR w.organization_id = ANY($6::uuid[])
            AND (w.owner_id = $7 OR w.user_acl ? $8::text OR w.group_acl ?| $9::text[]
                OR $8::text <> '' AND w.group_acl ?| ($6::uuid[])::text[] AND w.group_acl ? w.organization_id::text))
    AND ($10::uuid[] IS NULL OR w.id = ANY($10::uuid[]))
        -- The search of the viewer.
    AND ($11::uuid[] IS NULL OR w.id = ANY($11::uuid[]))
    AND ($12::uuid IS NULL OR w.owner_id = $12)
    AND ($13::uuid IS NULL OR w.owner_id <> $13)
    AND ($14::text IS NULL OR w.owner_id = (SELECT x.id FROM users x WHERE lower(x.username) = lower($14) AND x.deleted_at IS NULL))
    AND ($15::text IS NULL OR strpos(lower(w.name), lower($15)) > 0)
    AND ($16::text IS NULL OR lower(w.name) = lower($16))
    AND ($17::text IS NULL OR lower(t.name) = lower($17) OR t.id::text = $17)
    AND ($18::text IS NULL OR w.organization_id = (
        SELECT o.id FROM organizations o
        WHERE o.deleted_at IS NULL AND (lower(o.name) = lower($18) OR o.id::text = $18)))
    AND ($19::boolean IS NULL OR (w.dormant_at IS NOT NULL) = $19)
    AND ($20::boolean IS NULL OR (w.user_acl <> '{}' OR w.group_acl <> '{}') = $20)
    AND ($21::text IS NULL OR w.user_acl ? $21::text)
    AND ($22::text IS NULL OR w.group_acl ?| (
        SELECT coalesce(array_agg(g.id::text), '{}') FROM groups g JOIN organizations o ON o.id = g.organization_id AND o.deleted_at IS NULL
        WHERE g.id::text = $22::text OR lower(g.name) = lower($22::text)
            OR lower(o.name || '/' || g.name) = lower($22::text)))
    AND ($23::timestamptz IS NULL OR w.last_used_at < $23)
    AND ($24::timestamptz IS NULL OR w.last_used_at > $24)
    AND ($25::text[] IS NULL OR w.id IN (
        SELECT a.current_workspace_id FROM workspace_agents a
        WHERE a.current_workspace_id IS NOT NULL AND CASE
            WHEN a.first_connected_at IS NULL AND a.connection_timeout_seconds > 0
                AND a.created_at + a.connection_timeout_seconds * interval '1 second' < $26::timestamptz THEN 'timeout'
            WHEN a.first_connected_at IS NULL THEN 'connecting'
            WHEN a.last_connected_at IS NULL OR a.disconnected_at > a.last_connected_at
                OR a.last_connected_at < $27::timestamptz THEN 'disconnected'
            ELSE 'connected' END = ANY($25::text[])))
    AND ($28::text[] IS NULL OR b.transition = ANY($28::text[]))
    AND ($29::text[] IS NULL OR j.status = ANY($29::text[]))
    AND ($30::boolean IS NULL OR (b.template_version_id <> t.active_version_id) = $30)
    AND ($31::boolean IS NULL
        OR (SELECT v.has_ai_task FROM template_versions v WHERE v.id = b.template_version_id) = $31)
    AND ($32::boolean IS NULL
        OR (SELECT v.has_external_agent FROM template_versions v WHERE v.id = b.template_version_id) = $32)
    AND ($33::jsonb IS NULL OR b.parameters @> $33)
ORDER BY f.user_id IS NULL, lower(u.username), lower(w.name), w.id
LIMIT NULLIF($35::integer, 0) OFFSET $34::integer

-- name: WorkspaceSetACL :exec
UPDATE workspaces SET user_acl = $1, group_acl = $2, updated_at = $3 WHERE id = $4

-- name: WorkspaceSetAutomaticUpdates :exec
UPDATE workspaces SET automatic_updates = $1, updated_at = $2 WHERE id = $3

-- name: WorkspaceSetAutostart :exec
UPDATE workspaces SET autostart_schedule = $1, next_start_at = $2, updated_at = $3 WHERE id = $4

-- name: WorkspaceSetDormant :exec
UPDATE workspaces SET dormant_at = $1, deleting_at = $2, next_start_at = $3, last_used_at = $4, updated_at = $5 WHERE id = $6

-- name: WorkspaceSetNextStart :exec
UPDATE workspaces SET next_start_at = $1 WHERE id = $2

-- name: WorkspaceSetTTL :exec
UPDATE workspaces SET ttl_ms = $1, updated_at = $2 WHERE id = $3

-- name: WorkspaceTemplate :one
SELECT id, organization_id, name, display_name, description, icon, provisioner, active_version_id, created_by, default_ttl_ms, activity_bump_ms, failure_ttl_ms, time_til_dormant_ms, time_til_dormant_autodelete_ms, autostart_days, autostop_days, autostop_weeks, allow_user_autostart, allow_user_autostop, allow_user_cancel_workspace_jobs, require_active_version, deprecation_message, max_port_share_level, cors_behavior, use_classic_parameter_flow, disable_module_cache, user_acl, group_acl, created_at, updated_at, deleted_at, max_concurrent_builds FROM templates WHERE id = $1

-- name: WorkspaceTouch :exec
UPDATE workspaces SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1

-- name: WorkspaceUnfavorite :exec
DELETE FROM workspace_favorites WHERE user_id = $1 AND workspace_id = $2

-- name: WorkspaceVersion :one
SELECT v.id, v.template_id, v.organization_id, v.job_id, v.name, v.message, v.readme, v.created_by, v.archived, v.tags, v.workspace_tags, v.variables, v.parameters, v.presets, v.external_auth, v.module_files_id, v.has_ai_task, v.has_external_agent, v.example_id, v.created_at, v.updated_at, t.id, t.organization_id, t.name, t.display_name, t.description, t.icon, t.provisioner, t.active_version_id, t.created_by, t.default_ttl_ms, t.activity_bump_ms, t.failure_ttl_ms, t.time_til_dormant_ms, t.time_til_dormant_autodelete_ms, t.autostart_days, t.autostop_days, t.autostop_weeks, t.allow_user_autostart, t.allow_user_autostop, t.allow_user_cancel_workspace_jobs, t.require_active_version, t.deprecation_message, t.max_port_share_level, t.cors_behavior, t.use_classic_parameter_flow, t.disable_module_cache, t.user_acl, t.group_acl, t.created_at, t.updated_at, t.deleted_at, t.max_concurrent_builds, j.status AS job_status, j.error AS job_error, j.file_id, j.provisioner
FROM template_versions v
JOIN templates t ON t.id = v.template_id
JOIN provisioner_jobs j ON j.id = v.job_id
WHERE v.id = $1
