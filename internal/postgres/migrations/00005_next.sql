-- +goose Up

-- Workspace proxies: servers elsewhere that people reach workspaces through.
-- Each signs in with a token, of which only the hash is here. What it says of
-- itself stands beside what the last check found.
CREATE TABLE workspace_proxies (
    id                uuid PRIMARY KEY,
    name              text NOT NULL CHECK (name <> ''),
    display_name      text NOT NULL DEFAULT '',
    icon              text NOT NULL DEFAULT '',
    token_hash        bytea NOT NULL CHECK (length(token_hash) = 32),
    access_url        text NOT NULL DEFAULT '', -- '' while it is not registered
    wildcard_hostname text NOT NULL DEFAULT '',
    derp_enabled      boolean NOT NULL DEFAULT true,
    derp_only         boolean NOT NULL DEFAULT false,
    version           text NOT NULL DEFAULT '',
    status            text NOT NULL DEFAULT 'unregistered' CHECK (status IN ('unregistered', 'unreachable', 'unhealthy', 'ok')),
    errors            text[] NOT NULL DEFAULT '{}',
    warnings          text[] NOT NULL DEFAULT '{}',
    checked_at        timestamptz, -- when a check last ended
    check_at          timestamptz NOT NULL DEFAULT '1970-01-01 00:00+00', -- when the next may begin
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    CHECK (access_url <> '' OR status = 'unregistered')
);
CREATE UNIQUE INDEX workspace_proxies_name ON workspace_proxies (lower(name));
CREATE UNIQUE INDEX workspace_proxies_access_url ON workspace_proxies (lower(access_url)) WHERE access_url <> '';

-- The processes that a proxy consists of.
CREATE TABLE workspace_proxy_replicas (
    id            uuid PRIMARY KEY,
    proxy_id      uuid NOT NULL REFERENCES workspace_proxies ON DELETE CASCADE,
    hostname      text NOT NULL,
    relay_address text NOT NULL,
    error         text NOT NULL,
    version       text NOT NULL,
    started_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL
);
CREATE INDEX workspace_proxy_replicas_proxy ON workspace_proxy_replicas (proxy_id);

-- Which workspace an agent is of now: the one whose latest build made it. It is
-- null for agents of earlier builds, so that lists that ask how the agents of
-- thousands of workspaces are need not look through those.
ALTER TABLE workspace_agents ADD COLUMN current_workspace_id uuid;
UPDATE workspace_agents a SET current_workspace_id = w.id
FROM workspace_resources r JOIN workspace_builds b ON b.job_id = r.job_id JOIN workspaces w ON w.id = b.workspace_id AND w.latest_build_id = b.id
WHERE r.id = a.resource_id;
CREATE INDEX workspace_agents_current ON workspace_agents (current_workspace_id) WHERE current_workspace_id IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION workspace_agent_current() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    NEW.current_workspace_id := (
        SELECT w.id FROM workspace_resources r JOIN workspace_builds b ON b.job_id = r.job_id JOIN workspaces w ON w.id = b.workspace_id AND w.latest_build_id = b.id
        WHERE r.id = NEW.resource_id);
    RETURN NEW;
END';
-- +goose StatementEnd
CREATE TRIGGER workspace_agent_current BEFORE INSERT ON workspace_agents FOR EACH ROW EXECUTE FUNCTION workspace_agent_current();

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION workspace_latest_build() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    UPDATE workspaces SET latest_build_id = NEW.id WHERE id = NEW.workspace_id;
    UPDATE workspace_agents SET current_workspace_id = NULL WHERE current_workspace_id = NEW.workspace_id;
    UPDATE workspace_agents a SET current_workspace_id = NEW.workspace_id
    FROM workspace_resources r WHERE r.job_id = NEW.job_id AND a.resource_id = r.id;
    RETURN NEW;
END';
-- +goose StatementEnd

-- Dev containers that templates declare, and the agents that run in dev
-- containers: each is the child of the agent that brought its container up, and
-- a dev container has one at most. (AG-21)
ALTER TABLE workspace_agents ADD COLUMN devcontainers jsonb NOT NULL DEFAULT '[]'; -- []coder.DeclaredDevcontainer
ALTER TABLE workspace_agents ADD COLUMN devcontainer_id uuid;
CREATE UNIQUE INDEX workspace_agents_devcontainer ON workspace_agents (parent_id, devcontainer_id) WHERE parent_id IS NOT NULL;

-- What happens to workspaces by themselves. Each kind of it is found by an index
-- over those to which it may happen, whatever else there is.
--
-- A build is current while its workspace has no later one; failed_at is when it
-- failed. Of a workspace whose automatic build could not be made, or failed,
-- retry_at says when it is tried again, and retries how often it was. The day of
-- the last use stands beside its time, in days since 2000, because an index over
-- the time would be written each time that somebody works.
ALTER TABLE workspace_builds ADD COLUMN current boolean NOT NULL DEFAULT true, ADD COLUMN failed_at timestamptz;
UPDATE workspace_builds b SET current = false FROM workspaces w WHERE w.id = b.workspace_id AND w.latest_build_id IS DISTINCT FROM b.id;
UPDATE workspace_builds b SET failed_at = j.completed_at FROM provisioner_jobs j WHERE j.id = b.job_id AND j.status = 'failed' AND b.current;
ALTER TABLE workspaces ADD COLUMN retry_at timestamptz, ADD COLUMN retries integer NOT NULL DEFAULT 0,
    ADD COLUMN last_used_day integer NOT NULL GENERATED ALWAYS AS ((last_used_at AT TIME ZONE 'UTC')::date - DATE '2000-01-01') STORED;
CREATE INDEX workspaces_next_start ON workspaces (next_start_at, id) WHERE next_start_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX workspaces_deleting ON workspaces (deleting_at, id) WHERE deleting_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX workspaces_retry ON workspaces (retry_at, id) WHERE retry_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX workspaces_unused ON workspaces (template_id, last_used_day, id) WHERE deleted_at IS NULL AND dormant_at IS NULL;
CREATE INDEX workspace_builds_deadline ON workspace_builds (deadline, workspace_id) WHERE current AND transition = 'start' AND deadline IS NOT NULL;
CREATE INDEX workspace_builds_failed ON workspace_builds (failed_at, workspace_id) WHERE current AND transition = 'start' AND failed_at IS NOT NULL;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION workspace_latest_build() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    UPDATE workspace_builds SET current = false WHERE id = (SELECT w.latest_build_id FROM workspaces w WHERE w.id = NEW.workspace_id);
    UPDATE workspaces SET latest_build_id = NEW.id WHERE id = NEW.workspace_id;
    UPDATE workspace_agents SET current_workspace_id = NULL WHERE current_workspace_id = NEW.workspace_id;
    UPDATE workspace_agents a SET current_workspace_id = NEW.workspace_id
    FROM workspace_resources r WHERE r.job_id = NEW.job_id AND a.resource_id = r.id;
    RETURN NEW;
END';
-- +goose StatementEnd

-- Prebuilt workspaces: they belong to an account of this id, which is no person,
-- until somebody takes them. Those of a template that are older than
-- invalidated_at are made anew. (WS-20)
CREATE TABLE template_prebuilds (
    template_id    uuid PRIMARY KEY REFERENCES templates ON DELETE CASCADE,
    invalidated_at timestamptz NOT NULL
);
CREATE INDEX workspace_builds_prebuilt ON workspace_builds (preset_id, created_at) WHERE initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64' AND build_number = 1;
