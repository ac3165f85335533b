-- +goose Up

-- Named values that a user keeps, and that the user's workspaces get as environment
-- variables or files. Values are always sealed by dbcrypt: servers without keys refuse
-- to store them.
CREATE TABLE user_secrets (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name         text NOT NULL,
    description  text NOT NULL DEFAULT '',
    env_name     text NOT NULL DEFAULT '', -- variable with the value; '': none
    file_path    text NOT NULL DEFAULT '', -- file with the value; '': none
    enabled      boolean NOT NULL,
    value        text NOT NULL,
    value_key_id text NOT NULL DEFAULT '',
    value_bytes  integer NOT NULL,         -- size of the value in clear, for limits
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX user_secrets_name ON user_secrets (user_id, name);
CREATE UNIQUE INDEX user_secrets_env_name ON user_secrets (user_id, env_name) WHERE env_name <> '';
CREATE UNIQUE INDEX user_secrets_file_path ON user_secrets (user_id, file_path) WHERE file_path <> '';

-- Workspaces of such a template get no user secrets.
ALTER TABLE templates ADD COLUMN disable_user_secrets boolean NOT NULL DEFAULT false;
