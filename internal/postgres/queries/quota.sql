-- Quotas of members and their use. Until its plan is known, the cost of a build is the previous
-- cost of its workspace.

-- name: QuotaLock :exec
-- Serializes the builds of one owner in one organization.
SELECT pg_advisory_xact_lock(hashtextextended('quota ' || (@owner_id::uuid)::text, hashtext((@organization_id::uuid)::text)));

-- name: QuotaBudget :one
-- The sum of the allowances of a member's groups.
SELECT coalesce(sum(g.quota_allowance), 0)::bigint
FROM group_memberships m JOIN groups g ON g.id = m.group_id
WHERE m.user_id = @owner_id AND m.organization_id = @organization_id;

-- name: QuotaConsumed :one
-- The cost of the live workspaces of an owner in an organization, except one.
SELECT coalesce(sum((SELECT b.daily_cost FROM workspace_builds b WHERE b.workspace_id = w.id ORDER BY b.build_number DESC LIMIT 1)), 0)::bigint
FROM workspaces w
WHERE w.owner_id = @owner_id AND w.organization_id = @organization_id AND w.deleted_at IS NULL AND w.id <> @except_id;

-- name: BuildSetCost :exec
UPDATE workspace_builds SET daily_cost = @daily_cost, updated_at = @now WHERE id = @id;
