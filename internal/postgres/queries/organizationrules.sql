-- Rules of organizations for their members.

-- name: OrganizationRules :one
SELECT * FROM organization_rules WHERE organization_id = $1;

-- name: OrganizationRulesPut :one
INSERT INTO organization_rules (organization_id, token_scopes, max_token_lifetime_seconds, external_auth_restricted, external_auth, updated_at)
VALUES (@organization_id, @token_scopes, @max_token_lifetime_seconds, @external_auth_restricted, @external_auth, @now)
ON CONFLICT (organization_id) DO UPDATE SET token_scopes = excluded.token_scopes,
    max_token_lifetime_seconds = excluded.max_token_lifetime_seconds, external_auth_restricted = excluded.external_auth_restricted,
    external_auth = excluded.external_auth, updated_at = excluded.updated_at
RETURNING *;

-- name: OrganizationRulesOfUser :many
-- The rules of a user's organizations, and the groups of the user there without the group of all members.
SELECT sqlc.embed(r), o.name AS organization_name,
    ARRAY(SELECT g.id FROM groups g JOIN group_members x ON x.group_id = g.id AND x.user_id = m.user_id
        WHERE g.organization_id = r.organization_id)::uuid[] AS groups
FROM organization_members m
JOIN organizations o ON o.id = m.organization_id AND o.deleted_at IS NULL
JOIN organization_rules r ON r.organization_id = o.id
WHERE m.user_id = $1
ORDER BY lower(o.name);
