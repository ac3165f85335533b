-- name: OperatorInsert :exec
INSERT INTO users (id, email, username, name, avatar_url, password_hash, login_type, status, roles,
    ssh_public_key, ssh_private_key, ssh_key_updated_at, created_at, updated_at, is_system)
VALUES (@id, @email, @username, @name, '', '', 'none', 'active', ARRAY['owner'], '', '', @now::timestamptz, @now, @now, true)
ON CONFLICT DO NOTHING;

-- name: OperatorPutKey :execrows
INSERT INTO api_keys (id, secret_hash, user_id, login_type, token_name, scopes, allow_list, lifetime_seconds, ip_address, user_agent,
    created_at, updated_at, last_used_at, expires_at)
SELECT @id, @secret_hash, u.id, 'token', 'operator', @scopes, ARRAY['*:*'], @lifetime_seconds, NULL, '',
    @now::timestamptz, @now, @now, @expires_at
FROM users u WHERE lower(u.username) = lower(@username) AND u.is_system AND u.deleted_at IS NULL
ON CONFLICT (id) DO UPDATE SET secret_hash = excluded.secret_hash, expires_at = excluded.expires_at, updated_at = excluded.updated_at
WHERE api_keys.user_id = excluded.user_id;

-- name: OperatorDropKeys :exec
-- The keys that another token has replaced.
DELETE FROM api_keys k USING users u
WHERE k.user_id = u.id AND lower(u.username) = lower(@username) AND u.is_system AND k.id <> @keep;
