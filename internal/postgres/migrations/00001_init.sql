-- +goose Up

-- One row: who this deployment is and the secrets it signs with.
CREATE TABLE deployment (
    id           boolean PRIMARY KEY DEFAULT true CHECK (id),
    uuid         uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- Secrets that the replicas share: signing keys, the authority of tunnel clients.
CREATE TABLE secrets (
    name       text PRIMARY KEY,
    value      bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE organizations (
    id           uuid PRIMARY KEY,
    name         text NOT NULL CHECK (name <> ''),
    display_name text NOT NULL DEFAULT '',
    description  text NOT NULL DEFAULT '',
    icon         text NOT NULL DEFAULT '',
    is_default   boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    deleted_at   timestamptz
);
CREATE UNIQUE INDEX organizations_name ON organizations (lower(name)) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX organizations_default ON organizations (is_default) WHERE is_default;

CREATE TABLE users (
    id              uuid PRIMARY KEY,
    email           text NOT NULL,
    username        text NOT NULL,
    name            text NOT NULL DEFAULT '',
    avatar_url      text NOT NULL DEFAULT '',
    password_hash   text NOT NULL DEFAULT '', -- argon2id in PHC form; empty: no password login
    login_type      text NOT NULL CHECK (login_type IN ('password', 'github', 'oidc', 'token', 'none')),
    status          text NOT NULL CHECK (status IN ('active', 'dormant', 'suspended')),
    roles           text[] NOT NULL DEFAULT '{}', -- site roles besides the implicit member
    theme           text NOT NULL DEFAULT '',
    terminal_font   text NOT NULL DEFAULT '',
    task_alert_dismissed boolean NOT NULL DEFAULT false,
    ssh_public_key  text NOT NULL DEFAULT '', -- of the git SSH key pair
    ssh_private_key text NOT NULL DEFAULT '',
    ssh_key_updated_at timestamptz,
    is_system       boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    last_seen_at    timestamptz NOT NULL DEFAULT '0001-01-01T00:00:00Z',
    deleted_at      timestamptz
);
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX users_username ON users (lower(username)) WHERE deleted_at IS NULL;

CREATE TABLE organization_members (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id         uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    roles           text[] NOT NULL DEFAULT '{}', -- besides the implicit organization-member
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX organization_members_user ON organization_members (user_id);

-- Sessions and API tokens: <id>-<secret>; only the SHA-256 of the secret is kept.
CREATE TABLE api_keys (
    id               text PRIMARY KEY CHECK (length(id) = 10),
    secret_hash      bytea NOT NULL CHECK (length(secret_hash) = 32),
    user_id          uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    login_type       text NOT NULL CHECK (login_type IN ('password', 'github', 'oidc', 'token')),
    token_name       text NOT NULL DEFAULT '',
    scopes           text[] NOT NULL DEFAULT '{coder:all}',
    allow_list       text[] NOT NULL DEFAULT '{*:*}', -- type:id
    lifetime_seconds bigint NOT NULL CHECK (lifetime_seconds > 0),
    ip_address       inet,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    last_used_at     timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL
);
CREATE INDEX api_keys_user ON api_keys (user_id);
CREATE UNIQUE INDEX api_keys_name ON api_keys (user_id, token_name) WHERE login_type = 'token' AND token_name <> '';
CREATE INDEX api_keys_expires ON api_keys (expires_at);

CREATE TABLE audit_logs (
    id              uuid PRIMARY KEY,
    time            timestamptz NOT NULL,
    organization_id uuid, -- no reference: the row outlives what it speaks of
    user_id         uuid,
    ip              inet,
    user_agent      text NOT NULL DEFAULT '',
    resource_type   text NOT NULL,
    resource_id     uuid,
    resource_target text NOT NULL DEFAULT '',
    resource_icon   text NOT NULL DEFAULT '',
    action          text NOT NULL,
    diff            jsonb NOT NULL DEFAULT '{}',
    status_code     integer NOT NULL DEFAULT 0,
    additional_fields jsonb NOT NULL DEFAULT '{}',
    request_id      text NOT NULL DEFAULT ''
);
CREATE INDEX audit_logs_time ON audit_logs (time DESC, id);

CREATE TABLE files (
    id         uuid PRIMARY KEY,
    hash       text NOT NULL, -- SHA-256 in hex
    created_by uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    mimetype   text NOT NULL, -- what data is: always application/x-tar
    data       bytea NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (hash, created_by)
);
ALTER TABLE files ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE templates (
    id                uuid PRIMARY KEY,
    organization_id   uuid NOT NULL REFERENCES organizations,
    name              text NOT NULL,
    display_name      text NOT NULL DEFAULT '',
    description       text NOT NULL DEFAULT '',
    icon              text NOT NULL DEFAULT '',
    provisioner       text NOT NULL CHECK (provisioner IN ('terraform', 'echo')),
    active_version_id uuid NOT NULL, -- deferred reference below
    created_by        uuid NOT NULL REFERENCES users,
    -- Settings (TPL-17). Durations in milliseconds.
    default_ttl_ms                    bigint NOT NULL DEFAULT 0 CHECK (default_ttl_ms >= 0),
    activity_bump_ms                  bigint NOT NULL DEFAULT 3600000 CHECK (activity_bump_ms >= 0),
    failure_ttl_ms                    bigint NOT NULL DEFAULT 0,
    time_til_dormant_ms               bigint NOT NULL DEFAULT 0,
    time_til_dormant_autodelete_ms    bigint NOT NULL DEFAULT 0,
    autostart_days                    text[] NOT NULL DEFAULT '{monday,tuesday,wednesday,thursday,friday,saturday,sunday}',
    autostop_days                     text[] NOT NULL DEFAULT '{}',
    autostop_weeks                    bigint NOT NULL DEFAULT 1,
    allow_user_autostart              boolean NOT NULL DEFAULT true,
    allow_user_autostop               boolean NOT NULL DEFAULT true,
    allow_user_cancel_workspace_jobs  boolean NOT NULL DEFAULT true,
    require_active_version            boolean NOT NULL DEFAULT false,
    deprecation_message               text NOT NULL DEFAULT '',
    max_port_share_level              text NOT NULL DEFAULT 'owner',
    cors_behavior                     text NOT NULL DEFAULT 'simple',
    use_classic_parameter_flow        boolean NOT NULL DEFAULT false,
    disable_module_cache              boolean NOT NULL DEFAULT false,
    user_acl                          jsonb NOT NULL DEFAULT '{}', -- user id -> use|admin
    group_acl                         jsonb NOT NULL DEFAULT '{}', -- group id -> use|admin; the organization's id is its Everyone group
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    deleted_at        timestamptz
);
CREATE UNIQUE INDEX templates_name ON templates (organization_id, lower(name)) WHERE deleted_at IS NULL;

-- A tag set that jobs ask for. Jobs point at a set, so that finding work is an
-- index scan however many jobs of other sets wait.
CREATE TABLE job_tag_sets (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    key             text NOT NULL, -- coder.Tags.Key
    tags            jsonb NOT NULL, -- normalized: always with scope and owner
    UNIQUE (organization_id, key)
);

-- Keys with which provisioners of an organization connect; fixed tags.
CREATE TABLE provisioner_keys (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL,
    secret_hash     bytea NOT NULL CHECK (length(secret_hash) = 32),
    tags            jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX provisioner_keys_name ON provisioner_keys (organization_id, lower(name));
CREATE UNIQUE INDEX provisioner_keys_hash ON provisioner_keys (secret_hash);

CREATE TABLE provisioner_daemons (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    key_id          uuid NOT NULL, -- a provisioner_keys row or one of the reserved ids
    name            text NOT NULL,
    owner           text NOT NULL DEFAULT '', -- the owner tag
    provisioners    text[] NOT NULL,
    tags            jsonb NOT NULL,
    version         text NOT NULL DEFAULT '',
    api_version     text NOT NULL DEFAULT '',
    slots           integer NOT NULL DEFAULT 1 CHECK (slots > 0), -- jobs it takes at once
    tools           text[] NOT NULL DEFAULT '{}', -- such as terraform/1.11.4
    created_at      timestamptz NOT NULL,
    last_seen_at    timestamptz,
    UNIQUE (organization_id, name, owner)
);

CREATE TABLE provisioner_jobs (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations,
    initiator_id    uuid NOT NULL REFERENCES users,
    type            text NOT NULL CHECK (type IN ('template_version_import', 'workspace_build', 'template_version_dry_run')),
    provisioner     text NOT NULL CHECK (provisioner IN ('terraform', 'echo')),
    priority        smallint NOT NULL DEFAULT 0, -- lower goes first: 0 people, 1 prebuilds
    tag_set_id      bigint NOT NULL REFERENCES job_tag_sets,
    file_id         uuid NOT NULL REFERENCES files,
    input           jsonb NOT NULL, -- coder.ProvisionerJobInput plus what the job's kind adds
    trace           jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    started_at      timestamptz,
    canceled_at     timestamptz,
    completed_at    timestamptz,
    error           text NOT NULL DEFAULT '',
    error_code      text NOT NULL DEFAULT '',
    -- The claim: who holds the job, until when, and the number that fences off
    -- whoever held it before.
    worker_id        uuid, -- provisioner_daemons; no reference, the row outlives it
    worker_name      text NOT NULL DEFAULT '',
    fence            bigint NOT NULL DEFAULT 0,
    lease_ms         bigint NOT NULL DEFAULT 0, -- how long the worker may be silent
    lease_expires_at timestamptz,
    resumable        boolean NOT NULL DEFAULT false, -- another worker may go on from the state that was told
    logs_length      integer NOT NULL DEFAULT 0, -- bytes
    logs_overflowed  boolean NOT NULL DEFAULT false,
    status text NOT NULL GENERATED ALWAYS AS (
        CASE
            WHEN completed_at IS NOT NULL AND error <> '' AND canceled_at IS NULL THEN 'failed'
            WHEN completed_at IS NOT NULL AND canceled_at IS NOT NULL THEN CASE WHEN error = '' THEN 'canceled' ELSE 'failed' END
            WHEN completed_at IS NOT NULL THEN 'succeeded'
            WHEN canceled_at IS NOT NULL THEN 'canceling'
            WHEN started_at IS NOT NULL THEN 'running'
            ELSE 'pending'
        END) STORED,
    -- What the machine of docs/state-machines.md allows.
    CHECK (started_at IS NULL OR worker_id IS NOT NULL),
    CHECK ((started_at IS NULL) = (lease_expires_at IS NULL)),
    CHECK (canceled_at IS NULL OR started_at IS NOT NULL OR completed_at IS NOT NULL),
    CHECK (completed_at IS NOT NULL OR error = '')
);
CREATE INDEX provisioner_jobs_pending ON provisioner_jobs (tag_set_id, provisioner, priority, created_at) WHERE started_at IS NULL AND completed_at IS NULL;
CREATE INDEX provisioner_jobs_running ON provisioner_jobs (lease_expires_at) WHERE started_at IS NOT NULL AND completed_at IS NULL;
CREATE INDEX provisioner_jobs_unfinished ON provisioner_jobs (organization_id, tag_set_id, created_at) WHERE completed_at IS NULL;
CREATE INDEX provisioner_jobs_worker ON provisioner_jobs (worker_id, started_at DESC) WHERE worker_id IS NOT NULL;
CREATE INDEX provisioner_jobs_organization ON provisioner_jobs (organization_id, created_at DESC);
CREATE INDEX provisioner_jobs_import_file ON provisioner_jobs (file_id) WHERE type = 'template_version_import';

CREATE TABLE provisioner_job_logs (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id     uuid NOT NULL REFERENCES provisioner_jobs ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    source     text NOT NULL CHECK (source IN ('provisioner_daemon', 'provisioner')),
    level      text NOT NULL CHECK (level IN ('trace', 'debug', 'info', 'warn', 'error')),
    stage      text NOT NULL DEFAULT '',
    output     text NOT NULL
);
CREATE INDEX provisioner_job_logs_job ON provisioner_job_logs (job_id, id);

CREATE TABLE provisioner_job_timings (
    job_id     uuid NOT NULL REFERENCES provisioner_jobs ON DELETE CASCADE,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    stage      text NOT NULL,
    source     text NOT NULL,
    action     text NOT NULL,
    resource   text NOT NULL
);
CREATE INDEX provisioner_job_timings_job ON provisioner_job_timings (job_id);

CREATE TABLE template_versions (
    id              uuid PRIMARY KEY,
    template_id     uuid REFERENCES templates ON DELETE CASCADE, -- null until a template takes it
    organization_id uuid NOT NULL REFERENCES organizations,
    job_id          uuid NOT NULL UNIQUE REFERENCES provisioner_jobs,
    name            text NOT NULL,
    message         text NOT NULL DEFAULT '',
    readme          text NOT NULL DEFAULT '',
    created_by      uuid NOT NULL REFERENCES users,
    archived        boolean NOT NULL DEFAULT false,
    -- What the import learned: JSON documents, always read and written whole.
    tags            jsonb NOT NULL DEFAULT '{}', -- of the import job and later builds, without scope and owner unless given
    workspace_tags  jsonb NOT NULL DEFAULT '{}', -- coder_workspace_tags: key -> HCL expression
    variables       jsonb NOT NULL DEFAULT '[]', -- []coder.TemplateVersionVariable with real values
    parameters      jsonb NOT NULL DEFAULT '[]', -- []coder.TemplateVersionParameter
    presets         jsonb NOT NULL DEFAULT '[]', -- []coder.Preset
    external_auth   jsonb NOT NULL DEFAULT '[]', -- [{id, optional}]
    module_files_id uuid REFERENCES files,
    has_ai_task     boolean NOT NULL DEFAULT false,
    has_external_agent boolean NOT NULL DEFAULT false,
    example_id      text NOT NULL DEFAULT '',
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX template_versions_name ON template_versions (template_id, lower(name));
CREATE INDEX template_versions_template ON template_versions (template_id, created_at DESC);
ALTER TABLE templates ADD FOREIGN KEY (active_version_id) REFERENCES template_versions DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE workspaces (
    id                 uuid PRIMARY KEY,
    organization_id    uuid NOT NULL REFERENCES organizations,
    owner_id           uuid NOT NULL REFERENCES users,
    template_id        uuid NOT NULL REFERENCES templates,
    name               text NOT NULL,
    automatic_updates  text NOT NULL DEFAULT 'never' CHECK (automatic_updates IN ('always', 'never')),
    autostart_schedule text,
    ttl_ms             bigint,
    dormant_at         timestamptz,
    deleting_at        timestamptz,
    next_start_at      timestamptz,
    user_acl           jsonb NOT NULL DEFAULT '{}',
    group_acl          jsonb NOT NULL DEFAULT '{}',
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    last_used_at       timestamptz NOT NULL,
    deleted_at         timestamptz
);
CREATE UNIQUE INDEX workspaces_name ON workspaces (owner_id, lower(name)) WHERE deleted_at IS NULL;
CREATE INDEX workspaces_template ON workspaces (template_id) WHERE deleted_at IS NULL;
CREATE INDEX workspaces_organization ON workspaces (organization_id) WHERE deleted_at IS NULL;

CREATE TABLE workspace_favorites (
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    PRIMARY KEY (user_id, workspace_id)
);

CREATE TABLE workspace_builds (
    id                  uuid PRIMARY KEY,
    workspace_id        uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    template_version_id uuid NOT NULL REFERENCES template_versions,
    preset_id           uuid,
    build_number        integer NOT NULL CHECK (build_number > 0),
    transition          text NOT NULL CHECK (transition IN ('start', 'stop', 'delete')),
    initiator_id        uuid NOT NULL REFERENCES users,
    reason              text NOT NULL,
    job_id              uuid NOT NULL UNIQUE REFERENCES provisioner_jobs,
    parameters          jsonb NOT NULL DEFAULT '[]', -- []coder.WorkspaceBuildParameter
    deadline            timestamptz,
    max_deadline        timestamptz,
    daily_cost          integer NOT NULL DEFAULT 0,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    UNIQUE (workspace_id, build_number)
);
CREATE INDEX workspace_builds_version ON workspace_builds (template_version_id);

-- Terraform state apart from the row, which is read far more often.
CREATE TABLE workspace_build_states (
    build_id   uuid PRIMARY KEY REFERENCES workspace_builds ON DELETE CASCADE,
    state      bytea NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE workspace_resources (
    id          uuid PRIMARY KEY,
    job_id      uuid NOT NULL REFERENCES provisioner_jobs ON DELETE CASCADE,
    transition  text NOT NULL CHECK (transition IN ('start', 'stop', 'delete')),
    type        text NOT NULL,
    name        text NOT NULL,
    hide        boolean NOT NULL DEFAULT false,
    icon        text NOT NULL DEFAULT '',
    daily_cost  integer NOT NULL DEFAULT 0,
    module_path text NOT NULL DEFAULT '',
    metadata    jsonb NOT NULL DEFAULT '[]', -- []coder.WorkspaceResourceMetadata
    position    integer NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL
);
CREATE INDEX workspace_resources_job ON workspace_resources (job_id);

CREATE TABLE workspace_agents (
    id                 uuid PRIMARY KEY,
    resource_id        uuid NOT NULL REFERENCES workspace_resources ON DELETE CASCADE,
    parent_id          uuid REFERENCES workspace_agents ON DELETE CASCADE,
    name               text NOT NULL,
    token              uuid, -- null: instance identity
    instance_id        text NOT NULL DEFAULT '',
    operating_system   text NOT NULL,
    architecture       text NOT NULL,
    directory          text NOT NULL DEFAULT '',
    expanded_directory text NOT NULL DEFAULT '',
    environment        jsonb NOT NULL DEFAULT '{}',
    motd_file          text NOT NULL DEFAULT '',
    troubleshooting_url text NOT NULL DEFAULT '',
    connection_timeout_seconds integer NOT NULL DEFAULT 120,
    display_apps       text[] NOT NULL DEFAULT '{}',
    scripts            jsonb NOT NULL DEFAULT '[]', -- []coder.WorkspaceAgentScript
    metadata_items     jsonb NOT NULL DEFAULT '[]', -- definitions; values are in workspace_agent_metadata
    api_key_scope      text NOT NULL DEFAULT 'all',
    position           integer NOT NULL DEFAULT 0,
    version            text NOT NULL DEFAULT '',
    api_version        text NOT NULL DEFAULT '',
    subsystems         text[] NOT NULL DEFAULT '{}',
    certificate        bytea, -- DER of the tunnel end, pinned by clients
    lifecycle_state    text NOT NULL DEFAULT 'created' CHECK (lifecycle_state IN ('created', 'starting', 'start_timeout', 'start_error',
        'ready', 'shutting_down', 'shutdown_timeout', 'shutdown_error', 'off')),
    started_at         timestamptz,
    ready_at           timestamptz,
    first_connected_at timestamptz,
    last_connected_at  timestamptz,
    disconnected_at    timestamptz,
    replica_id         uuid, -- the replica that holds the agent's connection
    connection_id      uuid, -- that connection; fences off what an earlier one still says
    logs_length        integer NOT NULL DEFAULT 0,
    logs_overflowed    boolean NOT NULL DEFAULT false,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL
);
CREATE INDEX workspace_agents_resource ON workspace_agents (resource_id);
CREATE INDEX workspace_agents_token ON workspace_agents (token) WHERE token IS NOT NULL;
CREATE INDEX workspace_agents_heard ON workspace_agents (last_connected_at) WHERE disconnected_at IS NULL;
CREATE INDEX workspace_agents_awaited ON workspace_agents (created_at) WHERE first_connected_at IS NULL;

CREATE TABLE workspace_apps (
    id            uuid PRIMARY KEY,
    agent_id      uuid NOT NULL REFERENCES workspace_agents ON DELETE CASCADE,
    slug          text NOT NULL,
    display_name  text NOT NULL DEFAULT '',
    icon          text NOT NULL DEFAULT '',
    command       text NOT NULL DEFAULT '',
    url           text NOT NULL DEFAULT '',
    external      boolean NOT NULL DEFAULT false,
    subdomain     boolean NOT NULL DEFAULT false,
    sharing_level text NOT NULL DEFAULT 'owner',
    open_in       text NOT NULL DEFAULT 'slim-window',
    app_group     text NOT NULL DEFAULT '',
    tooltip       text NOT NULL DEFAULT '',
    hidden        boolean NOT NULL DEFAULT false,
    position      integer NOT NULL DEFAULT 0,
    healthcheck_url       text NOT NULL DEFAULT '',
    healthcheck_interval  integer NOT NULL DEFAULT 0,
    healthcheck_threshold integer NOT NULL DEFAULT 0,
    health        text NOT NULL DEFAULT 'disabled' CHECK (health IN ('disabled', 'initializing', 'healthy', 'unhealthy')),
    created_at    timestamptz NOT NULL,
    UNIQUE (agent_id, slug)
);

CREATE TABLE workspace_agent_log_sources (
    id           uuid NOT NULL,
    agent_id     uuid NOT NULL REFERENCES workspace_agents ON DELETE CASCADE,
    display_name text NOT NULL,
    icon         text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (agent_id, id)
);

CREATE TABLE workspace_agent_logs (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent_id   uuid NOT NULL REFERENCES workspace_agents ON DELETE CASCADE,
    source_id  uuid NOT NULL,
    created_at timestamptz NOT NULL,
    level      text NOT NULL CHECK (level IN ('trace', 'debug', 'info', 'warn', 'error')),
    output     text NOT NULL
);
CREATE INDEX workspace_agent_logs_agent ON workspace_agent_logs (agent_id, id);

CREATE UNLOGGED TABLE workspace_agent_metadata (
    agent_id     uuid NOT NULL,
    key          text NOT NULL,
    value        text NOT NULL,
    error        text NOT NULL,
    collected_at timestamptz NOT NULL,
    PRIMARY KEY (agent_id, key)
);

CREATE TABLE workspace_agent_script_timings (
    agent_id   uuid NOT NULL REFERENCES workspace_agents ON DELETE CASCADE,
    script_id  uuid NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    exit_code  integer NOT NULL,
    stage      text NOT NULL CHECK (stage IN ('start', 'stop', 'cron')),
    status     text NOT NULL CHECK (status IN ('ok', 'exit_failure', 'timed_out', 'pipes_left_open'))
);
CREATE INDEX workspace_agent_script_timings_agent ON workspace_agent_script_timings (agent_id);

-- Servers that share this database.
CREATE TABLE replicas (
    id            uuid PRIMARY KEY,
    hostname      text NOT NULL,
    relay_address text NOT NULL DEFAULT '',
    version       text NOT NULL,
    started_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    stopped_at    timestamptz
);

-- +goose Down
DROP SCHEMA public CASCADE;
CREATE SCHEMA public;
