-- name: UserByID :one
SELECT * FROM users WHERE id = $1 AND deleted_at IS NULL;

-- name: UserByIDForUpdate :one
SELECT * FROM users WHERE id = $1 AND deleted_at IS NULL FOR UPDATE;

-- name: UserByUsername :one
SELECT * FROM users WHERE lower(username) = lower($1) AND deleted_at IS NULL;

-- name: UserByEmail :one
SELECT * FROM users WHERE lower(email) = lower($1) AND email <> '' AND deleted_at IS NULL;

-- name: CountUsers :one
-- Users without system accounts.
SELECT count(*) FROM users WHERE NOT is_system AND deleted_at IS NULL;

-- name: LockFirstUser :exec
-- Serializes the creation of the first user among replicas.
SELECT pg_advisory_xact_lock(hashtext('first user'));

-- name: LockOwners :exec
-- Serializes changes that could remove the last owner.
SELECT pg_advisory_xact_lock(hashtext('owners'));

-- name: CountActiveOwners :one
SELECT count(*) FROM users
WHERE 'owner' = ANY (roles) AND status <> 'suspended' AND NOT is_system AND deleted_at IS NULL;

-- name: InsertUser :one
INSERT INTO users (id, email, username, name, avatar_url, password_hash, login_type, status, roles,
    ssh_public_key, ssh_private_key, ssh_private_key_key_id, ssh_key_updated_at, created_at, updated_at, is_service_account)
VALUES (@id, @email, @username, @name, @avatar_url, @password_hash, @login_type, @status, @roles,
    @ssh_public_key, @ssh_private_key, @ssh_private_key_key_id, @now::timestamptz, @now, @now, @is_service_account)
RETURNING *;

-- name: UpdateUserProfile :one
UPDATE users SET username = @username, name = @name, updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: UpdateUserPassword :one
UPDATE users SET password_hash = @password_hash, login_type = 'password', updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: UpdateUserStatus :one
UPDATE users SET status = @status, updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: UpdateUserRoles :one
UPDATE users SET roles = @roles, updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: UpdateUserAppearance :one
UPDATE users SET theme = @theme, terminal_font = @terminal_font, updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: UpdateUserPreferences :one
UPDATE users SET task_alert_dismissed = @task_alert_dismissed, updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: UpdateUserSSHKey :one
UPDATE users SET ssh_public_key = @ssh_public_key, ssh_private_key = @ssh_private_key,
    ssh_private_key_key_id = @ssh_private_key_key_id, ssh_key_updated_at = @now::timestamptz, updated_at = @now
WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: TouchUser :exec
-- Records the user's activity, and activates a dormant user.
UPDATE users SET last_seen_at = greatest(last_seen_at, @now), status = CASE status WHEN 'dormant' THEN 'active' ELSE status END
WHERE id = @id;

-- name: SoftDeleteUser :one
UPDATE users SET deleted_at = @now::timestamptz, updated_at = @now, password_hash = '', ssh_private_key = '', ssh_private_key_key_id = '', roles = '{}'
WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: UserOwnsWorkspaces :one
SELECT EXISTS (SELECT 1 FROM workspaces WHERE owner_id = $1 AND deleted_at IS NULL);

-- name: UserOrganizationIDs :many
-- The organizations of every given user.
SELECT m.user_id, m.organization_id, m.roles
FROM organization_members m JOIN organizations o ON o.id = m.organization_id AND o.deleted_at IS NULL
WHERE m.user_id = ANY (@user_ids::uuid[])
ORDER BY o.created_at, o.id;

-- name: Users :many
-- A page of users by name, with the count of all matching users in every row. Up to 1,000 matches are read once. For
-- more, PostgreSQL plans the count and the page each on their own: a page is read in the order of the index
-- users_username up to its end.
WITH m AS NOT MATERIALIZED (
    SELECT u.id, lower(u.username) AS name
    FROM users u
    WHERE u.deleted_at IS NULL AND NOT u.is_system
        AND (@see_all::boolean OR u.id = @see_id::uuid)
        AND (sqlc.narg(only_ids)::uuid[] IS NULL OR u.id = ANY (sqlc.narg(only_ids)::uuid[]))
        AND (@search::text = '' OR strpos(lower(u.username), lower(@search)) > 0 OR strpos(lower(u.email), lower(@search)) > 0
            OR strpos(lower(u.name), lower(@search)) > 0)
        AND (cardinality(@statuses::text[]) = 0 OR u.status = ANY (@statuses))
        AND (cardinality(@roles::text[]) = 0 OR u.roles && @roles OR 'member' = ANY (@roles))
        AND (cardinality(@login_types::text[]) = 0 OR u.login_type = ANY (@login_types))
        AND (sqlc.narg(service_account)::boolean IS NULL OR u.is_service_account = sqlc.narg(service_account))
        AND (sqlc.narg(github_id)::text IS NULL OR u.id IN (
            SELECT l.user_id FROM user_links l WHERE l.login_type = 'github' AND l.subject = sqlc.narg(github_id)::text))
        AND (sqlc.narg(last_seen_before)::timestamptz IS NULL OR u.last_seen_at <= sqlc.narg(last_seen_before))
        AND (sqlc.narg(last_seen_after)::timestamptz IS NULL OR u.last_seen_at >= sqlc.narg(last_seen_after))
        AND (sqlc.narg(created_before)::timestamptz IS NULL OR u.created_at <= sqlc.narg(created_before))
        AND (sqlc.narg(created_after)::timestamptz IS NULL OR u.created_at >= sqlc.narg(created_after))
        AND (sqlc.narg(after_id)::uuid IS NULL
            OR lower(u.username) > (SELECT lower(a.username) FROM users a WHERE a.id = sqlc.narg(after_id)))
), read AS MATERIALIZED (
    SELECT m.id, m.name FROM m LIMIT 1001
), few AS MATERIALIZED (
    SELECT count(*) AS total FROM read
), page AS MATERIALIZED (
    SELECT CASE WHEN few.total <= 1000 THEN few.total ELSE (SELECT count(*) FROM m) END::bigint AS count,
        (CASE WHEN few.total <= 1000 THEN ARRAY(
            SELECT r.id FROM read r ORDER BY r.name LIMIT @row_limit OFFSET @row_offset
        ) ELSE ARRAY(
            SELECT m.id FROM m ORDER BY m.name LIMIT @row_limit OFFSET @row_offset
        ) END)::uuid[] AS ids
    FROM few
)
SELECT sqlc.embed(u), page.count
FROM page JOIN users u ON u.id = ANY (page.ids)
ORDER BY lower(u.username);

-- name: DeleteMembershipsOfUser :exec
DELETE FROM organization_members WHERE user_id = $1;

-- name: AccessToTemplate :one
SELECT organization_id, user_acl, group_acl FROM templates WHERE id = $1 AND deleted_at IS NULL;

-- name: AccessToWorkspaces :many
SELECT id, organization_id, owner_id, user_acl, group_acl FROM workspaces WHERE id = ANY(@ids::uuid[]) AND deleted_at IS NULL;

-- name: AccessToWorkspace :one
SELECT organization_id, owner_id, user_acl, group_acl FROM workspaces WHERE id = $1 AND deleted_at IS NULL;

-- name: UserSubject :one
SELECT * FROM user_subjects WHERE id = $1 AND deleted_at IS NULL;

-- name: UpdateUserQuietHours :one
UPDATE users SET quiet_hours = @quiet_hours, updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: UpdateUserLoginType :one
-- Changes the login type of a user and removes the password.
UPDATE users SET login_type = @login_type, password_hash = '', updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: BeginLoginConversion :exec
INSERT INTO login_conversions (state_hash, user_id, to_type, expires_at) VALUES (@state_hash, @user_id, @to_type, @expires_at);

-- name: EndLoginConversion :one
-- Consumes a pending conversion.
DELETE FROM login_conversions WHERE state_hash = @state_hash RETURNING user_id, to_type, expires_at;

-- name: ForgetLoginConversions :execrows
DELETE FROM login_conversions WHERE expires_at < @now;

-- name: UsersAway :many
-- Inactive active users, a batch at a time, locked for a change.
SELECT * FROM users
WHERE status = 'active' AND NOT is_system AND NOT is_service_account AND deleted_at IS NULL AND greatest(last_seen_at, created_at, updated_at) < @since::timestamptz
ORDER BY id LIMIT @row_limit FOR UPDATE SKIP LOCKED;
