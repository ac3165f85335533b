-- name: APIKeyWithUser :one
-- Everything that one request needs to know about its token: one round trip.
SELECT sqlc.embed(k), sqlc.embed(s) FROM api_keys k JOIN user_subjects s ON s.id = k.user_id WHERE k.id = $1;

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
SELECT * FROM api_keys
WHERE login_type = 'token' AND (@see_all::boolean OR user_id = @user_id)
    AND (@include_expired::boolean OR expires_at > @now)
    AND (sqlc.narg(see_id)::uuid IS NULL OR user_id = sqlc.narg(see_id))
ORDER BY created_at DESC, id
LIMIT @row_limit OFFSET @row_offset;

-- name: DeleteAPIKey :execrows
DELETE FROM api_keys WHERE id = $1 AND user_id = $2;

-- name: ExpireAPIKey :execrows
UPDATE api_keys SET expires_at = least(expires_at, @now), updated_at = @now WHERE id = @id AND user_id = @user_id;

-- name: DeleteAPIKeysOfUser :exec
DELETE FROM api_keys WHERE user_id = $1;

-- name: Sessions :many
-- The sessions of a user that have not ended, the one used last first.
SELECT * FROM api_keys
WHERE user_id = @user_id AND login_type <> 'token' AND token_name = '' AND expires_at > @now::timestamptz
ORDER BY last_used_at DESC, id
LIMIT @row_limit OFFSET @row_offset;

-- name: DeleteOtherSessions :exec
-- Ends the sessions of a user, but not the API tokens and not the given key.
DELETE FROM api_keys WHERE user_id = $1 AND login_type <> 'token' AND token_name = '' AND id <> $2;

-- name: DeleteNamedKey :exec
DELETE FROM api_keys WHERE user_id = $1 AND token_name = $2 AND login_type <> 'token';

-- name: DeleteExpiredAPIKeys :execrows
DELETE FROM api_keys WHERE expires_at < @before;
