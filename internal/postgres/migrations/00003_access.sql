-- +goose Up

-- Apps: the keys that sign what browsers carry to apps. The newest key whose
-- starts_at has come signs; older ones still verify until deletes_at.
CREATE TABLE crypto_keys (
    feature    text NOT NULL CHECK (feature IN ('oidc_convert', 'tailnet_resume', 'workspace_apps_api_key', 'workspace_apps_token')),
    sequence   integer NOT NULL CHECK (sequence > 0),
    secret     bytea NOT NULL,
    starts_at  timestamptz NOT NULL,
    deletes_at timestamptz,
    PRIMARY KEY (feature, sequence)
);

-- Ports of agents that somebody else than the owner may open. By the agent's
-- name, so that a share outlives a rebuild.
CREATE TABLE workspace_port_shares (
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    agent_name   text NOT NULL,
    port         integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
    share_level  text NOT NULL CHECK (share_level IN ('owner', 'organization', 'authenticated', 'public')),
    protocol     text NOT NULL CHECK (protocol IN ('http', 'https')),
    PRIMARY KEY (workspace_id, agent_name, port)
);

-- What apps said of what they do; the newest of an app counts.
CREATE TABLE workspace_app_statuses (
    id           uuid PRIMARY KEY,
    app_id       uuid NOT NULL REFERENCES workspace_apps ON DELETE CASCADE,
    agent_id     uuid NOT NULL,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    state        text NOT NULL CHECK (state IN ('working', 'idle', 'complete', 'failure')),
    message      text NOT NULL,
    uri          text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL
);
CREATE INDEX workspace_app_statuses_app ON workspace_app_statuses (app_id, created_at DESC);
CREATE INDEX workspace_app_statuses_workspace ON workspace_app_statuses (workspace_id, created_at DESC);

-- How apps and ports were used: one row for each while of one person.
CREATE TABLE workspace_app_stats (
    session_id    uuid PRIMARY KEY,
    user_id       uuid, -- null: somebody who was not signed in
    workspace_id  uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    agent_id      uuid NOT NULL,
    access_method text NOT NULL CHECK (access_method IN ('path', 'subdomain', 'terminal')),
    slug_or_port  text NOT NULL,
    started_at    timestamptz NOT NULL,
    ended_at      timestamptz NOT NULL,
    requests      bigint NOT NULL
);
CREATE INDEX workspace_app_stats_ended ON workspace_app_stats (ended_at);

-- Which replica an agent's link to the relay is with: behind a load balancer
-- that may be another one than that of its control connection.
CREATE TABLE agent_relays (
    agent_id   uuid PRIMARY KEY,
    replica_id uuid NOT NULL,
    link_id    uuid NOT NULL, -- that link; fences off the end of an earlier one
    since      timestamptz NOT NULL
);
CREATE INDEX agent_relays_replica ON agent_relays (replica_id);

-- Agents whose metadata somebody watches over another server than the one that
-- holds them, which therefore writes their values down at once. Lost in a
-- crash, as the values are; watchers say it again every few seconds.
CREATE UNLOGGED TABLE agent_watches (
    agent_id uuid PRIMARY KEY,
    until    timestamptz NOT NULL
);

-- The memory and volumes whose use an agent watches, and how they do.
ALTER TABLE workspace_agents ADD COLUMN resource_monitors jsonb NOT NULL DEFAULT '[]'; -- []coder.WorkspaceAgentMonitor

-- Machines that prove themselves by what their cloud says of them.
CREATE INDEX workspace_agents_instance ON workspace_agents (instance_id) WHERE instance_id <> '';
