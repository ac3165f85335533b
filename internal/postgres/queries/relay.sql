-- name: RelayHold :exec
-- Records the replica of an agent's link to the relay; the latest is valid.
INSERT INTO agent_relays (agent_id, replica_id, link_id, since) VALUES (@agent_id, @replica_id, @link_id, @now)
ON CONFLICT (agent_id) DO UPDATE SET replica_id = excluded.replica_id, link_id = excluded.link_id, since = excluded.since;

-- name: RelayRelease :exec
-- Deletes a link that ended, unless a newer one replaced it.
DELETE FROM agent_relays WHERE agent_id = @agent_id AND link_id = @link_id;

-- name: RelayForget :exec
-- Deletes the links of unknown replicas.
DELETE FROM agent_relays l WHERE NOT EXISTS (SELECT FROM replicas r WHERE r.id = l.replica_id);

-- name: RelayFind :many
-- Returns those of some agents whose links are with other live replicas.
SELECT l.agent_id, r.id AS replica_id, r.hostname, r.relay_address
FROM agent_relays l JOIN replicas r ON r.id = l.replica_id
WHERE l.agent_id = ANY(@agents::uuid[]) AND r.id <> @self AND r.stopped_at IS NULL AND r.updated_at >= sqlc.arg(since)::timestamptz;
