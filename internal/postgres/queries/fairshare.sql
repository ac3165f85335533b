-- name: ShareWeights :many
-- The organizations that the built-in provisioners serve.
SELECT id, name, provisioner_weight FROM organizations
WHERE provisioner_weight > 0 AND deleted_at IS NULL
ORDER BY is_default DESC, id;

-- name: ShareWaiting :many
-- Those of these organizations with pending jobs of a tag set and these engines, and their most
-- urgent class.
SELECT s.organization_id, l.priority::smallint AS priority
FROM job_tag_sets s
CROSS JOIN LATERAL (
    SELECT min(f.priority) AS priority FROM unnest(sqlc.arg(provisioners)::text[]) AS kind
    CROSS JOIN LATERAL (
        SELECT p.priority FROM provisioner_jobs p
        WHERE p.tag_set_id = s.id AND p.provisioner = kind AND p.started_at IS NULL AND p.completed_at IS NULL AND NOT p.held
        ORDER BY p.priority LIMIT 1
    ) f
) l
WHERE s.organization_id = ANY (sqlc.arg(organizations)::uuid[]) AND s.key = sqlc.arg(key) AND l.priority IS NOT NULL;
