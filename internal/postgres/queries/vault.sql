-- What is encrypted in the database, and with which keys.

-- name: VaultKeys :many
-- The keys that are needed, held until the transaction ends: none is added
-- or taken away meanwhile.
SELECT * FROM dbcrypt_keys WHERE revoked_at IS NULL ORDER BY created_at, digest FOR UPDATE;

-- name: VaultRegister :exec
INSERT INTO dbcrypt_keys (digest, test) VALUES (@digest, @test)
ON CONFLICT (digest) DO UPDATE SET test = excluded.test, revoked_at = NULL WHERE dbcrypt_keys.revoked_at IS NOT NULL;

-- name: VaultRevoke :exec
-- All keys but one are needed no more.
UPDATE dbcrypt_keys SET revoked_at = now() WHERE revoked_at IS NULL AND digest <> @but::text;

-- name: VaultLinks :many
SELECT * FROM user_links WHERE access_token <> '' OR refresh_token <> '' ORDER BY user_id, login_type FOR UPDATE;

-- name: VaultSetTokens :exec
UPDATE user_links SET access_token = @access_token, access_token_key_id = @access_token_key_id,
    refresh_token = @refresh_token, refresh_token_key_id = @refresh_token_key_id
WHERE user_id = @user_id AND login_type = @login_type;

-- name: VaultSigningKeys :many
SELECT * FROM crypto_keys ORDER BY feature, sequence FOR UPDATE;

-- name: VaultSetKey :exec
UPDATE crypto_keys SET secret = @secret, secret_key_id = @secret_key_id WHERE feature = @feature AND sequence = @sequence;

-- name: VaultDropTokens :execrows
UPDATE user_links SET access_token = '', access_token_key_id = '', refresh_token = '', refresh_token_key_id = ''
WHERE access_token_key_id <> '' OR refresh_token_key_id <> '';

-- name: VaultDropKeys :execrows
DELETE FROM crypto_keys WHERE secret_key_id <> '';
