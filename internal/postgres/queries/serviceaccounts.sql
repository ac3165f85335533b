-- Service accounts: owner, expiry and scopes.

-- name: ServiceAccount :one
SELECT sqlc.embed(s), coalesce(o.username, '')::text AS owner_username, coalesce(o.status, '')::text AS owner_status
FROM service_accounts s LEFT JOIN users o ON o.id = s.owner_id AND o.deleted_at IS NULL
WHERE s.user_id = $1;

-- name: ServiceAccountForUpdate :one
SELECT * FROM service_accounts WHERE user_id = $1 FOR UPDATE;

-- name: ServiceAccountPut :exec
INSERT INTO service_accounts (user_id, owner_id, expires_at, scopes, created_at, updated_at)
VALUES (@user_id, @owner_id, @expires_at, @scopes, @now, @now)
ON CONFLICT (user_id) DO UPDATE SET owner_id = excluded.owner_id, expires_at = excluded.expires_at, scopes = excluded.scopes,
    updated_at = excluded.updated_at;

-- name: ServiceAccountTokens :many
-- The tokens of an account that have not expired.
SELECT id, scopes FROM api_keys WHERE user_id = @user_id AND login_type = 'token' AND expires_at > @now::timestamptz;

-- name: ServiceAccountEndTokens :exec
-- Ends tokens that would be valid after a time.
UPDATE api_keys SET expires_at = @until::timestamptz WHERE user_id = @user_id AND expires_at > @until;

-- name: ServiceAccountRevoke :exec
DELETE FROM api_keys WHERE user_id = @user_id AND id = ANY (@ids::text[]);

-- name: ServiceAccountsExpired :many
-- Accounts whose time is over and that are not suspended yet.
SELECT s.user_id FROM service_accounts s JOIN users u ON u.id = s.user_id AND u.deleted_at IS NULL AND u.status <> 'suspended'
WHERE s.expires_at <= @now::timestamptz
ORDER BY s.expires_at LIMIT 100;
