-- +goose Up

-- Applications that users can let act for them with OAuth2.
CREATE TABLE oauth2_apps (
    id                uuid PRIMARY KEY,
    name              text NOT NULL,
    icon              text NOT NULL DEFAULT '',
    redirect_uris     text[] NOT NULL,
    scope             text NOT NULL DEFAULT '', -- scopes that the application can request, separated by spaces; '': all
    auth_method       text NOT NULL DEFAULT 'client_secret_basic'
        CHECK (auth_method IN ('client_secret_basic', 'client_secret_post', 'none')),
    created_by        uuid REFERENCES users ON DELETE SET NULL, -- NULL: the application registered itself
    registration_hash bytea, -- SHA-256 of the registration access token (RFC 7592); NULL: an administrator manages the application
    metadata          jsonb NOT NULL DEFAULT '{}', -- other client metadata of RFC 7591
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    last_used_at      timestamptz -- when a user last signed in to the application
);
-- Applications that registered themselves can share a name.
CREATE UNIQUE INDEX oauth2_apps_name ON oauth2_apps (lower(name)) WHERE registration_hash IS NULL;

-- Client secrets. The identifying part finds the row; the rest is hashed.
CREATE TABLE oauth2_app_secrets (
    id           uuid PRIMARY KEY,
    app_id       uuid NOT NULL REFERENCES oauth2_apps ON DELETE CASCADE,
    prefix       text NOT NULL UNIQUE,
    secret_hash  bytea NOT NULL CHECK (length(secret_hash) = 32),
    display      text NOT NULL, -- the last characters, to recognize the secret
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE INDEX oauth2_app_secrets_app ON oauth2_app_secrets (app_id);

-- Consents of users. A consent starts with an authorization code, which is exchanged for tokens once.
-- Deleting a consent deletes all tokens that were issued for it.
CREATE TABLE oauth2_grants (
    id                 uuid PRIMARY KEY,
    app_id             uuid NOT NULL REFERENCES oauth2_apps ON DELETE CASCADE,
    user_id            uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    secret_id          uuid REFERENCES oauth2_app_secrets ON DELETE CASCADE, -- the secret that last got tokens
    scopes             text[] NOT NULL,
    resource           text NOT NULL DEFAULT '', -- URL that the tokens are for (RFC 8707); '': the whole API
    code_hash          bytea NOT NULL UNIQUE CHECK (length(code_hash) = 32),
    code_expires_at    timestamptz NOT NULL,
    code_challenge     text NOT NULL DEFAULT '', -- PKCE, S256
    redirect_uri       text NOT NULL,
    redirect_given     boolean NOT NULL, -- the authorization request named the redirect URI
    exchanged_at       timestamptz,
    refresh_hash       bytea UNIQUE CHECK (length(refresh_hash) = 32),
    refresh_expires_at timestamptz,
    created_at         timestamptz NOT NULL,
    last_used_at       timestamptz NOT NULL -- when tokens were last issued
);
CREATE INDEX oauth2_grants_user ON oauth2_grants (user_id, app_id);
CREATE INDEX oauth2_grants_app ON oauth2_grants (app_id);
CREATE INDEX oauth2_grants_secret ON oauth2_grants (secret_id) WHERE secret_id IS NOT NULL;

-- Refresh tokens that were exchanged for the next one. Use of such a token ends the consent.
CREATE TABLE oauth2_spent_tokens (
    token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
    grant_id   uuid NOT NULL REFERENCES oauth2_grants ON DELETE CASCADE,
    spent_at   timestamptz NOT NULL
);
CREATE INDEX oauth2_spent_tokens_grant ON oauth2_spent_tokens (grant_id);
CREATE INDEX oauth2_spent_tokens_time ON oauth2_spent_tokens (spent_at);

-- Access tokens are keys of the user.
ALTER TABLE api_keys ADD COLUMN oauth2_grant_id uuid REFERENCES oauth2_grants ON DELETE CASCADE;
ALTER TABLE api_keys ADD COLUMN audience text NOT NULL DEFAULT ''; -- path of the API that the key is limited to; '': none
CREATE INDEX api_keys_oauth2_grant ON api_keys (oauth2_grant_id) WHERE oauth2_grant_id IS NOT NULL;
