-- What builds and imports made: resources, their agents, the agents' apps.

-- name: ResourceInsert :copyfrom
INSERT INTO workspace_resources (id, job_id, transition, type, name, hide, icon, daily_cost, module_path, metadata, position, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: ResourceInsertAgent :copyfrom
INSERT INTO workspace_agents (
    id, resource_id, name, token, instance_id, operating_system, architecture, directory, environment,
    motd_file, troubleshooting_url, connection_timeout_seconds, display_apps, scripts, metadata_items,
    api_key_scope, position, created_at, updated_at, resource_monitors, devcontainers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21);

-- name: ResourceInsertApp :copyfrom
INSERT INTO workspace_apps (
    id, agent_id, slug, display_name, icon, command, url, external, subdomain, sharing_level, open_in,
    app_group, tooltip, hidden, position, healthcheck_url, healthcheck_interval, healthcheck_threshold,
    health, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20);

-- name: ResourceInsertLogSource :copyfrom
INSERT INTO workspace_agent_log_sources (id, agent_id, display_name, icon, created_at)
VALUES ($1, $2, $3, $4, $5);

-- name: ResourcesOfJobs :many
SELECT * FROM workspace_resources WHERE job_id = ANY(sqlc.arg(job_ids)::uuid[]) ORDER BY job_id, position, name, id;

-- name: ResourceAgentsOfJobs :many
SELECT a.*
FROM workspace_agents a
JOIN workspace_resources r ON r.id = a.resource_id
WHERE r.job_id = ANY(sqlc.arg(job_ids)::uuid[])
ORDER BY a.position, a.parent_id IS NOT NULL, a.name, a.id;

-- name: ResourceAppsOfAgents :many
SELECT * FROM workspace_apps WHERE agent_id = ANY(sqlc.arg(agent_ids)::uuid[]) ORDER BY agent_id, position, slug;

-- name: ResourceLogSourcesOfAgents :many
SELECT * FROM workspace_agent_log_sources WHERE agent_id = ANY(sqlc.arg(agent_ids)::uuid[]) ORDER BY agent_id, created_at, display_name, id;
