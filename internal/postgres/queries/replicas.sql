-- name: ReplicaAnnounce :exec
-- Records a heartbeat of a replica. A canceled heartbeat can arrive after the replica stopped, and then changes nothing.
INSERT INTO replicas (id, hostname, relay_address, version, schema_version, started_at, updated_at)
VALUES (@id, @hostname, @relay_address, @version, @schema_version, @now, @now)
ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at WHERE replicas.stopped_at IS NULL;

-- name: ReplicaRetire :exec
-- Records that a replica stopped.
UPDATE replicas SET stopped_at = sqlc.arg(now)::timestamptz, updated_at = sqlc.arg(now)::timestamptz WHERE id = @id;

-- name: ReplicaForget :exec
-- Deletes the replicas without a heartbeat since a time.
DELETE FROM replicas WHERE updated_at < sqlc.arg(since)::timestamptz;

-- name: ReplicasAlive :many
-- Returns the replicas with a heartbeat since a time that have not stopped.
SELECT * FROM replicas WHERE stopped_at IS NULL AND updated_at >= sqlc.arg(since)::timestamptz ORDER BY started_at, id;

-- name: ReplicaAlive :one
-- Returns a replica with a heartbeat since a time that has not stopped.
SELECT * FROM replicas WHERE id = @id AND stopped_at IS NULL AND updated_at >= sqlc.arg(since)::timestamptz;
