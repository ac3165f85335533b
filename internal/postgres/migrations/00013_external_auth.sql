-- +goose Up

-- Accounts at external providers that users linked, with the tokens of the link.
-- The tokens are sealed by dbcrypt if the deployment has keys.
CREATE TABLE external_auth_links (
    user_id              uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    provider_id          text NOT NULL,
    access_token         text NOT NULL,
    access_token_key_id  text NOT NULL DEFAULT '',
    refresh_token        text NOT NULL DEFAULT '', -- '': the provider gave none
    refresh_token_key_id text NOT NULL DEFAULT '',
    extra                text NOT NULL DEFAULT '', -- other fields of the token response, a JSON object
    extra_key_id         text NOT NULL DEFAULT '',
    generation           bigint NOT NULL DEFAULT 1, -- changes with the tokens; results for another generation are dropped
    issued_at            timestamptz NOT NULL,
    expires_at           timestamptz,              -- of the access token; NULL: it does not expire
    validated_at         timestamptz,              -- when the provider last accepted the access token
    refused              text NOT NULL DEFAULT '', -- why the provider no longer accepts the link; '': it does
    -- The lease of the replica that refreshes the tokens. After a failure, the time of the next attempt.
    refreshing_until     timestamptz,
    refresh_error        text NOT NULL DEFAULT '',
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    PRIMARY KEY (user_id, provider_id)
);
