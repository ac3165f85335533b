-- Prebuilt workspaces. The ID of their account is a literal where an index is needed. (WS-20)

-- name: PrebuildsAccountInsert :exec
INSERT INTO users (id, email, username, name, avatar_url, password_hash, login_type, status, roles,
    ssh_public_key, ssh_private_key, created_at, updated_at, is_system)
VALUES ('9d3c2a41-5e07-4b68-8f1d-707265626c64', @username::text || '@localhost', @username, 'Prebuilt workspaces', '', '', 'none', 'active', '{}', '', '', @now::timestamptz, @now, true)
ON CONFLICT DO NOTHING;

-- name: PrebuildsAccountExists :one
SELECT EXISTS (SELECT FROM users WHERE id = '9d3c2a41-5e07-4b68-8f1d-707265626c64');

-- name: PrebuildsJoin :execrows
INSERT INTO organization_members (organization_id, user_id, roles, created_at, updated_at)
VALUES (@organization_id, '9d3c2a41-5e07-4b68-8f1d-707265626c64', '{}', @now::timestamptz, @now)
ON CONFLICT DO NOTHING;

-- name: PrebuildsGroup :exec
-- Creates the group with the quota of prebuilt workspaces, unless a group has that name, and
-- adds the account to it.
WITH made AS (
    INSERT INTO groups (id, organization_id, name, display_name, quota_allowance, created_at, updated_at)
    VALUES (@id, @organization_id, @name, 'Prebuilt workspaces', 0, @now::timestamptz, @now)
    ON CONFLICT DO NOTHING
    RETURNING id
)
INSERT INTO group_members (group_id, organization_id, user_id)
SELECT g.id, @organization_id, '9d3c2a41-5e07-4b68-8f1d-707265626c64'
FROM (SELECT id FROM made UNION SELECT x.id FROM groups x WHERE x.organization_id = @organization_id AND lower(x.name) = lower(@name)) g
ON CONFLICT DO NOTHING;

-- name: PrebuildTemplates :many
-- Templates whose active version has prebuilds, or that have prebuilt workspaces.
SELECT t.id FROM templates t JOIN template_versions v ON v.id = t.active_version_id
WHERE t.deleted_at IS NULL AND v.presets @? '$[*] ? (@.desiredPrebuildInstances > 0 || exists(@.prebuilds))'
UNION
SELECT w.template_id FROM workspaces w WHERE w.owner_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND w.deleted_at IS NULL;

-- name: PrebuildLock :one
-- Locks the prebuilt workspaces of a template against other replicas until the transaction
-- ends.
SELECT pg_try_advisory_xact_lock(hashtextextended('prebuilds ' || (@template_id::uuid)::text, 0));

-- name: PrebuildTemplate :one
SELECT t.id, t.name, t.organization_id, o.name AS organization, t.active_version_id, v.name AS version, v.presets, t.created_at, t.prebuild_budget,
    (t.deleted_at IS NULL AND o.deleted_at IS NULL AND t.deprecation_message = '')::boolean AS wanted,
    coalesce(p.invalidated_at, '0001-01-01 00:00:00+00')::timestamptz AS invalidated_at
FROM templates t
JOIN organizations o ON o.id = t.organization_id
JOIN template_versions v ON v.id = t.active_version_id
LEFT JOIN template_prebuilds p ON p.template_id = t.id
WHERE t.id = $1;

-- name: PrebuildDemand :many
-- The times at which users created workspaces from presets of a template, in periods of the same
-- length: by the name of the preset, over all versions. Claims of prebuilt workspaces are among
-- them. At most the first 10,000.
SELECT (x.preset->>'name')::text AS preset, s.since::timestamptz AS since, b.created_at
FROM unnest(@since::timestamptz[]) AS s(since)
JOIN workspace_builds b ON b.created_at >= s.since AND b.created_at < s.since + make_interval(secs => @span::double precision)
JOIN workspaces w ON w.id = b.workspace_id AND w.template_id = @template_id AND w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64'
JOIN template_versions v ON v.id = b.template_version_id
JOIN LATERAL (SELECT e.preset FROM jsonb_array_elements(v.presets) AS e(preset) WHERE e.preset->>'id' = b.preset_id::text LIMIT 1) x ON true
WHERE b.initiator_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND b.transition = 'start'
    AND NOT EXISTS (
        SELECT FROM workspace_builds earlier
        WHERE earlier.workspace_id = b.workspace_id AND earlier.build_number < b.build_number
            AND earlier.initiator_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64')
ORDER BY b.created_at
LIMIT 10000;

-- name: PrebuildWorkspaces :many
-- The unclaimed prebuilt workspaces of a template, the oldest first, with their latest builds
-- and whether their agents are ready.
SELECT w.id, w.created_at, b.id AS build_id, b.build_number, b.template_version_id, b.transition, b.job_id, j.status AS job_status,
    coalesce(f.preset_id, '00000000-0000-0000-0000-000000000000')::uuid AS preset_id, coalesce(j.completed_at, b.created_at)::timestamptz AS since,
    (NOT EXISTS (
        SELECT FROM workspace_agents a
        WHERE a.current_workspace_id = w.id AND a.parent_id IS NULL
            AND (a.lifecycle_state <> 'ready' OR a.disconnected_at IS NOT NULL OR coalesce(a.last_connected_at < @silent_since::timestamptz, true))))::boolean AS ready
FROM workspaces w
JOIN workspace_builds b ON b.id = w.latest_build_id
JOIN workspace_builds f ON f.workspace_id = w.id AND f.build_number = 1
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.owner_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND w.template_id = @template_id AND w.deleted_at IS NULL
ORDER BY w.created_at, w.id;

-- name: PrebuildFailures :many
-- The number of consecutive failures of presets since a time.
SELECT b.preset_id::uuid AS preset_id, count(*) AS failures, max(j.completed_at)::timestamptz AS latest
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'failed'
WHERE b.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND b.build_number = 1
    AND b.preset_id = ANY (@preset_ids::uuid[]) AND b.created_at > @since::timestamptz
    AND NOT EXISTS (
        SELECT FROM workspace_builds s
        JOIN provisioner_jobs k ON k.id = s.job_id AND k.status = 'succeeded'
        WHERE s.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND s.build_number = 1
            AND s.preset_id = b.preset_id AND k.completed_at > j.completed_at)
GROUP BY b.preset_id;

-- name: PrebuildClaim :one
-- Locks the oldest ready workspace of a preset that no other transaction has locked.
SELECT w.id
FROM workspaces w
JOIN workspace_builds b ON b.id = w.latest_build_id
JOIN workspace_builds f ON f.workspace_id = w.id AND f.build_number = 1
JOIN provisioner_jobs j ON j.id = b.job_id
WHERE w.owner_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND w.template_id = @template_id AND w.deleted_at IS NULL AND w.dormant_at IS NULL
    AND f.preset_id = @preset_id::uuid AND b.template_version_id = @template_version_id
    AND b.transition = 'start' AND j.status = 'succeeded'
    AND w.created_at > coalesce((SELECT p.invalidated_at FROM template_prebuilds p WHERE p.template_id = @template_id), '0001-01-01 00:00:00+00')
    AND NOT EXISTS (
        SELECT FROM workspace_agents a
        WHERE a.current_workspace_id = w.id AND a.parent_id IS NULL
            AND (a.lifecycle_state <> 'ready' OR a.disconnected_at IS NOT NULL OR coalesce(a.last_connected_at < @silent_since::timestamptz, true)))
ORDER BY w.created_at, w.id
LIMIT 1
FOR UPDATE OF w SKIP LOCKED;

-- name: PrebuildTransfer :exec
-- Transfers a prebuilt workspace to a user as if the user had just created it.
UPDATE workspaces SET owner_id = @owner_id, name = @name, automatic_updates = @automatic_updates,
    autostart_schedule = sqlc.narg(autostart_schedule), ttl_ms = sqlc.narg(ttl_ms), next_start_at = sqlc.narg(next_start_at),
    user_acl = '{}', group_acl = '{}', last_used_at = @now::timestamptz, updated_at = @now
WHERE id = @id;

-- name: PrebuildAgentTokens :many
-- The tokens of the agents that run from before a build.
SELECT a.id, a.token, t.token AS kept, t.key_id
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'succeeded'
JOIN workspace_resources r ON r.job_id = b.job_id
JOIN workspace_agents a ON a.resource_id = r.id AND a.parent_id IS NULL
LEFT JOIN workspace_agent_tokens t ON t.agent_id = a.id
WHERE b.workspace_id = @workspace_id AND b.build_number = (
    SELECT max(l.build_number) FROM workspace_builds l JOIN provisioner_jobs k ON k.id = l.job_id AND k.status = 'succeeded'
    WHERE l.workspace_id = @workspace_id AND l.build_number < @build_number)
    AND (a.token IS NOT NULL OR t.token IS NOT NULL)
ORDER BY a.position, a.name;

-- name: PrebuildBefore :one
-- Whether the previous start of a workspace was a prebuild.
SELECT (b.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND b.transition = 'start')::boolean AS prebuilt
FROM workspace_builds b
JOIN provisioner_jobs j ON j.id = b.job_id AND j.status = 'succeeded'
WHERE b.workspace_id = @workspace_id AND b.build_number < @build_number
ORDER BY b.build_number DESC
LIMIT 1;

-- name: PrebuildOfAgent :one
-- Whether an agent's build is a prebuild, or was handed over and is not built yet; and whether
-- the workspace has a later start since, which was handed over or succeeded.
SELECT (w.owner_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' OR b.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64')::boolean AS prebuilt,
    b.handed_over, j.status AS job_status,
    (w.owner_id <> '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND EXISTS (
        SELECT FROM workspace_builds l JOIN provisioner_jobs k ON k.id = l.job_id AND (k.status = 'succeeded' OR l.handed_over)
        WHERE l.workspace_id = w.id AND l.build_number > b.build_number AND l.transition = 'start'))::boolean AS claimed
FROM workspace_builds b JOIN workspaces w ON w.id = b.workspace_id JOIN provisioner_jobs j ON j.id = b.job_id
WHERE b.id = $1;

-- name: PrebuildHandOver :exec
-- Marks a build that does not run yet as one whose workspace was handed over. It gets the
-- deadline of a workspace that was just started.
UPDATE workspace_builds SET handed_over = true, deadline = sqlc.narg(deadline), max_deadline = sqlc.narg(max_deadline) WHERE id = @id;

-- name: PrebuildSource :one
-- The source of a version, and the source of its modules, which is empty without remote ones.
SELECT f.data AS source, coalesce(m.data, '')::bytea AS modules
FROM template_versions v
JOIN provisioner_jobs j ON j.id = v.job_id
JOIN files f ON f.id = j.file_id
LEFT JOIN files m ON m.id = v.module_files_id
WHERE v.id = $1;

-- name: PrebuildInvalidate :exec
INSERT INTO template_prebuilds (template_id, invalidated_at) VALUES (@template_id, @now)
ON CONFLICT (template_id) DO UPDATE SET invalidated_at = greatest(template_prebuilds.invalidated_at, excluded.invalidated_at);

-- name: PrebuildCounts :many
-- The number of prebuilt workspaces of each preset that were created, that failed, and that
-- were claimed, over all versions of a template.
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
LIMIT 1000;

