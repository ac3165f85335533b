-- name: OAuth2Apps :many
-- A page of the applications, by name; with a user, those that act for the user.
SELECT a.* FROM oauth2_apps a
WHERE sqlc.narg(user_id)::uuid IS NULL
    OR EXISTS (SELECT 1 FROM oauth2_grants g WHERE g.app_id = a.id AND g.user_id = sqlc.narg(user_id) AND g.exchanged_at IS NOT NULL)
ORDER BY lower(a.name), a.id
LIMIT @row_limit OFFSET @row_offset;

-- name: OAuth2App :one
SELECT * FROM oauth2_apps WHERE id = $1;

-- name: OAuth2AppForUpdate :one
SELECT * FROM oauth2_apps WHERE id = $1 FOR UPDATE;

-- name: OAuth2InsertApp :one
INSERT INTO oauth2_apps (id, name, icon, redirect_uris, scope, auth_method, created_by, registration_hash, metadata, created_at, updated_at)
VALUES (@id, @name, @icon, @redirect_uris, @scope, @auth_method, @created_by, @registration_hash, @metadata, @now, @now)
RETURNING *;

-- name: OAuth2UpdateApp :one
UPDATE oauth2_apps SET name = @name, icon = @icon, redirect_uris = @redirect_uris, scope = @scope, auth_method = @auth_method,
    metadata = @metadata, updated_at = @now
WHERE id = @id
RETURNING *;

-- name: OAuth2DeleteApp :execrows
DELETE FROM oauth2_apps WHERE id = $1;

-- name: OAuth2UsersOfApp :many
-- The users that an application acts for.
SELECT DISTINCT user_id FROM oauth2_grants WHERE app_id = $1;

-- name: OAuth2UsersOfSecret :many
SELECT DISTINCT user_id FROM oauth2_grants WHERE secret_id = $1;

-- name: OAuth2CountRegistered :one
-- The number of applications that registered themselves.
SELECT count(*) FROM oauth2_apps WHERE registration_hash IS NOT NULL;

-- name: OAuth2Secrets :many
SELECT * FROM oauth2_app_secrets WHERE app_id = $1 ORDER BY created_at, id LIMIT 100;

-- name: OAuth2SecretByPrefix :one
SELECT * FROM oauth2_app_secrets WHERE prefix = $1 AND app_id = $2;

-- name: OAuth2InsertSecret :exec
INSERT INTO oauth2_app_secrets (id, app_id, prefix, secret_hash, display, created_at)
VALUES (@id, @app_id, @prefix, @secret_hash, @display, @now);

-- name: OAuth2TouchSecret :exec
UPDATE oauth2_app_secrets SET last_used_at = @now::timestamptz WHERE id = @id;

-- name: OAuth2DeleteSecret :execrows
DELETE FROM oauth2_app_secrets WHERE id = $1 AND app_id = $2;

-- name: OAuth2InsertGrant :exec
INSERT INTO oauth2_grants (id, app_id, user_id, scopes, resource, code_hash, code_expires_at, code_challenge, redirect_uri, redirect_given,
    created_at, last_used_at)
VALUES (@id, @app_id, @user_id, @scopes, @resource, @code_hash, @code_expires_at, @code_challenge, @redirect_uri, @redirect_given, @now, @now);

-- name: OAuth2GrantByCode :one
-- Locks the consent, so that of concurrent exchanges of a code one succeeds.
SELECT * FROM oauth2_grants WHERE code_hash = $1 FOR UPDATE;

-- name: OAuth2GrantByRefresh :one
-- Locks the consent of a refresh token, the current one or a spent one.
SELECT * FROM oauth2_grants
WHERE id = (SELECT g.id FROM oauth2_grants g WHERE g.refresh_hash = @token_hash::bytea
    UNION ALL SELECT s.grant_id FROM oauth2_spent_tokens s WHERE s.token_hash = @token_hash::bytea LIMIT 1)
FOR UPDATE;

-- name: OAuth2GrantByKey :one
SELECT sqlc.embed(g), sqlc.embed(k) FROM api_keys k JOIN oauth2_grants g ON g.id = k.oauth2_grant_id WHERE k.id = $1;

-- name: OAuth2IssueTokens :exec
-- Records the refresh token of a consent, and which secret got it.
UPDATE oauth2_grants SET exchanged_at = coalesce(exchanged_at, @now::timestamptz), refresh_hash = @refresh_hash,
    refresh_expires_at = @refresh_expires_at, secret_id = @secret_id, last_used_at = @now::timestamptz
WHERE id = @id;

-- name: OAuth2TouchApp :exec
UPDATE oauth2_apps SET last_used_at = @now::timestamptz WHERE id = @id;

-- name: OAuth2SpendToken :exec
INSERT INTO oauth2_spent_tokens (token_hash, grant_id, spent_at) VALUES (@token_hash, @grant_id, @now);

-- name: OAuth2InsertKey :one
INSERT INTO api_keys (id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, user_agent,
    created_at, updated_at, last_used_at, expires_at, oauth2_grant_id, audience)
VALUES (@id, @secret_hash, @user_id, 'password', @token_name, @scopes, '{*:*}', @lifetime_seconds, @ip_address, @user_agent,
    @now, @now, @now, @expires_at, @oauth2_grant_id, @audience)
RETURNING *;

-- name: OAuth2DeleteGrant :execrows
DELETE FROM oauth2_grants WHERE id = $1;

-- name: OAuth2DeleteGrantsOfUser :execrows
DELETE FROM oauth2_grants WHERE user_id = $1 AND app_id = $2;

-- name: OAuth2DeleteKey :execrows
DELETE FROM api_keys WHERE id = $1 AND oauth2_grant_id IS NOT NULL;

-- name: OAuth2Grants :many
-- A page of the applications that act for a user, with what they can do.
SELECT sqlc.embed(g), sqlc.embed(a) FROM oauth2_grants g JOIN oauth2_apps a ON a.id = g.app_id
WHERE g.user_id = @user_id AND g.exchanged_at IS NOT NULL AND g.refresh_expires_at > @now::timestamptz
ORDER BY lower(a.name), g.created_at, g.id
LIMIT @row_limit OFFSET @row_offset;

-- name: OAuth2PurgeGrants :execrows
-- Deletes a batch of consents whose code or refresh token has expired.
DELETE FROM oauth2_grants WHERE id = ANY (ARRAY(SELECT g.id FROM oauth2_grants g
    WHERE coalesce(g.refresh_expires_at, g.code_expires_at) < @before::timestamptz LIMIT 1000));

-- name: OAuth2PurgeSpent :execrows
DELETE FROM oauth2_spent_tokens WHERE token_hash = ANY (ARRAY(SELECT s.token_hash FROM oauth2_spent_tokens s
    WHERE s.spent_at < @before ORDER BY s.spent_at LIMIT 1000));

-- name: OAuth2PurgeUnused :execrows
-- Deletes a batch of applications that registered themselves and that no user ever signed in to.
DELETE FROM oauth2_apps WHERE id = ANY (ARRAY(SELECT a.id FROM oauth2_apps a
    WHERE a.registration_hash IS NOT NULL AND a.last_used_at IS NULL AND a.created_at < @before
        AND NOT EXISTS (SELECT 1 FROM oauth2_grants g WHERE g.app_id = a.id) LIMIT 1000));
