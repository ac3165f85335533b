-- Secrets of users, which their workspaces get.

-- name: UserSecretsOfUser :many
SELECT * FROM user_secrets WHERE user_id = @user_id ORDER BY name;

-- name: UserSecretByName :one
SELECT * FROM user_secrets WHERE user_id = @user_id AND name = @name;

-- name: UserSecretsLock :one
-- Locks a user, so that of concurrent changes each sees the sizes that the other stored.
SELECT id FROM users WHERE id = @id FOR NO KEY UPDATE;

-- name: UserSecretInsert :exec
INSERT INTO user_secrets (id, user_id, name, description, env_name, file_path, enabled, value, value_key_id, value_bytes, created_at, updated_at)
VALUES (@id, @user_id, @name, @description, @env_name, @file_path, @enabled, @value, @value_key_id, @value_bytes, @now, @now);

-- name: UserSecretUpdate :exec
UPDATE user_secrets SET description = @description, env_name = @env_name, file_path = @file_path, enabled = @enabled,
    value = @value, value_key_id = @value_key_id, value_bytes = @value_bytes, updated_at = @updated_at
WHERE id = @id;

-- name: UserSecretDelete :one
DELETE FROM user_secrets WHERE user_id = @user_id AND name = @name RETURNING *;

-- name: UserSecretsDeleteOfUser :exec
DELETE FROM user_secrets WHERE user_id = $1;

-- name: UserSecretsForWorkspaces :many
-- The enabled secrets of a user, none for a template that disables them.
SELECT s.* FROM user_secrets s
WHERE s.user_id = @user_id AND s.enabled
    AND NOT EXISTS (SELECT 1 FROM templates t WHERE t.id = @template_id AND t.disable_user_secrets)
ORDER BY s.name;

-- name: UserSecretsSealed :many
-- Secrets whose key is not @digest, with @plain only those in clear, as in dbcrypt.sql.
SELECT id, value, value_key_id FROM user_secrets
WHERE id > @after AND value_key_id <> @digest::text AND (NOT @plain::boolean OR value_key_id = '')
ORDER BY id LIMIT 100 FOR UPDATE;

-- name: UserSecretReseal :exec
UPDATE user_secrets SET value = @value, value_key_id = @value_key_id WHERE id = @id;

-- name: UserSecretsDropSealed :execrows
DELETE FROM user_secrets WHERE value_key_id <> '';
