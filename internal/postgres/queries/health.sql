-- name: HealthRecord :exec
-- Records the result of a health report.
INSERT INTO health_checks (replica_id, checked_at, sections) VALUES (@replica_id, @checked_at, @sections) ON CONFLICT DO NOTHING;

-- name: HealthHistory :many
-- Returns the newest health reports since a time, oldest first. Replicas that are
-- gone are included, with an empty host name once they are forgotten.
SELECT h.replica_id, h.checked_at, h.sections, coalesce(r.hostname, '')::text AS hostname
FROM (
    SELECT * FROM health_checks WHERE checked_at >= sqlc.arg(since)::timestamptz ORDER BY checked_at DESC LIMIT sqlc.arg(most)::integer
) h LEFT JOIN replicas r ON r.id = h.replica_id
ORDER BY h.checked_at, h.replica_id;

-- name: HealthPurge :execrows
-- Deletes health reports before a time, in batches.
DELETE FROM health_checks WHERE (replica_id, checked_at) IN (
    SELECT replica_id, checked_at FROM health_checks WHERE checked_at < sqlc.arg(before)::timestamptz LIMIT 1000
);
