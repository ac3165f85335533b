-- Groups of an organization, their members, and what they may spend. The group
-- of everyone has the id of its organization, and all its members.

-- name: Groups :many
-- Groups that the viewer may see, with how many people are in them.
SELECT sqlc.embed(g), o.name AS organization_name, o.display_name AS organization_display_name,
    (SELECT count(*) FROM group_memberships m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system WHERE m.group_id = g.id) AS members
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
-- Takes a user or a group out of the access lists of templates: of one
-- organization, or with the nil id of all.
UPDATE templates SET user_acl = user_acl - @key::text, group_acl = group_acl - @key::text
WHERE (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR organization_id = @organization_id)
    AND (user_acl ? @key::text OR group_acl ? @key::text);

-- name: ForgetInWorkspaces :many
-- Takes a user or a group out of the access lists of workspaces, likewise.
UPDATE workspaces SET user_acl = user_acl - @key::text, group_acl = group_acl - @key::text
WHERE (@organization_id::uuid = '00000000-0000-0000-0000-000000000000' OR organization_id = @organization_id)
    AND (user_acl ? @key::text OR group_acl ? @key::text)
RETURNING id;

-- name: ForgetAllSharing :many
-- Ends the sharing of every workspace of an organization.
UPDATE workspaces SET user_acl = '{}', group_acl = '{}'
WHERE organization_id = @organization_id AND (user_acl <> '{}' OR group_acl <> '{}')
RETURNING id;

-- name: OrganizationSetSharing :one
UPDATE organizations SET workspace_sharing_disabled = @disabled, updated_at = @now WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: GroupMembers :many
-- The people of some groups by name, at most so many of each group: those that
-- the viewer may see there.
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
-- A page of the people of a group by name, with the count of all that match.
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
-- Puts members of the group's organization into it, and tells who is new.
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
-- Which of some users are members of an organization.
SELECT m.user_id FROM organization_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL
WHERE m.organization_id = @organization_id AND m.user_id = ANY (@user_ids::uuid[]);

-- name: GroupsAmong :many
-- Which of some groups are of an organization.
SELECT id FROM groups WHERE organization_id = @organization_id AND id = ANY (@ids::uuid[]);

-- name: ListedGroups :many
-- The groups that access lists name.
SELECT id, organization_id, name, display_name, avatar_url FROM groups WHERE id = ANY (@ids::uuid[]);

-- name: ListedUsers :many
-- The users that access lists name, as far as they exist.
SELECT * FROM users WHERE id = ANY (@ids::uuid[]) AND deleted_at IS NULL ORDER BY lower(username);
