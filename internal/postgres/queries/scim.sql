-- Users and groups as identity providers see them by SCIM.

-- name: ScimUsersPage :many
-- A page of users, the oldest first, with the count of all of them. Users that a provider deleted are left out.
SELECT sqlc.embed(u), coalesce(s.user_name, '')::text AS user_name, coalesce(s.external_id, '')::text AS external_id,
    coalesce(s.profile, '{}')::jsonb AS profile, count(*) OVER () AS count
FROM users u LEFT JOIN scim_users s ON s.user_id = u.id
WHERE u.deleted_at IS NULL AND NOT u.is_system AND NOT u.is_service_account AND s.removed_at IS NULL
ORDER BY u.created_at, u.id
LIMIT @row_limit OFFSET @row_offset;

-- name: ScimUsersAfter :many
-- Users of which the search has not read yet: those after a position, the oldest first.
SELECT sqlc.embed(u), coalesce(s.user_name, '')::text AS user_name, coalesce(s.external_id, '')::text AS external_id,
    coalesce(s.profile, '{}')::jsonb AS profile
FROM users u LEFT JOIN scim_users s ON s.user_id = u.id
WHERE u.deleted_at IS NULL AND NOT u.is_system AND NOT u.is_service_account AND s.removed_at IS NULL AND (u.created_at, u.id) > (@created_at::timestamptz, @id::uuid)
ORDER BY u.created_at, u.id
LIMIT @row_limit;

-- name: ScimUsersByID :many
-- The users with the given IDs, the oldest first.
SELECT sqlc.embed(u), coalesce(s.user_name, '')::text AS user_name, coalesce(s.external_id, '')::text AS external_id,
    coalesce(s.profile, '{}')::jsonb AS profile
FROM users u LEFT JOIN scim_users s ON s.user_id = u.id
WHERE u.deleted_at IS NULL AND NOT u.is_system AND NOT u.is_service_account AND s.removed_at IS NULL AND u.id = ANY (@ids::uuid[])
ORDER BY u.created_at, u.id;

-- name: ScimUserIDsByName :many
-- The IDs of users whose userName may be the given one: that of the provider, or the email address.
SELECT s.user_id AS id FROM scim_users s WHERE lower(s.user_name) = lower(@name::text) AND s.removed_at IS NULL
UNION
SELECT u.id FROM users u WHERE lower(u.email) = lower(@name::text) AND u.email <> '' AND u.deleted_at IS NULL;

-- name: ScimUserIDsByExternalID :many
SELECT user_id FROM scim_users WHERE external_id = $1 AND removed_at IS NULL;

-- name: ScimUserForUpdate :one
SELECT * FROM scim_users WHERE user_id = $1 FOR UPDATE;

-- name: ScimUserByName :one
-- The user with a userName, also one that the provider deleted; that in use comes first.
SELECT s.* FROM scim_users s JOIN users u ON u.id = s.user_id AND u.deleted_at IS NULL
WHERE lower(s.user_name) = lower(@user_name::text)
ORDER BY s.removed_at IS NOT NULL, s.removed_at DESC LIMIT 1;

-- name: ScimUserPut :exec
INSERT INTO scim_users (user_id, user_name, external_id, profile, created_at, updated_at)
VALUES (@user_id, @user_name, @external_id, @profile, @now, @now)
ON CONFLICT (user_id) DO UPDATE SET user_name = excluded.user_name, external_id = excluded.external_id, profile = excluded.profile,
    removed_at = NULL, updated_at = excluded.updated_at;

-- name: ScimUserFree :exec
-- Forgets deleted users who had a userName.
DELETE FROM scim_users s USING users u WHERE lower(s.user_name) = lower(@user_name::text) AND u.id = s.user_id AND u.deleted_at IS NOT NULL;

-- name: ScimUserRemove :exec
-- Hides a user from SCIM.
INSERT INTO scim_users (user_id, user_name, profile, removed_at, created_at, updated_at)
VALUES (@user_id, @user_name, '{}', @now::timestamptz, @now, @now)
ON CONFLICT (user_id) DO UPDATE SET removed_at = excluded.removed_at, updated_at = excluded.updated_at;

-- name: ScimGroupsOfUsers :many
-- The groups of users, without groups of all members.
SELECT m.user_id, g.id, coalesce(nullif(s.display_name, ''), nullif(g.display_name, ''), g.name)::text AS display_name
FROM group_members m JOIN groups g ON g.id = m.group_id LEFT JOIN scim_groups s ON s.group_id = g.id
WHERE m.user_id = ANY (@user_ids::uuid[]) AND g.organization_id = @organization_id
ORDER BY m.user_id, lower(g.name);

-- name: ScimGroups :many
-- All groups of an organization without that of all members, or those with the given IDs.
SELECT sqlc.embed(g), coalesce(s.external_id, '')::text AS external_id,
    coalesce(nullif(s.display_name, ''), nullif(g.display_name, ''), g.name)::text AS shown_name
FROM groups g LEFT JOIN scim_groups s ON s.group_id = g.id
WHERE g.organization_id = @organization_id AND g.id <> g.organization_id
    AND (sqlc.narg(ids)::uuid[] IS NULL OR g.id = ANY (sqlc.narg(ids)::uuid[]))
ORDER BY g.created_at, g.id;

-- name: ScimGroupMembers :many
-- The members of groups.
SELECT m.group_id, m.user_id, u.username FROM group_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL
WHERE m.group_id = ANY (@group_ids::uuid[])
ORDER BY m.group_id, lower(u.username)
LIMIT @row_limit;

-- name: ScimGroupPut :exec
INSERT INTO scim_groups (group_id, display_name, external_id, created_at, updated_at)
VALUES (@group_id, @display_name, @external_id, @now, @now)
ON CONFLICT (group_id) DO UPDATE SET display_name = excluded.display_name, external_id = excluded.external_id, updated_at = excluded.updated_at;

-- name: ScimStatus :one
-- What administrators see of provisioning.
SELECT (SELECT count(*) FROM scim_users s JOIN users u ON u.id = s.user_id AND u.deleted_at IS NULL WHERE s.removed_at IS NULL)::bigint AS users,
    (SELECT count(*) FROM scim_groups)::bigint AS groups,
    greatest((SELECT max(updated_at) FROM scim_users), (SELECT max(updated_at) FROM scim_groups), '0001-01-01T00:00:00Z')::timestamptz AS changed_at;
