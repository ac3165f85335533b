-- +goose Up

-- Users that an identity provider manages by SCIM, with the attributes that only it uses.
CREATE TABLE scim_users (
    user_id     uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    user_name   text NOT NULL, -- userName of the provider; usernames of the deployment are shorter
    external_id text NOT NULL DEFAULT '', -- ID at the provider; '': it sent none
    profile     jsonb NOT NULL, -- name, displayName and emails as the provider sent them
    removed_at  timestamptz, -- the provider deleted the user: SCIM does not show it until it is provisioned again
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);
CREATE UNIQUE INDEX scim_users_user_name ON scim_users (lower(user_name)) WHERE removed_at IS NULL;
CREATE INDEX scim_users_external_id ON scim_users (external_id);

-- Groups of the default organization that an identity provider manages by SCIM.
CREATE TABLE scim_groups (
    group_id     uuid PRIMARY KEY REFERENCES groups ON DELETE CASCADE,
    display_name text NOT NULL, -- of the provider; display names of groups are shorter
    external_id  text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);
