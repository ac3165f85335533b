-- Groups of an organization, their members, and their quotas. The group of all members has
-- the ID of its organization.

-- name: Groups :many
-- Groups that the viewer can see, with the number of their members. The members of the
-- organization are read only for the group of all members: with the view group_memberships
-- PostgreSQL would read all of them again for each group.
SELECT sqlc.embed(g), o.name AS organization_name, o.display_name AS organization_display_name,
    ((SELECT count(*) FROM group_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system WHERE m.group_id = g.id)
        + CASE WHEN g.id = g.organization_id THEN (SELECT count(*) FROM organization_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system WHERE m.organization_id = g.id) ELSE 0 END)::bigint AS members
FROM groups g JOIN organizations o ON o.id = g.organization_id AND o.deleted_at IS NULL
WHERE (@see_all::boolean OR g.organization_id = ANY (@see_organizations::uuid[]))
    AND (sqlc.narg(see_ids)::uuid[] IS NULL OR g.id = ANY (sqlc.narg(see_ids)::uuid[]))
    AND (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR g.organization_id = @organization_id)
    AND (sqlc.narg(ids)::uuid[] IS NULL OR g.id = ANY (sqlc.narg(ids)::uuid[]))
    AND (@search::text = '' OR strpos(lower(g.name), lower(@search)) > 0 OR strpos(lower(g.display_name), lower(@search)) > 0)
    AND (@has_member::uuid = '00000000-0000-0000-0000-000000000000'
        OR g.id IN (SELECT x.group_id FROM group_memberships x WHERE x.user_id = @has_member))
ORDER BY lower(o.name), g.id <> g.organization_id, lower(g.name), g.id
LIMIT @row_limit OFFSET @row_offset;

-- name: GroupByID :one
SELECT g.* FROM groups g JOIN organizations o ON o.id = g.organization_id AND o.deleted_at IS NULL WHERE g.id = $1;

-- name: GroupByName :one
SELECT * FROM groups WHERE organization_id = $1 AND lower(name) = lower($2);

-- name: GroupForUpdate :one
SELECT * FROM groups WHERE id = $1 FOR UPDATE;

-- name: GroupInsert :exec
INSERT INTO groups (id, organization_id, name, display_name, avatar_url, quota_allowance, source, created_at, updated_at)
VALUES (@id, @organization_id, @name, @display_name, @avatar_url, @quota_allowance, @source, @now, @now);

-- name: GroupUpdate :exec
UPDATE groups SET name = @name, display_name = @display_name, avatar_url = @avatar_url, quota_allowance = @quota_allowance, updated_at = @now
WHERE id = @id;

-- name: GroupDelete :exec
DELETE FROM groups WHERE id = $1 AND id <> organization_id;

-- name: ForgetInTemplates :exec
-- Removes a user or a group from the access lists of templates of one organization, or of
-- all for the nil ID.
UPDATE templates SET user_acl = user_acl - @key::text, group_acl = group_acl - @key::text
WHERE (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR organization_id = @organization_id)
    AND (user_acl ? @key::text OR group_acl ? @key::text);

-- name: ForgetInWorkspaces :many
-- Removes a user or a group from the access lists of workspaces, likewise.
UPDATE workspaces SET user_acl = user_acl - @key::text, group_acl = group_acl - @key::text
WHERE (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR organization_id = @organization_id)
    AND (user_acl ? @key::text OR group_acl ? @key::text)
RETURNING id;

-- name: ForgetAllSharing :many
-- Clears the access list of every workspace of an organization.
UPDATE workspaces SET user_acl = '{}', group_acl = '{}'
WHERE organization_id = @organization_id AND (user_acl <> '{}' OR group_acl <> '{}')
RETURNING id;

-- name: OrganizationSetSharing :one
UPDATE organizations SET workspace_sharing_disabled = @disabled, updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: GroupMembers :many
-- The members of groups by name that the viewer can see, at most so many of each group.
SELECT x.group_id, sqlc.embed(u)
FROM (
    SELECT m.group_id, m.user_id, row_number() OVER (PARTITION BY m.group_id ORDER BY lower(p.username)) AS place
    FROM group_memberships m JOIN users p ON p.id = m.user_id AND p.deleted_at IS NULL AND NOT p.is_system
    WHERE m.group_id = ANY (@group_ids::uuid[])
        AND (@see_all::boolean OR m.organization_id = ANY (@see_organizations::uuid[]) OR m.user_id = @see_user::uuid)
) x JOIN users u ON u.id = x.user_id
WHERE x.place <= @most::integer
ORDER BY x.group_id, lower(u.username);

-- name: GroupMembersPage :many
-- A page of the members of a group by name, with the count of all matching members.
SELECT sqlc.embed(u), count(*) OVER () AS count
FROM group_memberships m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system
WHERE m.group_id = @group_id
    AND (@see_all::boolean OR m.organization_id = ANY (@see_organizations::uuid[]) OR m.user_id = @see_user::uuid)
    AND (@search::text = '' OR strpos(lower(u.username), lower(@search)) > 0 OR strpos(lower(u.email), lower(@search)) > 0
        OR strpos(lower(u.name), lower(@search)) > 0)
ORDER BY lower(u.username)
LIMIT @row_limit OFFSET @row_offset;

-- name: GroupMemberIDs :many
SELECT user_id FROM group_members WHERE group_id = $1 ORDER BY user_id;

-- name: GroupAddMembers :many
-- Adds members of the group's organization to the group, and returns the new ones.
INSERT INTO group_members (group_id, organization_id, user_id)
SELECT @group_id, m.organization_id, m.user_id FROM organization_members m
WHERE m.organization_id = @organization_id AND m.user_id = ANY (@user_ids::uuid[])
ON CONFLICT DO NOTHING
RETURNING user_id;

-- name: GroupRemoveMembers :many
DELETE FROM group_members WHERE group_id = @group_id AND user_id = ANY (@user_ids::uuid[]) RETURNING user_id;

-- name: UsernamesOf :many
SELECT id, username FROM users WHERE id = ANY (@ids::uuid[]) ORDER BY lower(username);

-- name: OrganizationMembersAmong :many
-- Those of the given users that are members of an organization.
SELECT m.user_id FROM organization_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL
WHERE m.organization_id = @organization_id AND m.user_id = ANY (@user_ids::uuid[]);

-- name: GroupsAmong :many
-- Those of the given groups that belong to an organization.
SELECT id FROM groups WHERE organization_id = @organization_id AND id = ANY (@ids::uuid[]);

-- name: ListedGroups :many
-- The groups in access lists.
SELECT id, organization_id, name, display_name, avatar_url FROM groups WHERE id = ANY (@ids::uuid[]);

-- name: ListedUsers :many
-- The existing users in access lists.
SELECT * FROM users WHERE id = ANY (@ids::uuid[]) AND deleted_at IS NULL ORDER BY lower(username);
