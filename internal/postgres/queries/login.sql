-- Users of identity providers, and attempts to sign in.

-- name: LinkBySubject :one
-- The account of an existing user.
SELECT l.* FROM user_links l JOIN users u ON u.id = l.user_id AND u.deleted_at IS NULL
WHERE l.login_type = $1 AND l.issuer = $2 AND l.subject = $3;

-- name: LinkOfUser :one
SELECT * FROM user_links WHERE user_id = $1 AND login_type = $2;

-- name: LinkOfUserForUpdate :one
SELECT * FROM user_links WHERE user_id = $1 AND login_type = $2 FOR UPDATE;

-- name: LinkFree :exec
-- Unlinks an account from a deleted user.
DELETE FROM user_links l USING users u
WHERE l.login_type = $1 AND l.issuer = $2 AND l.subject = $3 AND u.id = l.user_id AND u.deleted_at IS NOT NULL;

-- name: LinkPut :exec
INSERT INTO user_links (user_id, login_type, issuer, subject, access_token, access_token_key_id, refresh_token, refresh_token_key_id, token_expires_at, claims, created_at, updated_at)
VALUES (@user_id, @login_type, @issuer, @subject, @access_token, @access_token_key_id, @refresh_token, @refresh_token_key_id, @token_expires_at, @claims, @now, @now)
ON CONFLICT (user_id, login_type) DO UPDATE SET issuer = excluded.issuer, subject = excluded.subject, access_token = excluded.access_token,
    access_token_key_id = excluded.access_token_key_id,
    refresh_token_key_id = CASE WHEN excluded.refresh_token = '' AND user_links.subject = excluded.subject AND user_links.issuer = excluded.issuer
        THEN user_links.refresh_token_key_id ELSE excluded.refresh_token_key_id END,
    refresh_token = CASE WHEN excluded.refresh_token = '' AND user_links.subject = excluded.subject AND user_links.issuer = excluded.issuer
        THEN user_links.refresh_token ELSE excluded.refresh_token END,
    token_expires_at = excluded.token_expires_at, claims = excluded.claims, unreachable_since = NULL, updated_at = excluded.updated_at;

-- name: LinkTokens :exec
-- Stores the tokens of a refresh.
UPDATE user_links SET access_token = @access_token, access_token_key_id = @access_token_key_id,
    refresh_token = @refresh_token, refresh_token_key_id = @refresh_token_key_id, token_expires_at = @token_expires_at,
    unreachable_since = NULL, updated_at = @now
WHERE user_id = @user_id AND login_type = @login_type;

-- name: LinkUnreachable :one
-- Records that the provider cannot be reached, and returns since when.
UPDATE user_links SET unreachable_since = coalesce(unreachable_since, @now::timestamptz)
WHERE user_id = @user_id AND login_type = @login_type RETURNING unreachable_since;

-- name: SessionsCheckAt :exec
-- Sets the time of the next check of a user's sessions with the provider; null means
-- never.
UPDATE api_keys SET provider_check_at = sqlc.narg(check_at)::timestamptz
WHERE user_id = @user_id AND login_type = @login_type AND provider_check_at IS DISTINCT FROM sqlc.narg(check_at)::timestamptz;

-- name: SessionsEnd :execrows
-- Deletes the sessions of a user with one login type.
DELETE FROM api_keys WHERE user_id = $1 AND login_type = $2;

-- name: UserFromProvider :one
-- The claims of a user.
UPDATE users SET email = @email, name = @name, avatar_url = @avatar_url, updated_at = @now
WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: EmailTaken :one
SELECT EXISTS (SELECT 1 FROM users WHERE lower(email) = lower(@email) AND email <> '' AND deleted_at IS NULL AND id <> @except_id);

-- name: SyncSetting :one
SELECT value FROM idp_sync_settings WHERE organization_id = $1 AND kind = $2;

-- name: SyncSettingForUpdate :one
SELECT value FROM idp_sync_settings WHERE organization_id = $1 AND kind = $2 FOR UPDATE;

-- name: SyncSettings :many
-- The sync settings of some organizations.
SELECT * FROM idp_sync_settings WHERE organization_id = ANY (@organization_ids::uuid[]);

-- name: SyncPutSetting :exec
INSERT INTO idp_sync_settings (organization_id, kind, value, updated_at) VALUES (@organization_id, @kind, @value, @now)
ON CONFLICT (organization_id, kind) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: ClaimFields :many
-- The names of the claims that providers sent, of all users or of an organization's
-- members.
SELECT DISTINCT f.key::text AS field
FROM user_links l JOIN users u ON u.id = l.user_id AND u.deleted_at IS NULL, LATERAL jsonb_object_keys(l.claims) AS f(key)
WHERE l.login_type = 'oidc' AND (@organization_id::uuid = '00000000-0000-0000-0000-000000000000'
    OR EXISTS (SELECT 1 FROM organization_members m WHERE m.organization_id = @organization_id AND m.user_id = l.user_id))
ORDER BY 1 LIMIT 1000;

-- name: ClaimValues :many
-- The distinct values of a claim; for lists, their entries.
SELECT DISTINCT v.value::text AS value
FROM user_links l JOIN users u ON u.id = l.user_id AND u.deleted_at IS NULL,
    LATERAL jsonb_array_elements_text(CASE jsonb_typeof(l.claims -> @field::text) WHEN 'array' THEN l.claims -> @field::text
        WHEN 'string' THEN jsonb_build_array(l.claims -> @field::text) ELSE '[]' END) AS v(value)
WHERE l.login_type = 'oidc' AND (@organization_id::uuid = '00000000-0000-0000-0000-000000000000'
    OR EXISTS (SELECT 1 FROM organization_members m WHERE m.organization_id = @organization_id AND m.user_id = l.user_id))
ORDER BY 1 LIMIT 1000;

-- name: SyncGroups :many
-- The groups of an organization except that of all members, and whether the user is in them.
SELECT g.id, g.name, EXISTS (SELECT 1 FROM group_members m WHERE m.group_id = g.id AND m.user_id = @user_id) AS is_member
FROM groups g WHERE g.organization_id = @organization_id AND g.id <> g.organization_id
ORDER BY lower(g.name);

-- name: LoginAttempt :one
-- Counts an attempt if the limit allows it. Attempts are consecutive intervals that start
-- now, and end at at_most at the latest. Returns the milliseconds until the next attempt is
-- allowed; 0 means that this attempt was counted.
WITH spent AS (
    INSERT INTO login_attempts AS a (key, full_until) VALUES (sqlc.arg(key)::bytea, sqlc.arg(until)::timestamptz)
    ON CONFLICT (key) DO UPDATE SET full_until = greatest(a.full_until, sqlc.arg(now)::timestamptz) + (sqlc.arg(until)::timestamptz - sqlc.arg(now)::timestamptz)
    WHERE greatest(a.full_until, sqlc.arg(now)::timestamptz) + (sqlc.arg(until)::timestamptz - sqlc.arg(now)::timestamptz) <= sqlc.arg(at_most)::timestamptz
    RETURNING 1
)
SELECT (CASE WHEN EXISTS (SELECT 1 FROM spent) THEN 0 ELSE
    greatest(1, coalesce((SELECT 1000 * extract(epoch FROM l.full_until + (sqlc.arg(until)::timestamptz - sqlc.arg(now)::timestamptz) - sqlc.arg(at_most)::timestamptz)
        FROM login_attempts l WHERE l.key = sqlc.arg(key)::bytea), 1))
END)::bigint AS wait_ms;

-- name: LoginAttemptWait :one
-- Returns the milliseconds until the next attempt is allowed; 0 means now.
SELECT greatest(0, coalesce((SELECT ceil(1000 * extract(epoch FROM greatest(l.full_until, sqlc.arg(now)::timestamptz) + (sqlc.arg(until)::timestamptz - sqlc.arg(now)::timestamptz) - sqlc.arg(at_most)::timestamptz))
    FROM login_attempts l WHERE l.key = sqlc.arg(key)::bytea), 0))::bigint AS wait_ms;

-- name: LoginAttemptsForget :exec
DELETE FROM login_attempts WHERE key = $1;

-- name: LoginAttemptsPurge :execrows
-- Deletes attempts that no longer count.
DELETE FROM login_attempts WHERE full_until < $1;

-- name: SessionsClaimCheck :execrows
-- Claims the check of a user's sessions with the provider, unless another caller has
-- claimed or done it.
UPDATE api_keys SET provider_check_at = @until
WHERE user_id = @user_id AND login_type = @login_type AND provider_check_at <= @now::timestamptz;

-- name: PasscodePut :exec
INSERT INTO one_time_passcodes (user_id, passcode_hash, expires_at) VALUES ($1, $2, $3)
ON CONFLICT (user_id) DO UPDATE SET passcode_hash = excluded.passcode_hash, expires_at = excluded.expires_at;

-- name: PasscodeTake :execrows
-- Consumes a passcode if it is right and has not expired.
DELETE FROM one_time_passcodes WHERE user_id = @user_id AND passcode_hash = @passcode_hash AND expires_at > @now;

-- name: PasscodesForget :execrows
DELETE FROM one_time_passcodes WHERE expires_at <= $1;
