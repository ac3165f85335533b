-- Results of builds and imports: resources, their agents, and the agents' apps.

-- name: ResourceInsert :copyfrom
INSERT INTO workspace_resources (id, job_id, transition, type, name, hide, icon, daily_cost, module_path, metadata, position, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: ResourceInsertAgent :copyfrom
INSERT INTO workspace_agents (
    id, resource_id, name, token, token_hash, instance_id, operating_system, architecture, directory, environment,
    motd_file, troubleshooting_url, connection_timeout_seconds, display_apps, scripts, metadata_items,
    api_key_scope, position, created_at, updated_at, resource_monitors, devcontainers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22);

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

-- name: ResourceInsertAgentToken :copyfrom
INSERT INTO workspace_agent_tokens (agent_id, token, key_id) VALUES ($1, $2, $3);

-- name: ResourceAdoptAgent :exec
-- Replaces what a template declares of an agent that runs, and moves it and the agents of its
-- dev containers to a resource.
WITH children AS (UPDATE workspace_agents c SET resource_id = @resource_id WHERE c.parent_id = @id::uuid)
UPDATE workspace_agents SET resource_id = @resource_id, operating_system = @operating_system, architecture = @architecture, directory = @directory,
    environment = @environment, motd_file = @motd_file, troubleshooting_url = @troubleshooting_url,
    connection_timeout_seconds = @connection_timeout_seconds, display_apps = @display_apps, scripts = @scripts, metadata_items = @metadata_items,
    api_key_scope = @api_key_scope, position = @position, updated_at = @updated_at, resource_monitors = @resource_monitors, devcontainers = @devcontainers
WHERE workspace_agents.id = @id::uuid;

-- name: ResourceAdoptApp :exec
-- Replaces what a template declares of an app. Its health stays while its check is the same.
UPDATE workspace_apps SET slug = @slug, display_name = @display_name, icon = @icon, command = @command, url = @url, external = @external,
    subdomain = @subdomain, sharing_level = @sharing_level, open_in = @open_in, app_group = @app_group, tooltip = @tooltip, hidden = @hidden,
    position = @position, health = CASE WHEN healthcheck_url = @healthcheck_url THEN health ELSE @health END, healthcheck_url = @healthcheck_url,
    healthcheck_interval = @healthcheck_interval, healthcheck_threshold = @healthcheck_threshold
WHERE id = @id;

-- name: ResourceDropApps :exec
-- Deletes the apps of agents, except some.
DELETE FROM workspace_apps WHERE agent_id = ANY (@agent_ids::uuid[]) AND id <> ALL (@kept::uuid[]);

-- name: ResourceDrop :exec
-- Deletes resources with their agents.
DELETE FROM workspace_resources WHERE id = ANY (@ids::uuid[]);

-- name: ResourceMove :exec
-- Moves all resources with their agents from a job to another.
UPDATE workspace_resources SET job_id = @to_job_id WHERE job_id = @from_job_id;
