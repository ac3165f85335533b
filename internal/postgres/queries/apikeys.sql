-- name: APIKeyWithUser :one
-- Reads everything that a request needs about its token in one round trip. ruled tokens are subject to rules of
-- organizations, which few deployments have.
SELECT sqlc.embed(k), sqlc.embed(s), ((k.login_type = 'token' OR k.oauth2_grant_id IS NOT NULL) AND EXISTS (
    SELECT FROM organization_members m JOIN organization_rules r ON r.organization_id = m.organization_id
    WHERE m.user_id = k.user_id AND (r.token_scopes <> '{}' OR r.max_token_lifetime_seconds > 0)))::boolean AS ruled
FROM api_keys k JOIN user_subjects s ON s.id = k.user_id WHERE k.id = $1;

-- name: InsertAPIKey :one
INSERT INTO api_keys (id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, user_agent,
    created_at, updated_at, last_used_at, expires_at)
VALUES (@id, @secret_hash, @user_id, @login_type, @token_name, @scopes, @allow_list, @lifetime_seconds, @ip_address, @user_agent,
    @now, @now, @now, @expires_at)
RETURNING *;

-- name: TouchAPIKey :exec
UPDATE api_keys SET last_used_at = @now, expires_at = @expires_at, ip_address = @ip_address, updated_at = @now WHERE id = @id;

-- name: APIKeyOfUser :one
SELECT * FROM api_keys WHERE id = $1 AND user_id = $2;

-- name: TokenByName :one
SELECT * FROM api_keys WHERE user_id = $1 AND token_name = $2 AND login_type = 'token';

-- name: Tokens :many
SELECT sqlc.embed(k), u.username FROM api_keys k JOIN users u ON u.id = k.user_id
WHERE k.login_type = 'token' AND (@see_all::boolean OR k.user_id = @user_id)
    AND (@include_expired::boolean OR k.expires_at > @now)
    AND (sqlc.narg(see_id)::uuid IS NULL OR k.user_id = sqlc.narg(see_id))
ORDER BY k.created_at DESC, k.id
LIMIT @row_limit OFFSET @row_offset;

-- name: DeleteAPIKey :execrows
DELETE FROM api_keys WHERE id = $1 AND user_id = $2;

-- name: ExpireAPIKey :execrows
UPDATE api_keys SET expires_at = least(expires_at, @now), updated_at = @now WHERE id = @id AND user_id = @user_id;

-- name: DeleteAPIKeysOfUser :exec
-- Deletes the keys of a user, and the consents for which applications would get more.
WITH consents AS (DELETE FROM oauth2_grants g WHERE g.user_id = $1)
DELETE FROM api_keys k WHERE k.user_id = $1;

-- name: Sessions :many
-- The valid sessions of a user, the most recently used first.
SELECT * FROM api_keys
WHERE user_id = @user_id AND login_type <> 'token' AND token_name = '' AND expires_at > @now::timestamptz
ORDER BY last_used_at DESC, id
LIMIT @row_limit OFFSET @row_offset;

-- name: DeleteOtherSessions :exec
-- Deletes the sessions of a user, except API tokens and the given key.
DELETE FROM api_keys WHERE user_id = $1 AND login_type <> 'token' AND token_name = '' AND id <> $2;

-- name: DeleteNamedKey :exec
DELETE FROM api_keys WHERE user_id = $1 AND token_name = $2 AND login_type <> 'token';

-- name: DeleteExpiredToken :exec
-- Deletes a user's expired token, so that a new one can have its name.
DELETE FROM api_keys WHERE user_id = @user_id AND token_name = @token_name AND login_type = 'token' AND expires_at <= @now::timestamptz;

-- name: DeleteExpiredAPIKeys :execrows
-- Deletes a batch of tokens that expired before a time.
DELETE FROM api_keys WHERE id = ANY (ARRAY(SELECT k.id FROM api_keys k WHERE k.expires_at < @before ORDER BY k.expires_at LIMIT 1000));
