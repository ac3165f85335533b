-- Links of users to external providers.

-- name: ExternalAuthLink :one
SELECT * FROM external_auth_links WHERE user_id = $1 AND provider_id = $2;

-- name: ExternalAuthLinks :many
SELECT * FROM external_auth_links WHERE user_id = $1 ORDER BY provider_id;

-- name: ExternalAuthLinked :many
-- The providers among those given to which a user has a link that the provider accepts.
SELECT provider_id FROM external_auth_links
WHERE user_id = @user_id AND provider_id = ANY (@provider_ids::text[]) AND refused = '';

-- name: ExternalAuthPut :exec
-- Stores the tokens with which a user links an account, in place of those of an earlier link.
INSERT INTO external_auth_links (user_id, provider_id, access_token, access_token_key_id, refresh_token, refresh_token_key_id,
    extra, extra_key_id, issued_at, expires_at, validated_at, created_at, updated_at)
VALUES (@user_id, @provider_id, @access_token, @access_token_key_id, @refresh_token, @refresh_token_key_id,
    @extra, @extra_key_id, @now, @expires_at, @validated_at, @now, @now)
ON CONFLICT (user_id, provider_id) DO UPDATE SET access_token = excluded.access_token, access_token_key_id = excluded.access_token_key_id,
    refresh_token = excluded.refresh_token, refresh_token_key_id = excluded.refresh_token_key_id,
    extra = excluded.extra, extra_key_id = excluded.extra_key_id, generation = external_auth_links.generation + 1,
    issued_at = excluded.issued_at, expires_at = excluded.expires_at, validated_at = excluded.validated_at, refused = '',
    refreshing_until = NULL, refresh_error = '', updated_at = excluded.updated_at;

-- name: ExternalAuthClaimRefresh :execrows
-- Claims the refresh of a generation of tokens. Of all callers on all replicas one gets it.
UPDATE external_auth_links SET refreshing_until = @until, refresh_error = ''
WHERE user_id = @user_id AND provider_id = @provider_id AND generation = @generation AND refused = ''
    AND (refreshing_until IS NULL OR refreshing_until <= @now::timestamptz);

-- name: ExternalAuthRefreshed :execrows
-- Stores the tokens of a refresh, and ends the claim.
UPDATE external_auth_links SET access_token = @access_token, access_token_key_id = @access_token_key_id,
    refresh_token = @refresh_token, refresh_token_key_id = @refresh_token_key_id, extra = @extra, extra_key_id = @extra_key_id,
    generation = generation + 1, issued_at = @now, expires_at = @expires_at, validated_at = NULL,
    refreshing_until = NULL, refresh_error = '', updated_at = @now
WHERE user_id = @user_id AND provider_id = @provider_id AND generation = @generation;

-- name: ExternalAuthRefreshFailed :exec
-- Records why a claimed refresh failed, and when the next attempt may start.
UPDATE external_auth_links SET refresh_error = @refresh_error, refreshing_until = @until
WHERE user_id = @user_id AND provider_id = @provider_id AND generation = @generation;

-- name: ExternalAuthRefuse :execrows
-- Records that the provider no longer accepts the link.
UPDATE external_auth_links SET refused = @refused, refreshing_until = NULL, refresh_error = '', updated_at = @now
WHERE user_id = @user_id AND provider_id = @provider_id AND generation = @generation;

-- name: ExternalAuthValidated :exec
UPDATE external_auth_links SET validated_at = @now::timestamptz
WHERE user_id = @user_id AND provider_id = @provider_id AND generation = @generation;

-- name: ExternalAuthDelete :one
DELETE FROM external_auth_links WHERE user_id = $1 AND provider_id = $2 RETURNING *;

-- name: ExternalAuthDeleteOfUser :exec
DELETE FROM external_auth_links WHERE user_id = $1;

-- name: ExternalAuthDeclared :one
-- The providers that the template of a build declares.
SELECT v.external_auth FROM workspace_builds b JOIN template_versions v ON v.id = b.template_version_id WHERE b.id = $1;

-- name: ExternalAuthSealed :many
-- Links whose key is not @digest, with @plain only those in clear, as in dbcrypt.sql. The
-- secrets of a link are sealed together.
SELECT * FROM external_auth_links
WHERE access_token_key_id <> @digest::text AND (NOT @plain::boolean OR access_token_key_id = '')
ORDER BY user_id, provider_id LIMIT 100 FOR UPDATE;

-- name: ExternalAuthReseal :exec
UPDATE external_auth_links SET access_token = @access_token, access_token_key_id = @access_token_key_id,
    refresh_token = @refresh_token, refresh_token_key_id = @refresh_token_key_id, extra = @extra, extra_key_id = @extra_key_id
WHERE user_id = @user_id AND provider_id = @provider_id;

-- name: ExternalAuthDropSealed :execrows
DELETE FROM external_auth_links WHERE access_token_key_id <> '' OR refresh_token_key_id <> '' OR extra_key_id <> '';
