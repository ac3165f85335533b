-- name: OrganizationByID :one
SELECT * FROM organizations WHERE id = $1 AND deleted_at IS NULL;

-- name: OrganizationForUpdate :one
SELECT * FROM organizations WHERE id = $1 AND deleted_at IS NULL FOR UPDATE;

-- name: OrganizationByName :one
SELECT * FROM organizations WHERE lower(name) = lower($1) AND deleted_at IS NULL;

-- name: DefaultOrganization :one
SELECT * FROM organizations WHERE is_default AND deleted_at IS NULL;

-- name: Organizations :many
SELECT * FROM organizations
WHERE deleted_at IS NULL AND (@see_all::boolean OR id = ANY (@see_ids::uuid[]))
ORDER BY is_default DESC, lower(name)
LIMIT @row_limit OFFSET @row_offset;

-- name: OrganizationsOfUser :many
SELECT o.* FROM organizations o JOIN organization_members m ON m.organization_id = o.id
WHERE o.deleted_at IS NULL AND m.user_id = @user_id AND (@see_all::boolean OR o.id = ANY (@see_ids::uuid[]))
ORDER BY o.is_default DESC, lower(o.name)
LIMIT @row_limit OFFSET @row_offset;

-- name: InsertOrganization :one
INSERT INTO organizations (id, name, display_name, description, icon, created_at, updated_at)
VALUES (@id, @name, @display_name, @description, @icon, @now, @now)
RETURNING *;

-- name: UpdateOrganization :one
UPDATE organizations SET name = @name, display_name = @display_name, description = @description, icon = @icon, provisioner_weight = @provisioner_weight, updated_at = @now
WHERE id = @id AND deleted_at IS NULL RETURNING *;

-- name: SoftDeleteOrganization :one
UPDATE organizations SET deleted_at = @now::timestamptz, updated_at = @now
WHERE id = @id AND deleted_at IS NULL AND NOT is_default RETURNING *;

-- name: OrganizationResources :one
-- The objects that prevent the deletion of an organization.
SELECT
    (SELECT count(*) FROM workspaces w WHERE w.organization_id = $1 AND w.deleted_at IS NULL) AS workspaces,
    (SELECT count(*) FROM templates t WHERE t.organization_id = $1 AND t.deleted_at IS NULL) AS templates,
    (SELECT count(*) FROM provisioner_keys k WHERE k.organization_id = $1 AND (k.replaced_at IS NULL OR k.expires_at > now())) AS provisioner_keys;

-- name: InsertOrganizationMember :one
INSERT INTO organization_members (organization_id, user_id, roles, created_at, updated_at)
VALUES (@organization_id, @user_id, @roles, @now, @now)
RETURNING *;

-- name: OrganizationMember :one
SELECT * FROM organization_members WHERE organization_id = $1 AND user_id = $2;

-- name: OrganizationMemberForUpdate :one
SELECT * FROM organization_members WHERE organization_id = $1 AND user_id = $2 FOR UPDATE;

-- name: UpdateOrganizationMemberRoles :one
UPDATE organization_members SET roles = @roles, updated_at = @now WHERE organization_id = @organization_id AND user_id = @user_id RETURNING *;

-- name: DeleteOrganizationMember :execrows
DELETE FROM organization_members WHERE organization_id = $1 AND user_id = $2;

-- name: OrganizationMembers :many
-- A page of an organization's members by name, with the count of all matching members.
SELECT sqlc.embed(m), u.username, u.name, u.email, u.avatar_url, u.roles AS site_roles, count(*) OVER () AS count
FROM organization_members m JOIN users u ON u.id = m.user_id AND u.deleted_at IS NULL AND NOT u.is_system
WHERE m.organization_id = @organization_id
    AND (@see_all::boolean OR m.user_id = @see_id::uuid)
    AND (@user_id::uuid = '00000000-0000-0000-0000-000000000000' OR m.user_id = @user_id)
    AND (@search::text = '' OR strpos(lower(u.username), lower(@search)) > 0 OR strpos(lower(u.email), lower(@search)) > 0
        OR strpos(lower(u.name), lower(@search)) > 0)
ORDER BY lower(u.username)
LIMIT @row_limit OFFSET @row_offset;

-- name: MemberOwnsWorkspaces :one
SELECT EXISTS (SELECT 1 FROM workspaces WHERE organization_id = $1 AND owner_id = $2 AND deleted_at IS NULL);
