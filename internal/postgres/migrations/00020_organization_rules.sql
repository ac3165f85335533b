-- +goose Up

-- Rules of an organization for its members. A user in several organizations is subject to all of them.
CREATE TABLE organization_rules (
    organization_id            uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
    token_scopes               text[] NOT NULL DEFAULT '{}', -- that API tokens can have; empty: all
    max_token_lifetime_seconds bigint NOT NULL DEFAULT 0 CHECK (max_token_lifetime_seconds >= 0), -- 0: the limit of the deployment
    external_auth_restricted   boolean NOT NULL DEFAULT false, -- members can link the providers in external_auth only
    external_auth              jsonb NOT NULL DEFAULT '[]', -- providers, each with the groups whose members can link it; none: all members
    updated_at                 timestamptz NOT NULL
);
