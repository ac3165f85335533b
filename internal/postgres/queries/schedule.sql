-- What happens to workspaces by themselves, because its time has come.

-- name: ScheduleLock :one
-- A live workspace that nobody else holds.
SELECT * FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR UPDATE SKIP LOCKED;
