-- +goose Up

-- Groups: named sets of members of one organization. Everyone in it is a group
-- of its own, whose id is the organization's and whose members are all.
CREATE TABLE groups (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL CHECK (name <> ''),
    display_name    text NOT NULL DEFAULT '',
    avatar_url      text NOT NULL DEFAULT '',
    quota_allowance integer NOT NULL DEFAULT 0 CHECK (quota_allowance >= 0),
    source          text NOT NULL DEFAULT 'user' CHECK (source IN ('user', 'oidc')),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organization_id, id)
);
CREATE UNIQUE INDEX groups_name ON groups (organization_id, lower(name));

-- Who leaves the organization leaves its groups.
CREATE TABLE group_members (
    group_id        uuid NOT NULL,
    organization_id uuid NOT NULL,
    user_id         uuid NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (group_id, user_id),
    FOREIGN KEY (organization_id, group_id) REFERENCES groups (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, user_id) REFERENCES organization_members (organization_id, user_id) ON DELETE CASCADE,
    CHECK (group_id <> organization_id)
);
CREATE INDEX group_members_user ON group_members (user_id, organization_id);

INSERT INTO groups (id, organization_id, name) SELECT id, id, 'Everyone' FROM organizations;

-- +goose StatementBegin
CREATE FUNCTION organization_everyone() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    INSERT INTO groups (id, organization_id, name) VALUES (NEW.id, NEW.id, ''Everyone'');
    RETURN NEW;
END';
-- +goose StatementEnd
CREATE TRIGGER organization_everyone AFTER INSERT ON organizations FOR EACH ROW EXECUTE FUNCTION organization_everyone();

-- Who is in which group, with that of everyone.
CREATE VIEW group_memberships AS
    SELECT group_id, organization_id, user_id FROM group_members
    UNION ALL
    SELECT organization_id, organization_id, user_id FROM organization_members;

-- Roles that an organization made for itself, beside the built-in ones.
CREATE TABLE custom_roles (
    id              uuid NOT NULL UNIQUE,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL CHECK (name <> ''),
    display_name    text NOT NULL DEFAULT '',
    organization_permissions jsonb NOT NULL DEFAULT '[]', -- []coder.Permission: on everything there
    member_permissions       jsonb NOT NULL DEFAULT '[]', -- []coder.Permission: on one's own there
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (organization_id, name)
);

-- All that decides what a user may do, in one row.
CREATE VIEW user_subjects AS
SELECT u.id, u.username, u.status, u.roles AS site_roles, u.deleted_at, u.last_seen_at,
    coalesce((SELECT jsonb_object_agg(m.organization_id, m.roles)
        FROM organization_members m JOIN organizations o ON o.id = m.organization_id AND o.deleted_at IS NULL
        WHERE m.user_id = u.id), '{}')::jsonb AS organizations,
    coalesce((SELECT array_agg(g.group_id) FROM group_members g WHERE g.user_id = u.id), '{}')::uuid[] AS groups,
    coalesce((SELECT jsonb_agg(jsonb_build_object('organization_id', c.organization_id, 'name', c.name,
            'organization_permissions', c.organization_permissions, 'organization_member_permissions', c.member_permissions))
        FROM organization_members m JOIN custom_roles c ON c.organization_id = m.organization_id AND c.name = ANY (m.roles)
        WHERE m.user_id = u.id), '[]')::jsonb AS custom_roles
FROM users u;

-- What is shared with somebody is found without reading what is not.
CREATE INDEX workspaces_user_acl ON workspaces USING gin (user_acl);
CREATE INDEX workspaces_group_acl ON workspaces USING gin (group_acl);
CREATE INDEX templates_user_acl ON templates USING gin (user_acl);
CREATE INDEX templates_group_acl ON templates USING gin (group_acl);

-- Whether workspaces of an organization may be shared at all.
ALTER TABLE organizations ADD COLUMN workspace_sharing_disabled boolean NOT NULL DEFAULT false;

-- What administrators set for the whole site, by name: JSON of types of package coder.
CREATE TABLE site_settings (
    name       text PRIMARY KEY,
    value      jsonb NOT NULL,
    updated_at timestamptz NOT NULL
);

-- How agents were in use lately, a row for each quarter of an hour: the newest
-- report with the traffic summed up. Lost in a crash, as no history is made of it.
CREATE UNLOGGED TABLE agent_usage (
    agent_id         uuid NOT NULL,
    quarter          timestamptz NOT NULL,
    reported_at      timestamptz NOT NULL,
    ssh              integer NOT NULL,
    vscode           integer NOT NULL,
    jetbrains        integer NOT NULL,
    reconnecting_pty integer NOT NULL,
    rx_bytes         bigint NOT NULL,
    tx_bytes         bigint NOT NULL,
    latency_ms       double precision NOT NULL, -- 0: not measured
    PRIMARY KEY (quarter, agent_id)
);

-- Who worked in which workspace, by the hour: seconds with a session of any
-- kind and of each, and what a round trip took, measured every five minutes.
CREATE TABLE workspace_usage (
    hour              timestamptz NOT NULL,
    workspace_id      uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id           uuid NOT NULL,
    template_id       uuid NOT NULL,
    seconds           integer NOT NULL,
    ssh_seconds       integer NOT NULL,
    vscode_seconds    integer NOT NULL,
    jetbrains_seconds integer NOT NULL,
    reconnecting_pty_seconds integer NOT NULL,
    latency_ms        real[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (hour, workspace_id, user_id)
);
CREATE INDEX workspace_usage_template ON workspace_usage (template_id, hour);

-- How the status of users changed; null before a user was and after.
CREATE TABLE user_status_changes (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    uuid NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    old_status text,
    new_status text
);
INSERT INTO user_status_changes (user_id, changed_at, new_status)
    SELECT id, created_at, status FROM users WHERE deleted_at IS NULL AND NOT is_system;

-- +goose StatementBegin
CREATE FUNCTION user_status_changed() RETURNS trigger LANGUAGE plpgsql AS '
DECLARE before text; after text;
BEGIN
    IF TG_OP = ''UPDATE'' AND OLD.deleted_at IS NULL THEN
        before := OLD.status;
    END IF;
    IF NEW.deleted_at IS NULL THEN
        after := NEW.status;
    END IF;
    IF before IS DISTINCT FROM after AND NOT NEW.is_system THEN
        INSERT INTO user_status_changes (user_id, old_status, new_status) VALUES (NEW.id, before, after);
    END IF;
    RETURN NEW;
END';
-- +goose StatementEnd
CREATE TRIGGER user_status_changed AFTER INSERT OR UPDATE OF status, deleted_at ON users FOR EACH ROW EXECUTE FUNCTION user_status_changed();

-- Accounts: when workspaces of a user may be stopped for a while, with what
-- programs sessions were begun, and conversions to another way to log in that
-- were begun and not ended.
ALTER TABLE users ADD COLUMN quiet_hours text NOT NULL DEFAULT ''; -- empty: those of the deployment
ALTER TABLE api_keys ADD COLUMN user_agent text NOT NULL DEFAULT '';
CREATE TABLE login_conversions (
    state_hash bytea PRIMARY KEY CHECK (length(state_hash) = 32),
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    to_type    text NOT NULL CHECK (to_type IN ('github', 'oidc')),
    expires_at timestamptz NOT NULL
);

-- Accounts of users at identity providers: who they are there, what the
-- provider said of them last, and the tokens it gave. (AU-12, AU-13)
CREATE TABLE user_links (
    user_id          uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    login_type       text NOT NULL CHECK (login_type IN ('github', 'oidc')),
    issuer           text NOT NULL,
    subject          text NOT NULL CHECK (subject <> ''),
    access_token     text NOT NULL DEFAULT '',
    refresh_token    text NOT NULL DEFAULT '',
    token_expires_at timestamptz, -- null: it does not, or nobody said when
    unreachable_since timestamptz, -- the provider could not be asked since then
    claims           jsonb NOT NULL DEFAULT '{}',
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    PRIMARY KEY (user_id, login_type)
);
CREATE UNIQUE INDEX user_links_subject ON user_links (login_type, issuer, subject);

-- When the provider must be asked again whether a session still holds.
ALTER TABLE api_keys ADD COLUMN provider_check_at timestamptz;

-- How what providers say of people becomes organizations, groups and roles:
-- JSON of types of package coder. The nil id is the deployment. (AU-14)
CREATE TABLE idp_sync_settings (
    organization_id uuid NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('organization', 'groups', 'roles')),
    value           jsonb NOT NULL,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (organization_id, kind)
);

-- Attempts to log in, by account and by address: until when those that were
-- made count. Lost in a crash, which gives everybody theirs back.
CREATE UNLOGGED TABLE login_attempts (
    key  bytea PRIMARY KEY CHECK (length(key) = 32),
    full_until timestamptz NOT NULL
);
CREATE INDEX login_attempts_past ON login_attempts (full_until);

-- Who was connected to which workspace, by which way. Names are as they were,
-- and rows outlive what they speak of.
CREATE TABLE connection_logs (
    id                 uuid PRIMARY KEY,
    connect_time       timestamptz NOT NULL,
    disconnect_time    timestamptz,
    type               text NOT NULL CHECK (type IN ('ssh', 'vscode', 'jetbrains', 'reconnecting_pty', 'workspace_app', 'port_forwarding')),
    organization_id    uuid NOT NULL,
    workspace_id       uuid NOT NULL,
    workspace_owner_id uuid NOT NULL,
    workspace_name     text NOT NULL,
    agent_id           uuid NOT NULL,
    agent_name         text NOT NULL,
    ip                 inet,
    user_id            uuid, -- of web connections; null: nobody who was logged in
    user_agent         text NOT NULL DEFAULT '',
    slug_or_port       text NOT NULL DEFAULT '',
    status_code        integer NOT NULL DEFAULT 0,
    exit_code          integer,
    disconnect_reason  text NOT NULL DEFAULT '',
    replica_id         uuid NOT NULL -- the server that saw it
);
CREATE INDEX connection_logs_time ON connection_logs (connect_time DESC, id);
CREATE INDEX connection_logs_workspace ON connection_logs (workspace_id, connect_time DESC);
CREATE INDEX connection_logs_open ON connection_logs (replica_id) WHERE disconnect_time IS NULL;

-- Passcodes with which people who forgot their password set another. (AU-11)
CREATE TABLE one_time_passcodes (
    user_id       uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    passcode_hash bytea NOT NULL CHECK (length(passcode_hash) = 32),
    expires_at    timestamptz NOT NULL
);

-- The latest build of a workspace, beside it: lists ask of thousands at once
-- how that went. Builds of a workspace are added one after the other.
ALTER TABLE workspaces ADD COLUMN latest_build_id uuid;
ALTER TABLE workspaces SET (fillfactor = 80); -- rows change often, and stay where they are if there is room
UPDATE workspaces w SET latest_build_id = (SELECT b.id FROM workspace_builds b WHERE b.workspace_id = w.id ORDER BY b.build_number DESC LIMIT 1);

-- +goose StatementBegin
CREATE FUNCTION workspace_latest_build() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    UPDATE workspaces SET latest_build_id = NEW.id WHERE id = NEW.workspace_id;
    RETURN NEW;
END';
-- +goose StatementEnd
CREATE TRIGGER workspace_latest_build AFTER INSERT ON workspace_builds FOR EACH ROW EXECUTE FUNCTION workspace_latest_build();

-- Encryption of tokens and signing keys: beside each value the digest of the
-- key that it is encrypted with, empty for none, and the keys that are needed,
-- with a known value to try them on. (ENC-01)
ALTER TABLE user_links ADD COLUMN access_token_key_id text NOT NULL DEFAULT '', ADD COLUMN refresh_token_key_id text NOT NULL DEFAULT '';
ALTER TABLE crypto_keys ADD COLUMN secret_key_id text NOT NULL DEFAULT '';
CREATE TABLE dbcrypt_keys (
    digest     text PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{14}$'), -- of its SHA-256, the first 7 bytes
    test       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz -- nothing is encrypted with it any more
);
