-- Custom roles of organizations.

-- name: CustomRoles :many
SELECT * FROM custom_roles WHERE organization_id = $1 ORDER BY name;

-- name: CustomRole :one
SELECT * FROM custom_roles WHERE organization_id = $1 AND name = $2;

-- name: CustomRoleForUpdate :one
SELECT * FROM custom_roles WHERE organization_id = $1 AND name = $2 FOR UPDATE;

-- name: CustomRoleCount :one
SELECT count(*) FROM custom_roles WHERE organization_id = $1;

-- name: CustomRoleInsert :one
INSERT INTO custom_roles (id, organization_id, name, display_name, organization_permissions, member_permissions, created_at, updated_at)
VALUES (@id, @organization_id, @name, @display_name, @organization_permissions, @member_permissions, @now, @now)
RETURNING *;

-- name: CustomRoleUpdate :one
UPDATE custom_roles SET display_name = @display_name, organization_permissions = @organization_permissions,
    member_permissions = @member_permissions, updated_at = @now
WHERE organization_id = @organization_id AND name = @name
RETURNING *;

-- name: CustomRoleDelete :exec
DELETE FROM custom_roles WHERE organization_id = $1 AND name = $2;

-- name: CustomRoleForget :many
-- Removes a role from every member who has it, and returns these members.
UPDATE organization_members SET roles = array_remove(roles, @name::text), updated_at = @now
WHERE organization_id = @organization_id AND @name::text = ANY (roles)
RETURNING user_id;
