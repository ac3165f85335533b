-- +goose Up

-- Agents of a build that still runs, as far as its state names them: programs
-- beside an agent (envbuilder, coder-logstream-kube) send log lines with its
-- token before the build has ended. When the build succeeds the lines move to
-- the agent; when it ends otherwise they go.
CREATE TABLE pending_agents (
    token           uuid PRIMARY KEY,
    build_id        uuid NOT NULL REFERENCES workspace_builds ON DELETE CASCADE,
    logs_length     integer NOT NULL DEFAULT 0,
    logs_overflowed boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL
);
CREATE INDEX pending_agents_build ON pending_agents (build_id);

CREATE TABLE pending_agent_logs (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token      uuid NOT NULL REFERENCES pending_agents ON DELETE CASCADE,
    source_id  uuid NOT NULL,
    created_at timestamptz NOT NULL,
    level      text NOT NULL CHECK (level IN ('trace', 'debug', 'info', 'warn', 'error')),
    output     text NOT NULL
);
CREATE INDEX pending_agent_logs_token ON pending_agent_logs (token, id);

CREATE TABLE pending_agent_log_sources (
    token        uuid NOT NULL REFERENCES pending_agents ON DELETE CASCADE,
    id           uuid NOT NULL,
    display_name text NOT NULL,
    icon         text NOT NULL,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (token, id)
);
