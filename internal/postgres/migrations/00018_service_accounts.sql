-- +goose Up

-- Accounts of programs: without email and password, used by tokens only.
ALTER TABLE users ADD COLUMN is_service_account boolean NOT NULL DEFAULT false;
DROP INDEX users_email;
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE deleted_at IS NULL AND email <> '';
CREATE INDEX users_service_accounts ON users (id) WHERE is_service_account;

CREATE TABLE service_accounts (
    user_id    uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    owner_id   uuid REFERENCES users, -- the user who is responsible; NULL: none
    expires_at timestamptz, -- no token is valid later; NULL: never
    scopes     text[] NOT NULL DEFAULT '{}', -- that its tokens can have; empty: all
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX service_accounts_owner ON service_accounts (owner_id);
CREATE INDEX service_accounts_expires_at ON service_accounts (expires_at) WHERE expires_at IS NOT NULL;

-- Service accounts are not counted among users.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION user_status_changed() RETURNS trigger LANGUAGE plpgsql AS '
DECLARE before text; after text;
BEGIN
    IF TG_OP = ''UPDATE'' AND OLD.deleted_at IS NULL THEN
        before := OLD.status;
    END IF;
    IF NEW.deleted_at IS NULL THEN
        after := NEW.status;
    END IF;
    IF before IS DISTINCT FROM after AND NOT NEW.is_system AND NOT NEW.is_service_account THEN
        INSERT INTO user_status_changes (user_id, old_status, new_status) VALUES (NEW.id, before, after);
    END IF;
    RETURN NEW;
END';
-- +goose StatementEnd
