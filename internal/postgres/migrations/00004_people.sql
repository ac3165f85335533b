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

-- Whether workspaces of an organization may be shared at all.
ALTER TABLE organizations ADD COLUMN workspace_sharing_disabled boolean NOT NULL DEFAULT false;
