-- name: ReplicaAnnounce :exec
-- Writes that a replica lives.
INSERT INTO replicas (id, hostname, relay_address, version, started_at, updated_at)
VALUES (@id, @hostname, @relay_address, @version, @now, @now)
ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, stopped_at = NULL;

-- name: ReplicaRetire :exec
-- Writes that a replica stopped.
UPDATE replicas SET stopped_at = sqlc.arg(now)::timestamptz, updated_at = sqlc.arg(now)::timestamptz WHERE id = @id;

-- name: ReplicaForget :exec
-- Forgets the replicas that nobody has heard of since a time.
DELETE FROM replicas WHERE updated_at < sqlc.arg(since)::timestamptz;

-- name: ReplicasAlive :many
-- Gives the replicas that were heard of since a time and have not stopped.
SELECT * FROM replicas WHERE stopped_at IS NULL AND updated_at >= sqlc.arg(since)::timestamptz ORDER BY started_at, id;

-- name: ReplicaAlive :one
-- Gives a replica that was heard of since a time and has not stopped.
SELECT * FROM replicas WHERE id = @id AND stopped_at IS NULL AND updated_at >= sqlc.arg(since)::timestamptz;
